"""Reads once what a diagnosis looks at: nodes, pods, events, claims, and the logs that core asks for.

Law of this file: the caller's own rights, and no more; a log that may not be read says so. Foreign text is cleaned on
its way in, and of a log only the end is asked for. Tests: tests/adapters/kube/test_diagnosing.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from sys import intern
from typing import Any, Final

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, api_path
from seatrial.adapters.kube.reading.items import count_of, is_labelled_dra
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.adapters.kube.shapes.models import Quantities
from seatrial.adapters.kube.surveying import doctor_models as shapes
from seatrial.adapters.kube.surveying.once import Once, OnRead, Reading
from seatrial.core.model import consumers
from seatrial.core.survey.doctor.logs import LOGS_MAX, worth_reading
from seatrial.core.survey.doctor.objects import (
    ClaimTold,
    ConditionTold,
    ContainerTold,
    EventTold,
    LogAsked,
    LogTold,
    NodeTold,
    PodTold,
    Sight,
    SliceTold,
)
from seatrial.core.survey.doctor.parts import Part, part_of
from seatrial.core.survey.sources import Source
from seatrial.core.text import foreign
from seatrial.core.text.moments import readable_instant

TEXT_MAX: Final = 500
LINES: Final = 200
LOG_BYTES: Final = 64 * 1024
AT_ONCE: Final = 8
"""Logs that are asked for at the same time."""
COUNT_LABEL: Final = "nvidia.com/gpu.count"
PLUGIN_LABEL: Final = f"{keys.DEPLOY_PREFIX}device-plugin"
PAUSED: Final = "paused-for-driver-upgrade"


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _node(found: shapes.Node) -> NodeTold:
    labels, status = found.metadata.labels, found.status
    return NodeTold(
        name=found.metadata.name,
        has_gpu=keys.PRODUCT_LABEL in labels or any(labels.get(each) == "true" for each in keys.PRESENT_LABELS),
        product=_line(labels.get(keys.PRODUCT_LABEL, "")),
        gpu_count=_number(labels.get(COUNT_LABEL, "")),
        offered=_gpus(status.allocatable),
        capacity=_gpus(status.capacity),
        upgrade_state=_line(labels.get(keys.STATE_LABEL, "") or labels.get(keys.NVIDIA_STATE_LABEL, "")),
        mig_state=_line(labels.get(keys.MIG_STATE_LABEL, "")),
        paused=tuple(sorted(key for key, value in labels.items() if _is_paused(key, value))),
        without_plugin=labels.get(PLUGIN_LABEL, "true") == "false",
        conditions=tuple(
            ConditionTold(
                type=_line(each.type),
                status=each.status,
                reason=_line(each.reason),
                message=_line(each.message),
                since=readable_instant(each.last_transition_time),
            )
            for each in status.conditions
        ),
        is_cordoned=found.spec.unschedulable,
    )


def _is_paused(key: str, value: str) -> bool:
    return key.startswith(keys.DEPLOY_PREFIX) and value.endswith(PAUSED)


def _gpus(found: Quantities) -> int:
    return sum(count_of(count) for name, count in found.items() if consumers.is_gpu_resource(name))


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pod(found: kinds.Pod) -> PodTold | None:
    meta, spec, status = found.metadata, found.spec, found.status
    made = {each.name: each.resource_claim_name for each in status.resource_claim_statuses}
    claims = tuple(each.resource_claim_name or made.get(each.name) or each.name for each in spec.resource_claims)
    asks = any(_asks(each) for each in (*spec.containers, *spec.init_containers))
    names = [each.name for each in (*spec.init_containers, *spec.containers)]
    part = part_of(meta.name, meta.labels, names, wants_gpus=asks or bool(claims))
    if part in (Part.OTHER, Part.TENANT) and is_labelled_dra(meta.labels):
        part = Part.DRA
    if part is Part.OTHER and not spec.runtime_class_name:
        return None
    images = {each.name: each.image for each in (*spec.init_containers, *spec.containers)}
    return PodTold(
        namespace=intern(meta.namespace),
        name=meta.name,
        node=intern(spec.node_name),
        part=part,
        phase=status.phase,
        is_ready=_is_ready(status),
        created_at=readable_instant(meta.creation_timestamp),
        deleted_at=readable_instant(meta.deletion_timestamp),
        containers=(
            *(_container(each, images, is_init=True) for each in status.init_container_statuses),
            *(_container(each, images, is_init=False) for each in status.container_statuses),
        ),
        asks_gpus=asks,
        claims=claims,
        unscheduled=next((_line(each.message) for each in status.conditions if each.reason == "Unschedulable"), ""),
    )


def _is_ready(status: kinds.PodStatus) -> bool:
    """By its condition; an object that was cut down to its containers is as ready as they are."""
    told = [each.status for each in status.conditions if each.type == "Ready"]
    if told:
        return told[0] == "True"
    return bool(status.container_statuses) and all(each.ready for each in status.container_statuses)


def _asks(container: kinds.Container) -> bool:
    asked = {**container.resources.requests, **container.resources.limits}
    return any(consumers.is_gpu_resource(name) and count_of(count) > 0 for name, count in asked.items())


def _container(found: kinds.ContainerStatus, images: dict[str, str], *, is_init: bool) -> ContainerTold:
    now, before = found.state, found.last_state.terminated
    ended = now.terminated or before
    return ContainerTold(
        name=intern(_line(found.name)),
        image=intern(_line(images.get(found.name, ""))),
        is_init=is_init,
        is_ready=found.ready,
        is_running=now.running is not None,
        restarts=found.restart_count,
        waiting=_line(now.waiting.reason) if now.waiting is not None else "",
        waiting_message=_line(now.waiting.message) if now.waiting is not None else "",
        ended=_line(ended.reason) if ended is not None else "",
        exit_code=ended.exit_code if ended is not None else None,
        ended_message=foreign.lines(ended.message, 4096) if ended is not None else "",
    )


# ── what is told of them ─────────────────────────────────────────────────────────────────────────────────────────────


def _event(found: shapes.Event) -> EventTold | None:
    if found.type == "Normal":
        return None
    about, series = found.involved_object, found.series
    return EventTold(
        kind=intern(about.kind),
        namespace=intern(about.namespace),
        name=about.name,
        reason=intern(_line(found.reason)),
        message=_line(found.message),
        count=found.count or (series.count if series is not None else 0) or 1,
        host=found.source.host,
        at=readable_instant(
            (series.last_observed_time if series is not None else None) or found.last_timestamp or found.event_time
        ),
    )


def _slice(found: shapes.Slice) -> SliceTold | None:
    if found.spec.driver != keys.GPU_DRIVER or not found.spec.node_name:
        return None
    return SliceTold(node=found.spec.node_name, device_count=len(found.spec.devices))


def _claim(found: shapes.Claim) -> ClaimTold | None:
    results: Iterable[shapes.Result] = (
        found.status.allocation.devices.results if found.status.allocation is not None else ()
    )
    drivers = tuple(dict.fromkeys(each.driver for each in results))
    return ClaimTold(namespace=found.metadata.namespace, name=found.metadata.name, drivers=drivers)


def _line(text: str) -> str:
    return foreign.line(text, TEXT_MAX)


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────

NODES: Final = Reading(source=Source.NODES, model=shapes.Node, slim=_node)
PODS: Final = Reading(source=Source.PODS, model=kinds.Pod, slim=_pod)
EVENTS: Final = Reading(source=Source.EVENTS, model=shapes.Event, slim=_event)
SLICES: Final = Reading(source=Source.SLICES, model=shapes.Slice, slim=_slice)
CLAIMS: Final = Reading(source=Source.CLAIMS, model=shapes.Claim, slim=_claim)
READINGS: Final[tuple[Reading[Any, Any], ...]] = (NODES, PODS, EVENTS, SLICES, CLAIMS)


async def read(
    client: Client, *, node: str = "", with_logs: bool = True, on_read: OnRead | None = None
) -> tuple[Sight, int]:
    """Everything that a diagnosis looks at, and how many logs were left out for their number."""
    reader = Once(client, on_read)
    nodes = await reader.all(NODES)
    pods = await reader.all(PODS)
    sight = Sight(
        at=0.0,
        nodes=nodes,
        pods=pods,
        events=await reader.all(EVENTS),
        slices=await reader.all(SLICES),
        claims=await reader.all(CLAIMS),
        gaps=reader.gaps,
    )
    sight = replace(sight, at=client.served_at or _latest(sight))
    if not with_logs:
        return sight, 0
    asked = worth_reading(sight, node)
    return replace(sight, logs=await logs(client, asked[:LOGS_MAX])), max(0, len(asked) - LOGS_MAX)


def _latest(sight: Sight) -> float:
    """The server's time where its answers do not tell: no earlier than what it wrote last."""
    return max((each.at for each in sight.events if each.at is not None), default=0.0)


async def logs(client: Client, asked: Sequence[LogAsked], *, lines: int = LINES) -> tuple[LogTold, ...]:
    """What these containers said last, or why that may not be read."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(each: LogAsked) -> LogTold:
        async with gate:
            return await _log(client, each, lines)

    return tuple(await asyncio.gather(*map(one, asked)))


async def _log(client: Client, asked: LogAsked, lines: int) -> LogTold:
    path = api_path("v1", "pods", namespace=asked.namespace, name=asked.pod, subresource="log")
    params = {"container": asked.container, "tailLines": str(lines), "limitBytes": str(LOG_BYTES)}
    try:
        text = await client.text(path, params | ({"previous": "true"} if asked.is_previous else {}))
    except (errors.ClusterUnavailable, errors.Unauthorized, errors.ConfigInvalid):
        raise
    except errors.ClusterError as err:
        why_not = foreign.line(err.message or err.what, TEXT_MAX)
        return LogTold(asked=asked, why_not=why_not, is_denied=isinstance(err, errors.Forbidden))
    return LogTold(asked=asked, lines=tuple(foreign.line(line, TEXT_MAX) for line in text.splitlines() if line.strip()))
