"""What a fleet of simulated GPU nodes is made of: how many of what, and the objects that come of it.

Fleets keep apart by their prefix; several may share a control plane and a namespace.
Tests: tests/testbed/test_fleet.py.
"""

from dataclasses import dataclass
from typing import Any

from seatrial_lab.testbed.nodes import manifests
from seatrial_lab.testbed.real_node import dressing

Object = dict[str, Any]


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
    # Operands beyond the validator, each played only where it is asked for.
    has_feature_discovery: bool = False
    has_device_plugin: bool = False
    has_dra: bool = False
    real_nodes: tuple[str, ...] = ()
    """The names of real nodes (real_node/) that belong to it besides the simulated ones."""

    @property
    def size(self) -> int:
        """How many nodes it has, simulated or real."""
        return self.node_count + len(self.real_nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Something that runs on the GPUs of a fleet, in a namespace of its own."""

    namespace: str
    name: str


def objects_of(spec: FleetSpec) -> list[Object]:
    """Everything of a fleet that the API server is given."""
    nodes = _nodes(spec)
    extra = _operands(spec)
    for node in nodes:
        node["metadata"]["labels"] |= {
            f"{manifests.DEPLOY}.{each['metadata']['labels'][manifests.OPERAND_LABEL]}": "true" for each in extra
        }
    driver = manifests.driver_daemon_set(
        spec.prefix,
        spec.namespace,
        driver_version=spec.driver_version,
        reload_seconds=spec.reload_seconds,
        reload_jitter_seconds=spec.reload_jitter_seconds,
    )
    validator = manifests.validator_daemon_set(spec.prefix, spec.namespace, validator_seconds=spec.validator_seconds)
    rights: list[Object] = []
    if spec.real_nodes:
        driver, validator = dressing.driver_daemon_set(driver), dressing.validator_daemon_set(validator)
        rights = dressing.manager_rights(driver)
    sets = [driver, validator, *extra]
    accounts = [manifests.service_account(each["metadata"]["name"], spec.namespace) for each in sets]
    for account in accounts:
        account["metadata"]["labels"] = {manifests.FLEET_LABEL: spec.prefix}
    # The namespace may be shared by fleets, so it bears no fleet's label.
    shared = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": spec.namespace}}
    classes = [manifests.runtime_class()] if extra else []
    return [shared, *classes, *accounts, *rights, *nodes, *sets]


def _nodes(spec: FleetSpec) -> list[Object]:
    made = [manifests.node(spec.prefix, each, gpus_per_node=spec.gpus_per_node) for each in range(spec.size)]
    if not spec.real_nodes:
        return made
    simulated, rest = made[: spec.node_count], made[spec.node_count :]
    real = [dressing.real_node(name, node) for name, node in zip(spec.real_nodes, rest, strict=True)]
    return [*map(dressing.simulated_node, simulated), *real]


def _operands(spec: FleetSpec) -> list[Object]:
    made: list[Object] = []
    if spec.has_device_plugin:
        made.append(
            manifests.device_plugin_daemon_set(spec.prefix, spec.namespace, ready_seconds=spec.validator_seconds)
        )
    if spec.has_feature_discovery:
        made.append(
            manifests.feature_discovery_daemon_set(spec.prefix, spec.namespace, ready_seconds=spec.validator_seconds)
        )
    return made


def is_observed(daemon_set: Object) -> bool:
    """Whether its controller has seen it as it is now."""
    observed = daemon_set.get("status", {}).get("observedGeneration")
    return bool(observed == daemon_set["metadata"]["generation"])


def ready_count(daemon_set: Object) -> int:
    return int(daemon_set["status"].get("numberReady", 0)) if is_observed(daemon_set) else 0


def ready_at(pod: Object) -> str:
    """When a pod became Ready, as the API has it: to the second, and comparable as text."""
    found = next(each for each in pod["status"]["conditions"] if each["type"] == "Ready" and each["status"] == "True")
    return str(found["lastTransitionTime"])


def by_node(pods: list[Object]) -> dict[str, Object]:
    by_age = sorted(pods, key=lambda pod: "deletionTimestamp" not in pod["metadata"])
    return {pod["spec"]["nodeName"]: pod for pod in by_age if "nodeName" in pod["spec"]}


def gives_gpus(node: Object) -> bool:
    amounts = node["status"].get("allocatable", {})
    return any(amount != "0" for resource, amount in amounts.items() if resource.startswith("nvidia.com/"))


def is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
