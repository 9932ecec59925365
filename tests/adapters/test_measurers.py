"""What everybody promises who has gates measured: Jobs in a cluster, a Prometheus, expressions, the simulated one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from seatrial.adapters.expressions.measurer import ExpressionMeasurer
from seatrial.adapters.http.gates import WebhookMeasurer
from seatrial.adapters.http.webhook import Webhooks
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.shapes import keys, models
from seatrial.adapters.kube.shapes.campaign_models import Job
from seatrial.adapters.kube.writing.measure import JobMeasurer
from seatrial.adapters.prometheus.measurer import NOBODY, PrometheusMeasurer
from seatrial.controller.main import SystemClock
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement, Metric
from seatrial.ports import Measurer, Outcome, Result
from seatrial.sim.world import World
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.builders import NEW, a_node, an_intent

NAMESPACE = "test-measurers"
PROBE = StartProbe(
    rollout="spring", gate=Gate(name="smoke", image="example.invalid/smoke"), node="n1", round=2, attempt=1
)
PENDING = Measurement(gate="smoke", node="n1", round=2, attempt=1, verdict=GateVerdict.PENDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A measurer, and what can be seen of its work."""

    measurer: Measurer
    measurements: Callable[[], Awaitable[list[Measurement]]]
    probe: StartProbe
    begun: Measurement
    """What is seen of the probe once it was asked for."""


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Knows one rollout."""

    uid: str

    def stored_rollout(self, name: str) -> models.Rollout | None:
        return models.Rollout(metadata=models.ObjectMeta(name=name, uid=self.uid)) if name == "spring" else None


@pytest.fixture(
    params=["world", "prometheus", "expressions", "webhooks", pytest.param("jobs", marks=pytest.mark.cluster)]
)
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    if request.param == "world":
        world = World([a_node("n1")], an_intent())

        async def seen() -> list[Measurement]:
            return list(world.observe().seen.measurements)

        yield Stage(measurer=world, measurements=seen, probe=PROBE, begun=PENDING)
        return
    if request.param in OTHERS:
        yield OTHERS[request.param]()
        return
    async for made in _with_jobs(request.getfixturevalue("place")):
        yield made


def _with_nobody() -> Stage:
    """A controller that was told of no Prometheus keeps the promises, too: its answer is that nobody can be asked."""
    asker = PrometheusMeasurer(place=None, clock=SystemClock(), uid_of=lambda name: "uid-1" if name == "spring" else "")
    gate = Gate(name="smoke", prometheus=Metric(query="up", at_least=1.0))

    async def seen() -> list[Measurement]:
        return list(asker.measurements("uid-1"))

    unknown = replace(PENDING, verdict=GateVerdict.UNKNOWN, detail=NOBODY)
    return Stage(measurer=asker, measurements=seen, probe=replace(PROBE, gate=gate), begun=unknown)


def _with_an_expression() -> Stage:
    worker = ExpressionMeasurer(uid_of=lambda name: "uid-1" if name == "spring" else "")

    async def seen() -> list[Measurement]:
        return list(worker.measurements("uid-1"))

    passed = replace(PENDING, verdict=GateVerdict.PASSED, detail="1 < 2 is true")
    probe = replace(PROBE, gate=Gate(name="smoke", expression="1 < 2"))
    return Stage(measurer=worker, measurements=seen, probe=probe, begun=passed)


def _with_a_webhook() -> Stage:
    """One that nobody has allowed."""
    asker = WebhookMeasurer(uid_of=lambda name: "uid-1" if name == "spring" else "", webhooks=Webhooks(()))

    async def seen() -> list[Measurement]:
        return list(asker.measurements("uid-1"))

    where = "https://ci.example:443"
    barred = f"{where} is none of those that this controller may ask; an administrator allows it (--webhook-allow)"
    why = f"the webhook was not asked: {barred}"
    unknown = replace(PENDING, verdict=GateVerdict.UNKNOWN, detail=why)
    probe = replace(PROBE, gate=Gate(name="smoke", webhook="https://ci.example/ask"))
    return Stage(measurer=asker, measurements=seen, probe=probe, begun=unknown)


OTHERS = {"prometheus": _with_nobody, "expressions": _with_an_expression, "webhooks": _with_a_webhook}


@pytest.fixture(scope="module")
def place(plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with a rollout, and a namespace for its Jobs."""
    controller_process.install(plane)
    rollout: dict[str, Any] = {
        "apiVersion": keys.API_VERSION,
        "kind": "GPURollout",
        "metadata": {"name": "spring"},
        "spec": {"target": {"driver": NEW.version}, "nodeSelector": {"no": "node"}},
    }
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, rollout])
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", NAMESPACE, "--timeout=30s")
    yield plane
    plane.kubectl("delete", "gpurollout", "spring")
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


async def _with_jobs(place: ControlPlane) -> AsyncIterator[Stage]:
    uid = place.get("gpurollout", "spring")["metadata"]["uid"]
    config = configs.load_config(kubeconfig=str(place.kubeconfig), environ={})
    async with Client(config, user_agent="test-measurers") as client:

        async def seen() -> list[Measurement]:
            named = place.get("jobs", "-n", NAMESPACE, "-l", probes.SELECTOR)["items"]
            paths = [f"{keys.jobs_path(NAMESPACE)}/{job['metadata']['name']}" for job in named]
            items = [probes.probe_item(await client.get(path, Job)) for path in paths]
            found = [probes.measurement_of(item, ()) for item in items if item is not None]
            return [each for each in found if each is not None]

        measurer = JobMeasurer(client, Rollouts(uid), home=NAMESPACE, level=probes.Level.BASELINE, images=())
        yield Stage(measurer=measurer, measurements=seen, probe=PROBE, begun=PENDING)
    place.kubectl("delete", "jobs", "--all", "-n", NAMESPACE)


async def test_a_gate_is_measured_once_however_often_it_is_asked_for(stage: Stage) -> None:
    for _ in range(2):
        assert await stage.measurer.measure(stage.probe) == Outcome(action=stage.probe, result=Result.DONE)
    assert [replace(each, job="", pod="") for each in await stage.measurements()] == [stage.begun]


async def test_another_try_is_another_measurement(stage: Stage) -> None:
    again = replace(stage.probe, attempt=2)
    for act in (stage.probe, again):
        await stage.measurer.measure(act)
    assert sorted(each.attempt for each in await stage.measurements()) == [1, 2]


async def test_nothing_is_measured_for_a_rollout_that_is_not_at_work(stage: Stage) -> None:
    assert (await stage.measurer.measure(replace(stage.probe, rollout="winter"))).result is Result.STALE
    assert await stage.measurements() == []
