"""What a rollout is to bring: versions of components, one each.

Law of this file: a target says what, and neither who moves it nor how; a driver is one component among others. Whoever
moves one component asks for that one, so that another component is another pair and no other field.

    580.105.08                              as text: a driver alone
    580.105.08, container_toolkit v1.18.1   and what is published with it
    580.105.08, gpu_operator v25.10.0 by hand   and what people move, while the driver stays
    mofed 25.04-0.6.0.0                     what a resource carries that says nothing of a driver

Tests: tests/core/model/test_target.py
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Self, cast

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.compat import versions
from seatrial.core.compat.matrix import OPERANDS, SCHEMES, Component
from seatrial.core.compat.versions import DriverVersion, Version

PUBLISHED: Final = (
    Component.GPU_OPERATOR,
    Component.NETWORK_OPERATOR,
    *OPERANDS,
    Component.MOFED,
    Component.DRA_DRIVER,
)
"""What a rollout can move beside the driver, by publishing it: the whole release of an operator, operands of the GPU
Operator, the network driver, which the other one brings, or a release of the DRA driver's own chart."""
_BY_HAND: Final = " by hand"


@dataclass(frozen=True, slots=True)
class Target:
    """The wanted versions; the driver first, since every rollout says which one its nodes run at its end."""

    wanted: tuple[tuple[Component, Version], ...]
    is_by_hand: bool = False
    """Whether people move what is named beside the driver, so that nothing of it is published."""
    published: str = field(init=False, repr=False, compare=False)
    """What is published, as text: the driver, and what moves with it. Not what people move by hand."""

    def __post_init__(self) -> None:
        # Once: a decision asks for it several times for every node.
        beside = ((each, self.version_of(each)) for each in self.components)
        object.__setattr__(self, "published", text_of(str(self.driver), beside))

    @classmethod
    def of(cls, driver: str | DriverVersion, *others: tuple[Component, str]) -> Self:
        """A driver, and what goes with it."""
        first = driver if isinstance(driver, DriverVersion) else DriverVersion.parse(driver)
        rest = ((component, versions.parse(SCHEMES[component], text)) for component, text in others)
        return cls(((Component.GPU_DRIVER, first), *rest))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The target that a text says, as `str` writes it."""
        bare = text.removesuffix(_BY_HAND)
        driver, others = parts_of(bare)
        read = cls.of(driver, *((Component(name), version) for name, version in others))
        return replace(read, is_by_hand=bare != text)

    @property
    def driver(self) -> DriverVersion:
        return cast("DriverVersion", self.wanted[0][1])

    @property
    def components(self) -> tuple[Component, ...]:
        """What is published beside the driver."""
        return () if self.is_by_hand else tuple(each for each, _ in self.wanted if each in PUBLISHED)

    def version_of(self, component: Component) -> str:
        """The version of a component; empty where the rollout says nothing of it."""
        return next((str(version) for each, version in self.wanted if each is component), "")

    def __str__(self) -> str:
        said = text_of(str(self.driver), ((each, str(version)) for each, version in self.wanted[1:]))
        return f"{said}{_BY_HAND}" if self.is_by_hand else said


def text_of(driver: str, others: Iterable[tuple[Component, str]] = ()) -> str:
    """A driver, and what goes with it, as a target is written."""
    named = (f"{component.value} {version}" for component, version in others)
    return ", ".join([*([driver] if driver else []), *named])


@lru_cache(maxsize=256)
def parts_of(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What such a text says: the driver, empty where it names none, and the versions of others by their key."""
    driver, *others = text.split(", ")
    if " " in driver:
        driver, others = "", [driver, *others]
    pairs = (each.partition(" ") for each in others)
    return driver, tuple((name, version) for name, _, version in pairs)
