"""What a rollout waits for is shown as the controller wrote it and with its age; what is worked out here is said so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.adapters.kube.reading.leader import Leader
from seatrial.app import looking, picture, waits
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show import node_data, tree, why
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.compat.matrix import Component
from seatrial.core.decision.decide import decide
from seatrial.core.model.campaign import ByHand, Mode, RolloutPhase
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.rollouts import Summary, Told, Waiting
from seatrial.core.model.seen.snapshot import Snapshot
from tests import builders
from tests.cli.test_rollout_tree import a_look as a_campaign
from tests.cli.test_status import Show, a_look, show

__all__ = ["show"]
NOW = builders.NOW
SKIPPED = Waiting(
    code="skipped",
    why="somebody marked it",
    next_step="Take the mark off.",
    nodes=("n1", "n2"),
    count=900,
    since=NOW - 60,
)
WRITTEN = Summary(state="waiting", counts=(("upgrade-required", 900),), holds=(("skipped", 900),), waiting=(SKIPPED,))


def a_rollout(*, age: float = 12.0, summary: Summary = WRITTEN, **changes: Any) -> looking.Look:
    """A rollout over three nodes that its controller has written about."""
    fleet = builders.a_fleet(3, NodePhase.UPGRADE_REQUIRED, is_skipped=True)
    return a_look(builders.a_snapshot(*fleet, summary=summary, summarised_at=NOW - age), **changes)


def written(seen: Snapshot) -> Snapshot:
    """With what the controller would have written of it."""
    acts = decide(seen, builders.an_intent(), NOW).actions
    (record,) = [act.record for act in acts if isinstance(act, WriteRolloutRecord)]
    return replace(seen, rollout=record)


def test_the_status_is_shown_as_it_was_written_with_how_old_it_is(show: Show) -> None:
    code, text = show(a_rollout())
    assert code is ExitCode.FINDINGS, "every node is left out, so it is over as far as it goes by itself"
    assert "As of     12 s ago, by the controller\n" in text
    assert "  skipped (n1, n2 and 896 more), for 1 min\n    somebody marked it.\n    Take the mark off.\n" in text


def test_what_is_seen_from_here_does_not_overrule_what_was_written(show: Show) -> None:
    done = builders.a_snapshot(
        builders.a_well_node("n1", NodePhase.UPGRADE_DONE), summary=WRITTEN, summarised_at=NOW - 5
    )
    code, text = show(a_look(done))
    assert (code, "spring to driver 580.105.08: waiting" in text) == (ExitCode.INCONCLUSIVE, True)


def test_without_a_controller_it_is_worked_out_here_and_said_so(show: Show) -> None:
    seen = builders.a_snapshot(*builders.a_fleet(2, NodePhase.UPGRADE_REQUIRED, is_skipped=True))
    text = show(a_look(seen))[1]
    assert "As of     now, computed here: no controller has written a status yet\n" in text
    assert "  skipped (n1, n2)\n" in text


@pytest.mark.parametrize("written", [Mode.BY_HAND, None])
def test_a_step_by_hand_is_worked_out_here_too(written: Mode | None) -> None:
    firmware = ByHand(component=Component.FIRMWARE_CX7)
    found = a_campaign(RolloutPhase.WAVING, record={"mode": written}, by_hand=firmware)
    worked = waits.waits_of(found)
    assert worked is not None
    assert (worked.state, worked.written_at) == ("progressing", None)


def test_a_status_of_an_older_release_is_shown_and_its_nodes_are_worked_out(show: Show) -> None:
    text = show(a_rollout(summary=replace(WRITTEN, waiting=())))[1]
    assert "by the controller; which nodes wait was computed here, since the controller is an older release" in text
    assert "  skipped (n1, n2, n3)\n" in text


def test_what_is_written_and_what_is_worked_out_are_the_same_on_the_same_view() -> None:
    seen = builders.a_snapshot(
        *builders.a_fleet(3, NodePhase.UPGRADE_REQUIRED, is_skipped=True),
        builders.a_node("m1", NodePhase.UPGRADE_FAILED, record={"reason": "driver-timeout", "failed_revision": "new"}),
        builders.a_node("m2", driver=None),
    )
    intent = builders.an_intent()
    here, there = (waits.waits_of(a_look(each, intent)) for each in (seen, written(seen)))
    assert here is not None
    assert there is not None
    assert (here.nodes, here.rollout, here.state) == (there.nodes, there.rollout, there.state)


@pytest.mark.parametrize(
    ("age", "leader", "says"),
    [
        (12, None, "12 s ago, by the controller"),
        (
            7200,
            Leader(heard_at=NOW - 2, holder="one"),
            "2 h ago, by the controller, which is running and has seen no change",
        ),
        (
            900,
            Leader(heard_at=NOW - 600, holder="one"),
            "no controller has been in charge since, so this may be out of date",
        ),
        (
            900,
            Leader(heard_at=None),
            "15 min ago, by the controller; no controller has been in charge since, so this may be out of date",
        ),
        (
            900,
            Leader(heard_at=NOW + 3600, holder="one"),
            "whether it still runs cannot be seen from here (the time in its Lease is ahead of ours)",
        ),
        (900, None, "whether it still runs cannot be seen from here (its Lease cannot be read)"),
        (-30, None, "0 s ago, by the controller"),
    ],
    ids=["young", "unchanged", "silent", "gone", "ahead", "unknown", "clocks"],
)
def test_an_old_status_says_whether_anybody_vouches_for_it(age: float, leader: Leader | None, says: str) -> None:
    found = a_rollout(age=age, leader=leader)
    waiting = waits.waits_of(found)
    assert waiting is not None
    assert says in waits.as_of(found, waiting)
    assert waits.is_stale(found, waiting) == ("out of date" in says)


def test_a_young_status_says_that_no_controller_has_been_in_charge_since() -> None:
    found = a_rollout(age=74, leader=Leader(heard_at=NOW - 100, holder="one"))
    said = "1 min 14 s ago, by the controller; no controller has been in charge since, so this may be out of date"
    assert answer(found, "n1")[-1] == f"Said      {said}"


def test_no_deadline_is_given_while_no_controller_is_in_charge(show: Show) -> None:
    told = Told(code="gates-running", why="nccl runs", next_step="Wait.", since=NOW - 60, until=NOW + 60)
    node = Waiting(code="driver-starting", why="it starts", next_step="Wait.", until=NOW + 9, nodes=("n2",), count=1)
    summary = Summary(state="progressing", holds=(("gates-running", 1),), told=(told,), waiting=(node,))
    fleet = (builders.a_done_node("n1"), builders.a_node("n2", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True))
    led = a_campaign(RolloutPhase.GATING, nodes=fleet, summary=summary)
    for leader, has_deadline in ((None, True), (Leader(heard_at=NOW - 100, holder="one"), False)):
        found = replace(led, leader=leader)
        pages = [show(found)[1], *why.describe_rollout(found), *answer(found, "n2")]
        assert ("gives up within" in "\n".join(pages)) == has_deadline


def test_a_lease_that_is_ahead_of_its_time_is_called_doubtful_and_nothing_is_concluded_from_it(show: Show) -> None:
    found = a_rollout(leader=Leader(heard_at=NOW + 3600, holder="one"))
    text = show(found)[1]
    assert "Leader    doubtful: the Lease of one has a time that is 1 h ahead; compare the clocks\n" in text
    assert "leaderless" not in text
    assert waits.is_unknown_who_leads(found)


def test_a_lease_elsewhere_is_mentioned_where_the_controllers_namespace_has_none(show: Show) -> None:
    text = show(a_rollout(leader=Leader(heard_at=None, elsewhere=("ops", "tenants"))))[1]
    assert (
        "Leader    none; no controller has ever run here (there is a Lease in ops, tenants: if your controller" in text
    )
    assert "say so with --lease-namespace)" in text


def test_a_rollout_that_has_ended_is_not_called_old() -> None:
    found = a_rollout(age=9e6, summary=Summary(state="done"), leader=Leader(heard_at=None))
    waiting = waits.waits_of(found)
    assert waiting is not None
    assert waits.as_of(found, waiting) == "104 d 4 h ago, by the controller"


# ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def answer(found: looking.Look, name: str) -> list[str]:
    lines = why.describe(found, found.nodes[name])
    return lines[lines.index("GPU pods  0") + 1 :]


def test_the_node_that_the_status_tells_for_gets_its_words() -> None:
    assert answer(a_rollout(), "n1") == [
        "Answer    n1: somebody marked it (for 1 min). Take the mark off.",
        "Said      12 s ago, by the controller",
    ]


@pytest.mark.parametrize("name", ["n2", "n3"], ids=["named", "one of many"])
def test_a_node_that_may_be_among_those_is_worked_out_and_the_controllers_word_is_named(name: str) -> None:
    lines = answer(a_rollout(), name)
    assert lines[0].startswith(
        f"Answer    {name}: somebody marked the node with nvidia.com/gpu-driver-upgrade.skip=true"
    )
    assert lines[1] == "Said      12 s ago, by the controller, of 900 nodes; the details were computed here"


def test_a_node_that_the_status_does_not_tell_of_is_worked_out_and_said_so() -> None:
    few = replace(SKIPPED, nodes=("n1", "n2"), count=2)
    lines = answer(a_rollout(summary=replace(WRITTEN, waiting=(few,))), "n3")
    assert lines[-1] == "Said      computed here, not by the controller: its status does not name this node"


# ── campaigns ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_campaign_says_what_the_controller_wrote_and_nothing_is_worked_out_beside_it() -> None:
    told = Told(code="gates-running", why="nccl runs", next_step="Wait.", since=NOW - 60, until=NOW + 60)
    node = Waiting(code="driver-starting", why="its driver starts", next_step="Wait.", nodes=("n2",), count=1)
    summary = Summary(state="progressing", holds=(("gates-running", 1),), told=(told,), waiting=(node,))
    fleet = (builders.a_done_node("n1"), builders.a_node("n2", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True))
    drawn = picture.picture_of(a_campaign(RolloutPhase.GATING, nodes=fleet, summary=summary))
    assert drawn is not None
    assert drawn.told == (told,)
    text = "\n".join(tree.tree(drawn, tree.Ink(is_plain=True)))
    assert "gates-running (for 1 min, looks again or gives up within 1 min)" in text
    assert "n2 pod-restart-required, for 1 min 40 s: its driver starts" in text
    assert "as of 16 min 40 s ago, by the controller" in text


# ── a broken promise ─────────────────────────────────────────────────────────────────────────────────────────────────

BREACH = Waiting(
    code="promise-broken", why="it was about to break let_in", next_step="Report it.", nodes=("spring",), count=1
)
STOPPED = Summary(state="waiting", counts=(("upgrade-required", 3),), holds=(("promise-broken", 1),), waiting=(BREACH,))


@pytest.mark.parametrize("name", ["n1", "n3"])
def test_while_a_promise_is_about_to_be_broken_every_node_says_so_and_nothing_else(name: str) -> None:
    assert answer(a_rollout(summary=STOPPED), name) == [
        f"Answer    {name}: it was about to break let_in. Report it.",
        "Said      12 s ago, by the controller",
    ]


def test_a_rollout_says_that_a_promise_is_about_to_be_broken(show: Show) -> None:
    lines = why.describe_rollout(a_rollout(summary=STOPPED))
    assert "Answer    spring: it was about to break let_in. Report it." in lines
    assert "promise-broken" in show(a_rollout(summary=STOPPED))[1]


def test_a_campaign_says_that_a_promise_is_about_to_be_broken() -> None:
    told = Told(code="promise-broken", why="it was about to break let_in", next_step="Report it.")
    summary = Summary(state="waiting", holds=(("promise-broken", 1),), told=(told,))
    found = a_campaign(
        RolloutPhase.PROMOTING, nodes=(builders.a_done_node("n1"), builders.a_node("n2")), summary=summary
    )
    assert "Answer    spring: it was about to break let_in. Report it." in why.describe_rollout(found)
    assert "Answer    n2: it was about to break let_in. Report it." in answer(found, "n2")


def test_a_queued_node_whose_rollout_waits_for_what_is_not_seen_from_here_gets_the_controllers_word() -> None:
    told = Told(code="matrix-changed", why="the matrix now says 575.57.08", next_step="Put it back.")
    turn = "its turn has not come yet: the rollout is at Waving; the rollout waits (matrix-changed)"
    queued = Waiting(code="not-its-turn", why=turn, next_step=told.next_step, nodes=("n2", "n3"), count=2)
    summary = Summary(state="waiting", holds=(("not-its-turn", 2),), told=(told,), waiting=(queued,))
    found = a_campaign(RolloutPhase.WAVING, has_source=True, summary=summary)
    lines = why.describe(found, found.nodes["n3"])
    assert f"Answer    n3: {turn}. Put it back." in lines
    assert not [line for line in lines if line.startswith("Next")], "here the matrix is taken to stand"
    assert node_data.holds_of(found)["n3"].code == "not-its-turn"
    many = replace(queued, nodes=("n2",), count=5)  # any node may be among them, but one that is done is not
    canary = builders.a_done_node("n1")
    found = a_campaign(
        RolloutPhase.BAKING, nodes=(canary, builders.a_node("n2")), summary=replace(summary, waiting=(many,))
    )
    assert "n1" not in node_data.holds_of(found)
    assert not [line for line in why.describe(found, canary) if "its turn" in line]


def test_a_pause_that_no_controller_has_heard_keeps_no_node_waiting() -> None:
    written = Summary(state="progressing")
    node = replace(builders.a_well_node("n5"), record=None)
    nodes = (builders.a_well_node("n1", NodePhase.UPGRADE_DONE), node)
    asked = a_campaign(RolloutPhase.REVERTING, nodes=nodes, summary=written, is_paused=True)
    unasked = a_campaign(RolloutPhase.REVERTING, nodes=nodes, summary=written)
    assert why.describe(asked, node) == why.describe(unasked, node)
    assert "Requested pause, not done yet" in why.describe_rollout(asked)
    assert not any(line.startswith("Requested") for line in why.describe_rollout(unasked))
