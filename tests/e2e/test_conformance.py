"""The simulator against a real control plane: the same stories have to leave the same traces.

A model agrees with its author. What the World believes about clusters is therefore played on a real API server too,
with its own controllers, evictions and budgets, by our controller as a process; whoever is wrong shows up as two tables
that differ. The stories, and the form in which they are compared, are in tests/scenarios/conformance.py.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final, assert_never

import msgspec
import pytest

from seatrial.adapters.kube.reading import rollout_intent
from seatrial.adapters.kube.shapes import keys, models
from seatrial.core.budget.losses import GPU
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.seen.nodes import NodeFacts, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.pods import DriverPod, DriverRevision, Pod, PodOwner
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim.nodes import JOB_LABEL, new_node, rebooted
from seatrial.sim.reactions import REACTIONS
from seatrial.sim.world import Delay, World
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes import consumers, dra, lifecycle, manifests, stages
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec, Workload
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import ANY, DRIVERS, TIMEOUT_SECONDS, Play, Stage
from tests.e2e.promises import driver_restarts
from tests.scenarios.conformance import (
    EVERYBODY,
    NODES,
    SCENARIOS,
    Deed,
    Release,
    Scenario,
    Trace,
    User,
    normal,
    perform,
)

PREFIX: Final = "same"
SPEC: Final = FleetSpec(
    prefix=PREFIX,
    node_count=NODES,
    driver_version=DRIVERS[0],
    reload_seconds=0.5,
    has_feature_discovery=True,
    has_device_plugin=True,
    has_dra=True,
)
each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
OFTEN: Final = ("plain", "module-does-not-load", "gpu-lost", "drain", "users-leave", "taken-back")
"""The ways that nodes go most often; the others are played by `make stories`."""


# ── on the simulator ─────────────────────────────────────────────────────────────────────────────────────────────────

STARTED_AT: Final = 1_750_000_000.0
VIRTUAL_SECONDS_MAX: Final = 600.0
DELAYS: Final = {
    **{reaction: Delay(seconds=SPEC.validator_seconds) for reaction in REACTIONS},
    "driver gets ready": Delay(seconds=SPEC.reload_seconds),
    "driver crash loops": Delay(seconds=3 * stages.RESTART_EVERY_SECONDS),
}
"""As fast as the fleet of the testbed."""


class Silence:
    """A journal that nobody reads."""

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        """Forget it."""


class Simulated:
    """A story on a World, by the same loop as live."""

    def __init__(self, scenario: Scenario, *, delays: Mapping[str, Delay] = DELAYS, seed: int = 0) -> None:
        running, target = (DriverRevision(hash=f"of-{version}", version=version) for version in DRIVERS)
        self._running, self._target = running, replace(target, digest="first")
        self._spec = {"target": {"driver": target.version}, **scenario.spec}
        self._spec["limits"] = ANY | dict(scenario.spec.get("limits", {}))
        nodes = [
            new_node(
                manifests.node_name(PREFIX, number),
                running=running,
                wanted=running,
                gpu_count=SPEC.gpus_per_node,
                has_features=SPEC.has_feature_discovery,
                has_dra=SPEC.has_dra,
                at=STARTED_AT - 100,
            )
            for number in EVERYBODY
        ]
        self._names = [node.name for node in nodes]
        intent = rollout_intent.read_intent(self._rollout(), OperatorFacts(), STARTED_AT)
        self._world = World(nodes, intent, delays=delays, seed=seed, started_at=STARTED_AT)
        self._world.watchers.append(self._watch)
        self._memory = Memory(STARTED_AT)
        self._states: dict[str, list[str]] = defaultdict(list)
        self._evicted: dict[str, set[str]] = defaultdict(set)
        self._restarted: dict[str, set[str]] = defaultdict(set)
        self._renewed: set[str] = set()
        self._gone: dict[str, Trace] = {}

    def arrive(self, user: User, number: int) -> None:
        name = self._names[number]
        uid = f"{user}-{name}"
        pod = Pod(namespace=user, name=uid, uid=uid, gpu=GpuUse.RESOURCE)
        labels: dict[str, str] = {}
        match user:
            case User.SERVICE:
                pass
            case User.BARE:
                pod = replace(pod, keeper=PodOwner.NOBODY)
            case User.CLAIM:
                pod = replace(pod, gpu=GpuUse.CLAIM, holds_claim=True)
            case User.JOB:
                pod = replace(pod, labels=((JOB_LABEL, uid),))
                self._world.befall(name, lambda fate: replace(fate, is_job_endless=True))
            case User.GUARDED:
                self._world.befall(name, lambda fate: replace(fate, is_eviction_blocked=True))
            case User.WEB:
                pod = replace(pod, gpu=None)
            case User.CLIENT:
                pod = replace(pod, keeper=PodOwner.DAEMON_SET, deploy_label=consumers.CLIENT_LABEL)
                labels = {consumers.CLIENT_LABEL: "true"}
            case _:
                assert_never(user)
        self._change(name, lambda facts: replace(facts, labels={**facts.labels, **labels}, pods=(*facts.pods, pod)))

    def do(self, deed: Deed, number: int) -> None:
        world, name, version = self._world, self._names[number], self._target.version
        match deed:
            case Deed.MODULE_BREAKS:
                world.befall(name, lambda fate: replace(fate, driver_fails_on=version))
            case Deed.IMAGE_BREAKS:
                world.befall(name, lambda fate: replace(fate, image_missing_for=version))
            case Deed.MEND:
                world.befall(name, lambda fate: replace(fate, driver_fails_on="", image_missing_for=""))
            case Deed.LOSE_GPU:
                world.befall(name, lambda fate: replace(fate, is_gpu_lost=True))
            case Deed.REPAIR_GPU:
                world.befall(name, lambda fate: replace(fate, is_gpu_lost=False))
                whole = ((GPU, SPEC.gpus_per_node),)
                self._change(name, lambda facts: replace(facts, offer=replace(facts.offer, resources=whole)))
            case Deed.ACCEPT_LOSS:
                self._change(name, lambda facts: replace(facts, is_loss_accepted=True))
            case Deed.CORDON:
                self._change(name, lambda facts: replace(facts, is_cordoned=True))
            case Deed.SKIP | Deed.UNSKIP:
                self._change(name, lambda facts: replace(facts, is_skipped=deed is Deed.SKIP))
            case Deed.FALL_SILENT | Deed.SPEAK_AGAIN:
                self._change(name, lambda facts: replace(facts, is_ready=deed is Deed.SPEAK_AGAIN))
            case Deed.RETRY:
                world.change(name, lambda node: replace(node, is_retry_asked=True))
            case Deed.ASK:
                self._change(name, lambda facts: replace(facts, is_requested=True))
            case Deed.END_JOB:
                world.befall(name, lambda fate: replace(fate, is_job_endless=False))
            case Deed.FREE_BUDGET:
                world.befall(name, lambda fate: replace(fate, is_eviction_blocked=False))
            case Deed.REBOOT:
                self._change(name, lambda facts: replace(rebooted(facts, world.time), is_cordoned=False))
            case Deed.LEAK:
                self._change(name, lambda facts: replace(facts, driver=leaving(facts.driver)))
            case Deed.DELETE:
                self._gone[name] = self._trace(world.nodes[name])
                world.remove(name)
            case _:
                assert_never(deed)

    def publish(self, release: Release) -> None:
        match release:
            case Release.TARGET:
                self._world.publish(self._target)
            case Release.SAME_DIGEST:
                self._world.publish(replace(self._target, hash="cosmetic"))
            case Release.TAKEN_BACK:
                self._world.publish(self._running)
                self.patch({"target": {"driver": self._running.version}})
            case _:
                assert_never(release)

    def patch(self, spec: Mapping[str, Any]) -> None:
        self._spec = _merged(self._spec, spec)
        self._world.intent = rollout_intent.read_intent(self._rollout(), OperatorFacts(), STARTED_AT)

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        self._run(lambda _: is_so(), what)

    def wait_held(self, wanted: Mapping[int, str]) -> None:
        def is_so(report: Report) -> bool:
            holds = report.decision.holds if report.decision else ()
            found = {hold.subject: hold.code.value for hold in holds}
            return all(found.get(self._names[number]) == code for number, code in wanted.items())

        self._run(is_so, f"holds {dict(wanted)}")

    def states(self, number: int) -> list[str]:
        return self._states[self._names[number]]

    def restart_count(self, number: int) -> int:
        return len(self._restarted[self._names[number]])

    def traces(self) -> tuple[Trace, ...]:
        nodes = self._world.nodes
        return tuple(self._gone.get(name) or self._trace(nodes[name]) for name in self._names)

    def _trace(self, node: NodeSeen) -> Trace:
        driver = node.facts.driver
        return Trace(
            states=normal(self._states[node.name]),
            evicted_count=len(self._evicted[node.name]),
            restart_count=len(self._restarted[node.name]),
            is_plugin_renewed=node.name in self._renewed,
            is_cordoned=node.facts.is_cordoned,
            runs_target=driver is not None and driver.version == self._target.version,
        )

    def _rollout(self) -> models.Rollout:
        return msgspec.convert({"metadata": {"name": "same"}, "spec": self._spec}, models.Rollout)

    def _change(self, name: str, change: Callable[[NodeFacts], NodeFacts]) -> None:
        self._world.change(name, lambda node: replace(node, facts=change(node.facts)))

    def _run(self, is_so: Callable[[Report], bool], what: str) -> None:
        deadline = self._world.time + VIRTUAL_SECONDS_MAX
        report = asyncio.run(
            run_forever(
                self._world.ports(Silence()),
                self._memory,
                on_report=_check,
                is_over=lambda report: is_so(report) or report.at > deadline,
            )
        )
        if report.at > deadline or not is_so(report):
            raise TimeoutError(f"The World stands still or takes too long. Waited for {what}:\n{_told(self.traces())}")

    def _watch(self, before: NodeSeen, after: NodeSeen) -> None:
        name, was, now = after.name, before.facts, after.facts
        if after.record is not None and self._states[name][-1:] != [after.record.phase.value]:
            self._states[name].append(after.record.phase.value)
        self._evicted[name] |= {pod.uid for pod in now.pods if pod.is_terminating}
        if now.driver is not None and now.driver.is_terminating:
            self._restarted[name].add(now.driver.uid)
        if was.dra is not None and now.dra is not None and now.dra.is_terminating:
            self._renewed.add(name)


def leaving(driver: DriverPod | None) -> DriverPod | None:
    """A driver pod that was told to go."""
    return replace(driver, is_terminating=True) if driver is not None else None


def _check(report: Report) -> None:
    assert report.breaches == ()


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch, as far as our specs need one."""
    merged = dict(old)
    for key, value in new.items():
        merged[key] = _merged(old.get(key, {}), value) if isinstance(value, Mapping) else value
    return merged


