"""The bundles between what runs and what is wanted, taken from the knowledge base, and what a target leaves unsaid.

    gpu        each release of the lines between, with a driver it lists and its own operands
    network    each release of the lines between, with the MOFED it ships or, where it lists that too, the one that runs
    platform   each minor between; z-stream and exact kernel build are nobody's fact, so they stay open ("4.17.z")
    firmware   what was bundled with each MOFED on the way, where what runs could not stay
    sriov      the build cut for each minor on the way

A bundle that is nowhere better than its neighbour of the same release line is left out (`_without_dominated`): the
search would only try both.

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Final, TypeAlias, TypeVar

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.compat.facts import Facts, GpuOperatorRelease, NetworkOperatorRelease
from seatrial.core.compat.matrix import GROUPS, Component, Group, Hardware, Stack, Value
from seatrial.core.compat.plan import drivers
from seatrial.core.compat.plan.rulebook import Rulebook
from seatrial.core.compat.plan.space import Bundle, Road, Space
from seatrial.core.compat.versions import (
    DriverVersion,
    FirmwareVersion,
    KernelVersion,
    KubernetesVersion,
    LinedVersion,
    OfedVersion,
    OpenShiftVersion,
    OperatorVersion,
    Version,
)

OPEN_PATCH: Final = 999
"""Stands for a z-stream still to be chosen: newer than every real one, equal to none."""

OFFERS_MAX: Final = 4
"""How many of the drivers a release lists are looked at; some list twenty, and the rest are much the same."""

_OPERANDS: Final = (
    Component.DEVICE_PLUGIN,
    Component.CONTAINER_TOOLKIT,
    Component.DCGM,
    Component.NFD,
    Component.GDS,
    Component.GDRCOPY,
)
_FIRMWARE: Final = (
    Component.FIRMWARE_CX7,
    Component.FIRMWARE_CX6,
    Component.FIRMWARE_CX8,
    Component.FIRMWARE_BF3,
)
_CARRIED: Final = (Component.VGPU, Component.DRA_DRIVER)
"""Of the GPUs, what no release brings: as it was until the last step."""
_SYSTEM: Final = (Component.OS, Component.CONTAINERD, Component.CRI_O)
"""Of the platform, likewise."""

_OS_SUFFIX: Final = re.compile(r"-(ubuntu|ubi|distroless|rhel|centos)[0-9.]*$")
"""Names the system an image is built on; a matrix leaves it out."""

_Release = TypeVar("_Release", GpuOperatorRelease, NetworkOperatorRelease)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What is wanted, with everything that follows from it filled in; `notes` says what was filled in, and why."""

    stack: Stack
    notes: tuple[str, ...]


def complete(running: Stack, wanted: Stack, facts: Facts) -> Completed:
    """Fill in what the target does not name: it stays as it runs, unless it belongs to something that moves."""
    values = dict(wanted.values)
    notes: list[str] = []
    for part, value in running.values.items():
        if part in values:
            continue
        filled = _following(part, running, wanted, facts)
        if filled is None:
            values[part] = value
        elif filled.version is None:
            notes.append(f"{part.value} is not named by the target, and nothing says what it will be: {filled.text}")
        else:
            values[part] = filled
            notes.append(f"{part.value} is not named by the target; {filled.text} follows from the rest of it")
    return Completed(stack=replace(wanted, values=values, hardware=hardware_of(running, wanted)), notes=tuple(notes))


def hardware_of(running: Stack, wanted: Stack) -> Hardware:
    """The hardware a plan is for: no upgrade changes it, so what runs decides, where it is described."""
    here = running.hardware
    return here if any((here.arch, here.product, here.kernel_module, here.rdma, here.others)) else wanted.hardware


def make_space(running: Stack, target: Stack, facts: Facts, on: date, book: Rulebook) -> Space:
    """Every bundle the groups may hold on the way."""
    return _Builder(running=running, target=target, facts=facts, on=on, book=book).space()


