"""Nodes that reboot, that are deleted, and that join.

A node that reboots is NotReady, then back under another boot ID, and every container of it is started again.

kwok plays a kubelet that never dies, so what a new one finds is written here: containers that ended when nobody looked.
The ordinary stages start them again, each pod as slowly as ever; a pod that may not be restarted has failed. The
validator comes last: a real one waits for its driver in an init container, and no stage of kwok's can wait for a pod.
Tests: tests/testbed/test_faults.py, tests/e2e/test_conformance.py
"""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.nodes import fleet_spec, manifests, stages

if TYPE_CHECKING:
    from seatrial_lab.testbed.nodes.fleet import Fleet

Object = dict[str, Any]

LIVING: Final = ("Pending", "Running")
DEADLINE_SECONDS: Final = 60.0
LOST_CODE: Final = 255
"""What a kubelet says of a container whose end it did not see."""


def reboot(where: Fleet, node: str) -> None:
    """Reboot a node, and return when it is Ready again, and its driver unless something is broken there."""
    where.set_node_ready(node, is_ready=False)
    where.plane.kubectl("annotate", "node", node, f"{stages.BOOT_ID}={uuid.uuid4()}", "--overwrite")
    pods = where.plane.get("pods", "-A", "--field-selector", f"spec.nodeName={node}")["items"]
    living = [
        pod for pod in pods if pod["status"].get("phase") in LIVING and "deletionTimestamp" not in pod["metadata"]
    ]
    validators = [pod for pod in living if pod["metadata"].get("labels", {}).get("app") == manifests.VALIDATOR_APP]
    for pod in living:
        if pod not in validators:
            _end_containers(where, pod)
    where.set_node_ready(node, is_ready=True)
    if stages.BROKEN not in where.plane.get("node", node)["metadata"].get("annotations", {}):
        waiting.wait_for(
            lambda: fleet_spec.is_ready(where.driver_pods()[node]),
            what=f"the driver of {node} to be Ready after its reboot",
            timeout_seconds=DEADLINE_SECONDS + where.spec.reload_seconds + where.spec.reload_jitter_seconds,
        )
    for pod in validators:
        _end_containers(where, pod)


def _end_containers(where: Fleet, pod: Object) -> None:
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    is_over = pod["spec"].get("restartPolicy") == "Never"
    reason = "PodFailed" if is_over else "ContainersNotReady"
    status = {
        "conditions": [
            {"type": kind, "status": "False", "reason": reason, "lastTransitionTime": at}
            for kind in ("Ready", "ContainersReady")
        ],
        "containerStatuses": [_ended(each, at, is_over=is_over) for each in pod["status"].get("containerStatuses", ())],
    } | ({"phase": "Failed"} if is_over else {})
    about = pod["metadata"]
    try:
        where.plane.kubectl(
            "patch", "pod", about["name"], "-n", about["namespace"], "--subresource=status", "--type=strategic",
            "-p", json.dumps({"status": status}),
        )  # fmt: skip
    except errors.KubectlFailed as err:
        if "NotFound" not in str(err):  # a pod that goes in this very moment is not restarted
            raise


def _ended(container: Object, at: str, *, is_over: bool) -> Object:
    began_at = container.get("state", {}).get("running", {}).get("startedAt", at)
    end = {"terminated": {"exitCode": LOST_CODE, "reason": "Unknown", "startedAt": began_at, "finishedAt": at}}
    gone = {**container, "ready": False, "started": False}
    if is_over:
        return {**gone, "state": end}
    waits = {"waiting": {"reason": "ContainerCreating"}}
    return {**gone, "state": waits, "lastState": end, "restartCount": container["restartCount"] + 1}


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
