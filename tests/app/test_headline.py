"""The first line of `status`: one of four words, a short why and the one command, and never against the exit code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.adapters.kube.reading.leader import Leader
from seatrial.app import looking
from seatrial.app.headline import CONTROLLERS, LEASES, WORD_EXITS, WORD_MEANS, Word, headline_of
from seatrial.cli.show import ending
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.rollouts import Summary, Told, Waiting
from seatrial.core.words import explain
from seatrial.core.words.causes import FAILED, NEEDS_SOMEBODY
from tests import builders
from tests.app.test_outcome import FAILED_NODE, GONE, LED, LEFT_OUT, NOW, REFUSED, TO_COME, campaign, plain, well
from tests.cli.test_status import a_look

LOST = Leader(heard_at=NOW - 190, holder="vm-1")
NEVER = Leader(heard_at=None)


def told(code: HoldCode, **params: Any) -> Told:
    """A hold of the rollout as its status tells it."""
    held = hold("spring", code, **params)
    return Told(code=code, why=explain.why(held), next_step=explain.next_step(held))


def waiting(code: HoldCode, phase: RolloutPhase = RolloutPhase.BAKING, **params: Any) -> looking.Look:
    return campaign(phase, summary=Summary(state="waiting", told=(told(code, **params),)))


APPROVAL = waiting(HoldCode.APPROVAL_PENDING, point="waves")
PAUSED = campaign(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.BAKING}, is_paused=True)
BLOCKED = Waiting(code="eviction-blocked", why="a budget", next_step="Give it room.", nodes=("n3",), count=1)
NOT_READY = Waiting(code="node-not-ready", why="NotReady", next_step="Bring it back.", nodes=("n4", "n5"), count=2)

LINES: dict[str, tuple[looking.Look, str]] = {
    "a lease that ran out": (
        replace(campaign(RolloutPhase.BAKING), leader=LOST),
        f"NO CONTROLLER  nothing moves; vm-1 was last seen 3 min 10 s ago: {CONTROLLERS}",
    ),
    "no controller ever": (
        replace(campaign(RolloutPhase.PROPOSED), leader=NEVER),
        f"NO CONTROLLER  nothing moves; no controller has ever run here: {CONTROLLERS}",
    ),
    "a plain rollout without a controller": (
        a_look(builders.a_snapshot(TO_COME), leader=LOST),
        f"NO CONTROLLER  nothing moves; vm-1 was last seen 3 min 10 s ago: {CONTROLLERS}",
    ),
    "an approval": (APPROVAL, "NEEDS YOU  approve the waves: seatrial rollout approve spring waves"),
    "a pause": (PAUSED, "NEEDS YOU  it is paused: seatrial rollout resume spring"),
    "a matrix that changed": (
        waiting(HoldCode.MATRIX_CHANGED, found="1", target="2"),
        "NEEDS YOU  matrix changed: seatrial why spring",
    ),
    "too many failures": (waiting(HoldCode.FAILURE_BUDGET), "STUCK  too many nodes failed: seatrial why spring"),
    "a merge that is overdue": (
        waiting(HoldCode.MERGE_OVERDUE),
        "STUCK  the change was not merged in time: seatrial why spring",
    ),
    "undone": (
        campaign(RolloutPhase.REVERTED, record={"why": "gate smoke failed"}),
        "STUCK  it was undone: seatrial why spring",
    ),
    "a gate failed": (
        campaign(RolloutPhase.GATING, record={"gates": (GONE,)}),
        "STUCK  gate smoke failed on n1, and the rollout is being undone: seatrial why spring",
    ),
    "a gate failed and a person decides": (
        campaign(
            RolloutPhase.GATING,
            record={"gates": (GONE,)},
            summary=Summary(state="waiting", told=(told(HoldCode.ROLLBACK_PENDING, why="gate smoke"),)),
        ),
        "NEEDS YOU  decide whether to undo it: seatrial rollout approve spring rollback",
    ),
    "a write refused": (
        campaign(RolloutPhase.WAVING, summary=Summary(state="progressing", waiting=(REFUSED,))),
        "STUCK  a write to n1 is refused: seatrial why n1",
    ),
    "over with a failed node": (
        plain(well("n1"), FAILED_NODE),
        "STUCK  it is over, and 1 node (n2) failed: seatrial why n2",
    ),
    "over without a node that was left out": (
        plain(well("n1"), LEFT_OUT),
        "NEEDS YOU  it is over, and 1 node (n3) was left out: seatrial why n3",
    ),
    "a failed node while others continue": (
        plain(well("n1"), FAILED_NODE, TO_COME),
        "NEEDS YOU  1 node failed (n2), the rest waits: seatrial why n2",
    ),
    "whether a controller leads is unknown": (
        campaign(RolloutPhase.BAKING, None),
        f"NEEDS YOU  whether a controller is in charge is not known: {LEASES}",
    ),
    "moving": (
        campaign(RolloutPhase.WAVING, summary=Summary(state="progressing")),
        "OK  Waving, 1 of 5 nodes done",
    ),
    "something in the way": (
        campaign(RolloutPhase.WAVING, summary=Summary(state="progressing", waiting=(BLOCKED,))),
        "NEEDS YOU  eviction-blocked (n3), the rest waits: seatrial why n3",
    ),
    "several in the way": (
        campaign(RolloutPhase.WAVING, summary=Summary(state="progressing", waiting=(BLOCKED, NOT_READY))),
        "NEEDS YOU  node-not-ready (n4, n5), 1 more node held up, the rest waits: seatrial why n4",
    ),
    "on the way back, as a person wanted": (
        campaign(RolloutPhase.REVERTING, record={"why": "a person wanted it"}, abort="a person wanted it"),
        "OK  it is being undone",
    ),
    "done": (
        campaign(RolloutPhase.DONE, nodes=(well("n1"), well("n2"))),
        "OK  the rollout is over, 2 of 2 nodes done",
    ),
    "done, and the controller is gone": (
        campaign(RolloutPhase.DONE, LOST, nodes=(well("n1"),)),
        "OK  the rollout is over, 1 of 1 node done; no controller is in charge (vm-1 was last seen 3 min 10 s ago)",
    ),
    "no rollout": (a_look(builders.a_snapshot(), sight=None), "OK  no rollout"),
    "no rollout, and the controller is gone": (
        a_look(builders.a_snapshot(), sight=None, leader=LOST),
        "OK  no rollout; no controller is in charge (vm-1 was last seen 3 min 10 s ago)",
    ),
    "what cannot be read": (
        a_look(builders.a_snapshot(), sight=None, faults=("GPURollout spring cannot be read: no.",)),
        "STUCK  not everything could be read",
    ),
}


@pytest.mark.parametrize(("found", "line"), LINES.values(), ids=LINES.keys())
def test_the_first_line_says_how_it_stands_why_and_what_to_run(found: looking.Look, line: str) -> None:
    assert str(headline_of(found)) == line


@pytest.mark.parametrize("found", [look for look, _ in LINES.values()], ids=LINES.keys())
def test_the_word_and_the_exit_code_belong_together(found: looking.Look) -> None:
    word, code = headline_of(found).word, int(ending.exit_of(found))
    assert str(code) in WORD_EXITS[word].replace(";", " ").replace(",", " ").split(), (word, code)
    assert (word is Word.OK) <= (code == 0)


def test_every_word_has_a_meaning_and_exit_codes() -> None:
    assert set(WORD_MEANS) == set(WORD_EXITS) == set(Word)
    assert FAILED <= NEEDS_SOMEBODY


@pytest.mark.parametrize(
    ("found", "asked"),
    [
        (campaign(RolloutPhase.WAVING, is_paused=True), "pause"),
        (campaign(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.WAVING}), "resume"),
        (campaign(RolloutPhase.WAVING, abort="slow"), "undo"),
        (campaign(RolloutPhase.DONE, nodes=(well("n1"),), abort="slow"), "undo"),
        (PAUSED, ""),
        (campaign(RolloutPhase.REVERTING, abort="slow"), ""),
        (campaign(RolloutPhase.REVERTED, abort="slow"), ""),
    ],
)
def test_what_is_requested_and_not_done_yet_is_in_the_first_line(found: looking.Look, asked: str) -> None:
    line = headline_of(found).why
    assert line.endswith(f"; {asked} requested, not done yet") if asked else "requested" not in line


def test_a_pause_that_no_controller_has_read_is_told_beside_the_missing_controller() -> None:
    line = headline_of(replace(campaign(RolloutPhase.WAVING, is_paused=True), leader=LOST))
    assert line.word is Word.NO_CONTROLLER
    assert line.why == "nothing moves; vm-1 was last seen 3 min 10 s ago; pause requested, not done yet"


def test_a_plain_rollout_that_its_controller_has_not_paused_yet_says_so() -> None:
    intent = builders.an_intent(is_paused=True)
    moving = builders.a_snapshot(TO_COME, summary=Summary(state="progressing"))
    paused = builders.a_snapshot(TO_COME, summary=Summary(state="waiting", told=(told(HoldCode.PAUSED),)))
    assert "pause requested" in headline_of(a_look(moving, intent, leader=LED)).why
    assert "requested" not in headline_of(a_look(paused, intent, leader=LED)).why


def test_a_node_that_is_done_and_lost_a_gpu_is_named() -> None:
    offers = {"offer": GpuOffer(resources=(("nvidia.com/gpu", 7),))}
    less = builders.a_well_node(
        "n1", NodePhase.UPGRADE_DONE, record={"before": GpuOffer(resources=(("nvidia.com/gpu", 8),))}, **offers
    )
    line = str(headline_of(plain(less, well("n2"))))
    assert line == "OK  the rollout is over, 2 of 2 nodes done; n1 offers less than before: seatrial why n1"


def test_gates_that_fail_are_named_before_what_passed() -> None:
    passed = GateResult(gate="readiness", node="n1", round=1, verdict=GateVerdict.PASSED)
    found = campaign(RolloutPhase.GATING, record={"gates": (passed, GONE)})
    assert headline_of(found).why.startswith("gate smoke failed on n1")
