"""What a gate's Job needs beside itself: a template by which its pods claim GPUs, a name by which a gang meets.

Law of this file: a companion has a name made of what it is for, says the same for ever, and goes with its owner. So it
may be asked for again and again, before every Job, and nobody has to know whether it is there. In a rollout it belongs
to the rollout and serves all of its Jobs; by hand it belongs to the one Job.

Tests: tests/adapters/kube/test_companions.py
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from seatrial.adapters.kube.shapes import keys
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.gate import DEVICE_CLASS

CLAIM: Final = "gpus"
"""What the pod calls its claim."""


PORT: Final = 29_500
"""Where the first of a gang is found by the others; each pod has an address of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """An object that has to be there for a Job."""

    path: str
    """Of its kind."""
    body: dict[str, Any]


def claim_name(gpu_count: int, uid: str) -> str:
    """The template's name: the same for as many GPUs, of the same rollout or asker."""
    return f"gate-{gpu_count}-gpus-{_digest(uid)}"


def claim_template(gpu_count: int, uid: str, namespace: str, owner: dict[str, Any]) -> Companion:
    """By which a pod claims so many whole GPUs of its node."""
    exactly = {"deviceClassName": DEVICE_CLASS, "allocationMode": "ExactCount", "count": gpu_count}
    return Companion(
        path=keys.claim_templates_path(namespace),
        body={
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": claim_name(gpu_count, uid), "ownerReferences": [owner]},
            "spec": {"spec": {"devices": {"requests": [{"name": CLAIM, "exactly": exactly}]}}},
        },
    )


def service_name(uid: str) -> str:
    """The name of the Service under which the pods of a gang have their addresses."""
    return f"gate-gang-{_digest(uid)}"


def service(uid: str, namespace: str, owner: dict[str, Any]) -> Companion:
    """By which DNS knows the pods of gangs, from their start on: they look for each other before they are ready."""
    name = service_name(uid)
    return Companion(
        path=keys.services_path(namespace),
        body={
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": True,
                "selector": {keys.GANG_KEY: name},
                "ports": [{"name": "gang", "port": PORT}],
            },
        },
    )


def _digest(uid: str) -> str:
    return hashlib.sha256(uid.encode()).hexdigest()[:10]


def companions_of(action: StartProbe, uid: str, namespace: str, owner: dict[str, Any]) -> list[Companion]:
    """Everything that a gate's Job needs beside itself."""
    found = [claim_template(action.gate.gpus, uid, namespace, owner)] if action.by_claim else []
    if action.gang:
        found.append(service(uid, namespace, owner))
    return found
