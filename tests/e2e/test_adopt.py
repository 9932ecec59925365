"""A fleet that was left half-done in many ways is classified, and finished or undone exactly as it was announced.

Every state is made by real writes, under the names of those who leave it in real clusters. The tests share one fleet
and go on where the one before left it: the upgrade is finished first, then a later one is undone, then there is more to
it than that.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube import adoption
from seatrial.adapters.kube.api.client import Client, PatchKind
from seatrial.adapters.kube.api.config import Config, load_config
from seatrial.adapters.kube.shapes import keys
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.movers.pace import ways as pace_ways
from seatrial.core.node.writing import PAUSED
from seatrial.core.survey.adoption import node as adopt
from seatrial.core.survey.adoption import traces as values
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked

pytestmark = pytest.mark.cluster

PREFIX = "adopt"
OLD, NEW, NEWER = "570.124.06", "580.105.08", "590.48.01"
SELECTOR = f"testbed.seatrial.dev/fleet={PREFIX}"
TIMEOUT_SECONDS = 120.0

OPERATOR, PERSON, OURSELVES = "gpu-operator", "kubectl", "seatrial"
PLUGIN, TOOLKIT = f"{keys.DEPLOY_PREFIX}device-plugin", f"{keys.DEPLOY_PREFIX}container-toolkit"
TRACES = (
    keys.INITIAL_STATE_ANNOTATION,
    keys.JOBS_TIMER_ANNOTATION,
    keys.VALIDATION_TIMER_ANNOTATION,
    keys.SKIPPED_BY_ANNOTATION,
)
OUR_RECORD = {
    "schema": 1,
    "phase": "pod-deletion-required",
    "attempt": 3,
    "enteredAt": "2026-01-05T08:00:00.000Z",
    "cordon": "ours",
}

LEFT: dict[str, dict[str, Any]] = {
    "untouched": {},
    "done": {"driver": NEW},
    "labelled-only": {"state": "cordon-required", "labels": {keys.SKIP_LABEL: pace_ways.WAKE_VALUE}},
    "evicting": {
        "state": "pod-deletion-required",
        "cordon": OPERATOR,
        "notes": {keys.JOBS_TIMER_ANNOTATION: "1767600000"},
    },
    "cordoned-before": {
        "state": "pod-restart-required",
        "cordon": PERSON,
        "notes": {keys.INITIAL_STATE_ANNOTATION: "true"},
    },
    "label-stripped": {"driver": NEW, "cordon": OPERATOR},
    "validating-nothing": {
        "state": "validation-required",
        "cordon": OPERATOR,
        "notes": {keys.VALIDATION_TIMER_ANNOTATION: "1767600000"},
    },
    "crashing": {"state": "upgrade-failed", "cordon": OPERATOR},
    "paused": {"driver": NEW, "labels": {PLUGIN: PAUSED, TOOLKIT: f"custom_{PAUSED}"}},
    "skipped": {"labels": {keys.SKIP_LABEL: "true"}},
    "cordoned-by-a-person": {"cordon": PERSON},
    "our-crashed-self": {
        "cordon": OURSELVES,
        "labels": {keys.STATE_LABEL: "pod-deletion-required", keys.CANARY_LABEL: "gone"},
        "notes": {keys.RECORD_ANNOTATION: json.dumps(OUR_RECORD)},
    },
    "unreadable": {
        "cordon": OURSELVES,
        "labels": {keys.STATE_LABEL: "drain-required"},
        "notes": {keys.RECORD_ANNOTATION: "{half a rec"},
    },
    "kept-out": {"labels": {keys.SKIP_LABEL: "true"}, "notes": {keys.SKIPPED_BY_ANNOTATION: "gone"}},
    "mistaken-cordon": {
        "driver": NEW,
        "state": "upgrade-done",
        "cordon": OPERATOR,
        "notes": {keys.INITIAL_STATE_ANNOTATION: "true"},
    },
    "leaving": {"state": "pod-restart-required", "cordon": OPERATOR},
    "mistyped": {"state": "pod-restart-requird"},
}
"""How each node is left: NVIDIA's state, who cordoned it, labels, annotations, and which driver it runs already."""

