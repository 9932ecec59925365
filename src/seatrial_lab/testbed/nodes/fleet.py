"""A fleet of simulated GPU nodes on a real control plane: its drivers, its workloads, and what goes wrong with it.

What a fleet is made of is in fleet_spec.py, objects are in manifests.py and dra.py, the behaviour of pods in stages.py,
that of operands in operands.py; who else may sit on a node is in consumers.py. Tests: tests/testbed/test_fleet.py.
"""

import datetime
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Final

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.neighbours import operands
from seatrial_lab.testbed.nodes import dra, kubelet, manifests, stages
from seatrial_lab.testbed.nodes.fleet_spec import (
    FleetSpec,
    Object,
    Workload,
    by_node,
    gives_gpus,
    is_observed,
    is_ready,
    objects_of,
    ready_at,
    ready_count,
)
from seatrial_lab.testbed.plane import control_plane
from seatrial_lab.testbed.real_node import dressing

DEADLINE_SECONDS: Final = 60.0
ATTEMPTS_MAX: Final = 10


def make_fleet(plane: control_plane.ControlPlane, spec: FleetSpec, *, timeout_seconds: float | None = None) -> "Fleet":
    """Make a fleet and return when every node, driver and validator is Ready and every operand has done its work."""
    operands.ensure_running(plane)  # started with the control plane; started again here if it has died
    fleet = Fleet(plane, spec)
    plane.apply(objects_of(spec))
    # A machine with two cores brings up some forty nodes per second; ten times that long means something is wrong.
    pace = spec.reload_seconds + spec.reload_jitter_seconds + spec.validator_seconds
    limit_seconds = timeout_seconds or DEADLINE_SECONDS + pace + spec.node_count / 4
    fleet.wait_ready(limit_seconds)
    waiting.wait_for(fleet.validators_follow, what="validators to follow drivers", timeout_seconds=limit_seconds)
    if spec.has_dra:
        fleet.start_dra()  # now: in a healthy fleet the plugins are younger than the drivers
    fleet.wait_reported(limit_seconds)
    return fleet


def let_go(plane: control_plane.ControlPlane, namespace: str) -> None:
    """Let the pods of a namespace go that stay Terminating; one that goes in this very moment is no failure."""
    try:
        plane.kubectl("annotate", "pod", "--all", "-n", namespace, f"{stages.STAYS}-")
    except errors.KubectlFailed as err:
        if "(NotFound)" not in str(err):
            raise


