"""What every engine that brings a repository into the cluster does, the stand-in as well as the real ones.

A module of tests makes a class of its own from this one, with a fixture `open_engine`: given a yard and whether it
heals, it returns an engine that is not opened yet. Real engines look rarely, so what waits for a commit pokes them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from seatrial_lab.testbed.neighbours import engines
from seatrial_lab.testbed.neighbours.engines import Engine
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.gitops import yard as yards
from tests.gitops.yard import Yard

OpenEngine: TypeAlias = Callable[..., Engine]

YARDS = itertools.count(1)

BROKEN = """apiVersion: v1
kind: ConfigMap
metadata:
  name: Not A Name
  namespace: {namespace}
"""


class Contract:
    """The stories. Each has a repository and a namespace of its own."""

    @pytest.fixture
    def yard(self, plane: ControlPlane, tmp_path: Path) -> Iterator[Yard]:
        """A repository that says red."""
        with yards.opened(plane, tmp_path, f"yard-{next(YARDS)}") as made:
            yield made

    def test_a_commit_reaches_the_cluster(self, yard: Yard, open_engine: OpenEngine) -> None:
        with open_engine(yard) as engine:
            assert yard.colour() == "red", "the first commit is there when the engine is opened"
            commit = yard.paint("green")
            engine.poke()
            engines.wait_applied(engine, commit)
            assert yard.colour() == "green"
            assert engine.applied[-1] == commit
            assert not engine.trouble

    def test_a_revert_reaches_the_cluster(self, yard: Yard, open_engine: OpenEngine) -> None:
        with open_engine(yard) as engine:
            engines.wait_applied(engine, _told(engine, yard.paint("green")))
            engines.wait_applied(engine, _told(engine, yard.revert()))
            assert yard.colour() == "red"

    def test_one_that_heals_undoes_a_direct_write(self, yard: Yard, open_engine: OpenEngine) -> None:
        with open_engine(yard, is_healing=True) as engine:
            assert engine.is_healing
            yard.write("blue")
            yard.wait_colour("red")

    def test_one_that_does_not_heal_leaves_a_direct_write_until_the_next_commit(
        self, yard: Yard, open_engine: OpenEngine
    ) -> None:
        with open_engine(yard) as engine:
            assert not engine.is_healing
            yard.write("blue")
            engine.poke()
            assert yard.colour() == "blue"
            engines.wait_applied(engine, _told(engine, yard.paint("green")))
            assert yard.colour() == "green"

    def test_one_that_is_suspended_applies_nothing_until_it_is_resumed(
        self, yard: Yard, open_engine: OpenEngine
    ) -> None:
        with open_engine(yard) as engine:
            engine.suspend()
            commit = _told(engine, yard.paint("green"))
            assert commit not in engine.applied
            assert yard.colour() == "red"
            engine.resume()
            engine.poke()
            engines.wait_applied(engine, commit)
            assert yard.colour() == "green"

    def test_a_broken_manifest_is_said_and_a_good_commit_after_it_recovers(
        self, yard: Yard, open_engine: OpenEngine
    ) -> None:
        with open_engine(yard) as engine:
            broken = yard.push("Break it", BROKEN.format(namespace=yard.namespace))
            engine.poke()
            assert engines.wait_trouble(engine)
            assert broken not in engine.applied
            engines.wait_applied(engine, _told(engine, yard.paint("green")))
            assert yard.colour() == "green"
            assert not engine.trouble


def _told(engine: Engine, commit: str) -> str:
    engine.poke()
    return commit