ANNOUNCED = {
    "untouched": ("start", ""),
    "done": ("nothing", ""),
    "labelled-only": ("start", ""),
    "evicting": ("finish", "pod-deletion-required"),
    "cordoned-before": ("finish", "pod-restart-required"),
    "label-stripped": ("finish", "validation-required"),
    "validating-nothing": ("start", "upgrade-required"),
    "crashing": ("start", "upgrade-required"),
    "paused": ("finish", "validation-required"),
    "skipped": ("leave", ""),
    "cordoned-by-a-person": ("start", ""),
    "our-crashed-self": ("finish", "pod-deletion-required"),
    "unreadable": ("start", "upgrade-required"),
    "kept-out": ("start", ""),
    "mistaken-cordon": ("finish", "validation-required"),
    "leaving": ("finish", "pod-restart-required"),
    "mistyped": ("start", ""),
}
CORDONED_STILL = {"cordoned-before", "cordoned-by-a-person"}
"""Somebody's cordon is somebody's."""
DRIVER_KEPT = {"done", "label-stripped", "paused", "mistaken-cordon", "skipped"}


def _is_tainted(spec: dict[str, Any]) -> bool:
    return any(taint["key"] == "node.kubernetes.io/unschedulable" for taint in spec.get("taints", ()))


class Left:
    """The fleet, its nodes by how they were left."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.names = dict(zip(LEFT, fleet.nodes, strict=True))
        self.stories = {name: story for story, name in self.names.items()}

    def patch(self, name: str, body: dict[str, Any], manager: str) -> None:
        """Write to a node as somebody would: the API server keeps the name."""

        async def write() -> None:
            async with Client(config_of(self.fleet.plane), user_agent=manager) as client:
                path = f"{keys.NODES}/{name}"
                await client.patch(path, body, kind=PatchKind.MERGE, field_manager=manager)

        asyncio.run(write())

    def leave(self, name: str, left: dict[str, Any]) -> None:
        """Leave a node half-done."""
        state = {keys.NVIDIA_STATE_LABEL: left["state"]} if "state" in left else {}
        metadata = {"labels": state | left.get("labels", {}), "annotations": left.get("notes", {})}
        spec = {"spec": {"unschedulable": True}} if "cordon" in left else {}
        if left:
            self.patch(name, {"metadata": metadata, **spec}, left.get("cordon", OPERATOR))

    def reload(self, version: str, *names: str) -> None:
        """Replace driver pods by hand, and return when those of the version are Ready and validated."""
        for name in names:
            self.fleet.delete_driver_pod(name)
        waiting.wait_for(
            lambda: self._are_ready(version, names),
            what=f"{names} to be reloaded",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.3,
        )

    def _are_ready(self, version: str, names: tuple[str, ...]) -> bool:
        drivers, validators = self.fleet.driver_pods(), self.fleet.validator_pods()
        return all(
            is_ready(drivers.get(name))
            and drivers[name]["spec"]["containers"][0]["image"].startswith(f"nvcr.io/nvidia/driver:{version}-")
            and is_ready(validators.get(name))
            for name in names
        )

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Every node, by how it was left."""
        found = self.fleet.plane.get("nodes", "-l", SELECTOR)["items"]
        return {self.stories[each["metadata"]["name"]]: each for each in found}

    def driver_uids(self) -> dict[str, str]:
        return {self.stories[name]: pod["metadata"]["uid"] for name, pod in self.fleet.driver_pods().items()}

    def versions(self) -> dict[str, str]:
        return {self.stories[name]: version for name, version in self.fleet.driver_versions().items()}

    def states(self) -> dict[str, str]:
        return {story: node["metadata"]["labels"].get(keys.STATE_LABEL, "") for story, node in self.nodes().items()}

    def cordoned(self) -> set[str]:
        return {story for story, node in self.nodes().items() if node["spec"].get("unschedulable")}

    def resource_versions(self) -> dict[str, str]:
        """The versions of all nodes, once the API server has set or lifted the taint that follows a cordon."""

        def are_settled() -> bool:
            specs = [node["spec"] for node in self.nodes().values()]
            return all(bool(each.get("unschedulable")) is _is_tainted(each) for each in specs)

        waiting.wait_for(are_settled, what="every cordon to be a taint", timeout_seconds=TIMEOUT_SECONDS)
        return {story: node["metadata"]["resourceVersion"] for story, node in self.nodes().items()}

    def wait_states(self, wanted: dict[str, str], controller: ControllerProcess) -> None:
        """Wait until these nodes are in these states of ours."""

        def look() -> bool:
            controller.check()
            states = self.states()
            return all(states[story] == state for story, state in wanted.items())

        waiting.wait_for(
            look,
            what="every node to end as announced",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.3,
            describe=lambda: str({story: (self.states()[story], state) for story, state in wanted.items()}),
        )

    def adopt(self, *options: str, code: int = ExitCode.HELD) -> dict[str, Any]:
        """`seatrial rollout adopt` as a person runs it; HELD, since one node waits for a person."""
        where = ("--kubeconfig", str(self.fleet.plane.kubeconfig), "--selector", SELECTOR)
        limits = ("--max-parallel", "0", "--max-unavailable", "100%")
        done = forked.run("rollout", "adopt", *options, *where, *limits, "-o", "json")
        assert done.returncode == code, done.stderr + done.stdout
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def fates(self, plan: dict[str, Any]) -> dict[str, tuple[str, str]]:
        return {self.stories[node["name"]]: (node["fate"], node["phase"]) for node in plan["nodes"]}

    def why(self, plan: dict[str, Any], story: str) -> str:
        (found,) = (str(node["why"]) for node in plan["nodes"] if node["name"] == self.names[story])
        return found


