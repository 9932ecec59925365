"""Parts beside the operators: container runtime, DRA driver, Fabric Manager.

Tests: tests/core/test_rules_parts.py, and test_rules_verdicts.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, nothing_known, ok, unknown, warn
from seatrial.core.compat.rules.operator_platforms import no_gpu_release

RUNTIMES: Final = (Component.CONTAINERD, Component.CRI_O)


# ── gpuop-runtime ─────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gpuop_runtime(case: Case) -> Iterator[Answer]:
    """Was this release validated with the container runtime?"""
    yield from case.unreadable(*RUNTIMES)
    release, cri_o = case.gpu_release, case.stack[Component.CRI_O]
    if release is None:
        yield no_gpu_release(case)
        return
    if case.containerd is not None:
        yield _containerd(case, release.line)
    if cri_o is not None and cri_o.version is not None:
        yield unknown(
            f"GPU Operator {release.version} is documented with CRI-O, and no page says with which releases of it.",
            "Take the CRI-O of the cluster's own Kubernetes minor, then accept the rule with what was seen.",
            release.documented.cite if release.documented else release.cite,
            spans=case.spans(Component.CRI_O),
        )


def _containerd(case: Case, line: str) -> Answer:
    containerd, spans = case.containerd, case.spans(Component.CONTAINERD, Component.GPU_OPERATOR)
    row = next((each for each in case.facts.runtimes if each.operator_line == line), None)
    if row is None or containerd is None:
        newest = "".join(each.operator_line for each in case.facts.runtimes[-1:])
        return nothing_known(f"the containerd of GPU Operator {line}", newest, case.facts, spans)
    if row.lines.contains(containerd):
        return ok(f"GPU Operator {line} was validated with containerd {row.lines}; {containerd} is.", row.cite)
    note = f" ({row.note})" if row.note else ""
    return warn(
        f"GPU Operator {line} was validated with containerd {row.lines}{note}, found {containerd}.",
        "Take a release inside the range, or accept the rule with a reason.",
        row.cite,
        spans=spans,
    )


GPUOP_RUNTIME: Final = Rule(
    id="gpuop-runtime",
    title="The GPU Operator was validated with the container runtime",
    meaning="""\
NVIDIA's page gives a range of containerd for each line of the GPU Operator: inside is ok, outside warns. Of CRI-O it
says only that it works, so that is unknown. It never fails: a runtime that was not validated may well work.""",
    inputs=(Component.GPU_OPERATOR, *RUNTIMES),
    needs=(Component.GPU_OPERATOR,),
    applies=lambda case: any(case.has(part) for part in RUNTIMES),
    sources=("container_runtimes.containerd",),
    judge=judge_gpuop_runtime,
)


# ── dra-driver ────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_dra_driver(case: Case) -> Iterator[Answer]:
    """Is there all that the DRA driver needs?"""
    driver, need = case.dra_driver, case.facts.managed_dra
    spans = case.spans(Component.DRA_DRIVER)
    if driver is None:
        return
    if need is None or not driver.is_managed:
        yield unknown(
            f"No document read says what a DRA driver with a chart of its own ({driver}) needs.",
            "Read the release notes of its chart, then accept the rule with a reason.",
            need.cite if need else None,
            spans=spans,
        )
        return
    yield from case.unreadable(Component.GPU_OPERATOR, Component.KUBERNETES, Component.GPU_DRIVER)
    operator, kubernetes, branch = case.gpu_operator, case.kubernetes, case.driver.branch if case.driver else None
    is_new = None if operator is None else operator >= need.operator
    yield _managed(case, Component.GPU_OPERATOR, f"GPU Operator {need.operator}", is_new)
    is_new = None if kubernetes is None else kubernetes >= need.kubernetes
    yield _managed(case, Component.KUBERNETES, f"Kubernetes {need.kubernetes}", is_new)
    is_new = None if branch is None else branch >= need.branch
    yield _managed(case, Component.GPU_DRIVER, f"driver branch {need.branch}", is_new)


def _managed(case: Case, part: Component, needed: str, is_new: bool | None) -> Answer:
    value, need = case.stack[part], case.facts.managed_dra
    cite, spans = need.cite if need else None, case.spans(Component.DRA_DRIVER, part)
    if is_new is None:
        return unknown(
            f"A managed DRA driver (GPUCluster) needs {needed}, and the matrix does not say it.",
            f"Write {part.value}.",
            cite,
            spans=spans,
        )
    found = value.text if value is not None else ""
    if is_new:
        return ok(f"A managed DRA driver (GPUCluster) needs {needed} or newer, and {part.value} is {found}.", cite)
    return fail(
        f"A managed DRA driver (GPUCluster) needs {needed} or newer, found {found}.",
        f"Upgrade {part.value} first; a DRA driver with a chart of its own has a minimum of its own.",
        cite,
        spans=spans,
    )


DRA_DRIVER: Final = Rule(
    id="dra-driver",
    title="The DRA driver has what it needs",
    meaning="""\
`dra_driver: managed` means that a GPUCluster of the GPU Operator deploys it: that needs v26.7.0, Kubernetes 1.34.2 and
driver branch 580; less fails. A chart of its own has needs of its own, which no document read here states.""",
    inputs=(
        Component.DRA_DRIVER,
        Component.GPU_OPERATOR,
        Component.KUBERNETES,
        Component.GPU_DRIVER,
    ),
    needs=(Component.DRA_DRIVER,),
    sources=("dra_driver.managed",),
    judge=judge_dra_driver,
)


# ── fabric-manager ────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_fabric_manager(case: Case) -> Iterator[Answer]:
    """Is Fabric Manager of the driver's own version?"""
    manager, driver, cite = case.fabric_manager, case.driver, case.facts.cite("fabric_manager.equals_driver")
    if manager is None or driver is None:
        return
    if manager == driver:
        yield ok(f"Fabric Manager {manager} is of the driver's version.", cite)
    else:
        yield fail(
            f"Fabric Manager {manager} has to be of the driver's version, {driver}.",
            f"Take Fabric Manager {driver}.",
            cite,
            spans=case.spans(Component.FABRIC_MANAGER, Component.GPU_DRIVER),
        )


FABRIC_MANAGER: Final = Rule(
    id="fabric-manager",
    title="Fabric Manager is of the driver's version",
    meaning="""\
On NVSwitch systems Fabric Manager and the driver are of one version. That is a second-hand fact, so a difference warns
and never fails; it is never unknown.""",
    inputs=(Component.FABRIC_MANAGER, Component.GPU_DRIVER),
    needs=(Component.FABRIC_MANAGER, Component.GPU_DRIVER),
    sources=("fabric_manager.equals_driver",),
    judge=judge_fabric_manager,
)
