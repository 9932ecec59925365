"""Nodes that are deleted, and nodes that join.

Tests: tests/e2e/test_conformance.py, tests/e2e/test_campaign_faults.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatrial_lab.testbed.nodes import fleet_spec

if TYPE_CHECKING:
    from seatrial_lab.testbed.nodes.fleet import Fleet


def delete_node(where: Fleet, node: str) -> None:
    """Take a node out of the cluster, with its pods: the garbage collector would leave those for 40 seconds."""
    where.plane.kubectl("delete", "node", node)
    for pod in where.plane.get("pods", "-A", "--field-selector", f"spec.nodeName={node}")["items"]:
        meta = pod["metadata"]
        force = ("--force", "--grace-period=0", "--ignore-not-found")
        where.plane.kubectl("delete", "pod", meta["name"], "-n", meta["namespace"], *force)


def add_node(where: Fleet, node: str) -> None:
    """Let a node of this name join, with nothing on it yet."""
    objects = fleet_spec.objects_of(where.spec)
    where.plane.apply([each for each in objects if each["kind"] == "Node" and each["metadata"]["name"] == node])
    if where.spec.has_dra:
        where.start_dra()
