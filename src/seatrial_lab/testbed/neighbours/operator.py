"""The real GPU Operator as a process beside a control plane, with GPU nodes for it to care for.

Which operator it is, building/operator_parts.py says. It acts with the rights and obeys the ClusterPolicy of its own
chart (operator_chart.py), and where the drivers are left to them the NVIDIADrivers of operator_drivers.py. Its
DaemonSets are its own; what the pods of its device plugin and its feature discovery would do is played by operands.py.
It takes every node with NVIDIA's label for its own, and while automatic upgrades are off it strips its upgrade state
from all nodes of the cluster: keep other fleets on another control plane.
Tests: tests/testbed/test_operator.py, tests/testbed/test_operator_drivers.py.

The operator reads fixed paths: its manifests in /opt/gpu-operator, and /host-etc/os-release. So it gets a root folder
of its own that looks like its image: nothing is written outside the control plane's folder, and two runs do not meet.
"""

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.building import build, operator_parts
from seatrial_lab.testbed.neighbours import operands, operator_chart, operator_drivers
from seatrial_lab.testbed.nodes import fleet, fleet_spec, manifests, stages
from seatrial_lab.testbed.plane import boot, control_plane, processes

Object = dict[str, Any]

NAME: Final = "gpu-operator"
NAMESPACE: Final = "gpu-operator"
CLUSTER_POLICY: Final = "cluster-policy"
DRIVER_DAEMON_SET: Final = "nvidia-driver-daemonset"
READY_TIMEOUT_SECONDS: Final = 90.0
REMOVE_TIMEOUT_SECONDS: Final = 60.0
STOP_GRACE_SECONDS: Final = 5.0
LOOK_EVERY_SECONDS: Final = 0.5
LOG_LINE_COUNT: Final = 15
STRICTLY: Final = ("--validate=strict", "-f", "-")

KUBECONFIG: Final = "kubeconfig"
# The chart has the operator put this on every pod it makes.
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
REPORTED_AT: Final = "nvidia.com/gfd.timestamp"
# Mounted by its Deployment from the node it runs on; here the same as the labels of our nodes say.
OS_RELEASE: Final = 'ID=ubuntu\nVERSION_ID="22.04"\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSpec:
    """What the operator is asked for, and how fast its pods move."""

    auto_upgrade: bool
    driver_version: str = "570.124.06"
    prefix: str = "operator"
    node_count: int = 5
    gpus_per_node: int = 8
    # How many nodes its own upgrade controller moves at once; 0 means all.
    parallel_upgrades_max: int = 1
    # Pods of every DaemonSet take this long: the operator knows no annotation for one of them alone.
    ready_seconds: float = 0.0
    # Who has the drivers instead of the ClusterPolicy. Pools take the nodes in this order; the rest gets no driver.
    drivers: tuple[operator_drivers.NvidiaDriver, ...] = ()

    def __post_init__(self) -> None:
        """Refuse more nodes in pools than there are."""
        if len(operator_drivers.pools(self.drivers)) > self.node_count:
            raise ValueError(f"The drivers' pools need more than the {self.node_count} nodes there are.")


