"""The live Observer: watched streams joined into one Snapshot.

    table.py ─▶ streams ─┬─▶ Fleet: every node, built anew where something changed ─┐
                         ├─▶ Rollouts: intent and ledger of the one worked on ──────┼─▶ Sight
                         └─▶ measurements, pools, rights (while there is a campaign)┘

Tests: tests/adapters/kube/test_observe.py and tests/e2e/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import pools, releases, table
from seatrial.adapters.kube.reading.fleet import FleetObserver, Work, governed_of
from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.reading.rollout_items import RolloutUnclear
from seatrial.adapters.kube.reading.rollouts import Rollouts
from seatrial.adapters.kube.shapes import keys, models
from seatrial.adapters.kube.streams.index import ItemT
from seatrial.adapters.kube.streams.streams import AnyStream
from seatrial.bugs import TellBug
from seatrial.core.model.campaign import SourceFacts
from seatrial.core.model.deployers import Follower
from seatrial.core.model.gates.exposed import TelemetryFacts
from seatrial.core.model.gates.gate import Measurement
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.releases import CHARTS
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.seen.workloads import Suspended
from seatrial.ports import Sight

if TYPE_CHECKING:
    from seatrial.adapters.kube.reading import access

__all__ = ["KubeObserver", "RolloutUnclear"]


class KubeObserver(FleetObserver):
    """Sees a cluster as a rollout needs it; use `async with`."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        rollout: str = "",
        on_fault: Callable[[str], None],
        home: str = keys.HOME,
        dra_namespaces: tuple[str, ...] = (),
        source: Callable[[], SourceFacts | None] = lambda: None,
        telemetry: Callable[[], TelemetryFacts | None] = lambda: None,
        measured: Callable[[str], Iterable[Measurement]] = lambda _uid: (),
        rights: access.Access | None = None,
        on_back: Callable[[str, str], None] = lambda _stream, _version: None,
        is_uninstalling: bool = False,
        suite_image: str = "",
        report_url: str = "",
        has_kueue: bool = False,
        on_bug: TellBug = lambda _bug: None,
    ) -> None:
        """`on_back` gets the stream that went back in time, and the version it went to: a restored etcd.
        `dra_namespaces` are where DRA plugins run, beside the operator's; none for where their charts put them.

        `measured` has what was measured for a rollout by anybody but a Job.
        `suite_image` runs the gates that come with seatrial where a rollout says no word about gates.

        `report_url` is the pattern of the address under which people find the report of a rollout.

        With `is_uninstalling` every rollout is left: seatrial itself goes. With `has_kueue` Workloads are watched.

        `rights` asks whether a campaign may do what it will need; who only looks does not ask about himself."""
        super().__init__(
            client,
            (*table.ROLLOUT, table.WORKLOADS) if has_kueue else table.ROLLOUT,
            namespace=namespace,
            on_fault=on_fault,
            home=home,
            dra_namespaces=dra_namespaces,
            on_back=on_back,
            on_bug=on_bug,
        )
        self._now = client.now
        self._rollouts = Rollouts(
            self.streams,
            operator=self._fleet.operator,
            name=rollout,
            suite_image=suite_image,
            report_url=report_url,
            now=client.now,
            on_fault=on_fault,
        )
        self._on_fault = on_fault
        self._source = source
        self._telemetry = telemetry
        self._measured = measured
        self._rights = rights
        self._is_uninstalling = is_uninstalling
        self._has_campaign = False
        self._has_kueue = has_kueue
        self._work = Work(self.streams)

    async def wait_synced(self, timeout_seconds: float) -> None:
        """Return when all that decisions rest on was listed once; raise the first thing that keeps it from being."""
        await self.streams.wait_synced(timeout_seconds, self._missing)

    def _missing(self) -> Sequence[AnyStream]:
        """What has to be listed still. What only a campaign needs comes last, once it is seen that there is one."""
        missing = self.streams.missing()
        if not missing and (opened := self._open_wished()):
            return opened
        if not missing and not self._has_campaign:
            with suppress(RolloutUnclear):  # the first look tells of it
                rollout = self._rollouts.find()
                if rollout is not None and self._rollouts.read(rollout, self._now())[0].campaign is not None:
                    self._open_campaign()
                    return [self.streams[row] for row in table.CAMPAIGN if row.is_decisive]
        # A right that only one rollout lacks holds that one, and does not keep the controller from starting.
        optional = (*table.CAMPAIGN, *table.SWITCHED)
        return [each for each in missing if each.row not in optional or each.state.last_error is None]

    def _open_wished(self) -> Sequence[AnyStream]:
        """Begin to watch what a rollout names: operands that others bring, and what is switched; the new streams."""
        rollout = self._rollouts.current()
        if rollout is None:
            return []
        brought = (table.BROUGHT[each] for each in table.BROUGHT if each in governed_of(rollout))
        wished = (*chain.from_iterable(brought), *table.switched_by(rollout.spec))
        opened = {stream.row for stream in self.streams.opened}
        self.streams.open(wished)
        return [self.streams[row] for row in wished if row not in opened]

    def _open_campaign(self) -> None:
        """Begin to watch what only a campaign needs."""
        if self._has_campaign:
            return
        self._has_campaign = True
        self.streams.open(table.CAMPAIGN)
        if self._rights is not None:
            self.streams.start(self._rights.run(self.streams.poke), "rights")

    # ── the port ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def observe(self) -> Sight | None:
        self.streams.look()
        try:
            rollout = self._rollouts.find()
            if rollout is None:
                return None
            self._open_wished()
            now = self._now()
            intent, record = self._rollouts.read(rollout, now)
            seen = Snapshot(
                nodes=self._fleet.members_of(rollout),
                rollout=record,
                operator=self.operator(),
                unreadable=tuple(each for each in self._rollouts.unreadable().items() if each[0] != record.name),
                unreadable_objects=self.streams.unreadable(),
                set_aside=self._rollouts.aside(),
                is_guarded=keys.FINALIZER in rollout.metadata.finalizers,
                is_deleting=rollout.metadata.deletion_timestamp is not None,
                is_uninstalling=self._is_uninstalling,
                kueue_trouble=self._kueue_trouble() if intent.checkpoint.kueue else "",
            )
            if intent.policy.limits.idle_gpus_max is not None:
                self.streams.open((*table.WORK, *(table.ATTRITION if intent.attrition is not None else ())))
                seen = replace(seen, work=self._work.seen())
            if intent.campaign is not None:
                self._open_campaign()
                seen = self._with_campaign(seen, intent, rollout.metadata.uid)
        except RolloutUnclear as err:
            self._on_fault(str(err))
            return None
        others = {*table.SWITCHED} - {*table.switched_by(rollout.spec)}  # what this one does not name holds others only
        fresh = tuple(stream.freshness(now) for stream in self.streams.decisive if stream.row not in others)
        return Sight(seen=replace(seen, freshness=fresh), intent=intent, era=self.streams.era)

    def _with_campaign(self, seen: Snapshot, intent: Intent, uid: str) -> Snapshot:
        """The snapshot with what only a campaign looks at."""
        for row in (each for each in (*table.CAMPAIGN, table.MACHINE_POOLS) if each.is_decisive):
            error = self.streams[row].state.last_error
            if isinstance(error, errors.Forbidden):
                self._on_fault(str(error))
        if any(component in CHARTS for component in intent.target.components):
            self.streams.open(table.OLM)
        operator = releases.with_releases(seen.operator, lambda row: self.streams[row].store, self.streams.where)
        seen = replace(seen, operator=operator)
        if self._rights is not None:
            self._rights.want_for(intent, seen)
        name = seen.rollout.name
        machine_pools = _by_name(self.streams[table.MACHINE_POOLS].store)
        return replace(
            seen,
            source=self._source(),
            followers=self._followers(),
            measurements=(*self._measure(uid), *self._measured(uid)),
            telemetry=self._telemetry(),
            others=self._rollouts.others(name),
            denied=self._denied(),
            machine_pools=tuple(pools.facts_of(item, name) for item in machine_pools),
            predecessor=self._rollouts.phase_of(intent.campaign.after if intent.campaign is not None else ""),
        )

    def suspended(self) -> tuple[Suspended, ...]:
        """The Workloads of Kueue that we switched off, in a fixed order."""
        found = (item.suspended for item in self.streams[table.WORKLOADS].store if item.suspended is not None)
        return tuple(sorted(found, key=lambda each: each.full_name))

    def _kueue_trouble(self) -> str:
        """Why Workloads cannot be seen; empty where they are."""
        stream = self.streams[table.WORKLOADS]
        if not self._has_kueue:
            return "the controller was not told to watch them"
        error = stream.state.last_error
        if isinstance(error, errors.NotFound):
            return "the cluster does not know the kind workloads.kueue.x-k8s.io"
        return str(error) if error is not None else ""

    def _denied(self) -> tuple[str, ...] | None:
        """What we may not do; None while that is being asked. Who only looks does not ask."""
        if self._rights is None:
            return ()
        return self._rights.denied if self._rights.is_known else None

    def _followers(self) -> tuple[Follower, ...]:
        """What brings repositories into the cluster, in a fixed order."""
        stores = [self.streams[table.APPLICATIONS].store, *(self.streams[row].store for row in table.TOOLKIT)]
        found = (item.facts for store in stores for item in store)
        return tuple(sorted(found, key=lambda each: (each.kind, each.namespace, each.name)))

    def _measure(self, uid: str) -> Iterable[Measurement]:
        """What the probes of one rollout have measured."""
        for item in _by_name(self.streams[table.PROBES].store):
            if item.rollout_uid == uid:
                pods = self.streams.under(table.PROBE_PODS, table.PROBE_PODS_BY_JOB, item.metadata.uid)
                refusals = self.streams.under(table.REFUSALS, table.REFUSALS_BY_JOB, item.metadata.uid)
                found = probes.measurement_of(item, pods, refusals)
                if found is not None:
                    yield found

    def set_aside(self, why: str) -> str:
        """Leave the rollout at work alone for a while, after a bug of ours; its name, empty where there is none."""
        return self._rollouts.set_aside(why)

    @property
    def at_work(self) -> str:
        """The name of the rollout that was looked at last; empty where there is none."""
        return self._rollouts.at_work

    # ── for those beside the loop ────────────────────────────────────────────────────────────────────────────────────

    def current_rollout(self) -> models.Rollout | None:
        """The rollout we work on, for those who go on without one where it is unclear; `observe` tells why."""
        return self._rollouts.current()

    def stored_rollout(self, name: str) -> models.Rollout | None:
        """The rollout of this name as it was last seen; None also where it cannot be read."""
        return self._rollouts.stored(name)

    def stored_record(self, node: str) -> str:
        """The annotation of a node as it was last seen."""
        item = self.streams.get(table.NODES, ("", node))
        return item.record if item is not None else ""

    def wrote_rollout(self, rollout: models.Rollout) -> None:
        """A write of ours returned this rollout."""
        self._rollouts.wrote(rollout)


def _by_name(found: Iterable[ItemT]) -> list[ItemT]:
    """In a fixed order: the same world is to give the same snapshot."""
    return sorted(found, key=lambda item: item.metadata.name)
