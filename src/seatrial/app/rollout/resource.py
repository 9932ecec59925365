"""The GPURollout that options make. What is left out here, the resource defaults.

Law of this file: options in, a resource out; nothing is read and nobody is asked. Whether the API server takes it, it
says itself. Tests: tests/app/rollout/test_options.py, tests/cli/test_rollout_spec.py
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from seatrial.app.rollout.options import Care, Publishing, StartOptions

API_VERSION: Final = "seatrial.dev/v1alpha1"
KIND: Final = "GPURollout"


def name_of(target: str, on: date, taken: frozenset[str]) -> str:
    """The name of a rollout that was given none: what it is for, and its day; numbered where that is taken."""
    plain = f"driver-{target.replace('.', '-')}-{on:%Y%m%d}"
    number = 1
    while (name := plain if number == 1 else f"{plain}-{number}") in taken:
        number += 1
    return name


def resource_of(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The whole object."""
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def spec_of(
    asked: StartOptions,
    target: str,
    *,
    beside: Iterable[tuple[str, str]] = (),
    matrix: dict[str, Any] | None = None,
    gates: list[dict[str, Any]] | None = None,
    canary_node: str = "",
) -> dict[str, Any]:
    """The spec these options make. `beside` moves with the driver; a person's canaries overrule `canary_node`."""
    care = asked.care
    spec: dict[str, Any] = {
        "target": {"driver": target, **dict(beside)},
        "mode": asked.publishing.mode,
        "matrix": matrix,
        "publish": _publish(asked.publishing),
        "nodeSelector": dict(asked.goal.selector) if asked.goal.selector else None,
        "canary": _canary(care, canary_node),
        "gates": [*(gates or ()), *care.gate] or ([] if care.no_gates else None),
        "bake": _bake(care),
        "waves": _waves(care),
        "windows": _some(timeZone=care.time_zone, open=list(care.window)) if care.window else None,
        "approvals": _some(manual=list(care.manual) or None, tagWithFailures=True if care.tag_with_failures else None),
        "limits": _some(
            maxUnavailable=care.max_unavailable,
            maxParallelUpgrades=care.max_parallel,
            maxFailed=care.max_failed,
            maxIdleGPUs=care.max_idle_gpus,
        ),
        "attrition": _attrition(care),
        "prepull": False if care.no_prepull else None,
        "notifications": {"webhook": care.notify} if care.notify else None,
        "paused": True if asked.paused else None,
    }
    return {key: value for key, value in spec.items() if value is not None}


def _bake(care: Care) -> dict[str, Any] | None:
    """How long, and until what is proven; who asks for a proof and for no time wants no longer than that takes."""
    seconds = 0 if care.bake is None and care.exclude is not None else care.bake
    until = _some(exclude=care.exclude, confidence=care.confidence)
    return _some(durationSeconds=seconds, everySeconds=care.bake_every, minimumLoad=care.minimum_load, until=until)


def _attrition(care: Care) -> dict[str, Any] | None:
    if care.by_attrition is None:
        return None
    early = False if care.no_early_eviction else None
    return _some(deadlineSeconds=care.by_attrition, closeAhead=care.close_ahead, earlyEviction=early)


def _publish(way: Publishing) -> dict[str, Any] | None:
    on_delete, one_way = True if way.set_on_delete else None, True if way.one_way else None
    if way.publish != "git":
        return _some(via=way.publish, setOnDelete=on_delete, oneWay=one_way)
    where = _some(
        path=way.publish_path,
        url=way.publish_url,
        branch=way.publish_branch,
        pullRequests=True if way.pull_requests else None,
    )
    return _some(via="git", setOnDelete=on_delete, oneWay=one_way, git=where)


def _canary(care: Care, canary_node: str) -> dict[str, Any]:
    is_free = care.canary is None and not care.canary_selector
    nodes = list(care.canary_node) or ([canary_node] if canary_node and is_free else None)
    selector = dict(care.canary_selector) if care.canary_selector else None
    count = care.canary or (len(nodes) if nodes else 1)
    pools = {"machineConfigPool": care.canary_pool, "pausePools": list(care.pause_pool) or None}
    return {"count": count, **(_some(nodes=nodes, selector=selector, **pools) or {})}


def _waves(care: Care) -> dict[str, Any] | None:
    if care.wave and len(care.wave) > 1:
        shares = [int(share.removesuffix("%")) for share in care.wave]
        return _some(growth="percentages", percentages=shares, pauseSeconds=care.wave_pause)
    first = care.wave[0] if care.wave else None
    return _some(growth=care.growth, first=first, pauseSeconds=care.wave_pause)


def _some(**fields: Any) -> dict[str, Any] | None:
    """What was said, or nothing at all."""
    said = {key: value for key, value in fields.items() if value is not None}
    return said or None
