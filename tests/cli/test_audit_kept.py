"""`seatrial audit --report-to`: the report in a ConfigMap made for it, within what an API server takes."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from seatrial.app.survey.auditing import audited
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.survey import audit_reports
from tests import audited as clusters
from tests.adapters.kube import standin
from tests.cli.served import serving
from tests.cli.test_audit import DAY, drifted
from tests.core.compat.knowledge import facts
from tests.core.survey.surveyed import a_cluster, a_node

AT = datetime(2026, 2, 1, 5, 17, tzinfo=UTC)


def keeping(cluster: clusters.Recorded, written: list[Any], *, is_there: bool = True) -> standin.Reply:
    """Answer lists, and take a report."""
    lists = clusters.serves(cluster)

    async def reply(request: web.Request) -> web.StreamResponse:
        if request.method != "PATCH":
            return await lists(request)
        if not is_there:
            return await standin.refuses(404, "NotFound", 'configmaps "report" not found')(request)
        written.append((request.path, request.headers["Content-Type"], await request.json()))
        return await standin.gives({})(request)

    return reply


def test_the_report_is_written_with_its_exit_code_and_printed_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written: list[Any] = []
    with serving(keeping(drifted(), written), tmp_path / "kubeconfig") as where:
        code = main(["audit", *where, "--on", DAY["helm"], "--report-to", "gpu/report"])
    assert code == ExitCode.DRIFT
    ((path, kind, body),) = written
    assert (path, kind) == ("/api/v1/namespaces/gpu/configmaps/report", "application/merge-patch+json")
    assert set(body["data"]) == {"at", "exitCode", "brief", "report.md", "report.json"}
    assert body["data"]["exitCode"] == "9"
    assert json.loads(body["data"]["report.json"])["findings"]
    assert "mixed gpu_driver" in capsys.readouterr().out


def test_a_configmap_that_is_not_there_is_told_with_the_command_that_makes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(keeping(drifted(), [], is_there=False), tmp_path / "kubeconfig") as where:
        assert main(["audit", *where, "--on", DAY["helm"], "--report-to", "gpu/report"]) == ExitCode.ERROR
    assert "`kubectl -n gpu create configmap report` makes it." in capsys.readouterr().err


@pytest.mark.parametrize("place", ["report", "/report", "gpu/", "a/b/c"])
def test_a_place_that_is_none_is_refused(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["audit", "--kubeconfig", "/nowhere", "--report-to", place])
    assert ended.value.code == ExitCode.USAGE
    assert "write NAMESPACE/CONFIGMAP" in capsys.readouterr().err


def test_of_a_large_cluster_the_nodes_are_left_out_and_counted() -> None:
    nodes = [a_node(f"gpu-{number:04}") for number in range(2000)]
    found = audited(a_cluster(*nodes), date(2026, 2, 1), facts(), None)
    report = audit_reports.kept(found, ExitCode.OK, AT)
    document = json.loads(report["report.json"])
    assert (document["nodes"], document["nodesLeftOut"]) == ([], 2000)
    assert sum(map(len, report.values())) < 1_000_000
