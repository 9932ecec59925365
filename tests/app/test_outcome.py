"""How a rollout stands, in a word, and the exit code that every command gives for it."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.adapters.kube.reading.leader import Leader
from seatrial.app import looking
from seatrial.app.outcome import Outcome, done_of, is_over, left_behind, outcome_of
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show import ending, status, why
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import Summary, Told, Waiting
from tests import builders
from tests.cli.test_rollout_tree import a_look as a_campaign
from tests.cli.test_status import a_look

NOW = builders.NOW
LED = Leader(heard_at=NOW - 2, holder="one")
FAILED = {"reason": "driver-crash-loop", "failed_revision": "new"}
GONE = GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.FAILED, detail="no", at=NOW)
REFUSED = Waiting(code="write-refused", why="forbidden", next_step="Grant it.", nodes=("n1",), count=1)


def plain(*nodes: NodeSeen, **more: Any) -> looking.Look:
    return a_look(builders.a_snapshot(*nodes, **more), leader=LED)


def waiting_for(code: str) -> Summary:
    """What the controller wrote of a node that waits for this."""
    told = Waiting(code=code, why="so it is", next_step="", nodes=("n1",), count=1)
    return Summary(state="waiting", holds=((code, 1),), waiting=(told,))


def well(name: str) -> NodeSeen:
    return builders.a_well_node(name, NodePhase.UPGRADE_DONE)


def campaign(phase: RolloutPhase, leader: Leader | None = LED, **changes: Any) -> looking.Look:
    from dataclasses import replace

    return replace(a_campaign(phase, **changes), leader=leader)


FAILED_NODE = builders.a_node("n2", NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record=FAILED)
LEFT_OUT = builders.a_node("n3", NodePhase.UPGRADE_REQUIRED, is_skipped=True)
TO_COME = builders.a_node("n4", NodePhase.UPGRADE_REQUIRED)


@pytest.mark.parametrize(
    ("found", "outcome", "code"),
    [
        (plain(well("n1")), Outcome.WELL, ExitCode.OK),
        (plain(well("n1"), FAILED_NODE), Outcome.LEFT, ExitCode.FINDINGS),
        (plain(well("n1"), LEFT_OUT), Outcome.LEFT, ExitCode.FINDINGS),
        (plain(well("n1"), FAILED_NODE, TO_COME), Outcome.WELL, ExitCode.OK),
        (plain(TO_COME, summary=waiting_for("stale-view")), Outcome.WELL, ExitCode.OK),
        (plain(TO_COME, summary=waiting_for("node-not-ready")), Outcome.HELD, ExitCode.HELD),
        (
            campaign(RolloutPhase.WAVING, summary=waiting_for("unit-never-fits")),
            Outcome.HELD,
            ExitCode.HELD,
        ),
        (a_look(builders.a_snapshot(TO_COME), leader=Leader(heard_at=NOW - 45)), Outcome.HELD, ExitCode.HELD),
        (
            campaign(RolloutPhase.BAKING, Leader(heard_at=NOW + 45, holder="one")),
            Outcome.UNSURE,
            ExitCode.INCONCLUSIVE,
        ),
        (a_look(builders.a_snapshot(well("n1")), leader=Leader(heard_at=None)), Outcome.WELL, ExitCode.OK),
        (campaign(RolloutPhase.REVERTED, record={"why": "a person wanted it"}), Outcome.REVERTED, ExitCode.GATE_FAILED),
        (campaign(RolloutPhase.GATING, record={"gates": (GONE,)}), Outcome.REVERTED, ExitCode.GATE_FAILED),
        (campaign(RolloutPhase.DONE, nodes=(well("n1"), FAILED_NODE)), Outcome.LEFT, ExitCode.FINDINGS),
        (campaign(RolloutPhase.DONE, nodes=(well("n1"), well("n2"))), Outcome.WELL, ExitCode.OK),
        (campaign(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.BAKING}), Outcome.HELD, ExitCode.HELD),
        (campaign(RolloutPhase.BAKING, Leader(heard_at=NOW - 45, holder="one")), Outcome.HELD, ExitCode.HELD),
        (campaign(RolloutPhase.BAKING, None), Outcome.UNSURE, ExitCode.INCONCLUSIVE),
        (campaign(RolloutPhase.DONE, None, nodes=(well("n1"),)), Outcome.WELL, ExitCode.OK),
        (campaign(RolloutPhase.REVERTED, None), Outcome.REVERTED, ExitCode.GATE_FAILED),
        (
            campaign(RolloutPhase.WAVING, summary=Summary(state="progressing", waiting=(REFUSED,))),
            Outcome.REFUSED,
            ExitCode.ERROR,
        ),
        (a_look(builders.a_snapshot(), sight=None), Outcome.WELL, ExitCode.OK),
    ],
    ids=[
        "done",
        "a node failed",
        "a node is left out",
        "a node failed, and others go on",
        "the view is old",
        "a node is blocked, and nothing else moves",
        "a node needs a person",
        "nobody leads",
        "whose time in the Lease is ahead",
        "done, and nobody is needed",
        "taken back by a person",
        "a gate failed",
        "a campaign done without a node",
        "a campaign done",
        "paused",
        "a campaign that nobody leads",
        "whether somebody leads is not known",
        "whether somebody leads is not known, and it is done",
        "whether somebody leads is not known, and it was taken back",
        "a write turned down",
        "no rollout",
    ],
)
def test_every_end_has_its_exit_code(
    found: looking.Look, outcome: Outcome, code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome_of(found) is outcome
    assert (ending.exit_of(found), status.show(found, "table")) == (code, code)
    if found.sight is not None:
        assert why.rollout_page(found).code is code
    capsys.readouterr()


def test_who_is_left_behind_is_named() -> None:
    found = plain(well("n1"), FAILED_NODE, LEFT_OUT)
    assert found.sight is not None
    assert left_behind(found.sight) == (("n2",), ("n3",))
    assert done_of(found.sight) == (1, 3)
    assert is_over(found)


def test_what_else_waits_keeps_a_rollout_from_being_over() -> None:
    paused = Told(code="paused", why="the rollout is paused", next_step="Resume it.")
    found = plain(well("n1"), FAILED_NODE, summary=Summary(state="waiting", told=(paused,), waiting=(REFUSED,)))
    assert not is_over(found)


def test_a_node_done_for_another_target_does_not_count() -> None:
    old = builders.a_node("n1", NodePhase.UPGRADE_DONE)
    found = plain(old, well("n2"))
    assert found.sight is not None
    assert done_of(found.sight) == (1, 2)


def test_all_nodes_seen_to_be_done_are_no_end_before_the_controller_says_so() -> None:
    """Who watches sees the last line say Done."""
    assert not is_over(plain(well("n1"), summary=Summary(state="progressing", done=0, total=1)))
    assert is_over(plain(well("n1"), summary=Summary(state="done", done=1, total=1)))