# ── on a real control plane ──────────────────────────────────────────────────────────────────────────────────────────


class Staged:
    """A story on a fleet of the testbed, by our controller as a process."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._fleet, self._plane = stage, stage.fleet, stage.cluster
        self._users: dict[tuple[User, str], Workload] = {}
        self._gone: dict[str, Trace] = {}

    def arrive(self, user: User, number: int) -> None:
        fleet, node = self._fleet, self._fleet.nodes[number]
        match user:
            case User.SERVICE | User.GUARDED:
                made = consumers.add_pod(fleet, node, name=user, gpus=1)
            case User.BARE:
                made = consumers.add_pod(fleet, node, name=user, gpus=1, is_bare=True)
            case User.CLAIM:
                made = consumers.add_claim_pod(fleet, node, name=user)
            case User.JOB:
                made = fleet.add_job_pod(node, name=user)
            case User.WEB:
                made = consumers.add_pod(fleet, node, name=user)
            case User.CLIENT:
                if number != EVERYBODY[0]:
                    return  # a DaemonSet comes once, to all
                made = consumers.add_daemon_set(fleet, name=user, is_pausable=True)
            case _:
                assert_never(user)
        if user is User.GUARDED:
            self._plane.apply([manifests.disruption_budget(made.name, made.namespace, min_available=1)])
        self._users[user, node] = made

    def do(self, deed: Deed, number: int) -> None:
        stage, fleet, node = self._stage, self._fleet, self._fleet.nodes[number]
        match deed:
            case Deed.MODULE_BREAKS:
                # Two more crashes until it counts as failed, so that a retry can be mended in time.
                fleet.break_driver(node, "module-load", restart_count=8)
            case Deed.IMAGE_BREAKS:
                fleet.break_driver(node, "image-pull")
            case Deed.MEND:
                fleet.mend(node)
            case Deed.LOSE_GPU:
                fleet.lose_gpu(node)
            case Deed.REPAIR_GPU:
                fleet.restore_gpu(node)
            case Deed.ACCEPT_LOSS:
                stage.annotate(node, f"{keys.ACCEPT_LOSS_ANNOTATION}=true")
            case Deed.CORDON:
                fleet.cordon(node)
            case Deed.SKIP:
                stage.label(node, f"{keys.SKIP_LABEL}=true")
            case Deed.UNSKIP:
                stage.label(node, f"{keys.SKIP_LABEL}-")
            case Deed.FALL_SILENT | Deed.SPEAK_AGAIN:
                fleet.set_node_ready(node, is_ready=deed is Deed.SPEAK_AGAIN)
            case Deed.RETRY:
                stage.label(node, f"{keys.STATE_LABEL}=upgrade-required")
            case Deed.ASK:
                stage.annotate(node, f"{keys.REQUESTED_ANNOTATION}=true")
            case Deed.END_JOB:
                job = self._users[User.JOB, node]
                self._plane.kubectl("annotate", "pod", "--all", "-n", job.namespace, f"{stages.DONE_AFTER}=0.1s")
            case Deed.FREE_BUDGET:
                self._plane.kubectl("delete", "pdb", "--all", "-n", self._users[User.GUARDED, node].namespace)
            case Deed.REBOOT:
                lifecycle.reboot(fleet, node)
                fleet.uncordon(node)
            case Deed.LEAK:
                fleet.delete_driver_pod(node)
            case Deed.DELETE:
                self._gone[node] = self.traces()[number]
                lifecycle.delete_node(fleet, node)
            case _:
                assert_never(deed)

    def publish(self, release: Release) -> None:
        match release:
            case Release.TARGET:
                version = self._stage.target
                digest = {"name": keys.DIGEST_VARIABLE, "value": f"of-{version}"}
                self._template({"image": manifests.driver_image(version), "env": [digest]})
            case Release.SAME_DIGEST:
                self._template({"env": [{"name": "COSMETIC", "value": f"with-{self._stage.target}"}]})
            case Release.TAKEN_BACK:
                self._plane.kubectl("rollout", "undo", *self._daemon_set())
                self.patch({"target": {"driver": self._stage.running}})
            case _:
                assert_never(release)

    def patch(self, spec: Mapping[str, Any]) -> None:
        self._stage.patch(**spec)

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        try:
            self._stage.wait(is_so, what)
        except TimeoutError as err:
            raise TimeoutError(f"{err}\n{_told(self.traces(), titles=('cluster',))}") from err

    def wait_held(self, wanted: Mapping[int, str]) -> None:
        self._stage.wait_held({self._fleet.nodes[number]: code for number, code in wanted.items()})

    def states(self, number: int) -> list[str]:
        return self._stage.history.states(self._fleet.nodes[number])

    def restart_count(self, number: int) -> int:
        return len(driver_restarts(self._stage.history, self._fleet.nodes[number]))

    def traces(self) -> tuple[Trace, ...]:
        history, latest, versions = self._stage.history, self._stage.history.latest(), self._fleet.driver_versions()
        where = {(pod.namespace, pod.name): pod.node for pod in history.pods()}
        granted = {(each.namespace, each.name) for each in self._stage.evictions() if each.code == 201}
        renewed = {
            pod.node for pod in history.pods() if pod.namespace == dra.NAMESPACE and (pod.is_leaving or pod.is_gone)
        }
        return tuple(
            self._gone.get(node)
            or Trace(
                states=normal(history.states(node)),
                evicted_count=sum(where[pod] == node for pod in granted),
                restart_count=len(driver_restarts(history, node)),
                is_plugin_renewed=node in renewed,
                is_cordoned=latest[node].is_cordoned,
                runs_target=versions[node] == self._stage.target,
            )
            for node in self._fleet.nodes
        )

    def clear(self) -> None:
        """Leave the fleet to the next story: nobody on it, nothing broken, nothing cordoned."""
        for node in self._gone:
            self._fleet.mend(node)
            lifecycle.add_node(self._fleet, node)
            self._fleet.wait_ready()
        for made in self._users.values():
            self._plane.kubectl(
                "delete", "deployment,daemonset,job,pod,resourceclaim,pdb", "--all", "-n", made.namespace
            )
        self._plane.kubectl("uncordon", *self._fleet.nodes)
        for node in self._fleet.nodes:
            self._fleet.restore_gpu(node)

    def _template(self, container: dict[str, Any]) -> None:
        """Change the driver's container in the template; a list with names is merged by them."""
        named = {"name": manifests.DRIVER_CONTAINER, **container}
        body = json.dumps({"spec": {"template": {"spec": {"containers": [named]}}}})
        self._plane.kubectl("patch", *self._daemon_set(), "--type=strategic", "-p", body)

    def _daemon_set(self) -> tuple[str, str, str]:
        return "-n", self._fleet.spec.namespace, f"daemonset/{self._fleet.driver_daemon_set}"


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    """The fleet of all stories: proven from the beginning, as the nodes of a World are."""
    made = make_fleet(cluster, SPEC)
    waiting.wait_for(
        lambda: is_proven(made),
        what="every validator and DRA plugin to be younger than its driver",
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=1.0,  # so coarse are the clocks of kubelets
    )
    yield made
    made.remove()


