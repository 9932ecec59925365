"""What a person may say to a rollout, what is written for it, and which rollout is meant."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.cli.rollout import acts as rollout_acts
from seatrial.cli.rollout import pick as rollout_pick
from seatrial.cli.rollout.acts import RolloutRefused
from seatrial.cli.rollout.pick import Rollout, RolloutMissing
from seatrial.cli.rollout.spec import CalledWrongly
from seatrial.core.model.campaign import Point, RolloutPhase
from seatrial.core.model.snapshot import NodePhase
from tests import builders
from tests.cli.test_rollout_tree import a_picture


def a_rollout(name: str = "spring", phase: str = "Baking", *, ended_at: str = "", **spec: Any) -> Rollout:
    history = [{"phase": phase, "at": ended_at}] if ended_at else []
    campaign = {"phase": phase, "history": history} if phase else {}
    return Rollout(
        raw={
            "metadata": {"name": name, "resourceVersion": "7", "creationTimestamp": "2026-03-01T10:00:00Z"},
            "spec": {"target": {"driver": "580.105.08"}, "canary": {"count": 1}, **spec},
            "status": {"campaign": campaign} if campaign else {},
        }
    )


# ── which one ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_name_the_only_one_that_has_not_ended_is_meant() -> None:
    every = [a_rollout("old", "Done"), a_rollout("bad", "Reverted"), a_rollout("now")]
    assert rollout_pick.meant(every).name == "now"
    assert rollout_pick.meant(every, "old").name == "old"


def test_one_that_has_ended_is_meant_where_it_is_the_only_one() -> None:
    assert rollout_pick.meant([a_rollout("old", "Done")]).name == "old"


def test_it_is_asked_which_one_is_meant_where_that_is_unclear() -> None:
    with pytest.raises(CalledWrongly, match=r"a \(Baking\), b \(new\) have not ended; say which"):
        rollout_pick.meant([a_rollout("a"), a_rollout("b", "")])
    with pytest.raises(CalledWrongly, match="have all ended"):
        rollout_pick.meant([a_rollout("a", "Done"), a_rollout("b", "Done")])


def test_a_name_that_is_none_is_answered_with_those_there_are() -> None:
    with pytest.raises(RolloutMissing, match=r"no rollout autumn. There are spring \(Baking\)"):
        rollout_pick.meant([a_rollout()], "autumn")
    with pytest.raises(RolloutMissing, match="seatrial rollout start"):
        rollout_pick.meant([])


def test_an_undo_means_the_active_one_and_else_the_one_that_was_done_last() -> None:
    first = a_rollout("first", "Done", ended_at="2026-03-01T10:00:00Z")
    second = a_rollout("second", "Done", ended_at="2026-03-02T10:00:00Z")
    undone = a_rollout("undone", "Reverted", ended_at="2026-03-03T10:00:00Z")
    assert rollout_pick.last([second, first, undone]).name == "second"
    assert rollout_pick.last([second, a_rollout("now")]).name == "now"
    with pytest.raises(RolloutMissing, match="none with a canary was ever done"):
        rollout_pick.last([undone])


# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_pausing_twice_is_pausing_once() -> None:
    assert rollout_acts.pause(a_rollout()).spec == {"paused": True}
    again = rollout_acts.pause(a_rollout(paused=True))
    assert (again.spec, again.said) == (None, "spring is paused already.")


def test_one_that_has_ended_is_not_paused() -> None:
    with pytest.raises(RolloutRefused, match="has ended"):
        rollout_acts.pause(a_rollout(phase="Done"))


def test_resuming_says_where_it_goes_on() -> None:
    paused = a_rollout(phase="Paused", paused=True)
    paused.raw["status"]["campaign"]["pausedIn"] = "Baking"
    wish = rollout_acts.resume(paused)
    assert wish.spec == {"paused": False}
    assert "goes on in Baking" in wish.said
    assert rollout_acts.resume(a_rollout()).spec is None


def test_a_yes_is_added_to_those_that_were_said() -> None:
    asks = {"manual": ["canary", "waves"], "approved": ["canary"]}
    assert rollout_acts.approve(a_rollout(approvals=asks), "waves").spec == {
        "approvals": {"approved": ["canary", "waves"]}
    }
    assert rollout_acts.approve(a_rollout(approvals=asks), "canary").spec is None


def test_a_yes_that_nobody_asked_for_is_told_to_be_one() -> None:
    assert "would not have asked" in rollout_acts.approve(a_rollout(), "waves").said


def test_an_abort_is_a_reason_and_ends_a_pause_too() -> None:
    assert rollout_acts.abort(a_rollout(), "slow").spec == {"abort": "slow"}
    paused = rollout_acts.abort(a_rollout(paused=True), "slow")
    assert paused.spec == {"abort": "slow", "paused": False}
    assert "Its pause ends" in paused.said


def test_an_abort_that_was_asked_for_stays_as_it_was() -> None:
    again = rollout_acts.abort(a_rollout(abort="slow"), "other")
    assert again.spec is None
    assert "being undone already: slow" in again.said
    assert rollout_acts.abort(a_rollout(phase="Reverted", abort="slow"), "other").said == "spring is undone already."


def test_a_rollout_without_a_canary_has_nothing_to_approve_or_undo() -> None:
    plain = Rollout(raw={"metadata": {"name": "plain"}, "spec": {"target": {"driver": "580.105.08"}}})
    with pytest.raises(RolloutRefused, match="moves nodes only"):
        rollout_acts.approve(plain, "waves")
    with pytest.raises(RolloutRefused, match="moves nodes only"):
        rollout_acts.abort(plain, "slow")


def test_an_undo_is_explained_before_it_is_asked_for() -> None:
    rollout = a_rollout(
        phase="Done", publish={"via": "git", "git": {"path": "p.yaml"}}, matrix={"entry": "canary", "git": {"url": "u"}}
    )
    rollout.raw["status"]["campaign"]["baseline"] = [{"resource": "ClusterPolicy/gpu", "version": "570.124.06"}]
    rollout.raw["status"]["counts"] = {"upgrade-done": 24}
    assert rollout_acts.what_is_undone(rollout) == [
        "Undoing spring (Done, to driver 580.105.08) means:",
        "  ClusterPolicy/gpu carries 570.124.06 again",
        "  its commits are reverted by one commit, and no others",
        "  nodes that were touched go back, with the same care and limits (24 are done now)",
        "  entry canary of the matrix is marked bad, with the reason",
    ]
    assert "nothing has to be taken back" in rollout_acts.what_is_undone(a_rollout(phase=""))[0]


# ── promotion ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("phase", "says"),
    [
        (RolloutPhase.PROPOSED, "it is in Proposed"),
        (RolloutPhase.BAKING, "it is in Baking: the canary bakes"),
        (RolloutPhase.WAVING, "nodes are to come"),
        (RolloutPhase.REVERTED, "it is undone"),
    ],
)
def test_nothing_is_promoted_while_evidence_is_missing(phase: RolloutPhase, says: str) -> None:
    assert says in rollout_acts.why_not_promoted(a_picture(phase))


def test_a_yes_is_all_that_is_missing_when_the_fleet_is_through() -> None:
    done = tuple(builders.a_well_node(name, NodePhase.UPGRADE_DONE) for name in ("n1", "n2"))
    picture = a_picture(RolloutPhase.WAVING, nodes=done, manual=(Point.PROMOTION,), record={"wave": 5})
    assert rollout_acts.why_not_promoted(picture) == ""
