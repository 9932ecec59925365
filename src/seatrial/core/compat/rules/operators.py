"""The two operators, and what each release of them goes with: platform, driver, operands, each other.

Where a release runs is told by more than one document, and they disagree for most releases:

    documented   what NVIDIA supports
    bundle       what the OpenShift catalogue will install
    tested       what Red Hat's end-to-end tests saw working

    in both → ok        in one → ok if tested, else warn        in neither → warn if tested, else fail

Tests: tests/core/test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import GpuOperatorRelease, Lines, NetworkOperatorRelease, Support
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, no_release, nothing_known, ok, unknown, warn
from seatrial.core.compat.versions import DriverVersion, KubernetesVersion, Line, OpenShiftVersion

_OS_SUFFIX: Final = re.compile(r"-(?:ubi|ubuntu|distroless)[0-9.]*$")

OPERANDS: Final = (Component.DEVICE_PLUGIN, Component.CONTAINER_TOOLKIT, Component.DCGM)


def _no_gpu_release(case: Case) -> Answer:
    return no_release(case, Component.GPU_OPERATOR, case.gpu_operator)


def _no_network_release(case: Case) -> Answer:
    return no_release(case, Component.NETWORK_OPERATOR, case.network_operator)


def _no_openshift(case: Case) -> Answer:
    return nothing_known(
        f"OpenShift {case.openshift}", case.facts.newest_openshift, case.facts, case.spans(Component.OPENSHIFT)
    )


# ── gpuop-driver ──────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gpuop_driver(case: Case) -> Iterator[Answer]:
    """Is the driver listed for this release, or at least alive, and does it know the module type?"""
    release, driver = case.gpu_release, case.driver
    if driver is None:
        return
    if release is None:
        yield _no_gpu_release(case)
    elif driver == release.driver:
        yield ok(f"Driver {driver} is the default of GPU Operator {release.version}.", release.cite)
    elif driver in release.drivers:
        yield ok(f"Driver {driver} is listed for GPU Operator {release.version}.", release.drivers[driver])
    else:
        yield _unlisted(case, release, driver)
    yield from _module_type(case, driver)


def _unlisted(case: Case, release: GpuOperatorRelease, driver: DriverVersion) -> Answer:
    branch, spans = case.facts.driver_branch(driver.branch), case.spans(Component.GPU_DRIVER, Component.GPU_OPERATOR)
    listed = release.documented.cite if release.documented else release.cite
    start = f"Driver {driver} is not among the drivers listed for GPU Operator {release.version} ({_choice(release)})"
    if branch is None:
        return unknown(
            f"{start}, and there is no fact about the end of life of branch {driver.branch}.",
            "Take a listed driver.",
            listed,
            spans=spans,
        )
    if case.on <= branch.end_of_life:
        return warn(
            f"{start}; branch {driver.branch} ({branch.kind}) lives until {branch.end_of_life}, and NVIDIA supports "
            "the "
            "operator on every active production driver. Lists grow after a release: this one is of its documentation "
            "tag.",
            "Take a listed driver, or accept the rule with a reason.",
            listed,
            branch.cite,
            case.facts.cite("driver.policy_any_active_production_driver"),
            spans=spans,
        )
    return fail(
        f"{start}, and branch {driver.branch} has been out of support since {branch.end_of_life}.",
        "Take a listed driver.",
        listed,
        branch.cite,
        spans=spans,
    )


def _choice(release: GpuOperatorRelease) -> str:
    shown = sorted(release.drivers, reverse=True)[:4]
    more = len(release.drivers) - len(shown)
    return ", ".join(map(str, shown)) + (f" and {more} more" if more > 0 else "")


def _module_type(case: Case, driver: DriverVersion) -> Iterator[Answer]:
    auto, release = case.facts.auto_modules, case.gpu_release
    if auto is None or driver >= auto.driver or case.module != "auto":
        return
    start = f"kernelModuleType auto is understood by driver containers from {auto.driver} on, and this is {driver}"
    spans = case.spans(Component.GPU_DRIVER)
    if case.hardware.kernel_module == "auto":
        yield fail(f"{start}.", "Write open or proprietary as hardware.kernel_module.", auto.cite, spans=spans)
    elif release is not None:
        yield warn(
            f"{start}; auto is the default of GPU Operator {release.version}, and the matrix does not say otherwise.",
            "Set driver.kernelModuleType to open or proprietary, and write it as hardware.kernel_module.",
            auto.cite,
            release.cite,
            spans=spans,
        )


GPUOP_DRIVER: Final = Rule(
    id="gpuop-driver",
    title="The GPU Operator supports the driver",
    meaning="""\
