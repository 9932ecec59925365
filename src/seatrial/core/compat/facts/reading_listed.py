"""From data to facts: the tables of vendors' pages that say who is listed.

Law of this file: a table is of one line of one operator, and says what its page says, no more. Tests:
tests/core/compat/test_facts.py and test_rules_listed.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from seatrial.core.compat.facts.knowledge import Facts
from seatrial.core.compat.facts.listed import (
    AdapterList,
    Distribution,
    Embedded,
    OldestOfed,
    PartRange,
    ProductList,
    RuntimePair,
    ServerSystems,
    VendorLife,
)
from seatrial.core.compat.facts.reading_operators import supported, systems_at
from seatrial.core.compat.facts.rows import Lines, Said, SystemList
from seatrial.core.compat.facts.sections import reads
from seatrial.core.compat.facts.spots import Spot, day_at, entries_of, parsed, rows_of
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import Line, OfedVersion, PartVersion

OPERATORS: Final = (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR)
LIVES: Final = {
    "Amazon EKS": ("kubernetes", "amazon_eks"),
    "Google GKE": ("kubernetes", "google_gke"),
    "containerd": ("container_runtimes", "containerd_life"),
}
"""Who says until when a minor is maintained, and where in the data."""


@reads("kubernetes_distributions.gpu_operator", "kubernetes_distributions.network_operator")
def distributions(whole: Spot, facts: Facts) -> Facts:
    """The Kubernetes distributions that the operators' pages list."""
    section = whole.maybe("kubernetes_distributions")
    rows = [
        Distribution(
            operator=operator,
            line=spot.at("line").version(Line).line,
            name=spot.at("distribution").text(),
            systems=systems_at(spot, "systems"),
            lines=_lines(spot),
            cite=spot.cite(),
        )
        for operator in OPERATORS
        for spot in (section.each(operator.value) if section else ())
    ]
    return replace(facts, distributions=tuple(rows)) if rows else facts


@reads(*(".".join(place) for place in LIVES.values()))
def lives(whole: Spot, facts: Facts) -> Facts:
    """Until when minors are maintained by who builds them."""
    found = {}
    for name, (section, key) in LIVES.items():
        there = whole.maybe(section)
        if there is not None and key in there:
            found[name] = {minor: _life(minor, spot) for minor, spot in entries_of(there, key)}
    return replace(facts, lives=found) if found else facts


def _life(minor: str, spot: Spot) -> VendorLife:
    return VendorLife(
        line=parsed(Line, minor, spot.path),
        end_of_life=spot.at("end_of_life").day(),
        extended_ends=day_at(spot, "extended_ends"),
        cite=spot.cite(),
    )


@reads("gpu_products.gpu_operator", "gpu_products.embedded", "gpu_products.cpu")
def products(whole: Spot, facts: Facts) -> Facts:
    """The GPUs that the GPU Operator lists, those it does not support, and whose CPU is not x86."""
    section = whole.maybe("gpu_products")
    if section is None:
        return facts
    none = section.maybe("embedded")
    rows = [
        ProductList(
            line=spot.at("line").version(Line).line,
            names=tuple(each.text() for each in spot.at("listed").each()),
            cite=spot.cite(),
        )
        for spot in section.each("gpu_operator")
    ]
    embedded = None
    if none is not None:
        embedded = Embedded(
            names=tuple(each.text() for each in none.at("names").each()),
            with_discrete=tuple(each.text() for each in none.each("with_discrete")),
            said=none.at("fact").text(),
            cite=none.cite(),
        )
    cpus = {str(spot.path[-1]): Said(text=spot.text(), cite=cite) for spot, cite in rows_of(section, "cpu")}
    return replace(facts, operator_products=tuple(rows), embedded=embedded, product_cpus=cpus)


@reads("network_servers.network_operator")
def servers(whole: Spot, facts: Facts) -> Facts:
    """The servers that the Network Operator was validated on, each with its systems."""
    section = whole.maybe("network_servers")
    rows = [
        ServerSystems(
            line=spot.at("line").version(Line).line,
            product=spot.at("product").text(),
            systems=systems_at(spot, "systems"),
            has_gpudirect=spot.at("gpudirect_rdma").flag() if "gpudirect_rdma" in spot else True,
            cite=spot.cite(),
        )
        for spot in (section.each("network_operator") if section else ())
    ]
    return replace(facts, servers=tuple(rows)) if rows else facts


@reads("container_runtimes.kubernetes", "container_runtimes.containerd_1")
def runtime_pairs(whole: Spot, facts: Facts) -> Facts:
    """Which containerd is recommended for which Kubernetes, and the last one that takes containerd 1.x."""
    section = whole.maybe("container_runtimes")
    if section is None:
        return facts
    rows = [
        RuntimePair(
            kubernetes=parsed(Line, str(spot.path[-1]), spot.path),
            firsts=tuple(each.version(PartVersion) for each in spot.each()),
            cite=cite,
        )
        for spot, cite in rows_of(section, "kubernetes")
    ]
    last = section.maybe("containerd_1")
    said = Said(text=last.at("last_kubernetes").version(Line).line, cite=last.cite()) if last else None
    return replace(facts, runtime_pairs={row.kubernetes.line: row for row in rows}, last_for_containerd_1=said)


@reads("network_adapters.network_operator", "mofed_kernel.min_ofed", "node_feature_discovery.network_operator")
def network(whole: Spot, facts: Facts) -> Facts:
    """What the Network Operator lists and needs beside its platform."""
    cards, kernels, nfd = map(whole.maybe, ("network_adapters", "mofed_kernel", "node_feature_discovery"))
    adapters = [
        AdapterList(
            line=spot.at("line").version(Line).line,
            families=frozenset(each.text() for each in spot.at("listed").each()),
            cite=spot.cite(),
        )
        for spot in (cards.each("network_operator") if cards else ())
    ]
    ranges = [
        PartRange(
            line=spot.at("line").version(Line).line,
            oldest=spot.at("min").version(PartVersion),
            newest=spot.at("max").version(PartVersion),
            cite=spot.cite(),
        )
        for spot in (nfd.each("network_operator") if nfd else ())
    ]
    least = kernels.maybe("min_ofed") if kernels else None
    oldest = None
    if least is not None:
        oldest = OldestOfed(
            since=least.at("since").version(Line), version=least.at("min").version(OfedVersion), cite=least.cite()
        )
    return replace(facts, adapters=tuple(adapters), nfd_ranges=tuple(ranges), oldest_ofed=oldest)


@reads("gpudirect_storage.gpu_operator")
def storage(whole: Spot, facts: Facts) -> Facts:
    """The systems on which the GPU Operator supports GPUDirect Storage."""
    section = whole.maybe("gpudirect_storage")
    rows = [
        SystemList(
            operator=Component.GPU_OPERATOR,
            line=spot.at("line").version(Line).line,
            listed=systems_at(spot, "listed"),
            by_partner=(),
            google_installs=frozenset(),
            cite=spot.cite(),
        )
        for spot in (section.each("gpu_operator") if section else ())
    ]
    return replace(facts, storage_systems=tuple(rows)) if rows else facts


def _lines(spot: Spot) -> Lines:
    return supported(Spot({key: spot.at(key).value for key in ("min", "max") if key in spot}, spot.path))


READERS: Final = (distributions, lives, products, servers, runtime_pairs, network, storage)
