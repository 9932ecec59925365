"""What has to be so before the first write, and what the matrix has to say as long as a campaign lasts."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.budget.losses import COUNT_LABEL
from seatrial.core.campaign import canary, preflight
from seatrial.core.compat.matrix import Component
from seatrial.core.decision.decide import decide
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import Canary, Growth, Mode, Point, Via, Waves
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.intent import Domain
from seatrial.core.model.policy import Attrition, Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.target import Target
from tests.builders import (
    NEW,
    NOW,
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_driver,
    a_node,
    a_snapshot,
    a_source,
    a_view,
    a_well_node,
    an_intent,
    an_old_node,
    an_operator,
)

GPU_GATE = Gate(name="speed", image="probes:1", probe="performance")


def why_not(*nodes: NodeSeen, campaign: dict[str, Any] | None = None, **changes: Any) -> tuple[Hold, ...]:
    changes = {"operator": an_operator()} | changes
    seen = a_snapshot(*(nodes or (an_old_node(),)), campaign=a_campaign_record(), **changes)
    view = a_view(seen, an_intent(campaign=a_campaign(**(campaign or {}))))
    return preflight.why_not(view, canary.choose(view.nodes, view.campaign.canary))


def told(code: HoldCode, *, until: float | None = None, **params: object) -> tuple[Hold, ...]:
    return (hold("spring", code, params, since=900.0, until=until),)


def test_a_fleet_in_order_may_begin() -> None:
    assert why_not() == ()


@pytest.mark.parametrize(
    ("source", "held"),
    [
        (None, told(HoldCode.SOURCE_UNREACHABLE, why="it was not looked at yet")),
        (a_source(trouble="no route to host"), told(HoldCode.SOURCE_UNREACHABLE, why="no route to host")),
        (a_source(every_seconds=30, seen_at=NOW - 300), ()),
        (
            a_source(every_seconds=30, seen_at=NOW - 301),
            (hold("spring", HoldCode.SOURCE_STALE, limit="5 min", since=NOW - 301),),
        ),
        (a_source(every_seconds=600, seen_at=NOW - 2400), ()),
        (
            a_source(every_seconds=600, seen_at=NOW - 2401),
            (hold("spring", HoldCode.SOURCE_STALE, limit="40 min", since=NOW - 2401),),
        ),
        (a_source(trouble="not named", is_barred=True), told(HoldCode.SOURCE_BARRED, why="not named")),
        (a_source(is_rewritten=True), told(HoldCode.HISTORY_REWRITTEN, head="abc1234")),
        (a_source(problem="line 3"), told(HoldCode.MATRIX_PROBLEM, why="line 3")),
        (a_source(bad="Xid 79"), told(HoldCode.ENTRY_BAD, why="Xid 79")),
        (a_source(driver=OLD.version), told(HoldCode.MATRIX_CHANGED, found=OLD.version, target=NEW.version)),
        (a_source(driver=""), told(HoldCode.MATRIX_CHANGED, found="nothing", target=NEW.version)),
        (a_source(), ()),
    ],
)
def test_the_matrix_has_to_stand_behind_the_target(source: Any, held: tuple[Hold, ...]) -> None:
    assert why_not(source=source, campaign={"has_source": True}) == held
    assert why_not(source=source) == ()


@pytest.mark.parametrize(
    ("parts", "held"),
    [
        ((), ()),
        ((("container_toolkit", "v1.18.1"), ("gpu_operator", "v25.10.0")), ()),
        (
            (("container_toolkit", "v1.17.0"),),
            told(HoldCode.MATRIX_CHANGED, found="container_toolkit v1.17.0", target="container_toolkit v1.18.1"),
        ),
    ],
)
def test_what_moves_with_the_driver_is_what_the_matrix_says_where_it_names_it(parts: Any, held: Any) -> None:
    target = Target.of(NEW.version, (Component.CONTAINER_TOOLKIT, "v1.18.1"))
    seen = a_snapshot(an_old_node(), campaign=a_campaign_record(), source=a_source(parts=parts))
    found = preflight.why_source(a_view(seen, an_intent(target=target, campaign=a_campaign())))
    assert ((found,) if found is not None else ()) == held


def test_where_a_commit_is_to_publish_its_repository_has_to_be_seen_first_also_without_a_matrix() -> None:
    by_git = {"publish": Via.GIT}
    assert why_not(campaign=by_git) == told(HoldCode.SOURCE_UNREACHABLE, why="it was not looked at yet")
    barred = a_source(trouble="not named", is_barred=True)
    assert why_not(source=barred, campaign=by_git) == told(HoldCode.SOURCE_BARRED, why="not named")
    assert why_not(source=a_source(), campaign=by_git) == ()


def test_every_other_campaign_and_every_missing_right_is_named() -> None:
    held = why_not(others=("autumn", "winter"), denied=("patch nodes",))
    assert held == (
        *told(HoldCode.OTHER_ROLLOUT, other="autumn"),
        *told(HoldCode.OTHER_ROLLOUT, other="winter"),
        *told(HoldCode.ACCESS_DENIED, what="patch nodes"),
    )


def test_a_canary_that_was_named_and_will_not_do_is_told_with_the_reason() -> None:
    nodes = (an_old_node(), an_old_node("n2", is_cordoned=True))
    held = why_not(*nodes, campaign={"canary": Canary(nodes=("n1", "n2", "n9"))})
    why = "n2: it is cordoned; n9: it is not a member"
    assert held == told(HoldCode.NO_CANARY, wanted=3, found=1, why=why)


def test_fewer_nodes_fit_to_go_first_than_asked_for_are_told() -> None:
    assert why_not(campaign={"canary": Canary(count=2)}) == told(HoldCode.NO_CANARY, wanted=2, found=1, why="")


@pytest.mark.parametrize(
    ("changes", "mode", "is_held"),
    [
        ({"phase": NodePhase.DRAIN_REQUIRED}, Mode.DIRECT, True),
        ({"phase": NodePhase.UPGRADE_FAILED}, Mode.DIRECT, False),
        ({"phase": NodePhase.UPGRADE_REQUIRED}, Mode.DIRECT, False),
        ({"phase": NodePhase.UPGRADE_DONE}, Mode.DIRECT, False),
        ({"nvidia_state": "drain-required"}, Mode.DIRECT, False),
        ({"nvidia_state": "drain-required"}, Mode.DELEGATED, True),
        ({"nvidia_state": "upgrade-failed"}, Mode.DELEGATED, False),
        ({"nvidia_state": "upgrade-required"}, Mode.DELEGATED, False),
        ({"nvidia_state": ""}, Mode.DELEGATED, False),
    ],
)
def test_what_somebody_left_half_way_is_adopted_first(changes: dict[str, Any], mode: Mode, is_held: bool) -> None:
    held = why_not(an_old_node(), an_old_node("n2", **changes), campaign={"mode": mode})
    assert held == (told(HoldCode.HALF_DONE, nodes="n2", count=1) if is_held else ())


def test_more_failures_of_nvidias_controller_than_are_tolerated_are_looked_at_first() -> None:
    left = (an_old_node(name, nvidia_state="upgrade-failed") for name in ("n2", "n3"))
    held = why_not(an_old_node(), *left, campaign={"mode": Mode.DELEGATED})
    assert held == told(HoldCode.HALF_DONE, nodes="n2, n3", count=2)


@pytest.mark.parametrize(
    ("changes", "mode", "is_held"),
    [
        ({"phase": NodePhase.UPGRADE_FAILED}, Mode.DIRECT, False),
        ({"phase": NodePhase.POD_RESTART_REQUIRED, "is_ready": False}, Mode.DIRECT, False),
        ({"nvidia_state": "drain-required", "is_ready": False}, Mode.DELEGATED, False),
        ({"phase": NodePhase.DRAIN_REQUIRED}, Mode.DIRECT, True),
        ({"nvidia_state": "drain-required"}, Mode.DELEGATED, True),
    ],
)
def test_a_dead_node_that_a_person_left_out_is_in_nobodys_way(
    changes: dict[str, Any], mode: Mode, is_held: bool
) -> None:
    held = why_not(an_old_node(), an_old_node("n2", is_skipped=True, **changes), campaign={"mode": mode})
    assert held == (told(HoldCode.HALF_DONE, nodes="n2", count=1) if is_held else ())


@pytest.mark.parametrize(
    ("nodes", "version", "is_held"),
    [
        ((an_old_node(driver=a_driver(version="")),), "", True),
        ((an_old_node(),), "", False),
        ((a_well_node(),), NEW.version, False),
        ((a_well_node(), a_node("n2", driver=a_driver("n2", version=""))), NEW.version, True),
    ],
    ids=["nothing says a version", "a node says it", "everybody is there already", "not everybody"],
)
def test_a_version_to_go_back_to_has_to_be_known(nodes: tuple[NodeSeen, ...], version: str, is_held: bool) -> None:
    held = why_not(*nodes, operator=an_operator(version))
    assert held == (told(HoldCode.NO_WAY_BACK, resource=POLICY, node=nodes[-1].name) if is_held else ())


def test_something_has_to_carry_the_version_unless_somebody_else_publishes() -> None:
    assert why_not(operator=OperatorFacts()) == told(HoldCode.NOTHING_TO_PUBLISH)
    assert why_not(operator=OperatorFacts(), campaign={"publish": Via.NOBODY}) == ()


def test_a_person_may_have_to_say_yes() -> None:
    manual = {"manual": (Point.CANARY, Point.WAVES)}
    assert why_not(campaign=manual) == told(HoldCode.APPROVAL_PENDING, point="canary")
    assert why_not(campaign=manual | {"approved": (Point.CANARY,)}) == ()


def test_a_window_has_to_be_open() -> None:
    assert why_not(campaign={"openings": ((NOW + 60, NOW + 90),)}) == told(HoldCode.OUTSIDE_WINDOW, until=NOW + 60)
    assert why_not(campaign={"openings": ((NOW, NOW + 90),)}) == ()


@pytest.mark.parametrize(
    ("parallel_max", "unavailable_max", "count", "gates", "is_told"),
    [
        (1, 3, 2, (GPU_GATE,), True),
        (3, 1, 2, (GPU_GATE,), True),
        (2, 2, 2, (GPU_GATE,), False),
        (0, 2, 2, (GPU_GATE,), False),
        (1, 1, 1, (GPU_GATE,), False),
        (1, 1, 2, (), False),
    ],
    ids=["one at once", "one unavailable", "room", "no limit", "one canary", "no gate closes them"],
)
def test_canaries_that_would_wait_for_each_other_are_told_before_anything_begins(
    parallel_max: int, unavailable_max: int, count: int, gates: tuple[Gate, ...], is_told: bool
) -> None:
    intent = an_intent(
        parallel_max=parallel_max,
        unavailable_max=unavailable_max,
        campaign=a_campaign(canary=Canary(count=count), gates=gates),
    )
    seen = a_snapshot(
        *(an_old_node(name) for name in ("n1", "n2", "n3")), campaign=a_campaign_record(), operator=an_operator()
    )
    codes = {held.code for held in decide(seen, intent, NOW).waits}
    assert (HoldCode.CANARIES_CROWDED in codes) is is_told


@pytest.mark.parametrize(("parallel_max", "is_told"), [(2, True), (3, False)])
def test_canaries_of_two_units_need_room_for_one_of_them_beside_a_whole_unit(parallel_max: int, is_told: bool) -> None:
    nodes = [an_old_node(f"n{each}", labels={"clique": f"c{each // 2}"}) for each in range(4)]
    intent = an_intent(
        parallel_max=parallel_max,
        unavailable_max=4,
        domains=(Domain(label="clique", is_unit=True),),
        campaign=a_campaign(canary=Canary(nodes=("n0", "n2")), gates=(GPU_GATE,)),
    )
    seen = a_snapshot(*nodes, campaign=a_campaign_record(), operator=an_operator())
    codes = {held.code for held in decide(seen, intent, NOW).waits}
    assert (HoldCode.CANARIES_CROWDED in codes) is is_told


# ── limits that nothing fits into ────────────────────────────────────────────────────────────────────────────────────

ALL: dict[str, Any] = {"parallel_max": 0, "unavailable_max": "100%"}


def refused(*nodes: NodeSeen, waves: Waves | None = None, **wish: Any) -> list[Hold]:
    """What the limits of this wish keep from beginning."""
    campaign = a_campaign(waves=waves or Waves(growth=Growth.FIXED, first=Share(amount=100, is_percent=True)))
    seen = a_snapshot(*nodes, operator=an_operator(), campaign=a_campaign_record())
    view = a_view(seen, an_intent(campaign=campaign, **({**ALL, **wish})))
    return list(preflight.why_not(view, canary.choose(view.nodes, campaign.canary)))


def a_fleet(count: int, **labels: str) -> list[NodeSeen]:
    return [an_old_node(f"n{each}", labels={COUNT_LABEL: "8", **labels}) for each in range(1, count + 1)]


def test_a_fleet_whose_nodes_have_more_gpus_than_may_stand_idle_does_not_begin() -> None:
    params = {"limit": 7, "gpus": 8, "part": "n8"}
    assert refused(*a_fleet(8), idle_gpus_max="10%") == [
        hold("spring", HoldCode.IDLE_GPUS_TOO_FEW, params, since=900.0)
    ]
    assert refused(*a_fleet(9), idle_gpus_max="10%") == []
    assert refused(*a_fleet(1), idle_gpus_max=8) == []


def test_a_unit_with_more_gpus_than_may_stand_idle_does_not_begin_either() -> None:
    domains = (Domain(label="clique", is_unit=True),)
    (held,) = refused(*a_fleet(2, clique="c1"), idle_gpus_max=8, domains=domains)
    assert (held.code, dict(held.params)["part"], dict(held.params)["gpus"]) == (
        HoldCode.IDLE_GPUS_TOO_FEW,
        "clique c1",
        "16",
    )


@pytest.mark.parametrize(("limits", "limit"), [({"parallel_max": 2}, "2"), ({"unavailable_max": 1}, "1")])
def test_a_unit_with_more_nodes_than_the_limits_allow_does_not_begin(limits: dict[str, Any], limit: str) -> None:
    domains = (Domain(label="clique", is_unit=True),)
    (held,) = refused(*a_fleet(3, clique="c1"), domains=domains, **limits)
    assert held.code is HoldCode.UNIT_NEVER_FITS
    assert dict(held.params) == {"unit": "clique c1", "size": "3", "limit": limit}


def test_a_deadline_that_the_limits_cannot_keep_is_told_with_the_one_that_can_be_kept() -> None:
    fleet = a_fleet(20)
    wish: dict[str, Any] = {"idle_gpus_max": 16, "attrition": Attrition(deadline_seconds=7200.0)}
    (held,) = refused(*fleet, parallel_max=1, **wish)
    assert held.code is HoldCode.DEADLINE_TOO_SHORT
    told = dict(held.params)
    assert (told["at_once"], told["seconds"], told["setting"]) == ("1", "8100", "maxParallelUpgrades")
    assert refused(*fleet, parallel_max=1, **(wish | {"attrition": Attrition(deadline_seconds=8100.0)})) == []
    assert refused(*fleet, **wish) == [], "two at a time keep it"


def test_each_wave_has_its_share_of_the_deadline() -> None:
    wish: dict[str, Any] = {"idle_gpus_max": 16, "attrition": Attrition(deadline_seconds=7200.0)}
    halves = Waves(growth=Growth.FIXED, first=Share(amount=50, is_percent=True))
    assert refused(*a_fleet(21), waves=halves, **wish) == []
    tenths = Waves(growth=Growth.FIXED, first=Share(amount=10, is_percent=True))
    (held,) = refused(*a_fleet(21), waves=tenths, **wish)
    assert dict(held.params)["seconds"] == "16200", "ten waves of two nodes, each with what is left over at its end"
