"""What is seen of the operands around a driver, and which of them a rollout moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.operands import APPS, COMPONENTS, FIELDS, ORDER, Operand, OperandSeen, governed_by
from seatrial.core.model.seen.releases import CHARTS, ON_NODES
from seatrial.core.model.target import PUBLISHED, Target
from seatrial.core.node.progress import carried, carries, is_same, running, wants
from seatrial.sim.operand_pods import carrying, operand_of, with_operands
from tests.builders import NEW, OLD, a_node, an_operator

OLDER = ((Operand.TOOLKIT, "v1.17.8"), (Operand.VALIDATOR, "v25.3.0"))


def seen(revision: str = "old", *, is_terminating: bool = False) -> OperandSeen:
    found = operand_of("n1", Operand.TOOLKIT, revision, 0.0)
    assert found.pod is not None
    return replace(found, wanted="new", pod=replace(found.pod, is_terminating=is_terminating))


def test_an_operand_is_old_while_a_pod_of_another_revision_runs() -> None:
    assert seen().is_old
    assert not seen("new").is_old
    assert not seen(is_terminating=True).is_old
    assert not replace(seen(), pod=None).is_old


def test_an_operand_is_up_once_the_wanted_revision_is_ready() -> None:
    assert seen("new").is_up
    assert not seen().is_up
    assert not replace(seen(), pod=None).is_up
    found = seen("new")
    assert found.pod is not None
    assert not replace(found, pod=replace(found.pod, is_ready=False)).is_up


def test_a_node_is_in_sync_when_driver_and_operands_are() -> None:
    facts = a_node(driver=None).facts
    facts = with_operands(replace(facts, wanted=OLD, driver=a_node().facts.driver), OLDER)
    assert facts.is_in_sync
    behind = carrying(facts, {Component.CONTAINER_TOOLKIT.value: "v1.18.1"})
    assert behind.is_driver_in_sync
    assert not behind.is_in_sync


def test_another_template_of_an_operand_is_another_revision_of_the_node() -> None:
    facts = with_operands(a_node().facts, OLDER)
    assert facts.wanted_revision == f"{NEW.hash}+container-toolkit:v1.17.8+validator:v25.3.0"
    assert carrying(facts, {"container_toolkit": "v1.18.1"}).wanted_revision != facts.wanted_revision
    assert a_node().facts.wanted_revision == NEW.hash


@pytest.mark.parametrize(
    ("components", "operands"),
    [
        ((), set()),
        ((Component.DCGM,), {Operand.EXPORTER}),
        ((Component.DEVICE_PLUGIN,), {Operand.DEVICE_PLUGIN, Operand.MPS}),
        ((Component.GPU_OPERATOR,), set(APPS.values())),
        ((Component.MOFED,), {Operand.NETWORK_DRIVER}),
    ],
)
def test_a_rollout_moves_the_operands_of_the_components_it_names(
    components: tuple[Component, ...], operands: set[Operand]
) -> None:
    assert governed_by(components) == operands


def test_every_component_that_is_published_has_an_operand_and_a_field() -> None:
    operands = [component for component in PUBLISHED if component not in CHARTS or component in ON_NODES]
    assert set(operands) == set(COMPONENTS.values())
    elsewhere = {Component.MOFED, Component.DRA_DRIVER}  # in a resource of its own, and in a chart's version
    assert {*FIELDS, *elsewhere} == set(operands)


def test_the_validator_is_restarted_after_everything_that_it_proves() -> None:
    assert max(ORDER[operand] for operand in APPS.values()) == ORDER[Operand.VALIDATOR]


# ── versions of several ──────────────────────────────────────────────────────────────────────────────────────────────

BOTH = f"{OLD.version}, container_toolkit v1.17.8"


def test_a_node_carries_a_version_when_its_pods_do() -> None:
    facts = with_operands(a_node().facts, OLDER)
    assert carries(facts, BOTH)
    assert carries(facts, OLD.version)
    assert not carries(facts, f"{OLD.version}, container_toolkit v1.18.1")
    assert running(facts, f"{NEW.version}, container_toolkit v1.18.1") == BOTH
    assert running(replace(facts, operands=()), BOTH) == ""


def test_a_node_is_wanted_to_run_a_version_when_its_daemon_sets_carry_all_of_it() -> None:
    facts = with_operands(a_node().facts, OLDER)
    assert wants(facts, f"{NEW.version}, container_toolkit v1.17.8")
    assert not wants(facts, f"{NEW.version}, container_toolkit v1.18.1")


def test_versions_of_several_are_the_same_in_any_order_of_the_others() -> None:
    driver, one, other = OLD.version, "gfd v0.18.1", "mig_manager v0.13.1"
    assert is_same(f"{driver}, {one}, {other}", f"{driver}, {other}, {one}")
    assert is_same(f"{driver}, validator devel-ubi8", f"{driver}, validator devel-ubi8")
    assert not is_same(f"{OLD.version}, gfd v0.18.1", OLD.version)


def test_a_resource_carries_a_version_when_it_names_every_part() -> None:
    operator = an_operator()
    (carrier,) = operator.carriers
    assert carried(carrier.name, operator, BOTH) == ""
    named = replace(operator, carriers=(replace(carrier, parts=(("container_toolkit", "v1.17.8"),)),))
    assert carried(carrier.name, named, BOTH) == f"{carrier.version}, container_toolkit v1.17.8"


def test_a_target_publishes_what_is_no_work_by_hand() -> None:
    target = Target.of("580.105.08", (Component.FIRMWARE_CX7, "28.43.2026"), (Component.GFD, "v0.18.1"))
    assert target.published == "580.105.08, gfd v0.18.1"
    assert target.components == (Component.GFD,)