def open_stream(facts: Facts, minor: str, like: KernelVersion) -> Value | None:
    """The kernel of an OpenShift minor, exact to its stream."""
    release = facts.openshift(minor)
    if release is None:
        return None
    text = f"{release.kernel_stream}.{release.kernel_dist}.{like.arch or 'x86_64'}"
    return Value.read(Component.KERNEL, f"{text}+{like.flavour}" if like.flavour else text)


def is_open(value: Value) -> bool:
    """Whether a z-stream or a kernel build is still to be chosen."""
    match value.version:
        case KernelVersion(release=release, z=z):
            return release is not None and not z
        case OpenShiftVersion(patch=patch) | KubernetesVersion(patch=patch):
            return patch == OPEN_PATCH
        case _:
            return False


# ── what follows ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _following(part: Component, running: Stack, wanted: Stack, facts: Facts) -> Value | None:
    """What a component becomes that the target does not name; None where it stays as it is."""
    if part in (*_OPERANDS, Component.GPU_DRIVER):
        return _of_gpu_operator(part, running, wanted, facts)
    if part is Component.FABRIC_MANAGER:
        driver = wanted[Component.GPU_DRIVER] or _of_gpu_operator(Component.GPU_DRIVER, running, wanted, facts)
        return Value.read(part, driver.text) if driver is not None else None
    if part is Component.MOFED:
        release = _known(facts.network_operators, _moved(Component.NETWORK_OPERATOR, running, wanted))
        return _value(part, release.ofeds[0]) if release is not None and release.ofeds else None
    platform = _moved(Component.OPENSHIFT, running, wanted)
    if not isinstance(platform, OpenShiftVersion):
        return None
    if part is Component.SRIOV_OPERATOR:
        return _sriov(facts, platform.line) if _line(running[Component.OPENSHIFT]) != platform.line else None
    kernel = running[Component.KERNEL]
    if part is Component.KERNEL and kernel is not None and isinstance(kernel.version, KernelVersion):
        return open_stream(facts, platform.line, kernel.version) or Value(
            component=part, text=f"the kernel of OpenShift {platform} is not in the knowledge base"
        )
    return None


def _of_gpu_operator(part: Component, running: Stack, wanted: Stack, facts: Facts) -> Value | None:
    release = _known(facts.gpu_operators, _moved(Component.GPU_OPERATOR, running, wanted))
    if release is None:
        return None
    if part is not Component.GPU_DRIVER:
        operand = release.operands.get(part)
        return None if operand is None else _value(part, operand)
    here = running[part]
    is_listed = here is not None and here.version in (*release.drivers, release.driver)
    return None if is_listed or release.driver is None else _value(part, release.driver)


def _moved(leader: Component, running: Stack, wanted: Stack) -> Version | None:
    """The version a leading component moves to; None where it stays."""
    here, there = running[leader], wanted[leader]
    if there is None or there.version is None or (here is not None and here.version == there.version):
        return None
    return there.version


