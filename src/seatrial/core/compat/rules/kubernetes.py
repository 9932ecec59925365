"""Where a release of the two operators runs: Kubernetes without OpenShift.

Documents give a range of minors, and tables give more: a column for each distribution, a row for each system. A
distribution that a table has no column for, or no cell on this system, is unknown: the range of upstream's own build
says nothing about it.

Tests: tests/core/compat/test_rules_kubernetes.py and test_rules_listed.py, and test_rules_verdicts.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import Cite, GpuOperatorRelease, Lines, NetworkOperatorRelease, Support
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, ok, unknown, warn
from seatrial.core.compat.rules.distributions import AKS, DISTRIBUTIONS, distribution_of
from seatrial.core.compat.rules.openshift import no_gpu_release, no_network_release
from seatrial.core.compat.rules.systems import covers, named
from seatrial.core.compat.versions import KubernetesVersion, Line
from seatrial.core.text.names import a_few

UNSIGNED: Final = {"azure": AKS}
"""A cloud that does not sign its Kubernetes, by the flavour of its kernels."""


def _on_kubernetes(
    case: Case,
    name: str,
    kubernetes: KubernetesVersion,
    release: GpuOperatorRelease | NetworkOperatorRelease,
    least: Line | None,
) -> Answer:
    own = distribution_of(kubernetes)
    if least is not None and Line.of(kubernetes) < least:
        return fail(
            f"The chart of {name} refuses Kubernetes {kubernetes.line}: it needs {least} or newer.",
            f"Take Kubernetes {least} or newer.",
            release.cite,
            spans=case.spans(_operator(release), Component.KUBERNETES),
        )
    if own:
        return _on_distribution(case, name, kubernetes, release, own, is_strict=least is None)
    return _on_upstream(case, name, kubernetes, release, is_strict=least is None)


def _on_upstream(
    case: Case,
    name: str,
    kubernetes: KubernetesVersion,
    release: GpuOperatorRelease | NetworkOperatorRelease,
    *,
    is_strict: bool,
) -> Answer:
    support = release.documented
    platform, lines = _range_of(case, support)
    spans = case.spans(_operator(release), Component.KUBERNETES)
    if support is None or lines is None:
        return unknown(
            f"No document read says on which Kubernetes {name} runs.",
            "Read its release notes, then accept the rule.",
            release.cite,
            spans=spans,
        )
    outside = _narrower(support, kubernetes) if not platform else {}
    if lines.contains(kubernetes) and outside:
        told = ", ".join(f"{each} {narrow}" for each, narrow in outside.items())
        return warn(
            f"{name} is documented for Kubernetes {lines}, but not everywhere for {kubernetes.line}: {told}.",
            "Write os, so that the right row can be read, or take a release documented for it.",
            support.cite,
            spans=spans,
        )
    return _in_range(case, name, kubernetes, (lines,), platform, support.cite, release, is_strict=is_strict)


def _on_distribution(
    case: Case,
    name: str,
    kubernetes: KubernetesVersion,
    release: GpuOperatorRelease | NetworkOperatorRelease,
    own: str,
    *,
    is_strict: bool,
) -> Answer:
    """By the column of the table, and its cell on this system; a range of the release itself is narrower."""
    table = [row for row in case.facts.distributions if (row.operator, row.line) == (_operator(release), release.line)]
    column, system = [row for row in table if row.name == own], case.system
    of_release = release.documented.kubernetes_by_platform.get(own) if release.documented is not None else None
    spans = case.spans(_operator(release), Component.KUBERNETES, Component.OS)
    if not column and (of_release is None or release.documented is None):
        listed = list(dict.fromkeys(row.name for row in table))
        among = f": its table has {a_few(listed, 8)}" if listed else ", and no table of them was read"
        return unknown(
            f"No document read says whether {name} runs on the Kubernetes of {own} ({kubernetes}){among}.",
            "Ask whoever builds this Kubernetes, then accept the rule with their answer.",
            *(row.cite for row in table[:1]),
            release.documented.cite if release.documented is not None else release.cite,
            spans=spans,
        )
    cells = [row for row in column if system is None or any(covers(each, system) for each in row.systems)]
    if column and not cells and system is not None:
        listed = list(dict.fromkeys(named(each) for row in column for each in row.systems))
        return unknown(
            f"{name} lists {own} on {a_few(listed, 8)}, and not on {named(system)} (os {system}).",
            "Take a listed system, or accept the rule with what was seen.",
            column[0].cite,
            spans=spans,
        )
    ranges = (of_release,) if of_release is not None else tuple(row.lines for row in cells)
    cite = cells[0].cite if cells else release.cite
    if of_release is not None and release.documented is not None:
        cite = release.documented.cite
    return _in_range(case, name, kubernetes, ranges, own, cite, release, is_strict=is_strict)


def _in_range(
    case: Case,
    name: str,
    kubernetes: KubernetesVersion,
    ranges: tuple[Lines, ...],
    platform: str,
    cite: Cite,
    release: GpuOperatorRelease | NetworkOperatorRelease,
    *,
    is_strict: bool,
) -> Answer:
    spans = case.spans(_operator(release), Component.KUBERNETES)
    where = f"Kubernetes {kubernetes.line}" + (f" on {platform}" if platform else "")
    told = ", ".join(dict.fromkeys(map(str, ranges)))
    inside = [lines.contains(kubernetes) for lines in ranges]
    if all(inside):
        return ok(f"{name} is documented for {where} ({told}).", cite)
    if any(inside) or all(lines.is_below(kubernetes) for lines in ranges) or not is_strict:
        return warn(
            f"{name} is documented for Kubernetes {told}, not for {where}: no source says that it was tested.",
            "Take a release documented for it, or accept the rule with a reason.",
            cite,
            spans=spans,
        )
    return fail(
        f"{name} does not support {where}: it is documented for {told}.",
        "Take a release documented for it.",
        cite,
        spans=spans,
    )


def _operator(release: GpuOperatorRelease | NetworkOperatorRelease) -> Component:
    return Component.GPU_OPERATOR if isinstance(release, GpuOperatorRelease) else Component.NETWORK_OPERATOR


def _range_of(case: Case, support: Support | None) -> tuple[str, Lines | None]:
    """The platform whose own range counts, empty where none does, and the range."""
    if support is None:
        return "", None
    cloud = UNSIGNED.get((case.kernel.flavour or "") if case.kernel is not None else "", "")
    for platform in (cloud, _system(case)):
        if platform in support.kubernetes_by_platform:
            return platform, support.kubernetes_by_platform[platform]
    return "", support.kubernetes


def _system(case: Case) -> str:
    """The system as documents print it: `Ubuntu 24.04`, `RHEL`."""
    system = case.system
    if system is None:
        return ""
    return {"rhel": "RHEL", "rocky": "Rocky Linux", "ubuntu": named(system)}.get(system.name, "")


def _narrower(support: Support, kubernetes: KubernetesVersion) -> dict[str, Lines]:
    """Systems whose own range leaves this Kubernetes out; a distribution's counts only where it is that one."""
    return {
        name: lines
        for name, lines in support.kubernetes_by_platform.items()
        if name not in DISTRIBUTIONS and not lines.contains(kubernetes)
    }


