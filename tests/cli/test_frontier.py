"""What `seatrial forecast --frontier` prints, for people and for scripts; and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.app import looking
from seatrial.cli.main import main
from seatrial.core.model.seen.work import WorkSeen
from seatrial.ports import Sight
from tests.builders import NOW
from tests.cli.test_forecast import data_of, seen_as, told
from tests.core.budget.test_attrition_books import a_job, node, seen, wish

SMALL = [
    "forecast",
    "--nodes",
    "12",
    "--workload",
    "inference",
    "--frontier",
    "3h,12h",
    "--samples",
    "2",
    "--seed",
    "3",
]
ROLLOUT = """
apiVersion: seatrial.dev/v1alpha1
kind: GPURollout
metadata: {name: r}
spec:
  target: {driver: 580.105.08}
  mode: direct
  canary: {}
  limits: {maxIdleGPUs: 8}
  attrition: {deadlineSeconds: 18000}
"""


def a_busy_cluster(monkeypatch: pytest.MonkeyPatch, work: WorkSeen) -> None:
    """Four nodes under a rollout by attrition: a gang on two, a job, and a node that two jobs share."""
    nodes = [
        node("n1", a_job("g", "n1")),
        node("n2", a_job("g", "n2")),
        node("n3", a_job("j", "n3", saved_at=NOW - 60.0)),
        node("n4", a_job("a", "n4", 4), a_job("b", "n4", 4)),
    ]
    snapshot = seen(*nodes)
    found = looking.Look(
        at=NOW,
        sight=Sight(seen=snapshot, intent=wish(8)),
        nodes=dict(snapshot.nodes),
        operator=snapshot.operator,
    )
    seen_as(found, monkeypatch)

    async def look_at_work(*_: object) -> WorkSeen:
        return work

    monkeypatch.setattr(looking, "look_at_work", look_at_work)


def test_every_deadline_is_told_with_its_figures_beside_evicting_now(capsys: pytest.CaptureFixture[str]) -> None:
    data = data_of(capsys, *SMALL)
    assert [row["deadline_seconds"] for row in data["deadlines"]] == [3 * 3600, 12 * 3600]
    assert (data["samples"], data["seed"], data["fleet"]) == (2, 3, {"nodes": 12, "gpus": 96})
    assert data["reloads_gpu_hours"] == 9.6
    for row in (data["evict_now"], *data["deadlines"]):
        causes = row["idle_gpu_hours"] + row["thrown_away_gpu_hours"] + row["reload_gpu_hours"]
        assert row["gpu_hours"] == pytest.approx(causes, abs=0.2)
        assert row["gpu_hours_p10"] <= row["gpu_hours"] <= row["gpu_hours_p90"]
    assert data["evict_now"]["least_gpu_hours"] is None


def test_a_seed_repeats_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, *SMALL) == told(capsys, *SMALL)


def test_people_see_a_table_with_bars_and_the_deadline_to_take(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, *SMALL)
    assert "deadline   GPU-hours  most runs" in text
    assert "GPU-hours lost: █ work thrown away, ░ idle, ▒ reload" in text
    assert "▶ recommended" in text
    assert "less than evicting now" in text
    assert "(given by --workload)" in text
    assert "Not included: canary, gates and bake" in text


def test_a_rollout_by_attrition_is_forecast_so_with_its_own_deadline_and_the_jobs_that_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a_busy_cluster(monkeypatch, WorkSeen(finished={"jobs/": (36_000.0,) * 25}, waiting=((8, 2),)))
    data = data_of(capsys, "forecast", "--samples", "1", "--seed", "1")
    assert [row["deadline_seconds"] for row in data["deadlines"] if row["is_own"]] == [86_400]
    fleet = data["fleet"]
    assert (fleet["jobs"], fleet["gangs"], fleet["busy_gpus"], fleet["waiting_gpus"]) == (4, 1, 32, 16)
    assert data["limits"]["idle_gpus"] == 8
    assert {each["source"] for each in data["assumptions"]} >= {"seen", "as finished jobs of the same name"}


def test_where_too_few_jobs_have_finished_what_is_assumed_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a_busy_cluster(monkeypatch, WorkSeen())
    text = told(capsys, "forecast", "--frontier", "12h", "--samples", "1", "--seed", "1")
    assert "4 jobs, 1 gang among them on 32 of 32 GPUs, no pod waits (seen)" in text
    assert "(assumed for 4 jobs: too few have finished)" in text
    assert "1 of 4 tell of it, or save when asked" in text


def test_a_file_with_attrition_is_forecast_over_nodes_that_are_invented(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "rollout.yaml"
    file.write_text(ROLLOUT, encoding="utf-8")
    data = data_of(capsys, "forecast", "--nodes", "4", "-f", str(file), "--samples", "1", "--seed", "1")
    assert [row["deadline_seconds"] for row in data["deadlines"] if row["is_own"]] == [18_000]
    assert data["limits"]["idle_gpus"] == 8


def test_how_long_a_node_is_away_may_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    data = data_of(capsys, *SMALL, "--reload", "10m", "--validation", "2m")
    assert data["reloads_gpu_hours"] == 19.2
    assert any(each["value"] == "12 min" for each in data["assumptions"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--workload", "busy"], "--workload needs --nodes"),
        ([*SMALL[1:], "--html", "page.html"], "--html draws settings"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["forecast", *arguments]) == 1
    assert says in capsys.readouterr().err


def test_a_deadline_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["forecast", "--nodes", "4", "--frontier", "0h"])
    assert "a deadline of nothing" in capsys.readouterr().err