# ── the bundles between ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Builder:
    running: Stack
    target: Stack
    facts: Facts
    on: date
    book: Rulebook
    _kept: dict[tuple[Component, object], Value] = field(default_factory=dict)
    """One object per version, as the rulebook's memory needs it; what runs is met first, then the target."""

    def space(self) -> Space:
        ends = {group: (self._part(self.running, group), self._part(self.target, group)) for group in Group}
        between: dict[Group, tuple[Bundle, ...]] = {
            Group.PLATFORM: tuple(self._platforms(*ends[Group.PLATFORM])),
            Group.NETWORK: tuple(self._networks(*ends[Group.NETWORK])),
        }
        every = {group: (*ends[group], *between.get(group, ())) for group in Group}
        between[Group.GPU] = tuple(self._gpus(*ends[Group.GPU], beside=every[Group.PLATFORM]))
        between[Group.NETWORK] = self._without_dominated(
            Component.NETWORK_OPERATOR,
            between[Group.NETWORK],
            (*every[Group.PLATFORM], *ends[Group.FIRMWARE]),
        )
        networks = (*ends[Group.NETWORK], *between[Group.NETWORK])
        between[Group.FIRMWARE] = tuple(self._firmwares(ends[Group.FIRMWARE][0], networks))
        between[Group.SRIOV] = tuple(self._sriovs(*ends[Group.SRIOV], every[Group.PLATFORM]))
        roads = tuple(
            _road(group, *ends[group], between.get(group, ()))
            for group in Group
            if any(end.values for end in ends[group])
        )
        return Space(roads=roads, hardware=self.book.hardware)

    def _part(self, stack: Stack, group: Group) -> Bundle:
        return self._bundle(value for part, value in stack.values.items() if GROUPS[part] is group)

    def _bundle(self, values: Iterable[Value | None], dislike: int = 0) -> Bundle:
        kept = [
            self._kept.setdefault((value.component, value.version or value.text), value)
            for value in values
            if value is not None
        ]
        return Bundle(values={value.component: value for value in kept}, dislike=dislike)

    # ── platform ──

    def _platforms(self, start: Bundle, goal: Bundle) -> Iterator[Bundle]:
        for leader in (Component.OPENSHIFT, Component.KUBERNETES):
            here, there = _semantic(start, leader), _semantic(goal, leader)
            if here is None or there is None or here.major != there.major:
                continue
            low, high = sorted((here.minor, there.minor))
            for minor in range(low + 1, high):
                version = replace(there, text=f"{_v(there)}{there.major}.{minor}.z", minor=minor, patch=OPEN_PATCH)
                yield self._platform(start, Value(component=leader, text=version.text, version=version))

    def _platform(self, start: Bundle, leader: Value) -> Bundle:
        kernel = start.values.get(Component.KERNEL)
        stream = None
        if (
            kernel is not None
            and isinstance(kernel.version, KernelVersion)
            and isinstance(leader.version, LinedVersion)
        ):
            is_openshift = leader.component is Component.OPENSHIFT
            stream = open_stream(self.facts, leader.version.line, kernel.version) if is_openshift else kernel
        return self._bundle((leader, stream, *(start.values.get(part) for part in _SYSTEM)))

    # ── GPU ──

    def _gpus(self, start: Bundle, goal: Bundle, beside: Sequence[Bundle]) -> Iterator[Bundle]:
        """Releases that differ in where they run, each with the drivers worth loading under it."""
        lone = [
            self._bundle(
                (_value(Component.GPU_OPERATOR, release.version), *self._operands(release, start, goal)), dislike
            )
            for dislike, release in self._between(Component.GPU_OPERATOR, self.facts.gpu_operators, start, goal)
        ]
        kept = self._without_dominated(Component.GPU_OPERATOR, lone, beside)
        releases = [release for bundle in kept if (release := self._release(bundle)) is not None]
        ends = [end.values.get(Component.GPU_DRIVER) for end in (start, goal)]
        left = [release for release in releases if release.line != _line(start.values.get(Component.GPU_OPERATOR))]
        lasting = drivers.lasting(left, [value.version for value in ends if value is not None])
        for bundle in kept:
            release = self._release(bundle)
            if release is not None:
                yield from self._loaded(bundle, self._drivers(release, lasting, ends), start, goal)

    def _release(self, bundle: Bundle) -> GpuOperatorRelease | None:
        return _known(self.facts.gpu_operators, bundle.values[Component.GPU_OPERATOR].version)

    def _drivers(
        self, release: GpuOperatorRelease, lasting: Mapping[str, DriverVersion], ends: Sequence[Value | None]
    ) -> list[Value | None]:
        """What may be loaded under a release: what is there or wanted, then what it lists, the best first."""
        if ends[0] is None:
            return [None]  # nobody says which driver runs, so nobody says which runs in between
        there = dict.fromkeys(value for value in ends if value is not None)
        favourites = [
            version
            for version in (lasting.get(release.line), release.driver)
            if version is not None and drivers.is_listed(release, version)
        ]
        offers = list(dict.fromkeys([*favourites, *sorted(release.drivers, reverse=True)]))[:OFFERS_MAX]
        return [*there, *(_value(Component.GPU_DRIVER, version) for version in offers)]

    def _loaded(self, bundle: Bundle, offers: Sequence[Value | None], start: Bundle, goal: Bundle) -> Iterator[Bundle]:
        """The release with the least doubtful drivers: those that are there or wanted, else the first of them."""
        ends = [end.values.get(Component.GPU_DRIVER) for end in (start, goal)]
        cudas = list(dict.fromkeys(end.values.get(Component.CUDA) for end in (start, goal)))
        found: list[tuple[tuple[bool, int, int], Bundle]] = []
        for choice, driver in enumerate(offers):
            fulls = [
                self._bundle(
                    (*bundle.values.values(), driver, cuda, self._manager(start, driver), *self._carried(start)),
                    8 * bundle.dislike + choice,
                )
                for cuda in cudas
            ]
            marks = [self._mark(full.values) for full in fulls]
            # Workloads stay as they are as long as they can.
            passing = next((number for number, (is_failing, *_) in enumerate(marks) if not is_failing), 0)
            found.append((marks[passing], fulls[passing]))
        least = min(mark for mark, _ in found)
        best = [full for mark, full in found if mark == least]  # failing, if all fail: a refusal must see what fails
        yield from [full for full in best if full.values.get(Component.GPU_DRIVER) in ends] or best[:1]

    def _manager(self, start: Bundle, driver: Value | None) -> Value | None:
        """Fabric Manager follows the driver, where there is one."""
        here = start.values.get(Component.FABRIC_MANAGER)
        return here if here is None or driver is None else Value.read(Component.FABRIC_MANAGER, driver.text)

    def _carried(self, start: Bundle) -> list[Value | None]:
        return [start.values.get(part) for part in _CARRIED]

    def _operands(self, release: GpuOperatorRelease, start: Bundle, goal: Bundle) -> list[Value | None]:
        return [self._operand(release, part, start, goal) for part in _OPERANDS if part in start.values]

    def _operand(self, release: GpuOperatorRelease, part: Component, start: Bundle, goal: Bundle) -> Value | None:
        own = release.operands.get(part)
        if own is not None:
            return _value(part, own)
        return goal.values.get(part) or start.values.get(part)

    # ── network ──

    def _networks(self, start: Bundle, goal: Bundle) -> Iterator[Bundle]:
        ends = [end.values.get(Component.MOFED) for end in (start, goal)]
        for dislike, release in self._between(Component.NETWORK_OPERATOR, self.facts.network_operators, start, goal):
            operator = _value(Component.NETWORK_OPERATOR, release.version)
            own = [_value(Component.MOFED, ofed) for ofed in release.ofeds[:1]]
            also = [value for value in ends if value is not None and value.version in release.ofeds[1:]]
            for choice, mofed in enumerate((own + also) or ends[:1] if ends[0] is not None else [None]):
                yield self._bundle((operator, mofed), 2 * dislike + choice)

    def _between(
        self, leader: Component, releases: Mapping[OperatorVersion, _Release], start: Bundle, goal: Bundle
    ) -> Iterator[tuple[int, _Release]]:
        """The releases from one end to the other, each with how many newer ones its line has."""
        ends = [end.values.get(leader) for end in (start, goal)]
        versions = [value.version for value in ends if value is not None]
        if len(versions) < 2 or not all(isinstance(version, OperatorVersion) for version in versions):
            return
        low, high = sorted(version for version in versions if isinstance(version, OperatorVersion))
        met: dict[str, int] = {}
        for version in sorted(releases, reverse=True):
            release = releases[version]
            is_out = release.released is None or release.released <= self.on
            if low <= version <= high and version.pre_release is None and is_out:
                yield met.setdefault(version.line, 0), release
                met[version.line] += 1

    # ── firmware and SR-IOV ──

    def _firmwares(self, start: Bundle, networks: Sequence[Bundle]) -> Iterator[Bundle]:
        """What was bundled with each MOFED; needed only where the firmware that runs cannot stay until the end."""
        if not any(self.book.on_stack({**network.values, **start.values}).failing for network in networks):
            return
        for network in networks:
            mofed = network.values.get(Component.MOFED)
            if mofed is None or not isinstance(mofed.version, OfedVersion):
                continue
            values = [self._firmware(start.values.get(part), mofed.version) for part in _FIRMWARE]
            if any(value is not None for value in values):
                yield self._bundle(values)

    def _firmware(self, here: Value | None, mofed: OfedVersion) -> Value | None:
        if here is None or not isinstance(here.version, FirmwareVersion):
            return here
        pair = self.facts.firmware_pair(mofed, here.version.family_name)
        return here if pair is None else _value(here.component, pair.firmware[here.version.family_name])

    def _sriovs(self, start: Bundle, goal: Bundle, platforms: Sequence[Bundle]) -> Iterator[Bundle]:
        if not start.values or not goal.values:
            return
        for platform in platforms:
            value = platform.values.get(Component.OPENSHIFT)
            if value is not None and isinstance(value.version, OpenShiftVersion):
                yield self._bundle((_sriov(self.facts, value.version.line),))

    # ── choosing ──

    def _without_dominated(
        self, leader: Component, bundles: Sequence[Bundle], beside: Sequence[Bundle]
    ) -> tuple[Bundle, ...]:
        """The bundles that are better than their neighbours somewhere.

        Neighbours have the same release line; one is dominated by another that is liked as much and judged as well
        beside every bundle given. What keeps the network driver that runs is better in that: nothing is reloaded.
        """
        kept: list[tuple[Bundle, _Marks]] = []
        for bundle in sorted(bundles, key=lambda each: each.dislike):
            marks = self._marks(bundle, beside)
            line = _line(bundle.values[leader])
            if not any(
                _line(other.values[leader]) == line
                and self._keeps_mofed(other) >= self._keeps_mofed(bundle)
                and _is_no_worse(theirs, marks)
                for other, theirs in kept
            ):
                kept.append((bundle, marks))
        return tuple(bundle for bundle, _ in kept)

    def _keeps_mofed(self, bundle: Bundle) -> bool:
        here, there = self.running[Component.MOFED], bundle.values.get(Component.MOFED)
        return here is not None and there is not None and here.version == there.version

    def _marks(self, bundle: Bundle, beside: Sequence[Bundle]) -> _Marks:
        return tuple(self._mark({**other.values, **bundle.values}) for other in beside)

    def _mark(self, values: Mapping[Component, Value]) -> tuple[bool, int, int]:
        opinion = self.book.on_stack(values)
        return bool(opinion.failing), opinion.doubts.unknown_count, opinion.doubts.warn_count