def judge_gpuop_kubernetes(case: Case) -> Iterator[Answer]:
    """Documents about the GPU Operator on this Kubernetes."""
    release = case.gpu_release
    if release is None:
        yield no_gpu_release(case)
    elif case.kubernetes is not None:
        yield _on_kubernetes(case, f"GPU Operator {release.version}", case.kubernetes, release, None)


def judge_netop_kubernetes(case: Case) -> Iterator[Answer]:
    """Documents and chart of the Network Operator about this Kubernetes."""
    release = case.network_release
    if release is None:
        yield no_network_release(case)
    elif case.kubernetes is not None:
        yield _on_kubernetes(
            case, f"Network Operator {release.version}", case.kubernetes, release, release.chart_kubernetes_min
        )


def _is_plain(case: Case) -> bool:
    """On OpenShift, vendors state support by OpenShift's version; that of its Kubernetes says nothing more."""
    return not case.has(Component.OPENSHIFT)


GPUOP_KUBERNETES: Final = Rule(
    id="gpuop-kubernetes",
    title="The GPU Operator runs on this Kubernetes",
    meaning="""\
Where there is no OpenShift, NVIDIA's documented range of Kubernetes minors decides: inside is ok, newer than the range
is untested and warns, older fails. A patch release counts as its minor. Documents differ by platform: EKS, GKE, RKE2,
K3s, k0s and VKS, told by how they sign their versions, have a column of their own, and AKS, told by its kernels, has
one where its documents do. The range of the system that `os` names counts; what only some systems include warns where
nobody says which it is. A distribution without a column, or without a cell on this system, is unknown.""",
    inputs=(Component.GPU_OPERATOR, Component.KUBERNETES, Component.KERNEL, Component.OS),
    needs=(Component.GPU_OPERATOR, Component.KUBERNETES),
    applies=_is_plain,
    sources=(
        "gpu_operator.releases.*.documented.kubernetes",
        "gpu_operator.releases.*.documented.kubernetes_by_platform",
        "kubernetes_distributions.gpu_operator",
    ),
    judge=judge_gpuop_kubernetes,
)
NETOP_KUBERNETES: Final = Rule(
    id="netop-kubernetes",
    title="The Network Operator runs on this Kubernetes",
    meaning="""\
Where there is no OpenShift: inside the documented range is ok, outside of it warns, and below what the chart accepts
fails, because Helm refuses to install it. The range is that of upstream's own Kubernetes; RKE2 has a column with SLES
alone, and a distribution without one is unknown.""",
    inputs=(Component.NETWORK_OPERATOR, Component.KUBERNETES, Component.KERNEL, Component.OS),
    needs=(Component.NETWORK_OPERATOR, Component.KUBERNETES),
    applies=_is_plain,
    sources=(
        "network_operator.releases.*.documented.kubernetes",
        "network_operator.releases.*.chart_kube_version",
        "kubernetes_distributions.network_operator",
    ),
    judge=judge_netop_kubernetes,
)
