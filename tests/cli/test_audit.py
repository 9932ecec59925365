"""What `seatrial audit` prints, exits with and refuses, against clusters that a stand-in API server serves."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.survey import audit
from seatrial.core.survey.audit.findings import FindingKind
from tests import audited
from tests.cli.served import serving
from tests.core.compat.knowledge import ROOT

DAY: Final = {"helm": "2026-02-01", "openshift": "2025-11-01", "dra": "2026-02-01"}
MATRIX: Final = """\
versions:
  current:
    kubernetes: "v1.33.5"
    gpu_operator: "v25.10.1"
    gpu_driver: "580.105.08"
    status: "production"
  canary:
    gpu_driver: "580.126.09"
"""

Serve = Callable[..., list[str]]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serve a cluster beside the test, and say how to call the command for it."""
    with ExitStack() as stack:

        def start(cluster: audited.Recorded, day: str, **refusing: Any) -> list[str]:
            reply = audited.serves(cluster, **refusing)
            return ["audit", *stack.enter_context(serving(reply, tmp_path / "kubeconfig")), "--on", day]

        yield start


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "gpu-version-matrix.yaml"
    path.write_text(MATRIX)
    return path


def drifted() -> audited.Recorded:
    """The Helm cluster with another driver on one node, a foreign cordon on another."""
    cluster = audited.recorded("helm")
    for each in cluster["nodes"]:
        if each["metadata"]["name"] == "gpu-3":
            each["metadata"]["labels"]["nvidia.com/cuda.driver-version.full"] = "580.95.05"
        if each["metadata"]["name"] == "gpu-2":
            each["spec"]["unschedulable"] = True
            written: dict[str, Any] = {"f:spec": {"f:unschedulable": {}}}
            entry = {"manager": "kubectl-cordon", "time": "2026-01-21T00:00:00Z", "fieldsV1": written}
            each["metadata"]["managedFields"].append(entry)
    for pod in cluster["pods"]:
        if pod["metadata"]["name"] == "nvidia-driver-daemonset-gpu-3":
            pod["spec"]["containers"][0]["image"] = "nvcr.io/nvidia/driver:580.95.05-ubuntu22.04"
    return cluster


