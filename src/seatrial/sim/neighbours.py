"""Neighbours as tables: what a driver manager and autoscalers do to the nodes that we move, and when. No behaviour.

    k8s-driver-manager      the init container of every driver pod
    autoscalers             remove nodes that nobody uses

Law of this file: what a neighbour does is said here and nowhere else, in its own words: nothing is read off what we
write for it. `World` plays the driver manager's rows as one of its reactions (reactions.py) and those of autoscalers
(world.py), and the testbed plays the same rows on a real API server (seatrial_lab/testbed/neighbours/driver_manager.py,
seatrial_lab/testbed/nodes/autoscaler.py). Others (kubelet, NVIDIA's upgrade controller, GitOps engines) are real on the
testbed; reactions.py stands for them.

Tests: tests/sim/test_neighbours.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.movers.driver_manager import DRAIN, EVICTION

SHIPPED: Final[Mapping[str, str]] = {EVICTION: "true", DRAIN: "false"}
"""What the GPU Operator's driver DaemonSets say where nobody said otherwise."""


class Neighbour(StrEnum):
    """Who removes nodes that nobody uses."""

    AUTOSCALER = "Cluster Autoscaler"
    KARPENTER = "Karpenter"


class Start(StrEnum):
    """How the init container of a driver pod finds the node.

    It runs once for each pod and boot. A kubelet that starts the driver's container again, because that failed, does
    not run it again; only its own failure does.
    """

    LOADED = "another driver is loaded"
    BARE = "no driver is loaded: a reboot, or a first install"
    FAILED = "another driver is loaded and cannot be taken out: it ends with an error, and is started again"


class Deed(StrEnum):
    """What a driver manager does to a node."""

    CORDON = "cordons the node"
    EVICT = "asks the pods that hold its GPUs to leave"
    UNCORDON = "uncordons the node, whoever cordoned it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One deed of a driver manager, before the new driver is loaded."""

    when: Start
    does: Deed
    needs: tuple[str, ...]
    """It does so while one of these is true in its environment."""


DRIVER_MANAGER: Final[tuple[Row, ...]] = (
    Row(when=Start.LOADED, does=Deed.CORDON, needs=(EVICTION,)),
    Row(when=Start.LOADED, does=Deed.EVICT, needs=(EVICTION,)),
    Row(when=Start.LOADED, does=Deed.UNCORDON, needs=(EVICTION, DRAIN)),
    Row(when=Start.BARE, does=Deed.UNCORDON, needs=(EVICTION, DRAIN)),
    Row(when=Start.FAILED, does=Deed.CORDON, needs=(EVICTION,)),
    Row(when=Start.FAILED, does=Deed.EVICT, needs=(EVICTION,)),
    Row(when=Start.FAILED, does=Deed.UNCORDON, needs=(EVICTION, DRAIN)),
)
"""In the order in which it is done. Where the node says that upgrades are NVIDIA's (autoUpgrade: true), none is."""


def deeds_of(start: Start, env: Iterable[tuple[str, str]], *, is_superseded: bool = False) -> tuple[Deed, ...]:
    """What the driver manager of a pod with this environment does to its node."""
    said = {**SHIPPED, **dict(env)}
    if is_superseded:
        return ()
    due = (row for row in DRIVER_MANAGER if row.when is start)
    return tuple(row.does for row in due if any(said[name] == "true" for name in row.needs))


REMOVED: Final = "node is removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remover:
    """Who removes a node that is cordoned and used by nobody, once that has lasted; and what keeps them from it."""

    who: Neighbour
    spares: tuple[str, str]
    """An annotation of the node, and its value."""
    made: str = ""
    """How labels begin of the nodes that are its own; empty where any node may be."""


REMOVERS: Final[tuple[Remover, ...]] = (
    Remover(
        who=Neighbour.KARPENTER,
        spares=("karpenter.sh/do-not-disrupt", "true"),
        made="karpenter.sh/",
    ),
    Remover(
        who=Neighbour.AUTOSCALER,
        spares=("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"),
    ),
)


def remover_of(labels: Iterable[str], annotations: Mapping[str, str]) -> Neighbour | None:
    """Who would remove a node that is cordoned and used by nobody; None where nobody would."""
    some = tuple(labels)
    for row in REMOVERS:
        is_its_own = not row.made or any(key.startswith(row.made) for key in some)
        key, value = row.spares
        if is_its_own and annotations.get(key) != value:
            return row.who
    return None
