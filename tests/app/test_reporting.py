"""The document of a report: what is known of a rollout, and what is not, from its status and from a journal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.journal.jsonl import JsonlJournal
from seatrial.app.looking import Look
from seatrial.app.picking import Rollout
from seatrial.app.survey import reporting
from seatrial.core.model.campaign import (
    ENDED,
    Bake,
    GitPlace,
    Mode,
    Places,
    Point,
    PublishStep,
    RolloutPhase,
    SourceFacts,
    Via,
)
from seatrial.core.model.gates.gate import Word
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.rollouts import Summary
from seatrial.sim.outside import GateFate
from tests.builders import NEW, OLD, a_node, an_intent
from tests.cli.test_rollout_tree import FIRMWARE, a_look
from tests.reported import BROKEN, STARTED_AT, Reported, careful, played

SAID = [{"what": "approved waves", "by": "alice", "at": "2026-03-03T10:20:00Z"}]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """Two days of bake, and everybody followed."""
    return played(tmp_path_factory.mktemp("good"), spec={"said": SAID})


def changed(found: Reported, **campaign: Any) -> Look:
    """The same with another wish."""
    sight = found.look.sight
    assert sight is not None
    assert sight.intent.campaign is not None
    wish = replace(sight.intent, campaign=replace(sight.intent.campaign, **campaign))
    return replace(found.look, sight=replace(sight, intent=wish))


def test_what_was_done_when_and_at_what_cost(good: Reported) -> None:
    data = good.data()
    assert (data["rollout"], data["from"], data["goal"]) == ("spring", OLD.version, f"driver {NEW.version}")
    assert (data["phase"], data["outcome"], data["exitCode"]) == ("Done", "well", 0)
    assert data["verdict"] == f"Done: 20 of 20 nodes are upgraded to {NEW.version}."
    assert data["began"] == "2026-03-01T10:00:00Z"
    assert data["ended"] == data["timeline"]["to"] == data["timeline"]["phases"][-1]["at"]
    assert data["seconds"] > 48 * 3600
    assert data["nodes"] | {"total": 20, "done": 20, "failed": 0, "skipped": 0} == data["nodes"]
    assert data["cost"]["gpuHours"] > 0
    assert data["cost"]["evictions"] == sum(number % 3 for number in range(1, 21))
    assert data["waves"] == [2, 4, 8, 5]
    assert sum(each["seconds"] for each in data["timeline"]["phases"]) == pytest.approx(data["seconds"], abs=0.1)


def test_with_a_journal_the_work_on_every_node_is_known_from_its_beginning_to_its_end(good: Reported) -> None:
    nodes = good.data()["timeline"]["nodes"]
    assert [each["name"] for each in nodes] == [f"gpu-{number:02}" for number in range(1, 21)]
    for each in nodes:
        works = [work["what"] for work in each["works"]]
        assert works[-1] == "done"
        assert {"driver", "proving"} <= set(works)
        ends = [work["until"] for work in each["works"]]
        assert ends == sorted(ends)


def test_without_one_it_is_known_when_nodes_were_done_and_evictions_and_commits_are_not(good: Reported) -> None:
    data = good.data(has_journal=False)
    assert data["cost"]["evictions"] is None
    assert data["cost"]["gpuHours"] == good.data()["cost"]["gpuHours"]
    assert {work["what"] for each in data["timeline"]["nodes"] for work in each["works"]} == {"done"}
    assert data["timeline"]["nodesFrom"] == "records"
    assert data["timeline"]["phases"] == good.data()["timeline"]["phases"]


def test_what_was_waited_for_is_added_up(good: Reported) -> None:
    waits = {each["why"].partition(":")[0]: each for each in good.data()["waits"]}
    baked = waits["the canary bakes"]
    assert baked["isOver"]
    assert baked["times"] == 1, "rounds of gates are asked meanwhile, and do not interrupt it"
    rounds = waits["waiting for gates"]
    assert rounds["times"] > 40
    assert 40 * 3600 < baked["seconds"] < 48.1 * 3600
    assert good.data(has_journal=False)["waits"] == []


def test_what_the_bake_proved_is_told_in_the_words_of_bake_explain(good: Reported) -> None:
    bake = good.data()["bake"]
    assert bake["told"][0] == "2 d of 2 d count as evidence: every gate passed before and after."


def test_who_said_yes_is_named_as_claimed_unless_a_policy_holds_them_to_it(good: Reported) -> None:
    assert good.data()["said"] == [{"at": SAID[0]["at"], "who": "alice (claimed)", "what": "approved waves"}]
    assert good.data(is_held=True)["said"][0]["who"] == "alice"


def test_what_nobody_signed_and_words_for_gates_are_told_too(good: Reported) -> None:
    word = Word(gate="site", is_pass=True, because="looked at it", by="bob", at=STARTED_AT, until=STARTED_AT + 1)
    look = changed(good, approved=(Point.WAVES, Point.PROMOTION), attested=(word,))
    told = [(each["who"], each["what"]) for each in reporting.document(look, good.rollout)["said"]]
    assert told == [
        ("somebody", "approved promotion (nobody signed it)"),
        ("bob (claimed)", "said that gate site passes: looked at it"),
        ("alice (claimed)", "approved waves"),
    ]


def test_commits_and_tag_are_those_that_the_journal_saw(good: Reported) -> None:
    assert good.data()["git"] is None
    place = GitPlace(url="https://git.example.com/gpu", branch="main", path="versions.yaml")
    look = changed(good, has_source=True, places=Places(matrix=place))
    told = reporting.journal_of([good.journal], "spring")
    source = SourceFacts(steps=((PublishStep.PROMOTION, "abc"),), tag="v2026-03-stable")
    told = replace(told, seen=replace(told.seen, source=source))
    git = reporting.document(look, good.rollout, told=told)["git"]
    assert git["commits"] == [{"step": "promotion", "commit": "abc"}]
    assert git["tag"] == "v2026-03-stable"
    without = reporting.document(look, good.rollout)["git"]
    assert without["commits"] is without["requests"] is without["tag"] is None
    assert without["places"] == [str(place)]


def test_nodes_that_failed_are_named_with_their_reason(tmp_path: Path) -> None:
    fates = {"gpu-07": BROKEN, "gpu-12": BROKEN}
    data = played(tmp_path, careful(bake=Bake(seconds=3600.0), tags_with_failures=True), fates=fates).data()
    assert (data["outcome"], data["exitCode"]) == ("left", 8)
    assert data["verdict"] == f"Done: 18 of 20 nodes are upgraded to {NEW.version}, 2 failed."
    assert [each["name"] for each in data["nodes"]["failedNodes"]] == ["gpu-07", "gpu-12"]
    assert all("driver pod keeps crashing" in each["why"] for each in data["nodes"]["failedNodes"])
    works = {each["name"]: [work["what"] for work in each["works"]] for each in data["timeline"]["nodes"]}
    assert works["gpu-07"][-1] == "failed"


def test_one_that_was_taken_back_says_why_and_shows_the_way_back(tmp_path: Path) -> None:
    fate = GateFate(fails_on=NEW.version, from_round=3, detail="no link")
    data = played(tmp_path, gate_fates={"rdma": fate}).data()
    assert (data["phase"], data["outcome"], data["exitCode"]) == ("Reverted", "reverted", 10)
    assert data["verdict"] == "Reverted: gate rdma failed on gpu-03: no link."
    assert [each["what"] for each in data["timeline"]["phases"]][-2:] == ["Reverting", "Reverted"]
    (canary,) = data["timeline"]["nodes"]
    assert [work["what"] for work in canary["works"]].count("done") == 2


def test_a_rollout_without_a_canary_is_one_stretch_from_when_it_was_made_to_when_it_ended(tmp_path: Path) -> None:
    data = played(tmp_path, an_intent(parallel_max=2, unavailable_max="50%"), nodes=6).data()
    assert (data["phase"], data["from"], data["gates"], data["bake"]) == ("over", None, None, None)
    assert data["verdict"] == f"Done: 6 of 6 nodes are upgraded to {NEW.version}."
    (phase,) = data["timeline"]["phases"]
    assert phase["seconds"] == pytest.approx(data["seconds"], abs=1)
    assert len(data["timeline"]["nodes"]) == 6
    assert data["settings"] == [{"what": "limits", "value": "2 at once, 50% unavailable, 1 failure tolerated"}]


def test_one_of_them_that_ended_without_a_node_ended_with_the_last_of_the_others(tmp_path: Path) -> None:
    found = played(tmp_path, an_intent(parallel_max=2, unavailable_max="50%"), nodes=6, fates={"gpu-3": BROKEN})
    data = found.data(has_journal=False)
    assert data["isOver"]
    assert data["verdict"].endswith("1 failed.")
    last = max(work["until"] for each in data["timeline"]["nodes"] for work in each["works"])
    assert data["ended"] == last


def test_one_that_runs_still_lasts_until_now(tmp_path: Path) -> None:
    found = played(tmp_path, is_over=lambda report: report.at > STARTED_AT + 10 * 3600, after_seconds=60.0)
    data = found.data(has_journal=False)
    assert (data["phase"], data["ended"], data["isOver"]) == ("Baking", None, False)
    assert not data["timeline"]["phases"][-1]["isOver"]
    assert data["timeline"]["to"] == data["at"]
    assert data["waits"]
    assert not any(wait["isOver"] for wait in data["waits"])


def test_where_nvidia_moves_the_nodes_nobody_counts_what_it_costs(tmp_path: Path) -> None:
    data = played(tmp_path, careful(bake=Bake(seconds=600.0)), nodes=8, is_delegated=True).data()
    assert data["cost"] == {"gpuHours": None, "evictions": None}
    works = {each["name"]: [work["what"] for work in each["works"]] for each in data["timeline"]["nodes"]}
    assert len(works) == 8
    assert all(each[-1] == "done" and each.count("done") == 1 for each in works.values())


def test_one_with_an_empty_status_has_nothing_to_tell_but_its_settings(tmp_path: Path) -> None:
    found = played(tmp_path, is_over=lambda _: True)
    sight = found.look.sight
    assert sight is not None
    bare = replace(sight, seen=replace(sight.seen, rollout=replace(sight.seen.rollout, summary=None, campaign=None)))
    data = reporting.document(replace(found.look, sight=bare), found.rollout)
    assert data["verdict"].startswith("Not begun: 0 of 20 nodes")
    assert (data["phase"], data["cost"]) == ("not begun", {"gpuHours": None, "evictions": None})
    assert data["timeline"]["nodes"] == []
    assert data["settings"]


def test_where_nodes_have_moved_on_since_it_is_told_what_was_written_at_its_end(good: Reported) -> None:
    sight = good.look.sight
    assert sight is not None
    record = replace(
        sight.seen.rollout,
        summary=Summary(state="done", done=19, total=20, counts=((NodePhase.UPGRADE_FAILED.value, 1),)),
    )
    later = {name: a_node(name, NodePhase.UPGRADE_DONE, entered_at=good.look.at + 9) for name in sight.seen.nodes}
    moved = replace(sight, seen=replace(sight.seen, rollout=record, nodes=later))
    data = reporting.document(replace(good.look, sight=moved), good.rollout)
    assert data["verdict"] == f"Done: 19 of 20 nodes are upgraded to {NEW.version}, 1 failed."
    assert data["nodes"]["skipped"] is None
    assert data["timeline"]["nodes"] == []


def test_a_journal_of_another_rollout_is_refused(good: Reported, tmp_path: Path) -> None:
    with pytest.raises(reporting.NotInJournal, match="no pass of rollout winter"):
        reporting.journal_of([good.journal], "winter")
    empty = tmp_path / "empty.jsonl"
    with JsonlJournal(empty) as journal:
        journal.append(1.0, "act", {"id": "x", "act": "EvictPods"})
    with pytest.raises(reporting.NotInJournal):
        reporting.journal_of([empty], "spring")


def test_a_rollout_that_cannot_be_read_is_no_report(good: Reported) -> None:
    with pytest.raises(reporting.NotToBeSeen, match=r"nothing to report of spring: spec\.order is odd"):
        reporting.document(replace(good.look, sight=None, faults=("spec.order is odd",)), good.rollout)


def test_settings_are_those_of_the_campaign(good: Reported) -> None:
    rows = {each["what"]: each["value"] for each in good.data()["settings"]}
    assert rows["gates"] == "smoke-train, rdma"
    assert rows["bake"] == "2 d with evidence, gates every 1 h"


@pytest.mark.parametrize("phase", RolloutPhase)
@pytest.mark.parametrize("mode", [Mode.DIRECT, Mode.BY_HAND])
def test_every_phase_can_be_reported_of_drivers_and_of_what_people_move(phase: RolloutPhase, mode: Mode) -> None:
    by_hand: dict[str, Any] = {"by_hand": FIRMWARE, "publish": Via.NOBODY} if mode is Mode.BY_HAND else {}
    look = a_look(phase, record={"mode": mode}, **by_hand)
    created = {"name": "spring", "creationTimestamp": "1970-01-01T00:08:00Z"}
    data = reporting.document(look, Rollout(raw={"metadata": created, "spec": {"canary": {}}}))
    assert data["phase"] == phase
    assert data["isOver"] is (phase in ENDED)
    assert json.loads(json.dumps(data)) == data
    assert data["goal"] == ("driver 580.105.08" if mode is Mode.DIRECT else "firmware_cx7 28.43.2026")
