"""What is seen: derived facts, and a walk over every value type of the core."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import seatrial.core
from seatrial.core.model.campaign import Mode
from seatrial.core.model.seen.nodes import Loaded, Maintenance
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.pods import DriverPod, DriverRevision
from tests.builders import NEW, OLD, a_driver, a_gpu_pod, a_new_driver, a_node, a_pod, a_starting_driver


def core_modules() -> list[types.ModuleType]:
    found = pkgutil.walk_packages(seatrial.core.__path__, "seatrial.core.")
    return [importlib.import_module(module.name) for module in found]


def value_types() -> list[type]:
    """Every dataclass that core shows; one with a leading underscore is a tool of its module, not a value."""
    found = {
        kind
        for module in core_modules()
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if dataclasses.is_dataclass(kind) and kind.__module__.startswith("seatrial.core") and not name.startswith("_")
    }
    return sorted(found, key=lambda kind: (kind.__module__, kind.__name__))


def parts(annotation: object) -> Iterator[object]:
    """An annotation and everything inside its brackets."""
    yield typing.get_origin(annotation) or annotation
    for argument in typing.get_args(annotation):
        yield from parts(argument)


MUTABLE = (list, dict, set, bytearray)


@pytest.mark.parametrize("kind", value_types(), ids=lambda kind: kind.__name__)
def test_every_value_of_the_core_is_frozen_through_and_through(kind: type) -> None:
    hints = typing.get_type_hints(kind)
    mutable = {
        field.name
        for field in dataclasses.fields(kind)
        for part in parts(hints[field.name])
        # Behind an underscore is what a judge remembers of its own answers; it changes none of them.
        if not field.name.startswith("_") and isinstance(part, type) and issubclass(part, MUTABLE)
    }
    # Without equality a type is one big object, such as the knowledge base, and keeps what it worked out.
    is_slotted = "__slots__" in vars(kind) or vars(kind).get("__eq__") is None
    assert ("__setattr__" in vars(kind), is_slotted, mutable) == (True, True, set())


def test_the_walk_finds_the_types_it_should() -> None:
    names = {kind.__name__ for kind in value_types()}
    assert {"Snapshot", "NodeFacts", "NodeRecord", "Intent", "Decision", "Hold", "Cordon", "Budget", "Step"} <= names


def test_core_imports_the_standard_library_and_itself_only() -> None:
    borrowed = {
        value.__name__
        for module in core_modules()
        for value in vars(module).values()
        if isinstance(value, types.ModuleType) and value.__name__.startswith("seatrial.")
    }
    assert {name for name in borrowed if not name.startswith("seatrial.core")} == set()


@pytest.mark.parametrize(
    ("is_cordoned", "is_ready", "is_unavailable"),
    [(False, True, False), (True, True, True), (False, False, True), (True, False, True)],
)
def test_a_node_is_unavailable_when_cordoned_or_not_ready(
    is_cordoned: bool, is_ready: bool, is_unavailable: bool
) -> None:
    assert a_node(is_cordoned=is_cordoned, is_ready=is_ready).facts.is_unavailable is is_unavailable


def test_a_node_is_in_sync_when_its_driver_is_of_the_wanted_revision() -> None:
    nodes = [
        a_node(driver=a_new_driver(), wanted=NEW),
        a_node(driver=a_new_driver(), wanted=OLD),
        a_node(driver=a_new_driver(), wanted=None),
        a_node(driver=None, wanted=NEW),
    ]
    assert [node.facts.is_in_sync for node in nodes] == [True, False, False, False]


@pytest.mark.parametrize(("is_on", "mode"), [(True, Mode.DELEGATED), (False, Mode.DIRECT)])
def test_the_mode_is_what_the_cluster_itself_has(is_on: bool, mode: Mode) -> None:
    assert OperatorFacts(kind="ClusterPolicy/gpu", is_auto_upgrading=is_on).mode is mode


def test_the_gpu_pods_of_a_node_are_those_that_hold_one() -> None:
    assert a_node(pods=(a_pod(), a_gpu_pod(1))).facts.gpu_pods == (a_gpu_pod(1),)


def test_a_pod_is_named_with_its_namespace() -> None:
    assert a_gpu_pod().full_name == "jobs/train-0"


@pytest.mark.parametrize(
    ("ready_since", "started_at", "loaded_at"),
    [(None, None, None), (None, 150.0, None), (200.0, None, 200.0), (200.0, 150.0, 200.0), (200.0, 400.0, 400.0)],
)
def test_a_driver_is_loaded_since_it_is_ready_and_anew_when_its_container_restarts(
    ready_since: float | None, started_at: float | None, loaded_at: float | None
) -> None:
    assert a_driver(ready_since=ready_since, started_at=started_at).loaded_at == loaded_at


@pytest.mark.parametrize(
    ("driver", "digest", "is_enough"),
    [
        (a_driver(digest="d1"), "d1", True),
        (a_driver(digest="d1"), "d2", False),
        (a_driver(digest=""), "", False),
        (a_driver(digest="d1", is_orphaned=True), "d1", False),
        (None, "d1", False),
    ],
)
def test_a_restart_is_enough_when_nothing_that_is_loaded_differs(
    driver: DriverPod | None, digest: str, is_enough: bool
) -> None:
    wanted = DriverRevision(hash="new", version=NEW.version, digest=digest)
    assert a_node(driver=driver, wanted=wanted).facts.is_restart_enough is is_enough


@pytest.mark.parametrize(
    ("facts", "running", "standing"),
    [
        ({"driver": a_driver()}, OLD.version, OLD.version),
        ({"driver": a_driver(version="")}, "", "unknown version"),
        ({"driver": a_driver(version=""), "loaded": Loaded(version="550.1", seen_at=100.0)}, "550.1", "550.1"),
        ({"driver": a_driver(), "loaded": Loaded(version="550.1", seen_at=100.0)}, "550.1", "550.1"),
        ({"driver": a_driver(), "loaded": Loaded(version="550.1", seen_at=99.0)}, OLD.version, OLD.version),
        ({"driver": a_driver(), "loaded": Loaded(version="550.1")}, OLD.version, OLD.version),
        ({"driver": None, "loaded": Loaded(version="550.1")}, "", "no driver pod"),
        ({"driver": a_starting_driver()}, "", f"{NEW.version} not running (starting)"),
        ({"driver": a_starting_driver(), "is_ready": False}, "", f"{NEW.version} not running (node not Ready)"),
        (
            {"driver": a_starting_driver(trouble="ImagePullBackOff"), "loaded": Loaded(version="550.1", seen_at=900.0)},
            "",
            f"{NEW.version} not running (ImagePullBackOff)",
        ),
    ],
)
def test_a_driver_runs_where_its_pod_is_ready_in_the_version_that_was_seen_loaded_since(
    facts: dict[str, Any], running: str, standing: str
) -> None:
    found = a_node(**facts).facts
    assert (found.running_driver, found.driver_standing) == (running, standing)


def test_a_restart_is_not_enough_for_a_revision_nobody_knows() -> None:
    assert not a_node(driver=a_driver(digest="d1"), wanted=None).facts.is_restart_enough


@pytest.mark.parametrize(("requestor", "is_wanted"), [("maker", True), ("guest", True), ("stranger", False)])
def test_a_maintenance_is_wanted_by_who_made_it_and_who_joined_it(requestor: str, is_wanted: bool) -> None:
    found = Maintenance(
        namespace="default", name="m", uid="u", resource_version="1", requestor="maker", others=("guest",)
    )
    assert found.is_wanted_by(requestor) is is_wanted