def config_of(plane: ControlPlane) -> Config:
    return load_config(kubeconfig=str(plane.kubeconfig), context=None, environ={})


def is_ready(pod: dict[str, Any] | None) -> bool:
    conditions = (pod or {}).get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


@pytest.fixture(scope="module")
def left(cluster: ControlPlane) -> Iterator[Left]:
    """The fleet, with an upgrade from OLD to NEW left half-done."""
    made = make_fleet(cluster, FleetSpec(prefix=PREFIX, node_count=len(LEFT), driver_version=OLD, reload_seconds=0.5))
    try:
        yield Left(made)
    finally:
        for rollout in cluster.get("gpurollouts", "-l", keys.ADOPTION_LABEL)["items"]:
            controller_process.remove_rollouts(cluster, rollout["metadata"]["name"])
        made.remove()


@pytest.fixture(scope="module")
def account(cluster: ControlPlane) -> Path:
    """The controller's kubeconfig, with the rights that are shipped."""
    return controller_process.identity(cluster, PREFIX)


def test_every_half_done_node_is_finished_as_announced(left: Left, account: Path, tmp_path: Path) -> None:
    fleet, names = left.fleet, left.names
    fleet.set_driver_version(NEW)
    left.reload(NEW, *(names[story] for story, each in LEFT.items() if each.get("driver") == NEW))
    fleet.break_driver(names["crashing"], "module-load", restart_count=12)
    fleet.delete_driver_pod(names["crashing"])
    fleet.break_driver(names["leaving"], "stuck-terminating")
    fleet.delete_driver_pod(names["leaving"])
    for story, each in LEFT.items():
        left.leave(names[story], each)
    waiting.wait_for(
        lambda: restarts(fleet.driver_pods().get(names["crashing"])) > 10,
        what="the driver to crash",
        timeout_seconds=TIMEOUT_SECONDS,
    )
    drivers, before = left.driver_uids(), left.resource_versions()

    plan = left.adopt("--dry-run")

    assert (plan["target"], plan["direction"], plan["unpublished"]) == (NEW, "to", [])
    assert left.fates(plan) == ANNOUNCED
    assert left.resource_versions() == before
    assert left.fleet.plane.get("gpurollouts", "-l", keys.ADOPTION_LABEL)["items"] == []
    assert "somebody else's cordon (kubectl) stays" in left.why(plan, "cordoned-before")
    assert "its cordon is lifted" in left.why(plan, "mistaken-cordon")
    assert "somebody marked it skip" in left.why(plan, "skipped")

    done = left.adopt("-y")

    assert left.fates(done) == ANNOUNCED
    assert (done["changed"], done["rollout"]["name"]) == ([], f"adopt-{NEW}")
    assert left.cordoned() == {story for story, each in LEFT.items() if "cordon" in each}
    # What is written is written once: a run that was interrupted, or a second one, comes to the same.
    before = left.resource_versions()
    again = left.adopt("-y")
    assert (again["written"], again["rollout"]["isNew"]) == ([], False)
    assert left.resource_versions() == before

    fleet.mend(names["leaving"])
    with ControllerProcess(account, done["rollout"]["name"], tmp_path) as controller:
        waiting.wait_for(
            lambda: left.driver_uids().get("crashing") not in (None, drivers["crashing"]),
            what="the driver pod that crashes to be replaced",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.2,
        )
        fleet.mend(names["crashing"])
        left.wait_states(
            {**dict.fromkeys(LEFT, "upgrade-done"), "skipped": "upgrade-required"},
            controller,
        )
        assert controller.stop() == 0
    assert left.versions() == {**dict.fromkeys(LEFT, NEW), "skipped": OLD}
    assert left.cordoned() == CORDONED_STILL
    after = left.driver_uids()
    assert {story for story, uid in after.items() if uid == drivers[story]} == DRIVER_KEPT
    for story, node in left.nodes().items():
        labels, notes = node["metadata"]["labels"], node["metadata"]["annotations"]
        assert not [key for key in TRACES if key in notes], story
        assert keys.CANARY_LABEL not in labels
        assert labels.get(keys.SKIP_LABEL) == ("true" if story == "skipped" else None)
    paused = left.nodes()["paused"]["metadata"]["labels"]
    assert (paused[PLUGIN], paused[TOOLKIT]) == ("true", "custom")


