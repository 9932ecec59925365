"""The operating system of the nodes: is it one that the operators list, and is the kernel of it?

A system is known by `os`, and on OpenShift without it. A kernel alone tells the minor of RHEL (`el9_6`), but not
whether it is RHEL or a rebuild of it.

Tests: tests/core/compat/test_rules_systems.py, and test_rules_verdicts.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import GpuOperatorRelease, NetworkOperatorRelease, SystemList
from seatrial.core.compat.matrix import Component, Span
from seatrial.core.compat.rules.cases import NAMES as OPERATORS
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, nothing_known, ok, unknown, warn
from seatrial.core.compat.rules.openshift import no_gpu_release, no_network_release
from seatrial.core.compat.versions import KernelVersion, Line, SystemVersion
from seatrial.core.text.names import a_few

NAMES: Final = {
    "rhcos": "Red Hat CoreOS",
    "rhel": "RHEL",
    "rocky": "Rocky Linux",
    "ubuntu": "Ubuntu",
    "cos": "Container-Optimized OS",
    "sles": "SUSE Linux Enterprise Server",
}
REBUILDS: Final = frozenset({"rhel", "rocky", "almalinux", "alma", "centos", "ol", "oracle", "rhcos", "scos"})
"""Systems whose kernels are RHEL's, and are named like them."""
OWN_KERNELS: Final = {
    "Container-Optimized OS": ("cos",),
    "SUSE Linux Enterprise": ("sles", "sle", "suse", "opensuse", "opensuse-leap", "sle-micro"),
    "Talos": ("talos",),
    "Flatcar": ("flatcar",),
    "Azure Linux": ("azurelinux", "azl", "mariner", "cbl-mariner"),
    "Amazon Linux": ("amzn", "al", "amazon", "amazonlinux", "amazon-linux", "bottlerocket"),
}
"""The names of systems whose kernels say whose they are."""
_DIST: Final = re.compile(r"el(?P<major>[0-9]+)(?:_(?P<minor>[0-9]+))?")
_CUSTOM: Final = frozenset({"generic", "aws", "azure", "gcp", "gke", "oracle", "nvidia", "lowlatency"})
"""Flavours that only Ubuntu builds."""


def system_of(case: Case) -> SystemVersion | None:
    """The system of the nodes: as written; that of OpenShift's nodes is Red Hat CoreOS."""
    if case.system is None and case.has(Component.OPENSHIFT) and not case.has(Component.OS):
        return RHCOS
    return case.system


RHCOS: Final = SystemVersion.parse("rhcos")


def covers(row: SystemVersion, system: SystemVersion) -> bool:
    """Whether a document's system is this one; one that names a major alone means all its minors."""
    return row.name == system.name and system.numbers[: len(row.numbers)] == row.numbers


def named(system: SystemVersion) -> str:
    """A system as documents print it: `Ubuntu 24.04`, `RHEL 9.6`."""
    name = NAMES.get(system.name, system.name)
    if system.name == "ubuntu" and len(system.numbers) == 2:
        return f"{name} {system.numbers[0]}.{system.numbers[1]:02}"
    return " ".join([name, ".".join(map(str, system.numbers))]).strip()


# ── gpuop-os, netop-os ────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gpuop_os(case: Case) -> Iterator[Answer]:
    """Do the documents of this line of the GPU Operator list the system?"""
    yield from case.unreadable(Component.OS)
    if not case.has(Component.OS):
        yield from _by_kernel(case)
    elif case.gpu_release is None:
        yield no_gpu_release(case)
    else:
        yield from _on_system(case, Component.GPU_OPERATOR, case.gpu_release)


def judge_netop_os(case: Case) -> Iterator[Answer]:
    """Do the documents of this line of the Network Operator list the system?"""
    if case.network_release is None:
        yield no_network_release(case)
    else:
        yield from _on_system(case, Component.NETWORK_OPERATOR, case.network_release)


def _table(case: Case, operator: Component, line: str) -> SystemList | None:
    return next((row for row in case.facts.systems if (row.operator, row.line) == (operator, line)), None)


def _on_system(
    case: Case, operator: Component, release: GpuOperatorRelease | NetworkOperatorRelease
) -> Iterator[Answer]:
    table = _table(case, operator, release.line)
    if table is None:
        newest = "".join([row.line for row in case.facts.systems if row.operator is operator][-1:])
        what = f"the systems of {OPERATORS[operator]} {release.line}"
        yield nothing_known(what, newest, case.facts, case.spans(Component.OS, operator))
    elif case.system is not None:
        yield _refused(case, table, case.system) or _listed(case, table, case.system)


