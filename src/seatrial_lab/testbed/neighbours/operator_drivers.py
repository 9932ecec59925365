"""NVIDIADriver resources: drivers by pool instead of one for the whole cluster, and the upgrade policy of either kind.

Values in, values out; what talks to the cluster is in operator.py. Tests: tests/testbed/test_operator_drivers.py.

As seen with the operator that the testbed builds (main of 2025-07-24):

    a node's driver    one DaemonSet per NVIDIADriver and operating system, owned by the NVIDIADriver. Its name ends in
                       a hash of the owner's uid. No node says whose it is: the owner label came with v26.7.0
    upgrade policy     its NVIDIADriver definition has none; a stored one is dropped. Its upgrade controller obeys the
                       ClusterPolicy's for all pools together; by its source with one budget
    autoUpgrade off    counts on the ClusterPolicy only: its state label is stripped from every node of the cluster,
                       within a second, and its annotation `nvidia.com/gpu-driver-upgrade-enabled` from every GPU
                       node. Off on an NVIDIADriver, where the definition has the field, it changes nothing: no label
                       is stripped, and the operator moves the nodes of that pool like all others
    not ready          while a pool has old pods its NVIDIADriver is notReady, the ClusterPolicy stays ready
    time to ready      4 to 6 s from the start for six nodes whose pods are Ready at once

Another operator may do otherwise (see `Habits`); its definitions tell. v26.7.0 gives each NVIDIADriver a policy of its
own. Whoever wants to read such a policy beside the operator that we build gets a definition with that field (see
`with_upgrade_policy`); that operator never looks at it.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from seatrial_lab.testbed.nodes import stages

Object = dict[str, Any]

KIND: Final = "NVIDIADriver"
DEFINITION: Final = "nvidiadrivers.nvidia.com"
POLICY_DEFINITION: Final = "clusterpolicies.nvidia.com"
POOL_LABEL: Final = f"{stages.GROUP}/pool"
POLICY_FIELD: Final = "upgradePolicy"
DEFAULT_FIELD: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What one operator does unlike another, as its definition of NVIDIADrivers tells."""

    # One NVIDIADriver may be for all nodes that no other chooses, and may choose none itself; the chart's own is.
    has_default: bool
    # Each NVIDIADriver has an upgrade policy of its own, and the operator writes on each node whose it is.
    has_policy_by_driver: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NvidiaDriver:
    """One NVIDIADriver and the pool of nodes that it owns."""

    name: str
    node_count: int
    version: str = "570.124.06"
    # Also the labels that the testbed puts on the nodes of the pool; by default one with the driver's name.
    node_selector: Mapping[str, str] = field(default_factory=dict)
    # What to change of the defaults; None leaves the policy to the chart, whose NVIDIADriver may have none.
    upgrade_policy: Mapping[str, Any] | None = None

    @property
    def pool_labels(self) -> dict[str, str]:
        """The labels by which the driver chooses its nodes."""
        return dict(self.node_selector) or {POOL_LABEL: self.name}


def pools(drivers: tuple[NvidiaDriver, ...]) -> tuple[NvidiaDriver, ...]:
    """Return the driver of each node by its position; nodes after the last pool belong to nobody."""
    return tuple(driver for driver in drivers for _ in range(driver.node_count))


def habits(definitions: Sequence[Object]) -> Habits:
    """Return what these definitions say of their operator."""
    definition = next(each for each in definitions if each["metadata"]["name"] == DEFINITION)
    return Habits(
        has_default=DEFAULT_FIELD in _spec_schema(definition)["properties"],
        has_policy_by_driver=policy_schema(definition) is not None,
    )


def manifest(
    driver: NvidiaDriver, like: Object, *, habits: Habits, default_policy: Object, annotations: Mapping[str, str]
) -> Object:
    """Return the NVIDIADriver as the chart renders its own, for one pool."""
    spec = {**like["spec"], "version": driver.version, "nodeSelector": driver.pool_labels}
    if habits.has_default:
        spec[DEFAULT_FIELD] = False
    if annotations:
        spec["annotations"] = dict(annotations)
    if driver.upgrade_policy is not None:
        spec[POLICY_FIELD] = merged(default_policy, driver.upgrade_policy)
    return {**like, "metadata": {"name": driver.name}, "spec": spec}


def policy_schema(definition: Object) -> Object | None:
    """Return what a definition says about an upgrade policy, None where it knows none."""
    spec = _spec_schema(definition)["properties"]
    holder = spec["driver"]["properties"] if "driver" in spec else spec
    found: Object | None = holder.get(POLICY_FIELD)
    return found


def defaults(schema: Object) -> Object:
    """Return the object that the API server makes of an empty one, with the defaults of its inner objects too.

    The server fills in an inner object only where somebody wrote one; we always write them all.
    """
    found = {}
    for name, each in schema.get("properties", {}).items():
        if "default" in each:
            found[name] = each["default"]
        elif each.get("type") == "object":
            found[name] = defaults(each)
    return found


def with_upgrade_policy(definition: Object, cluster_policy_definition: Object) -> Object:
    """Return an NVIDIADriver definition with the upgrade policy of v26.7.0: ClusterPolicy's, but on by default."""
    schema = copy.deepcopy(policy_schema(cluster_policy_definition))
    if schema is None:
        raise ValueError(f"{POLICY_DEFINITION} has no {POLICY_FIELD} to take over.")
    schema["properties"]["autoUpgrade"]["default"] = True
    wider = {key: copy.deepcopy(definition[key]) for key in ("apiVersion", "kind", "spec")}
    wider["metadata"] = {"name": definition["metadata"]["name"]}
    _spec_schema(wider)["properties"][POLICY_FIELD] = schema
    return wider


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Object:
    """Return the first policy with what the second says instead, inner objects field by field."""
    result = dict(below)
    for name, value in above.items():
        inner = below.get(name)
        is_nested = isinstance(inner, Mapping) and isinstance(value, Mapping)
        result[name] = merged(inner, value) if is_nested else value  # type: ignore[arg-type]  # both are, see above
    return result


def owner_of(daemon_set: Object) -> str:
    """Return the name of the resource that controls a driver DaemonSet: an NVIDIADriver, or the ClusterPolicy."""
    owners = daemon_set["metadata"].get("ownerReferences", ())
    return next((str(each["name"]) for each in owners if each.get("controller")), "")


def _spec_schema(definition: Object) -> Object:
    served: Object = next(each for each in definition["spec"]["versions"] if each["served"])
    found: Object = served["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found
