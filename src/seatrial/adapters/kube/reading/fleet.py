"""The nodes as they are seen: streams joined node by node, only where something changed.

Pacing asks for few rows, an adoption for all that is seen of a node, a rollout for more than that (observe.py).

    touched nodes ─▶ NodeSeen, rebuilt on the next look
    revisions, nvidiadrivers ─▶ every node, when what they want has changed
    clusterpolicies, nvidiadrivers, the first owner label ─▶ who moves the nodes, and under which policy

Tests: tests/adapters/kube/test_observe.py, test_pacing_real.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, Self

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import items, operator_items, pod_items, project, table
from seatrial.adapters.kube.shapes import keys, kinds, models, records, rollout_records
from seatrial.adapters.kube.streams.index import ItemT
from seatrial.adapters.kube.streams.projection import projected
from seatrial.adapters.kube.streams.row import Row, Where
from seatrial.adapters.kube.streams.streams import Streams
from seatrial.bugs import Guard, TellBug, bug_of, why_of
from seatrial.core.model import owners
from seatrial.core.model.consumers import Claim
from seatrial.core.model.instants import ApiInstant, Instant
from seatrial.core.model.intent import is_member
from seatrial.core.model.seen.nodes import NodeFacts, NodeSeen
from seatrial.core.model.seen.operands import ORDER, Operand, governed_by
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.seen.problems import UnreadableObject
from seatrial.core.model.seen.work import Ended, WorkSeen, counted, noted
from seatrial.core.model.target import PUBLISHED

OPERANDS: Final = (table.NETWORK_REVISIONS, table.DRA_REVISIONS)
"""Where operands are wanted, beside the GPU Operator's own."""


