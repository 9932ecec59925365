"""Runs `decide_pace` beside a cluster: watches, writes the one label, and leaves nothing of it behind.

    watched streams ─▶ decide_pace ─▶ at most one PATCH, awaited ─▶ noted ─▶ wait for a change or for wake_at
    at the end, however it comes ─▶ sweep: a fresh LIST by our label's value, until it is empty

A label is put only on a node as it was seen (resourceVersion), and taken only while it is ours (a tested JSON patch):
what a person writes in between stays. What is to be done is decided in core.
Tests: tests/adapters/kube/test_pacing_real.py, tests/e2e/test_pace.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, PatchKind, api_path
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.fleet import FleetObserver
from seatrial.adapters.kube.shapes import keys, kinds, models
from seatrial.adapters.kube.streams.streams import AnyStream
from seatrial.core.compat.versions import OperatorVersion
from seatrial.core.errors import SeatrialError
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.movers.pace import waking as pace
from seatrial.core.movers.pace import ways as pace_ways
from seatrial.core.movers.pace.values import Act, Lower, PaceMemory, Pacing, Raise, Reset, Seen

LOOK_EVERY_SECONDS: Final = 0.05
"""Changes come in swarms, and a look at many nodes costs; together with them is soon enough."""
SWEEP_SECONDS: Final = 15.0
SWEEP_PAUSE_SECONDS: Final = 0.5
SELECTOR: Final = f"{pace_ways.WAKE_LABEL}={pace_ways.WAKE_VALUE}"

_OPERATOR: Final = "app=gpu-operator"
_VERSION_LABELS: Final = ("app.kubernetes.io/version", "helm.sh/chart", "olm.owner")

OnPacing = Callable[[Pacing, str], None]
"""Is told of each look, and of what became of its act: empty when it was done or there was none."""


class TraceLeft(SeatrialError):  # noqa: N818  the trade's word; the message says what to do
    """A label of ours could not be taken away."""


class _Deployment(models.Model, frozen=True):
    metadata: models.ObjectMeta = models.ObjectMeta()
    spec: kinds.RevisionSpec = kinds.RevisionSpec()  # a template, like that of a DaemonSet


class PaceObserver(FleetObserver):
    """Sees what pacing rests on, and which release the operator is of: it needs no GPURollout, and few rights."""

    def __init__(self, client: Client, *, namespace: str, on_fault: Callable[[str], None]) -> None:
        super().__init__(client, table.MOVED, namespace=namespace, on_fault=on_fault)
        self._client = client
        self._namespace = namespace
        self._deployed: tuple[str, ...] = ()

    async def read_release(self) -> None:
        """Read once which release the operator's Deployment names; without the right to, it is not known."""
        path = api_path("apps/v1", "deployments", namespace=self._namespace)
        with suppress(errors.Forbidden, errors.NotFound):
            found = await self._client.list(path, _Deployment, label_selector=_OPERATOR)
            self._deployed = tuple(text for item in found.items for text in _deployed_texts(item))

    def blind_spots(self) -> tuple[str, ...]:
        """What is not seen at the moment, and why."""
        return tuple(
            f"{stream.row.name}: {stream.state.last_error}" for stream in self.streams.opened if _is_blind(stream)
        )

    def release(self) -> OperatorVersion | None:
        """The operator's release, as far as its Deployment or the ClusterPolicy of its chart tell."""
        labels = (policy.metadata.labels for policy in self.streams[table.POLICIES].store)
        charted = [found[key] for found in labels for key in _VERSION_LABELS if key in found]
        return pace_ways.release_in((*self._deployed, *charted))

    def look(self, release: OperatorVersion | None, *, may_reset: bool) -> Seen:
        """Everything as it is now."""
        self.streams.look()
        nodes = {name: node.facts for name, node in self.all_nodes().items()}
        return Seen(nodes=nodes, operator=self.operator(), release=release or self.release(), may_reset=may_reset)


async def run(
    client: Client,
    observer: PaceObserver,
    *,
    release: OperatorVersion | None,
    may_reset: bool,
    on_pacing: OnPacing,
    is_over: Callable[[Pacing], bool],
    until: float | None = None,
) -> PaceMemory:
    """Pace until it is over or the time is up, and leave no label behind, whatever ends it."""
    memory = PaceMemory()
    try:
        while True:
            now = time.time()
            pacing = pace.decide_pace(observer.look(release, may_reset=may_reset), memory, now)
            memory, refusal = pacing.memory, ""
            if pacing.act is not None:
                refusal = await _attempt(client, observer, pacing.act)
                memory = pace.noted(pacing, time.time(), is_done=not refusal)
            on_pacing(pacing, refusal)
            if is_over(pacing) or (until is not None and now >= until):
                return memory
            if pacing.act is None:
                ends = [at for at in (pacing.wake_at, until) if at is not None]
                await observer.wait(min(ends, default=None))
                await asyncio.sleep(LOOK_EVERY_SECONDS)
    finally:
        await asyncio.shield(sweep(client))


async def do(client: Client, act: Act) -> kinds.Node:
    """Do it once, and give the node as it was written; refused where the node is no longer as it was seen."""
    kind, body = _patch(act)
    return await client.patch(f"{keys.NODES}/{act.node}", body, kinds.Node, kind=kind)


async def _attempt(client: Client, observer: PaceObserver, act: Act) -> str:
    """Do it; why not, where that may be otherwise next time."""
    try:
        observer.wrote_node(await do(client, act))
    except errors.Forbidden:
        raise  # it would be forbidden for ever
    except errors.ClusterError as err:
        return err.message or str(err)
    return ""


def _patch(act: Act) -> tuple[PatchKind, object]:
    match act:
        case Raise(resource_version=version):
            labels = {pace_ways.WAKE_LABEL: pace_ways.WAKE_VALUE}
            return PatchKind.MERGE, {"metadata": {"resourceVersion": version, "labels": labels}}
        case Lower():
            return PatchKind.JSON, _taken(pace_ways.WAKE_LABEL, pace_ways.WAKE_VALUE)
        case Reset():
            return PatchKind.JSON, _taken(pace_ways.STATE_LABEL, NodePhase.UPGRADE_DONE.value)


def _taken(label: str, value: str) -> list[dict[str, str]]:
    path = f"/metadata/labels/{label.replace('/', '~1')}"
    return [{"op": "test", "path": path, "value": value}, {"op": "remove", "path": path}]


async def sweep(client: Client) -> None:
    """Take our label from every node that bears it; a TraceLeft when that is not possible in time."""
    deadline = time.monotonic() + SWEEP_SECONDS
    while True:
        try:
            found = await client.list(keys.NODES, kinds.Node, label_selector=SELECTOR)
            if not found.items:
                return
            for node in found.items:
                with suppress(errors.Invalid, errors.NotFound):  # somebody else took or changed it: no longer ours
                    await do(client, Lower(node=node.metadata.name))
        except errors.ClusterError as err:
            if time.monotonic() >= deadline:
                raise TraceLeft(
                    f"A label of ours may be left on a node ({err}). It skips no node; remove it with "
                    f"`kubectl label nodes -l {SELECTOR} {pace_ways.WAKE_LABEL}-`, or run `seatrial pace` again."
                ) from err
            await asyncio.sleep(SWEEP_PAUSE_SECONDS)


def _is_blind(stream: AnyStream) -> bool:
    return stream.state.last_error is not None and not stream.is_absent


def _deployed_texts(item: _Deployment) -> tuple[str, ...]:
    images = (container.image for container in item.spec.template.spec.containers)
    return (*images, *(item.metadata.labels.get(key, "") for key in _VERSION_LABELS))
