"""Which rollout is meant."""

from __future__ import annotations

import pytest

from seatrial.app import picking
from seatrial.app.errors import CalledWrongly
from seatrial.app.picking import RolloutMissing
from seatrial.app.rollout import wishing
from tests.app.rollout.rollouts import a_rollout


def test_without_a_name_the_only_one_that_has_not_ended_is_meant() -> None:
    every = [a_rollout("old", "Done"), a_rollout("bad", "Reverted"), a_rollout("now")]
    assert picking.meant(every).name == "now"
    assert picking.meant(every, "old").name == "old"


def test_one_that_has_ended_is_meant_where_it_is_the_only_one() -> None:
    assert picking.meant([a_rollout("old", "Done")]).name == "old"


def test_it_is_asked_which_one_is_meant_where_that_is_unclear() -> None:
    with pytest.raises(CalledWrongly, match=r"a \(Baking\), b \(new\) have not ended; say which"):
        picking.meant([a_rollout("a"), a_rollout("b", "")])
    with pytest.raises(CalledWrongly, match="have all ended"):
        picking.meant([a_rollout("a", "Done"), a_rollout("b", "Done")])


def test_a_name_that_is_none_is_answered_with_those_there_are() -> None:
    with pytest.raises(RolloutMissing, match=r"no rollout autumn. There are spring \(Baking\)"):
        picking.meant([a_rollout()], "autumn")
    with pytest.raises(RolloutMissing, match="seatrial rollout start"):
        picking.meant([])


def test_one_that_is_being_deleted_is_named_so() -> None:
    gone = a_rollout()
    gone.raw["metadata"]["deletionTimestamp"] = "2026-03-05T10:00:00Z"
    with pytest.raises(RolloutMissing, match=r"There are spring \(Baking, being deleted\)"):
        picking.meant([gone], "autumn")


def test_an_undo_means_the_active_one_and_else_the_one_that_was_done_last() -> None:
    first = a_rollout("first", "Done", ended_at="2026-03-01T10:00:00Z")
    second = a_rollout("second", "Done", ended_at="2026-03-02T10:00:00Z")
    undone = a_rollout("undone", "Reverted", ended_at="2026-03-03T10:00:00Z")
    assert picking.last([second, first, undone]).name == "second"
    assert picking.last([second, a_rollout("now")]).name == "now"
    assert picking.last([undone]).name == "undone", "it is said to be undone already"
    plain = a_rollout("plain", "", canary=None)
    plain.raw["status"] = {"state": "done"}
    with pytest.raises(RolloutMissing, match="none with a canary was ever done"):
        picking.last([plain])


def test_approving_and_resuming_need_a_name_and_pausing_never_does() -> None:
    asked = a_rollout(approvals={"manual": ["waves"]}, paused=True)
    for wish in (wishing.approve(asked, "waves"), wishing.resume(asked)):
        with pytest.raises(
            picking.NameUnknown, match=r"has to be signed in spec\.said, and the API server does not say"
        ):
            picking.signed(asked, wish, "", "2026-03-05T10:00:00Z")
    paused = picking.signed(a_rollout(), wishing.pause(a_rollout()), "", "2026-03-05T10:00:00Z")
    assert paused.spec == {"paused": True, "said": [{"what": "asked for a pause", "at": "2026-03-05T10:00:00Z"}]}
