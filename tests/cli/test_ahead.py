"""What a campaign has before it, in one sentence; how long that takes is another one."""

from __future__ import annotations

from typing import Any

from seatrial.cli.show.ahead import ahead, left, plain
from seatrial.core.campaign.outlook import Outlook
from seatrial.core.model.campaign import Bake, Point, RolloutPhase
from tests.builders import a_campaign, a_campaign_record

WAVES = (2, 4, 8)
ASKS = {"manual": (Point.WAVES, Point.PROMOTION), "has_source": True, "bake": Bake(seconds=48 * 3600.0)}


def said(
    phase: RolloutPhase,
    *,
    record: dict[str, Any] | None = None,
    to_go_back: tuple[str, ...] = (),
    entry: str = "",
    failed: tuple[str, ...] = (),
    **asks: Any,
) -> str:
    campaign = a_campaign(**(ASKS | asks))
    written = a_campaign_record(phase, **(record or {}))
    who = {"canaries": ("gpu-03",), "to_go_back": to_go_back, "failed": failed}
    return ahead("spring", campaign, written, waves=WAVES, entry=entry, **who)


def test_before_the_beginning_everything_is_ahead_and_each_yes_has_its_command() -> None:
    assert said(RolloutPhase.PROPOSED).startswith("the canary (gpu-03), then its gates, then a bake of ")
    assert said(RolloutPhase.PROPOSED).endswith(
        ", then 3 waves (2, 4, 8 nodes), once somebody says yes (`seatrial rollout approve spring waves`), "
        "then the promotion, once somebody says yes (`seatrial rollout approve spring promotion`)."
    )


def test_a_yes_that_was_said_is_not_asked_for_again() -> None:
    told = said(RolloutPhase.BAKING, approved=(Point.WAVES, Point.PROMOTION))
    assert told == "3 waves (2, 4, 8 nodes), then the promotion."


def test_within_the_waves_those_that_follow_are_ahead() -> None:
    assert said(RolloutPhase.WAVING, record={"wave": 0}, manual=()) == "2 more waves (4, 8 nodes), then the promotion."
    assert said(RolloutPhase.WAVING, record={"wave": 1}, manual=()) == "1 more wave (8 nodes), then the promotion."
    assert said(RolloutPhase.WAVING, record={"wave": 2}, manual=()) == "the promotion."


def test_without_a_matrix_nothing_is_promoted() -> None:
    assert said(RolloutPhase.WAVING, record={"wave": 2}, manual=(), has_source=False) == "the end."


def test_a_pause_is_told_what_it_keeps_waiting() -> None:
    paused = said(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.WAVING, "wave": 1}, manual=())
    assert paused == "1 more wave (8 nodes), then the promotion."


def test_windows_are_told() -> None:
    told = said(RolloutPhase.WAVING, record={"wave": 2}, manual=(), openings=((0.0, 9e9),))
    assert told == "the promotion; nodes start inside its windows only."


def test_on_the_way_back_those_that_are_not_back_are_ahead() -> None:
    assert said(RolloutPhase.REVERTING, to_go_back=("gpu-01",)) == "1 node still to go back (gpu-01)."
    assert said(RolloutPhase.REVERTING, to_go_back=("gpu-01", "gpu-02")) == "2 nodes still to go back (gpu-01, gpu-02)."


def test_failed_nodes_keep_the_promotion_until_they_work_or_a_person_accepts_them() -> None:
    told = said(RolloutPhase.WAVING, record={"wave": 1}, failed=("gpu-01",))
    assert told == (
        "1 more wave (8 nodes), then the promotion, once a person approves it, without gpu-01 unless it works by then "
        "(`seatrial rollout promote spring`)."
    )
    both = said(RolloutPhase.PROMOTING, manual=(), failed=("gpu-01", "gpu-02"))
    assert both == (
        "the promotion, once gpu-01, gpu-02 work or are left out, or a person approves it without them "
        "(`seatrial rollout promote spring`)."
    )
    assert said(RolloutPhase.PROMOTING, failed=("gpu-01",), approved=(Point.PROMOTION,)) == "the promotion."


def test_at_the_end_nothing_is_ahead() -> None:
    assert said(RolloutPhase.PROMOTING, manual=()) == "the promotion."
    assert said(RolloutPhase.DONE) == ""


def test_after_an_undo_a_person_reads_how_to_try_again() -> None:
    over = said(RolloutPhase.REVERTED)
    assert over.endswith("start another rollout under another name: `seatrial rollout start NAME`.")
    marked = said(RolloutPhase.REVERTED, record={"rejected": "gate smoke failed"}, entry="canary")
    assert marked.startswith("nothing: it is over. Entry canary of the matrix was marked bad, and no rollout takes it")
    assert "`seatrial matrix unmark canary`" in marked


def test_a_rollout_without_a_canary_has_its_nodes_ahead() -> None:
    assert plain(1, 2) == "1 node to come, 2 at a time; then it is done."
    assert plain(5, 0) == "5 nodes to come, as many at a time as the limits allow; then it is done."
    assert plain(0, 2) == ""


def test_how_long_it_takes_is_a_floor_where_something_cannot_be_known() -> None:
    assert left(Outlook(seconds=720.0, rests_on="the pace of 3 nodes")) == "about 12 min"
    assert left(Outlook(seconds=60.0, is_floor=True, rests_on="the bake alone")) == "at least 1 min"
