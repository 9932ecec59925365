"""Which DRA plugins are deleted, and when: small stories of looks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.movers.dra.values import (
    CLIQUE_LABEL,
    OPERATORS_SECONDS,
    SLICES_SECONDS,
    STILL_SECONDS,
    TARGET_SECONDS,
    DriverSet,
    Sighted,
    Stand,
    Target,
    Why,
)
from tests.builders import NEW, OLD, a_dra_plugin, a_driver, a_new_driver, a_pod
from tests.core.movers.dra_stage import DRIVERS, Run, fresh_plugin, look, settled

FRESH = (Stand.FRESH, Why.YOUNGER)
STILL = (Stand.WAITING, Why.STILL)


def again(node: Sighted, **plugin: Any) -> Sighted:
    """The node with the next plugin pod."""
    found = a_dra_plugin(node.name, uid=f"plugin-{node.name}-1", started_at=300.0)
    return replace(node, node=replace(node.node, facts=replace(node.node.facts, dra=replace(found, **plugin))))


# ── when ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_stale_plugin_is_deleted_once_its_node_has_stood_still() -> None:
    run, seen = Run(), look(settled())
    assert run.stands(seen) == {"n1": STILL}
    assert run.stands(seen, STILL_SECONDS - 0.1) == {"n1": STILL}
    assert run.deleted == []
    found = run.look(seen, 0.1)
    assert [(act.node, act.namespace, act.pod, act.uid) for act in found.acts] == [
        ("n1", "dra", "plugin-n1", "plugin-n1-0")
    ]


def test_whoever_waits_knows_when_to_look_again() -> None:
    run = Run()
    assert run.look(look(settled())).wake_at == run.now + STILL_SECONDS


@pytest.mark.parametrize(
    "changes",
    [
        {"driver": a_new_driver(started_at=210.0)},
        {"driver": a_new_driver(uid="driver-n1-2")},
        {"boot_id": "another"},
        {"driver_set": replace(DRIVERS, version="580.126.20")},
    ],
)
def test_whatever_changes_meanwhile_begins_the_wait_anew(changes: dict[str, Any]) -> None:
    run = Run()
    run.look(look(settled()))
    assert run.stands(look(settled(**changes)), STILL_SECONDS) == {"n1": STILL}
    assert run.deleted == []


def test_a_node_that_was_unsettled_in_between_waits_anew() -> None:
    run = Run()
    run.look(look(settled()))
    run.look(look(settled(nvidia_state="pod-restart-required")), 10)
    assert run.stands(look(settled()), STILL_SECONDS) == {"n1": STILL}


def test_a_plugin_on_a_node_that_is_not_settled_is_never_deleted() -> None:
    run = Run()
    for _ in range(5):
        run.look(look(settled(driver=a_driver())), 1000)
    assert run.deleted == []


def test_a_pod_with_a_claim_leaves_before_the_plugin_does() -> None:
    leaving = a_pod(holds_claim=True, is_terminating=True)
    run = Run()
    run.look(look(settled(pods=(leaving,))))
    assert run.stands(look(settled(pods=(leaving,))), 1000) == {"n1": (Stand.WAITING, Why.CLAIM_LEAVING)}
    run.look(look(settled()), 1)
    assert run.deleted == ["n1"]


def test_a_pod_that_keeps_its_claim_does_not_keep_the_plugin() -> None:
    run, seen = Run(), look(settled(pods=(a_pod(holds_claim=True),)))
    run.look(seen)
    run.look(seen, STILL_SECONDS)
    assert run.deleted == ["n1"]


def test_slices_get_time_to_be_written_before_another_version_in_them_counts() -> None:
    run, seen = Run(), look(settled(dra=fresh_plugin(), published=(OLD.version,)))
    run.look(seen)
    assert run.stands(seen, SLICES_SECONDS - 1) == {"n1": (Stand.WAITING, Why.VERSION_DIFFERS)}
    run.look(seen, 1)
    assert run.deleted == ["n1"]


def test_the_operators_own_plugin_is_left_to_it_for_ten_minutes() -> None:
    """A GPUCluster's: the driver manager restarts it, and only what it forgot is left to us."""
    run, seen = Run(), look(settled(dra=a_dra_plugin(is_operators=True)))
    run.look(seen)
    assert run.stands(seen, OPERATORS_SECONDS - 1) == {"n1": (Stand.WAITING, Why.OPERATORS_OWN)}
    assert run.stands(look(settled(dra=fresh_plugin(is_operators=True))), 1) == {"n1": FRESH}
    assert run.deleted == []
    run.look(seen, 1)
    run.look(seen, OPERATORS_SECONDS)
    assert run.deleted == ["n1"]