class Fleet:
    """Every node of a cluster, and the GPU Operator, as far as the streams show them."""

    def __init__(self, streams: Streams, *, on_fault: Callable[[str], None]) -> None:
        self._streams = streams
        self._on_fault = on_fault
        self._wishes = Wishes(streams)
        self._owned = OwnedNodes(streams, on_turn=self._forget_operator)
        self._operator: OperatorFacts | None = None  # None: to be read anew
        self._requestor: models.RolloutMaintenance | None = None
        self._governed: frozenset[Operand] = frozenset()
        self._seen: dict[str, NodeSeen] = {}
        self._members: dict[str, NodeSeen] = {}
        self._members_key: object = None
        owning = (table.POLICIES, table.DRIVERS, table.DAEMON_SETS, table.DRA_SETS, table.NIC_POLICIES)
        streams.hear(lambda _before, _after: self._forget_operator(), *owning)

    def operator(self) -> OperatorFacts:
        """What is seen of the GPU Operator."""
        if self._operator is None:
            self._operator = operator_items.operator_facts(
                self._streams[table.POLICIES].store,
                self._streams[table.DRIVERS].store,
                has_owned_nodes=self._owned.count > 0,
                rolling=self._rolling(),
                networks=self._streams[table.NIC_POLICIES].store,
                on_fault=self._on_fault,
            )
        return self._operator

    def all_nodes(self) -> Mapping[str, NodeSeen]:
        """Every node seen, member of a rollout or not; changes with the next look, so copy what is to last."""
        if self._wishes.have_changed():
            self._streams.touch(item.metadata.name for item in self._streams[table.NODES].store)
        for name in self._streams.take_touched():
            self._rebuild(name)
            self._members_key = None
        return self._seen

    def members_of(self, rollout: models.Rollout) -> Mapping[str, NodeSeen]:
        """The members as they are now. A change makes a new mapping: whoever holds the old one keeps what they saw."""
        if rollout.spec.maintenance != self._requestor:
            self._requestor = rollout.spec.maintenance
            # Which of several maintenances concerns us depends on our name.
            self._streams.touch(self._streams[table.MAINTENANCES].nodes())
        governed = governed_of(rollout)
        if governed != self._governed:
            self._governed = governed
            self._streams.touch(item.metadata.name for item in self._streams[table.NODES].store)
        nodes = self.all_nodes()
        selector = rollout.spec.node_selector
        admitted = frozenset(rollout_records.admitted_in(rollout.status))
        key = (rollout.metadata.name, tuple(sorted(selector.items())), admitted)
        if self._members_key != key:
            self._members_key = key
            self._members = {
                item.metadata.name: nodes[item.metadata.name]
                for item in self._streams[table.NODES].store
                if is_member(item.metadata.name, item.labels, selector, admitted)
                # What we marked is ours until the mark is gone, whatever becomes of its labels meanwhile.
                or rollout.metadata.name in (item.labels.get(keys.CANARY_LABEL), item.skipped_by)
            }
        return self._members

    def _rebuild(self, name: str) -> None:
        item = self._streams.get(table.NODES, ("", name))
        if item is None:
            self._seen.pop(name, None)
            return
        around = project.Around(
            wanted=self._wishes.wanted,
            seekers=self._wishes.seekers,
            operands=tuple(each for each in self._wishes.operands if each.operand in self._governed),
            drivers=self._wishes.claims,
            requestor=self._requestor,
            of=About(self._streams, name),
            claim=self._find_claim,
            workload=self._find_workload,
            ends_by=self._find_end,
            warnings=self._find_warnings,
        )
        faults = self._streams.unreadable_about(name)
        seen = projected(
            lambda: self._joined(item, around),
            lambda err: self._unjoined(item, err),
        )
        if faults:
            seen = seen.unreadable((*seen.facts.unreadable, *faults))
        self._seen[name] = seen

    def _joined(self, item: items.NodeItem, around: project.Around) -> NodeSeen:
        facts = project.node_facts(item, around.of(table.PODS), around)
        return records.read_node(facts, item.labels.get(keys.STATE_LABEL, ""), item.record)

    def _unjoined(self, item: items.NodeItem, err: Exception) -> NodeSeen:
        """A node whose parts cannot be joined: it counts as unavailable, and keeps what was last seen of it."""
        name = item.metadata.name
        fault = UnreadableObject(kind="nodes", name=name, why=why_of(err))
        held = self._seen.get(name)
        if held is None or fault not in held.facts.unreadable:  # a node is joined again at each of its changes
            self._streams.tell_bug(bug_of(Guard.PROJECTION, f"nodes {name}", err))
        facts = NodeFacts(name=name, resource_version=item.metadata.resource_version, labels=item.labels)
        return (held or NodeSeen(facts=facts)).unreadable((fault,))

    def _rolling(self) -> tuple[Operand, ...]:
        """The operands whose DaemonSets replace their pods by themselves; none where nobody looks at DaemonSets."""
        sets = (*self._streams[table.DAEMON_SETS].store, *self._streams[table.DRA_SETS].store)
        found = {item.operand for item in sets if item.is_rolling}
        return tuple(sorted(found, key=ORDER.__getitem__))

    def _find_claim(self, namespace: str, name: str) -> Claim | None:
        item = self._streams.get(table.CLAIMS, (namespace, name))
        return item.claim if item else None

    def _find_workload(self, pod: items.PodItem) -> items.WorkloadItem | None:
        owners = (pod.metadata.uid, pod.owner_uid)
        found = (self._streams.under(table.WORKLOADS, table.WORKLOADS_BY_OWNER, owner) for owner in owners if owner)
        return next((item for some in found for item in some), None)

    def _find_end(self, pod: items.PodItem) -> ApiInstant | None:
        found = self._streams.under(table.TIMED_JOBS, table.TIMED_JOBS_BY_UID, pod.owner_uid) if pod.owner_uid else ()
        return next((item.ends_by for item in found), None)

    def _find_warnings(self, pod: str) -> Iterable[items.WarningItem]:
        return self._streams.under(table.WARNINGS, table.WARNINGS_BY_POD, pod)

    def _forget_operator(self) -> None:
        self._operator = None


def governed_of(rollout: models.Rollout) -> frozenset[Operand]:
    """The operands that a rollout moves."""
    return governed_by(tuple(each for each in PUBLISHED if each.value in rollout.spec.target))


class About:
    """What the streams say about one node."""

    def __init__(self, streams: Streams, node: str) -> None:
        self._streams = streams
        self._node = node

    def __call__(self, row: Row[Any, ItemT], /) -> Collection[ItemT]:
        return self._streams[row].on_node(self._node)


class Wishes:
    """What is wanted of the nodes: by the newest revision of each DaemonSet, and by the resources that own nodes."""

    def __init__(self, streams: Streams) -> None:
        self.wanted: dict[str, DriverRevision] = {}
        """By the uid of the DaemonSet."""
        self.seekers: project.Seekers = ()
        self.operands: tuple[project.OperandWish, ...] = ()
        self.claims: tuple[owners.DriverClaim, ...] | None = None
        self._streams = streams
        self._are_old = True
        streams.hear(self._forget, *OPERANDS, table.REVISIONS, table.POLICIES, table.DRIVERS)

    def have_changed(self) -> bool:
        """Read what is wanted now, if anything may be otherwise, and say whether it is."""
        if not self._are_old:
            return False
        self._are_old = False
        was = (self.wanted, self.seekers, self.operands, self.claims)
        revisions = self._streams[table.REVISIONS].store
        self.wanted, self.seekers = project.newest_by_owner(revisions), project.seekers_of(revisions)
        others = (item for row in OPERANDS for item in self._streams[row].store)
        self.operands = project.operand_wishes_of((*revisions, *others))
        self.claims = operator_items.driver_claims(
            self._streams[table.POLICIES].store, self._streams[table.DRIVERS].store
        )
        return was != (self.wanted, self.seekers, self.operands, self.claims)

    def _forget(self, _before: object, _after: object) -> None:
        self._are_old = True


