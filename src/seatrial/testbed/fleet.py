"""A fleet of simulated GPU nodes on a real control plane: its drivers, its workloads, and what goes wrong with it.

Fleets keep apart by their prefix; several may share a control plane and a namespace.
Objects are in manifests.py, the behaviour of pods in stages.py. Tests: tests/testbed/test_fleet.py.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from seatrial.testbed import control_plane, kubelet, manifests, operands, stages, waiting

Object = dict[str, Any]

TOUCHED: Final = f"{stages.GROUP}/touched"
DEADLINE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSpec:
    """What a fleet looks like, and how fast it moves."""

    prefix: str
    node_count: int
    namespace: str = "gpu-operator"
    driver_version: str = "570.124.06"
    reload_seconds: float = 1.0
    reload_jitter_seconds: float = 0.0
    validator_seconds: float = 0.2
    gpus_per_node: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Something that runs on the GPUs of a fleet, in a namespace of its own."""

    namespace: str
    name: str


def make_fleet(plane: control_plane.ControlPlane, spec: FleetSpec, *, timeout_seconds: float | None = None) -> "Fleet":
    """Make a fleet and return when every node, driver and validator is Ready."""
    operands.ensure_running(plane)  # started with the control plane; started again here if it has died
    fleet = Fleet(plane, spec)
    plane.apply(_objects(spec))
    # A machine with two cores brings up some forty nodes per second; ten times that long means something is wrong.
    pace = spec.reload_seconds + spec.reload_jitter_seconds + spec.validator_seconds
    fleet.wait_ready(timeout_seconds or DEADLINE_SECONDS + pace + spec.node_count / 4)
    return fleet


