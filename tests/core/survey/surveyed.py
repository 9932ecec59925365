"""What tests of the audit share: a clean cluster in one line, and one thing of it changed in another."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any, Final

from seatrial.core.compat.matrix import Accept, Component, Entry, Role, Span, Stack, Value
from seatrial.core.model.seen.nodes import Loaded, NodeFacts, NodeSeen
from seatrial.core.survey.audit.auditing import Audit, audit
from seatrial.core.survey.audit.comparing import Wanted
from seatrial.core.survey.audit.findings import AuditFinding, FindingKind
from seatrial.core.survey.audit.objects import (
    DaemonSetObject,
    DeploymentObject,
    DriverResource,
    NodeObject,
    Objects,
    PodObject,
)
from seatrial.core.survey.audit.readings import Reading
from seatrial.core.survey.sources import Gap, Source, Why
from tests.core.compat.knowledge import facts

ON: Final = date(2026, 2, 1)
DRIVER: Final = "580.105.08"
STARTED_AT: Final = 1000.0
NAMESPACE: Final = "gpu-operator"
OPERANDS: Final = {
    "nvidia-driver-ctr": f"nvcr.io/nvidia/driver:{DRIVER}-ubuntu22.04",
    "nvidia-device-plugin": "nvcr.io/nvidia/k8s-device-plugin:v0.18.1",
    "nvidia-container-toolkit-ctr": "nvcr.io/nvidia/k8s/container-toolkit:v1.18.1",
    "nvidia-dcgm-exporter": "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.2-4.7.0-distroless",
}
NOT_SERVED: Final = {
    each: Gap(source=each, why=Why.NOT_SERVED)
    for each in (
        Source.NIC_DEVICES,
        Source.CSVS,
        Source.SUBSCRIPTIONS,
        Source.CLUSTER_VERSIONS,
        Source.MACHINE_POOLS,
    )
}


def a_node(name: str = "gpu-1", **changed: Any) -> NodeObject:
    """A node on which everything is in order; `cordoned`, `state` and `record` are of its upgrade."""
    seen_facts = NodeFacts(
        name=name, is_cordoned=changed.pop("is_cordoned", False), nvidia_state=changed.pop("nvidia_state", "")
    )
    whole: dict[str, Any] = {
        "shows_gpu": True,
        "kernel": "5.15.0-142-generic",
        "kubelet": "v1.33.5",
        "runtime": "containerd://1.7.27",
        "os_image": "Ubuntu 22.04.5 LTS",
        "os_id": "ubuntu",
        "os_version": "22.04",
        "product": "NVIDIA-H100-80GB-HBM3",
        "loaded": Loaded(version=DRIVER, seen_at=STARTED_AT + 60),
        "seen": NodeSeen(facts=seen_facts, record=changed.pop("record", None)),
    }
    return NodeObject(name=name, **(whole | changed))


def a_pod(container: str, node: str = "gpu-1", **changed: Any) -> PodObject:
    """A pod that brings what its container is called after."""
    image = changed.pop("image", OPERANDS.get(container, ""))
    whole: dict[str, Any] = {
        "namespace": NAMESPACE,
        "images": ((container, image),),
        "started_at": STARTED_AT,
        "is_ready": True,
    }
    return PodObject(node=node, **(whole | changed))


def pods_of(node: str, **images: str) -> tuple[PodObject, ...]:
    """The operands of a node; by keyword (`driver`, `plugin`, `toolkit`, `dcgm`) another image, or none."""
    short = dict(zip(("driver", "plugin", "toolkit", "dcgm"), OPERANDS, strict=True))
    chosen = OPERANDS | {short[key]: image for key, image in images.items()}
    return tuple(a_pod(name, node, image=image) for name, image in chosen.items() if image)


def a_cluster(*nodes: NodeObject, **changed: Any) -> Objects:
    """A cluster of these nodes, or of three alike, with everything that belongs to them."""
    found = nodes or tuple(a_node(f"gpu-{number}") for number in (1, 2, 3))
    whole: dict[str, Any] = {
        "nodes": found,
        "pods": tuple(pod for node in found for pod in pods_of(node.name)),
        "daemon_sets": (
            DaemonSetObject(
                namespace=NAMESPACE,
                name="nvidia-driver-daemonset",
                images=(("nvidia-driver-ctr", OPERANDS["nvidia-driver-ctr"]),),
                strategy="OnDelete",
            ),
        ),
        "deployments": (
            DeploymentObject(
                namespace=NAMESPACE,
                name="gpu-operator",
                images=(("gpu-operator", "nvcr.io/nvidia/gpu-operator:v25.10.1"),),
                version="v25.10.1",
            ),
        ),
        "driver_resources": (DriverResource(name="ClusterPolicy/cluster-policy", modules="auto"),),
        "gaps": NOT_SERVED,
    }
    return Objects(**(whole | changed))


def forbidden(*sources: Source) -> dict[Source, Gap]:
    """What is not served, and what may not be read besides."""
    return {**NOT_SERVED, **{each: Gap(source=each, why=Why.FORBIDDEN) for each in sources}}


def an_entry(accept: tuple[Accept, ...] = (), /, **versions: str) -> Entry:
    """An entry of a matrix."""
    read = Stack.of(versions)
    placed = {part: _placed(value, line) for line, (part, value) in enumerate(read.values.items(), 3)}
    return Entry(role=Role.PRODUCTION, key="current", stack=Stack(values=placed), accept=accept)


def _placed(value: Value, line: int) -> Value:
    return replace(value, span=Span(file="matrix.yaml", line=line, column=7))


def audited(objects: Objects, entry: Entry | None = None, canary: Entry | None = None, on: date = ON) -> Audit:
    wanted = Wanted(entry=entry, canary=canary, file="matrix.yaml") if entry is not None else None
    return audit(objects, facts(), on, wanted)


def found(objects: Objects, entry: Entry | None = None) -> tuple[AuditFinding, ...]:
    return audited(objects, entry).findings


def only(objects: Objects, kind: FindingKind, entry: Entry | None = None) -> AuditFinding:
    """The one finding there is, which is of this kind."""
    findings = found(objects, entry)
    assert [each.kind for each in findings] == [kind], [each.message for each in findings]
    return findings[0]


def reading(objects: Objects, part: Component, node: int = 0) -> Reading:
    """What is known of a component on one node, or of the cluster."""
    observed = audited(objects).observed
    return observed.reading(observed.nodes[node], part)
