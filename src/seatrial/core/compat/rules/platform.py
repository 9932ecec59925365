"""The kernel and what depends on it, and the operator that is cut per OpenShift minor.

A kernel is judged by its stream (`5.14.0-427` + `el9_4`), never by its upstream number: every RHEL 9 is 5.14.0. One
wrong kernel is one finding: a kernel that this OpenShift cannot have is openshift-kernel's, and no other rule repeats
it.

Tests: tests/core/compat/test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import (
    ContainerKernels,
    NetworkOperatorRelease,
    OpenShiftRelease,
    Precompiled,
    SystemList,
)
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, no_release, nothing_known, ok, unknown, warn
from seatrial.core.compat.versions import DriverVersion, KernelVersion, Line, Rank

_DIST: Final = re.compile(r"el(?P<major>[0-9]+)_(?P<minor>[0-9]+)")


def _no_openshift(case: Case) -> Answer:
    return nothing_known(
        f"OpenShift {case.openshift}", case.facts.newest_openshift, case.facts, case.spans(Component.OPENSHIFT)
    )


# ── driver-kernel ─────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_driver_kernel(case: Case) -> Iterator[Answer]:
    """Is the kernel new enough for the driver branch, and did anybody see the two together?"""
    driver, kernel = case.driver, case.kernel
    if driver is None or kernel is None:
        return
    floor, spans = case.facts.min_kernel(driver.branch), case.spans(Component.KERNEL, Component.GPU_DRIVER)
    if floor is None:
        newest = str(max(case.facts.min_kernels, default=""))
        yield nothing_known(f"the kernels of driver branch {driver.branch}", f"branch {newest}", case.facts, spans)
    elif Line.of(kernel) < floor.kernel:
        yield fail(
            f"Driver {driver} needs kernel {floor.kernel} or newer, found {kernel}.",
            "Take an older driver branch or a newer kernel.",
            floor.cite,
            spans=spans,
        )
    else:
        yield ok(
            f"Kernel {kernel} is not below {floor.kernel}, the oldest for driver {driver} (branch {driver.branch}).",
            floor.cite,
        )
        yield from _seen(case, driver, kernel)


def _seen(case: Case, driver: DriverVersion, kernel: KernelVersion) -> Iterator[Answer]:
    cite, platform = case.facts.kernel_seen(driver.branch, kernel), case.openshift_release
    container = _container_kernels(case, kernel)
    if cite is not None:
        yield ok(f"Driver branch {driver.branch} is documented on kernel stream {_stream(kernel)}.", cite)
    elif container is not None:
        yield ok(
            f"The driver containers of GPU Operator {container.operator_line} support kernel {kernel} on "
            f"{container.system}: {', '.join(map(str, container.kernels))}.",
            container.cite,
        )
    elif (listed := _listed_minor(case, kernel)) is not None:
        yield ok(
            f"GPU Operator {listed.line} lists {case.system}, and kernel {kernel} is of it: its driver containers are "
            "built on such.",
            listed.cite,
        )
    elif platform is None or _is_of(kernel, platform):
        yield unknown(
            f"No table read names kernel {_stream(kernel)}{_system(kernel)} with driver branch {driver.branch}: "
            f"drivers have a lower bound for kernels and no upper one{_covered(case, driver.branch)}.",
            "Look for the driver image of this kernel in the registry, or let the container build it on the canary; "
            "then accept the rule with what was seen, or add it with `seatrial facts add` (driver.seen_on_kernel).",
            spans=case.spans(Component.KERNEL, Component.GPU_DRIVER),
        )


def _container_kernels(case: Case, kernel: KernelVersion) -> ContainerKernels | None:
    """The row that has this kernel for the operator's line and the system; it speaks of generic kernels."""
    release, system = case.gpu_release, case.system
    if release is None or system is None or kernel.flavour != "generic":
        return None
    return next(
        (
            row
            for row in case.facts.container_kernels
            if (row.operator_line, row.system) == (release.line, system) and Line.of(kernel) in row.kernels
        ),
        None,
    )


