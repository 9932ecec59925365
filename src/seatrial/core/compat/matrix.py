"""The version matrix as values: what runs, what is tried, what comes next, what to go back to. Files are elsewhere.

    Matrix ── Entry (production | canary | planned | rollback) ── Stack ── Value (component, text, version, Span)

Every value remembers where it was written, so that a finding can point at it. A value that cannot be read is kept, with
what is wrong about it: a rule that needs it fails there, and nowhere else. What may happen to a matrix is in moves.py,
what is odd about one in coherence.py.

Tests: tests/core/compat/test_matrix.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.compat import versions
from seatrial.core.compat.versions import Scheme, Version


class Component(StrEnum):
    """The components of a stack, by the key a matrix uses for them."""

    __hash__ = str.__hash__  # an Enum's own is Python code, and a plan looks things up by it a million times

    OPENSHIFT = "openshift"
    KUBERNETES = "kubernetes"
    KERNEL = "kernel"
    OS = "os"
    CONTAINERD = "containerd"
    CRI_O = "cri_o"
    GPU_OPERATOR = "gpu_operator"
    GPU_DRIVER = "gpu_driver"
    CUDA = "cuda"
    DEVICE_PLUGIN = "device_plugin"
    CONTAINER_TOOLKIT = "container_toolkit"
    DCGM = "dcgm"
    MIG_MANAGER = "mig_manager"
    GFD = "gfd"
    VALIDATOR = "validator"
    NFD = "nfd"
    GDS = "gds"
    GDRCOPY = "gdrcopy"
    VGPU = "vgpu"
    FABRIC_MANAGER = "fabric_manager"
    DRA_DRIVER = "dra_driver"
    NETWORK_OPERATOR = "network_operator"
    MOFED = "mofed"
    FIRMWARE_CX7 = "firmware_cx7"
    FIRMWARE_CX6 = "firmware_cx6"
    FIRMWARE_CX8 = "firmware_cx8"
    FIRMWARE_BF3 = "firmware_bf3"
    SRIOV_OPERATOR = "sriov_operator"
    NCCL = "nccl"
    CUDA_COMPAT = "cuda_compat"


COMPONENTS: Final = tuple(Component)
"""The same, to walk over: iterating an Enum costs more than what is done with its members."""

ALIASES: Final[Mapping[str, Component]] = {
    "driver": Component.GPU_DRIVER,
    "firmware": Component.FIRMWARE_CX7,
    "sriov": Component.SRIOV_OPERATOR,
}

SCHEMES: Final[Mapping[Component, Scheme]] = {
    Component.OPENSHIFT: Scheme.OPENSHIFT,
    Component.KUBERNETES: Scheme.KUBERNETES,
    Component.KERNEL: Scheme.KERNEL,
    Component.OS: Scheme.SYSTEM,
    Component.CONTAINERD: Scheme.PART,
    Component.CRI_O: Scheme.PART,
    Component.GPU_OPERATOR: Scheme.OPERATOR,
    Component.GPU_DRIVER: Scheme.DRIVER,
    Component.CUDA: Scheme.CUDA,
    Component.DEVICE_PLUGIN: Scheme.OPERAND,
    Component.CONTAINER_TOOLKIT: Scheme.OPERAND,
    Component.DCGM: Scheme.DCGM_EXPORTER,
    Component.MIG_MANAGER: Scheme.PART,
    Component.GFD: Scheme.PART,
    Component.VALIDATOR: Scheme.PART,
    Component.NFD: Scheme.PART,
    Component.GDS: Scheme.PART,
    Component.GDRCOPY: Scheme.PART,
    Component.VGPU: Scheme.PART,
    Component.FABRIC_MANAGER: Scheme.DRIVER,
    Component.DRA_DRIVER: Scheme.DRA_DRIVER,
    Component.NETWORK_OPERATOR: Scheme.OPERATOR,
    Component.MOFED: Scheme.OFED,
    Component.FIRMWARE_CX7: Scheme.FIRMWARE,
    Component.FIRMWARE_CX6: Scheme.FIRMWARE,
    Component.FIRMWARE_CX8: Scheme.FIRMWARE,
    Component.FIRMWARE_BF3: Scheme.FIRMWARE,
    Component.SRIOV_OPERATOR: Scheme.SRIOV_OPERATOR,
    Component.NCCL: Scheme.NCCL,
    Component.CUDA_COMPAT: Scheme.CUDA,
}


class Group(StrEnum):
    """Components that move together; one change touches one group."""

    __hash__ = str.__hash__  # an Enum's own is Python code, and a plan looks things up by it a million times

    PLATFORM = "platform"
    GPU = "gpu"
    NETWORK = "network"
    FIRMWARE = "firmware"
    SRIOV = "sriov"
    WORKLOAD = "workload"


OPERANDS: Final = (
    Component.CONTAINER_TOOLKIT,
    Component.DEVICE_PLUGIN,
    Component.DCGM,
    Component.MIG_MANAGER,
    Component.GFD,
    Component.VALIDATOR,
)
"""What the GPU Operator runs around the driver and takes a version of by itself, so that it moves without a release."""

GROUPS: Final[Mapping[Component, Group]] = {
    Component.OPENSHIFT: Group.PLATFORM,
    Component.KUBERNETES: Group.PLATFORM,
    Component.KERNEL: Group.PLATFORM,
    Component.OS: Group.PLATFORM,
    Component.CONTAINERD: Group.PLATFORM,
    Component.CRI_O: Group.PLATFORM,
    Component.GPU_OPERATOR: Group.GPU,
    Component.GPU_DRIVER: Group.GPU,
    Component.CUDA: Group.GPU,
    Component.DEVICE_PLUGIN: Group.GPU,
    Component.CONTAINER_TOOLKIT: Group.GPU,
    Component.DCGM: Group.GPU,
    Component.MIG_MANAGER: Group.GPU,
    Component.GFD: Group.GPU,
    Component.VALIDATOR: Group.GPU,
    Component.NFD: Group.GPU,
    Component.GDS: Group.GPU,
    Component.GDRCOPY: Group.GPU,
    Component.VGPU: Group.GPU,
    Component.FABRIC_MANAGER: Group.GPU,
    Component.DRA_DRIVER: Group.GPU,
    Component.NETWORK_OPERATOR: Group.NETWORK,
    Component.MOFED: Group.NETWORK,
    Component.FIRMWARE_CX7: Group.FIRMWARE,
    Component.FIRMWARE_CX6: Group.FIRMWARE,
    Component.FIRMWARE_CX8: Group.FIRMWARE,
    Component.FIRMWARE_BF3: Group.FIRMWARE,
    Component.SRIOV_OPERATOR: Group.SRIOV,
    Component.NCCL: Group.WORKLOAD,
    Component.CUDA_COMPAT: Group.WORKLOAD,
}


class Role(StrEnum):
    """What an entry of the matrix is for."""

    PRODUCTION = "production"
    CANARY = "canary"
    PLANNED = "planned"
    ROLLBACK = "rollback"


ROLE_KEYS: Final[Mapping[str, Role]] = {
    "current": Role.PRODUCTION,
    "current_production": Role.PRODUCTION,
    "production": Role.PRODUCTION,
    "canary": Role.CANARY,
    "canary_testing": Role.CANARY,
    "next": Role.PLANNED,
    "next_planned": Role.PLANNED,
    "planned": Role.PLANNED,
    "rollback": Role.ROLLBACK,
}
"""Every key under which a file may hold an entry."""


def role_of(key: str) -> Role | None:
    """The role a key of the file stands for."""
    return ROLE_KEYS.get(key)


def component_of(key: str) -> Component | None:
    """The component a key of an entry stands for."""
    return ALIASES.get(key) or (Component(key) if key in _COMPONENT_KEYS else None)


_COMPONENT_KEYS: Final = frozenset(Component)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Span:
    """Where something is written; lines and columns count from 1. A file of "" means: not from a file."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.file else "(not from a file)"


