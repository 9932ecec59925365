"""`seatrial dra` as people and Jobs call it, on a stand-in cluster: what it prints and deletes, and how it exits."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from seatrial.app.rerolling import End, Ended, Looked
from seatrial.cli import main
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.run import dra
from seatrial.core.movers.dra.values import DraSeen, Stand, Standing, Why
from tests.adapters.kube import objects
from tests.adapters.kube.dra_cluster import HOME, DraCluster, pods_of, served, sets_of

STALE = "plugin plugin-n1-0 started before the driver that runs"
YOUNGER = f"its plugin started after driver {objects.NEW}"


async def call(cluster: DraCluster, folder: Path, *words: str) -> int:
    """Run the command beside the stand-in's own loop."""
    async with served(cluster, folder) as found:
        return await asyncio.to_thread(main.main, ["dra", *words, "--kubeconfig", str(found.kubeconfig)])


async def test_status_prints_a_line_for_every_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = DraCluster("n1", "n2")
    cluster.restart(cluster.plugin_of("n2"))
    assert await call(cluster, tmp_path, "status") == ExitCode.FINDINGS
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:1]] == [["NODE", "STATE", "SINCE", "WHY", "NEXT"]]
    assert lines[1].split()[:3] == ["n1", "stale", "2026-01-02T03:04:05Z"]
    assert STALE in lines[1]
    assert lines[1].endswith("`seatrial dra reroll --node n1` restarts the plugin")
    assert YOUNGER in lines[2]
    assert lines[3] == "1 fresh, 1 stale."


async def test_status_wide_tells_versions_and_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await call(DraCluster("n1"), tmp_path, "status", "-o", "wide")
    head, line, _ = capsys.readouterr().out.splitlines()
    assert head.split() == ["NODE", "STATE", "SINCE", "DRIVER", "PLUGIN", "PUBLISHED", "WHY", "NEXT"]
    assert line.split()[3:6] == [objects.NEW, f"{HOME}/plugin-n1-0", objects.NEW]


async def test_status_as_a_document_says_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await call(DraCluster("n1"), tmp_path, "status", "-o", "json")
    assert json.loads(capsys.readouterr().out) == {
        "note": "",
        "nodes": [
            {
                "name": "n1",
                "state": "stale",
                "code": "older",
                "why": STALE,
                "next": "`seatrial dra reroll --node n1` restarts the plugin",
                "since": "2026-01-02T03:04:05Z",
                "driver": {
                    "pod": "driver-n1",
                    "version": objects.NEW,
                    "ready": True,
                    "usableSince": "2026-01-02T03:04:05Z",
                },
                "plugin": {
                    "namespace": HOME,
                    "pod": "plugin-n1-0",
                    "startedAt": "2026-01-01T00:00:00Z",
                    "ready": True,
                },
                "published": [objects.NEW],
            }
        ],
        "unseen": [],
    }


async def test_what_was_not_seen_is_told_beside_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = DraCluster("n1")
    cluster.forbidden = {"/apis/resource.k8s.io/v1/resourceslices"}
    await call(cluster, tmp_path, "status")
    assert "seatrial: not seen: resourceslices: " in capsys.readouterr().err


async def test_reroll_announces_deletes_and_says_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = DraCluster("n1")
    assert await call(cluster, tmp_path, "reroll", "--wait", "--stability", "0s") == ExitCode.OK
    said = capsys.readouterr()
    assert said.out == "1 fresh. Plugins restarted: n1.\n"
    assert f"n1: deletes DRA plugin {HOME}/plugin-n1-0" in said.err
    assert len(cluster.writes) == 1
    assert await call(cluster, tmp_path, "reroll", "--wait", "-o", "json") == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["end"], found["deleted"], found["leftToController"]) == ("fresh", [], False)
    assert len(cluster.writes) == 1


async def test_no_dra_driver_is_a_sentence_and_a_success_unless_one_is_required(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = DraCluster("n1")
    cluster.lists[pods_of(HOME)], cluster.lists[sets_of(HOME)] = [], []
    assert await call(cluster, tmp_path, "reroll", "--wait") == ExitCode.OK
    assert capsys.readouterr().out.startswith("There is no DRA driver in nvidia-dra-driver-gpu, ")
    assert await call(cluster, tmp_path, "reroll", "--require") == ExitCode.ERROR
    assert "--require" in capsys.readouterr().err


async def test_a_dry_run_says_what_would_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = DraCluster("n1")
    assert await call(cluster, tmp_path, "reroll", "--dry-run") == ExitCode.OK
    assert capsys.readouterr().out.startswith(f"n1: deletes DRA plugin {HOME}/plugin-n1-0")
    assert cluster.writes == []
    cluster.restart(cluster.plugin_of("n1"))
    await call(cluster, tmp_path, "reroll", "--dry-run")
    assert capsys.readouterr().out == "Nothing would be deleted.\n"


async def test_a_deadline_that_passes_has_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = DraCluster("n1")
    cluster.is_restarting = False
    code = await call(cluster, tmp_path, "reroll", "--stability", "0s", "--deadline", "3s")
    assert code == ExitCode.TIMEOUT
    assert "n1: rerolling, " in capsys.readouterr().out


def a_look(*stands: Stand) -> Looked:
    told = tuple(Standing(node=f"n{number}", stand=each, why=Why.OLDER) for number, each in enumerate(stands))
    return Looked(seen=DraSeen(nodes={}), standings=told)


@pytest.mark.parametrize(
    ("stands", "code"),
    [
        ((), ExitCode.OK),
        ((Stand.FRESH, Stand.SKIPPED), ExitCode.OK),
        ((Stand.FRESH, Stand.PENDING), ExitCode.INCONCLUSIVE),
        ((Stand.REROLLING,), ExitCode.INCONCLUSIVE),
        ((Stand.PENDING, Stand.STALE), ExitCode.FINDINGS),
        ((Stand.WAITING,), ExitCode.FINDINGS),
        ((Stand.FAILED,), ExitCode.FINDINGS),
    ],
)
def test_status_exits_by_the_worst_that_it_found(stands: tuple[Stand, ...], code: ExitCode) -> None:
    assert dra.status_code(a_look(*stands)) is code


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (End.FRESH, ExitCode.OK),
        (End.NO_DRIVER, ExitCode.OK),
        (End.TRIAL, ExitCode.OK),
        (End.REQUESTED, ExitCode.OK),
        (End.LEFT, ExitCode.INCONCLUSIVE),
        (End.FAILED, ExitCode.FINDINGS),
        (End.LATE, ExitCode.TIMEOUT),
    ],
)
def test_reroll_exits_by_how_it_ended(end: End, code: ExitCode) -> None:
    assert dra.reroll_code(Ended(end=end, looked=a_look())) is code


@pytest.mark.parametrize("words", [["reroll", "--deadline", "soon"], ["restart"], []])
def test_a_call_that_cannot_be_meant_is_refused(words: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["dra", *words])
    assert ended.value.code == ExitCode.USAGE
    assert capsys.readouterr().err
