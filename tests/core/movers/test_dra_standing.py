"""DRA kubelet plugins that outlived a driver: which are stale, when a node has settled, when it ends, what is said."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.model.seen.nodes import Loaded, NodePhase
from seatrial.core.movers.dra import settled as rule
from seatrial.core.movers.dra import words
from seatrial.core.movers.dra.beside import SILENT_SECONDS, Heard, heard
from seatrial.core.movers.dra.ending import Course, Patience, course_of
from seatrial.core.movers.dra.standing import standing_of, standings
from seatrial.core.movers.dra.values import (
    DRIVER_LABEL,
    DraMemory,
    DraSeen,
    DriverSet,
    PluginSet,
    Reroll,
    Rerolling,
    Stand,
    Standing,
    Why,
)
from seatrial.core.node import fresh
from seatrial.core.node.phases import UNDER_WAY
from seatrial.core.node.readiness import why_unproven
from tests.builders import NEW, OLD, a_dra_plugin, a_driver, a_new_driver, a_starting_driver, a_validator
from tests.core.movers.dra_stage import DRIVERS, fresh_plugin, look, said, settled

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


UNSETTLED: list[tuple[dict[str, Any], Why, str]] = [
    ({"is_ready": False}, Why.NODE_NOT_READY, ""),
    ({"driver": None, "labels": {DRIVER_LABEL: "true"}}, Why.DRIVER_MISSING, ""),
    ({"driver": a_starting_driver()}, Why.DRIVER_NOT_READY, "driver-n1"),
    ({"driver": a_new_driver(is_terminating=True)}, Why.DRIVER_NOT_READY, "driver-n1"),
    ({"driver": a_new_driver(ready_since=None)}, Why.DRIVER_NOT_READY, "driver-n1"),
    ({"driver_set": None}, Why.SET_UNKNOWN, "driver-n1"),
    ({"wanted": None}, Why.SET_UNKNOWN, "driver-n1"),
    ({"driver_set": replace(DRIVERS, is_seen=False)}, Why.TEMPLATE_UNSEEN, "nvidia-driver-daemonset"),
    ({"driver": a_driver()}, Why.NOT_MIGRATED, "driver-n1"),
    *(
        ({"nvidia_state": phase.value}, Why.UNDER_WAY, phase.value)
        for phase in NodePhase
        if phase is not NodePhase.UPGRADE_DONE
    ),
    ({"nvidia_state": "post-maintenance-required"}, Why.UNDER_WAY, "post-maintenance-required"),
    ({"paused_labels": ("nvidia.com/gpu.deploy.dcgm",)}, Why.PAUSED, "nvidia.com/gpu.deploy.dcgm"),
    ({"validator": a_validator(is_terminating=True)}, Why.VALIDATOR_MISSING, ""),
    ({"validator": a_validator(is_ready=False)}, Why.VALIDATOR_NOT_READY, "validator-n1"),
]


@pytest.mark.parametrize(("changes", "why", "about"), UNSETTLED)
def test_a_node_is_not_settled_when(changes: dict[str, Any], why: Why, about: str) -> None:
    node = settled(**changes)
    assert rule.why_unsettled(node, look(node)) == (why, about)


@pytest.mark.parametrize("state", ["", "upgrade-done"])
def test_a_node_with_the_wanted_driver_that_nobody_is_at_work_on_is_settled(state: str) -> None:
    node = settled(nvidia_state=state)
    assert rule.why_unsettled(node, look(node)) is None


def test_a_validator_from_before_the_driver_is_enough() -> None:
    """Nothing says that it would ever be started again, and then the plugin would stay stale for good."""
    node = settled(validator=a_validator(ready_since=100.0))
    assert rule.why_unsettled(node, look(node)) is None


def test_where_validators_are_switched_off_none_is_asked_for() -> None:
    node = settled(validator=None)
    assert rule.why_unsettled(node, look(node)) is None
    other = settled("n2")
    assert rule.why_unsettled(node, look(node, other)) == (Why.VALIDATOR_MISSING, "")


def test_the_newest_revision_may_be_that_of_the_template_before() -> None:
    """Right after the change of a template its pods seem to be of the newest revision: there is no newer one yet."""
    node = settled(driver=a_driver(), wanted=OLD, driver_set=replace(DRIVERS, is_seen=False))
    assert rule.why_unsettled(node, look(node)) == (Why.TEMPLATE_UNSEEN, "nvidia-driver-daemonset")


def test_a_driver_that_the_host_brings_has_no_pod_to_wait_for() -> None:
    for labels, sets in (({}, (DRIVERS,)), ({DRIVER_LABEL: "pre-installed"}, (DRIVERS,)), ({DRIVER_LABEL: "true"}, ())):
        node = settled(driver=None, labels=labels)
        assert rule.why_unsettled(node, look(node, sets=sets)) is None


def test_a_driver_pod_between_two_lives_is_not_taken_for_the_hosts_driver() -> None:
    node = settled(driver=None, labels={DRIVER_LABEL: "true"})
    assert rule.is_managed(node.node.facts, look(node))
    assert rule.why_unsettled(node, look(node)) == (Why.DRIVER_MISSING, "")


DONE = (Stand.FRESH, Stand.SKIPPED, Stand.FAILED)
OPEN = (Stand.STALE, Stand.WAITING, Stand.REROLLING)


def found(*stands: Stand) -> Rerolling:
    """What one look has come to; why each node stands so makes no difference here."""
    told = tuple(Standing(node=f"n{number}", stand=each, why=Why.OLDER) for number, each in enumerate(stands))
    return Rerolling(standings=told, acts=(), memory=DraMemory())


def course(
    *stands: Stand,
    is_waiting: bool = False,
    is_endless: bool = False,
    is_sure: bool = True,
    is_left: bool = False,
    now: float = 0.0,
    until: float = 100.0,
) -> Course:
    patience = Patience(is_waiting=is_waiting, is_endless=is_endless, until=until)
    return course_of(found(*stands), patience, now, is_sure=is_sure, is_left=is_left)


def test_every_stand_is_asked_about_here() -> None:
    assert {*DONE, *OPEN, Stand.PENDING} == set(Stand)


@pytest.mark.parametrize("is_waiting", [False, True])
def test_it_ends_when_every_node_is_done_or_cannot_be_helped(is_waiting: bool) -> None:
    assert course(*DONE, is_waiting=is_waiting) is Course.ENDED
    assert course(is_waiting=is_waiting) is Course.ENDED


@pytest.mark.parametrize("stand", OPEN)
@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_plugin_that_is_about_to_go_or_to_come_is_waited_for_in_any_case(stand: Stand, is_waiting: bool) -> None:
    assert course(Stand.FRESH, stand, Stand.PENDING, is_waiting=is_waiting) is Course.GOING_ON


def test_nodes_that_have_not_settled_are_waited_for_only_by_who_waits() -> None:
    assert course(Stand.FRESH, Stand.PENDING) is Course.ENDED
    assert course(Stand.FRESH, Stand.PENDING, is_waiting=True) is Course.GOING_ON


@pytest.mark.parametrize("stand", [*OPEN, Stand.PENDING])
def test_what_is_left_to_a_controller_is_waited_for_only_by_who_waits(stand: Stand) -> None:
    assert course(stand, is_left=True) is Course.ENDED
    assert course(stand, is_left=True, is_waiting=True) is Course.GOING_ON


def test_who_goes_on_for_ever_does_not_end_when_everything_is_done() -> None:
    assert course(Stand.FRESH, is_waiting=True, is_endless=True, until=math.inf) is Course.GOING_ON
    assert course(is_waiting=True, is_endless=True, now=1e12, until=math.inf) is Course.GOING_ON


@pytest.mark.parametrize("is_waiting", [False, True])
@pytest.mark.parametrize("stand", [Stand.FRESH, Stand.PENDING])
def test_behind_a_watch_that_is_cut_nothing_is_taken_for_an_end(stand: Stand, is_waiting: bool) -> None:
    assert course(stand, is_waiting=is_waiting, is_sure=False) is Course.GOING_ON
    assert course(stand, is_waiting=is_waiting, is_sure=False, is_left=True) is Course.GOING_ON


@pytest.mark.parametrize("is_sure", [False, True])
def test_its_time_is_up_at_the_very_instant_whatever_is_seen(is_sure: bool) -> None:
    assert course(Stand.STALE, now=99.9, is_sure=is_sure) is Course.GOING_ON
    assert course(Stand.STALE, now=100.0, is_sure=is_sure) is Course.LATE


def test_what_is_done_when_the_time_is_up_is_done() -> None:
    assert course(Stand.FRESH, now=100.0) is Course.ENDED
    assert course(Stand.FRESH, now=100.0, is_sure=False) is Course.LATE


def test_a_lease_that_changes_is_kept_by_somebody_whatever_its_clock_says() -> None:
    found = heard(None, 5.0, 1000.0)
    assert found.is_at_work(1000.0)
    later = heard(found, 6.0, 1000.0 + SILENT_SECONDS)
    assert later.is_at_work(1000.0 + SILENT_SECONDS)


def test_a_lease_that_does_not_change_is_nobodys_after_a_while() -> None:
    found = heard(heard(None, 5.0, 1000.0), 5.0, 1000.0 + SILENT_SECONDS)
    assert found.is_at_work(999.0 + SILENT_SECONDS)
    assert not found.is_at_work(1000.0 + SILENT_SECONDS)


def test_without_a_lease_there_is_nobody() -> None:
    assert not heard(None, None, 1000.0).is_at_work(1000.0)
    assert not heard(Heard(renewed_at=5.0, since=990.0), None, 1000.0).is_at_work(1000.0)


@pytest.mark.parametrize("why", Why)
def test_every_reason_has_a_sentence_and_a_next_step(why: Why) -> None:
    told = Standing(node="n1", stand=Stand.PENDING, why=why, about="it")
    for text in (words.why(told), words.what_next(told)):
        assert text
        assert "{" not in text
        assert not text.endswith(".")


def test_a_version_that_no_image_tells_is_called_so() -> None:
    assert words.why(Standing(node="n1", stand=Stand.FRESH, why=Why.YOUNGER)) == (
        "its plugin started after driver of unknown version"
    )


def test_a_deletion_is_announced_with_its_pod() -> None:
    act = Reroll(node="n1", namespace="dra", pod="plugin-n1", uid="1")
    assert words.announced(act) == "n1: deletes DRA plugin dra/plugin-n1, and its DaemonSet starts a new one"


def test_a_tally_counts_the_nodes() -> None:
    stands = (Stand.FRESH, Stand.STALE, Stand.FRESH)
    assert words.tally(Standing(node="n", stand=each, why=Why.OLDER) for each in stands) == "2 fresh, 1 stale"
    assert words.tally(()) == "no node with a DRA plugin"


def test_that_there_is_no_dra_driver_is_told_with_where_it_was_looked_for() -> None:
    assert words.no_driver(["a", "b"], DraSeen(nodes={})) == "There is no DRA driver in a, b. Nothing to restart."


def test_a_daemonset_that_chooses_no_node_is_named() -> None:
    seen = look(settled(dra=None), plugins=(PluginSet(namespace="dra", name="plugin"),))
    assert words.no_driver(["dra"], seen) == "No DRA plugin runs: dra/plugin selects no node. Nothing to restart."