# ── once ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_deleted_twice() -> None:
    run, seen = Run(), look(settled())
    run.look(seen)
    run.look(seen, STILL_SECONDS)
    assert run.stands(seen, 1) == {"n1": (Stand.REROLLING, Why.PLUGIN_LEAVING)}
    assert run.stands(look(settled(dra=None)), 1) == {"n1": (Stand.REROLLING, Why.PLUGIN_AWAITED)}
    starting = again(settled(), started_at=None, is_ready=False)
    assert run.stands(look(starting), 1) == {"n1": (Stand.REROLLING, Why.PLUGIN_STARTING)}
    assert run.stands(look(again(settled())), 1) == {"n1": FRESH}
    assert run.deleted == ["n1"]


def test_a_second_run_finds_everything_fresh_and_writes_nothing() -> None:
    seen = look(*(settled(f"n{number}", dra=fresh_plugin(f"n{number}")) for number in range(4)))
    run = Run()
    found = run.look(seen)
    assert found.is_over
    run.look(seen, 1000)
    assert run.deleted == []


def test_a_run_that_was_interrupted_is_taken_up_by_the_next_one() -> None:
    """Nothing is kept outside of the cluster: half of the plugins are new, and the other half goes."""
    seen = look(again(settled("n1")), settled("n2"))
    run = Run()
    run.look(seen)
    run.look(seen, STILL_SECONDS)
    assert run.deleted == ["n2"]


def test_a_plugin_that_is_stale_after_its_restart_is_not_restarted_for_the_same_driver() -> None:
    run = Run()
    wrong = look(settled(dra=fresh_plugin(), published=(OLD.version,)))
    run.look(wrong)
    run.look(wrong, SLICES_SECONDS)
    after = look(again(settled(published=(OLD.version,))))
    assert run.stands(after, 5) == {"n1": (Stand.REROLLING, Why.VERSION_DIFFERS)}
    found = run.look(after, SLICES_SECONDS)
    assert [(each.stand, each.why) for each in found.standings] == [(Stand.FAILED, Why.STALE_AGAIN)]
    assert found.is_over
    assert run.deleted == ["n1"]


def test_the_next_driver_is_a_reason_to_restart_it_again() -> None:
    run, seen = Run(), look(settled())
    run.look(seen)
    run.look(seen, STILL_SECONDS)
    later = look(again(settled(driver=a_new_driver(uid="driver-n1-2", ready_since=400.0))))
    run.look(later, 10)
    run.look(later, STILL_SECONDS)
    assert run.deleted == ["n1", "n1"]


def test_a_deletion_that_was_turned_down_is_decided_anew() -> None:
    from seatrial.core.movers.dra import rerolling

    run, seen = Run(), look(settled())
    run.look(seen)
    run.now += STILL_SECONDS
    refused = rerolling.decide_reroll(seen, run.memory, run.now)  # and nothing noted
    run.memory = refused.memory
    assert len(refused.acts) == 1
    run.look(seen, 1)
    assert run.deleted == ["n1"]


# ── who ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def in_clique(name: str, clique: str, **changes: Any) -> Sighted:
    return settled(name, labels={CLIQUE_LABEL: clique}, **changes)


