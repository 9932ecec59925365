"""What `seatrial forecast` prints, for people and for scripts; and what it refuses. The page: test_forecast_page.py."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.journal.jsonl import JsonlJournal
from seatrial.app import looking
from seatrial.cli.main import main
from seatrial.core.model.campaign import Bake, Campaign
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.ports import Sight
from tests import builders, portable

SMALL = [
    "forecast",
    "--nodes",
    "20",
    "--samples",
    "5",
    "--seed",
    "7",
    "--parallel",
    "1,4,0",
    "--unavailable",
    "10%,25%",
]


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments]) == 0
    return capsys.readouterr().out


def seen_as(found: looking.Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the cluster look like this."""

    async def look(*_: object) -> looking.Look:
        return found

    monkeypatch.setattr(looking, "look_at_nodes", look)


def data_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told(capsys, *arguments, "-o", "json"))
    return found


def a_fleet_of(count: int, *, gpus: int) -> dict[str, Any]:
    """What is told of a fleet in which nobody stands in the way."""
    return {"nodes": count, "gpus": gpus, "gpus_at_start": gpus, "cordoned": [], "not_ready": [], "left_out": {}}


def recommended(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in (*data["settings"], data["at_once"]) if row["is_recommended"]]


# ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_setting_is_told_with_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    data = data_of(capsys, *SMALL, "--reload", "100", "--validation", "20", "--grace", "30")
    assert [(row["parallel"], row["unavailable"]) for row in data["settings"]] == [
        (parallel, share) for parallel in (1, 4, 0) for share in ("10%", "25%")
    ]
    first, last = data["settings"][0], data["settings"][-1]
    assert (first["seconds_p50"], first["seconds_p90"]) == (20 * 150, 20 * 150)
    assert (last["seconds_p50"], last["least_capacity"]) == (4 * 150, 0.75)
    assert first["gpu_hours_lost_p50"] == pytest.approx(20 * 8 * 150 / 3600, abs=0.01)
    assert first["evictions"] == 40
    assert data["at_once"]["seconds_p50"] == 150
    assert data["fleet"] == a_fleet_of(20, gpus=160)


def test_the_same_seed_says_the_same_and_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert data_of(capsys, *SMALL) == data_of(capsys, *SMALL)
    assert "seed 7" in told(capsys, *SMALL)


def test_a_seed_nobody_gave_is_printed_so_that_it_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["forecast", "--nodes", "5", "--samples", "3"]
    data = data_of(capsys, *arguments)
    assert data_of(capsys, *arguments, "--seed", str(data["seed"])) == data


def test_the_setting_for_the_buffer_is_recommended(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, *SMALL, "--buffer", "10%")
    (marked,) = [line for line in text.splitlines() if line.startswith("▶ 4")]
    assert marked.split()[1:5] == ["4", "or", "more", "10%"]
    assert "▶ recommended" in text
    assert "Take maxParallelUpgrades 4 with maxUnavailable 10%: " in text
    assert "Not included: " in text


def test_without_a_buffer_a_maintenance_window_is_advised(capsys: pytest.CaptureFixture[str]) -> None:
    data = data_of(capsys, *SMALL, "--buffer", "0")
    assert data["advice"]["kind"] == "window"
    assert data["at_once"]["is_recommended"]
    assert "Take a maintenance window: all nodes at once, without canary or waves, need" in told(
        capsys, *SMALL, "--buffer", "0"
    )


def test_a_rollout_that_stops_has_no_duration(capsys: pytest.CaptureFixture[str]) -> None:
    always = [*SMALL, "--failure-rate", "100%", "--max-failed", "0"]
    data = data_of(capsys, *always)
    assert {row["seconds_p50"] for row in data["settings"]} == {None}
    assert {row["stop_chance"] for row in data["settings"]} == {1.0}
    assert recommended(data) == []
    assert data["curve"] is None
    text = told(capsys, *always)
    assert "Do not start yet: every setting stops." in text
    assert "More nodes fail than maxFailed 0 allows (a container of the driver pod keeps crashing)." in text
    assert "No setting finishes" in text


def test_all_at_once_is_not_advised_where_most_nodes_fail(capsys: pytest.CaptureFixture[str]) -> None:
    data = data_of(capsys, "forecast", "--nodes", "8", "--failure-rate", "60%", "--samples", "20", "--seed", "1")
    assert (data["advice"]["kind"], recommended(data)) == ("wait", [])
    assert data["at_once"]["stop_chance"] == 1.0


def test_what_was_assumed_is_told_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, *SMALL, "--reload", "180±60", "--failure-rate", "1%", "--blocked", "5%", "--max-failed", "20")
    assert "driver reload: 120 to 240 s (given by --reload)" in text
    assert "pods leave: 30 to 60 s (assumed, as in the simulator)" in text
    assert "failures: 1.00% of attempts (given by --failure-rate)" in text
    assert "kept by a disruption budget: 5.0% of nodes, for 0 to 120 s (given by --blocked)" in text