@pytest.mark.long
def test_a_later_upgrade_is_undone_as_announced(left: Left, account: Path, tmp_path: Path) -> None:
    fleet, names = left.fleet, left.names
    fleet.set_driver_version(NEWER)
    left.reload(NEWER, names["done"], names["evicting"])
    left.leave(names["evicting"], {"state": "validation-required", "cordon": OPERATOR})
    left.leave(names["untouched"], {"state": "pod-deletion-required", "cordon": OPERATOR})
    before, drivers = left.resource_versions(), left.driver_uids()

    plan = left.adopt("--back", "--dry-run")

    assert (plan["target"], plan["direction"]) == (NEW, "back")
    expected = {
        **dict.fromkeys(LEFT, ("nothing", "")),
        "done": ("undo", ""),
        "evicting": ("undo", "upgrade-required"),
        "untouched": ("undo", "upgrade-required"),
        "skipped": ("leave", ""),
    }
    assert left.fates(plan) == expected
    assert len(plan["unpublished"]) == len(LEFT)
    assert left.resource_versions() == before

    done = left.adopt("--back", "-y")

    assert left.fates(done) == expected
    with ControllerProcess(account, done["rollout"]["name"], tmp_path) as controller:
        fleet.set_driver_version(NEW)
        undone = ("done", "evicting", "untouched")

        def is_back() -> bool:
            controller.check()
            versions, states = left.versions(), left.states()
            are_done = all(states[story] == "upgrade-done" for story in undone)
            return (
                are_done and all(versions.get(story) == NEW for story in undone) and left.cordoned() == CORDONED_STILL
            )

        waiting.wait_for(
            is_back,
            what="the upgrade to be undone",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.3,
            describe=lambda: f"{left.versions()} {left.states()} {left.cordoned()}",
        )
        assert controller.stop() == 0
    after = left.driver_uids()
    assert {story for story, uid in after.items() if uid != drivers[story]} == {"done", "evicting"}


