"""Whose series it is: which node and which GPU a set of labels means. No I/O.

    Hostname, hostname                  DCGM exporter's own word (the second since 2026): the node's name where it is
                                        given NODE_NAME, the pod's name where it is not
    node, nodename, kubernetes_node     added by whoever scrapes, from Kubernetes
    instance                            the address that is scraped; a node's name only where somebody made it so
    exported_…                          what an exporter said, where whoever scrapes had a word for it already
    UUID, uuid, gpu_uuid                the GPU; `gpu` is an index, which changes with a reboot and is never trusted
    GPU_I_ID                            a MIG slice, which counts as a GPU of its own: GPU-…/1

Law of this file: two labels that name different machines are not weighed against each other; whoever set Prometheus up
says which one counts.

Tests: tests/adapters/prometheus/test_labels.py
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from seatrial.adapters.prometheus.answers import Labels
from seatrial.adapters.prometheus.queries import INSTANCE
from seatrial.core.base.values import dataclass

EXPORTED: Final = "exported_"
NODE_LABELS: Final = ("node", "nodename", "kubernetes_node", "Hostname", "hostname", INSTANCE)
"""Where a node's name may stand, the surest first."""
GPU_LABELS: Final = ("UUID", "uuid", "gpu_uuid")
SLICE: Final = "GPU_I_ID"
INDEX: Final = "gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose series it is."""

    node: str
    label: str
    """Which label says so."""
    gpu: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """A series of one of several nodes, and why nobody can tell which, or of which GPU."""

    nodes: tuple[str, ...]
    why: str


def places(node_label: str = "") -> tuple[str, ...]:
    """The labels that are looked at for a node's name."""
    if node_label:
        return (node_label,)
    return tuple(each for label in NODE_LABELS for each in (label, EXPORTED + label))


def owner_of(labels: Labels, nodes: Collection[str], *, node_label: str = "") -> Owner | Unclear | None:
    """Whose series it is, of these nodes; None where it is of another."""
    said = {label: _name(label, labels[label]) for label in places(node_label) if labels.get(label)}
    named = {label: name for label, name in said.items() if name in nodes}
    if not named:
        return None
    label, node = next(iter(named.items()))
    others = {each: name for each, name in said.items() if not _is_same(name, node) and _is_a_claim(each, name, labels)}
    if others:
        other, name = next(iter(others.items()))
        found = tuple(sorted({*named.values()}))
        why = f"label {label} says {node}, and {other} says {name}: say which label names the node"
        return Unclear(nodes=found, why=why)
    gpu = gpu_of(labels)
    if not gpu and labels.get(INDEX):
        why = f"GPU {labels[INDEX]} is reported without a UUID, and an index may change with a reboot"
        return Unclear(nodes=(node,), why=why)
    return Owner(node=node, label=label, gpu=gpu)


def gpu_of(labels: Labels) -> str:
    """The GPU, or the slice of one, that labels name; empty where they name none for good."""
    gpu, part = next((labels[each] for each in _gpu_labels() if labels.get(each)), ""), labels.get(SLICE, "")
    return f"{gpu}/{part}" if gpu and part else gpu


def _gpu_labels() -> tuple[str, ...]:
    return tuple(each for label in GPU_LABELS for each in (label, EXPORTED + label))


def _name(label: str, value: str) -> str:
    """What a label calls a machine."""
    if label.removeprefix(EXPORTED) != INSTANCE:
        return value
    return value.rpartition(":")[0] or value


def _is_same(one: str, other: str) -> bool:
    """Whether two names may be those of one machine: with its domain and without."""
    short, long = sorted((one.lower(), other.lower()), key=len)
    return short == long or long.startswith(f"{short}.")


def _is_a_claim(label: str, name: str, labels: Labels) -> bool:
    """Whether a label means to name a machine: an address does not, nor does an exporter that says its pod's name."""
    if label.removeprefix(EXPORTED) == INSTANCE:
        return False
    return name not in (labels.get("pod"), labels.get("exported_pod"))