def test_of_a_clique_one_plugin_goes_at_a_time() -> None:
    nodes = [in_clique(name, clique) for name, clique in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b"))]
    run = Run()
    run.look(look(*nodes))
    stands = run.stands(look(*nodes), STILL_SECONDS)
    assert run.deleted == ["a1", "b1"]
    assert stands["a2"] == (Stand.WAITING, Why.CLIQUE)
    nodes[0] = again(nodes[0], is_ready=False)
    run.look(look(*nodes), 1)
    assert run.deleted == ["a1", "b1"]
    nodes[0] = again(nodes[0])
    run.look(look(*nodes), 1)
    assert run.deleted == ["a1", "b1", "a2"]


def test_a_plugin_that_starts_by_itself_keeps_its_clique_too() -> None:
    nodes = [in_clique("a1", "a", dra=fresh_plugin("a1", is_ready=False)), in_clique("a2", "a")]
    run = Run()
    run.look(look(*nodes))
    run.look(look(*nodes), STILL_SECONDS)
    assert run.deleted == []


def test_nodes_without_a_clique_do_not_wait_for_each_other() -> None:
    nodes = [settled(f"n{number}") for number in range(5)]
    run = Run()
    run.look(look(*nodes))
    run.look(look(*nodes), STILL_SECONDS)
    assert run.deleted == ["n0", "n1", "n2", "n3", "n4"]


def test_only_the_nodes_that_are_named_are_restarted_and_waited_for() -> None:
    run = Run(only=frozenset({"n2"}))
    seen = look(settled("n1"), settled("n2"))
    run.look(seen)
    found = run.look(seen, STILL_SECONDS)
    assert [each.node for each in found.standings] == ["n2"]
    assert run.deleted == ["n2"]


def test_a_node_that_never_settles_keeps_no_other() -> None:
    """No barrier over the fleet: where one driver fails, every other node gets its plugin."""
    nodes = (settled("n1", nvidia_state="upgrade-failed"), settled("n2", driver=a_driver("n2")), settled("n3"))
    run = Run()
    run.look(look(*nodes))
    assert run.stands(look(*nodes), STILL_SECONDS) == {
        "n1": (Stand.SKIPPED, Why.UPGRADE_FAILED),
        "n2": (Stand.PENDING, Why.NOT_MIGRATED),
        "n3": (Stand.STALE, Why.OLDER),
    }
    assert run.deleted == ["n3"]


def test_nodes_that_come_and_go_meanwhile_are_taken_as_they_are() -> None:
    run = Run()
    run.look(look(settled("n1"), settled("n2")))
    run.look(look(settled("n1"), settled("n3")), STILL_SECONDS)
    assert run.deleted == ["n1"]
    run.look(look(again(settled("n1")), settled("n3")), STILL_SECONDS)
    assert run.deleted == ["n1", "n3"]


def test_three_nodes_one_after_the_other_are_each_restarted_once_and_never_before_their_driver() -> None:
    nodes = {name: settled(name, driver=a_driver(name)) for name in ("n1", "n2", "n3")}
    run = Run()
    for name in nodes:  # the last one takes an hour
        run.look(look(*nodes.values()), 3600 if name == "n3" else 60)
        assert name not in run.deleted
        nodes[name] = settled(name, driver=a_new_driver(name))
        run.look(look(*nodes.values()), 60)
        run.look(look(*nodes.values()), STILL_SECONDS)
        assert run.deleted[-1] == name
        nodes[name] = again(nodes[name])
    assert run.look(look(*nodes.values()), 5).is_over
    assert run.deleted == ["n1", "n2", "n3"]


def test_sixteen_nodes_five_at_a_time_may_take_longer_than_any_hook_would_wait() -> None:
    """Each round takes ten minutes; who has its driver has its plugin in that round, and nobody is restarted twice."""
    nodes = {name: settled(name, driver=a_driver(name)) for name in (f"n{number:02}" for number in range(16))}
    run, names = Run(), sorted(nodes)
    for first in range(0, 16, 5):
        moved = names[first : first + 5]
        nodes |= {name: settled(name, driver=a_new_driver(name)) for name in moved}
        run.look(look(*nodes.values()), 600)
        run.look(look(*nodes.values()), STILL_SECONDS)
        assert run.deleted[first:] == moved
        nodes |= {name: again(nodes[name]) for name in moved}
    assert run.look(look(*nodes.values()), 5).is_over
    assert run.deleted == names


def test_a_chart_that_restarts_every_plugin_at_once_is_no_reason_to_stop_looking() -> None:
    """An annotation of its template: nodes without their driver become stale again, and only those are restarted."""
    moved = again(settled("n1"), started_at=250.0)
    waits = again(settled("n2", driver=a_driver("n2")), started_at=250.0)
    run = Run()
    run.look(look(moved, waits))
    late = again(settled("n2", driver=a_new_driver("n2", ready_since=400.0)), started_at=250.0)
    run.look(look(moved, late), 600)
    run.look(look(moved, late), STILL_SECONDS)
    assert run.deleted == ["n2"]


# ── the target ───────────────────────────────────────────────────────────────────────────────────────────────────────

BEFORE = DriverSet(name="nvidia-driver-daemonset", version=OLD.version, chart="gpu-operator-v25.10.1")
ABSENT = (Stand.PENDING, Why.TARGET_ABSENT)


def an_old(name: str = "n1", **changes: Any) -> Sighted:
    """A node before the upgrade has reached its DaemonSet: it seems to be settled, and its plugin fresh."""
    fields: dict[str, Any] = {"driver": a_driver(name), "wanted": OLD, "published": (OLD.version,)}
    return settled(name, driver_set=BEFORE, **(fields | changes))


@pytest.mark.parametrize("target", [Target(driver=NEW.version), Target(chart="gpu-operator-v26.3.1")])
def test_until_the_target_is_to_be_seen_no_node_is_called_done(target: Target) -> None:
    """Straight after `helm upgrade` everything still says that it is ready: the new operator has not looked yet."""
    run = Run(target=target)
    seen = look(an_old(), sets=(BEFORE,))
    assert run.stands(seen) == {"n1": ABSENT}
    assert run.stands(seen, TARGET_SECONDS + 1) == {"n1": ABSENT}


def test_without_a_target_what_runs_is_what_is_judged() -> None:
    assert Run().stands(look(an_old(), sets=(BEFORE,))) == {"n1": FRESH}


def test_a_target_that_one_daemonset_shows_is_to_be_seen() -> None:
    run = Run(target=Target(driver=NEW.version, chart="gpu-operator-v26.3.1"))
    assert run.stands(look(settled(dra=fresh_plugin()))) == {"n1": FRESH}


def test_a_stale_plugin_waits_for_the_target_too() -> None:
    run = Run(target=Target(driver="590.10.01"))
    run.look(look(settled()))
    assert run.stands(look(settled()), 100) == {"n1": ABSENT}
    assert run.deleted == []


def test_a_target_that_runs_already_counts_after_its_grace() -> None:
    """The image's tag does not say it, or the chart's label is not there; then nothing is to come."""
    hidden = DriverSet(name="nvidia-driver-daemonset")
    run = Run(target=Target(driver=NEW.version, chart="gpu-operator-v26.3.1"))
    seen = look(settled(dra=fresh_plugin(), driver_set=hidden), sets=(hidden,))
    assert run.look(seen).wake_at == run.now + TARGET_SECONDS
    assert run.stands(seen, TARGET_SECONDS) == {"n1": FRESH}


def test_leading_zeros_of_a_target_make_no_difference() -> None:
    run = Run(target=Target(driver="580.105.8"))
    assert run.stands(look(settled(dra=fresh_plugin()))) == {"n1": FRESH}


def test_where_the_host_brings_the_drivers_no_target_is_to_be_seen() -> None:
    run = Run(target=Target(driver=NEW.version))
    node = settled(driver=None, driver_set=None, dra=a_dra_plugin())
    assert run.stands(look(node, sets=())) == {"n1": (Stand.FRESH, Why.UNCOMPARED)}