def test_a_node_that_changes_meanwhile_is_looked_at_again_and_written_only_as_announced(left: Left) -> None:
    same, other = left.names["mistyped"], left.names["paused"]
    for name in (same, other):
        left.leave(name, {"state": "validation-required", "cordon": OPERATOR})

    async def story() -> adoption.Taken:
        async with (
            Client(config_of(left.fleet.plane), user_agent="seatrial-test") as client,
            adoption.AdoptionObserver(client, namespace=left.fleet.spec.namespace, on_fault=pytest.fail) as observer,
        ):
            await observer.wait_synced(TIMEOUT_SECONDS)
            await observer.read_traces()
            classify = partial(adopt.classify, wish=values.Wish(target=NEW, now=time.time()))
            nodes = observer.all_nodes()
            announced = {name: classify(nodes[name], observer.traces_of(name)) for name in (same, other)}
            left.fleet.plane.kubectl("label", "node", same, "example.com/rack=r1")
            left.fleet.plane.kubectl("label", "node", other, f"{keys.SKIP_LABEL}=true")
            return await adoption.take_up(client, observer, announced, classify)

    taken = asyncio.run(story())

    assert (taken.written, taken.changed) == ([same], [other])
    states = left.states()
    assert (states["mistyped"], states["paused"]) == ("validation-required", "upgrade-done")


@pytest.fixture
def policy(cluster: ControlPlane) -> Iterator[str]:
    """A ClusterPolicy that leaves the nodes to us; nobody acts on it here."""
    made = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "adopted"},
        "spec": {
            "operator": {"defaultRuntime": "containerd"},
            "daemonsets": {},
            "dcgm": {},
            "dcgmExporter": {},
            "devicePlugin": {},
            "gfd": {},
            "nodeStatusExporter": {},
            "toolkit": {},
            "driver": {"version": NEW, "upgradePolicy": {"autoUpgrade": False}},
        },
    }
    cluster.apply([made])
    yield "adopted"
    cluster.kubectl("delete", "clusterpolicy", "adopted")


def test_a_version_is_published_when_asked_and_nothing_is_adopted_while_nvidias_controller_is_on(
    left: Left, policy: str
) -> None:
    plane = left.fleet.plane
    for rollout in plane.get("gpurollouts", "-l", keys.ADOPTION_LABEL)["items"]:
        controller_process.remove_rollouts(plane, rollout["metadata"]["name"])

    plan = left.adopt("--to", NEWER, "--publish", "direct", "-y", "--name", "publishing")

    assert plan["publishes"] == [f"ClusterPolicy/{policy}"]
    assert plane.get("clusterpolicy", policy)["spec"]["driver"]["version"] == NEWER
    made = plane.get("gpurollout", "publishing")
    assert made["spec"]["target"] == {"driver": NEWER}
    assert made["metadata"]["labels"] == {keys.ADOPTION_LABEL: "to"}

    before = left.resource_versions()
    on = json.dumps({"spec": {"driver": {"upgradePolicy": {"autoUpgrade": True}}}})
    plane.kubectl("patch", "clusterpolicy", policy, "--type=merge", "-p", on)
    refused = left.adopt("-y")
    assert refused["refusal"]["code"] == "nvidia-moves"
    assert left.resource_versions() == before


def restarts(pod: dict[str, Any] | None) -> int:
    statuses = (pod or {}).get("status", {}).get("containerStatuses", [])
    return max((int(each.get("restartCount", 0)) for each in statuses), default=0)
