"""Does each version exist, is it known to be bad, is it still supported? One rule each.

Tests: tests/core/compat/test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final

from seatrial.core.compat.facts import Cite, DriverBranch, Existence, Issue, Release, VendorLife
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import NAMES, Answer, Case, Rule, fail, nothing_known, ok, unknown, warn
from seatrial.core.compat.rules.distributions import distribution_of
from seatrial.core.compat.rules.firmware import FIRMWARE, firmware_of
from seatrial.core.compat.rules.security import CONCERNED, judge_vulnerable
from seatrial.core.compat.versions import (
    CudaVersion,
    DriverVersion,
    KubernetesVersion,
    Line,
    OperatorVersion,
    PartVersion,
    Rank,
)

OPERATORS: Final = (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR)
TAGGED: Final = (Component.DCGM, Component.DEVICE_PLUGIN, Component.CONTAINER_TOOLKIT)
UNLISTED: Final = (
    Component.OS,
    Component.CONTAINERD,
    Component.CRI_O,
    Component.NFD,
    Component.GDS,
    Component.GDRCOPY,
    Component.FABRIC_MANAGER,
    Component.DRA_DRIVER,
    Component.CUDA_COMPAT,
)
"""Parts of which there is no list: that they can be read is all that is asked of them here."""
SUPPORTED_LINES: Final = 2
"""NVIDIA supports the newest major of an operator and the one before it."""


# ── exists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_exists(case: Case) -> Iterator[Answer]:
    """Every version against its list."""
    yield from case.unreadable(*EXISTS.inputs)
    for component, version in zip(OPERATORS, (case.gpu_operator, case.network_operator), strict=True):
        if version is not None:
            yield _operator(case, component, version)
    if case.driver is not None:
        yield _driver(case, case.driver)
    if case.cuda is not None:
        yield _toolkit(case, case.cuda)
    for component in TAGGED:
        yield from _tag(case, component)
    yield from _network_parts(case)
    vgpu = case.stack[Component.VGPU]
    if vgpu is not None and isinstance(vgpu.version, PartVersion):
        yield _vgpu(case, vgpu.version)


def _operator(case: Case, component: Component, version: OperatorVersion) -> Answer:
    name, spans, known = NAMES[component], case.spans(component), case.facts.operators(component)
    source = case.facts.cite(f"{component.value}.versioning")
    match case.facts.existence(component, version):
        case Existence.RELEASED:
            return ok(f"{name} {version} was released.", known[version].cite)
        case Existence.NEVER:
            return fail(
                f"{name} {version} was never released: {_neighbours(case, component, version)}.",
                "Take one of the releases that exist.",
                *(row.cite for row in _around(case, component, version)),
                spans=spans,
            )
        case Existence.NEWER:
            newest = max(known, default=None)
            return unknown(
                f"{name} {version} is newer than what the knowledge base of {case.facts.built_on} knows (its sources "
                "end "
                f"on {case.facts.known_until}, with {newest}).",
                "Update seatrial, or its facts with `seatrial facts update`; or add it with `seatrial facts add`.",
                source,
                spans=spans,
            )
        case Existence.UNLISTED:
            return nothing_known(f"{name} {version}", str(max(known, default="")), case.facts, spans)


def _around(case: Case, component: Component, version: OperatorVersion) -> list[Release]:
    known = case.facts.operators(component)
    below = max((each for each in known if each < version), default=None)
    above = min((each for each in known if each > version), default=None)
    return [known[each] for each in (below, above) if each is not None]


def _neighbours(case: Case, component: Component, version: OperatorVersion) -> str:
    return "the releases go " + " → ".join(str(row.version) for row in _around(case, component, version))


def _driver(case: Case, driver: DriverVersion) -> Answer:
    spans = case.spans(Component.GPU_DRIVER)
    named = case.facts.driver(driver)
    if driver.is_developer_build:
        return fail(
            f"Driver {driver} is a developer build, not for clusters, and its place in the order says nothing about "
            "its age.",
            "Take a release of the same branch.",
            spans=spans,
        )
    if named is not None:
        return ok(f"Driver {driver} exists.", named)
    newest = max((each for each in case.facts.drivers if each.branch == driver.branch), default=None)
    return nothing_known(f"driver {driver}", f"{newest} of its branch" if newest else "", case.facts, spans)


def _toolkit(case: Case, cuda: CudaVersion) -> Answer:
    spans = case.spans(Component.CUDA)
    never = case.facts.toolkits_never.get(cuda.line)
    if never is not None:
        return fail(
            f"There is no CUDA {cuda.line} toolkit; a driver may report that level, no image is built with it.",
            "Write the newest toolkit that workload images use.",
            never,
            spans=spans,
        )
    row = case.facts.toolkit(cuda)
    if row is not None:
        return ok(f"CUDA {cuda} exists.", row.cite)
    meant = case.facts.toolkits_first.get(cuda.line, cuda) if str(cuda) == cuda.line else cuda
    said = case.facts.toolkits_numbered.get(meant)
    if said is not None:
        return ok(f"CUDA {cuda} exists: {meant} is {said.text}.", said.cite)
    return nothing_known(f"CUDA toolkit {cuda}", str(max(case.facts.toolkits, default="")), case.facts, spans)


def _network_parts(case: Case) -> Iterator[Answer]:
    """Network driver and firmware where they stand alone: beside others, other rules compare them."""
    alone = not case.has(Component.NETWORK_OPERATOR) and (case.mofed is None or not list(firmware_of(case)))
    if not alone:
        return
    if case.mofed is not None:
        yield _named(case, Component.MOFED, f"network driver {case.mofed}", case.facts.ofed_named(case.mofed))
    for component, firmware in firmware_of(case):
        what = f"{firmware.family_name} firmware {firmware}"
        yield _named(case, component, what, case.facts.firmware_named(firmware))


def _named(case: Case, component: Component, what: str, cite: Cite | None) -> Answer:
    if cite is not None:
        return ok(f"{component.value}: {what} exists.", cite)
    return unknown(
        f"No table read names {what}, and nothing is written that it goes with.",
        f"Write what {component.value} goes with, or read the vendor's release notes; then accept the rule.",
        spans=case.spans(component),
    )


def _vgpu(case: Case, version: PartVersion) -> Answer:
    row = case.facts.vgpus.get(version)
    if row is not None:
        return ok(f"vGPU {version} exists.", row.cite)
    return nothing_known(
        f"vGPU {version}", str(max(case.facts.vgpus, default="")), case.facts, case.spans(Component.VGPU)
    )


def _tag(case: Case, component: Component) -> Iterator[Answer]:
    value = case.stack[component]
    if value is None or value.version is None:
        return
    known = case.facts.tags.get(component, {})
    cite = known.get(value.version)
    if cite is not None:
        yield ok(f"{component.value} {value.version} exists.", cite)
    else:
        newest = str(max(known, default="", key=lambda each: each.rank if each else ()))
        yield nothing_known(f"{component.value} {value.version}", newest, case.facts, case.spans(component))


EXISTS: Final = Rule(
    id="exists",
    title="Every version exists",
    meaning="""\