_Marks: TypeAlias = tuple[tuple[bool, int, int], ...]


def _is_no_worse(one: _Marks, other: _Marks) -> bool:
    return all(a[0] <= b[0] and a[1] <= b[1] and a[2] <= b[2] for a, b in zip(one, other, strict=True))


def _road(group: Group, start: Bundle, goal: Bundle, between: Iterable[Bundle]) -> Road:
    bundles: list[Bundle] = [start]
    for bundle in (goal, *between):
        if bundle.values and not any(bundle.values == other.values for other in bundles):
            bundles.append(bundle)
    found = next((place for place, bundle in enumerate(bundles) if bundle.values == goal.values), 0)
    return Road(group=group, bundles=tuple(bundles), start=0, goal=found)


def _value(part: Component, version: Version) -> Value:
    text = _OS_SUFFIX.sub("", version.text) if part in _OPERANDS else version.text
    return Value(component=part, text=text, version=version)


def _sriov(facts: Facts, minor: str) -> Value | None:
    release = facts.openshift(minor)
    if release is None or release.sriov is None:
        return None
    return Value.read(Component.SRIOV_OPERATOR, f"{release.sriov}.0")


def _known(releases: Mapping[OperatorVersion, _Release], version: Version | None) -> _Release | None:
    return releases.get(version) if isinstance(version, OperatorVersion) else None


def _line(value: Value | None) -> str:
    return value.version.line if value is not None and isinstance(value.version, LinedVersion) else ""


def _semantic(bundle: Bundle, leader: Component) -> OpenShiftVersion | KubernetesVersion | None:
    value = bundle.values.get(leader)
    version = None if value is None else value.version
    return version if isinstance(version, OpenShiftVersion | KubernetesVersion) else None


def _v(version: Version) -> str:
    return "v" if version.text.startswith("v") else ""
