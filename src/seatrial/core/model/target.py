"""What a rollout is to bring: versions of components, one each.

Law of this file: a target says what, and neither who moves it nor how; a driver is one component among others. Whoever
moves one component asks for that one, so that another component is another pair and no other field.

    580.105.08                              as text: a driver alone
    580.105.08, firmware_cx7 28.43.2026     and what goes with it

Tests: tests/core/test_target.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, cast

from seatrial.core.compat import versions
from seatrial.core.compat.matrix import SCHEMES, Component
from seatrial.core.compat.versions import DriverVersion, Version


@dataclass(frozen=True, slots=True)
class Target:
    """The wanted versions; the driver first, since every rollout says which one its nodes run at its end."""

    wanted: tuple[tuple[Component, Version], ...]

    @classmethod
    def of(cls, driver: str | DriverVersion, *others: tuple[Component, str]) -> Self:
        """A driver, and what goes with it."""
        first = driver if isinstance(driver, DriverVersion) else DriverVersion.parse(driver)
        rest = ((component, versions.parse(SCHEMES[component], text)) for component, text in others)
        return cls(((Component.GPU_DRIVER, first), *rest))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The target that a text says, as `str` writes it."""
        driver, *others = text.split(", ")
        pairs = (each.partition(" ") for each in others)
        return cls.of(driver, *((Component(name), version) for name, _, version in pairs))

    @property
    def driver(self) -> DriverVersion:
        return cast("DriverVersion", self.wanted[0][1])

    def version_of(self, component: Component) -> str:
        """The version of a component; empty where the rollout says nothing of it."""
        return next((str(version) for each, version in self.wanted if each is component), "")

    def __str__(self) -> str:
        return ", ".join([str(self.driver), *(f"{each.value} {version}" for each, version in self.wanted[1:])])