A driver goes with an operator release when it is the chart's default or in the release's documented list. There is no
range: a release may list 535, 550 and 565 and nothing of 555. A driver that is not listed only warns while its branch
lives, because NVIDIA supports the operator on every active production driver; unlisted and dead fails. Driver
containers older than 570.86.15 do not understand kernelModuleType auto, the default from v25.3.0 on.""",
    inputs=(Component.GPU_OPERATOR, Component.GPU_DRIVER),
    needs=(Component.GPU_OPERATOR, Component.GPU_DRIVER),
    sources=(
        "gpu_operator.releases.*.documented.drivers",
        "gpu_operator.releases.*.operands.driver",
        "driver.lifecycle",
        "driver.policy_any_active_production_driver",
        "driver.module_type_auto",
    ),
    judge=judge_gpuop_driver,
)


# ── where a release runs ──────────────────────────────────────────────────────────────────────────────────────────────


def judge_gpuop_openshift(case: Case) -> Iterator[Answer]:
    """Documents, catalogue and tests about the GPU Operator on this OpenShift."""
    release, openshift = case.gpu_release, case.openshift
    if release is None:
        yield _no_gpu_release(case)
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
        yield _no_network_release(case)
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
    lines: Lines | None = support.kubernetes if support is not None else None
    spans = case.spans(_operator_and_platform(release)[0], Component.KUBERNETES)
    where = f"Kubernetes {kubernetes.line}"
    if least is not None and Line.of(kubernetes) < least:
        return fail(
            f"The chart of {name} refuses {where}: it needs {least} or newer.",
            f"Take {where} {least} or newer.",
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


def judge_gpuop_kubernetes(case: Case) -> Iterator[Answer]:
    """Documents about the GPU Operator on this Kubernetes."""
    release = case.gpu_release
    if release is None:
        yield _no_gpu_release(case)
    elif case.kubernetes is not None:
        yield _on_kubernetes(case, f"GPU Operator {release.version}", case.kubernetes, release, None)


def judge_netop_kubernetes(case: Case) -> Iterator[Answer]:
    """Documents and chart of the Network Operator about this Kubernetes."""
    release = case.network_release
    if release is None:
        yield _no_network_release(case)
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
Where there is no OpenShift, NVIDIA's documented range of Kubernetes minors decides: inside is ok, newer than the
range is untested and warns, older fails. A patch release counts as its minor.""",
    inputs=(Component.GPU_OPERATOR, Component.KUBERNETES),
    needs=(Component.GPU_OPERATOR, Component.KUBERNETES),
    applies=_is_plain,
    sources=("gpu_operator.releases.*.documented.kubernetes",),
    judge=judge_gpuop_kubernetes,
)

