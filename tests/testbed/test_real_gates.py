"""Gates on a real node: a real kubelet pulls, starts, limits and ends their containers, and keeps what they say.

All Jobs are asked for at once, by the measurer that the controller has; what comes of each is one row. What needs no
kubelet (never placed) is shown in tests/adapters/kube/test_execute_campaign.py as well.
It needs root; without it these tests are left out.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from seatrial import __version__
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.reading.gates.probes import Level
from seatrial.adapters.kube.shapes import keys, kinds, models
from seatrial.adapters.kube.shapes.campaign_models import Job
from seatrial.adapters.kube.surveying import gate_pods
from seatrial.adapters.kube.writing.measure import JobMeasurer
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.judging import limits
from seatrial.core.model.gates.gate import Gate, GateVerdict, Limit, Measurement
from seatrial.ports import Result
from seatrial_lab.image import build, bytecode, recipe
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.nodes import consumers, manifests
from seatrial_lab.testbed.nodes.fleet import make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.real_node import node
from tests import forked, real_nodes

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

real_nodes.needed()

PREFIX, ROLLOUT = "gates", "spring"
REAL = f"{PREFIX}-real-000"
OPEN, STRICT = HOMES = ("gates-open", "gates-strict")
OLD = "570.124.06"
PROBES = f"{recipe.PROBES.name}:{__version__}"
TIMEOUT_SECONDS = 120.0

PASSED, FAILED, UNKNOWN = GateVerdict.PASSED, GateVerdict.FAILED, GateVerdict.UNKNOWN
REPORT = '{"measured": [{"name": "all-reduce", "value": 391.4, "unit": "GB/s", "gpu": "GPU-0"}]}'
BEYOND = (
    '{"broken": [{"name": "nvlink", "why": "link 3 is down"}], "measured": ['
    + ", ".join(['{"name": "all-reduce", "value": 391.4, "unit": "GB/s"}'] * 80)
    + "]}"
)
"""More than a kubelet keeps; what is broken stands at its beginning."""
ENDS_WHEN_TOLD = "trap 'exit 143' TERM; sleep 600 & wait"
ENDS_WELL_WHEN_TOLD = ENDS_WHEN_TOLD.replace("143", "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A gate, and what has to come of it."""

    gate: Gate
    verdict: GateVerdict
    says: str
    """What its detail begins with."""
    home: str = OPEN
    level: Level = Level.BASELINE
    limits: Mapping[str, str] = field(default_factory=lambda: probes.LIMITS)
    start_seconds: int = probes.START_SECONDS


def a_gate(name: str, script: str, **more: Any) -> Gate:
    """A gate that runs a script in an image with a shell."""
    return Gate(name=name, image=consumers.IMAGE, command=("/bin/sh", "-c", script), gpus=0, **more)


def leaves(text: str) -> str:
    return f"printf '%s' '{text}' > {probes.MESSAGE_PATH}"


def at_least(value: float) -> tuple[Limit, ...]:
    return (Limit(name="all-reduce", at_least=value),)