NOWHERE: Final = Span()


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One component's version as written; `version` is None when it cannot be read, and `problem` says why."""

    component: Component
    text: str
    version: Version | None = None
    problem: str = ""
    span: Span = NOWHERE

    @classmethod
    def read(cls, component: Component, text: str, span: Span = NOWHERE) -> Value:
        """Read a text by the component's scheme; never raises."""
        try:
            return cls(component=component, text=text, version=versions.parse(SCHEMES[component], text), span=span)
        except versions.VersionInvalid as err:
            return cls(component=component, text=text, problem=str(err), span=span)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What the nodes are made of; every field may be absent. Where nodes differ, this is one pool of several."""

    pool: str = ""
    arch: str = ""
    product: str = ""
    kernel_module: str = ""
    rdma: str = ""
    others: tuple[Hardware, ...] = ()
    """The other pools."""
    span: Span = NOWHERE

    @property
    def pools(self) -> tuple[Hardware, ...]:
        """Every pool by itself."""
        return (replace(self, others=()), *self.others) if self.others else (self,)

    @property
    def name(self) -> str:
        """What to call the pool."""
        return self.pool or self.product or self.arch


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """A warning or an unknown that somebody decided to live with."""

    rule: str
    reason: str
    until: date | None = None
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A set of component versions."""

    values: Mapping[Component, Value]
    hardware: Hardware = field(default_factory=Hardware)

    def __getitem__(self, component: Component) -> Value | None:
        return self.values.get(component)

    def differing(self, other: Stack) -> tuple[Component, ...]:
        """The components whose versions differ in meaning, in the order of Component."""
        return tuple(part for part in COMPONENTS if self.differs(other, part))

    def differs(self, other: Stack, part: Component) -> bool:
        """Whether this one component differs in meaning."""
        return _meaning(self[part]) != _meaning(other[part])

    @classmethod
    def of(cls, texts: Mapping[str, str], hardware: Hardware | None = None) -> Stack:
        """A stack from plain texts, for tests, facts and plans; keys may be aliases."""
        values = [Value.read(ALIASES.get(key) or Component(key), text) for key, text in texts.items()]
        return cls(values={value.component: value for value in values}, hardware=hardware or Hardware())


