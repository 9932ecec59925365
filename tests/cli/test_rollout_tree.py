"""The tree of a campaign: every phase has one, it fits the terminal, and nodes that need an eye have a line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from seatrial.app import looking
from seatrial.app import picture as rollout_picture
from seatrial.app.picture import NodeLine, Picture
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show import ending
from seatrial.cli.show import tree as rollout_tree
from seatrial.cli.show.tree import Ink
from seatrial.core.campaign.outlook import Outlook
from seatrial.core.compat.matrix import Component
from seatrial.core.judging.evidence import exposed_of
from seatrial.core.model.campaign import ByHand, Mode, RolloutPhase, Turn
from seatrial.core.model.gates.compared import Compared
from seatrial.core.model.gates.exposed import Exposure
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.seen.nodes import Loaded, NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import Summary, Told, Waiting
from seatrial.core.movers.mover import mover_of
from seatrial.core.node.progress import Progress
from seatrial.ports import Sight
from tests import builders
from tests.core.judging.upgrades import an_upgrade

FIRMWARE = ByHand(component=Component.FIRMWARE_CX7)
PLAIN = Ink(is_plain=True)
SIGNS = Ink()


def a_look(
    phase: RolloutPhase,
    *,
    nodes: tuple[NodeSeen, ...] = (),
    record: dict[str, Any] | None = None,
    summary: Summary | None = None,
    others: tuple[str, ...] = (),
    is_paused: bool = False,
    **campaign: Any,
) -> looking.Look:
    """A campaign in a phase, over five nodes unless told otherwise."""
    fleet = nodes or (
        builders.a_well_node("n1", NodePhase.UPGRADE_DONE),
        *(builders.a_node(f"n{number}") for number in range(2, 6)),
    )
    seen = builders.a_snapshot(
        *fleet,
        campaign=builders.a_campaign_record(phase, **(record or {})),
        operator=builders.an_operator(builders.NEW.version),
        summary=summary,
        others=others,
    )
    intent = builders.an_intent(campaign=builders.a_campaign(**campaign), is_paused=is_paused)
    return looking.Look(
        at=builders.NOW,
        sight=Sight(seen=seen, intent=intent),
        nodes=dict(seen.nodes),
        operator=seen.operator,
    )


def a_picture(phase: RolloutPhase, **changes: Any) -> Picture:
    found = rollout_picture.picture_of(a_look(phase, **changes))
    assert found is not None
    return found


def drawn(picture: Picture, ink: Ink = SIGNS, width: int = 0) -> str:
    return "\n".join(rollout_tree.tree(picture, ink, width))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"loaded": Loaded(version=builders.OLD.version, seen_at=builders.NOW)}, f"runs {builders.OLD.version}"),
        ({"driver": builders.a_starting_driver()}, f"driver {builders.NEW.version} is not Ready"),
    ],
)
def test_a_canary_runs_what_is_loaded_and_nothing_while_its_driver_is_not_ready(
    facts: dict[str, Any], told: str
) -> None:
    canary = builders.a_well_node("n1", NodePhase.VALIDATION_REQUIRED, **facts)
    assert f"n1 validation-required, {told}," in drawn(a_picture(RolloutPhase.CANARY, nodes=(canary,)))


def test_a_bake_that_somebody_watches_shows_what_was_seen() -> None:
    shown = exposed_of(["n1"], (), at=0.0)
    worked = Exposure(node="n1", watched_seconds=36_000.0, watched_gpu_hours=80.0, loaded_gpu_hours=41.5)
    shown = replace(shown, canaries=(worked,), rare=(replace(shown.rare[0], events=1), *shown.rare[1:]))
    found = a_picture(RolloutPhase.BAKING, record={"baked_until": 950.0, "round_at": 900.0, "exposed": shown})
    assert "10 h with data, at work for 41.5 GPU-hours, 1 error: `seatrial bake explain`" in drawn(found)


def test_a_bake_that_compares_says_what_it_excludes() -> None:
    measured = Compared(comparisons=an_upgrade(rounds=20).comparisons, is_measured=True)
    found = drawn(a_picture(RolloutPhase.BAKING, record={"baked_until": 950.0, "compared": measured}))
    assert "1 figure compared: a loss of more than 0." in found
    assert "% is ruled out: `seatrial bake explain`" in found


def test_a_document_says_what_is_compared_in_short() -> None:
    measured = Compared(comparisons=an_upgrade(rounds=20).comparisons, is_measured=True)
    plain, found = (
        rollout_picture.as_data(a_picture(RolloutPhase.BAKING, record={"compared": each}))["bake"]["compared"]
        for each in (None, measured)
    )
    assert plain is None
    assert (found["figures"], found["askedLoss"], found["isLossFound"]) == (1, None, False)
    assert 0.0 < found["excludedLoss"] < 0.02


def test_a_bake_shows_its_evidence_and_how_long_it_takes_yet() -> None:
    passed = tuple(
        GateResult(gate=gate, node="n1", round=3, verdict=GateVerdict.PASSED) for gate in ("readiness", "smoke")
    )
    record = {"gates": passed, "round": 3, "round_at": 900.0, "baked_until": 950.0, "baked_seconds": 12 * 3600.0}
    picture = a_picture(RolloutPhase.BAKING, record=record)
    lines = drawn(picture).splitlines()
    assert lines[0] == "spring  driver 570.124.06 → 580.105.08"
    assert lines[1] == "✔ Proposed ▸ ✔ Canary ▸ ✔ Gating ▸ ▶ Baking ▸ Waving ▸ Promoting ▸ Done"
    left = "at least 36 h left (what is left of the bake)"
    assert lines[2] == f"Baking for 1 min 40 s, {left}"
    assert lines[3].startswith("seatrial moves the nodes (direct)")
    assert "├─ canary ✔ n1 upgrade-done, runs 580.105.08, for 1 min 40 s" in lines
    assert "├─ gates  ✔ round 3 passed: readiness, smoke" in lines
    assert "├─ bake   ██████░░░░░░░░░░░░░░░░░░ 12 h of 2 d with evidence" in lines
    assert "└─ nodes  ████░░░░░░░░░░░░░░░░░░░░ 1 done, 4 to come of 5" in lines
    assert ending.exit_code(picture) is ExitCode.INCONCLUSIVE, "who leads is not known"


@pytest.mark.parametrize("phase", RolloutPhase)
@pytest.mark.parametrize("ink", [PLAIN, SIGNS, Ink(has_colour=True)], ids=["ascii", "signs", "colour"])
def test_every_phase_can_be_drawn_with_every_ink(phase: RolloutPhase, ink: Ink) -> None:
    record = {"paused_in": RolloutPhase.CANARY} if phase is RolloutPhase.PAUSED else {}
    picture = a_picture(phase, record=record, is_paused=phase is RolloutPhase.PAUSED)
    text = drawn(picture, ink, 80)
    assert phase.value in text
    assert text.isascii() or not ink.is_plain
    assert json.loads(json.dumps(rollout_picture.as_data(picture)))["phase"] == phase.value


@pytest.mark.parametrize("mode", Mode)
def test_who_moves_the_nodes_is_told_by_the_mover_itself(mode: Mode) -> None:
    picture = a_picture(RolloutPhase.WAVING, record={"mode": mode}, by_hand=FIRMWARE)
    assert drawn(picture).splitlines()[3].startswith(f"{mover_of(mode).who_moves} ({mode.value})")


def test_that_others_move_the_nodes_is_said_in_words() -> None:
    delegated = a_picture(RolloutPhase.WAVING, record={"mode": Mode.DELEGATED})
    assert "NVIDIA's controller moves the nodes (delegated)" in drawn(delegated)
    by_people = a_picture(RolloutPhase.WAVING, record={"mode": Mode.BY_HAND}, by_hand=FIRMWARE)
    assert "moved manually (by-hand)" in drawn(by_people)


@pytest.mark.parametrize("width", [40, 80, 160])
def test_no_line_is_wider_than_the_terminal_and_advice_is_never_cut(width: int) -> None:
    picture = a_picture(RolloutPhase.PROPOSED, nodes=(builders.a_node("n1", is_cordoned=True),))
    lines = rollout_tree.tree(picture, Ink(is_plain=True), width)
    assert all(len(line) <= width for line in lines)
    labels = [line[3:8] for line in lines]
    waits = lines[labels.index("waits") : labels.index("canar")]
    assert not any(line.endswith("~") for line in waits)


def test_colours_take_no_room() -> None:
    coloured = Ink(has_colour=True)
    line = coloured.paint("abcdef", "good") + "gh"
    assert rollout_tree.cut(line, 8, coloured) == line
    assert rollout_tree.cut(line, 4, coloured) == "\033[32mabc…\033[0m"


def test_what_it_has_cost_is_told_where_somebody_counts_it() -> None:
    picture = a_picture(RolloutPhase.WAVING)
    assert "GPU-hours" not in drawn(picture)
    assert drawn(replace(picture, lost_gpu_hours=1234.56)).count("; 1,234.6 GPU-hours lost") == 1
    assert rollout_picture.as_data(picture)["lostGpuHours"] == 0
    others = a_picture(RolloutPhase.WAVING, record={"mode": Mode.DELEGATED})
    assert rollout_picture.as_data(others)["lostGpuHours"] is None


def test_how_long_it_takes_yet_is_told_with_what_is_not_in_it() -> None:
    picture = a_picture(RolloutPhase.WAVING)
    assert " left (" not in drawn(picture), "nobody is through yet"
    known = Outlook(seconds=7200.0, rests_on="the pace of the 2 nodes that are done")
    assert ", about 2 h left (the pace of the 2 nodes that are done)" in drawn(replace(picture, outlook=known))


def test_500_nodes_take_no_more_lines_than_5() -> None:
    few = tuple(builders.a_node(f"n{number}", NodePhase.POD_RESTART_REQUIRED) for number in range(1, 6))
    many = tuple(builders.a_node(f"n{number}", NodePhase.POD_RESTART_REQUIRED) for number in range(1, 501))
    short, long = (rollout_tree.tree(a_picture(RolloutPhase.WAVING, nodes=nodes), SIGNS, 80) for nodes in (few, many))
    assert len(long) == len(short)
    assert "496 more" in "\n".join(long)


def test_what_did_not_pass_comes_first_and_says_why() -> None:
    gates = (
        GateResult(gate="readiness", node="n1", round=1, verdict=GateVerdict.PASSED),
        GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.FAILED, detail="exit code 1"),
    )
    turns = (Turn(phase=RolloutPhase.PROPOSED, at=1.0), Turn(phase=RolloutPhase.CANARY, at=2.0))
    record = {"gates": gates, "why": "gate smoke failed on n1", "history": turns}
    picture = a_picture(RolloutPhase.REVERTING, record=record)
    lines = drawn(picture).splitlines()
    assert lines[1] == "✔ Proposed ▸ ✖ Canary ▸ ▶ Reverting ▸ Reverted"
    assert "undone because gate smoke failed on n1" in lines
    place = next(number for number, line in enumerate(lines) if "gates" in line)
    assert lines[place + 1].endswith("✖ smoke on n1 failed: exit code 1")
    assert ending.exit_code(picture) is ExitCode.GATE_FAILED


def turned(*phases: RolloutPhase) -> tuple[Turn, ...]:
    return tuple(Turn(phase=phase, at=float(number)) for number, phase in enumerate(phases))


@pytest.mark.parametrize(
    ("phases", "path"),
    [
        (("Proposed", "Canary", "Gating", "Reverting"), "✔ Proposed ▸ ✔ Canary ▸ ✖ Gating ▸ ▶ Reverting ▸ Reverted"),
        (
            ("Proposed", "Canary", "Gating", "Baking", "Paused", "Baking", "Reverting", "Reverted"),
            "✔ Proposed ▸ ✔ Canary ▸ ✔ Gating ▸ ✖ Baking ▸ ✔ Reverting ▸ ✔ Reverted",
        ),
        (("Proposed", "Reverted"), "✖ Proposed ▸ ✔ Reverted"),
    ],
)
def test_the_phase_in_which_it_failed_has_no_check_mark_and_an_end_is_no_phase_under_way(
    phases: tuple[str, ...], path: str
) -> None:
    history = turned(*map(RolloutPhase, phases))
    picture = a_picture(history[-1].phase, record={"history": history, "why": "gate smoke failed on n1"})
    assert drawn(picture).splitlines()[1] == path


def test_what_was_done_and_undone_afterwards_has_no_phase_that_failed() -> None:
    there = (RolloutPhase.PROPOSED, RolloutPhase.CANARY, RolloutPhase.PROMOTING, RolloutPhase.DONE)
    record = {"history": turned(*there, RolloutPhase.REVERTING), "why": "second thoughts"}
    path = drawn(a_picture(RolloutPhase.REVERTING, record=record)).splitlines()[1]
    assert path == "✔ Proposed ▸ ✔ Canary ▸ ✔ Promoting ▸ ✔ Done ▸ ▶ Reverting ▸ Reverted"


def test_gates_that_were_asked_before_are_not_said_to_be_unasked() -> None:
    fresh = drawn(a_picture(RolloutPhase.CANARY))
    assert "readiness, smoke: not asked yet" in fresh or "readiness: not asked yet" in fresh
    again = drawn(a_picture(RolloutPhase.BAKING, record={"round": 4, "baked_seconds": 3600.0}))
    assert "not asked" not in again
    assert "no answer in round 4 yet" in again
    over = drawn(a_picture(RolloutPhase.REVERTED, record={"round": 4, "baked_seconds": 3600.0}))
    assert "no answer in round 4\n" in over


LONG = "the node offers less than before the upgrade: nvidia.com/gpu 7 of 8, and that is the whole of the sentence"


SHORT = "seen enough, and that is a sentence which is longer than a terminal of sixty columns has room for"


def a_moving(name: str, told: Told) -> NodeLine:
    state = NodePhase.VALIDATION_REQUIRED.value
    return NodeLine(
        name=name, standing=Progress.MOVING, state=state, driver="", is_driver_ready=False, since=None, told=told
    )


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("ink", [PLAIN, SIGNS, Ink(has_colour=True)], ids=["ascii", "signs", "colour"])
def test_a_reason_is_wrapped_and_never_cut(width: int, ink: Ink) -> None:
    told = Told(code="driver-starting", why=LONG, next_step="Look.")
    gate = GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.FAILED, detail=LONG)
    record = {"gates": (gate,), "why": SHORT}
    picture = replace(a_picture(RolloutPhase.REVERTING, record=record), to_go_back=("n3",))
    picture = replace(picture, moving=(a_moving("n3", told),), told=())
    lines = rollout_tree.tree(picture, ink, width)
    shown = [re.sub("\033\\[[0-9;]*m", "", line) for line in lines]
    assert all(len(line) <= width for line in shown)
    text = " ".join(" ".join(line.removeprefix("│").removeprefix("|") for line in shown).split())
    assert (text.count(LONG), text.count(SHORT)) == (2, 1)
    assert not any(line.count("\033[") % 2 for line in lines), "a colour ends with its line"


def test_a_gate_does_not_repeat_why_it_was_undone() -> None:
    gate = GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.FAILED, detail=LONG)
    record = {"gates": (gate,), "why": f"gate smoke failed on n1: {LONG}"}
    text = drawn(a_picture(RolloutPhase.REVERTED, record=record))
    assert text.count(LONG) == 1
    assert text.rstrip().count("✖ smoke on n1 failed\n") == 1


def test_a_reason_that_stands_elsewhere_is_named_by_its_code() -> None:
    told = Told(code="offer-reduced", why=LONG, next_step="Look.")
    moving = a_moving("n3", told)
    told_there = Waiting(code="offer-reduced", why=LONG, next_step="Look.", nodes=("n3",), count=1)
    picture = replace(a_picture(RolloutPhase.WAVING), moving=(moving,), told=(told_there,))
    live = drawn(picture)
    assert live.count(LONG) == 1, "in the branch of what it waits for"
    assert "▶ n3 validation-required: offer-reduced" in live
    page = "\n".join(rollout_tree.tree(picture, SIGNS, has_waits=False))
    assert LONG not in page, "the page has its reasons under Waiting"


def test_a_node_that_was_done_for_an_earlier_target_says_so() -> None:
    nodes = (builders.a_node("n1", NodePhase.UPGRADE_DONE), builders.a_node("n2"))
    shown = drawn(a_picture(RolloutPhase.PROPOSED, nodes=nodes))
    assert "n1 would be the canary: upgrade-done for an earlier target, runs 570.124.06" in shown


def test_who_was_undone_by_a_person_shows_what_was_found_against_its_version_besides() -> None:
    record = {"why": "seen enough", "rejected": "canary n1 failed: driver-timeout"}
    lines = drawn(a_picture(RolloutPhase.REVERTING, record=record)).splitlines()
    place = lines.index("undone because seen enough")
    assert lines[place + 1] == "the version is rejected: canary n1 failed: driver-timeout"
    alike = drawn(a_picture(RolloutPhase.REVERTING, record=record | {"why": record["rejected"]}))
    assert "the version is rejected" not in alike


def test_a_failed_node_and_one_under_way_have_lines_with_their_reasons() -> None:
    nodes = (
        builders.a_well_node("n1", NodePhase.UPGRADE_DONE),
        builders.a_node("n2", NodePhase.UPGRADE_FAILED, record={"reason": "driver-timeout", "failed_revision": "new"}),
        builders.a_node("n3", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True),
        builders.a_node("n4"),
    )
    text = drawn(a_picture(RolloutPhase.WAVING, nodes=nodes))
    assert "✖ n2 upgrade-failed" in text
    assert "▶ n3 pod-restart-required" in text
    assert "1 done, 1 moving, 1 to come, 1 failed of 4" in text


def test_the_whole_line_of_a_node_is_what_it_is_and_so_is_its_data() -> None:
    """Whoever adds to a line of `status -w`, or to its JSON, says so here."""
    told = Told(code="evicting", why="waiting for 2 pods", next_step="Nothing to do.")
    picture = replace(
        a_picture(RolloutPhase.WAVING),
        failed=(
            NodeLine(
                name="n2",
                standing=Progress.FAILED,
                state="failed",
                driver="",
                is_driver_ready=False,
                since=None,
                told=None,
            ),
        ),
        moving=(
            NodeLine(
                name="n3",
                standing=Progress.MOVING,
                state="drain",
                driver="570.124.06",
                is_driver_ready=False,
                since=builders.NOW - 60,
                told=told,
            ),
        ),
    )
    lines = drawn(picture).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("└─ nodes"))
    assert lines[first : first + 3] == [
        "└─ nodes  ████░░░░░░░░░░░░░░░░░░░░ 1 done, 4 to come of 5",
        "          ✖ n2 failed",
        "          ▶ n3 drain, for 1 min: waiting for 2 pods",
    ]
    assert rollout_picture.as_data(picture)["nodes"]["nodesMoving"] == [
        {
            "name": "n3",
            "standing": "moving",
            "state": "drain",
            "driver": "570.124.06",
            "driverReady": False,
            "since": "1970-01-01T00:15:40Z",
            "hold": {
                "subject": "n3",
                "code": "evicting",
                "why": "waiting for 2 pods",
                "next": "Nothing to do.",
                "since": None,
                "until": None,
            },
        }
    ]


def test_what_only_the_controller_can_see_is_told_by_its_word() -> None:
    told = Told(code="entry-bad", why="the entry is marked bad: slow", next_step="Choose another set.")
    summary = Summary(state="waiting", holds=(("entry-bad", 1),), told=(told,))
    picture = a_picture(RolloutPhase.PROPOSED, summary=summary)
    assert "entry-bad" in drawn(picture)
    assert "the entry is marked bad: slow.\n│         → Choose another set." in drawn(picture)
    assert ending.exit_code(picture) is ExitCode.HELD


def test_the_root_cause_comes_first_also_where_it_is_of_a_node() -> None:
    work = Told(code="wave-at-work", why="wave 1 of 2 is under way", next_step="Wait.", since=None, until=None)
    failed = Waiting(code="failed", why="the driver crashed", next_step="Mend it.", nodes=("n2",), count=1)
    starting = Waiting(code="driver-starting", why="it starts", next_step="Wait.", nodes=("n3",), count=1)
    turn = Waiting(code="not-its-turn", why="not yet", next_step="Wait.", nodes=("n4",), count=1)
    never = Waiting(code="unit-never-fits", why="too large", next_step="Raise it.", nodes=("n5",), count=1)

    def told(*waiting: Waiting, own: tuple[Told, ...] = (work,)) -> list[str]:
        summary = Summary(state="waiting", told=own, waiting=waiting)
        return [each.code for each in a_picture(RolloutPhase.WAVING, summary=summary).told]

    assert told(failed, starting, turn) == ["driver-starting", "wave-at-work"]
    assert told(failed, turn) == ["failed", "wave-at-work"]
    assert told(turn) == ["wave-at-work"]
    assert told(never, failed) == ["unit-never-fits", "wave-at-work"], "it needs a person"
    assert told(starting, own=()) == [], "it moves"


def test_another_rollout_under_way_is_named() -> None:
    assert "winter" in drawn(a_picture(RolloutPhase.PROPOSED, others=("winter",)))


def test_a_paused_campaign_says_where_and_waits_for_somebody() -> None:
    picture = a_picture(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.BAKING}, is_paused=True)
    assert "Paused in Baking for 1 min 40 s" in drawn(picture)
    assert ending.exit_code(picture) is ExitCode.HELD


def test_time_alone_is_no_news() -> None:
    found = a_look(RolloutPhase.BAKING, record={"baked_until": 950.0, "round_at": 900.0, "round": 1})
    later = looking.Look(
        at=found.at + 60,
        sight=found.sight,
        nodes=found.nodes,
        operator=found.operator,
    )
    one, other = rollout_picture.picture_of(found), rollout_picture.picture_of(later)
    assert one is not None
    assert other is not None
    assert one.key == other.key
    assert one.at != other.at


def test_a_rollout_that_moves_nodes_only_has_no_tree() -> None:
    seen = builders.a_snapshot(builders.a_node("n1"))
    intent = builders.an_intent()
    found = looking.Look(
        at=builders.NOW,
        sight=Sight(seen=seen, intent=intent),
        nodes=dict(seen.nodes),
        operator=seen.operator,
    )
    assert rollout_picture.picture_of(found) is None


def test_a_paused_wave_counts_its_nodes_as_before_and_a_node_left_out_is_not_done() -> None:
    nodes = (
        builders.a_well_node("n1", NodePhase.UPGRADE_DONE),
        builders.a_well_node("n2", NodePhase.UPGRADE_DONE),
        builders.a_node("n3", is_skipped=True),
        builders.a_node("n4"),
    )
    record: dict[str, Any] = {"canaries": ("n1",), "wave": 0}
    waving = rollout_picture.picture_of(a_look(RolloutPhase.WAVING, nodes=nodes, record=record))
    record["paused_in"] = RolloutPhase.WAVING
    paused = rollout_picture.picture_of(a_look(RolloutPhase.PAUSED, nodes=nodes, record=record, is_paused=True))
    assert waving is not None
    assert paused is not None
    assert (waving.wave_done, paused.wave_done) == (1, 1)


def test_on_the_way_back_no_node_is_said_to_be_done_for_an_earlier_target() -> None:
    back = (builders.a_node("n1", NodePhase.UPGRADE_DONE), builders.a_node("n2"))
    record = {"canaries": ("n1",), "why": "gate smoke failed"}
    found = rollout_picture.picture_of(a_look(RolloutPhase.REVERTED, nodes=back, record=record))
    assert found is not None
    assert "earlier target" not in "\n".join(rollout_tree.tree(found, PLAIN, 0))
