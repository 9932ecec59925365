"""What can be broken on a node of a testbed, by name, and how it is mended again: one table.

Law of this file: what is broken stands in the cluster, in an annotation of its node that is written before anything is
done and goes after everything is undone. So any process can heal what another one broke, also half of it; and what
somebody broke by hand, or a test by the fleet's own methods, is not touched. Importing it costs nothing and needs no
package of the testbed's: --help reads the table.
Tests: tests/testbed/test_faults.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.nodes import lifecycle, manifests, stages

if TYPE_CHECKING:
    from seatrial_lab.testbed.nodes.fleet import Fleet
    from seatrial_lab.testbed.plane.control_plane import ControlPlane

Object = dict[str, Any]

RESTARTS: Final = 11
"""So often has a driver that crashes been restarted when it is first seen: nobody wants to wait for ten of them."""
SERVING_NAMESPACE: Final = "default"
SERVING_SECONDS: Final = 60


class FaultRefused(errors.TestbedFailure):
    """What was asked to be broken or healed is not there, or cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that can go wrong with a node. In its sentences, {node} is the node's name."""

    text: str
    """For --help and the page."""
    did: str
    seen: str
    begin: Callable[[Fleet, str], None]
    """Whatever is broken already is broken once more, and stays as it is."""
    end: Callable[[Fleet, str], None]
    """Undoes it, also where only half of it was done."""
    part: str = ""
    """Of two faults of one part the later takes the place of the earlier."""
    passes: bool = False
    """Whether it is over by itself when `begin` returns."""


def break_node(where: Fleet, node: str, name: str) -> str:
    """Break a node in one way, and return what was done, what one will see, and how it is healed."""
    _ensure_simulated(where, node)
    fault, broken = FAULTS[name], _broken(where.plane.get("node", node))
    replaced = [each for each in broken if each != name and fault.part and FAULTS[each].part == fault.part]
    for each in replaced:
        _heal_one(where, node, each)
    _note(where, node, {*broken, name} - set(replaced))
    fault.begin(where, node)
    if fault.passes:
        _note(where, node, {*broken, name} - {name, *replaced})
    way_back = "It is over; nothing is left to heal." if fault.passes else f"`seatrial testbed heal {node}` undoes it."
    return "\n".join([fault.did.format(node=node), fault.seen.format(node=node), way_back])


def heal(where: Fleet, node: str = "") -> list[str]:
    """Undo everything that was broken, on one node or on all, and return a line for each thing that was."""
    if node:
        _ensure_simulated(where, node)
    names = [node] if node else list(where.nodes)
    told = []
    for each in names:
        for name in sorted(_broken(where.plane.get("node", each))):
            _heal_one(where, each, name)
            told.append(f"{each}: {name} is healed.")
    return told


def fleet_of(plane: ControlPlane) -> Fleet:
    """Return the fleet of a control plane that has one."""
    from seatrial_lab.testbed.nodes import fleet, fleet_spec

    found = plane.get("nodes", "-l", manifests.FLEET_LABEL)["items"]
    if not found:
        raise FaultRefused("This testbed has no GPU nodes; `seatrial testbed up` makes some.")
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in found}
    real = tuple(name for name, own in labels.items() if manifests.REAL_LABEL in own)
    prefix = next(own[manifests.FLEET_LABEL] for own in labels.values())
    return fleet.Fleet(plane, fleet_spec.FleetSpec(prefix=prefix, node_count=len(labels) - len(real), real_nodes=real))


# ── what stands on the node ──────────────────────────────────────────────────────────────────────────────────────────


def _broken(node: Object) -> set[str]:
    noted = node["metadata"].get("annotations", {}).get(stages.BROKEN, "")
    return {each for each in noted.split(",") if each in FAULTS}


def _note(where: Fleet, node: str, names: set[str]) -> None:
    mark = f"{stages.BROKEN}={','.join(sorted(names))}" if names else f"{stages.BROKEN}-"
    where.plane.kubectl("annotate", "node", node, mark, "--overwrite")


def _heal_one(where: Fleet, node: str, name: str) -> None:
    FAULTS[name].end(where, node)
    _note(where, node, _broken(where.plane.get("node", node)) - {name})