def _listed_minor(case: Case, kernel: KernelVersion) -> SystemList | None:
    """The list that has this minor of RHEL, or of a rebuild that is listed too, where the kernel is of that minor.

    A minor of RHEL has one stream of kernels, so who lists the minor means its kernels; flavours and other CPUs are
    builds of their own.
    """
    release, system, minor = case.gpu_release, case.system, _rhel_of(kernel)
    if release is None or system is None or minor is None or system.name not in ("rhel", "rocky"):
        return None
    if kernel.flavour is not None or kernel.arch != "x86_64" or system.numbers != (minor.first, minor.second):
        return None
    wanted = (Component.GPU_OPERATOR, release.line)
    return next(
        (row for row in case.facts.systems if (row.operator, row.line) == wanted and system in row.listed), None
    )


def _system(kernel: KernelVersion) -> str:
    return f" ({kernel.system})" if kernel.system else ""


def _covered(case: Case, branch: int) -> str:
    """What tables do name for this branch, so that a reader sees how far off the kernel is."""
    tables = [table for table in case.facts.precompiled if branch in table.branches]
    told = dict.fromkeys(f"{table.kernel} on {table.system}" for table in sorted(tables, key=_newest_first))
    return f"; precompiled ones exist for {', '.join(told)}" if told else ""


def _newest_first(table: Precompiled) -> tuple[str, Rank]:
    return table.system, table.kernel.rank


def _stream(kernel: KernelVersion) -> str:
    return " ".join(part for part in (kernel.stream, kernel.dist, kernel.flavour) if part)


DRIVER_KERNEL: Final = Rule(
    id="driver-kernel",
    title="The driver builds on the kernel",
    meaning="""\
Every driver branch has an oldest kernel (3.10 up to R550, 4.15 from R555); below it fails. No document gives a newest
one. NVIDIA lists kernels with precompiled drivers (Ubuntu, by kernel, flavour and branch), and the documented OpenShift
releases name their kernels: those are ok, as are the kernels of Ubuntu 22.04 that the operator's driver containers
support, and those of a minor of RHEL or Rocky Linux that it lists, where `os` says that it is one. Any other kernel
stream, those of Container-Optimized OS, SLES, Talos, Flatcar, Azure Linux or Amazon Linux among them, is unknown and
has to be tried on the canary; a real-time or 64k kernel is a build of its own. On OpenShift the driver is compiled
against the Driver Toolkit image of the node's build: that one exists is seen on the node, by a label its operator sets,
not in a table.""",
    inputs=(Component.GPU_DRIVER, Component.KERNEL, Component.OPENSHIFT, Component.OS, Component.GPU_OPERATOR),
    needs=(Component.GPU_DRIVER, Component.KERNEL),
    sources=(
        "driver.min_kernel_by_branch",
        "driver.precompiled",
        "driver.container_kernels",
        "operating_systems.gpu_operator",
        "gpu_operator.releases.*.documented with openshift.releases.*.kernel_stream",
        "driver.seen_on_kernel (yours)",
    ),
    judge=judge_driver_kernel,
)


# ── openshift-kernel ──────────────────────────────────────────────────────────────────────────────────────────────────


def judge_openshift_kernel(case: Case) -> Iterator[Answer]:
    """Is the kernel of the stream this OpenShift ships?"""
    row, kernel = case.openshift_release, case.kernel
    yield from case.unreadable(Component.OPENSHIFT)
    if case.openshift is not None and row is None:
        yield _no_openshift(case)
    if row is None:
        yield from case.unreadable(Component.KERNEL)
    elif kernel is not None and _is_of(kernel, row):
        yield ok(f"Kernel {kernel} is of OpenShift {row.line}'s stream {_expected(row)}.", row.kernel_cite)
    else:
        value = case.stack[Component.KERNEL]
        yield fail(
            f"OpenShift {row.line} has kernels of the stream {_expected(row)}; {value.text if value else ''!r} is "
            "none.",
            "Write the node's own kernel, or leave it out until it is known: the release payload names it.",
            row.kernel_cite,
            spans=case.spans(Component.KERNEL, Component.OPENSHIFT),
        )