def _refused(case: Case, table: SystemList, system: SystemVersion) -> Answer | None:
    """What a document says no to, in so many words."""
    for row in case.facts.refused_systems:
        if row.cpu:
            continue  # for these CPUs alone: see gpuop-cpu
        if row.operator is table.operator and covers(row.system, system) and Line.parse(table.line) >= row.since:
            return fail(
                f"{OPERATORS[table.operator]} {table.line} does not support {named(system)} (os {system}): {row.said}.",
                "Take a listed system.",
                row.cite,
                table.cite,
                spans=case.spans(Component.OS, table.operator),
            )
    return None


def _listed(case: Case, table: SystemList, system: SystemVersion) -> Answer:
    who, spans = f"{OPERATORS[table.operator]} {table.line}", case.spans(Component.OS, table.operator)
    is_openshift = case.has(Component.OPENSHIFT)
    if is_openshift and system.name != "rhcos":
        return warn(
            f"{who} lists OpenShift with Red Hat CoreOS, and os is {system} ({named(system)}).",
            "Write rhcos, or leave os out on OpenShift.",
            table.cite,
            spans=spans,
        )
    if any(covers(row, system) for row in table.listed) and (is_openshift or system.name != "rhcos"):
        return ok(f"{who} lists {named(system)} (os {system}).", table.cite)
    if system.name in table.google_installs:
        return _on_google(case, table, system)
    if any(covers(row, system) for row in table.by_partner):
        return warn(
            f"{who} runs on {named(system)} (os {system}) as a partner's configuration: with his driver images, and "
            "supported by him.",
            "Take the partner's guide and images, then accept the rule with a reason.",
            table.cite,
            spans=spans,
        )
    beside = [named(row) for row in table.listed if row.name == system.name]
    listed = beside or list(dict.fromkeys(NAMES.get(row.name, row.name) for row in table.listed))
    return unknown(
        f"{who} does not list {named(system)} (os {system}): it lists {a_few(listed, 8)}. Whether there is a driver "
        "image for another, nobody says.",
        "Take a listed system, or install the driver on the node and accept the rule with what was seen.",
        table.cite,
        spans=spans,
    )


def _on_google(case: Case, table: SystemList, system: SystemVersion) -> Answer:
    kubernetes = case.kubernetes
    if kubernetes is not None and "-gke." in kubernetes.text:
        return ok(
            f"GPU Operator {table.line} lists {named(system)} (os {system}) on GKE, where Google's installer brings "
            "the driver.",
            table.cite,
        )
    return unknown(
        f"GPU Operator {table.line} lists {named(system)} (os {system}) on GKE only, and the matrix does not say that "
        "this is GKE.",
        "Write kubernetes as GKE prints it (v1.34.4-gke.1000).",
        table.cite,
        spans=case.spans(Component.OS, Component.GPU_OPERATOR),
    )


def _by_kernel(case: Case) -> Iterator[Answer]:
    """What a kernel says without `os`; nothing where a listed system may have it."""
    release, kernel, spans = case.gpu_release, case.kernel, case.spans(Component.KERNEL, Component.GPU_OPERATOR)
    table = _table(case, Component.GPU_OPERATOR, release.line) if release is not None else None
    if table is None or kernel is None:
        return
    match = _DIST.fullmatch(kernel.dist or "")
    if kernel.system == "Container-Optimized OS":
        yield _listed(case, table, SystemVersion.parse("cos"))
    elif kernel.system:
        yield unknown(
            f"GPU Operator {table.line} does not list {kernel.system}, of which kernel {kernel} is.",
            "Write os, and install the driver as the system's own guide says; then accept the rule with a reason.",
            table.cite,
            spans=spans,
        )
    elif match is not None and match["minor"] is not None:
        numbers = (int(match["major"]), int(match["minor"]))
        if not any(row.numbers == numbers for row in table.listed if row.name in REBUILDS):
            minor = f"{numbers[0]}.{numbers[1]}"
            yield unknown(
                f"Kernel {kernel} is of RHEL {minor} or a rebuild of it, and GPU Operator {table.line} lists no "
                f"{minor} of either.",
                "Take a listed minor, or accept the rule with what was seen.",
                table.cite,
                spans=spans,
            )


def _tells_a_system(case: Case) -> bool:
    return case.has(Component.OS) or (case.has(Component.KERNEL) and not case.has(Component.OPENSHIFT))