ROWS = (
    Row(
        gate=Gate(name="ready", image=PROBES, probe="deep-readiness"),
        verdict=UNKNOWN,
        says="cuda: ",
        level=Level.RESTRICTED,
    ),
    Row(
        gate=Gate(name="errors", image=PROBES, probe="gpu-errors"),
        verdict=UNKNOWN,
        says="gpu-errors: NVML does not start (NVML Shared Library Not Found): no NVIDIA driver is loaded",
        level=Level.RESTRICTED,
    ),
    Row(
        gate=Gate(name="train", image=PROBES, probe="smoke-train"),
        verdict=UNKNOWN,
        says="smoke-train: PyTorch is not installed in this image",
    ),
    Row(gate=a_gate("good", "true"), verdict=PASSED, says=""),
    Row(
        gate=a_gate("fast", leaves(REPORT), figures=at_least(300)),
        verdict=PASSED,
        says="all-reduce of GPU-0 is 391.4 GB/s, at least 300 asked",
    ),
    Row(
        gate=a_gate("slow", leaves(REPORT), figures=at_least(400)),
        verdict=FAILED,
        says="all-reduce of GPU-0 is 391.4 GB/s, and must be at least 400",
    ),
    Row(gate=a_gate("bad", "echo the ring is open; exit 3"), verdict=FAILED, says="exit code 3: the ring is open"),
    Row(
        gate=a_gate("wordy", leaves("well, more or less"), figures=at_least(300)),
        verdict=UNKNOWN,
        says="all-reduce was not measured; there are no figures at all",
    ),
    Row(gate=a_gate("bytes", f"printf '\\377\\376{{' > {probes.MESSAGE_PATH}"), verdict=PASSED, says=""),
    Row(gate=a_gate("broken-json", leaves('{"measured": [')), verdict=UNKNOWN, says="its result cannot be read: "),
    Row(gate=a_gate("too-long", leaves(BEYOND)), verdict=UNKNOWN, says="its result is longer than "),
    Row(
        gate=a_gate("hungry", "x=aaaaaaaa; while :; do x=$x$x; done"),
        verdict=FAILED,
        says="exit code 137, OOMKilled",
        limits={"memory": "24Mi"},
    ),
    Row(gate=a_gate("hung", ENDS_WELL_WHEN_TOLD, timeout_seconds=2.0), verdict=FAILED, says="it did not end in time"),
    Row(
        gate=Gate(name="no-image", image="registry.example.invalid/none:1", gpus=0, timeout_seconds=2.0),
        verdict=UNKNOWN,
        says="its container never ran: ",
    ),
    Row(
        gate=Gate(name="too-many", image=PROBES, gpus=99, timeout_seconds=1.0),
        verdict=UNKNOWN,
        says="it was not run to its end in time: ",
        start_seconds=2,
    ),
    Row(
        gate=a_gate("not-let-in", "true", timeout_seconds=1.0),
        verdict=UNKNOWN,
        says='it was not run to its end in time: violates PodSecurity "restricted:latest"',
        home=STRICT,
        start_seconds=2,
    ),
)


@dataclass(kw_only=True)
class Yard:
    """A real node, a rollout whose gates are measured on it, and what came of them."""

    plane: ControlPlane
    real: node.RealNode
    uid: str
    told: dict[str, Measurement] = field(default_factory=dict)
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)

    def stored_rollout(self, name: str) -> models.Rollout:
        return models.Rollout(metadata=models.ObjectMeta(name=name, uid=self.uid))

    async def ask(self, client: Client, row: Row) -> None:
        measurer = JobMeasurer(client, self, home=row.home, level=row.level, images=(), limits=row.limits)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(probes, "START_SECONDS", row.start_seconds)
            assert (await measurer.measure(question(row.gate))).result is Result.DONE

    async def look(self, client: Client) -> dict[str, Measurement]:
        """What every gate has measured so far, held to its limits."""
        found = {}
        asked = {row.gate.name: row.gate for row in ROWS}
        for home in HOMES:
            jobs = await client.list(keys.jobs_path(home), Job, label_selector=probes.SELECTOR)
            pods = await client.list(keys.pods_path(home), kinds.Pod, label_selector=probes.SELECTOR)
            events = await client.list(keys.events_path(home), kinds.Event, field_selector=probes.REFUSALS)
            told = [probes.probe_pod_item(pod) for pod in pods.items]
            refused = list(filter(None, map(probes.refusal_item, events.items)))
            for item in filter(None, map(probes.probe_item, jobs.items)):
                uid = item.metadata.uid
                mine = [pod for pod in told if pod.job_uid == uid]
                measured = probes.measurement_of(item, mine, [each for each in refused if each.job_uid == uid])
                if measured is not None:
                    gate = asked.get(measured.gate)
                    found[measured.gate] = limits.held_to(gate, measured) if gate else measured
        return found

    async def ends(self, client: Client, names: set[str]) -> dict[str, Measurement]:
        """What these gates have measured, once there is a verdict on each."""
        until = time.monotonic() + TIMEOUT_SECONDS
        while True:
            found = await self.look(client)
            ended = {name for name, each in found.items() if each.verdict is not GateVerdict.PENDING}
            if names <= ended:
                return found
            assert time.monotonic() < until, f"no verdict on {sorted(names - ended)}"
            await asyncio.sleep(0.2)

    def named(self, name: str) -> dict[str, Any]:
        """The pod of a gate; empty where none was placed."""
        found = self.plane.get("pods", "-A", "-l", f"{keys.GATE_KEY}={name}")["items"]
        return dict(found[0]) if found else {}