class GpuOperator:
    """A running GPU Operator, its ClusterPolicy and its nodes."""

    def __init__(
        self,
        plane: control_plane.ControlPlane,
        spec: OperatorSpec,
        program: processes.Program,
        parts: operator_parts.OperatorParts,
    ) -> None:
        self.spec = spec
        self.release = parts.release
        self.habits = operator_drivers.habits(parts.definitions())
        self.nodes: tuple[str, ...] = tuple(manifests.node_name(spec.prefix, each) for each in range(spec.node_count))
        # The same nodes for whoever puts workloads on them or breaks their drivers. Its DaemonSets are the operator's.
        self.fleet = fleet.Fleet(plane, _fleet_spec(spec))
        self._plane = plane
        self._program = program

    @classmethod
    def start(
        cls, plane: control_plane.ControlPlane, spec: OperatorSpec, *, say: build.Say = build.say_on_stderr
    ) -> Self:
        """Start the operator with nodes and a ClusterPolicy; it ends with its control plane at the latest."""
        parts = operator_parts.find()
        binary = parts.program(say=say)
        chart = operator_chart.render(parts.chart, namespace=NAMESPACE, values=_values(spec))
        plane.load_nvidia_crds()
        kubeconfig = plane.service_account(
            NAMESPACE, NAME, cluster_rules=chart.cluster_rules, namespaced_rules={NAMESPACE: chart.namespaced_rules}
        )
        root = _root(plane)
        _lay_out(root, binary=binary, parts=parts, kubeconfig=kubeconfig)
        program = plane.ensure_program(
            NAME,
            _command(root),
            extra_env={**chart.environment, "KUBECONFIG": f"/{KUBECONFIG}", "OPERATOR_NAMESPACE": NAMESPACE},
        )
        started = cls(plane, spec, program, parts)
        try:
            now = int(time.time())
            plane.apply(_first_node(spec, each, reported_at=now) for each in range(spec.node_count))
            # The server fills in what the chart leaves out and then validates; kubectl would refuse before that.
            plane.kubectl("create", "--validate=false", "-f", "-", stdin=json.dumps(chart.cluster_policy))
            started._create_drivers(chart.nvidia_driver)
        except BaseException:  # also on an interrupt: no process may stay behind
            started.stop()
            raise
        return started

    @staticmethod
    def runs_beside(plane: control_plane.ControlPlane) -> bool:
        """Tell whether one runs beside a control plane, whoever started it."""
        return any(each.name == NAME and each.is_alive for each in plane.status().programs)

    def stop(self) -> None:
        """End the operator; what it made stays."""
        processes.end([self._program], grace_seconds=STOP_GRACE_SECONDS)
        shutil.rmtree(_root(self._plane), ignore_errors=True)  # large, and of no use to those who read the log

    def remove(self) -> None:
        """End the operator, then remove what it was asked for, everything that hangs on that, and the nodes."""
        self.stop()  # first, or it would make anew what is being removed
        # In the foreground, or the next operator would adopt what the garbage collector is still about to delete. Half
        # a minute the first time: only then does the collector learn of a new kind.
        limit = f"--timeout={REMOVE_TIMEOUT_SECONDS:g}s"
        self._plane.kubectl(
            "delete", "clusterpolicy", CLUSTER_POLICY, "--ignore-not-found", "--cascade=foreground", limit
        )
        self._plane.kubectl("delete", "nvidiadriver", "--all", "--ignore-not-found", "--cascade=foreground", limit)
        waiting.wait_for(
            lambda: not self._daemon_sets() and not self._pods(),
            what="the DaemonSets and pods of the GPU Operator to be gone",
            timeout_seconds=REMOVE_TIMEOUT_SECONDS,
            pause_seconds=LOOK_EVERY_SECONDS,
            describe=lambda: _counts(self._daemon_sets()),
        )
        self._plane.kubectl("delete", "node", "-l", f"{manifests.FLEET_LABEL}={self.spec.prefix}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    # --- looking ---

    @property
    def pid(self) -> int:
        """The id of the operator's process."""
        return self._program.pid

    @property
    def log(self) -> Path:
        """What the operator wrote."""
        return self._program.log

    def wait_ready(self, timeout_seconds: float = READY_TIMEOUT_SECONDS) -> None:
        """Return when what was asked for is ready, and so is every pod of it, with the driver it asks for."""
        seen: list[str] = []

        def look() -> bool:
            boot.ensure_alive(self._program)
            asked, sets = [self._policy(), *self._drivers()], self._daemon_sets()
            seen[:] = [*(f"{each['metadata']['name']}: {_conditions(each)}" for each in asked), _counts(sets)]
            # Its state alone says little: it stays as it was while the operator has not seen a change, and counts a
            # DaemonSet without pods as ready, also one that is too new to have any.
            is_ready = all(each.get("status", {}).get("state") == "ready" for each in asked)
            return is_ready and self._is_settled(sets) and self.offered_versions() == _wanted_versions(asked)

        waiting.wait_for(
            look,
            what=f"{', '.join([CLUSTER_POLICY, *(each.name for each in self.spec.drivers)])} to be ready",
            timeout_seconds=timeout_seconds,
            pause_seconds=LOOK_EVERY_SECONDS,
            describe=lambda: "; ".join([*seen, f"the end of {self.log}:\n{self._last_lines()}"]),
        )

    def driver_versions(self) -> dict[str, str]:
        """Return the driver version that the pod of each node was made with; the newer, if an old one is going."""
        return {node: _driver_version(pod) for node, pod in self._driver_pods().items()}

    def offered_versions(self) -> dict[str, str]:
        """Return the driver version that new pods get, by the name of who has the driver: a NVIDIADriver or the policy.

        This is the ownership to go by: an owner's DaemonSets name it, and their pods name the DaemonSet.
        """
        sets = [each for each in self._daemon_sets() if _is_of_driver(each)]
        return {operator_drivers.owner_of(each): _driver_version(each["spec"]["template"]) for each in sets}

    def nodes_of(self, driver: str) -> tuple[str, ...]:
        """Return the nodes in the pool of an NVIDIADriver."""
        owners = operator_drivers.pools(self.spec.drivers)
        return tuple(node for node, owner in zip(self.nodes, owners, strict=False) if owner.name == driver)

    @property
    def governed(self) -> dict[str | None, tuple[str, ...]]:
        """The nodes by whose upgrade policy counts for them: the ClusterPolicy's (None), or each NVIDIADriver's own."""
        if self.spec.drivers and self.habits.has_policy_by_driver:
            return {each.name: self.nodes_of(each.name) for each in self.spec.drivers}
        return {None: self.nodes}

    def upgrade_policy(self, *, driver: str | None = None) -> Object:
        """Return the upgrade policy that the API server has, of the ClusterPolicy or of an NVIDIADriver."""
        spec = self._policy()["spec"]["driver"] if driver is None else self._driver(driver)["spec"]
        found: Object = spec.get(operator_drivers.POLICY_FIELD, {})
        return found

    def upgrade_states(self) -> dict[str, str]:
        """Return the upgrade state that the operator wrote on each node; a node without one is absent."""
        labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in self._plane.get("nodes")["items"]}
        found = {node: labels[node].get(keys.NVIDIA_STATE_LABEL, "") for node in self.nodes if node in labels}
        return {node: state for node, state in found.items() if state}

    # --- what its operands would do ---

    def report_drivers(self) -> None:
        """Label each node with the driver that is Ready on it, as its gpu-feature-discovery does when it starts anew.

        A node's labels are what the operator's upgrade controller waits for. Without news it looks at a reloaded driver
        only after two minutes, which is its own interval.
        """
        running = {node: _driver_version(pod) for node, pod in self._driver_pods().items() if _is_ready(pod)}
        at = [(each, running[node]) for each, node in enumerate(self.nodes) if node in running]
        self._plane.apply(_node(self.spec, each, version, reported_at=int(time.time())) for each, version in at)

    # --- changing what is asked for ---

    def set_driver_version(self, version: str, *, driver: str | None = None) -> None:
        """Ask for another driver: of the ClusterPolicy, or of one NVIDIADriver."""
        self._patch({"version": version}, driver)

    def set_auto_upgrade(self, *, is_on: bool, driver: str | None = None) -> None:
        """Tell the operator to move nodes to a new driver itself, or to leave that to others."""
        self.set_upgrade_policy(driver=driver, autoUpgrade=is_on)

    def set_upgrade_policy(self, *, driver: str | None = None, **fields: Any) -> None:
        """Change fields of an upgrade policy: of the ClusterPolicy, or of one NVIDIADriver.

        Every field is sent, because the server puts its default where one is missing, and the answer is read back,
        because it drops what it does not know without a word.
        """
        schema = self._policy_schema(driver)
        if schema is None:
            raise errors.TestbedFailure(
                f"The definition of {operator_drivers.KIND} has no {operator_drivers.POLICY_FIELD}: this operator "
                "obeys the ClusterPolicy's for all pools. Give its NvidiaDriver an upgrade_policy to have the field."
            )
        whole = operator_drivers.merged(operator_drivers.defaults(schema), self.upgrade_policy(driver=driver))
        wanted = operator_drivers.merged(whole, fields)
        self._patch({operator_drivers.POLICY_FIELD: wanted}, driver)
        if (stored := self.upgrade_policy(driver=driver)) != wanted:
            raise errors.TestbedFailure(f"The API server made {stored} of the upgrade policy {wanted}.")

    # --- underneath ---

    def _create_drivers(self, like: Object | None) -> None:
        if like is None:
            return
        if any(each.upgrade_policy is not None for each in self.spec.drivers) and not self.habits.has_policy_by_driver:
            self._widen_definition()
        default_policy = operator_drivers.defaults(self._policy_schema(self.spec.drivers[0].name) or {})
        pacing = _pacing(self.spec)
        objects = [
            operator_drivers.manifest(each, like, habits=self.habits, default_policy=default_policy, annotations=pacing)
            for each in self.spec.drivers
        ]
        bundle = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self._wait_accepted(bundle)
        self._plane.kubectl("create", *STRICTLY, stdin=bundle)

    def _wait_accepted(self, bundle: str) -> None:
        """Return when the API server knows every field; it takes up a changed definition a little after storing it."""
        refusals: list[str] = []

        def look() -> bool:
            try:
                self._plane.kubectl("create", "--dry-run=server", *STRICTLY, stdin=bundle)
            except errors.KubectlFailed as err:
                refusals[:] = [str(err)]
                return False
            return True

        waiting.wait_for(
            look,
            what="the API server to accept the NVIDIADrivers",
            timeout_seconds=control_plane.ESTABLISHED_TIMEOUT_SECONDS,
            describe=lambda: "".join(refusals),
        )

    def _widen_definition(self) -> None:
        names = (operator_drivers.DEFINITION, operator_drivers.POLICY_DEFINITION)
        narrow, policy = (self._plane.get("crd", name) for name in names)
        self._plane.define([operator_drivers.with_upgrade_policy(narrow, policy)])

    def _policy_schema(self, driver: str | None) -> Object | None:
        name = operator_drivers.POLICY_DEFINITION if driver is None else operator_drivers.DEFINITION
        return operator_drivers.policy_schema(self._plane.get("crd", name))

    def _patch(self, fields: Object, driver: str | None) -> None:
        kind, name = ("clusterpolicy", CLUSTER_POLICY) if driver is None else ("nvidiadriver", driver)
        patch = json.dumps({"spec": {"driver": fields} if driver is None else fields})
        self._plane.kubectl("patch", kind, name, "--type=merge", "-p", patch)

    def _policy(self) -> Object:
        return self._plane.get("clusterpolicy", CLUSTER_POLICY)

    def _driver(self, name: str) -> Object:
        return self._plane.get("nvidiadriver", name)

    def _drivers(self) -> list[Object]:
        return [self._driver(each.name) for each in self.spec.drivers]

    def _daemon_sets(self) -> list[Object]:
        found: list[Object] = self._plane.get("daemonset", "-n", NAMESPACE)["items"]
        return [each for each in found if _is_owned_by(each, "ClusterPolicy", operator_drivers.KIND)]

    def _driver_pods(self) -> dict[str, Object]:
        pods = [pod for pod in self._pods() if _is_of_driver(pod)]
        by_age = sorted(pods, key=lambda pod: "deletionTimestamp" not in pod["metadata"])
        return {pod["spec"]["nodeName"]: pod for pod in by_age if "nodeName" in pod["spec"]}

    def _pods(self) -> list[Object]:
        found: list[Object] = self._plane.get("pods", "-n", NAMESPACE)["items"]
        return [each for each in found if _is_managed(each)]

    def _is_settled(self, sets: list[Object]) -> bool:
        placed = sum(each["status"]["desiredNumberScheduled"] for each in sets if _is_of_driver(each))
        owned = len(operator_drivers.pools(self.spec.drivers)) if self.spec.drivers else self.spec.node_count
        return placed >= owned and all(_is_settled(each) for each in sets)

    def _last_lines(self) -> str:
        return processes.last_lines(self._program, count=LOG_LINE_COUNT)


