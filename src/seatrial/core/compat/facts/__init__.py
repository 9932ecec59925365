"""The knowledge base as values: rows with their sources, the questions one may ask, and how data becomes rows.

    rows.py       one value per kind of fact, each with its Cite; listed.py and known_bad.py have kinds of their own
    knowledge.py  Facts: the questions
    reading*.py   data → Facts: the order of the readers; operators, platform and drivers each by themselves
    spots.py      a place in the data: FactInvalid says the path of what is wrong
    sections.py   what a reader is, and the keys that none reads
    origins.py    whose facts they are
    ages.py       how old each source is
    bundles.py    files of facts that somebody publishes

Where the data comes from (package data, a user's file) is the business of adapters/files/facts/knowledge.py.

Tests: tests/core/compat/test_facts.py
"""

from __future__ import annotations

from seatrial.core.compat.facts.ages import Known, SourceAge, ages, by_age
from seatrial.core.compat.facts.knowledge import Existence, Facts, Release
from seatrial.core.compat.facts.known_bad import Issue, Vulnerability
from seatrial.core.compat.facts.listed import (
    RuntimePair,
    VendorLife,
)
from seatrial.core.compat.facts.origins import marked
from seatrial.core.compat.facts.reading import read
from seatrial.core.compat.facts.rows import (
    Architecture,
    Cite,
    ContainerKernels,
    DraChart,
    DriverBranch,
    GpuOperatorRelease,
    GpuProduct,
    Lines,
    NetworkOperatorRelease,
    OpenShiftRelease,
    Precompiled,
    Product,
    RefusedSystem,
    Said,
    Support,
    SystemList,
    Toolkit,
    VgpuRelease,
    weakest,
)
from seatrial.core.compat.facts.spots import FactInvalid, SchemaNewer

__all__ = [
    "Architecture",
    "Cite",
    "ContainerKernels",
    "DraChart",
    "DriverBranch",
    "Existence",
    "FactInvalid",
    "Facts",
    "GpuOperatorRelease",
    "GpuProduct",
    "Issue",
    "Known",
    "Lines",
    "NetworkOperatorRelease",
    "OpenShiftRelease",
    "Precompiled",
    "Product",
    "RefusedSystem",
    "Release",
    "RuntimePair",
    "Said",
    "SchemaNewer",
    "SourceAge",
    "Support",
    "SystemList",
    "Toolkit",
    "VendorLife",
    "VgpuRelease",
    "Vulnerability",
    "ages",
    "by_age",
    "marked",
    "read",
    "weakest",
]
