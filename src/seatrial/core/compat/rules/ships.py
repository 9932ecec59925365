"""The two operators, and what each release of them goes with: driver, operands, each other.

On which platform a release runs is in openshift.py and kubernetes.py.
Tests: tests/core/compat/test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import GpuOperatorRelease
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, ok, unknown, warn
from seatrial.core.compat.rules.openshift import no_gpu_release, no_network_release
from seatrial.core.compat.versions import DriverVersion, Line
from seatrial.core.text.names import a_few

_OS_SUFFIX: Final = re.compile(r"-(?:ubi|ubuntu|distroless)[0-9.]*$")
OPERANDS: Final = (
    Component.DEVICE_PLUGIN,
    Component.CONTAINER_TOOLKIT,
    Component.DCGM,
    Component.NFD,
    Component.GDS,
    Component.GDRCOPY,
)


# ── gpuop-driver ──────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gpuop_driver(case: Case) -> Iterator[Answer]:
    """Is the driver listed for this release, or at least alive, and does it know the module type?"""
    release, driver = case.gpu_release, case.driver
    if driver is None:
        return
    if release is None:
        yield no_gpu_release(case)
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
    return a_few(map(str, sorted(release.drivers, reverse=True)), 4)


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
    is_by_pool=True,
    judge=judge_gpuop_driver,
)


# ── gpuop-operands ────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gpuop_operands(case: Case) -> Iterator[Answer]:
    """Device plugin, toolkit and exporter against what the release ships."""
    yield from case.unreadable(*OPERANDS)
    if case.gpu_release is None:
        yield no_gpu_release(case)
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
    title="Device plugin, container toolkit, exporter, NFD, GDS and GDRCopy are the release's own",
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
    release, mofed, oldest = case.network_release, case.mofed, case.facts.oldest_ofed
    if release is None:
        yield no_network_release(case)
    elif (
        mofed is not None and oldest is not None and mofed < oldest.version and Line.of(release.version) >= oldest.since
    ):
        yield fail(
            f"Network Operator {release.version} does not support driver containers older than {oldest.version}, found "
            f"{mofed}.",
            f"Write {release.ofeds[0]}." if release.ofeds else f"Take {oldest.version} or newer.",
            oldest.cite,
            spans=case.spans(Component.MOFED, Component.NETWORK_OPERATOR),
        )
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
Containers older than MLNX_OFED 5.7-0.1.2.0 are not supported since 23.7 and fail. The fourth number and the container's
build number do not count.""",
    inputs=(Component.NETWORK_OPERATOR, Component.MOFED),
    needs=(Component.NETWORK_OPERATOR, Component.MOFED),
    sources=(
        "network_operator.releases.*.ofed",
        "network_operator.releases.*.documented.driver_container_lts",
        "mofed_kernel.min_ofed",
    ),
    judge=judge_netop_mofed,
)


def judge_netop_gpuop(case: Case) -> Iterator[Answer]:
    """Is the GPU Operator recent enough for the Network Operator?"""
    release, gpu = case.network_release, case.gpu_operator
    if release is None:
        yield no_network_release(case)
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