def _values(spec: OperatorSpec) -> Object:
    policy = {
        "autoUpgrade": spec.auto_upgrade,
        "maxParallelUpgrades": spec.parallel_upgrades_max,
        "maxUnavailable": "100%",  # the count above is the only limit
    }
    by_pool = {"enabled": bool(spec.drivers)}
    return {
        "driver": {"version": spec.driver_version, "upgradePolicy": policy, "nvidiaDriverCRD": by_pool},
        "daemonsets": {"annotations": _pacing(spec), "labels": _pod_labels(spec)},
    }


def _fleet_spec(spec: OperatorSpec) -> fleet_spec.FleetSpec:
    return fleet_spec.FleetSpec(
        prefix=spec.prefix,
        node_count=spec.node_count,
        namespace=NAMESPACE,
        driver_version=spec.driver_version,
        gpus_per_node=spec.gpus_per_node,
    )


def _pod_labels(spec: OperatorSpec) -> dict[str, str]:
    """Return what every pod of the operator bears: whose fleet it is, and that its operand is to be played."""
    return {manifests.FLEET_LABEL: spec.prefix, manifests.OPERAND_LABEL: operands.BY_APP}


def _pacing(spec: OperatorSpec) -> dict[str, str]:
    return {stages.READY_AFTER: f"{spec.ready_seconds:g}s"} if spec.ready_seconds else {}


