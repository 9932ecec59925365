"""From data to facts: OpenShift's releases with their kernels, and the kernels that the network driver builds on.

Law of this file: a row is as sure as its weakest part. Tests: tests/core/compat/test_facts.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from seatrial.core.compat.facts.knowledge import Facts
from seatrial.core.compat.facts.reading_operators import line_of
from seatrial.core.compat.facts.rows import (
    BadOpenShift,
    Cite,
    KubernetesRelease,
    OpenShiftRelease,
    RhelSupport,
    ValidatedKernel,
)
from seatrial.core.compat.facts.sections import reads
from seatrial.core.compat.facts.spots import Spot, cite_at, day_at, entries_of, parsed, rows_of, text_at
from seatrial.core.compat.findings import Confidence
from seatrial.core.compat.versions import (
    KernelVersion,
    Line,
    OpenShiftVersion,
    OperatorVersion,
)


@reads("openshift.releases", "openshift.known_bad_z_streams")
def openshift(whole: Spot, facts: Facts) -> Facts:
    """OpenShift's releases, and those known to be bad."""
    section = whole.maybe("openshift")
    if section is None:
        return facts
    bad = [
        BadOpenShift(
            version=spot.at("openshift").version(OpenShiftVersion),
            breaks=spot.at("breaks").text(),
            reference=text_at(spot, "ref"),
            cite=spot.cite(),
        )
        for spot in section.each("known_bad_z_streams")
    ]
    rows = [_openshift_release(key, spot) for key, spot in entries_of(section, "releases")]
    return replace(facts, openshifts={row.line.line: row for row in rows}, bad_openshifts=tuple(bad))


def _openshift_release(key: str, spot: Spot) -> OpenShiftRelease:
    row, life = _kernel_cite(spot), spot.maybe("lifecycle")
    sriov = spot.maybe("sriov_operator_csv")
    return OpenShiftRelease(
        line=parsed(Line, key, spot.path),
        rhel=spot.at("rhel").version(Line),
        rhel_cite=_stated(text_at(spot, "rhel_source") or spot.at("rhcos_build_source").text(), row),
        kernel_stream=spot.at("kernel_stream").text(),
        kernel_dist=spot.at("kernel_dist").text(),
        kernel_cite=row,
        kubernetes=spot.at("kubernetes").version(Line) if "kubernetes" in spot else None,
        kubernetes_cite=_stated(spot.at("kubernetes_source").text(), row) if "kubernetes_source" in spot else None,
        sriov=line_of(sriov) if sriov else None,
        sriov_cite=_stated(spot.at("sriov_source").text(), row) if sriov else None,
        maintenance_ends=day_at(life, "maintenance_ends") if life else None,
        extended_ends=day_at(life, "eus_ends") if life else None,
        lifecycle_cite=life.cite() if life else None,
    )


def _kernel_cite(spot: Spot) -> Cite:
    return cite_at(spot, "kernel_source")


def _stated(source: str, row: Cite) -> Cite:
    """A row's confidence is that of its weakest part, the kernel; what OpenShift's own repositories say is sure."""
    own = source.startswith("github:openshift/")
    return Cite(source=source, confidence=Confidence.VERIFIED if own else row.confidence)


@reads("kubernetes.releases")
def kubernetes(whole: Spot, facts: Facts) -> Facts:
    """Kubernetes' minors, and when each ends."""
    section = whole.maybe("kubernetes")
    if section is None:
        return facts
    rows = [
        KubernetesRelease(line=parsed(Line, key, spot.path), end_of_life=spot.at("end_of_life").day(), cite=spot.cite())
        for key, spot in entries_of(section, "releases")
    ]
    return replace(facts, kubernetes={row.line.line: row for row in rows})


@reads("mofed_kernel.validated_upper_kernel", "mofed_kernel.stale_inventory", "mofed_kernel.rhel_added_by_release")
def mofed_kernel(whole: Spot, facts: Facts) -> Facts:
    """Which kernels the network driver is known to build on."""
    section = whole.maybe("mofed_kernel")
    if section is None:
        return facts
    upper, stale = section.maybe("validated_upper_kernel"), section.maybe("stale_inventory")
    rows = [
        RhelSupport(
            since=parsed(OperatorVersion, str(spot.path[-1]), spot.path),
            minors=tuple(each.version(Line) for each in spot.each()),
            cite=cite,
        )
        for spot, cite in rows_of(section, "rhel_added_by_release")
    ]
    validated = []
    if upper is not None:
        validated.append(
            ValidatedKernel(
                operator_line=upper.at("network_operator_line").version(Line).line,
                kernel=upper.at("max_kernel").version(KernelVersion),
                cite=upper.cite(),
            )
        )
    lines = {stale.at("network_operator_line").version(Line).line: stale.cite()} if stale else {}
    return replace(facts, rhel_support=tuple(rows), validated_kernels=tuple(validated), stale_inventory=lines)


READERS: Final = (openshift, kubernetes, mofed_kernel)