def question(gate: Gate) -> StartProbe:
    return StartProbe(rollout=ROLLOUT, gate=gate, node=REAL, round=1, attempt=1)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    folder = tmp_path_factory.mktemp("yard")
    with ControlPlane.start(folder / "plane") as plane:
        plane.load_nvidia_crds()
        controller_process.install(plane)
        real = node.start(plane, REAL, driver_versions=(OLD,))
        real.import_archive(image_of_payloads(folder))
        make_fleet(plane, FleetSpec(prefix=PREFIX, node_count=1, driver_version=OLD, real_nodes=(REAL,)))
        rollout = {"apiVersion": keys.API_VERSION, "kind": "GPURollout", "metadata": {"name": ROLLOUT}}
        spec = {"target": {"driver": OLD}, "nodeSelector": {"no": "node"}}
        strict = {STRICT: {"pod-security.kubernetes.io/enforce": "restricted"}}
        homes = [manifests.namespace(each, PREFIX, labels=strict.get(each)) for each in HOMES]
        plane.apply([*homes, rollout | {"spec": spec}])
        for home in HOMES:
            plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", home, "--timeout=30s")
        made = Yard(plane=plane, real=real, uid=plane.get("gpurollout", ROLLOUT)["metadata"]["uid"])
        asyncio.run(measure_all(made))
        made.pods = {row.gate.name: made.named(row.gate.name) for row in ROWS}
        yield made


def image_of_payloads(folder: Path) -> Path:
    """The image as `make image-probes` writes it for this machine."""
    assert build.main([recipe.PROBES.title, "--arch", bytecode.host(), "--out", str(folder)]) == 0
    return folder / f"{recipe.PROBES.title}-{__version__}-{bytecode.host()}.tar"


def connected(plane: ControlPlane) -> Client:
    return Client(configs.load_config(kubeconfig=str(plane.kubeconfig), environ={}), user_agent="test-real-gates")


async def measure_all(yard: Yard) -> None:
    async with connected(yard.plane) as client:
        for row in ROWS:
            await yard.ask(client, row)
        yard.told = await yard.ends(client, {row.gate.name for row in ROWS})


@pytest.fixture
async def client(yard: Yard) -> AsyncIterator[Client]:
    async with connected(yard.plane) as opened:
        yield opened


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.gate.name)
def test_a_gate_has_the_verdict_that_its_container_earned(yard: Yard, row: Row) -> None:
    told = yard.told[row.gate.name]
    seen = json.dumps(yard.pods[row.gate.name].get("status"), indent=1)
    assert told.verdict is row.verdict, f"{told.detail}\n{seen}"
    assert told.detail.startswith(row.says), f"{told.detail}\n{seen}"
    assert bool(told.detail) == bool(row.says), told.detail


@pytest.mark.parametrize("name", ["ready", "errors"])
def test_a_payload_runs_from_our_image_with_a_gpu_as_nobody_and_leaves_its_report(yard: Yard, name: str) -> None:
    pod = yard.pods[name]
    (status,) = pod["status"]["containerStatuses"]
    (container,) = pod["spec"]["containers"]
    assert pod["spec"]["nodeName"] == REAL
    assert container["resources"]["limits"] == {**probes.LIMITS, "nvidia.com/gpu": "1"}
    assert container["securityContext"]["runAsNonRoot"] is True
    assert status["image"] == PROBES
    ended = status["state"]["terminated"]
    assert ended["exitCode"] == 11
    report = json.loads(ended["message"])
    assert (report["probe"], report["verdict"]) == (container["command"][1], "unknown")


def test_of_a_long_message_the_end_is_kept(yard: Yard) -> None:
    kept = yard.pods["too-long"]["status"]["containerStatuses"][0]["state"]["terminated"]["message"]
    assert kept == BEYOND[-4096:]


@pytest.mark.parametrize(
    ("name", "script", "says"),
    [
        ("evicted", ENDS_WHEN_TOLD, "its pod was moved away before it ended"),
        ("evicted-well", ENDS_WELL_WHEN_TOLD, "its pod was deleted before it could be looked at"),
    ],
)
async def test_a_gate_whose_pod_is_evicted_was_not_measured(
    yard: Yard, client: Client, name: str, script: str, says: str
) -> None:
    await yard.ask(client, Row(gate=a_gate(name, script), verdict=UNKNOWN, says=""))
    pod = await asyncio.to_thread(running, yard, name)
    await client.evict(OPEN, pod)
    told = (await yard.ends(client, {name}))[name]
    assert (told.verdict, told.detail) == (UNKNOWN, says)