NETOP_OPENSHIFT: Final = Rule(
    id="netop-openshift",
    title="The Network Operator runs on this OpenShift",
    meaning="""\
As gpuop-openshift, with documentation and catalogue; no tests are published. Documented sets have holes (v25.1.0:
4.14, 4.16 and 4.17), so they are read as lists, not as ranges. A release without documentation is unknown outside of
what its catalogue entry says.""",
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


# ── gpuop-operands ────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gpuop_operands(case: Case) -> Iterator[Answer]:
    """Device plugin, toolkit and exporter against what the release ships."""
    yield from case.unreadable(*OPERANDS)
    if case.gpu_release is None:
        yield _no_gpu_release(case)
        return
    for component in OPERANDS:
        yield from _operand(case, case.gpu_release, component)


def _operand(case: Case, release: GpuOperatorRelease, component: Component) -> Iterator[Answer]:
    value, shipped = case.stack[component], release.operands.get(component)
    if value is None or value.version is None:
        return
    if shipped is None:
        yield unknown(
            f"No fact says which {component.value} GPU Operator {release.version} ships.",
            "Accept the rule with a reason.",
            release.cite,
            spans=case.spans(component),
        )
    elif value.version == shipped:
        yield ok(f"GPU Operator {release.version} ships {component.value} {value.version}.", release.cite)
    else:
        bare = _OS_SUFFIX.sub("", shipped.text)
        owners = _owners(case, component, value.text)
        yield warn(
            f"GPU Operator {release.version} ships {component.value} {bare}, not {value.version}{owners}: nobody "
            "tested "
            f"this, and the next operator upgrade silently resets it.",
            f"Write {bare}.",
            release.cite,
            spans=case.spans(component, Component.GPU_OPERATOR),
        )


def _owners(case: Case, component: Component, text: str) -> str:
    value = case.stack[component]
    owners = [
        str(version)
        for version, row in case.facts.gpu_operators.items()
        if value is not None and row.operands.get(component) == value.version
    ]
    return f" ({text} belongs to {', '.join(owners)})" if owners else ""


GPUOP_OPERANDS: Final = Rule(
    id="gpuop-operands",
    title="Device plugin, container toolkit and exporter are the release's own",
    meaning="""\
Each release of the GPU Operator is tested with the operands it ships. Overriding one is possible, so a difference
warns; suffixes that name an operating system do not count. It never fails.""",
    inputs=(Component.GPU_OPERATOR, *OPERANDS),
    needs=(Component.GPU_OPERATOR,),
    applies=lambda case: any(case.has(part) for part in OPERANDS),
    sources=("gpu_operator.releases.*.operands",),
    judge=judge_gpuop_operands,
)


# ── netop-mofed, netop-gpuop ──────────────────────────────────────────────────────────────────────────────────────────


def judge_netop_mofed(case: Case) -> Iterator[Answer]:
    """Is the network driver the release's own, or its long-term alternative?"""
    release, mofed = case.network_release, case.mofed
    if release is None:
        yield _no_network_release(case)
    elif mofed is not None and mofed in release.ofeds:
        cite = release.cite if mofed == release.ofeds[0] or release.documented is None else release.documented.cite
        yield ok(f"Network Operator {release.version} ships MOFED {mofed}.", cite)
    elif not release.ofeds:
        yield unknown(
            f"No fact says which MOFED Network Operator {release.version} ships.",
            "Accept the rule with a reason.",
            release.cite,
            spans=case.spans(Component.MOFED),
        )
    else:
        shipped = " or ".join(map(str, release.ofeds))
        yield warn(
            f"Network Operator {release.version} ships MOFED {shipped}, not {mofed}.",
            f"Write {release.ofeds[0]}.",
            release.cite,
            release.documented.cite if release.documented else None,
            spans=case.spans(Component.MOFED, Component.NETWORK_OPERATOR),
        )


NETOP_MOFED: Final = Rule(
    id="netop-mofed",
    title="The Network Operator ships this MOFED",
    meaning="""\
A release ships one driver container, and some document a long-term alternative; either is ok, anything else warns.
The fourth number and the container's build number do not count. It never fails.""",
    inputs=(Component.NETWORK_OPERATOR, Component.MOFED),
    needs=(Component.NETWORK_OPERATOR, Component.MOFED),
    sources=("network_operator.releases.*.ofed", "network_operator.releases.*.documented.driver_container_lts"),
    judge=judge_netop_mofed,
)


def judge_netop_gpuop(case: Case) -> Iterator[Answer]:
    """Is the GPU Operator recent enough for the Network Operator?"""
    release, gpu = case.network_release, case.gpu_operator
    if release is None:
        yield _no_network_release(case)
        return
    least = case.facts.gpu_operator_min(release)
    if least is None:
        yield unknown(
            f"No document read says which GPU Operator Network Operator {release.version} needs.",
            "Read its release notes, then accept the rule with a reason.",
            release.cite,
            spans=case.spans(Component.NETWORK_OPERATOR),
        )
    elif gpu is not None and Line.of(gpu) >= least[0]:
        yield ok(f"Network Operator {release.version} wants GPU Operator {least[0]} or newer, and {gpu} is.", least[1])
    else:
        yield fail(
            f"Network Operator {release.version} needs GPU Operator {least[0]} or newer, found {gpu}.",
            "Upgrade the GPU Operator first.",
            least[1],
            spans=case.spans(Component.NETWORK_OPERATOR, Component.GPU_OPERATOR),
        )


NETOP_GPUOP: Final = Rule(
    id="netop-gpuop",
    title="The GPU Operator is recent enough for the Network Operator",
    meaning="""\
Network Operator 24.4 to 25.1 is documented with GPU Operator 24.3 or newer, 25.4 and later with 25.3 or newer; below
fails. A release without documentation of its own is held to what the release before it says.""",
    inputs=(Component.NETWORK_OPERATOR, Component.GPU_OPERATOR),
    needs=(Component.NETWORK_OPERATOR, Component.GPU_OPERATOR),
    sources=("network_operator.releases.*.documented.gpu_operator_min",),
    judge=judge_netop_gpuop,
)