@pytest.mark.parametrize("name", audited.NAMES)
def test_a_clean_cluster_has_no_findings_and_exits_with_0(
    name: str, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(serve(audited.recorded(name), DAY[name])) == ExitCode.OK
    assert "No findings (on " in capsys.readouterr().out


def test_the_components_come_first_and_then_what_is_wrong(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(serve(drifted(), DAY["helm"])) == ExitCode.DRIFT
    out = capsys.readouterr().out
    assert out.splitlines()[0] == (
        "4 nodes, 3 with GPUs: 3 with NVIDIA-H100-80GB-HBM3, ubuntu22.04; compared with each other."
    )
    lines = {line.split("   ")[0].strip(): line for line in out.splitlines()}
    assert lines["gpu_driver"].split() == ["gpu_driver", "mixed", "580.105.08", "(2),", "580.95.05", "(1)"]
    assert "Not there: openshift, cri_o," in out
    assert "No object of this cluster shows, and no matrix asks for: cuda," in out
    assert out.index("mixed gpu_driver (1 node: gpu-3)") < out.index("foreign-cordon (1 node: gpu-2)")
    assert "kubectl-cordon set the cordon" in out
    assert "    → `kubectl describe node gpu-2`" in out
    assert "3 findings: 1 mixed, 1 foreign-cordon, 1 pending (on 2026-02-01" in out


def test_with_a_matrix_what_differs_from_it_is_drift(
    serve: Serve, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called = [*serve(drifted(), DAY["helm"]), "--file", str(matrix)]
    assert main(called) == ExitCode.DRIFT
    out = capsys.readouterr().out
    assert f"compared with current of {matrix}" in out.splitlines()[0]
    assert "gpu_driver is 580.95.05, and current says 580.105.08." in out
    assert f"evidence: {matrix}:5:17" in out
    assert main([*called, "--entry", "canary"]) == ExitCode.DRIFT
    assert "gpu_driver is 580.105.08, and canary says 580.126.09." in capsys.readouterr().out


def test_an_entry_of_the_canary_has_what_it_does_not_name_from_production(
    serve: Serve, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*serve(audited.recorded("helm"), DAY["helm"]), "-f", str(matrix), "--entry", "canary", "-o", "json"])
    rows = {each["component"]: each for each in json.loads(capsys.readouterr().out)["components"]}
    assert (rows["gpu_driver"]["wanted"], rows["gpu_operator"]["wanted"]) == ("580.126.09", "v25.10.1")


def test_only_the_findings_that_are_named_count_for_the_exit_code(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    called = serve(drifted(), DAY["helm"])
    assert main([*called, "--fail-on", "foreign-cordon"]) == ExitCode.FINDINGS
    assert main([*called, "--fail-on", "drift", "self-rolling"]) == ExitCode.OK
    assert main([*called, "--fail-on", "drift", "--fail-on", "mixed"]) == ExitCode.DRIFT
    assert "mixed gpu_driver" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main([*called, "--fail-on", "drifft"])
    assert ended.value.code == ExitCode.USAGE
    assert "did you mean drift?" in capsys.readouterr().err


def test_what_may_not_be_read_makes_the_audit_inconclusive_and_says_which_right(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    called = serve(
        audited.recorded("openshift"), DAY["openshift"], forbidden=("nicdevices.configuration.net.nvidia.com",)
    )
    assert main(called) == ExitCode.INCONCLUSIVE
    assert "We may not list nicdevices.configuration.net.nvidia.com" in capsys.readouterr().out
    assert main([*called, "--fail-on", "not-observable"]) == ExitCode.FINDINGS


def test_a_document_has_everything_and_yaml_is_the_same(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    called = serve(drifted(), DAY["helm"])
    main([*called, "-o", "json"])
    found = json.loads(capsys.readouterr().out)
    main([*called, "-o", "yaml"])
    assert yaml.safe_load(capsys.readouterr().out) == found
    assert (found["exitCode"], found["nodeCount"], found["gpuNodeCount"], found["matrix"]) == (9, 4, 3, None)
    assert [(each["kind"], each["nodes"]) for each in found["findings"]] == [
        ("mixed", ["gpu-3"]),
        ("foreign-cordon", ["gpu-2"]),
        ("pending", ["gpu-3"]),
    ]
    assert all(each["evidence"] and each["next"] for each in found["findings"])
    assert found["nodes"][2]["versions"]["gpu_driver"] == "580.95.05"
    assert found["nodes"][0]["cudaLevelOfDriver"] == "13.0"
    assert {each["why"] for each in found["notRead"]} == {"not served"}


def test_wide_says_where_each_version_was_read(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    main([*serve(audited.recorded("openshift"), DAY["openshift"]), "-o", "wide"])
    out = capsys.readouterr().out
    assert "ClusterServiceVersion nvidia-gpu-operator/gpu-operator-certified.v25.3.4 spec.version" in out
    assert "Kernel modules: open" in out
    assert "Subscription nvidia-network-operator/nvidia-network-operator follows v25.4, Automatic." in out
    assert "MachineConfigPool worker: not paused, 2 nodes." in out


def test_wide_names_every_node_of_a_finding(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = drifted()
    (node,) = [each for each in cluster["nodes"] if each["metadata"]["name"] == "gpu-2"]
    for number in range(4, 9):
        more = copy.deepcopy(node)
        more["metadata"]["name"] = f"gpu-{number}"
        cluster["nodes"].append(more)
    called = serve(cluster, DAY["helm"])
    main(called)
    assert "foreign-cordon (6 nodes: gpu-2, gpu-4, gpu-5, gpu-6, gpu-7 and 1 more)" in capsys.readouterr().out
    main([*called, "-o", "wide"])
    assert "foreign-cordon (6 nodes: gpu-2, gpu-4, gpu-5, gpu-6, gpu-7, gpu-8)" in capsys.readouterr().out


def test_markdown_is_a_page_for_a_ticket(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    main([*serve(drifted(), DAY["helm"]), "-o", "markdown"])
    out = capsys.readouterr().out
    assert out.startswith("# GPU cluster audit\n")
    assert "| COMPONENT | STATE | FOUND | READ FROM |\n| --- | --- | --- | --- |\n" in out
    assert "### mixed gpu_driver (1 node: gpu-3)" in out
    assert "- Next: `kubectl describe node gpu-2`" in out


def test_a_matrix_that_cannot_be_used_is_told_before_anybody_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "matrix.yaml"
    path.write_text("versions: [")
    nowhere = ["audit", "--kubeconfig", "/nowhere"]
    assert main([*nowhere, "--file", str(path)]) == ExitCode.ERROR
    assert "cannot be read" in capsys.readouterr().err
    path.write_text(MATRIX)
    assert main([*nowhere, "--file", str(path), "--entry", "autumn"]) == ExitCode.ERROR
    assert "has no entry autumn; it has current, canary. Name one with --entry." in capsys.readouterr().err


def test_every_kind_of_finding_can_be_named_and_is_explained_in_the_how_to() -> None:
    text = (ROOT / "docs/how-to/audit.md").read_text(encoding="utf-8")
    assert [each.value for each in FindingKind if f"| `{each.value}` |" not in text] == []
    said = " ".join((audit.__doc__ or "").split()).partition("Findings: ")[2]
    assert said == f"{', '.join(FindingKind)}."