async def test_who_asks_why_is_told_the_last_line_of_a_gate_that_runs_and_of_one_that_failed(
    yard: Yard, client: Client
) -> None:
    script = f"echo one; printf '\\033[31mstep 40 of 100\\033[0m\\n\\n'; {ENDS_WHEN_TOLD}"
    await yard.ask(client, Row(gate=a_gate("a-talker", script), verdict=UNKNOWN, says=""))
    pod = await asyncio.to_thread(running, yard, "a-talker")
    try:
        told = {each.gate: each for each in await gate_pods.gate_pods(client, ROLLOUT)}
        assert (told["a-talker"].state, told["a-talker"].pod) == (gate_pods.State.RUNNING, pod)
        assert (told["a-talker"].last, told["a-talker"].unread) == ("step 40 of 100", "")
        assert (told["bad"].state, told["bad"].last) == (gate_pods.State.FAILED, "the ring is open")
        assert len(told) == gate_pods.SHOWN_MAX
        said = await asyncio.to_thread(forked.run, "why", ROLLOUT, "--kubeconfig", str(yard.plane.kubeconfig))
        line = next(line for line in said.stdout.splitlines() if line.startswith("Gate      a-talker"))
        assert line.endswith(f'; its log ends with "step 40 of 100". `kubectl -n {OPEN} logs {pod}` shows more.')
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        account = yard.plane.service_account(OPEN, "no-logs", cluster_rules=rules)
        config = configs.load_config(kubeconfig=str(account), environ={})
        async with Client(config, user_agent="test-real-gates") as denied:
            first, *_ = await gate_pods.gate_pods(denied, ROLLOUT)
        assert (first.gate, first.last, first.unread) == ("a-talker", "", gate_pods.UNREAD)
    finally:
        await client.evict(OPEN, pod)


async def test_a_gate_whose_job_somebody_deletes_leaves_nothing_and_is_no_measurement(
    yard: Yard, client: Client
) -> None:
    gate = a_gate("deleted", ENDS_WHEN_TOLD)
    await yard.ask(client, Row(gate=gate, verdict=UNKNOWN, says=""))
    await asyncio.to_thread(running, yard, "deleted")
    name = probes.name_of(question(gate), yard.uid)
    yard.plane.kubectl("delete", "job", name, "-n", OPEN, "--cascade=foreground", f"--timeout={TIMEOUT_SECONDS:g}s")
    assert "deleted" not in await yard.look(client), "it is asked for anew, as if nobody ever had"
    assert yard.plane.get("pods", "-n", OPEN, "-l", f"{keys.GATE_KEY}=deleted")["items"] == []


async def test_a_gate_on_a_node_that_is_lost_was_not_measured_and_its_pod_goes_when_the_node_is_back(
    yard: Yard, client: Client
) -> None:
    gate = a_gate("lost", ENDS_WHEN_TOLD, timeout_seconds=5)
    await yard.ask(client, Row(gate=gate, verdict=UNKNOWN, says="", start_seconds=5))
    await asyncio.to_thread(running, yard, "lost")
    with yard.real.silent():
        told = (await yard.ends(client, {"lost"}))["lost"]
        assert told.verdict is UNKNOWN
        assert told.detail.startswith("it was not run to its end in time: "), told.detail
        assert yard.named("lost")["metadata"]["deletionTimestamp"], "nobody there can say that it is gone"
    waiting.wait_for(lambda: not yard.named("lost"), what="its pod to go", timeout_seconds=TIMEOUT_SECONDS)
    yard.real.wait_ready()


def running(yard: Yard, name: str) -> str:
    """The pod of a gate, once its container runs."""

    def look() -> str | None:
        found = yard.plane.get("pods", "-n", OPEN, "-l", f"{keys.GATE_KEY}={name}")["items"]
        return next((pod["metadata"]["name"] for pod in found if pod["status"].get("phase") == "Running"), None)

    return waiting.wait_for(look, what=f"{name} to run", timeout_seconds=TIMEOUT_SECONDS, pause_seconds=0.2)


def test_nothing_is_left_when_the_rollout_is_gone(yard: Yard) -> None:
    """The last of this file: the garbage collector takes what belongs to a GPURollout with it."""
    yard.plane.kubectl("delete", "gpurollout", ROLLOUT)

    def left() -> list[str]:
        found = yard.plane.get("jobs,pods", "-A", "-l", keys.GATE_KEY)["items"]
        return [f"{each['kind']}/{each['metadata']['name']}" for each in found]

    waiting.wait_for(
        lambda: not left(),
        what="every Job and pod to go with their rollout",
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.3,
        describe=lambda: ", ".join(left()),
    )