def test_jobs_are_waited_for_where_their_time_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    data = data_of(capsys, *SMALL, "--jobs", "1h", "--reload", "60", "--validation", "0")
    assert data["at_once"]["seconds_p50"] == 3660
    assert data["at_once"]["evictions"] == 0


def test_nothing_is_coloured_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\033" not in told(capsys, *SMALL)


def test_the_pictures_show_the_recommended_setting(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, *SMALL)
    assert text.count("◆") == 2  # the legend and the point
    assert "GPUs that take work, 4 at a time, 10% unavailable" in text
    assert "█" in text


# ── where the nodes come from ────────────────────────────────────────────────────────────────────────────────────────


def test_a_saved_snapshot_is_forecast(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nodes = [portable.a_node(f"n{number}") for number in range(4)]
    skipped = portable.a_node("n9", **{"nvidia.com/gpu-driver-upgrade.skip": "true"})
    file = portable.written(tmp_path / "fleet.json", *nodes, skipped)
    data = data_of(capsys, "forecast", "--snapshot", str(file), "--samples", "3", "--seed", "1", "--gpus-per-node", "4")
    assert data["fleet"] == a_fleet_of(5, gpus=20) | {"left_out": {"skipped": ["n9"]}}
    assert data["source"] == f"{file}, which has no rollout"


def test_a_fleet_of_which_nobody_can_be_moved_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = portable.written(tmp_path / "fleet.json", portable.a_node("n1"), **{portable.PODS: []})
    text = told(capsys, "forecast", "--snapshot", str(file), "--samples", "1")
    assert "left out: 1 node held by driver-pod-missing (n1)" in text
    assert "Nothing to do: no node would be moved." in text
    assert "parallel" not in text


def test_the_cluster_is_forecast_by_default(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = builders.a_snapshot(*builders.a_fleet(3, NodePhase.UPGRADE_REQUIRED))
    found = looking.Look(
        at=builders.NOW,
        sight=Sight(seen=seen, intent=builders.an_intent()),
        nodes=dict(seen.nodes),
        operator=OperatorFacts(),
    )
    seen_as(found, monkeypatch)
    data = data_of(capsys, "forecast", "--samples", "2", "--seed", "1")
    assert (data["fleet"]["nodes"], data["source"]) == (3, "rollout spring of the cluster")


def test_a_cluster_without_a_rollout_is_forecast_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = {node.name: node for node in (builders.a_well_node("n1"), builders.a_well_node("n2"))}
    found = looking.Look(at=builders.NOW, sight=None, nodes=nodes, operator=OperatorFacts())
    seen_as(found, monkeypatch)
    data = data_of(capsys, "forecast", "--samples", "2", "--seed", "1")
    assert data["at_once"]["gpu_hours_lost_p50"] > 0


def test_a_journal_is_learned_from(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with JsonlJournal(path) as journal:
        for number in range(6):
            acts = (("wait-for-jobs-required/1@1", 0), ("restart-driver/1/u", 1), ("validation-required/1@2", 78))
            for act, at in acts:
                journal.append(at, "act", {"id": f"n{number}/{act}"})
                journal.append(at, "outcome", {"id": f"n{number}/{act}", "result": "done"})
    data = data_of(capsys, *SMALL, "--history", str(path))
    (reload,) = [each for each in data["assumptions"] if each["what"] == "driver reload"]
    assert reload["value"] == "77 to 77 s, median 77 s"
    assert reload["source"] == "learned from 6 in the history"
    values = [each["value"] for each in data["assumptions"] if each["what"] == "history"]
    assert "validation: 0 in the history, fewer than 5; the default stays" in values


# ── cordons of others ────────────────────────────────────────────────────────────────────────────────────────────────


EIGHT = ["forecast", "--samples", "3", "--seed", "1", "--gpus-per-node", "8"]


def eight_nodes(monkeypatch: pytest.MonkeyPatch, cordoned: int) -> None:
    """Eight nodes, of which admins have cordoned the first few."""
    nodes = [builders.an_old_node(f"n{number}", is_cordoned=number < cordoned) for number in range(8)]
    seen = builders.a_snapshot(*nodes)
    sight = Sight(seen=seen, intent=builders.an_intent())
    seen_as(looking.Look(at=builders.NOW, sight=sight, nodes=dict(seen.nodes), operator=OperatorFacts()), monkeypatch)


def test_a_cordon_that_uses_up_the_limit_is_named_and_nothing_is_recommended(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    eight_nodes(monkeypatch, 1)
    data = data_of(capsys, *EIGHT)
    assert (data["advice"]["kind"], recommended(data)) == ("wait", [])
    assert data["fleet"]["cordoned"] == ["n0"]
    small = [row for row in data["settings"] if row["unavailable"] != "25%"]
    assert {(row["stop_chance"], row["stops"][0]["cause"]) for row in small} == {(1.0, "unavailable-limit")}
    assert all(row["seconds_p90"] for row in data["settings"] if row["unavailable"] == "25%")
    text = told(capsys, *EIGHT)
    assert "cordoned by others: 1 node (n0), which counts as unavailable" in text
    assert "n0 is cordoned by somebody else, and that uses up maxUnavailable." in text
    assert "Uncordon n0, take n0 out of the rollout by its nodeSelector, or allow maxUnavailable 2 or more." in text
    assert "▶" not in text
    assert "fail" not in text.partition("Do not start yet")[2].partition("Not included")[0]


@pytest.mark.parametrize("cordoned", [1, 3, 7, 8])
@pytest.mark.parametrize("buffer", ["0", "10%", "100%"])
def test_however_many_are_cordoned_there_is_an_answer_in_every_form(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cordoned: int, buffer: str
) -> None:
    eight_nodes(monkeypatch, cordoned)
    file = tmp_path / "page.html"
    asked = [*EIGHT, "--buffer", buffer]
    data = data_of(capsys, *asked, "--html", str(file))
    assert (data["fleet"]["gpus_at_start"], len(data["fleet"]["cordoned"])) == ((8 - cordoned) * 8, cordoned)
    assert all(row["seconds_p90"] is not None for row in recommended(data))
    assert data["advice"]["head"] in told(capsys, *asked)
    assert data["advice"]["head"] in file.read_text(encoding="utf-8")


def test_where_all_are_cordoned_nobody_loses_anything_and_nothing_stops(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    eight_nodes(monkeypatch, 8)
    data = data_of(capsys, *EIGHT)
    assert data["advice"]["kind"] == "setting"
    assert {(row["least_capacity"], row["stop_chance"], row["gpu_hours_lost_p50"]) for row in data["settings"]} == {
        (1.0, 0.0, 0.0)
    }


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def rows_of(text: str) -> list[str]:
    """The rows of the table, without its head."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("  parallel")) + 1
    return lines[start : next(number for number in range(start, len(lines)) if "all at once" in lines[number]) + 1]


def test_settings_that_come_to_the_same_are_one_row_that_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(told(capsys, "forecast", "--nodes", "8", "--samples", "5", "--seed", "1", "--buffer", "15%"))
    assert [" ".join(row[:26].split()) for row in rows] == [
        "▶ 1 1% to 25%",
        "▶ 4 or more 1% to 10%",
        "4 or more 25%",
        "all at once",
    ]
    assert rows[1].endswith("the same")


def test_settings_that_differ_in_any_figure_are_rows_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(rows_of(told(capsys, *SMALL, "--parallel", "1,2,4", "--unavailable", "2,4"))) == 4 + 1
    data = data_of(capsys, *SMALL, "--parallel", "1,2,4", "--unavailable", "2,4")
    assert len(data["settings"]) == 6


@pytest.mark.parametrize(
    "arguments",
    [
        ("--nodes", "8"),
        ("--nodes", "5000", "--parallel", "1,4,0", "--unavailable", "1%,25%", "--samples", "1"),
        ("--nodes", "500", "--jobs", "100h"),
        ("--nodes", "30", "--failure-rate", "30%"),
    ],
)
def test_rows_and_pictures_fit_eighty_columns(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    text = told(capsys, "forecast", "--samples", "3", "--seed", "1", *arguments)
    assert max(map(len, rows_of(text))) <= 80
    assert max((len(line) for line in text.splitlines() if "┤" in line or "└" in line), default=0) <= 80


def test_one_is_told_in_the_singular(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "forecast", "--nodes", "1", "--gpus-per-node", "1", "--pods-per-node", "1", "--samples", "1")
    assert text.startswith("Forecast  1 node with 1 GPU, from 1 node all alike, 1 GPU pod on each; 1 run for each")


# ── a careful rollout ────────────────────────────────────────────────────────────────────────────────────────────────

CAREFUL = """
apiVersion: seatrial.dev/v1alpha1
kind: GPURollout
metadata: {name: spring}
spec:
  target: {driver: 580.105.08}
  nodeSelector: {pool: a}
  limits: {maxParallelUpgrades: 2, maxUnavailable: 10%}
  canary: {count: 1}
  gates: [{name: smoke, image: "smoke:1"}]
  bake: {durationSeconds: 172800}
  waves: {growth: percentages, percentages: [25], pauseSeconds: 600}
  prepull: false
"""
WINDOWS = """
  windows: {timeZone: UTC, open: [{start: "00:00", minutes: 1440}]}
"""


def careful(tmp_path: Path, more: str = "") -> str:
    file = tmp_path / "rollout.yaml"
    file.write_text(CAREFUL.rstrip() + more, encoding="utf-8")
    return str(file)


TIMED = ["--reload", "300", "--validation", "0", "--grace", "0", "--gates", "2m", "--samples", "2", "--seed", "1"]


def test_a_rollout_of_a_file_is_told_as_the_parts_of_its_total(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["forecast", "--nodes", "9", "-f", careful(tmp_path), *TIMED, "--buffer", "25%"]
    data = data_of(capsys, *arguments)
    (own,) = [row for row in data["settings"] if (row["parallel"], row["unavailable"]) == (2, "10%")]
    assert data["own"] == {"parallel": 2, "unavailable": "10%"}
    assert own["seconds_p50"] == sum(own["parts_p50"].values())
    text = told(capsys, *arguments)
    assert "canary 5 min, gates 2 min, bake 2 d, waves 40 min, pauses 10 min" in text
    assert "recommended (" in text
    assert "a round of gates: 120 s (given by --gates)" in text
    assert "GPUs that take work from the first wave on" in text
    assert "gates that fail, and the way back then." in text
    assert data["at_once"]["seconds_p50"] == 300  # a maintenance window has no canary


def test_a_rollout_of_a_file_is_about_the_nodes_that_it_selects(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    nodes = [portable.a_node(f"n{number}", pool="a" if number else "b") for number in range(4)]
    snapshot = portable.written(tmp_path / "fleet.json", *nodes)
    file = careful(tmp_path)
    data = data_of(capsys, "forecast", "--snapshot", str(snapshot), "-f", file, *TIMED)
    assert (data["fleet"]["nodes"], data["source"]) == (3, f"the rollout of {file} over {snapshot}")


def test_with_windows_it_is_said_from_when_they_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = told(capsys, "forecast", "--nodes", "9", "-f", careful(tmp_path, WINDOWS), *TIMED)
    assert re.search(r"windows: counted from a start at \d{4}-\d\d-\d\d \d\d:\d\d UTC", text)


def test_the_campaign_of_the_clusters_rollout_is_part_of_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = builders.a_snapshot(*(builders.an_old_node(f"n{number}") for number in range(4)))
    intent = builders.an_intent(campaign=Campaign(bake=Bake(seconds=3600.0)))
    found = looking.Look(
        at=builders.NOW, sight=Sight(seen=seen, intent=intent), nodes=dict(seen.nodes), operator=OperatorFacts()
    )
    seen_as(found, monkeypatch)
    data = data_of(capsys, "forecast", "--samples", "2", "--seed", "1", "--buffer", "50%")
    assert all(row["seconds_p50"] > 3600 for row in data["settings"])
    assert set(data["settings"][0]["parts_p50"]) == {"canary", "bake", "waves"}


def test_without_a_rollout_it_is_said_that_canary_gates_and_bake_are_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = told(capsys, *SMALL)
    assert "and canary, gates, bake and waves, since no rollout says any (-f FILE, or --rollout)." in text


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--nodes", "0"), "'0' is not a number from 1 to 100000"),
        (("--nodes", "many"), "'many' is not a number"),
        (("--nodes", "5", "--reload", "soon"), "'soon' is not a duration. Write 180, 3m, 180±60"),
        (("--nodes", "5", "--buffer", "110%"), "'110%' is not a share such as 10%"),
        (("--nodes", "5", "--buffer", "10"), "'10' is not a share such as 10%"),
        (("--nodes", "5", "--failure-rate", "-1%"), "expected one argument"),
        (("--nodes", "5", "--unavailable", "5%,x"), "maxUnavailable 'x' is neither a count"),
        (("--nodes", "5", "--unavailable", "101%"), "'101%' is more than all of the nodes"),
        (("--nodes", "5", "--parallel", "1,,2"), "'' is not a number"),
        (("--nodes", "5", "--samples", "0"), "'0' is not a number from 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["forecast", *arguments])
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--nodes", "5", "--snapshot", "x.json"), "--nodes and --snapshot both name a fleet"),
        (("--snapshot", "missing.json"), "missing.json cannot be read"),
        (("--snapshot", "x.json", "--pods-per-node", "3"), "--pods-per-node needs --nodes"),
        (("--nodes", "5", "--history", "missing.jsonl"), "missing.jsonl cannot be read"),
        (("--nodes", "5", "-f", "missing.yaml"), "missing.yaml cannot be read"),
        (("--rollout", "spring", "-f", "x.yaml"), "-f and --rollout both name a rollout"),
        (("--nodes", "5", "--samples", "1", "--html", "no/such/folder.html"), "folder.html cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    assert main(["forecast", *arguments]) == 1
    assert says in capsys.readouterr().err