def _is_of(kernel: KernelVersion, row: OpenShiftRelease) -> bool:
    return (kernel.stream, kernel.dist) == (row.kernel_stream, row.kernel_dist)


def _expected(row: OpenShiftRelease) -> str:
    return f"{row.kernel_stream}.*.{row.kernel_dist} (RHEL {row.rhel})"


OPENSHIFT_KERNEL: Final = Rule(
    id="openshift-kernel",
    title="The kernel is one this OpenShift ships",
    meaning="""\
Each OpenShift minor stays on one RHEL minor and so on one kernel stream: 4.16 to 4.18 are RHEL 9.4, 5.14.0-427. A
kernel of another stream cannot be on its nodes. The exact build of a z-stream is not judged here: the release payload
names it.""",
    inputs=(Component.OPENSHIFT, Component.KERNEL),
    sources=("openshift.releases.*.kernel_stream",),
    applies=lambda case: case.has(Component.OPENSHIFT, Component.KERNEL),
    judge=judge_openshift_kernel,
)


# ── openshift-kubernetes ──────────────────────────────────────────────────────────────────────────────────────────────


def judge_openshift_kubernetes(case: Case) -> Iterator[Answer]:
    """Is this the Kubernetes inside this OpenShift?"""
    row, kubernetes = case.openshift_release, case.kubernetes
    if row is None or row.kubernetes is None:
        yield _no_openshift(case)
    elif kubernetes is not None and Line.of(kubernetes) == row.kubernetes:
        yield ok(f"OpenShift {row.line} is Kubernetes {row.kubernetes}.", row.kubernetes_cite)
    else:
        yield fail(
            f"OpenShift {row.line} is Kubernetes {row.kubernetes}, found {kubernetes}.",
            f"Leave kubernetes out, or write {row.kubernetes} with the patch the cluster reports.",
            row.kubernetes_cite,
            spans=case.spans(Component.KUBERNETES, Component.OPENSHIFT),
        )


OPENSHIFT_KUBERNETES: Final = Rule(
    id="openshift-kubernetes",
    title="The Kubernetes is the one inside this OpenShift",
    meaning="""\
Each OpenShift minor is built on one Kubernetes minor (4.20 on 1.33). Who writes both has to write the pair; another
one fails, because one of the two is not what runs.""",
    inputs=(Component.OPENSHIFT, Component.KUBERNETES),
    needs=(Component.OPENSHIFT, Component.KUBERNETES),
    sources=("openshift.releases.*.kubernetes",),
    judge=judge_openshift_kubernetes,
)


# ── mofed-kernel ──────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_mofed_kernel(case: Case) -> Iterator[Answer]:
    """Does the driver container of this Network Operator know the system the nodes run?"""
    release = case.network_release
    yield from case.unreadable(Component.OPENSHIFT if case.has(Component.OPENSHIFT) else Component.KERNEL)
    if release is None:
        yield no_release(case, Component.NETWORK_OPERATOR, case.network_operator)
    elif case.openshift is not None and case.openshift_release is None:
        yield _no_openshift(case)
    elif case.openshift_release is not None:
        yield _on_rhel(case, release, case.openshift_release.rhel)
    elif case.kernel is not None:
        minor = _rhel_of(case.kernel)
        yield _on_rhel(case, release, minor) if minor else _on_ubuntu(case, release, case.kernel)


def _rhel_of(kernel: KernelVersion) -> Line | None:
    match = _DIST.fullmatch(kernel.dist or "")
    return Line.parse(f"{match['major']}.{match['minor']}") if match else None


