"""What is wanted: the defaults of NVIDIA's upgradePolicy, the policies of a rollout and its pools, and who belongs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.model.intent import Checkpoint, Domain, Intent, Order, Requestor, Retries, is_member, policies
from seatrial.core.model.owners import DriverClaim
from seatrial.core.model.policy import NO_LIMITS, Eviction, Limits, Policy, PolicyWish, Share
from seatrial.core.model.seen.operators import OperatorFacts, Pool
from tests.builders import TARGET, a_node


def test_the_defaults_are_those_of_nvidias_policy_where_it_has_the_field() -> None:
    assert Intent(rollout="spring", target=TARGET) == Intent(
        rollout="spring",
        target=TARGET,
        policy=Policy(
            limits=Limits(parallel_max=1, unavailable_max=Share(amount=25, is_percent=True)),
            eviction=Eviction(force=False, delete_empty_dir=False, timeout_seconds=300.0),
        ),
        pools={},
        failed_max=1,
        domains=(),
        order=Order.NAME,
        retries=Retries(count_max=0, pause_seconds=300.0),
        checkpoint=Checkpoint(timeout_seconds=600.0, webhook=""),
        requestor=None,
        restart_timeout_seconds=1800.0,
        validation_timeout_seconds=600.0,
        is_paused=False,
    )


def test_the_defaults_of_its_parts_are_those_of_their_makers() -> None:
    assert Requestor(id="seatrial") == Requestor(
        id="seatrial", namespace="default", prefix="nvidia-operator", timeout_seconds=3600.0
    )
    assert Domain(label="rack") == Domain(label="rack", unavailable_max=None, is_unit=False)


# ── the rollout and its pools ────────────────────────────────────────────────────────────────────────────────────────


def a_pool(name: str, **said: object) -> Pool:
    return Pool(name=name, claim=DriverClaim(name=name), policy=PolicyWish(**said))  # type: ignore[arg-type]


def limited(parallel_max: int, unavailable_max: int) -> Limits:
    return Limits(parallel_max=parallel_max, unavailable_max=Share(amount=unavailable_max))


DEFAULTS = Policy()
FORCING = PolicyWish(eviction_force=True)
FORCED = Eviction(force=True)


def test_without_pools_the_rollout_is_heard_before_the_cluster_policy() -> None:
    operator = OperatorFacts(policy=PolicyWish(parallel_max=5, eviction_force=True, eviction_timeout_seconds=60.0))
    own = PolicyWish(parallel_max=2, eviction_force=False)
    assert policies(own, operator) == (
        Policy(
            limits=replace(DEFAULTS.limits, parallel_max=2),
            eviction=Eviction(force=False, timeout_seconds=60.0),
        ),
        {},
    )


def test_each_pool_has_limits_of_its_own_and_the_rollout_adds_none_unless_it_says_so() -> None:
    operator = OperatorFacts(pools=(a_pool("blue", parallel_max=3), a_pool("red", unavailable_max=Share(amount=4))))
    assert policies(FORCING, operator) == (
        Policy(limits=NO_LIMITS, eviction=FORCED),
        {
            "blue": Policy(limits=replace(DEFAULTS.limits, parallel_max=3), eviction=FORCED),
            "red": Policy(limits=replace(DEFAULTS.limits, unavailable_max=Share(amount=4)), eviction=FORCED),
        },
    )


def test_limits_of_the_rollout_are_over_all_pools_and_do_not_change_theirs() -> None:
    operator = OperatorFacts(pools=(a_pool("blue", parallel_max=3, unavailable_max=Share(amount=3)),))
    own = PolicyWish(parallel_max=2, unavailable_max=Share(amount=2))
    assert policies(own, operator) == (Policy(limits=limited(2, 2)), {"blue": Policy(limits=limited(3, 3))})


def test_what_a_rollout_says_besides_limits_wins_in_every_pool() -> None:
    operator = OperatorFacts(pools=(a_pool("blue", eviction_force=False, drain_enable=True),))
    _, pools = policies(FORCING, operator)
    assert (pools["blue"].eviction, pools["blue"].drain.is_enabled) == (FORCED, True)


def test_where_there_are_pools_the_cluster_policy_is_not_heard() -> None:
    operator = OperatorFacts(policy=FORCING, pools=(a_pool("blue"),))
    assert policies(PolicyWish(), operator) == (Policy(limits=NO_LIMITS), {"blue": DEFAULTS})


def test_a_node_has_the_policy_of_its_owner_and_that_of_the_rollout_where_nobody_owns_it() -> None:
    blue = Policy(eviction=FORCED)
    intent = Intent(rollout="spring", target=TARGET, pools={"blue": blue})
    assert [intent.policy_for(a_node(owner=owner).facts) for owner in ("blue", "red", "")] == [
        blue,
        intent.policy,
        intent.policy,
    ]


# ── members ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("labels", "admitted", "belongs"),
    [
        ({"pool": "canary", "zone": "a"}, (), True),
        ({"pool": "fleet"}, (), False),
        ({}, (), False),
        ({"pool": "fleet"}, ("n1",), True),
        ({"pool": "fleet"}, ("n2",), False),
    ],
)
def test_a_node_belongs_by_its_labels_or_by_the_ledger(
    labels: dict[str, str], admitted: tuple[str, ...], belongs: bool
) -> None:
    assert is_member("n1", labels, {"pool": "canary"}, admitted) is belongs