def _first_node(spec: OperatorSpec, position: int, *, reported_at: int) -> Object:
    owner = _owner(spec, position)
    return _node(spec, position, owner.version if owner else spec.driver_version, reported_at=reported_at)


def _owner(spec: OperatorSpec, position: int) -> operator_drivers.NvidiaDriver | None:
    owners = operator_drivers.pools(spec.drivers)
    return owners[position] if position < len(owners) else None


def _node(spec: OperatorSpec, position: int, driver_version: str, *, reported_at: int) -> Object:
    node = manifests.node(spec.prefix, position, gpus_per_node=spec.gpus_per_node, driver_version=driver_version)
    node["metadata"]["labels"][REPORTED_AT] = str(reported_at)
    if owner := _owner(spec, position):
        node["metadata"]["labels"] |= owner.pool_labels
    return node


def _root(plane: control_plane.ControlPlane) -> Path:
    return plane.folder / f"{NAME}-root"


def _lay_out(root: Path, *, binary: Path, parts: operator_parts.OperatorParts, kubeconfig: Path) -> None:
    """Make a root folder with what the operator's image and its Deployment's mounts hold."""
    shutil.rmtree(root, ignore_errors=True)
    _copy_tree(parts.assets, root / "opt/gpu-operator")
    _copy_tree(parts.manifests, root / "opt/gpu-operator/manifests")
    for name, content in (("host-etc/os-release", OS_RELEASE), (KUBECONFIG, kubeconfig.read_text(encoding="utf-8"))):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    shutil.copy(binary, root / NAME)


