"""A diagnosis of a cluster: read once, logs among it, and held against the failures that are known.

Law of this file: what is found is a value; only a node that is not there, or a file of failures that cannot be used,
is an error. Tests: tests/cli/test_doctor.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.adapters.kube.surveying.once import OnRead
    from seatrial.adapters.prometheus.places import Place
    from seatrial.app.connecting import Cluster
    from seatrial.core.survey.doctor.diagnosing import Diagnosis


LOOK_SECONDS: Final = 120.0
"""How long all patterns may take on all that was read; a thousand nodes take seconds."""


class NoSuchNode(SeatrialError):  # noqa: N818  the message says what to do
    """The node that was named is not in the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    """Who is looked at, and how."""

    node: str = ""
    """Empty looks at all of them."""
    failures: tuple[str, ...] = ()
    """Files of a user's own."""
    with_logs: bool = True
    prometheus: Place | None = None
    """The Prometheus that is asked for Xids; None asks nobody."""
    node_label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed:
    """What was found, and what it was held against."""

    diagnosis: Diagnosis
    options: DoctorOptions
    known_count: int
    logs_left_out: int = 0
    rollouts: tuple[str, ...] = ()
    """Those that have not ended, by name; none where they may not be read, and in a file."""
    unled: str = ""
    """That no controller is in charge, and which was seen last; empty where one leads or may lead."""


async def diagnose(cluster: Cluster, options: DoctorOptions, on_read: OnRead | None = None) -> Diagnosed:
    """Read the cluster once, and say what is wrong."""
    from seatrial.adapters import budget
    from seatrial.adapters.files.facts import failures as failures_file
    from seatrial.adapters.kube.surveying import diagnosing as reading
    from seatrial.adapters.prometheus import xids
    from seatrial.core.survey.doctor import diagnosing
    from seatrial.core.survey.sources import Source

    known = failures_file.known(options.failures)  # first: what was called wrongly is said before anybody is asked
    async with cluster.client("doctor") as client:
        sight, left_out = await reading.read(client, node=options.node, with_logs=options.with_logs, on_read=on_read)
        rollouts = await _open_rollouts(client) if cluster.snapshot is None else ()
        unled = await _unled(client, cluster.lease_namespace, rollouts) if cluster.snapshot is None else ""
    if options.prometheus is not None:
        told = await xids.read(options.prometheus, sight.node_of.keys(), node_label=options.node_label)
        sight = replace(sight, metrics=told)
    if options.node and Source.NODES not in sight.gaps and options.node not in sight.node_of:
        raise NoSuchNode(f"There is no node {options.node}. `kubectl get nodes` lists them.")
    slow = (
        f"The search for known failures took {LOOK_SECONDS:g} s without an end. Leave --failures out, or name one node."
    )
    with budget.within(LOOK_SECONDS, slow):
        diagnosis = diagnosing.diagnose(sight, known, options.node)
    return Diagnosed(
        diagnosis=diagnosis,
        options=options,
        known_count=len(known),
        logs_left_out=left_out,
        rollouts=rollouts,
        unled=unled,
    )


async def _open_rollouts(client: Client) -> tuple[str, ...]:
    """The rollouts that have not ended; no diagnosis depends on them, so that they cannot be read is no error."""
    from seatrial.adapters.kube.api.errors import ClusterError
    from seatrial.app import picking

    try:
        return tuple(each.name for each in await picking.all_of(client) if not each.is_ended)
    except (picking.RolloutMissing, ClusterError):
        return ()


async def _unled(client: Client, namespace: str, rollouts: tuple[str, ...]) -> str:
    from seatrial.adapters.kube.reading.leader import leader_of
    from seatrial.app.rollout.heeding import unled_by

    leader = await leader_of(client, namespace)  # one that has stepped down is missed by an open rollout alone
    return unled_by(leader, client.now()) if rollouts or (leader is not None and leader.holder) else ""