class Work:
    """What has ended, who waits and who may be disturbed, where anybody asked for the streams of it."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._ends: list[Ended] = []
        self._finished: dict[str, tuple[float, ...]] = {}
        streams.hear(self._note, table.FINISHED_PODS)

    def seen(self) -> WorkSeen:
        """What is known now; whoever holds an older one keeps what they saw."""
        if self._ends:
            self._finished = noted(self._finished, self._ends)
            self._ends = []
        budgets = (each.budget for each in self._streams[table.POD_BUDGETS].store)
        return WorkSeen(
            finished=self._finished,
            waiting=counted(each.gpus for each in self._streams[table.WAITING_PODS].store),
            budgets=tuple(sorted(budgets, key=lambda each: each.full_name)),
        )

    def _note(self, before: pod_items.EndedItem | None, after: pod_items.EndedItem | None) -> None:
        if before is None and after is not None:  # a pod ends once, and what is told of it later is no other end
            self._ends.append(after.ended)


class OwnedNodes:
    """How many nodes bear an owner label: the first one tells a newer operator, with other rules."""

    def __init__(self, streams: Streams, *, on_turn: Callable[[], None]) -> None:
        self.count = 0
        self._on_turn = on_turn
        streams.hear(self._change, table.NODES)

    def _change(self, before: items.NodeItem | None, after: items.NodeItem | None) -> None:
        had_any = self.count > 0
        self.count += _is_owned(after) - _is_owned(before)
        if had_any is not (self.count > 0):
            self._on_turn()


def _is_owned(item: items.NodeItem | None) -> bool:
    return item is not None and bool(item.labels.get(owners.OWNER_LABEL))


class FleetObserver:
    """Sees the nodes of a cluster, and who moves them, through watches; use `async with`."""

    def __init__(
        self,
        client: Client,
        rows: Iterable[Row[Any, Any]],
        *,
        namespace: str,
        on_fault: Callable[[str], None],
        home: str = keys.HOME,
        dra_namespaces: tuple[str, ...] = (),
        on_back: Callable[[str, str], None] = lambda _stream, _version: None,
        on_bug: TellBug = lambda _bug: None,
    ) -> None:
        where = Where(namespace=namespace, home=home, dra=dra_namespaces)
        self.streams = Streams(client, rows, where, on_back=on_back, on_bug=on_bug)
        self._fleet = Fleet(self.streams, on_fault=on_fault)

    async def __aenter__(self) -> Self:
        await self.streams.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.streams.__aexit__()

    async def wait_synced(self, timeout_seconds: float) -> None:
        """Return when all that decisions rest on was listed once; raise the first thing that keeps it from being."""
        await self.streams.wait_synced(timeout_seconds)

    async def wait(self, until: Instant | None) -> bool:
        """Return when something changed, or the time has come; it always goes on."""
        await self.streams.wait(until)
        return True

    def poke(self) -> None:
        """Something changed that no stream tells of: an act was answered."""
        self.streams.poke()

    def list_anew(self, streams: Collection[str]) -> None:
        """List these streams again: an unknown outcome is settled by what they show."""
        self.streams.list_anew(streams)

    def operator(self) -> OperatorFacts:
        """What is seen of the GPU Operator."""
        return self._fleet.operator()

    def is_operator_present(self) -> bool:
        """Whether a GPU Operator owns NVIDIA's state label here."""
        return bool(self.operator().kind)

    def is_network_operator_present(self) -> bool:
        """Whether a Network Operator owns NVIDIA's state label of the network driver here."""
        return self.operator().network is not None

    def all_nodes(self) -> Mapping[str, NodeSeen]:
        """Every node seen, member of a rollout or not; changes with the next look, so copy what is to last."""
        return self._fleet.all_nodes()

    def members_of(self, rollout: models.Rollout) -> Mapping[str, NodeSeen]:
        """The members of a rollout, with the operands that it moves."""
        return self._fleet.members_of(rollout)

    def wrote_node(self, node: kinds.Node) -> None:
        """A write of ours returned this node."""
        self.streams[table.NODES].wrote(node)