def _on_rhel(case: Case, release: NetworkOperatorRelease, minor: Line) -> Answer:
    added, platform = case.facts.rhel_added(minor), case.openshift_release
    cite = platform.rhel_cite if platform is not None else None
    spans = case.spans(Component.NETWORK_OPERATOR, Component.OPENSHIFT if platform else Component.KERNEL)
    where = f"RHEL {minor}" + (f" (OpenShift {platform.line})" if platform else "")
    if added is None:
        return _never_named(case, release, minor, where)
    if release.version >= added.since:
        return ok(
            f"Network Operator {release.version} builds MOFED on {where}: added in {added.since}.", added.cite, cite
        )
    return fail(
        f"MOFED of Network Operator {release.version} does not build on {where}: support was added in {added.since}.",
        f"Take network_operator {added.since} or newer.",
        added.cite,
        cite,
        spans=spans,
    )


def _never_named(case: Case, release: NetworkOperatorRelease, minor: Line, where: str) -> Answer:
    """The notes begin with v23.10.0: what was supported before is never named in them."""
    named = [each for row in case.facts.rhel_support for each in row.minors if each.first == minor.first]
    carrier = _carrier(case, release, minor)
    if named and minor < min(named) and carrier is not None and release.documented is not None:
        return ok(
            f"Network Operator {release.version} is documented on OpenShift {carrier.line}, so it builds on {where}.",
            release.documented.cite,
            carrier.rhel_cite,
        )
    return unknown(
        f"No release note says whether MOFED of Network Operator {release.version} builds on {where}; the newest minor "
        "of "
        f"its major they name is {max(named, default='none')}.",
        "Try it on the canary, then accept the rule with what was seen.",
        case.facts.cite("mofed_kernel.rhel_added_by_release"),
        spans=case.spans(Component.NETWORK_OPERATOR, Component.OPENSHIFT),
    )


def _carrier(case: Case, release: NetworkOperatorRelease, minor: Line) -> OpenShiftRelease | None:
    """An OpenShift of this RHEL minor for which the release is documented."""
    lines = release.documented.openshift if release.documented is not None else None
    rows = [row for row in case.facts.openshifts.values() if row.rhel == minor]
    return next((row for row in rows if lines is not None and lines.contains(row.line)), None)


def _on_ubuntu(case: Case, release: NetworkOperatorRelease, kernel: KernelVersion) -> Answer:
    spans = case.spans(Component.NETWORK_OPERATOR, Component.KERNEL)
    bound = next((row for row in case.facts.validated_kernels if row.operator_line == release.line), None)
    first = _first_kernel(case, release, kernel)
    if bound is None and first is not None:
        return first
    if bound is None:
        return unknown(
            f"No document read says up to which kernel MOFED of Network Operator {release.version} was validated.",
            "Try it on the canary, then accept the rule with what was seen.",
            spans=spans,
        )
    is_ubuntu = kernel.dist is None and not kernel.is_foreign
    if not is_ubuntu or (kernel.flavour != bound.kernel.flavour and kernel.base == bound.kernel.base):
        return unknown(
            f"MOFED of Network Operator {release.line} was validated up to kernel {bound.kernel}, which says nothing "
            f"about {_stream(kernel)}{_system(kernel)}: systems and flavours count their builds by themselves.",
            "Try it on the canary, then accept the rule with what was seen.",
            bound.cite,
            spans=spans,
        )
    if (kernel.base, kernel.z) <= (bound.kernel.base, bound.kernel.z):
        return ok(f"MOFED of Network Operator {release.line} was validated up to kernel {bound.kernel}.", bound.cite)
    return warn(
        f"MOFED of Network Operator {release.line} was validated up to kernel {bound.kernel}; {kernel} is newer.",
        "Try it on the canary, then accept the rule with what was seen.",
        bound.cite,
        spans=spans,
    )


