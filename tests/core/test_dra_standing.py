"""How a DRA plugin stands at one look: fresh, stale, or why neither can be said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.model.seen.nodes import Loaded, NodePhase
from seatrial.core.movers.dra.standing import standing_of, standings
from seatrial.core.movers.dra.values import DRIVER_LABEL, DriverSet, PluginSet, Stand, Why
from seatrial.core.node import fresh
from seatrial.core.node.phases import UNDER_WAY
from seatrial.core.node.readiness import why_unproven
from tests.builders import NEW, OLD, a_dra_plugin, a_driver, a_new_driver
from tests.core.dra_stage import DRIVERS, fresh_plugin, look, said, settled

FRESH = (Stand.FRESH, Why.YOUNGER)
OLDER = (Stand.STALE, Why.OLDER)


def stand(**changes: Any) -> tuple[Stand, Why]:
    node = settled(**changes)
    return said(standing_of(node, look(node)))


STANDS: list[tuple[dict[str, Any], tuple[Stand, Why]]] = [
    ({}, OLDER),
    ({"dra": fresh_plugin()}, FRESH),
    ({"dra": fresh_plugin(is_ready=False)}, (Stand.REROLLING, Why.PLUGIN_STARTING)),
    ({"dra": a_dra_plugin(started_at=None)}, (Stand.REROLLING, Why.PLUGIN_STARTING)),
    ({"dra": a_dra_plugin(is_terminating=True)}, (Stand.REROLLING, Why.PLUGIN_LEAVING)),
    ({"dra": None}, (Stand.SKIPPED, Why.NO_PLUGIN)),
    ({"dra": fresh_plugin(), "published": (OLD.version,)}, (Stand.STALE, Why.VERSION_DIFFERS)),
    ({"driver": a_driver()}, (Stand.PENDING, Why.NOT_MIGRATED)),
    ({"is_skipped": True}, (Stand.SKIPPED, Why.LEFT_OUT)),
    ({"is_skipped": True, "driver": a_driver()}, (Stand.SKIPPED, Why.LEFT_OUT)),
    ({"is_skipped": True, "dra": fresh_plugin()}, FRESH),
    ({"nvidia_state": "upgrade-failed"}, (Stand.SKIPPED, Why.UPGRADE_FAILED)),
    ({"phase": NodePhase.UPGRADE_FAILED}, (Stand.SKIPPED, Why.UPGRADE_FAILED)),
]


@pytest.mark.parametrize(("changes", "expected"), STANDS)
def test_a_node_stands(changes: dict[str, Any], expected: tuple[Stand, Why]) -> None:
    assert stand(**changes) == expected


def test_a_plugin_is_stale_since_its_driver_and_fresh_since_its_own_start() -> None:
    stale, well = settled(), settled(dra=fresh_plugin())
    assert standing_of(stale, look(stale)).since == 200.0
    assert standing_of(well, look(well)).since == 201.0


def test_a_plugin_of_the_very_second_of_its_driver_is_stale() -> None:
    """Kubelets write whole seconds: which of the two came first cannot be told."""
    assert stand(dra=a_dra_plugin(started_at=200.0)) == OLDER
    assert stand(dra=a_dra_plugin(started_at=201.0)) == FRESH


@pytest.mark.parametrize("phase", sorted(UNDER_WAY))
def test_a_node_that_we_visit_is_left_to_the_node_machine(phase: NodePhase) -> None:
    assert stand(phase=phase) == (Stand.PENDING, Why.VISITED)


@pytest.mark.parametrize("changes", [{}, {"dra": fresh_plugin()}, {"dra": fresh_plugin(), "published": (OLD.version,)}])
def test_a_visit_and_a_look_beside_it_use_the_same_rule(changes: dict[str, Any]) -> None:
    node = settled(**changes)
    facts = node.node.facts
    proven = why_unproven(facts, None) is None
    assert proven is (standing_of(node, look(node)).stand is Stand.FRESH)
    assert proven is (next(fresh.why_not_fresh(facts, None, NEW.version, 200.0), None) is None)


# ── the cases of the reference ───────────────────────────────────────────────────────────────────────────────────────


def test_a_driver_of_the_same_version_that_started_again_makes_the_plugin_stale() -> None:
    """In place, in the same pod: its files are new all the same."""
    assert stand(dra=fresh_plugin(), driver=a_new_driver(started_at=250.0)) == OLDER


def test_a_plugin_that_was_restarted_before_its_nodes_driver_is_stale() -> None:
    """An annotation of the chart restarts all plugins at once, and some nodes get their driver after that."""
    assert stand(dra=a_dra_plugin(started_at=150.0), published=()) == OLDER


def test_leading_zeros_and_missing_parts_of_versions_make_no_difference() -> None:
    assert stand(dra=fresh_plugin(), published=("580.105.8",)) == FRESH
    driver = a_new_driver(version="580.105")
    assert stand(dra=fresh_plugin(), driver=driver, published=("580.105.0",)) == FRESH


def test_compute_domains_alone_publish_no_version_and_the_age_has_to_do() -> None:
    assert stand(dra=fresh_plugin(), published=()) == FRESH
    assert stand(published=()) == OLDER


def test_each_nodes_driver_is_found_by_its_own_pod_where_there_are_several_daemonsets() -> None:
    """OpenShift has one for each version of its system, NVIDIADrivers one for each pool."""
    lagging = DriverSet(name="driver-rhcos-4.17", version=NEW.version, is_seen=False)
    first, second = settled("n1"), settled("n2", driver_set=lagging)
    seen = look(first, second, sets=(DRIVERS, lagging))
    assert [said(each) for each in standings(seen)] == [OLDER, (Stand.PENDING, Why.TEMPLATE_UNSEEN)]


HOST: dict[str, Any] = {"driver": None, "driver_set": None, "dra": a_dra_plugin(started_at=100.0)}


@pytest.mark.parametrize(
    ("loaded", "published", "expected"),
    [
        (Loaded(version=NEW.version, seen_at=150.0), (OLD.version,), (Stand.STALE, Why.VERSION_DIFFERS)),
        (Loaded(version=NEW.version, seen_at=150.0), (NEW.version,), (Stand.FRESH, Why.SAME_VERSION)),
        (Loaded(version=NEW.version, seen_at=99.0), (OLD.version,), (Stand.FRESH, Why.UNCOMPARED)),
        (Loaded(version=NEW.version), (OLD.version,), (Stand.FRESH, Why.UNCOMPARED)),
        (Loaded(version=NEW.version, seen_at=150.0), (), (Stand.FRESH, Why.UNCOMPARED)),
        (None, (OLD.version,), (Stand.FRESH, Why.UNCOMPARED)),
    ],
)
def test_of_a_driver_that_the_host_brings_only_versions_are_compared(
    loaded: Loaded | None, published: tuple[str, ...], expected: tuple[Stand, Why]
) -> None:
    node = settled(**HOST, loaded=loaded, published=published)
    assert said(standing_of(node, look(node, sets=()))) == expected


# ── who is concerned ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_dra_driver_no_node_is_concerned() -> None:
    seen = look(settled(dra=None), settled("n2", dra=None))
    assert not seen.has_dra
    assert standings(seen) == ()


def test_a_node_with_a_driver_and_no_plugin_is_told_of_where_others_have_one() -> None:
    seen = look(settled(dra=fresh_plugin()), settled("n2", dra=None))
    assert [said(each) for each in standings(seen)] == [FRESH, (Stand.SKIPPED, Why.NO_PLUGIN)]


def test_a_plugin_that_no_node_is_chosen_for_is_told_of() -> None:
    """Its DaemonSet wants to run nowhere: a placement label that nobody put there."""
    seen = look(settled(dra=None), plugins=(PluginSet(namespace="dra", name="plugin"),))
    assert seen.has_dra
    assert [said(each) for each in standings(seen)] == [(Stand.SKIPPED, Why.NO_PLUGIN)]


def test_a_node_without_a_gpu_is_not_told_of() -> None:
    plain = replace(settled("cpu", dra=None, driver=None, validator=None), driver_set=None)
    seen = look(settled(dra=fresh_plugin()), plain)
    assert [each.node for each in standings(seen)] == ["n1"]


def test_nodes_are_told_in_order() -> None:
    seen = look(*(settled(name, labels={DRIVER_LABEL: "true"}) for name in ("n3", "n1", "n2")))
    assert [each.node for each in standings(seen)] == ["n1", "n2", "n3"]
