"""What a person may say to a rollout, and what is written for it."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.app.errors import CalledWrongly
from seatrial.app.picking import Rollout
from seatrial.app.rollout import wishing
from seatrial.app.rollout.wishing import RolloutRefused
from tests.app.rollout.rollouts import a_rollout


def test_pausing_twice_is_pausing_once() -> None:
    assert wishing.pause(a_rollout()).spec == {"paused": True}
    again = wishing.pause(a_rollout(paused=True))
    assert (again.spec, again.said) == (None, "spring is already paused.")


def test_the_reason_for_a_pause_stands_beside_it_and_goes_with_it() -> None:
    wish = wishing.pause(a_rollout(), "the storage is down")
    assert wish.spec == {"paused": True, "pausedBecause": "the storage is down"}
    assert wish.what == "asked for a pause: the storage is down"
    told = a_rollout(paused=True, pausedBecause="the storage is down")
    assert wishing.pause(told, "the storage is down").spec is None
    assert wishing.pause(told, "it is Friday").spec == {"paused": True, "pausedBecause": "it is Friday"}
    assert wishing.resume(told).spec == {"paused": False, "pausedBecause": None}
    assert wishing.abort(told, "slow").spec == {"abort": "slow", "paused": False, "pausedBecause": None}


def test_one_that_has_ended_is_neither_paused_nor_resumed() -> None:
    with pytest.raises(RolloutRefused, match="has ended"):
        wishing.pause(a_rollout(phase="Done"))
    with pytest.raises(RolloutRefused, match="nothing to resume"):
        wishing.resume(a_rollout(phase="Reverted", paused=True))


def test_a_rollout_that_is_being_undone_has_nothing_to_approve() -> None:
    with pytest.raises(RolloutRefused, match="is being undone; there is nothing to approve"):
        wishing.approve(a_rollout(phase="Reverting", canary={}), "waves")
    assert wishing.approve(a_rollout(phase="Reverting", canary={}), "rollback").spec is not None


def test_what_is_past_is_not_approved_and_an_approval_says_whom_it_leaves_behind() -> None:
    with pytest.raises(RolloutRefused, match=r"is past that \(Waving\); there is no canary left to approve"):
        wishing.approve(a_rollout(phase="Waving", canary={}), "canary")
    failed = a_rollout(phase="Waving", canary={})
    failed.raw["status"]["waits"] = [{"code": "nodes-failed"}]
    assert "Nodes that failed stay behind." in wishing.approve(failed, "promotion").said


def test_resuming_says_where_it_goes_on() -> None:
    paused = a_rollout(phase="Paused", paused=True)
    paused.raw["status"]["campaign"]["pausedIn"] = "Baking"
    wish = wishing.resume(paused)
    assert wish.spec == {"paused": False}
    assert "continues in Baking" in wish.said
    assert wishing.resume(a_rollout()).spec is None


def test_a_yes_is_added_to_those_that_were_said() -> None:
    asks = {"manual": ["canary", "waves"], "approved": ["canary"]}
    assert wishing.approve(a_rollout(approvals=asks), "waves").spec == {"approvals": {"approved": ["canary", "waves"]}}
    assert wishing.approve(a_rollout(approvals=asks), "canary").spec is None


def test_a_yes_that_nobody_asked_for_is_told_to_be_one() -> None:
    assert "would not have asked" in wishing.approve(a_rollout(), "waves").said


def test_a_rollout_that_waits_with_failed_nodes_has_asked_for_its_promotion() -> None:
    waiting = a_rollout()
    waiting.raw["status"] = {"waits": [{"code": "nodes-failed"}]}
    assert "would not have asked" not in wishing.approve(waiting, "promotion").said


def test_an_abort_is_a_reason_and_ends_a_pause_too() -> None:
    assert wishing.abort(a_rollout(), "slow").spec == {"abort": "slow"}
    paused = wishing.abort(a_rollout(paused=True), "slow")
    assert paused.spec == {"abort": "slow", "paused": False}
    assert "Its pause ends" in paused.said


def test_an_abort_that_was_asked_for_stays_as_it_was() -> None:
    again = wishing.abort(a_rollout(abort="slow"), "other")
    assert again.spec is None
    assert "already being undone: slow" in again.said
    assert wishing.abort(a_rollout(phase="Reverted", abort="slow"), "other").said == "spring is already undone."


def test_an_abort_of_what_goes_back_already_adds_nothing() -> None:
    back = a_rollout(phase="Reverting")
    back.raw["status"]["campaign"]["why"] = "gate smoke failed"
    assert wishing.abort(back, "slow").spec is None
    assert "already being undone: gate smoke failed." in wishing.abort(back, "slow").said


def test_a_rollout_without_a_canary_has_nothing_to_approve_or_undo() -> None:
    plain = Rollout(raw={"metadata": {"name": "plain"}, "spec": {"target": {"driver": "580.105.08"}}})
    with pytest.raises(RolloutRefused, match="moves nodes only"):
        wishing.approve(plain, "waves")
    with pytest.raises(RolloutRefused, match="moves nodes only"):
        wishing.abort(plain, "slow")


def test_an_undo_is_explained_before_it_is_asked_for() -> None:
    rollout = a_rollout(
        phase="Done", publish={"via": "git", "git": {"path": "p.yaml"}}, matrix={"entry": "canary", "git": {"url": "u"}}
    )
    rollout.raw["status"]["campaign"]["baseline"] = [{"resource": "ClusterPolicy/gpu", "version": "570.124.06"}]
    rollout.raw["status"]["counts"] = {"upgrade-done": 24}
    assert wishing.what_is_undone(rollout) == [
        "Undoing spring (Done, to driver 580.105.08) means:",
        "  ClusterPolicy/gpu gets 570.124.06 again",
        "  its commits are reverted by one commit, and no others",
        "  nodes that were touched go back, with the same care and limits (24 are done now)",
        "  entry canary of the matrix is not marked bad; --mark-bad marks it, with your reason",
    ]
    paused = a_rollout(phase="Paused", paused=True)
    paused.raw["status"]["campaign"]["pausedIn"] = "Proposed"
    for early in (a_rollout(phase=""), a_rollout(phase="Proposed"), paused):
        assert "there is nothing to revert" in wishing.what_is_undone(early)[0]


MATRIX = {"entry": "canary", "git": {"url": "u"}}
MARKED = "entry canary of the matrix is marked bad by a commit of its own to main of u"
FOUND = "gate smoke failed on n1: 2 of 8 GPUs are gone"


@pytest.mark.parametrize(
    ("rejected", "marks_bad", "said"),
    [
        ("", False, "  entry canary of the matrix is not marked bad; --mark-bad marks it, with your reason"),
        ("", True, f"  {MARKED}, with your reason"),
        (FOUND, False, f"  {MARKED}, for what was found: {FOUND}"),
        (FOUND, True, f"  {MARKED}, for what was found: {FOUND}"),
    ],
)
@pytest.mark.parametrize("moved", [{}, {"byHand": {"component": "cuda", "version": "13.0"}}], ids=["driver", "by hand"])
def test_who_undoes_it_is_told_whether_the_entry_is_marked(
    rejected: str, marks_bad: bool, said: str, moved: dict[str, Any]
) -> None:
    rollout = a_rollout(phase="Waving", matrix=MATRIX, **moved)
    rollout.raw["status"]["campaign"]["rejected"] = rejected
    assert wishing.what_is_undone(rollout, marks_bad=marks_bad)[-1] == said


def test_a_rollout_without_a_matrix_says_nothing_of_a_mark() -> None:
    assert not [line for line in wishing.what_is_undone(a_rollout(phase="Waving")) if "marked" in line]


def test_who_rejects_the_version_says_so_also_when_it_is_being_undone() -> None:
    rollout = a_rollout(phase="Waving", matrix=MATRIX)
    assert wishing.abort(rollout, "slow", marks_bad=True).spec == {"abort": "slow", "markBad": True}
    late = wishing.abort(a_rollout(phase="Reverting", matrix=MATRIX, abort="slow"), "slow", marks_bad=True)
    assert late.spec == {"markBad": True}
    assert "Its entry canary is marked bad, too." in late.said
    again = a_rollout(phase="Reverting", matrix=MATRIX, abort="slow", markBad=True)
    assert wishing.abort(again, "slow", marks_bad=True).spec is None


@pytest.mark.parametrize(
    ("rollout", "why"),
    [
        (a_rollout(phase="Waving"), "was not made from a matrix"),
        (a_rollout(phase="", matrix=MATRIX), "has not begun, and marks nothing. Leave --mark-bad out"),
        (a_rollout(phase="Reverted", matrix=MATRIX), "already undone, and marks nothing; write `bad: WHY`"),
    ],
)
def test_nothing_is_marked_where_there_is_no_entry_or_nobody_to_do_it(rollout: Rollout, why: str) -> None:
    with pytest.raises(RolloutRefused, match=why):
        wishing.abort(rollout, "slow", marks_bad=True)


def test_one_that_is_done_is_undone_only_where_that_is_asked() -> None:
    with pytest.raises(RolloutRefused, match="seatrial rollout rollback spring"):
        wishing.check_undo(a_rollout(phase="Done"), allows_done=False)
    wishing.check_undo(a_rollout(phase="Done"), allows_done=True)


def test_a_reason_is_one_line_and_no_story() -> None:
    assert wishing.reason_of(" slow\n by 3 % ") == "slow by 3 %"
    for said in ("  ", "x" * 301):
        with pytest.raises(CalledWrongly, match="say why with --reason TEXT"):
            wishing.reason_of(said)


def test_resuming_and_approving_need_a_name_and_pausing_and_aborting_do_not() -> None:
    waiting = a_rollout(approvals={"manual": ["waves"]})
    assert wishing.resume(a_rollout(paused=True)).needs_name
    assert wishing.approve(waiting, "waves").needs_name
    assert not wishing.pause(waiting).needs_name
    assert not wishing.abort(waiting, "it is slow").needs_name
