"""`seatrial gates`: what is listed, what is refused, and how results are printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from seatrial.adapters.kube.probing import Offer
from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout.gating import GateRun, GatesAsked, NodeReport, chosen, gang_of, gates_in, refuse
from seatrial.app.texts import FileUnusable
from seatrial.cli import main
from seatrial.cli.gates import reports
from seatrial.cli.gates.gates import CODES
from seatrial.core.model.gates.figures import Figure, Unmeasured
from seatrial.core.model.gates.gate import Attest, Gate, GateVerdict, Limit, Measurement
from seatrial.core.model.gates.suite import LeftOut


def an_offer(**changes: Any) -> Offer:
    said: dict[str, Any] = {"node": "gpu-1", "gpu_count": 8, "free_count": 8, "is_ready": True, "has_links": True}
    return Offer(**said | changes)


def a_run(name: str, verdict: GateVerdict, detail: str = "", **measured: Any) -> GateRun:
    return GateRun(
        gate=Gate(name=name, image="probes:1", probe=name),
        measured=Measurement(gate=name, node="gpu-1", round=1, attempt=1, verdict=verdict, detail=detail, **measured),
        begun_at=1_000.0,
        seconds=4.25,
    )


COPY = Figure(
    name="hbm-copy",
    value=4240.5,
    unit="GB/s",
    gpu="GPU-1",
    node="gpu-1",
    at=5.0,
    under={"sm_mhz": 1980.0},
    held_back="",
)
REPORT = NodeReport(
    node="gpu-1",
    gpu_count=8,
    free_count=6,
    runs=(
        a_run("smoke-infer", GateVerdict.PASSED, figures=(COPY,)),
        a_run("smoke-train", GateVerdict.UNKNOWN, "torch: there is no PyTorch in this image"),
        a_run(
            "gpu-errors",
            GateVerdict.FAILED,
            "rows-remapped of GPU-3: 2 since the upgrade",
            unmeasured=(Unmeasured(name="xid", node="gpu-1", why="no kernel log"),),
        ),
    ),
    left_out=(LeftOut(gate="rdma", node="gpu-1", why="gpu-1 shows no InfiniBand or RoCE device"),),
)


# ── which gates are asked ────────────────────────────────────────────────────────────────────────────────────────────


def test_with_no_word_about_gates_the_suite_is_asked_on_all_free_gpus() -> None:
    gates, left_out = chosen(GatesAsked(node="gpu-1", image="probes:1"), an_offer(free_count=5))
    assert [gate.name for gate in gates] == ["smoke-train", "smoke-infer", "rdma", "gpu-errors", "multi-gpu"]
    assert {gate.name: gate.gpus for gate in gates}["smoke-train"] == 5
    assert left_out == ()


def test_what_is_named_is_asked_and_nothing_besides() -> None:
    gates, left_out = chosen(GatesAsked(node="gpu-1", image="p:1", names=("performance",)), an_offer(has_links=False))
    assert [gate.name for gate in gates] == ["performance"]
    assert left_out == ()


def test_gates_of_ones_own_need_no_image_of_ours() -> None:
    own = Gate(name="nccl", image="nccl:2")
    assert chosen(GatesAsked(node="gpu-1", own=(own,)), an_offer()) == ((own,), ())


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (GatesAsked(node="gpu-1"), "name yours with --image. `make image-probes` builds one"),
        (GatesAsked(node="gpu-1", names=("rdma",), own=(Gate(name="a", image="b"),)), "name yours with --image"),
        (GatesAsked(node="gpu-1", image="p:1", names=("nccl",)), "There is no gate nccl; there are smoke-train, "),
        (GatesAsked(node="gpu-1", image="p:1", gpus=0), "A gate that looks at GPUs needs at least one"),
    ],
)
def test_what_cannot_be_meant_is_said_before_anybody_connects(asked: GatesAsked, why: str) -> None:
    with pytest.raises(CalledWrongly, match=why):
        refuse(asked)


@pytest.mark.parametrize(
    ("offer", "why"),
    [
        (an_offer(is_ready=False), "gpu-1 is not Ready"),
        (an_offer(gpu_count=0, free_count=0), "gpu-1 offers no nvidia.com/gpu, and publishes no GPU through DRA"),
        (
            an_offer(free_count=0),
            "it asks for 1 GPUs, and 8 of the 8 of gpu-1 are in use; no pod is evicted for a gate",
        ),
        (an_offer(), ""),
    ],
)
def test_what_a_node_cannot_give_is_told_before_a_job_is_made(offer: Offer, why: str) -> None:
    assert offer.why_not(Gate(name="smoke", image="s:1", gpus=1)) == why


RING = Gate(name="distributed", image="probes:1", probe="distributed", gpus=8)


def test_a_sum_over_nodes_is_asked_of_those_that_have_room_and_the_others_are_told() -> None:
    partners = (an_offer(node="gpu-2"), an_offer(node="gpu-3", free_count=4), an_offer(node="gpu-4", by_claim=True))
    found, left_out = gang_of(RING, an_offer(), partners)
    assert found == ("gpu-1", "gpu-2")
    assert {each.gate: each.why for each in left_out} == {
        "distributed on gpu-3": "it asks for 8 GPUs, and 4 of the 8 of gpu-3 are in use; no pod is evicted for a gate",
        "distributed on gpu-4": "its GPUs are allocated differently from those of gpu-1",
    }


ALONE = "a sum over nodes needs 2, and gpu-1 is alone: "


@pytest.mark.parametrize(
    ("partners", "why"),
    [
        ((), "name others with --with NODE"),
        ((an_offer(),), "name others with --with NODE"),
        ((an_offer(node="gpu-2", is_ready=False),), "none of its partners has room"),
    ],
    ids=["nobody named", "itself", "nobody has room"],
)
def test_a_node_alone_is_no_gang_and_that_is_told(partners: tuple[Offer, ...], why: str) -> None:
    found, left_out = gang_of(RING, an_offer(), partners)
    assert found == ()
    assert (left_out[-1].gate, left_out[-1].why) == ("distributed", ALONE + why)


def test_partners_add_the_sum_over_nodes_to_the_suite() -> None:
    gates, _ = chosen(GatesAsked(node="gpu-1", image="i", partners=("gpu-2",)), an_offer())
    assert gates[-1].is_gang
    gates, _ = chosen(GatesAsked(node="gpu-1", image="i", partners=("gpu-1",)), an_offer())
    assert not any(gate.is_gang for gate in gates)


def test_a_file_of_gates_is_read_as_a_rollout_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "gates.yaml"
    file.write_text(
        "gates:\n- name: speed\n  image: p:1\n  probe: performance\n  figures:\n  - {name: hbm-copy, atLeast: 4000}\n"
    )
    (gate,) = gates_in(str(file))
    assert gate == Gate(
        name="speed", image="p:1", probe="performance", figures=(Limit(name="hbm-copy", at_least=4000.0),)
    )


def test_a_file_that_cannot_be_meant_says_where(tmp_path: Path) -> None:
    file = tmp_path / "gates.yaml"
    file.write_text("- name: speed\n  image: p:1\n  figures:\n  - {name: hbm-copy, atLeast: fast}\n")
    with pytest.raises(FileUnusable, match=r"gates.yaml: Expected `float \| null`, got `str` - at `\$\[0\].figures"):
        gates_in(str(file))


# ── what is printed ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_table_says_why_of_every_gate() -> None:
    text = "\n".join(reports.lines(REPORT))
    assert text.splitlines()[0].split() == ["GATE", "VERDICT", "SECONDS", "WHY"]
    assert "smoke-infer   passed     4         hbm-copy 4,240.5 GB/s" in text
    assert "smoke-train   unknown    4         torch: there is no PyTorch in this image" in text
    assert "rdma          left out             gpu-1 shows no InfiniBand or RoCE device" in text
    assert text.endswith("gpu-1: 1 passed, 1 unknown, 1 failed, 1 left out; 8 GPUs, 6 free.")


def test_circumstances_are_for_whoever_wants_them() -> None:
    assert "sm_mhz 1980" not in "\n".join(reports.lines(REPORT))
    assert "sm_mhz 1980" in "\n".join(reports.lines(REPORT, is_wide=True))


def test_scripts_get_figures_as_numbers() -> None:
    found = reports.as_data(REPORT)
    assert found["verdict"] == "failed"
    assert found["gates"][0]["figures"] == [
        {"name": "hbm-copy", "value": 4240.5, "unit": "GB/s", "gpu": "GPU-1", "heldBack": "", "under": {"sm_mhz": 1980}}
    ]
    assert found["leftOut"][0]["gate"] == "rdma"


def test_unknown_is_an_error_in_junit_and_what_was_left_out_is_skipped() -> None:
    root = ElementTree.fromstring(reports.as_junit(REPORT))  # noqa: S314  ours
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    ends = {case.get("name"): [part.tag for part in case] for case in root.iter("testcase")}
    assert ends == {"smoke-infer": [], "smoke-train": ["error"], "gpu-errors": ["failure"], "rdma": ["skipped"]}


def test_unknown_is_other_in_ctrf() -> None:
    found = json.loads(json.dumps(reports.as_ctrf(REPORT)))["results"]
    assert {each["name"]: each["status"] for each in found["tests"]} == {
        "smoke-infer": "passed",
        "smoke-train": "other",
        "gpu-errors": "failed",
        "rdma": "skipped",
    }
    summary = found["summary"]
    assert summary["tests"] == sum(summary[key] for key in ("passed", "failed", "pending", "skipped", "other"))
    assert (summary["start"], summary["stop"]) == (1_000_000, 1_004_250)


def test_only_a_pass_is_exit_code_0() -> None:
    assert [verdict for verdict in GateVerdict if CODES[verdict] == 0] == [GateVerdict.PASSED]
    assert CODES[GateVerdict.FAILED] == 10
    assert CODES[GateVerdict.UNKNOWN] == 11


def test_the_list_says_what_is_asked_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["gates", "list"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert rows["smoke-train"].split()[1] == "yes"
    assert "with 2 GPUs" in rows["multi-gpu"]


def test_a_gate_that_is_none_is_told_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main.main(["gates", "run", "gpu-1", "--gate", "smoke-trian"])
    assert "did you mean smoke-train?" in capsys.readouterr().err


# ── somebody's word ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("spring", "signed", "--because", "x"), "one of the arguments --pass --fail is required"),
        (("spring", "signed", "--pass", "--fail", "--because", "x"), "not allowed with argument --pass"),
        (("spring", "signed", "--pass"), "--because"),
        (("spring", "signed", "--pass", "--because", "x", "--for", "24"), "not a duration"),
    ],
)
def test_a_word_that_is_half_said_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], why: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["gates", "attest", *arguments])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


def test_a_gate_that_nobody_measures_is_shown_with_what_it_asks() -> None:
    assert reports.wants(Gate(name="signed", attest=Attest(asks="tenants are content"))) == (
        "somebody says: tenants are content"
    )