def _first_kernel(case: Case, release: NetworkOperatorRelease, kernel: KernelVersion) -> Answer | None:
    """The kernel that a listed Ubuntu came with: driver containers are even built for it beforehand."""
    system, wanted = case.system, (Component.NETWORK_OPERATOR, release.line)
    table = next((row for row in case.facts.systems if (row.operator, row.line) == wanted), None)
    if system is None or table is None or kernel.flavour != "generic" or system not in table.listed:
        return None
    came = next((row for row in case.facts.oldest_kernels if row.system == system), None)
    if came is None or Line.of(kernel) != came.kernel:
        return None
    return ok(
        f"Network Operator {release.version} lists os {system}, and kernel {kernel} is of the {came.kernel} that it "
        "came with, for which driver containers exist precompiled too.",
        table.cite,
        came.cite,
        case.facts.cite("mofed_kernel.precompiled"),
    )


MOFED_KERNEL: Final = Rule(
    id="mofed-kernel",
    title="MOFED builds on the nodes' kernel",
    meaning="""\
The driver container is compiled for the node's kernel, so every kernel change is a rebuild. Release notes say which
RHEL minors a Network Operator added (9.4 in 24.7, 9.6 in 25.7, 10.0 in 25.10); a minor added only later fails. Minors
the notes never name are taken from the documented OpenShift releases when they are older, and are unknown when they are
newer. On Ubuntu the newest validated kernel is known for 26.1 only; of other lines, the generic kernel that a listed
Ubuntu came with is ok, where `os` says which it is. Without a mofed key, the operator's own MOFED is meant.""",
    inputs=(Component.NETWORK_OPERATOR, Component.MOFED, Component.OPENSHIFT, Component.KERNEL, Component.OS),
    needs=(Component.NETWORK_OPERATOR,),
    applies=lambda case: case.has(Component.OPENSHIFT) or case.has(Component.KERNEL),
    sources=(
        "mofed_kernel.rhel_added_by_release",
        "mofed_kernel.validated_upper_kernel",
        "mofed_kernel.precompiled",
        "operating_systems.network_operator",
        "operating_systems.oldest_kernel",
        "openshift.releases.*.rhel",
    ),
    judge=judge_mofed_kernel,
)


# ── sriov-openshift ───────────────────────────────────────────────────────────────────────────────────────────────────


def judge_sriov_openshift(case: Case) -> Iterator[Answer]:
    """Is the SR-IOV operator the one cut for this OpenShift?"""
    row, sriov = case.openshift_release, case.sriov
    if sriov is None:
        return
    if row is None or row.sriov is None:
        yield _no_openshift(case)
        return
    spans = case.spans(Component.SRIOV_OPERATOR, Component.OPENSHIFT)
    behind = row.sriov.second - sriov.minor if row.sriov.first == sriov.major else None
    if behind == 0:
        yield ok(f"SR-IOV operator {sriov} is cut for OpenShift {row.line}.", row.sriov_cite)
    elif behind == 1:
        yield warn(
            f"SR-IOV operator {sriov} is one minor behind OpenShift {row.line}, which is normal just after an "
            "OpenShift step.",
            f"Upgrade it to {row.sriov} next.",
            row.sriov_cite,
            spans=spans,
        )
    else:
        yield fail(
            f"SR-IOV operator {sriov} does not belong on OpenShift {row.line}: it is cut per OpenShift minor, and the "
            "one "
            f"of this minor is {row.sriov}.",
            f"Take {row.sriov}.",
            row.sriov_cite,
            spans=spans,
        )


SRIOV_OPENSHIFT: Final = Rule(
    id="sriov-openshift",
    title="The SR-IOV operator is the one of this OpenShift",
    meaning="""\
Red Hat cuts the SR-IOV operator per OpenShift minor. The same minor is ok; one behind warns, because it is the state
between an OpenShift step and the operator's; newer, or further behind, fails.""",
    inputs=(Component.SRIOV_OPERATOR, Component.OPENSHIFT),
    needs=(Component.SRIOV_OPERATOR, Component.OPENSHIFT),
    sources=("openshift.releases.*.sriov_operator_csv",),
    judge=judge_sriov_openshift,
)
