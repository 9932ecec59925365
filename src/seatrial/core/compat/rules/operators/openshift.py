"""Where a release of the two operators runs: OpenShift and Kubernetes.

It is told by more than one document, and they disagree for most releases:

    documented   what NVIDIA supports
    bundle       what the OpenShift catalogue will install
    tested       what Red Hat's end-to-end tests saw working

    in both → ok        in one → ok if tested, else warn        in neither → warn if tested, else fail

Tests: tests/core/test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import GpuOperatorRelease, Lines, NetworkOperatorRelease, Support
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, no_release, nothing_known, ok, unknown, warn
from seatrial.core.compat.versions import KubernetesVersion, Line, OpenShiftVersion


def no_gpu_release(case: Case) -> Answer:
    """Nothing is known of this release of the GPU Operator."""
    return no_release(case, Component.GPU_OPERATOR, case.gpu_operator)


def no_network_release(case: Case) -> Answer:
    """Nothing is known of this release of the Network Operator."""
    return no_release(case, Component.NETWORK_OPERATOR, case.network_operator)


def _no_openshift(case: Case) -> Answer:
    return nothing_known(
        f"OpenShift {case.openshift}", case.facts.newest_openshift, case.facts, case.spans(Component.OPENSHIFT)
    )


def judge_gpuop_openshift(case: Case) -> Iterator[Answer]:
    """Documents, catalogue and tests about the GPU Operator on this OpenShift."""
    release, openshift = case.gpu_release, case.openshift
    if release is None:
        yield no_gpu_release(case)
    elif openshift is not None and case.openshift_release is None:
        yield _no_openshift(case)
    elif openshift is not None:
        yield _on_openshift(
            case, f"GPU Operator {release.version}", openshift, release, tested=Line.of(openshift) in release.tested
        )


def judge_netop_openshift(case: Case) -> Iterator[Answer]:
    """Documents and catalogue about the Network Operator on this OpenShift."""
    release, openshift = case.network_release, case.openshift
    if release is None:
        yield no_network_release(case)
    elif openshift is not None and case.openshift_release is None:
        yield _no_openshift(case)
    elif openshift is not None:
        yield _on_openshift(case, f"Network Operator {release.version}", openshift, release, tested=False)


def _on_openshift(
    case: Case,
    name: str,
    openshift: OpenShiftVersion,
    release: GpuOperatorRelease | NetworkOperatorRelease,
    *,
    tested: bool,
) -> Answer:
    said, offered = _openshift_of(release.documented), _openshift_of(release.bundle)
    told = [each.openshift for each in (said, offered) if each is not None and each.openshift is not None]
    spans = case.spans(*_operator_and_platform(release))
    cites = [each.cite for each in (said, offered) if each is not None]
    tests = release.tested_cite if tested and isinstance(release, GpuOperatorRelease) else None
    holds = [lines.contains(openshift) for lines in told]
    where = f"OpenShift {openshift.line}"
    if not told:
        return unknown(
            f"No document read says where {name} runs.",
            "Read its release notes, then accept the rule.",
            release.cite,
            spans=spans,
        )
    scope = _scope(said, offered)
    if all(holds) and said is not None:
        return ok(f"{name} runs on {where} ({scope}).", *cites)
    if isinstance(release, NetworkOperatorRelease) and said is not None and holds[0]:
        # Its catalogue's annotation is carried over from release to release; the documents are what is supported.
        return ok(f"{name} runs on {where}: so its documents say, although {_annotation(offered)} ({scope}).", *cites)
    if any(holds):
        if tested:
            return ok(
                f"{name} runs on {where}: only one source includes it ({scope}), but tests passed there.", *cites, tests
            )
        return warn(
            f"{name} on {where} is included by only one of its sources ({scope}).",
            "Prefer a release that both include, or accept the rule with a reason.",
            *cites,
            spans=spans,
        )
    if tested:
        return warn(
            f"{name} on {where} is outside of what is documented and offered ({scope}), although tests passed there.",
            "Prefer a release made for it, or accept the rule with a reason.",
            *cites,
            tests,
            spans=spans,
        )
    if said is None:
        return unknown(
            f"{name} has no documented range, and its catalogue entry ({scope}) does not include {where}.",
            "Read its release notes, then accept the rule with a reason.",
            *cites,
            spans=spans,
        )
    return fail(
        f"{name} does not run on {where}: {scope}.",
        _release_for(case, release, openshift),
        *cites,
        spans=spans,
    )


def _openshift_of(support: Support | None) -> Support | None:
    return support if support is not None and support.openshift is not None else None


def _scope(said: Support | None, offered: Support | None) -> str:
    parts = [f"documented {said.openshift}" if said else "", f"catalogue {offered.openshift}" if offered else ""]
    return "; ".join(part for part in parts if part)


def _annotation(offered: Support | None) -> str:
    newest = offered.openshift.newest if offered is not None and offered.openshift is not None else None
    return f"its catalogue's annotation ends at {newest}" if newest is not None else "its catalogue does not"


def _operator_and_platform(release: GpuOperatorRelease | NetworkOperatorRelease) -> tuple[Component, Component]:
    own = Component.GPU_OPERATOR if isinstance(release, GpuOperatorRelease) else Component.NETWORK_OPERATOR
    return own, Component.OPENSHIFT


def _release_for(case: Case, release: GpuOperatorRelease | NetworkOperatorRelease, openshift: OpenShiftVersion) -> str:
    component = _operator_and_platform(release)[0]
    fitting = [
        row.version
        for row in case.facts.operators(component).values()
        if (support := _openshift_of(row.documented)) and support.openshift and support.openshift.contains(openshift)
    ]
    if not fitting:
        return f"No known {component.value} is documented for OpenShift {openshift.line}; take another OpenShift."
    newer = [version for version in fitting if version > release.version]
    named = min(newer) if newer else max(fitting)
    return f"Take {component.value} {named} or another release documented for OpenShift {openshift.line}."


def _on_kubernetes(
    case: Case,
    name: str,
    kubernetes: KubernetesVersion,
    release: GpuOperatorRelease | NetworkOperatorRelease,
    least: Line | None,
) -> Answer:
    support = release.documented
    platform, lines = _range_of(case, support)
    spans = case.spans(_operator_and_platform(release)[0], Component.KUBERNETES)
    where = f"Kubernetes {kubernetes.line}" + (f" on {platform}" if platform else "")
    if least is not None and Line.of(kubernetes) < least:
        return fail(
            f"The chart of {name} refuses {where}: it needs {least} or newer.",
            f"Take Kubernetes {least} or newer.",
            release.cite,
            spans=spans,
        )
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
    if lines.contains(kubernetes):
        return ok(f"{name} is documented for {where} ({lines}).", support.cite)
    if lines.is_below(kubernetes) or least is not None:
        return warn(
            f"{name} is documented for Kubernetes {lines}, not for {where}: nobody says that it was tested.",
            "Take a release documented for it, or accept the rule with a reason.",
            support.cite,
            spans=spans,
        )
    return fail(
        f"{name} does not support {where}: it is documented for {lines}.",
        "Take a release documented for it.",
        support.cite,
        spans=spans,
    )


CLOUDS: Final = {"-gke.": "Google GKE", "-eks-": "Amazon EKS"}
"""Clouds that sign their Kubernetes, by how they do."""
UNSIGNED: Final = {"azure": "Azure AKS"}
"""A cloud that does not, by the flavour of its kernels."""


def _range_of(case: Case, support: Support | None) -> tuple[str, Lines | None]:
    """The platform whose own range counts, empty where none does, and the range."""
    if support is None:
        return "", None
    platform = _cloud(case) or _system(case)
    if platform in support.kubernetes_by_platform:
        return platform, support.kubernetes_by_platform[platform]
    return "", support.kubernetes


def _cloud(case: Case) -> str:
    text = case.kubernetes.text if case.kubernetes is not None else ""
    signed = next((name for mark, name in CLOUDS.items() if mark in text), "")
    return signed or UNSIGNED.get((case.kernel.flavour or "") if case.kernel is not None else "", "")


def _system(case: Case) -> str:
    """The system as documents print it: `Ubuntu 24.04`, `RHEL`."""
    system = case.system
    if system is None:
        return ""
    if system.name == "ubuntu" and len(system.numbers) == 2:
        return f"Ubuntu {system.numbers[0]}.{system.numbers[1]:02}"
    return {"rhel": "RHEL", "rocky": "Rocky Linux"}.get(system.name, "")


def _narrower(support: Support, kubernetes: KubernetesVersion) -> dict[str, Lines]:
    """Systems whose own range leaves this Kubernetes out; a cloud's counts only where it is that cloud."""
    clouds = {*CLOUDS.values(), *UNSIGNED.values()}
    return {
        name: lines
        for name, lines in support.kubernetes_by_platform.items()
        if name not in clouds and not lines.contains(kubernetes)
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


GPUOP_OPENSHIFT: Final = Rule(
    id="gpuop-openshift",
    title="The GPU Operator runs on this OpenShift",
    meaning="""\
Three sources speak, and the first two disagree for most releases: NVIDIA's documentation says what is supported, the
catalogue's bundle what can be installed, Red Hat's tests what was seen working. In both: ok. In one: ok when tests
passed, else a warning. In neither: a warning when tests passed, else it fails.""",
    inputs=(Component.GPU_OPERATOR, Component.OPENSHIFT),
    needs=(Component.GPU_OPERATOR, Component.OPENSHIFT),
    sources=(
        "gpu_operator.releases.*.documented.openshift",
        "gpu_operator.releases.*.olm_bundle.openshift",
        "gpu_operator.releases.*.ci_passed_on_openshift",
    ),
    judge=judge_gpuop_openshift,
)
GPUOP_KUBERNETES: Final = Rule(
    id="gpuop-kubernetes",
    title="The GPU Operator runs on this Kubernetes",
    meaning="""\
Where there is no OpenShift, NVIDIA's documented range of Kubernetes minors decides: inside is ok, newer than the range
is untested and warns, older fails. A patch release counts as its minor. Documents differ by platform: on EKS and GKE,
told by how they sign their versions, and on AKS, told by its kernels, their own range counts, as does that of the
system that `os` names; what only some systems include warns where nobody says which it is.""",
    inputs=(Component.GPU_OPERATOR, Component.KUBERNETES, Component.KERNEL, Component.OS),
    needs=(Component.GPU_OPERATOR, Component.KUBERNETES),
    applies=_is_plain,
    sources=(
        "gpu_operator.releases.*.documented.kubernetes",
        "gpu_operator.releases.*.documented.kubernetes_by_platform",
    ),
    judge=judge_gpuop_kubernetes,
)
NETOP_OPENSHIFT: Final = Rule(
    id="netop-openshift",
    title="The Network Operator runs on this OpenShift",
    meaning="""\
As gpuop-openshift, with documentation and catalogue; no tests are published, and what is documented is ok although the
annotation of its catalogue lags behind. Documented sets have holes (v25.1.0: 4.14, 4.16 and 4.17), so they are read as
lists, not as ranges. A release without documentation is unknown outside of what its catalogue entry says.""",
    inputs=(Component.NETWORK_OPERATOR, Component.OPENSHIFT),
    needs=(Component.NETWORK_OPERATOR, Component.OPENSHIFT),
    sources=(
        "network_operator.releases.*.documented.openshift",
        "network_operator.releases.*.olm_openshift_versions",
    ),
    judge=judge_netop_openshift,
)
NETOP_KUBERNETES: Final = Rule(
    id="netop-kubernetes",
    title="The Network Operator runs on this Kubernetes",
    meaning="""\
Where there is no OpenShift: inside the documented range is ok, outside of it warns, and below what the chart accepts
fails, because Helm refuses to install it.""",
    inputs=(Component.NETWORK_OPERATOR, Component.KUBERNETES),
    needs=(Component.NETWORK_OPERATOR, Component.KUBERNETES),
    applies=_is_plain,
    sources=(
        "network_operator.releases.*.documented.kubernetes",
        "network_operator.releases.*.chart_kube_version",
    ),
    judge=judge_netop_kubernetes,
)
