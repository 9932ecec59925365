"""Rows that are tables of vendors' pages: who is listed, and, for a complete table, who therefore is not.

A table says for one line of an operator which Kubernetes distributions, GPUs or adapters it was validated with. What
such a table leaves out is not right by default: rules answer unknown there, or fail where the page says no.

Tests: tests/core/compat/test_rules_listed.py
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from seatrial.core.base.values import dataclass
from seatrial.core.compat.facts.rows import Cite, Lines
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import Line, OfedVersion, PartVersion, SystemVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The minors of one Kubernetes distribution with which a line of an operator was validated, on some systems."""

    operator: Component
    line: str
    name: str
    systems: tuple[SystemVersion, ...]
    """A system with a major alone stands for all its minors."""
    lines: Lines
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorLife:
    """One minor: until when who builds it maintains it, and until when at extra cost."""

    line: Line
    end_of_life: date
    extended_ends: date | None
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductList:
    """The GPUs and systems that the documents of a line of the GPU Operator list."""

    line: str
    names: tuple[str, ...]
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Products with an integrated GPU, which the GPU Operator does not support."""

    names: tuple[str, ...]
    with_discrete: tuple[str, ...]
    """Those that are supported all the same where a discrete GPU is the device in use."""
    said: str
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterList:
    """The network adapters with which a line of the Network Operator was validated."""

    line: str
    families: frozenset[str]
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSystems:
    """The operating systems with which a line of the Network Operator was validated on servers of one product."""

    line: str
    product: str
    systems: tuple[SystemVersion, ...]
    has_gpudirect: bool
    """Whether GPUDirect RDMA is part of it."""
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimePair:
    """The first release of each containerd line that is recommended for a minor of Kubernetes, newest line first."""

    kubernetes: Line
    firsts: tuple[PartVersion, ...]
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRange:
    """The releases of a part that a line of an operator works with, both ends included."""

    line: str
    oldest: PartVersion
    newest: PartVersion
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class OldestOfed:
    """The oldest network driver that the Network Operator supports, from one of its lines on."""

    since: Line
    version: OfedVersion
    cite: Cite


Lives = Mapping[str, Mapping[str, VendorLife]]
"""By who or what it is about, then by minor."""
