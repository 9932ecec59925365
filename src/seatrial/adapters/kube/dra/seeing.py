"""What is seen of DRA plugins: nodes, drivers, plugins and their DaemonSets, in the namespaces that were named.

    nodes, revisions, DaemonSets and pods of the operator's namespace   needed
    pods and DaemonSets of the plugins' namespaces                      needed where somebody named them, else told of
    ResourceSlices, pods elsewhere and their claims                     told of where they cannot be read

Law of this file: a list that failed is never an empty one: what was not seen is said, and a plugin is found by its
labels and never by its name.
Tests: tests/adapters/kube/test_dra_seeing.py, tests/adapters/kube/test_dra_real.py, tests/app/test_rerolling.py
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, Final, Self

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, api_path
from seatrial.adapters.kube.reading import items, pod_items, project, table
from seatrial.adapters.kube.shapes import keys, kinds, models, records
from seatrial.adapters.kube.streams.index import ItemT
from seatrial.adapters.kube.streams.row import Need, Row, Where
from seatrial.adapters.kube.streams.streams import AnyStream, Streams
from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.consumers import Claim
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.pods import DraPlugin, Pod
from seatrial.core.movers.dra.values import DraSeen, DriverSet, PluginSet, Reroll, Sighted

CHART_LABEL: Final = "helm.sh/chart"


class _Template(models.Model, frozen=True):
    metadata: models.ObjectMeta = models.ObjectMeta()
    spec: kinds.PodSpec = kinds.PodSpec()


class _Spec(models.Model, frozen=True):
    template: _Template = _Template()


class _Status(models.Model, frozen=True):
    observed_generation: int = 0


class DaemonSet(models.Model, frozen=True):
    """What is read of a DaemonSet."""

    metadata: models.ObjectMeta = models.ObjectMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetItem:
    """A DaemonSet that brings drivers, or plugins."""

    metadata: items.Meta
    facts: DriverSet | PluginSet


def set_item(found: DaemonSet) -> SetItem | None:
    """Keep what is needed of a DaemonSet; None when it brings neither."""
    meta, template = found.metadata, found.spec.template
    facts: DriverSet | PluginSet
    if items.driver_image_of(template.spec.containers):
        facts = DriverSet(
            name=meta.name,
            is_seen=found.status.observed_generation >= meta.generation,
            version=items.driver_version_of(template.spec.containers),
            chart=template.metadata.labels.get(CHART_LABEL, meta.labels.get(CHART_LABEL, "")),
        )
    elif items.is_labelled_dra(template.metadata.labels):
        facts = PluginSet(namespace=meta.namespace, name=meta.name)
    else:
        return None
    return SetItem(metadata=items.meta_of(meta), facts=facts)


def _plugin_item(pod: kinds.Pod, namespace: str) -> items.PodItem | None:
    found = pod_items.pod_item(pod, operator_namespace="", dra_namespaces=(namespace,))
    return found if found is not None and isinstance(found.facts, DraPlugin) else None


def _pods_in(namespace: str, need: Need) -> Row[kinds.Pod, items.PodItem]:
    return Row(
        name=f"pods in {namespace}",
        path=lambda _: keys.pods_path(namespace),
        model=kinds.Pod,
        slim=lambda _: partial(_plugin_item, namespace=namespace),
        need=need,
        node=lambda pod: pod.node,
    )


def _sets_in(namespace: str, need: Need) -> Row[DaemonSet, SetItem]:
    path = api_path("apps/v1", "daemonsets", namespace=namespace)
    return Row(
        name=f"daemonsets in {namespace}", path=lambda _: path, model=DaemonSet, slim=lambda _: set_item, need=need
    )


class PluginObserver:
    """Sees what restarting plugins rests on; use `async with`."""

    def __init__(self, client: Client, *, namespace: str, namespaces: Sequence[str] = ()) -> None:
        """`namespaces` are where the plugins run; none for those that charts and people use."""
        self._client = client
        self.namespaces = tuple(dict.fromkeys((*(namespaces or keys.DRA_NAMESPACES), namespace)))
        need = Need.REQUIRED if namespaces else Need.EXPLAINS
        elsewhere = [name for name in self.namespaces if name != namespace]
        operators = replace(table.PODS, name=f"pods in {namespace}", path=lambda where: keys.pods_path(where.namespace))
        self._plugin_rows = (operators, *(_pods_in(name, need) for name in elsewhere))
        self._set_rows = (_sets_in(namespace, Need.REQUIRED), *(_sets_in(name, need) for name in elsewhere))
        self._users = replace(table.PODS, need=Need.EXPLAINS)
        self._claims = replace(table.CLAIMS, need=Need.EXPLAINS, reach=None)
        self._slices = replace(table.SLICES, need=Need.EXPLAINS)
        rows: list[Row[Any, Any]] = [table.NODES, *self._plugin_rows, *self._set_rows, table.REVISIONS]
        rows += [self._slices, self._users, self._claims]
        self.streams = Streams(client, rows, Where(namespace=namespace, home=keys.HOME, dra=self.namespaces))

    async def __aenter__(self) -> Self:
        await self.streams.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.streams.__aexit__()

    async def wait_synced(self, timeout_seconds: float) -> None:
        """Return when everything was listed once or refused; raise what keeps something needed from being listed."""
        await self.streams.wait_synced(timeout_seconds, self._missing)

    def _missing(self) -> Sequence[AnyStream]:
        lacking = (stream for stream in self.streams.opened if not stream.is_current)
        return [stream for stream in lacking if stream.row.is_decisive or stream.fault is None]

    async def wait(self, until: Instant | None) -> None:
        """Return when something changed, or the time has come."""
        await self.streams.wait(until)

    # ── what there is ────────────────────────────────────────────────────────────────────────────────────────────────

    def look(self) -> DraSeen:
        """Everything as it is now."""
        self.streams.look()
        revisions = self.streams[table.REVISIONS].store
        around = project.Around(
            wanted=project.newest_by_owner(revisions), seekers=project.seekers_of(revisions), claim=self._claim
        )
        sets = {item.metadata.uid: item.facts for row in self._set_rows for item in self.streams[row].store}
        drivers = {uid: each for uid, each in sets.items() if isinstance(each, DriverSet)}
        found = (self._sighted(item, around, drivers) for item in self.streams[table.NODES].store)
        return DraSeen(
            nodes={each.name: each for each in found},
            driver_sets=tuple(sorted(drivers.values(), key=lambda each: each.name)),
            plugin_sets=tuple(
                sorted(
                    (each for each in sets.values() if isinstance(each, PluginSet)),
                    key=lambda each: (each.namespace, each.name),
                )
            ),
        )

    def _sighted(self, item: items.NodeItem, around: project.Around, sets: dict[str, DriverSet]) -> Sighted:
        name = item.metadata.name
        operands = [
            pod
            for row in self._plugin_rows
            for pod in self.streams[row].on_node(name)
            if not isinstance(pod.facts, Pod)
        ]
        users = [pod for pod in self.streams[self._users].on_node(name) if isinstance(pod.facts, Pod)]
        facts = project.node_facts(item, (*operands, *users), replace(around, of=_Of(self, name)))
        uid = facts.driver.uid if facts.driver is not None else ""
        owner = next((pod.owner_uid for pod in operands if pod.metadata.uid == uid), "")
        node = records.read_node(facts, item.labels.get(keys.STATE_LABEL, ""), item.record)
        return Sighted(node=node, driver_set=sets.get(owner))

    def _claim(self, namespace: str, name: str) -> Claim | None:
        item = self.streams.get(self._claims, (namespace, name))
        return item.claim if item is not None else None

    def slices_of(self, node: str) -> Collection[items.SliceItem]:
        """What is published about a node."""
        return self.streams[self._slices].on_node(node)

    # ── how sure we are ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_sure(self) -> bool:
        """Whether what is needed, or was seen once, is as it was told: no watch is cut at the moment."""
        now = time.time()
        each_of = (stream for stream in self.streams.opened if stream.row.is_decisive or len(stream.store))
        return all(stream.freshness(now).is_synced for stream in each_of)

    @property
    def is_blind(self) -> bool:
        """Whether plugins may run where we cannot look."""
        return any(not self.streams[row].is_current for row in self._plugin_rows)

    def unseen(self) -> tuple[str, ...]:
        """What cannot be read, and why."""
        blind = (stream for stream in self.streams.opened if not stream.is_current and stream.fault is not None)
        return tuple(f"{stream.row.name}: {stream.fault}" for stream in blind)

    # ── the one write ────────────────────────────────────────────────────────────────────────────────────────────────

    async def delete(self, act: Reroll) -> str:
        """Delete one plugin pod, exactly as it was seen; why not, where that may be otherwise at the next look."""
        stores = (self.streams[row].store for row in self._plugin_rows)
        found = next((item for store in stores if (item := store.get((act.namespace, act.pod))) is not None), None)
        if found is None or found.metadata.uid != act.uid:
            return "it is another one by now"
        path = api_path("v1", "pods", namespace=act.namespace, name=act.pod)
        try:
            await self._client.delete(path, uid=act.uid, resource_version=found.metadata.resource_version)
        except errors.NotFound:
            return "it is gone already"
        except errors.Forbidden:
            raise  # it would be forbidden for ever
        except errors.ClusterError as err:
            return err.message or str(err)
        return ""


class _Of:
    """What is published about one node; nothing else is asked for here."""

    def __init__(self, observer: PluginObserver, node: str) -> None:
        self._observer, self._node = observer, node

    def __call__(self, row: Row[Any, ItemT], /) -> Collection[ItemT]:
        found: Iterable[Any] = self._observer.slices_of(self._node) if row is table.SLICES else ()
        return tuple(found)