def is_proven(fleet: Fleet) -> bool:
    """Whether every operand is younger than its driver; in a new fleet all start at once, so the others start anew."""
    drivers = {node: ready_at(pod) for node, pod in fleet.driver_pods().items()}
    operands = [*fleet.validator_pods().items(), *fleet.dra_pods().items()]
    times = [ready_at(pod) for _, pod in operands]
    for (node, pod), at in zip(operands, times, strict=True):
        driver_at = drivers[node]
        if at is not None and driver_at is not None and at <= driver_at:
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            fleet.plane.kubectl("delete", "pod", name, "-n", namespace, "--ignore-not-found")
    proven = [at for (node, _), at in zip(operands, times, strict=True) if at and at > (drivers[node] or at)]
    return len(proven) == 2 * NODES


def ready_at(pod: dict[str, Any]) -> datetime | None:
    """Since when a pod is Ready; None for one that is not."""
    times = (
        datetime.fromisoformat(each["lastTransitionTime"])
        for each in pod["status"].get("conditions", ())
        if (each["type"], each["status"]) == ("Ready", "True")
    )
    return next(times, None)


# ── the comparison ───────────────────────────────────────────────────────────────────────────────────────────────────


def _told(*sides: tuple[Trace, ...], titles: tuple[str, ...] = ("World",)) -> str:
    """Traces side by side, a node and a fact per row; rows that differ are marked."""
    lines = []
    for number in range(len(sides[0])):
        lines.append(f"node {number}")
        for name in (each.name for each in fields(Trace)):
            values = [getattr(side[number], name) for side in sides]
            mark = "≠" if len(set(values)) > 1 else " "
            texts = [" → ".join(value) if isinstance(value, tuple) else str(value) for value in values]
            rows = zip(titles, texts, strict=True)
            lines += [f"  {mark} {name:18} {title:8} {text}" for title, text in rows]
    return "\n".join(lines)