def _meaning(value: Value | None) -> object:
    return None if value is None else value.version or value.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One column of the matrix."""

    role: Role
    stack: Stack
    key: str = ""
    """The key as the file spells it (`current`, `current_production`, `canary`, …)."""
    status: str = ""
    deployed: str = ""
    """The day this set went out, as YYYY-MM-DD."""
    target_date: str = ""
    """The day it is meant to go out, as YYYY-MM-DD."""
    canary_node: str = ""
    notes: str = ""
    accept: tuple[Accept, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)
    """What else somebody keeps here: shown and kept, never judged."""
    bad: str = ""
    """Why this set was rejected; empty when it was not."""
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A rule that somebody wrote beside the entries, in words: shown, never judged."""

    name: str = ""
    rule: str = ""
    check: str = ""
    rationale: str = ""
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The whole file."""

    entries: Mapping[Role, Entry]
    notes: tuple[Note, ...] = ()
    file: str = ""


class Kind(StrEnum):
    """What happened to one component between two matrices."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One component of one role that two matrices do not agree about; each value knows its own place."""

    role: Role
    key: str
    """The entry's key as the file spells it, the later one where the two differ."""
    component: Component
    before: Value | None
    after: Value | None

    @property
    def kind(self) -> Kind:
        if self.before is None:
            return Kind.ADDED
        return Kind.REMOVED if self.after is None else Kind.CHANGED

    @property
    def spans(self) -> tuple[Span, ...]:
        """Where it is written, before and after."""
        return tuple(value.span for value in (self.before, self.after) if value is not None)

    def __str__(self) -> str:
        before, after = (value.text if value else "(none)" for value in (self.before, self.after))
        return f"{self.key}.{self.component.value} {before} → {after}"


def diff(before: Matrix, after: Matrix) -> tuple[Difference, ...]:
    """What differs in meaning, in the order of Role and Component; `v24.9.0` and `24.9.0` do not differ."""
    return tuple(
        Difference(
            role=role,
            key=_key_of(role, after, before),
            component=component,
            before=old[component],
            after=new[component],
        )
        for role in Role
        for old, new in [(_stack_of(before, role), _stack_of(after, role))]
        for component in old.differing(new)
    )


def _key_of(role: Role, *matrices: Matrix) -> str:
    keys = (matrix.entries[role].key for matrix in matrices if role in matrix.entries)
    return next(keys, "") or role.value


def _stack_of(matrix: Matrix, role: Role) -> Stack:
    entry = matrix.entries.get(role)
    return Stack(values={}) if entry is None else entry.stack


def groups_of(components: Iterable[Component]) -> tuple[Group, ...]:
    """The groups these components belong to, each once, in the order of Group."""
    touched = {GROUPS[component] for component in components}
    return tuple(group for group in Group if group in touched)