Looks each version up in the list of what was released. The lists of operator releases are complete, so a version in a
gap of them was never released and fails; one newer than the newest known is unknown, because the knowledge base is
older than it. Lists of drivers, toolkits and image tags are not complete: absence there is unknown, never a proof. A
network driver or a firmware is looked up where it stands alone; beside others, other rules compare it.""",
    inputs=(
        *OPERATORS,
        Component.GPU_DRIVER,
        Component.CUDA,
        *TAGGED,
        Component.VGPU,
        *UNLISTED,
        Component.MOFED,
        *FIRMWARE,
    ),
    sources=(
        "gpu_operator.releases",
        "network_operator.releases",
        "driver.known_versions",
        "cuda.toolkit",
        "existing_tags",
        "vgpu.releases",
        "nic_firmware.bundled",
        "nic_firmware.tested_pairs",
        "network_operator.releases.*.ofed",
    ),
    judge=judge_exists,
)


# ── known-bad ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_known_bad(case: Case) -> Iterator[Answer]:
    """Versions and pairs somebody reported as broken."""
    yield from case.unreadable(*KNOWN_BAD.inputs)
    bad = case.facts.bad_openshift(case.openshift) if case.openshift is not None else None
    if bad is not None:
        reference = f" ({bad.reference})" if bad.reference else ""
        yield fail(
            f"OpenShift {bad.version} is known to break {bad.breaks}{reference}.",
            "Take another z-stream.",
            bad.cite,
            spans=case.spans(Component.OPENSHIFT),
        )
    for issue in case.facts.issues:
        if _meets(case, issue):
            yield _known(case, issue)
    yield from judge_vulnerable(case)
    told = [f"{part.value} {value.text}" for part in KNOWN_BAD.inputs if (value := case.stack[part]) is not None]
    if told:
        yield ok(f"No issue is known for exactly these versions: {', '.join(told)}.")


def _meets(case: Case, issue: Issue) -> bool:
    for component, bounds in issue.when.items():
        value = case.stack[component]
        if value is None or value.version is None or not any(bound.holds(value.version) for bound in bounds):
            return False
    return True


def _known(case: Case, issue: Issue) -> Answer:
    named = " with ".join(
        f"{part.value} {value.text}" for part in issue.when if (value := case.stack[part]) is not None
    )
    advice = f"Take {issue.advice}." if issue.advice else "Read the source and decide whether it concerns this cluster."
    reference = f" ({issue.reference})" if issue.reference else ""
    return warn(
        f"Known issue of {named}: {issue.effect}{reference}.", advice, issue.cite, spans=case.spans(*issue.when)
    )


KNOWN_BAD: Final = Rule(
    id="known-bad",
    title="No version is known to be bad",
    meaning="""\