class Fleet:
    """A fleet that exists."""

    def __init__(self, plane: control_plane.ControlPlane, spec: FleetSpec) -> None:
        self.spec = spec
        simulated = (manifests.node_name(spec.prefix, each) for each in range(spec.node_count))
        self.nodes: tuple[str, ...] = (*simulated, *spec.real_nodes)
        self.driver_daemon_set = manifests.driver_daemon_set_name(spec.prefix)
        self.validator_daemon_set = manifests.validator_daemon_set_name(spec.prefix)
        self.plane = plane

    # --- looking ---

    def driver_pods(self) -> dict[str, Object]:
        """Return the driver pod of every node that has one; the youngest, where an old one is still going."""
        return self._pods(stages.DRIVER_LABELS)

    def validator_pods(self) -> dict[str, Object]:
        """Return the validator pod of every node that has one."""
        return self._pods({"app": manifests.VALIDATOR_APP})

    def driver_versions(self) -> dict[str, str]:
        """Return the driver version that the pod of each node was made with."""
        pods = self.driver_pods()
        return {node: manifests.driver_version(pod["spec"]["containers"][0]["image"]) for node, pod in pods.items()}

    def dra_pods(self) -> dict[str, Object]:
        """Return the pod of the DRA kubelet plugin of every node that has one."""
        selector = ",".join(f"{key}={value}" for key, value in dra.COMPONENT_LABELS.items())
        found = by_node(self.plane.get("pods", "-n", dra.NAMESPACE, "-l", selector)["items"])
        return {node: pod for node, pod in found.items() if node in self.nodes}

    def published_versions(self) -> dict[str, str]:
        """Return the driver version that each node's DRA plugin published, as it spells it."""
        named = {dra.slice_name(node, dra.GPU_DRIVER): node for node in self.nodes}
        slices = self.plane.get("resourceslices")["items"]
        return {
            named[each["metadata"]["name"]]: each["spec"]["devices"][0]["attributes"]["driverVersion"]["version"]
            for each in slices
            if each["metadata"]["name"] in named
        }

    def allocatable(self, resource: str = stages.GPU) -> dict[str, int]:
        """Return how much of a resource each node has to give."""
        found = {each["metadata"]["name"]: each["status"]["allocatable"] for each in self._nodes()}
        return {node: int(each.get(resource, "0")) for node, each in found.items()}

    def found_versions(self) -> dict[str, str]:
        """Return the driver version that feature discovery labelled each node with; a node without one is absent."""
        labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in self._nodes()}
        key = "nvidia.com/cuda.driver-version.full"
        return {node: each[key] for node, each in labels.items() if key in each}

    def wait_ready(self, timeout_seconds: float = DEADLINE_SECONDS) -> None:
        """Return when every pod of the fleet's DaemonSets is Ready: driver, validator, and operands asked for."""
        counts: list[str] = []

        def look() -> bool:
            sets = self.plane.get("daemonset", "-n", self.spec.namespace, "-l", self._selector)["items"]
            ready = {each["metadata"]["name"]: ready_count(each) for each in sets}
            counts[:] = [f"{name} {count} of {self.spec.size}" for name, count in ready.items()]
            return len(ready) == self._daemon_set_count and all(count == self.spec.size for count in ready.values())

        waiting.wait_for(
            look,
            what=f"fleet {self.spec.prefix} to be Ready",
            timeout_seconds=timeout_seconds,
            pause_seconds=max(0.1, self.spec.node_count / 500),  # asking costs the cores that the fleet needs
            describe=lambda: ", ".join(counts),
        )

    def wait_reported(self, timeout_seconds: float = DEADLINE_SECONDS) -> None:
        """Return when every operand of every node has something to say, and feature discovery says what is there."""
        silent: list[str] = []

        def look() -> bool:
            silent[:] = self._silent_operands()
            return not silent

        waiting.wait_for(
            look,
            what=f"the operands of fleet {self.spec.prefix} to report",
            timeout_seconds=timeout_seconds,
            pause_seconds=max(0.1, self.spec.node_count / 500),
            describe=lambda: f"nothing from {', '.join(silent)}",
        )

    # --- changing what should run ---

    def set_driver_version(self, version: str, *, manager_env: Mapping[str, str] | None = None) -> None:
        """Put another driver, and what its manager is told, into the DaemonSet's template; no pod moves by that."""
        image = {
            "op": "replace",
            "path": "/spec/template/spec/containers/0/image",
            "value": manifests.driver_image(version),
        }
        told = [{"name": name, "value": value} for name, value in (manager_env or {}).items()]
        env = {"op": "add", "path": "/spec/template/spec/initContainers/0/env", "value": told}
        changes = [image, env] if manager_env is not None else [image]
        self._kubectl("patch", "daemonset", self.driver_daemon_set, "--type=json", "-p", json.dumps(changes))

    def wait_template_seen(self) -> None:
        """Return when the DaemonSet controller has seen the driver's template: until then it makes pods of the last."""

        def look() -> bool:
            found = self.plane.get("daemonset", self.driver_daemon_set, "-n", self.spec.namespace)
            return is_observed(found)

        waiting.wait_for(look, what="the driver's template to be seen", timeout_seconds=DEADLINE_SECONDS)

    def delete_driver_pod(self, node: str) -> None:
        """Delete the driver pod of a node and return when the API server has taken note."""
        self._kubectl("delete", "pod", self.driver_pods()[node]["metadata"]["name"], "--wait=false")

    def validators_follow(self) -> bool:
        """Whether all are Ready, each validator after its driver; one that overtook its driver is started anew.

        A real one waits in an init container. Pods are asked: a DaemonSet counts what was Ready a moment ago.
        """
        drivers, validators = self.driver_pods(), self.validator_pods()
        if not all(node in pods and is_ready(pods[node]) for pods in (drivers, validators) for node in self.nodes):
            return False
        early = [pod for node, pod in validators.items() if ready_at(pod) < ready_at(drivers[node])]
        if early:
            self._kubectl("delete", "pod", *(pod["metadata"]["name"] for pod in early))
        return not early

    def delete_dra_pod(self, node: str) -> None:
        """Delete the DRA kubelet plugin pod of a node and return when the API server has taken note."""
        name = self.dra_pods()[node]["metadata"]["name"]
        self.plane.kubectl("-n", dra.NAMESPACE, "delete", "pod", name, "--wait=false")

    def start_dra(self) -> None:
        """Install NVIDIA's DRA driver and return when its plugin is Ready on every node of the fleet."""
        self.plane.apply(dra.shared_objects())
        self.plane.kubectl("label", "node", "-l", self._selector, f"{dra.NODE_LABEL}=true", "--overwrite")
        waiting.wait_for(
            lambda: self._ready_dra_nodes() == set(self.nodes),
            what=f"the DRA plugins of fleet {self.spec.prefix} to be Ready",
            timeout_seconds=DEADLINE_SECONDS + self.spec.node_count / 4,
            pause_seconds=max(0.1, self.spec.node_count / 500),
        )

    def orphan_driver_pods(self, version: str | None = None) -> None:
        """Delete the driver DaemonSet but not its pods, and make another, as ClusterPolicy to NVIDIADriver does.

        From then on `driver_daemon_set` is the new one; its pods wait for the orphan of their node to be deleted.
        """
        old = self.plane.get("daemonset", self.driver_daemon_set, "-n", self.spec.namespace)
        self._kubectl("delete", "daemonset", self.driver_daemon_set, "--cascade=orphan")
        self.driver_daemon_set = f"nvidia-gpu-driver-ubuntu22.04-{self.spec.prefix}-{uuid.uuid4().hex[:5]}"
        new = manifests.moved_driver_daemon_set(old, self.driver_daemon_set)
        if version is not None:
            new["spec"]["template"]["spec"]["containers"][0]["image"] = manifests.driver_image(version)
        self.plane.apply([new])

    def cordon(self, node: str) -> None:
        """Cordon a node, as a person would."""
        self.plane.kubectl("cordon", node)

    def uncordon(self, node: str) -> None:
        """Uncordon a node, as a person would."""
        self.plane.kubectl("uncordon", node)

    # --- what runs on the GPUs ---

    def add_workload(
        self,
        name: str,
        *,
        replicas: int,
        gpus_per_pod: int = 1,
        min_available: int | None = None,
        termination_seconds: float = 0.0,
    ) -> Workload:
        """Start a Deployment in a namespace of its own and return when all its pods run."""
        made = self.workload(name)
        where = made.namespace
        objects = [
            manifests.namespace(where, self.spec.prefix),
            manifests.service_account(name, where),
            manifests.deployment(
                name,
                where,
                self.spec.prefix,
                replicas=replicas,
                gpus_per_pod=gpus_per_pod,
                termination_seconds=termination_seconds,
            ),
        ]
        if min_available is not None:
            objects.append(manifests.disruption_budget(name, where, min_available=min_available))
        self.plane.apply(objects)
        self.plane.kubectl("rollout", "status", f"deployment/{name}", "-n", where, f"--timeout={DEADLINE_SECONDS:g}s")
        if min_available is not None:
            self.wait_counted(made)
        return made

    def add_job_pod(
        self,
        node: str,
        *,
        name: str = "job",
        gpus: int = 1,
        runs_seconds: float | None = None,
        termination_seconds: float = 0.0,
    ) -> Workload:
        """Start a Job on a node, in a namespace of its own, and return when its pod runs."""
        made = self.workload(f"{name}-{node}")
        self.plane.apply(
            [
                manifests.namespace(made.namespace, self.spec.prefix),
                manifests.service_account(made.name, made.namespace),
                manifests.job(
                    made.name,
                    made.namespace,
                    node,
                    gpus=gpus,
                    runs_seconds=runs_seconds,
                    termination_seconds=termination_seconds,
                ),
            ]
        )
        waiting.wait_for(
            lambda: any(pod["status"]["phase"] != "Pending" for pod in self.pods_of(made)),
            what=f"the pod of job {made.name} to run on {node}",
            timeout_seconds=DEADLINE_SECONDS,
            pause_seconds=0.1,
        )
        return made

    def workload(self, name: str) -> Workload:
        """Return how a workload of this fleet is called, and the namespace it has to itself."""
        return Workload(namespace=f"{self.spec.prefix}-{name}", name=name)

    def pods_of(self, workload: Workload) -> list[Object]:
        """Return the pods of a workload."""
        found: list[Object] = self.plane.get("pods", "-n", workload.namespace, "-l", f"app={workload.name}")["items"]
        return found

    # --- what goes wrong ---

    def break_driver(self, node: str, how: stages.Fault, *, message: str = "", restart_count: int = 1) -> None:
        """Make the driver pod of a node fail from now on; a pod that is already Ready stays so until it is deleted.

        The message is what its container says; `restart_count` is where one that fails again and again begins to count.
        """
        if node in self.driver_faults():
            self.mend(node)
        self.plane.apply([stages.fault(node, how, message=message, restart_count=restart_count)])
        kubelet.settle(self.plane)
        self._touch(node)

    def driver_faults(self) -> dict[str, str]:
        """Return the stage that breaks the driver of each node where one does, whoever wrote it."""
        found = (each["metadata"] for each in self.plane.get("stages", "-l", stages.FAULT_LABEL)["items"])
        named = {each["labels"][stages.NODE_LABEL]: each["name"] for each in found}
        return {node: name for node, name in named.items() if node in self.nodes}

    def mend(self, node: str) -> None:
        """Take the fault of a node away; its driver pod goes on as if nothing had been."""
        self.plane.kubectl("delete", "stage", self.driver_faults()[node])
        kubelet.settle(self.plane)
        self._touch(node)

    def set_node_ready(self, node: str, *, is_ready: bool) -> None:
        """Let the kubelet of a node report that it is Ready, or that it is not."""
        mark = f"{stages.NOT_READY}-" if is_ready else f"{stages.NOT_READY}=true"
        self.plane.kubectl("annotate", "node", node, mark, "--overwrite")
        wanted = "True" if is_ready else "False"
        self.plane.kubectl(
            "wait", f"--for=condition=Ready={wanted}", f"node/{node}", f"--timeout={DEADLINE_SECONDS:g}s"
        )

    def add_pod_event(self, pod: Object, *, reason: str, message: str, count: int = 1) -> None:
        """Let the kubelet of a pod's node warn about it."""
        name = f"{pod['metadata']['name']}.{uuid.uuid4().hex[:16]}"
        at = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.plane.apply([manifests.event(pod, name=name, reason=reason, message=message, at=at, count=count)])

    def lose_gpu(self, node: str) -> None:
        """Let one more GPU of a node be broken when its device plugin next starts, that is after the next reload."""
        lost = int(self._node(node)["metadata"]["annotations"].get(stages.GPUS_LOST, "0"))
        self.plane.kubectl("annotate", "node", node, f"{stages.GPUS_LOST}={lost + 1}", "--overwrite")

    def restore_gpu(self, node: str) -> None:
        """Repair all GPUs of a node; what it has to give grows at once, unless its driver is just being reloaded."""
        self.plane.kubectl("annotate", "node", node, f"{stages.GPUS_LOST}-")
        self.show_gpus(node)

    def show_gpus(self, node: str) -> None:
        """Let a node offer what is left of its GPUs now, as its device plugin would; one without driver offers none."""

        def left(seen: Object) -> Object | None:
            capacity, offered = int(seen["status"]["capacity"][stages.GPU]), seen["status"]["allocatable"][stages.GPU]
            whole = str(capacity - int(seen["metadata"]["annotations"].get(stages.GPUS_LOST, "0")))
            return {"allocatable": {stages.GPU: whole}} if offered not in ("0", whole) else None

        self._change_status(node, left)

    def set_mig(self, node: str, devices: Mapping[str, int], *, gpus: int = 0, profile: str = "all-1g.10gb") -> None:
        """Partition the GPUs of a node; `gpus` of them stay whole."""
        labels = {"capable": "true", "strategy": "mixed", "config": profile, "config.state": "success"}
        pairs = [f"nvidia.com/mig.{key}={value}" for key, value in labels.items()]
        self.plane.kubectl("label", "node", node, *pairs, "--overwrite")
        amounts = {name: str(count) for name, count in {**devices, stages.GPU: gpus}.items()}
        self._change_status(node, lambda _: {"capacity": amounts, "allocatable": amounts})

    def lose_runtime_handler(self, node: str) -> None:
        """Let the container runtime of a node forget the handler that brings GPUs into containers."""
        rest = [{"name": name} for name in stages.RUNTIME_HANDLERS if name != stages.RUNTIME_HANDLER]
        self._change_status(node, lambda _: {"runtimeHandlers": rest})

    def restore_runtime_handler(self, node: str) -> None:
        """Let the container runtime of a node have its handler for GPUs again."""
        whole = [{"name": name} for name in stages.RUNTIME_HANDLERS]
        self._change_status(node, lambda _: {"runtimeHandlers": whole})

    def remove(self) -> None:
        """Remove everything that belongs to the fleet."""
        for node in self.driver_faults():
            self.mend(node)
        self._remove_workloads()
        self._kubectl("delete", "daemonset", "-l", self._selector, "--cascade=foreground")
        self._kubectl("delete", "pod,serviceaccount", "-l", self._selector)  # pods: orphans, which hang on no DaemonSet
        if self.spec.has_dra:
            self._remove_dra()
        if self.spec.real_nodes:
            self.plane.apply(dressing.bare_nodes(self.spec.real_nodes))  # they stay, for the next fleet
            self.plane.kubectl("delete", "clusterrole,clusterrolebinding", "-l", self._selector)
        # kubectl waits for deleted objects one by one and five per second, so we do not let it wait.
        self.plane.kubectl("delete", "node", "-l", self._selector, "--wait=false")
        waiting.wait_for(
            lambda: not self.plane.get("node,namespace", "-l", self._selector)["items"],
            what=f"the nodes and namespaces of fleet {self.spec.prefix} to be gone",
            timeout_seconds=DEADLINE_SECONDS,
        )

    # --- underneath ---

    def _remove_workloads(self) -> None:
        """Empty the namespaces before deleting them: the other way round takes ten seconds each."""
        namespaces = [each["metadata"]["name"] for each in self.plane.get("namespace", "-l", self._selector)["items"]]
        for name in namespaces:
            let_go(self.plane, name)
            kinds = "deployment,daemonset,job,pod,resourceclaim"
            self.plane.kubectl("delete", kinds, "--all", "-n", name, "--cascade=foreground")
        if namespaces:
            # Not waited for here: the namespace controller rests five seconds before it begins.
            self.plane.kubectl("delete", "namespace", *namespaces, "--wait=false", "--ignore-not-found")

    def _remove_dra(self) -> None:
        """Take the plugins off the nodes; the DaemonSet is shared and stays, and slices go with their nodes."""
        self.plane.kubectl("label", "node", "-l", self._selector, f"{dra.NODE_LABEL}-")
        waiting.wait_for(
            lambda: not self.dra_pods(),
            what=f"the DRA plugins of fleet {self.spec.prefix} to be gone",
            timeout_seconds=DEADLINE_SECONDS,
        )

    def _silent_operands(self) -> list[str]:
        silent: set[str] = set()
        if self.spec.has_feature_discovery:
            found = self.found_versions()
            silent |= {
                f"{node}/labels" for node, version in self.driver_versions().items() if found.get(node) != version
            }
        if self.spec.has_device_plugin:
            silent |= {f"{each['metadata']['name']}/allocatable" for each in self._nodes() if not gives_gpus(each)}
        if self.spec.has_dra:
            silent |= {f"{node}/slices" for node in set(self.nodes) - self.published_versions().keys()}
        return sorted(silent)

    def _ready_dra_nodes(self) -> set[str]:
        return {node for node, pod in self.dra_pods().items() if is_ready(pod)}

    @property
    def _daemon_set_count(self) -> int:
        return 2 + self.spec.has_feature_discovery + self.spec.has_device_plugin

    def _nodes(self) -> list[Object]:
        found: list[Object] = self.plane.get("nodes", "-l", self._selector)["items"]
        return found

    def _node(self, name: str) -> Object:
        return self.plane.get("node", name)

    def _change_status(self, node: str, change: Callable[[Object], Object | None]) -> None:
        """Patch single keys of a node's status, but only of the very version the patch was computed from."""
        for _ in range(ATTEMPTS_MAX):
            seen = self._node(node)
            status = change(seen)
            if status is None:
                return
            patch = {"metadata": {"resourceVersion": seen["metadata"]["resourceVersion"]}, "status": status}
            try:
                self.plane.kubectl(
                    "patch", "node", node, "--subresource=status", "--type=merge", "-p", json.dumps(patch)
                )
            except errors.KubectlFailed as err:
                if "Conflict" not in str(err) and "has been modified" not in str(err):
                    raise
            else:
                return
        raise errors.TestbedFailure(f"The status of node {node} changed under us {ATTEMPTS_MAX} times.")

    @property
    def _selector(self) -> str:
        return f"{manifests.FLEET_LABEL}={self.spec.prefix}"

    def _kubectl(self, *arguments: str) -> str:
        return self.plane.kubectl("-n", self.spec.namespace, *arguments)

    def _pods(self, labels: Mapping[str, str]) -> dict[str, Object]:
        selector = ",".join([self._selector, *(f"{key}={value}" for key, value in labels.items())])
        return by_node(self.plane.get("pods", "-n", self.spec.namespace, "-l", selector)["items"])

    def wait_counted(self, workload: Workload) -> None:
        """Wait until the disruption controller has seen the pods: before that a budget allows no eviction at all."""
        waiting.wait_for(
            lambda: self._is_counted(workload),
            what=f"the PodDisruptionBudget of {workload.name} to count its pods",
            timeout_seconds=DEADLINE_SECONDS,
            pause_seconds=0.1,
        )

    def _is_counted(self, workload: Workload) -> bool:
        budget = self.plane.get("pdb", workload.name, "-n", workload.namespace)
        replicas = self.plane.get("deployment", workload.name, "-n", workload.namespace)["spec"]["replicas"]
        return bool(budget.get("status", {}).get("currentHealthy") == replicas)

    def _touch(self, node: str) -> None:
        """Make kwok look at a node's driver pod again: it looks only at pods that change."""
        if pod := self.driver_pods().get(node):
            name, version = pod["metadata"]["name"], pod["metadata"]["resourceVersion"]
            try:
                self._kubectl("annotate", "pod", name, f"{kubelet.TOUCHED}={version}", "--overwrite")
            except errors.KubectlFailed as error:
                if "NotFound" not in str(error):  # a pod that was replaced meanwhile is looked at anyway
                    raise
