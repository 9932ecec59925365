"""Has gates asked on one node by hand: no rollout, no controller, nothing left behind.

Law of this file: nobody is evicted for a gate. What the node cannot give is told at once, without a Job; what a Job
cannot do is told as soon as it is certain; and the Job goes with its pod, however the asking ends. Only one whose asker
was killed stays, for an hour.

Tests: tests/e2e/test_gates_by_hand.py
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from typing import Any, Final

from seatrial.adapters.kube.api import errors, served
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.gates import devices, probes
from seatrial.adapters.kube.reading.gates.companions import companions_of
from seatrial.adapters.kube.reading.gates.items import ProbeItem, ProbePodItem, RefusalItem
from seatrial.adapters.kube.reading.gates.probes import Level
from seatrial.adapters.kube.reading.items import count_of
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.adapters.kube.shapes.campaign_models import Job
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.base.values import dataclass
from seatrial.core.model.gates import suite
from seatrial.core.model.gates.gate import GPU_RESOURCE, Gate, GateVerdict, Measurement, is_by_claim

LOOK_SECONDS: Final = 1.0
END_SECONDS: Final = 60.0
"""How long beyond its own limit a Job may take to be told as ended."""

OnState = Callable[[str], None]
"""Hears how a gate stands, in a few words, whenever that changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a node has for gates."""

    node: str
    gpu_count: int
    free_count: int
    """GPUs that no pod has asked for."""
    is_ready: bool
    has_links: bool
    """Whether it shows an InfiniBand or RoCE device."""
    by_claim: bool = False
    """Whether its GPUs are had by a ResourceClaim only."""

    def why_not(self, gate: Gate) -> str:
        """Why a gate cannot be asked here; empty where it can."""
        if not self.is_ready:
            return f"{self.node} is not Ready"
        if gate.gpus and not self.gpu_count:
            return f"{self.node} offers no {GPU_RESOURCE}, and publishes no GPU through DRA"
        if gate.gpus > self.free_count:
            used = self.gpu_count - self.free_count
            return (
                f"it asks for {gate.gpus} GPUs, and {used} of the {self.gpu_count} of {self.node} are in use; "
                "no pod is evicted for a gate"
            )
        return ""


class Prober:
    """Makes Jobs of no rollout, and takes them away again."""

    def __init__(self, client: Client, *, home: str, level: Level, clock: Callable[[], float] = time.time) -> None:
        self._client = client
        self._home = home
        self._level = level
        self._clock = clock

    async def offer(self, name: str) -> Offer:
        """What a node has for gates, as of now."""
        node = await self._client.get(f"{keys.NODES}/{name}", kinds.Node)
        pods = await self._client.list(keys.PODS, kinds.Pod, field_selector=f"spec.nodeName={name}")
        resources = {each: count for each, count in node.status.allocatable.items() if count_of(count)}
        gpus = await self._devices(name) if GPU_RESOURCE not in resources else frozenset[tuple[str, str]]()
        by_claim = is_by_claim(resources, has_slices=bool(gpus))
        if by_claim:
            gpu_count, used = len(gpus), len(gpus & await self._claimed())
        else:
            gpu_count = count_of(resources.get(GPU_RESOURCE, "0"))
            used = sum(_gpus_of(pod) for pod in pods.items if pod.status.phase in ("Pending", "Running"))
        return Offer(
            node=name,
            gpu_count=gpu_count,
            free_count=max(0, gpu_count - used),
            by_claim=by_claim,
            is_ready=any(each.type == "Ready" and each.status == "True" for each in node.status.conditions),
            has_links=suite.has_links(node.metadata.labels, resources),
        )

    async def _devices(self, node: str) -> frozenset[tuple[str, str]]:
        """The GPUs that the node publishes through DRA; none where the API server knows of no such thing."""
        try:
            here = f"spec.nodeName={node}"
            _, found = await served.at_first(
                keys.RESOURCE_SLICES, lambda path: self._client.list(path, devices.Slice, field_selector=here)
            )
        except errors.NotFound:
            return frozenset()
        return devices.published(found.items)

    async def _claimed(self) -> frozenset[tuple[str, str]]:
        _, found = await served.at_first(keys.RESOURCE_CLAIMS, lambda path: self._client.list(path, devices.Claim))
        return devices.in_use(found.items)

    async def ask(
        self, gate: Gate, offer: Offer, on_state: OnState = lambda _: None, gang: tuple[str, ...] = ()
    ) -> Measurement:
        """Have a gate measured on a node, or on a gang of them, and wait for what comes of it."""
        by_claim = offer.by_claim and gate.gpus > 0
        act = StartProbe(rollout="", gate=gate, node=offer.node, round=1, attempt=1, by_claim=by_claim, gang=gang)
        token = secrets.token_hex(8)
        body = probes.job_alone(act, token, level=self._level)
        making = asyncio.create_task(self._client.create(keys.jobs_path(self._home), body, Job))
        try:
            job = await asyncio.shield(making)
            # After it, since they go with it, also when nobody is left to take it away; its pod waits for them.
            for each in companions_of(act, token, self._home, _owner(job)):
                await self._client.create(each.path, each.body)
            return await self._wait(gate, offer.node, job.metadata.name, on_state)
        finally:
            await asyncio.shield(self._take_away(making))

    async def _wait(self, gate: Gate, node: str, name: str, on_state: OnState) -> Measurement:
        until = self._clock() + gate.timeout_seconds + probes.START_SECONDS + END_SECONDS
        heard = ""
        while True:
            job, pods, refused = await self._look(name)
            if job is None:
                return _unknown(gate, node, "somebody deleted its Job")
            found = probes.measurement_of(job, pods, refused)
            if found is not None and found.verdict is not GateVerdict.PENDING:
                return found
            if refused:
                return _unknown(gate, node, f"its pod is not let in: {refused[0].said}")
            stuck = next((pod.said for pod in pods if pod.is_stuck), "")
            if stuck:
                return _unknown(gate, node, f"its container does not start: {stuck}")
            if self._clock() > until:
                return _unknown(gate, node, "its Job did not end in time, nor was it ended")
            state = _state(pods, found)
            if state != heard:
                heard = state
                on_state(state)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, name: str) -> tuple[ProbeItem | None, list[ProbePodItem], list[RefusalItem]]:
        try:
            job = await self._client.get(f"{keys.jobs_path(self._home)}/{name}", Job)
        except errors.NotFound:
            return None, [], []
        pods = await self._client.list(
            keys.pods_path(self._home), kinds.Pod, label_selector=f"batch.kubernetes.io/job-name={name}"
        )
        seen = [probes.probe_pod_item(pod) for pod in pods.items]
        refused: list[RefusalItem] = []
        if not seen:
            about = f"{probes.REFUSALS},involvedObject.name={name}"
            events = await self._client.list(keys.events_path(self._home), kinds.Event, field_selector=about)
            refused = [item for item in map(probes.refusal_item, events.items) if item is not None]
        return probes.probe_item(job), seen, refused

    async def _take_away(self, making: asyncio.Task[Job]) -> None:
        """Delete the Job, also one that was created while its asker was stopped."""
        await asyncio.wait([making])
        if making.exception() is None:
            with contextlib.suppress(errors.NotFound):
                path = f"{keys.jobs_path(self._home)}/{making.result().metadata.name}"
                await self._client.delete(path, with_dependents=True)


def _owner(job: Job) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": "Job", "name": job.metadata.name, "uid": job.metadata.uid}


def _state(pods: list[ProbePodItem], found: Measurement | None) -> str:
    if any(pod.has_run for pod in pods):
        return "running"
    return next((pod.said for pod in pods if pod.said), "") or (found.detail if found is not None else "") or "waiting"


def _gpus_of(pod: kinds.Pod) -> int:
    """How many GPUs a pod has asked for; its init containers run one after the other, before the rest."""
    main = sum(count_of(each.resources.limits.get(GPU_RESOURCE, "0")) for each in pod.spec.containers)
    first = (count_of(each.resources.limits.get(GPU_RESOURCE, "0")) for each in pod.spec.init_containers)
    return max(main, *first, 0)


def _unknown(gate: Gate, node: str, why: str) -> Measurement:
    return Measurement(gate=gate.name, node=node, round=1, attempt=1, verdict=GateVerdict.UNKNOWN, detail=why)
