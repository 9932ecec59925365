"""Our requests to the maintenance operator, as objects and patches: NodeMaintenance of maintenance.nvidia.com/v1alpha1.

Several requestors share one NodeMaintenance: whoever made it is its `requestorID` (immutable), the others stand in
`additionalRequestors`. Its maker deletes it; the maintenance operator keeps it until the others have left, too.
Tests: tests/adapters/kube/test_execute.py and test_execute_real.py.
"""

from __future__ import annotations

from typing import Any, Final

from seatrial.core.actions.on_nodes import ReleaseMaintenance, RequestMaintenance
from seatrial.core.model.policy import Policy

API_VERSION: Final = "maintenance.nvidia.com/v1alpha1"
REQUESTORS: Final = "/spec/additionalRequestors"

GPU_FILTERS: Final = (r"^nvidia\.com/gpu(\..+)?$", r"^nvidia\.com/mig-.+$")
"""Resources whose users have to leave where only they have to. Who holds a GPU by a claim or through the runtime class
matches none; those we evict ourselves before the driver is restarted."""

Patch = list[dict[str, Any]]


def request_of(action: RequestMaintenance) -> dict[str, Any]:
    """A NodeMaintenance of our own."""
    spec: dict[str, Any] = {
        "requestorID": action.requestor,
        "nodeName": action.node,
        "cordon": True,
        "drainSpec": _drain(action.policy),
    }
    jobs = action.policy.jobs
    if jobs.selector is not None:
        spec["waitForPodCompletion"] = {
            "podSelector": str(jobs.selector),
            "timeoutSeconds": int(jobs.timeout_seconds),
        }
    return {
        "apiVersion": API_VERSION,
        "kind": "NodeMaintenance",
        "metadata": {"name": action.name, "namespace": action.namespace},
        "spec": spec,
    }


def _drain(policy: Policy) -> dict[str, Any]:
    """Where a drain is allowed, everybody it selects leaves; otherwise the users of GPU resources, and nobody else."""
    rules = policy.drain.rules if policy.drain.is_enabled else policy.eviction
    spec: dict[str, Any] = {
        "force": rules.force,
        "deleteEmptyDir": rules.delete_empty_dir,
        "timeoutSeconds": int(rules.timeout_seconds),
    }
    if policy.drain.is_enabled:
        return spec | {"podSelector": str(policy.drain.selector)}
    return spec | {"podEvictionFilters": [{"byResourceNameRegex": pattern} for pattern in GPU_FILTERS]}


def first_to_join(action: RequestMaintenance) -> Patch:
    """Add our name to somebody else's maintenance that nobody has joined yet; refused when somebody has."""
    return [
        _at_version(action.joins),
        {"op": "test", "path": REQUESTORS, "value": None},
        {"op": "add", "path": REQUESTORS, "value": [action.requestor]},
    ]


def next_to_join(action: RequestMaintenance) -> Patch:
    """Add our name to those who have joined; refused when nobody has, since there is no list to append to."""
    return [_at_version(action.joins), {"op": "add", "path": f"{REQUESTORS}/-", "value": action.requestor}]


def leaving_patch(action: ReleaseMaintenance) -> Patch:
    """Take our name out of somebody else's maintenance."""
    return [
        _at_version(action.resource_version),
        {"op": "add", "path": REQUESTORS, "value": list(action.stay)},
    ]


def _at_version(version: str) -> dict[str, Any]:
    return {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