GPUOP_OS: Final = Rule(
    id="gpuop-os",
    title="The GPU Operator lists the operating system",
    meaning="""\
NVIDIA lists the systems of each line of the GPU Operator, RHEL and Rocky Linux by their minors: listed is ok. What is
not listed is unknown, since nobody says whether there is a driver image for it; what a page says no to (Amazon Linux 2)
fails. SUSE's is a partner's configuration and warns. Container-Optimized OS is listed on GKE alone, with Google's
driver installer. Without `os`, a kernel that tells a system that is not listed is unknown, and never says ok.""",
    inputs=(Component.GPU_OPERATOR, Component.OS, Component.KERNEL, Component.OPENSHIFT, Component.KUBERNETES),
    needs=(Component.GPU_OPERATOR,),
    applies=_tells_a_system,
    sources=("operating_systems.gpu_operator", "operating_systems.not_supported"),
    judge=judge_gpuop_os,
)


NETOP_OS: Final = Rule(
    id="netop-os",
    title="The Network Operator lists the operating system",
    meaning="""\
As gpuop-os, by the Network Operator's own list, which has other minors of RHEL, SLES, and no Rocky Linux: listed is ok,
what its notes say was removed (Ubuntu 20.04) fails, and anything else is unknown. Without `os` it says nothing: what a
kernel tells is for mofed-kernel.""",
    inputs=(Component.NETWORK_OPERATOR, Component.OS, Component.OPENSHIFT),
    needs=(Component.NETWORK_OPERATOR, Component.OS),
    sources=("operating_systems.network_operator", "operating_systems.not_supported"),
    judge=judge_netop_os,
)


# ── os-kernel ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_os_kernel(case: Case) -> Iterator[Answer]:
    """Is the kernel one that this system has, as far as its name tells?"""
    system, kernel = case.system, case.kernel
    if system is None or kernel is None:
        return
    spans = case.spans(Component.OS, Component.KERNEL)
    match = _DIST.fullmatch(kernel.dist or "")
    owners = OWN_KERNELS.get(kernel.system, ())
    if match is not None:
        yield from _of_rhel(case, system, kernel, match)
    elif owners:
        if system.name in owners:
            yield ok(f"Kernel {kernel} is of {kernel.system}, as os {system} says.")
        else:
            yield _contradiction(f"Kernel {kernel} is of {kernel.system}, and os is {system}.", spans)
    elif kernel.flavour in _CUSTOM and system.name != "ubuntu":
        yield _contradiction(f"Kernel {kernel} is of Ubuntu, and os is {system}.", spans)
    elif kernel.flavour in _CUSTOM:
        yield ok(f"Kernel {kernel} is of Ubuntu, as os {system} says; the name says no more.")


def _of_rhel(case: Case, system: SystemVersion, kernel: KernelVersion, match: re.Match[str]) -> Iterator[Answer]:
    spans = case.spans(Component.OS, Component.KERNEL)
    told = ".".join(number for number in (match["major"], match["minor"]) if number)
    numbers = tuple(int(number) for number in (match["major"], match["minor"]) if number)
    if system.name not in REBUILDS or (system.name not in ("rhcos", "scos") and system.numbers[:1] != numbers[:1]):
        yield _contradiction(f"Kernel {kernel} is of RHEL {told} or a rebuild of it, and os is {system}.", spans)
    elif system.name in ("rhcos", "scos"):
        return  # whose kernel it has, openshift-kernel says
    elif len(numbers) == len(system.numbers) and numbers != system.numbers:
        yield warn(
            f"Kernel {kernel} is of {told}, and os is {system}: the node was not restarted since its minor changed, or "
            "one of the two is wrong.",
            "Write both as the node reports them, or restart it.",
            spans=spans,
        )
    else:
        yield ok(f"Kernel {kernel} is of {told}, as os {system} says.")


def _contradiction(message: str, spans: tuple[Span, ...]) -> Answer:
    return fail(message, "Write both as one node reports them (osImage and kernelVersion).", spans=spans)


OS_KERNEL: Final = Rule(
    id="os-kernel",
    title="The kernel is of the operating system",
    meaning="""\
A kernel's name tells whose it is: `el9_6` is of RHEL 9.6 or a rebuild of it, `-generic` of Ubuntu, a plus at the end of
Container-Optimized OS. Another system in `os` fails, since one of the two is wrong and every rule that reads it would
be too; another minor warns. A name that tells nothing is not judged, and it is never unknown.""",
    inputs=(Component.OS, Component.KERNEL),
    needs=(Component.OS, Component.KERNEL),
    sources=("the names of kernels",),
    judge=judge_os_kernel,
)