Compares exact versions with reports of what breaks: OpenShift z-streams whose Driver Toolkit image does not match
their kernel, drivers with a known defect, pairs that need an extra setting. A z-stream that breaks the GPU Operator
fails; the other issues warn, because they concern only some clusters. Versions that the vendor's bulletins call
vulnerable fail where a workload gets out of its container in every mode, and warn otherwise: one mode alone, a local
user, a denial of service. A part that is not written is the operator's own. It is never unknown: no report is no
news.""",
    inputs=(Component.OPENSHIFT, *CONCERNED),
    sources=("openshift.known_bad_z_streams", "known_issues", "vulnerabilities"),
    judge=judge_known_bad,
)


# ── lifecycle ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_lifecycle(case: Case) -> Iterator[Answer]:
    """Who still supports these versions on the day of the check."""
    yield from case.unreadable(*LIFECYCLE.inputs)
    for component, version in zip(OPERATORS, (case.gpu_operator, case.network_operator), strict=True):
        if version is not None and case.facts.existence(component, version) is not Existence.NEVER:
            yield _operator_life(case, component, version)
    if case.driver is not None:
        yield _driver_life(case, case.driver.branch)
    if case.openshift is not None:
        yield _openshift_life(case)
    elif case.kubernetes is not None:
        yield _kubernetes_life(case, case.kubernetes)
    if case.containerd is not None:
        yield _containerd_life(case, case.containerd)


def _operator_life(case: Case, component: Component, version: OperatorVersion) -> Answer:
    name, lines = NAMES[component], case.facts.lines_released_by(component, case.on)
    cite, spans = case.facts.cite(f"{component.value}.versioning"), case.spans(component)
    known = case.facts.release_lines.get(component, ())
    if len(lines) < SUPPORTED_LINES or Line.of(version) > Line.parse(known[-1]):
        return nothing_known(f"the support of {name} {version}", known[-1] if known else "", case.facts, spans)
    read = case.facts.known_until
    seen = case.facts.newest_line(component) if case.on > read else None
    read = max(read, seen.as_of) if seen is not None else read
    cites = (cite, seen.cite) if seen is not None else (cite,)
    if Line.of(version) >= Line.parse(lines[-1]) or (case.on <= read and Line.of(version) >= Line.parse(lines[-2])):
        return ok(f"{name} {version.line} is supported on {min(case.on, read)}, as far as its sources reach.", *cites)
    if Line.of(version) >= Line.parse(lines[-2]):
        return unknown(
            f"{name} {version.line} was supported on {read}, the day its sources reach, as the major before "
            f"{lines[-1]}; a newer one since then ends it, and nobody looked.",
            "Look whether there is a newer major, then accept the rule with the day, or plan the way to the newest.",
            *cites,
            spans=spans,
        )
    return warn(
        f"{name} {version.line} is out of support on {case.on}: {lines[-1]} is the newest major, and only it and "
        f"{lines[-2]} are supported.",
        f"Plan the way to {lines[-2]} or {lines[-1]}.",
        cite,
        spans=spans,
    )


def _driver_life(case: Case, branch: int) -> Answer:
    row, spans = case.facts.driver_branch(branch), case.spans(Component.GPU_DRIVER)
    if row is None:
        return nothing_known(
            f"the end of life of driver branch {branch}", str(max(case.facts.branches, default="")), case.facts, spans
        )
    if case.on <= row.end_of_life:
        return _left(case, row) or ok(
            f"Driver branch {branch} ({row.kind}) is supported until {row.end_of_life}.", row.cite
        )
    return warn(
        f"Driver branch {branch} ({row.kind}) is out of support since {row.end_of_life}.",
        "Plan the way to a supported branch.",
        row.cite,
        spans=spans,
    )


def _left(case: Case, row: DriverBranch) -> Answer | None:
    """What a branch that NVIDIA's table does not list any more is worth; a user's own row is his own word.

    The table is no older than its newest branch, so about a day before that one it says nothing.
    """
    listed = case.facts.listed_branches
    if row.is_listed or row.cite.origin or not listed or row.branch > listed[-1].branch:
        return None
    if listed[-1].released is not None and case.on < listed[-1].released:
        return None
    return warn(
        f"Driver branch {row.branch} ({row.kind}) is not among the branches that NVIDIA lists as supported "
        f"({', '.join(str(each.branch) for each in listed)}, read by {case.facts.built_on}), although a third party "
        f"lets it live until {row.end_of_life}.",
        "Plan the way to a listed branch.",
        listed[-1].cite,
        row.cite,
        spans=case.spans(Component.GPU_DRIVER),
    )


def _openshift_life(case: Case) -> Answer:
    row, spans = case.openshift_release, case.spans(Component.OPENSHIFT)
    if row is None or row.maintenance_ends is None:
        return nothing_known(
            f"the end of life of OpenShift {case.openshift}", case.facts.newest_openshift, case.facts, spans
        )
    last: date = max(row.maintenance_ends, row.extended_ends or row.maintenance_ends)
    if case.on <= row.maintenance_ends:
        return ok(f"OpenShift {row.line} is maintained until {row.maintenance_ends}.", row.lifecycle_cite)
    if case.on <= last:
        return warn(
            f"OpenShift {row.line} has only extended update support since {row.maintenance_ends}, until {last}.",
            "Accept this if the subscription includes it, or plan the next minor.",
            row.lifecycle_cite,
            spans=spans,
        )
    return warn(
        f"OpenShift {row.line} is out of support since {last}.",
        "Plan the way to a maintained minor.",
        row.lifecycle_cite,
        spans=spans,
    )


def _kubernetes_life(case: Case, kubernetes: KubernetesVersion) -> Answer:
    vendor = distribution_of(kubernetes)
    table = case.facts.lives.get(vendor, {})
    own = table.get(kubernetes.line)
    if own is not None:
        return _vendor_life(case, f"Kubernetes {own.line} on {vendor}", own, Component.KUBERNETES)
    if table:
        what = f"the end of life of Kubernetes {kubernetes.line} on {vendor}"
        return nothing_known(what, max(table, key=_rank), case.facts, case.spans(Component.KUBERNETES))
    row, spans = case.facts.kubernetes.get(kubernetes.line), case.spans(Component.KUBERNETES)
    if row is None:
        newest = max(case.facts.kubernetes, key=_rank, default="")
        return nothing_known(f"the end of life of Kubernetes {kubernetes.line}", newest, case.facts, spans)
    if case.on <= row.end_of_life:
        return ok(f"Kubernetes {row.line} is maintained until {row.end_of_life}.", row.cite)
    return warn(
        f"Kubernetes {row.line} is out of upstream maintenance since {row.end_of_life}; a vendor may maintain his own "
        "build for longer.",
        "Plan the way to a maintained minor, or accept the rule with the vendor's day.",
        row.cite,
        spans=spans,
    )


def _vendor_life(case: Case, what: str, row: VendorLife, component: Component) -> Answer:
    """What a vendor says of his own build; what he maintains at extra cost he maintains."""
    last = row.extended_ends or row.end_of_life
    if case.on <= row.end_of_life:
        return ok(f"{what} is maintained until {row.end_of_life}.", row.cite)
    if case.on <= last:
        return ok(
            f"{what} is in extended support until {last}: its standard support ended on {row.end_of_life}.", row.cite
        )
    return warn(
        f"{what} is out of support since {last}.",
        "Plan the way to a maintained minor, or accept the rule with the vendor's day.",
        row.cite,
        spans=case.spans(component),
    )


def _rank(line: str) -> Rank:
    return Line.parse(line).rank


def _containerd_life(case: Case, containerd: PartVersion) -> Answer:
    rows = case.facts.lives.get("containerd", {})
    row = rows.get(containerd.line)
    if row is None:
        newest = max(rows, key=_rank, default="")
        spans = case.spans(Component.CONTAINERD)
        return nothing_known(f"the end of life of containerd {containerd.line}", newest, case.facts, spans)
    return _vendor_life(case, f"containerd {row.line}", row, Component.CONTAINERD)


LIFECYCLE: Final = Rule(
    id="lifecycle",
    title="Every version is supported on the day of the check",
    meaning="""\
NVIDIA supports the newest major of each operator and the one before it, which is said up to the day the sources
reach: later, the one before the newest is unknown; driver branches and minors of OpenShift and Kubernetes end on a day.
Running past it works, so this only warns, and it never fails. Where Kubernetes is EKS's or GKE's, the vendor's own day
counts, EKS's extended support included; containerd's minors end too. For driver branches NVIDIA's own table is
preferred to third parties', which differ from it by months: a branch that is older than the table's last and not in it
warns.""",
    inputs=(*OPERATORS, Component.GPU_DRIVER, Component.OPENSHIFT, Component.KUBERNETES, Component.CONTAINERD),
    sources=(
        "gpu_operator.versioning",
        "gpu_operator.newest_line",
        "network_operator.versioning",
        "network_operator.newest_line",
        "driver.nvidia_lifecycle_table_2026",
        "driver.lifecycle",
        "openshift.releases.*.lifecycle",
        "kubernetes.releases",
        "kubernetes.amazon_eks",
        "kubernetes.google_gke",
        "container_runtimes.containerd_life",
    ),
    judge=judge_lifecycle,
)
