"""Every row of compat-facts.yaml and how it came there: derived by a program, or read by a person.

A row is a mapping with a source. The source says who derives it: each extractor has a pattern, and what no pattern
fits was read by hand, which the second table says too, so that a new kind of source is a decision and no accident.

Tests: tests/data/test_extract.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from data.extract import endoflife, gpu_operator, network_operator
from data.extract.checkouts import Checkout

SOURCE_KEYS: Final = ("source", "evidence", "kernel_source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One sourced mapping of the data."""

    path: tuple[str, ...]
    source: str
    fields: Mapping[str, Any]

    @property
    def key(self) -> str:
        """What the row is about: its own key, or its parent's where its own is a word of ours."""
        return next((part for part in reversed(self.path) if any(letter.isdigit() for letter in part)), self.path[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractor:
    """Who derives which rows, from which repository."""

    name: str
    repository: str
    pattern: re.Pattern[str]
    """The source of its rows; the group `ref` is the tag, branch or commit."""
    derive: Callable[[Checkout, str, Row], dict[str, Any] | None]
    """The fields of a row; None where the checkout does not have its source."""
    confidence: str = "verified-in-source"


def extractor_of(row: Row) -> Extractor | None:
    """Who derives a row; None for one that was read by hand."""
    return next((each for each in EXTRACTORS if each.pattern.fullmatch(row.source)), None)


def is_by_hand(row: Row) -> bool:
    """Whether the row says that a person read it."""
    return any(pattern.search(row.source) for pattern in BY_HAND)


def rows(value: Any, path: tuple[str, ...] = ()) -> Iterator[Row]:
    """All sourced mappings below a value, without those inside them that have a source of their own."""
    if isinstance(value, dict):
        source = next((str(value[key]) for key in SOURCE_KEYS if key in value), None)
        if source is not None and path:
            yield Row(path=path, source=source, fields=value)
        for key, below in value.items():
            yield from rows(below, (*path, str(key)))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from rows(below, (*path, f"[{index}]"))


# ── who derives what ──────────────────────────────────────────────────────────────────────────────────────────────────


def _values(checkout: Checkout, ref: str, _row: Row) -> dict[str, Any] | None:
    values, chart = checkout.text(ref, gpu_operator.VALUES), checkout.text(ref, gpu_operator.CHART)
    if values is None or chart is None:
        return None
    return {"released": checkout.day(ref), **gpu_operator.of_values(values, chart)}


def _bundle(checkout: Checkout, ref: str, _row: Row) -> dict[str, Any] | None:
    annotations, csv = checkout.text(ref, gpu_operator.ANNOTATIONS), checkout.text(ref, gpu_operator.CSV)
    return None if annotations is None or csv is None else gpu_operator.of_bundle(annotations, csv)


def _network(checkout: Checkout, ref: str, row: Row) -> dict[str, Any] | None:
    release = checkout.text(ref, network_operator.RELEASE)
    if release is None:
        return None
    chart = checkout.text(ref, network_operator.CHART) or ""
    annotations = checkout.text(ref, network_operator.ANNOTATIONS) or ""
    released = {"released": checkout.day(ref)} if ref == row.key else {}  # the day of a branch is no release's
    return {**released, **network_operator.of_release(release, chart, annotations)}


def _documents(checkout: Checkout, ref: str, _row: Row) -> dict[str, Any] | None:
    support, variables = checkout.text(ref, network_operator.SUPPORT), checkout.text(ref, network_operator.VARIABLES)
    return None if support is None or variables is None else network_operator.of_documents(support, variables)


def _page(
    file: str, derive: Callable[[str, str], dict[str, Any]]
) -> Callable[[Checkout, str, Row], dict[str, Any] | None]:
    def of(checkout: Checkout, ref: str, row: Row) -> dict[str, Any] | None:
        page = checkout.text(ref, file)
        return None if page is None else derive(page, row.key) or None

    return of


def _source(repository: str, file: str) -> re.Pattern[str]:
    return re.compile(rf"github:{re.escape(repository)}@(?P<ref>[^:]+):{file}")


EXTRACTORS: Final = (
    Extractor(
        name="gpu-operator-values",
        repository=gpu_operator.REPOSITORY,
        pattern=_source(gpu_operator.REPOSITORY, re.escape(gpu_operator.VALUES)),
        derive=_values,
    ),
    Extractor(
        name="gpu-operator-bundle",
        repository=gpu_operator.REPOSITORY,
        pattern=_source(gpu_operator.REPOSITORY, r"bundle/\{metadata/annotations\.yaml,manifests/[^}]+\}"),
        derive=_bundle,
    ),
    Extractor(
        name="network-operator-release",
        repository=network_operator.REPOSITORY,
        pattern=_source(network_operator.REPOSITORY, re.escape(network_operator.RELEASE)),
        derive=_network,
    ),
    Extractor(
        name="network-operator-documents",
        repository=network_operator.DOCUMENTS,
        pattern=_source(network_operator.DOCUMENTS, r"docs/\{platform-support,common/vars\}\.rst"),
        derive=_documents,
    ),
    Extractor(
        name="endoflife-kubernetes",
        repository=endoflife.REPOSITORY,
        pattern=_source(endoflife.REPOSITORY, re.escape(endoflife.KUBERNETES) + r"( \(.*\))?"),
        derive=_page(endoflife.KUBERNETES, endoflife.of_kubernetes),
        confidence="secondary",
    ),
    *(
        Extractor(
            name=name,
            repository=endoflife.REPOSITORY,
            pattern=_source(endoflife.REPOSITORY, re.escape(file) + r"( \(.*\))?"),
            derive=_page(file, derive),
            confidence="secondary",
        )
        for name, file, derive in (
            ("endoflife-eks", endoflife.EKS, endoflife.of_eks),
            ("endoflife-gke", endoflife.GKE, endoflife.of_kubernetes),
            ("endoflife-containerd", endoflife.CONTAINERD, endoflife.of_kubernetes),
        )
    ),
    Extractor(
        name="endoflife-driver",
        repository=endoflife.REPOSITORY,
        pattern=_source(endoflife.REPOSITORY, re.escape(endoflife.DRIVER)),
        derive=_page(endoflife.DRIVER, endoflife.of_driver),
        confidence="secondary",
    ),
    Extractor(
        name="endoflife-openshift",
        repository=endoflife.REPOSITORY,
        pattern=_source(endoflife.REPOSITORY, re.escape(endoflife.OPENSHIFT)),
        derive=_page(endoflife.OPENSHIFT, endoflife.of_openshift),
        confidence="secondary",
    ),
)

BY_HAND: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # documents of vendors: tables and sentences, which change their form from edition to edition
        r"^github:(NVIDIA/cloud-native-docs|DPDK/dpdk|openshift/openshift-docs)\b",
        r"^github:Mellanox/network-operator-docs@[^:]+:docs/(?!\{)",
        r"^github:NVIDIA/(aicr|open-gpu-kernel-modules)@",
        r"^github:rh-ecosystem-edge/nvidia-ci@",
        r"^github:(kubernetes/kubernetes|containerd/containerd)@",
        r"^github:NVIDIA/(product-security|yum-packaging-fabric-manager)@",
        # lists of tags or branches, and files looked into for one sentence
        r"^github:NVIDIA/(dcgm-exporter|k8s-device-plugin|nccl|open-gpu-kernel-modules) tags",
        r"^github:openshift/os branches",
        r"^github:NVIDIA/gpu-operator@[^:]+:(controllers/|deployments/gpu-operator/(crds/|values\.yaml \(comment\)))",
        # pages that are in no repository
        r"^(docs|developer|developer\.download)\.nvidia\.com",
        r"^(docs\.siderolabs\.com|kubernetes\.io|piwheels\.org|docs\.aws\.amazon\.com|ubuntu\.com|pkg\.go\.dev)/",
        r"^nvidia\.github\.io/cloud-native-docs/",
        r"^(CUDA toolkit|mlxup) release notes",
        r"^GitHub issue ",
        r"^(several )?public repositories ",
        # what follows from other rows, and what nobody has read
        r"^(computed|composed) from ",
        r"^nic_firmware\.",
        r"^no (such tag|row between) ",
        r"(^| )not read( in a source)?$",
    )
)
"""Sources that people read: prose, tables of documents, lists of tags, pages that are in no repository."""

DOUBTED: Final[Mapping[str, Mapping[str, str]]] = {
    "openshift.releases.4.21.lifecycle": {"released": "the page has the day of 4.20 there, a copy"},
}
"""Fields of which a source is not believed, and why: they stay out of the data although they can be derived."""
