"""Plays the SR-IOV operator on a node of a real API server, by the same table as World (core/model/seen/sriov.py).

    sriov.go_on(plane, node)      to its next state, with what it does on entering that

The operator itself is not run: nobody looks at its own objects. Tests: tests/e2e/test_network_driver.py
"""

from __future__ import annotations

from seatrial.core.model.seen import sriov
from seatrial.core.model.seen.sriov import Deed
from seatrial_lab.testbed.plane.control_plane import ControlPlane


def go_on(plane: ControlPlane, node: str) -> str:
    """Take a node to the operator's next state, and return that."""
    said = plane.get("node", node)["metadata"].get("annotations", {}).get(sriov.STATE_ANNOTATION, sriov.IDLE)
    stage = sriov.after("" if said == sriov.IDLE else said)
    if stage is None:
        raise ValueError(f"Nobody knows what follows {said} on node {node}.")
    for deed in stage.deeds:
        match deed:
            case Deed.CORDON:
                plane.kubectl("cordon", node)
            case Deed.DRAIN:
                plane.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
            case Deed.UNCORDON:
                plane.kubectl("uncordon", node)
    plane.kubectl("annotate", "node", node, f"{sriov.STATE_ANNOTATION}={stage.state}", "--overwrite")
    return stage.state
