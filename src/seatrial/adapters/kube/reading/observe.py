"""The live Observer: watched streams joined into one Snapshot, node by node, only where something changed.

    nodes ─────────────┐
    pods ──────────────┤
    claims, slices ────┼─▶ stores ─▶ dirty node names ─▶ NodeSeen, rebuilt on the next look
    maintenances ──────┤
    events ────────────┘
    revisions, nvidiadrivers ─▶ every node, when what they want has changed
    gpurollouts ─▶ intent and ledger      clusterpolicies, nvidiadrivers ─▶ who moves the nodes, and under which policy
    jobs and their pods ─▶ measurements   machineconfigpools ─▶ the canary's pool     (while there is a campaign)

One change costs one node: a pod knows its node, and a claim or an event finds it through the pods that name it or are
named. What our own writes return goes into the same stores, so the next pass sees it without waiting for the watch.
Tests: tests/adapters/kube/test_observe.py and tests/e2e/.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

from seatrial.adapters.kube.api import errors, watch
from seatrial.adapters.kube.api.client import Client, EventKind, Listing, Object, WatchEvent
from seatrial.adapters.kube.api.store import Store, by_name
from seatrial.adapters.kube.reading import (
    access,
    items,
    operator_items,
    pod_items,
    pools,
    probes,
    project,
    rollout_intent,
    rollout_items,
)
from seatrial.adapters.kube.reading.rollout_items import RolloutUnclear, RolloutUnreadable
from seatrial.adapters.kube.shapes import keys, models, records, rollout_records
from seatrial.adapters.kube.shapes.campaign_models import Job, MachineConfigPool
from seatrial.core.campaign import choosing
from seatrial.core.errors import SeatrialError
from seatrial.core.model import owners
from seatrial.core.model.campaign import RolloutPhase, SourceFacts
from seatrial.core.model.consumers import Claim
from seatrial.core.model.gates import Measurement
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent, is_member
from seatrial.core.model.snapshot import (
    DriverPod,
    DriverRevision,
    Freshness,
    NodeSeen,
    OperatorFacts,
    RolloutRecord,
    Snapshot,
)
from seatrial.ports import Sight

__all__ = ["KubeObserver", "RolloutUnclear"]

LOOK_SECONDS: Final = 30.0
"""Freshness is judged by time passing, so we look at least this often even when nothing changes."""

RawT = TypeVar("RawT", bound=Object)
ItemT = TypeVar("ItemT", bound=Object)
KeyT = TypeVar("KeyT", bound=Hashable)
PartT = TypeVar("PartT")


WARNINGS: Final = "type=Warning,involvedObject.kind=Pod"
"""Of all events, those that may tell why a driver pod does not get ready."""


class _Stream(Generic[RawT, ItemT]):
    """One watched kind: raw objects in, slim items kept."""

    def __init__(
        self,
        name: str,
        path: str,
        model: type[RawT],
        slim: Callable[[RawT], ItemT | None],
        on_change: Callable[[ItemT | None, ItemT | None], None],
        on_state: Callable[[], None],
        *,
        on_back: Callable[[str, str], None],
        is_optional: bool = False,
        is_decisive: bool = True,
        key: Callable[[ItemT], Hashable] = by_name,
        field_selector: str = "",
        label_selector: str = "",
    ) -> None:
        self.name = name
        self.path = path
        self.store: Store[ItemT] = Store(key=key, on_change=on_change)
        self.state = watch.SourceState(path=path)
        self.is_optional = is_optional
        self.is_decisive = is_decisive
        """Whether decisions rest on it; one that only explains may be late, or fail, and stops nobody."""
        self._field_selector = field_selector
        self._label_selector = label_selector
        self._model = model
        self._slim = slim
        self._on_state = on_state
        self._on_back = on_back

    def run(self, client: Client) -> Coroutine[Any, Any, Any]:
        """List and watch for ever."""
        return watch.reflect(
            client,
            self.path,
            self._model,
            on_list=self.store.begin,
            on_sync=self._sync,
            on_event=self._event,
            on_state=self._take_state,
            jitter=random.random,
            field_selector=self._field_selector,
            label_selector=self._label_selector,
        )

    def wrote(self, raw: RawT) -> None:
        """Take over what the server returned for a write of ours."""
        item = self._slim(raw)
        if item is not None:
            self.store.wrote(item)

    @property
    def is_absent(self) -> bool:
        """The kind is not installed in this cluster, and that is fine; one whose objects we saw cannot be so."""
        is_unknown = isinstance(self.state.last_error, errors.NotFound)
        return self.is_optional and is_unknown and len(self.store) == 0

    @property
    def is_current(self) -> bool:
        return self.state.is_synced or self.is_absent

    def freshness(self, now: Instant) -> Freshness:
        # Silence is measured by a clock that nobody puts back or forward, and told on the one that decisions rest on.
        heard = self.state.last_heard
        heard_at = now if self.is_absent else 0.0 if heard is None else now - (time.monotonic() - heard)
        # After a cut connection the cluster may be another than it was: nobody is disrupted until that was asked.
        is_sure = self.is_absent or not self.state.is_in_doubt
        return Freshness(source=self.name, is_synced=self.is_current and is_sure, heard_at=heard_at)

    def _sync(self, listing: Listing[RawT]) -> None:
        items = (self._slim(raw) for raw in listing.items)
        is_back = self.store.sync(
            Listing(items=tuple(item for item in items if item is not None), resource_version=listing.resource_version)
        )
        if is_back:
            self._on_back(self.name, listing.resource_version)

    def _event(self, event: WatchEvent[RawT]) -> None:
        item = self._slim(event.object)
        if item is not None:
            self.store.apply(WatchEvent(kind=event.kind, object=item))
            return
        meta = event.object.metadata
        held = self.store.get((meta.namespace, meta.name))
        if held is not None and held.metadata.uid == meta.uid:
            # It is of no interest any more, e.g. a finished pod.
            self.store.apply(WatchEvent(kind=EventKind.DELETED, object=held))

    def _take_state(self, state: watch.SourceState) -> None:
        was = self._standing
        self.state = state
        if was != self._standing:
            self._on_state()

    @property
    def _standing(self) -> tuple[bool, bool, bool]:
        return self.is_current, self.state.last_error is None, self.state.is_in_doubt


class KubeObserver:
    """Sees a cluster through watches; use `async with`."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        rollout: str = "",
        on_fault: Callable[[str], None],
        home: str = keys.HOME,
        source: Callable[[], SourceFacts | None] = lambda: None,
        rights: access.Access | None = None,
        on_back: Callable[[str, str], None] = lambda _stream, _version: None,
    ) -> None:
        """`on_back` is told which stream went back in time, and to which version: a restored etcd.

        `rights` asks whether a campaign may do what it will need; who only looks does not ask about himself."""
        self._client = client
        self._rollout = rollout
        self._on_fault = on_fault
        self._source = source
        self._rights = rights
        self._tell_back = on_back
        self._faults: tuple[OperatorFacts, dict[str, str]] | None = None  # None: to be read anew
        self._era = 0
        self._changed = asyncio.Event()
        self._dirty: set[str] = set()
        self._seen: dict[str, NodeSeen] = {}
        self._members: dict[str, NodeSeen] = {}
        self._members_key: object = None
        self._pods_by_node: dict[str, dict[str, items.PodItem]] = defaultdict(dict)
        self._nodes_by_claim: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)  # claim -> pod uid -> node
        self._node_by_driver: dict[str, str] = {}  # by the driver pod's uid
        self._slices_by_node: dict[str, dict[str, items.SliceItem]] = defaultdict(dict)
        self._maintenances_by_node: dict[str, dict[str, items.MaintenanceItem]] = defaultdict(dict)
        self._warnings_by_pod: dict[str, dict[str, items.WarningItem]] = defaultdict(dict)
        self._wanted: dict[str, DriverRevision] = {}
        self._seekers: project.Seekers = ()
        self._are_wishes_old = True
        self._claims: tuple[owners.DriverClaim, ...] | None = None
        self._operator: OperatorFacts | None = None  # None: to be read anew
        self._requestor: models.RolloutMaintenance | None = None
        self._owned_count = 0
        poke, back = self._changed.set, self._on_back
        self.nodes = _Stream("nodes", keys.NODES, models.Node, items.node_item, self._on_node, poke, on_back=back)
        self.pods = _Stream(
            "pods",
            keys.PODS,
            models.Pod,
            lambda pod: pod_items.pod_item(pod, namespace),
            self._on_pod,
            poke,
            on_back=back,
        )
        self.revisions = _Stream(
            "controllerrevisions",
            keys.revisions_path(namespace),
            models.ControllerRevision,
            items.revision_item,
            self._on_revision,
            poke,
            on_back=back,
        )
        self.rollouts = _Stream(
            "gpurollouts",
            keys.ROLLOUTS,
            models.RolloutText,
            rollout_items.rollout_item,
            self._on_rollout,
            poke,
            on_back=back,
        )
        self.policies = _Stream(
            "clusterpolicies",
            keys.CLUSTER_POLICIES,
            models.ClusterPolicy,
            _same,
            self._on_operator,
            poke,
            on_back=back,
            is_optional=True,
        )
        self.drivers = _Stream(
            "nvidiadrivers",
            keys.NVIDIA_DRIVERS,
            models.NvidiaDriver,
            _same,
            self._on_operator,
            poke,
            on_back=back,
            is_optional=True,
        )
        self.claims = _Stream(
            "resourceclaims",
            keys.RESOURCE_CLAIMS,
            models.ResourceClaim,
            items.claim_item,
            self._on_claim,
            poke,
            on_back=back,
            is_optional=True,
        )
        self.slices = _Stream(
            "resourceslices",
            keys.RESOURCE_SLICES,
            models.ResourceSlice,
            items.slice_item,
            self._on_slice,
            poke,
            on_back=back,
            is_optional=True,
        )
        self.maintenances = _Stream(
            "nodemaintenances",
            keys.NODE_MAINTENANCES,
            models.NodeMaintenance,
            items.maintenance_item,
            self._on_maintenance,
            poke,
            on_back=back,
            is_optional=True,
        )
        self.warnings = _Stream(
            "events",
            keys.events_path(namespace),
            models.Event,
            items.warning_item,
            self._on_warning,
            poke,
            on_back=back,
            is_optional=True,
            is_decisive=False,
            key=items.by_pod_and_reason,
            field_selector=WARNINGS,
        )
        self.probes = _Stream(
            "jobs",
            keys.jobs_path(home),
            Job,
            probes.probe_item,
            self._on_probe,
            poke,
            on_back=back,
            label_selector=probes.SELECTOR,
        )
        self.probe_pods = _Stream(
            "pods of jobs",
            keys.pods_path(home),
            models.Pod,
            probes.probe_pod_item,
            self._on_probe_pod,
            poke,
            on_back=back,
            label_selector=probes.SELECTOR,
        )
        self.machine_pools = _Stream(
            "machineconfigpools",
            keys.MACHINE_POOLS,
            MachineConfigPool,
            pools.pool_item,
            self._on_machine_pool,
            poke,
            on_back=back,
            is_optional=True,
        )
        self._pods_by_probe: dict[str, dict[str, probes.ProbePodItem]] = defaultdict(dict)
        self._has_campaign = False
        self._tasks: list[asyncio.Task[Any]] = []

    @property
    def streams(self) -> tuple[_Stream[Any, Any], ...]:
        return (
            self.nodes,
            self.pods,
            self.revisions,
            self.rollouts,
            self.policies,
            self.drivers,
            self.claims,
            self.slices,
            self.maintenances,
            self.warnings,
            *(self.campaign_streams if self._has_campaign else ()),
        )

    @property
    def campaign_streams(self) -> tuple[_Stream[Any, Any], ...]:
        """Those that only a campaign needs, and has the right to: they are opened when there is the first."""
        return (self.probes, self.probe_pods, self.machine_pools)

    @property
    def decisive_streams(self) -> tuple[_Stream[Any, Any], ...]:
        """Those without which nothing is decided."""
        return tuple(stream for stream in self.streams if stream.is_decisive)

    async def __aenter__(self) -> KubeObserver:
        for stream in self.streams:
            self._start(stream.run(self._client), stream.name)
        return self

    def _start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(lambda _: self._changed.set())
        self._tasks.append(task)

    def _open_campaign(self) -> None:
        """Begin to watch what only a campaign needs."""
        if self._has_campaign:
            return
        self._has_campaign = True
        for stream in self.campaign_streams:
            self._start(stream.run(self._client), stream.name)
        if self._rights is not None:
            self._start(self._rights.run(self._changed.set), "rights")

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # what one died of was told by `wait`

    async def wait_synced(self, timeout_seconds: float) -> None:
        """Return when all that decisions rest on was listed once; raise the first thing that keeps it from being."""
        deadline = time.monotonic() + timeout_seconds
        self._check_streams()
        while missing := self._missing():
            for stream in missing:
                if stream.state.last_error is not None:
                    raise _explained(stream.name, stream.state.last_error)
            left_seconds = deadline - time.monotonic()
            if left_seconds <= 0:
                raise errors.ClusterUnavailable(
                    f"{missing[0].name} were not listed within {timeout_seconds:g} s",
                    "check the load of the API server",
                )
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), min(left_seconds, 1.0))
            self._check_streams()

    def _missing(self) -> list[_Stream[Any, Any]]:
        """What has to be listed still. What only a campaign needs comes last, once it is seen that there is one."""
        missing = [stream for stream in self.decisive_streams if not stream.is_current]
        if not missing and not self._has_campaign:
            with suppress(RolloutUnclear):  # the first look tells of it
                rollout = self.find_rollout()
                if rollout is not None and _read(rollout, self.operator(), time.time())[0].campaign is not None:
                    self._open_campaign()
                    return list(self.campaign_streams)
        # A right that only the campaign lacks holds the campaign, and does not keep the controller from starting.
        return [each for each in missing if each not in self.campaign_streams or each.state.last_error is None]

    # ── the port ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def observe(self) -> Sight | None:
        self._changed.clear()
        try:
            rollout = self.find_rollout()
            if rollout is None:
                return None
            now = time.time()
            intent, record = _read(rollout, self.operator(), now)
            unreadable = tuple(each for each in self._unreadable().items() if each[0] != record.name)
            seen = Snapshot(
                nodes=self._select(rollout),
                rollout=record,
                operator=self.operator(),
                unreadable=unreadable,
                is_guarded=keys.FINALIZER in rollout.metadata.finalizers,
                is_deleting=rollout.metadata.deletion_timestamp is not None,
            )
            if intent.campaign is not None:
                self._open_campaign()
                seen = self._with_campaign(seen, intent, rollout.metadata.uid)
        except RolloutUnclear as err:
            self._on_fault(str(err))
            return None
        fresh = tuple(stream.freshness(now) for stream in self.decisive_streams)
        return Sight(seen=replace(seen, freshness=fresh), intent=intent, era=self._era)

    def _with_campaign(self, seen: Snapshot, intent: Intent, uid: str) -> Snapshot:
        """The snapshot with what only a campaign looks at."""
        for stream in self.campaign_streams:
            if isinstance(stream.state.last_error, errors.Forbidden):
                self._on_fault(str(stream.state.last_error))
        if self._rights is not None:
            self._rights.want_for(intent, seen)
        name = seen.rollout.name
        return replace(
            seen,
            source=self._source(),
            measurements=tuple(self._measure(uid)),
            others=self._others(name),
            denied=self._denied(),
            machine_pools=tuple(pools.facts_of(item, name) for item in _by_name(self.machine_pools.store)),
            predecessor=self._predecessor(intent.campaign.after if intent.campaign is not None else ""),
        )

    def _denied(self) -> tuple[str, ...] | None:
        """What we may not do; None while that is being asked. Who only looks does not ask."""
        if self._rights is None:
            return ()
        return self._rights.denied if self._rights.is_known else None

    def _measure(self, uid: str) -> Iterable[Measurement]:
        """What the probes of one rollout have measured."""
        for item in _by_name(self.probes.store):
            if item.rollout_uid == uid:
                found = probes.measurement_of(item, self._pods_by_probe.get(item.metadata.uid, {}).values())
                if found is not None:
                    yield found

    async def wait(self, until: Instant | None) -> bool:
        seconds = LOOK_SECONDS if until is None else min(max(0.0, until - time.time()), LOOK_SECONDS)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)
        self._check_streams()
        return True

    def _check_streams(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()  # a stream ends only by a bug of ours; that must not pass in silence

    def _on_back(self, stream: str, version: str) -> None:
        """A list is of an older history than what was seen: nothing that was remembered of it counts any more."""
        self._era += 1
        self._tell_back(stream, version)
        self._changed.set()

    def wrote_node(self, node: models.Node) -> None:
        """A write of ours returned this node."""
        self.nodes.wrote(node)

    def wrote_rollout(self, rollout: models.Rollout) -> None:
        """A write of ours returned this rollout."""
        self.rollouts.store.wrote(rollout_items.item_of(rollout))

    def stored_rollout(self, name: str) -> models.Rollout | None:
        """The rollout of this name as it was last seen; None also where it cannot be read."""
        item = self.rollouts.store.get(("", name))
        return item.rollout if item is not None else None

    def stored_record(self, node: str) -> str:
        """The annotation of a node as it was last seen."""
        item = self.nodes.store.get(("", node))
        return item.record if item is not None else ""

    def is_operator_present(self) -> bool:
        """Whether a GPU Operator owns NVIDIA's state label here."""
        return bool(self.operator().kind)

    def poke(self) -> None:
        """Something changed that no stream tells of: an act was answered."""
        self._changed.set()

    # ── joining ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def find_rollout(self) -> models.Rollout | None:
        """The rollout we work on: the named one, else the one whose turn it is; None when there is none.

        One that cannot be read stands back, and holds nobody else.
        """
        if self._rollout:
            item = self.rollouts.store.get(("", self._rollout))
            return item.read() if item is not None else None
        if len(self.rollouts.store) == 1:
            return next(iter(self.rollouts.store)).read()
        read = self._readable()
        if not read and (faults := self._unreadable()):
            raise RolloutUnreadable(*next(iter(faults.items())))
        return read.get(self._whose_turn(read))

    def _readable(self) -> dict[str, models.Rollout]:
        """The rollouts that we understand, by name."""
        faults = self._unreadable()
        return {
            item.metadata.name: item.rollout
            for item in self.rollouts.store
            if item.rollout is not None and item.metadata.name not in faults
        }

    def _unreadable(self) -> dict[str, str]:
        """Why some rollouts cannot be read, by name; asked several times a pass, and read when one has changed."""
        operator = self.operator()
        if self._faults is None or self._faults[0] is not operator:
            found: dict[str, str] = {}
            for item in _by_name(self.rollouts.store):
                try:
                    _read(item.read(), operator, time.time())
                except RolloutUnreadable as err:
                    found[item.metadata.name] = err.why
            self._faults = (operator, found)
        return self._faults[1]

    def current_rollout(self) -> models.Rollout | None:
        """The same, for those who go on without one where it is unclear; `observe` tells why."""
        with suppress(RolloutUnclear):
            return self.find_rollout()
        return None

    def _whose_turn(self, read: Mapping[str, models.Rollout]) -> str:
        after = {name: rollout.spec.after for name, rollout in read.items()}
        undone = {name for name, rollout in read.items() if rollout.spec.abort}
        records = [(item.metadata.creation_timestamp, _record_of(item)) for item in read.values()]
        deleted = {name for name, rollout in read.items() if _waits_for_us(rollout)}
        return choosing.whose_turn(records, after, undone, deleted)

    def _others(self, name: str) -> tuple[str, ...]:
        """Campaigns beside this one that have begun and not ended; also those that only another release can read."""
        records, unclear = [], []
        for item in self.rollouts.store:
            try:
                records.append((item.metadata.creation_timestamp, _record_of(item.read())))
            except RolloutUnreadable:
                unclear += [item.metadata.name] if item.has_begun and item.metadata.name != name else []
        return tuple(sorted((*choosing.others(records, name), *unclear)))

    def _predecessor(self, name: str) -> RolloutPhase | None:
        """Where the rollout of that name stands; None when there is none."""
        item = self.rollouts.store.get(("", name)) if name else None
        if item is None:
            return None
        try:
            return choosing.phase_of(_record_of(item.read()))
        except RolloutUnreadable:
            return RolloutPhase.PROPOSED  # not Done as far as we can tell, and nobody comes after that

    def operator(self) -> OperatorFacts:
        """What is seen of the GPU Operator."""
        if self._operator is None:
            self._operator = operator_items.operator_facts(
                self.policies.store,
                self.drivers.store,
                has_owned_nodes=self._owned_count > 0,
                on_fault=self._on_fault,
            )
        return self._operator

    def all_nodes(self) -> Mapping[str, NodeSeen]:
        """Every node seen, member of a rollout or not; changes with the next look, so copy what is to last."""
        if self._are_wishes_old:
            self._are_wishes_old = False
            wanted = project.newest_by_owner(self.revisions.store)
            seekers = project.seekers_of(self.revisions.store)
            claims = operator_items.driver_claims(self.policies.store, self.drivers.store)
            if (wanted, seekers, claims) != (self._wanted, self._seekers, self._claims):
                self._wanted, self._seekers, self._claims = wanted, seekers, claims
                self._dirty |= {item.metadata.name for item in self.nodes.store}
        if self._dirty:
            for name in sorted(self._dirty):  # a set has no order, and the same world is to give the same snapshot
                self._rebuild(name)
            self._dirty.clear()
            self._members_key = None
        return self._seen

    def _select(self, rollout: models.Rollout) -> Mapping[str, NodeSeen]:
        """The members as they are now. A change makes a new mapping: whoever holds the old one keeps what they saw."""
        if rollout.spec.maintenance != self._requestor:
            self._requestor = rollout.spec.maintenance
            self._dirty |= self._maintenances_by_node.keys()  # which of several concerns us depends on our name
        nodes = self.all_nodes()
        selector = rollout.spec.node_selector
        admitted = frozenset(entry.node for entry in rollout.status.admitted)
        key = (rollout.metadata.name, tuple(sorted(selector.items())), admitted)
        if self._members_key != key:
            self._members_key = key
            self._members = {
                item.metadata.name: nodes[item.metadata.name]
                for item in self.nodes.store
                if is_member(item.metadata.name, item.labels, selector, admitted)
                # What we marked is ours until the mark is gone, whatever becomes of its labels meanwhile.
                or rollout.metadata.name in (item.labels.get(keys.CANARY_LABEL), item.skipped_by)
            }
        return self._members

    def _rebuild(self, name: str) -> None:
        item = self.nodes.store.get(("", name))
        if item is None:
            self._seen.pop(name, None)
            return
        around = project.Around(
            wanted=self._wanted,
            seekers=self._seekers,
            claim=self._find_claim,
            drivers=self._claims,
            slices=self._slices_by_node.get(name, {}).values(),
            maintenances=self._maintenances_by_node.get(name, {}).values(),
            requestor=self._requestor,
            warnings=self._find_warnings,
        )
        facts = project.node_facts(item, self._pods_by_node.get(name, {}).values(), around)
        self._seen[name] = records.read_node(facts, item.labels.get(keys.STATE_LABEL, ""), item.record)

    def _find_claim(self, namespace: str, name: str) -> Claim | None:
        item = self.claims.store.get((namespace, name))
        return item.claim if item else None

    def _find_warnings(self, pod: str) -> Iterable[items.WarningItem]:
        return self._warnings_by_pod.get(pod, {}).values()

    def _on_node(self, before: items.NodeItem | None, after: items.NodeItem | None) -> None:
        had_owned = self._owned_count > 0
        for item, step in ((before, -1), (after, 1)):
            if item is not None:
                self._dirty.add(item.metadata.name)
                self._owned_count += step if item.labels.get(owners.OWNER_LABEL) else 0
        if had_owned is not (self._owned_count > 0):
            self._operator = None  # the first owner label tells a newer operator, with other rules
        self._changed.set()

    def _on_pod(self, before: items.PodItem | None, after: items.PodItem | None) -> None:
        if before is not None and after is not None and before.tells == after.tells:
            self._move(self._pods_by_node, after.node, after.metadata.uid, after)
            return  # most changes of a pod are none to us: a probe, a condition
        if before is not None:
            self._move(self._pods_by_node, before.node, before.metadata.uid, None)
            for claim in before.claims:
                self._move(self._nodes_by_claim, claim, before.metadata.uid, None)
            self._node_by_driver.pop(before.metadata.uid, None)
            self._dirty.add(before.node)
        if after is not None:
            self._move(self._pods_by_node, after.node, after.metadata.uid, after)
            for claim in after.claims:
                self._move(self._nodes_by_claim, claim, after.metadata.uid, after.node)
            if isinstance(after.facts, DriverPod):
                self._node_by_driver[after.metadata.uid] = after.node
            self._dirty.add(after.node)
        self._changed.set()

    def _on_claim(self, before: items.ClaimItem | None, after: items.ClaimItem | None) -> None:
        item = after or before
        if item is not None and (before is None or after is None or before.claim != after.claim):
            pods = self._nodes_by_claim.get((item.metadata.namespace, item.metadata.name), {})
            self._dirty.update(pods.values())
            self._changed.set()

    def _on_slice(self, before: items.SliceItem | None, after: items.SliceItem | None) -> None:
        for item, now in ((before, None), (after, after)):
            if item is not None:
                self._move(self._slices_by_node, item.node, item.metadata.uid, now)
                self._dirty.add(item.node)
        self._changed.set()

    def _on_maintenance(self, before: items.MaintenanceItem | None, after: items.MaintenanceItem | None) -> None:
        for item, now in ((before, None), (after, after)):
            if item is not None:
                self._move(self._maintenances_by_node, item.node, item.metadata.uid, now)
                self._dirty.add(item.node)
        self._changed.set()

    def _on_probe(self, _before: object, _after: object) -> None:
        self._changed.set()

    def _on_probe_pod(self, before: probes.ProbePodItem | None, after: probes.ProbePodItem | None) -> None:
        for item, now in ((before, None), (after, after)):
            if item is not None:
                self._move(self._pods_by_probe, item.job_uid, item.metadata.uid, now)
        self._changed.set()

    def _on_machine_pool(self, _before: object, _after: object) -> None:
        self._changed.set()

    def _on_warning(self, before: items.WarningItem | None, after: items.WarningItem | None) -> None:
        for item, now in ((before, None), (after, after)):
            if item is not None:
                self._move(self._warnings_by_pod, item.pod, item.symptom.reason, now)
                if item.pod in self._node_by_driver:
                    self._dirty.add(self._node_by_driver[item.pod])
                    self._changed.set()

    @staticmethod
    def _move(index: dict[KeyT, dict[str, PartT]], key: KeyT, part: str, now: PartT | None) -> None:
        """Put one part of an entry where it belongs, or take it away; an entry without parts is not kept."""
        if now is not None:
            index[key][part] = now
        elif key in index:
            index[key].pop(part, None)
            if not index[key]:
                del index[key]

    def _on_revision(self, _before: object, _after: object) -> None:
        self._are_wishes_old = True
        self._changed.set()

    def _on_operator(self, _before: object, _after: object) -> None:
        self._operator = None
        self._are_wishes_old = True
        self._changed.set()

    def _on_rollout(self, _before: object, _after: object) -> None:
        self._faults = None
        self._changed.set()


def _read(rollout: models.Rollout, operator: OperatorFacts, now: Instant) -> tuple[Intent, RolloutRecord]:
    try:
        return rollout_intent.read_intent(rollout, operator, now), rollout_records.read_rollout(rollout)
    except ValueError as err:
        raise RolloutUnreadable(rollout.metadata.name, str(err)) from err


def _waits_for_us(rollout: models.Rollout) -> bool:
    """Whether a rollout was deleted, and goes when we let it."""
    return rollout.metadata.deletion_timestamp is not None and keys.FINALIZER in rollout.metadata.finalizers


def _record_of(rollout: models.Rollout) -> RolloutRecord:
    try:
        return rollout_records.read_rollout(rollout)
    except ValueError as err:
        raise RolloutUnreadable(rollout.metadata.name, str(err)) from err


def _by_name(found: Iterable[ItemT]) -> list[ItemT]:
    """In a fixed order: the same world is to give the same snapshot."""
    return sorted(found, key=lambda item: item.metadata.name)


def _same(item: ItemT) -> ItemT:
    return item


def _explained(name: str, error: errors.ClusterError) -> SeatrialError:
    if name == "gpurollouts" and isinstance(error, errors.NotFound):
        return RolloutUnclear(
            "The cluster does not know the resource GPURollout (gpurollouts.seatrial.dev). "
            "Install it with `seatrial manifests crd | kubectl apply -f -`, then try again."
        )
    return error