def _ensure_simulated(where: Fleet, node: str) -> None:
    if node not in where.nodes:
        raise FaultRefused(f"The testbed has no node {node}; it has {where.nodes[0]} to {where.nodes[-1]}.")
    if node in where.spec.real_nodes:
        raise FaultRefused(f"{node} has a real kubelet, which nobody here plays; break one of the simulated nodes.")


# ── the faults ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _mend(where: Fleet, node: str) -> None:
    if node in where.driver_faults():
        where.mend(node)


def _serve(where: Fleet, node: str) -> None:
    from seatrial_lab.testbed.nodes.fleet_spec import Workload

    name = _serving(node)
    pod = manifests.deployment(
        name, SERVING_NAMESPACE, where.spec.prefix, replicas=1, gpus_per_pod=1, termination_seconds=0
    )
    pod["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    budget = manifests.disruption_budget(name, SERVING_NAMESPACE, min_available=1)
    where.plane.apply([manifests.service_account(name, SERVING_NAMESPACE), pod, budget])
    limit = f"--timeout={SERVING_SECONDS}s"
    where.plane.kubectl("rollout", "status", f"deployment/{name}", "-n", SERVING_NAMESPACE, limit)
    where.wait_counted(Workload(namespace=SERVING_NAMESPACE, name=name))


def _stop_serving(where: Fleet, node: str) -> None:
    for kind in ("deployment", "pdb", "serviceaccount"):
        rest = ("-n", SERVING_NAMESPACE, "--ignore-not-found", "--cascade=foreground")
        where.plane.kubectl("delete", kind, _serving(node), *rest)


def _serving(node: str) -> str:
    return f"serving-{node}"


def _lose_gpu(where: Fleet, node: str) -> None:
    where.plane.kubectl("annotate", "node", node, f"{stages.GPUS_LOST}=1", "--overwrite")
    where.show_gpus(node)


def _fail_gates(where: Fleet, node: str) -> None:
    where.plane.kubectl("annotate", "node", node, f"{stages.GATES_FAIL}=true", "--overwrite")


def _pass_gates(where: Fleet, node: str) -> None:
    where.plane.kubectl("annotate", "node", node, f"{stages.GATES_FAIL}-")


FAULTS: Final = {
    "crash": Fault(
        text="its next driver does not load, and crashes again and again",
        did="The next driver that starts on {node} does not load, and crashes again and again.",
        seen="The one that runs stays until an upgrade restarts it; then `seatrial why {node}` tells of it.",
        begin=lambda where, node: where.break_driver(node, "module-load", restart_count=RESTARTS),
        end=_mend,
        part="driver",
    ),
    "pull": Fault(
        text="the image of its next driver pod cannot be pulled",
        did="The image of the next driver pod on {node} cannot be pulled.",
        seen="The driver that runs stays until an upgrade restarts it; then `seatrial why {node}` tells of it.",
        begin=lambda where, node: where.break_driver(node, "image-pull"),
        end=_mend,
        part="driver",
    ),
    "pdb": Fault(
        text="a workload runs there whose PodDisruptionBudget allows no disruption",
        did="default/serving-{node} runs on {node} with a GPU, and its PodDisruptionBudget allows no disruption.",
        seen="An upgrade cannot move it away, and `seatrial why {node}` says so.",
        begin=_serve,
        end=_stop_serving,
    ),
    "reboot": Fault(
        text="it goes NotReady and comes back with a new boot ID; all of its pods start again",
        did="{node} was NotReady for a moment and is back with a new boot ID; its pods are starting again.",
        seen="The evidence of a canary begins anew with that, and `seatrial status` says so.",
        begin=lifecycle.reboot,
        end=lambda where, node: where.set_node_ready(node, is_ready=True),
        passes=True,
    ),
    "gpu-lost": Fault(
        text="it offers one GPU less",
        did="{node} offers one GPU less from now on.",
        seen="An upgrade that is under way there does not end before it is back; `seatrial why {node}` says so.",
        begin=_lose_gpu,
        end=lambda where, node: where.restore_gpu(node),
    ),
    "gate": Fault(
        text="every gate fails there",
        did="Every gate that is asked of {node} fails from now on.",
        seen="A rollout with {node} as its canary goes back, and `seatrial gates show` says what the gate said.",
        begin=_fail_gates,
        end=_pass_gates,
    ),
}