class Fleet:
    """A fleet that exists."""

    def __init__(self, plane: control_plane.ControlPlane, spec: FleetSpec) -> None:
        self.spec = spec
        self.nodes: tuple[str, ...] = tuple(manifests.node_name(spec.prefix, each) for each in range(spec.node_count))
        self.driver_daemon_set = manifests.driver_daemon_set_name(spec.prefix)
        self.validator_daemon_set = manifests.validator_daemon_set_name(spec.prefix)
        self._plane = plane
        self._faults: dict[str, stages.Fault] = {}

    # --- looking ---

    def driver_pods(self) -> dict[str, Object]:
        """Return the driver pod of every node that has one; the youngest, where an old one is still going."""
        return self._pods(manifests.DRIVER_APP)

    def validator_pods(self) -> dict[str, Object]:
        """Return the validator pod of every node that has one."""
        return self._pods(manifests.VALIDATOR_APP)

    def driver_versions(self) -> dict[str, str]:
        """Return the driver version that the pod of each node was made with."""
        pods = self.driver_pods()
        return {node: _version(pod["spec"]["containers"][0]["image"]) for node, pod in pods.items()}

    def wait_ready(self, timeout_seconds: float = DEADLINE_SECONDS) -> None:
        """Return when every driver and validator pod of the fleet is Ready."""
        counts: list[str] = []

        def look() -> bool:
            sets = self._plane.get("daemonset", "-n", self.spec.namespace, "-l", self._selector)["items"]
            ready = {each["metadata"]["name"]: _ready_count(each) for each in sets}
            counts[:] = [f"{name} {count} of {self.spec.node_count}" for name, count in ready.items()]
            return len(ready) == 2 and all(count == self.spec.node_count for count in ready.values())

        waiting.wait_for(
            look,
            what=f"fleet {self.spec.prefix} to be Ready",
            timeout_seconds=timeout_seconds,
            pause_seconds=max(0.1, self.spec.node_count / 500),  # asking costs the cores that the fleet needs
            describe=lambda: ", ".join(counts),
        )

    # --- changing what should run ---

    def set_driver_version(self, version: str) -> None:
        """Put another driver into the DaemonSet's template; no pod moves by that."""
        image = {
            "op": "replace",
            "path": "/spec/template/spec/containers/0/image",
            "value": manifests.driver_image(version),
        }
        self._kubectl("patch", "daemonset", self.driver_daemon_set, "--type=json", "-p", json.dumps([image]))

    def delete_driver_pod(self, node: str) -> None:
        """Delete the driver pod of a node and return when the API server has taken note."""
        self._kubectl("delete", "pod", self.driver_pods()[node]["metadata"]["name"], "--wait=false")

    def cordon(self, node: str) -> None:
        """Cordon a node, as a person would."""
        self._plane.kubectl("cordon", node)

    def uncordon(self, node: str) -> None:
        """Uncordon a node, as a person would."""
        self._plane.kubectl("uncordon", node)

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
        made = _workload(self.spec, name)
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
        self._plane.apply(objects)
        self._plane.kubectl("rollout", "status", f"deployment/{name}", "-n", where, f"--timeout={DEADLINE_SECONDS:g}s")
        if min_available is not None:
            self._wait_counted(made)
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
        made = _workload(self.spec, f"{name}-{node}")
        self._plane.apply(
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

    def pods_of(self, workload: Workload) -> list[Object]:
        """Return the pods of a workload."""
        found: list[Object] = self._plane.get("pods", "-n", workload.namespace, "-l", f"app={workload.name}")["items"]
        return found

    # --- what goes wrong ---

    def break_driver(self, node: str, how: stages.Fault) -> None:
        """Make the driver pod of a node fail from now on; a pod that is already Ready stays so until it is deleted."""
        if node in self._faults:
            self.mend(node)
        self._plane.apply([stages.fault(node, how)])
        kubelet.settle(self._plane)
        self._faults[node] = how
        self._touch(node)

    def mend(self, node: str) -> None:
        """Take the fault of a node away; its driver pod goes on as if nothing had been."""
        how = self._faults.pop(node)
        self._plane.kubectl("delete", "stage", stages.fault_name(node, how))
        kubelet.settle(self._plane)
        self._touch(node)

    def set_node_ready(self, node: str, *, is_ready: bool) -> None:
        """Let the kubelet of a node report that it is Ready, or that it is not."""
        mark = f"{stages.NOT_READY}-" if is_ready else f"{stages.NOT_READY}=true"
        self._plane.kubectl("annotate", "node", node, mark, "--overwrite")
        wanted = "True" if is_ready else "False"
        self._plane.kubectl(
            "wait", f"--for=condition=Ready={wanted}", f"node/{node}", f"--timeout={DEADLINE_SECONDS:g}s"
        )

    def remove(self) -> None:
        """Remove everything that belongs to the fleet."""
        for node in list(self._faults):
            self.mend(node)
        self._kubectl("delete", "daemonset", "-l", self._selector, "--cascade=foreground")
        self._kubectl("delete", "serviceaccount", "-l", self._selector)
        self._remove_workloads()
        # kubectl waits for deleted objects one by one and five per second, so we do not let it wait.
        self._plane.kubectl("delete", "node", "-l", self._selector, "--wait=false")
        waiting.wait_for(
            lambda: not self._plane.kubectl("get", "node", "-l", self._selector, "-o", "name"),
            what=f"the nodes of fleet {self.spec.prefix} to be gone",
            timeout_seconds=DEADLINE_SECONDS,
        )

    # --- underneath ---

    def _remove_workloads(self) -> None:
        """Empty the namespaces before deleting them: the other way round takes ten seconds each."""
        namespaces = [each["metadata"]["name"] for each in self._plane.get("namespace", "-l", self._selector)["items"]]
        for name in namespaces:
            self._plane.kubectl("delete", "deployment,job", "--all", "-n", name, "--cascade=foreground")
        if namespaces:
            self._plane.kubectl("delete", "namespace", *namespaces)

    @property
    def _selector(self) -> str:
        return f"{manifests.FLEET_LABEL}={self.spec.prefix}"

    def _kubectl(self, *arguments: str) -> str:
        return self._plane.kubectl("-n", self.spec.namespace, *arguments)

    def _pods(self, app: str) -> dict[str, Object]:
        pods = self._plane.get("pods", "-n", self.spec.namespace, "-l", f"{self._selector},app={app}")["items"]
        by_age = sorted(pods, key=lambda pod: "deletionTimestamp" not in pod["metadata"])
        return {pod["spec"]["nodeName"]: pod for pod in by_age if "nodeName" in pod["spec"]}

    def _wait_counted(self, workload: Workload) -> None:
        """Wait until the disruption controller has seen the pods: before that a budget allows no eviction at all."""
        waiting.wait_for(
            lambda: self._is_counted(workload),
            what=f"the PodDisruptionBudget of {workload.name} to count its pods",
            timeout_seconds=DEADLINE_SECONDS,
            pause_seconds=0.1,
        )

    def _is_counted(self, workload: Workload) -> bool:
        budget = self._plane.get("pdb", workload.name, "-n", workload.namespace)
        replicas = self._plane.get("deployment", workload.name, "-n", workload.namespace)["spec"]["replicas"]
        return bool(budget.get("status", {}).get("currentHealthy") == replicas)

    def _touch(self, node: str) -> None:
        """Make kwok look at a node's driver pod again: it looks only at pods that change."""
        if pod := self.driver_pods().get(node):
            name, version = pod["metadata"]["name"], pod["metadata"]["resourceVersion"]
            self._kubectl("annotate", "pod", name, f"{TOUCHED}={version}", "--overwrite")


def _objects(spec: FleetSpec) -> list[Object]:
    nodes = [
        manifests.node(spec.prefix, each, gpus_per_node=spec.gpus_per_node, driver_version=spec.driver_version)
        for each in range(spec.node_count)
    ]
    driver = manifests.driver_daemon_set(
        spec.prefix,
        spec.namespace,
        driver_version=spec.driver_version,
        reload_seconds=spec.reload_seconds,
        reload_jitter_seconds=spec.reload_jitter_seconds,
    )
    validator = manifests.validator_daemon_set(spec.prefix, spec.namespace, validator_seconds=spec.validator_seconds)
    accounts = [manifests.service_account(each["metadata"]["name"], spec.namespace) for each in (driver, validator)]
    for account in accounts:
        account["metadata"]["labels"] = {manifests.FLEET_LABEL: spec.prefix}
    # The namespace may be shared by fleets, so it bears no fleet's label.
    shared = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": spec.namespace}}
    return [shared, *accounts, *nodes, driver, validator]


def _workload(spec: FleetSpec, name: str) -> Workload:
    return Workload(namespace=f"{spec.prefix}-{name}", name=name)


def _ready_count(daemon_set: Object) -> int:
    status = daemon_set.get("status", {})
    is_current = status.get("observedGeneration") == daemon_set["metadata"]["generation"]
    return int(status.get("numberReady", 0)) if is_current else 0


def _version(image: str) -> str:
    return image.rpartition(":")[2].removesuffix("-ubuntu22.04")