def _copy_tree(source: Path, target: Path) -> None:
    for file in (each for each in source.rglob("*") if each.is_file()):
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)  # not its mode: the module cache is read-only, and we want to clean up


def _command(root: Path) -> list[str | Path]:
    unshare = shutil.which("unshare")
    if unshare is None:
        raise errors.PartMissing("No unshare found, which gives the GPU Operator its root folder: install util-linux.")
    # Whoever is not root becomes root of a user namespace, where the machine allows that.
    namespaces = [] if os.geteuid() == 0 else ["--map-root-user"]
    return [
        unshare,
        *namespaces,
        f"--root={root}",
        f"/{NAME}",
        # Port 0: the kernel picks a free one, and no other process can take it in between.
        "--metrics-bind-address=127.0.0.1:0",
        "--health-probe-bind-address=127.0.0.1:0",
        "--leader-elect=false",
    ]


def _wanted_versions(asked: list[Object]) -> dict[str, str]:
    """Return the driver version that is asked for by each resource that has a driver."""
    policy, *drivers = asked
    if drivers:
        return {each["metadata"]["name"]: each["spec"]["version"] for each in drivers}
    return {policy["metadata"]["name"]: policy["spec"]["driver"]["version"]}


def _is_owned_by(thing: Object, *kinds: str) -> bool:
    return any(each["kind"] in kinds for each in thing["metadata"].get("ownerReferences", ()))


def _is_of_driver(thing: Object) -> bool:
    labels: dict[str, str] = thing["metadata"].get("labels", {})
    return stages.DRIVER_LABELS.items() <= labels.items()


def _is_managed(pod: Object) -> bool:
    # What the chart labels all pods with does not reach the pods of an NVIDIADriver.
    return pod["metadata"].get("labels", {}).get(MANAGED_BY) == NAME or _is_of_driver(pod)


def _is_settled(daemon_set: Object) -> bool:
    status = daemon_set["status"]
    is_current = status.get("observedGeneration") == daemon_set["metadata"]["generation"]
    counts = {status.get(each, 0) for each in ("desiredNumberScheduled", "updatedNumberScheduled", "numberReady")}
    return is_current and len(counts) == 1


def _is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _driver_version(pod: Object) -> str:
    image = next(each["image"] for each in pod["spec"]["containers"] if each["name"] == manifests.DRIVER_CONTAINER)
    return str(image).rpartition(":")[2].rpartition("-")[0]


def _conditions(policy: Object) -> str:
    status = policy.get("status", {})
    messages = [each["message"] for each in status.get("conditions", ()) if each.get("message")]
    return " ".join([f"state {status.get('state', 'unset')}", *(f"({each})" for each in messages)])


def _counts(sets: list[Object]) -> str:
    rows = [(each["metadata"]["name"], each["status"]) for each in sets]
    return ", ".join(
        f"{name} {status.get('numberReady', 0)} of {status.get('desiredNumberScheduled', 0)}" for name, status in rows
    )
