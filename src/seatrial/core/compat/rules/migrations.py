"""Ways between two kinds of installation, which upgrade-path asks about beside versions.

Tests: tests/core/compat/test_rules_listed.py and test_rules_parts.py
"""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Step, fail, unknown


def dra_path(step: Step) -> Iterator[Answer]:
    """From a chart of its own to one that the GPU Operator manages is no way, whatever versions the two are of."""
    before, after = step.before.dra_driver, step.after.dra_driver
    if step.moved((Component.DRA_DRIVER,)):
        yield from (*step.before.unreadable(Component.DRA_DRIVER), *step.after.unreadable(Component.DRA_DRIVER))
    if after is not None and after.is_managed and not step.before.has(Component.DRA_DRIVER):
        yield from _to_managed(step)
    if before is None or after is None or before.is_managed == after.is_managed:
        return
    cite, spans = step.facts.cite("dra_driver.migration"), step.after.spans(Component.DRA_DRIVER)
    if after.is_managed:
        yield fail(
            f"DRA driver {before} → managed: an in-place migration from its own Helm release to GPUCluster is not "
            "supported.",
            "Keep the chart on this cluster; or install the GPU Operator with GPUCluster afresh, on a new cluster or "
            "after both were removed.",
            cite,
            spans=spans,
        )
    else:
        yield unknown(
            f"DRA driver managed → {after}: no source describes the way from GPUCluster back to a Helm release.",
            "Rehearse it on another cluster before relying on it.",
            cite,
            spans=spans,
        )


def _to_managed(step: Step) -> Iterator[Answer]:
    """GPUCluster where nothing was said of it before: an operator without it has a ClusterPolicy, which stays."""
    before, managed = step.before.gpu_operator, step.facts.managed_dra
    if before is None or managed is None:
        return
    cite, spans = (
        step.facts.cite("dra_driver.migration"),
        step.after.spans(Component.DRA_DRIVER, Component.GPU_OPERATOR),
    )
    plugin = step.before.stack[Component.DEVICE_PLUGIN]
    if before < managed.operator or plugin is not None:
        why = f"has a device plugin ({plugin.text})" if plugin is not None else "knows ClusterPolicy alone"
        yield fail(
            f"GPU Operator {before} {why}, and after it the DRA driver is managed (GPUCluster): an in-place migration "
            "from ClusterPolicy to GPUCluster is not supported.",
            "Take a new cluster for GPUCluster, or stay with the device plugin on this one.",
            cite,
            managed.cite,
            spans=spans,
        )
    else:
        yield unknown(
            f"The stack before (GPU Operator {before}) does not say whether it has a ClusterPolicy or a GPUCluster, "
            "and from the one to the other there is no way in place.",
            "Write dra_driver: managed before too, where there is a GPUCluster already.",
            cite,
            spans=spans,
        )
