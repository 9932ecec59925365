"""The neighbours as tables: who else does what to the nodes that we move, and when. Plain rows, no behaviour.

    k8s-driver-manager      the init container of every driver pod
    upgrade controller      NVIDIA's own, in the GPU Operator
    kubelet                 starts and ends pods, tells of what it sees
    DaemonSet controller    puts pods where its selector says
    GitOps engine           brings a repository into the cluster
    autoscalers             remove nodes that nobody uses
    SR-IOV operator         drains a node to change its NICs; its course is core/model/seen/sriov.py, which we read too

Law of this file: what a neighbour does is said here and nowhere else, in its own words: nothing is read off what we
write for it. `World` plays the driver manager's rows as one of its reactions (reactions.py) and those of autoscalers
(world.py), and the testbed plays the same rows on a real API server (seatrial_lab/testbed/neighbours/driver_manager.py,
seatrial_lab/testbed/nodes/autoscaler.py). The other neighbours are real on the testbed; their rows name the reaction of
World that stands for them.

Tests: tests/sim/test_neighbours.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from seatrial.core.movers.driver_manager import DRAIN, EVICTION

SHIPPED: Final[Mapping[str, str]] = {EVICTION: "true", DRAIN: "false"}
"""What the GPU Operator's driver DaemonSets say where nobody said otherwise."""


class Neighbour(StrEnum):
    """Who else is at work on a node."""

    DRIVER_MANAGER = "k8s-driver-manager"
    UPGRADE_CONTROLLER = "NVIDIA's upgrade controller"
    KUBELET = "kubelet"
    DAEMON_SETS = "DaemonSet controller"
    DEPLOYER = "GitOps engine"
    AUTOSCALER = "Cluster Autoscaler"
    KARPENTER = "Karpenter"
    SRIOV = "SR-IOV operator"


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


def deeds_of(
    start: Start, env: Iterable[tuple[str, str]], rows: Iterable[Row] = DRIVER_MANAGER, *, is_superseded: bool = False
) -> tuple[Deed, ...]:
    """What the driver manager of a pod with this environment does to its node."""
    said = {**SHIPPED, **dict(env)}
    if is_superseded:
        return ()
    return tuple(row.does for row in rows if row.when is start and any(said[name] == "true" for name in row.needs))


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


def remover_of(
    labels: Iterable[str], annotations: Mapping[str, str], rows: Iterable[Remover] = REMOVERS
) -> Neighbour | None:
    """Who would remove a node that is cordoned and used by nobody; None where nobody would."""
    some = tuple(labels)
    for row in rows:
        is_its_own = not row.made or any(key.startswith(row.made) for key in some)
        key, value = row.spares
        if is_its_own and annotations.get(key) != value:
            return row.who
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a neighbour does that is real on the testbed, and the reaction of World that stands for it."""

    who: Neighbour
    when: str
    does: str
    reaction: str


PARTS: Final[tuple[Part, ...]] = (
    Part(
        who=Neighbour.DRIVER_MANAGER,
        when="a driver pod is made, its node has booted, or it has failed itself",
        does="what its rows say, before the driver is loaded",
        reaction="driver manager acts",
    ),
    Part(
        who=Neighbour.DRIVER_MANAGER,
        when="the new driver is up",
        does="gives the operands their deploy labels back, so that the validator checks again",
        reaction="validator restarts",
    ),
    Part(
        who=Neighbour.DAEMON_SETS,
        when="a driver pod was deleted",
        does="makes a pod of the newest template",
        reaction="driver pod replaced",
    ),
    Part(
        who=Neighbour.DAEMON_SETS,
        when="a deploy label is paused",
        does="takes its pod from the node",
        reaction="paused clients leave",
    ),
    Part(
        who=Neighbour.DAEMON_SETS,
        when="a deploy label is given back",
        does="makes its pod again",
        reaction="clients come back",
    ),
    Part(
        who=Neighbour.DAEMON_SETS,
        when="a validator was deleted",
        does="makes a pod of the newest template",
        reaction="validator replaced",
    ),
    Part(
        who=Neighbour.DAEMON_SETS,
        when="another operand was deleted, or its deploy label was given back",
        does="makes a pod of the newest template",
        reaction="operand replaced",
    ),
    Part(
        who=Neighbour.DAEMON_SETS,
        when="a DRA plugin was deleted",
        does="makes a pod of the newest template",
        reaction="DRA plugin replaced",
    ),
    Part(
        who=Neighbour.KUBELET,
        when="a pod was asked to leave",
        does="ends it after its grace",
        reaction="pods leave",
    ),
    Part(
        who=Neighbour.KUBELET,
        when="an image cannot be pulled",
        does="says so, and tries again",
        reaction="image pull fails",
    ),
    Part(
        who=Neighbour.KUBELET,
        when="a driver's container fails",
        does="restarts it, later and later, and no init container with it",
        reaction="driver crash loops",
    ),
    Part(
        who=Neighbour.UPGRADE_CONTROLLER,
        when="autoUpgrade is true",
        does="marks nodes, starts them, ends their work; switched off, takes its labels away",
        reaction="NVIDIA's controller acts",
    ),
    Part(
        who=Neighbour.UPGRADE_CONTROLLER,
        when="a resource carries another version",
        does="gives its driver DaemonSets the new template",
        reaction="DaemonSets follow",
    ),
    Part(
        who=Neighbour.DEPLOYER,
        when="the cluster differs from the repository",
        does="writes what the repository says",
        reaction="repository is synced",
    ),
    Part(
        who=Neighbour.DEPLOYER,
        when="it is suspended, or what it applies is refused",
        does="brings nothing into the cluster, a revert neither, and says so",
        reaction="repository is synced",
    ),
    *(
        Part(
            who=row.who,
            when=f"a node is cordoned and nobody uses it, unless its annotation {row.spares[0]} says {row.spares[1]}",
            does="removes the node",
            reaction=REMOVED,
        )
        for row in REMOVERS
    ),
    Part(
        who=Neighbour.SRIOV,
        when="the NICs of a node are to be set up otherwise",
        does="cordons and drains the node, sets them up, and uncordons it, whosever cordon it was",
        reaction="SR-IOV operator acts",
    ),
)