@each_scenario
def test_the_simulator_tells_a_story_as_it_is_meant(scenario: Scenario) -> None:
    traces = perform(scenario, Simulated(scenario))
    assert traces == scenario.ends, "\n" + _told(traces, scenario.ends, titles=("World", "meant"))


@each_scenario
def test_a_story_does_not_depend_on_how_long_things_take(scenario: Scenario) -> None:
    uneven = {name: Delay(seconds=0.0, jitter_seconds=4 * delay.seconds) for name, delay in DELAYS.items()}
    for seed in range(10):
        traces = perform(scenario, Simulated(scenario, delays=uneven, seed=seed))
        assert traces == scenario.ends, f"seed {seed}\n" + _told(traces, scenario.ends, titles=("World", "meant"))


@pytest.mark.cluster
@pytest.mark.parametrize(
    "scenario",
    [pytest.param(each, id=each.name, marks=() if each.name in OFTEN else pytest.mark.long) for each in SCENARIOS],
)
def test_a_real_control_plane_tells_the_same_story(scenario: Scenario, play: Play) -> None:
    with play(scenario.name, **scenario.spec) as stage:
        staged = Staged(stage)
        try:
            real = perform(scenario, staged)
        finally:
            staged.clear()
    simulated = perform(scenario, Simulated(scenario))
    assert simulated == real, "\n" + _told(simulated, real, titles=("World", "cluster"))
