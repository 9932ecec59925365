"""Take up a driver upgrade that somebody left half-done: what becomes of every node, and the writes that do it.

Law of this file: everything is announced before anything is written; records go first and the version last, so that
whatever ends us, another run comes to the same. Tests: tests/app/rollout/test_adopting.py, tests/e2e/test_adopt.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from seatrial.app import picking
from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout import resource as resources
from seatrial.core.base.values import dataclass

if TYPE_CHECKING:
    from seatrial.adapters.kube.adoption import AdoptionObserver, Taken
    from seatrial.adapters.kube.api.client import Client
    from seatrial.app.connecting import Cluster
    from seatrial.core.model.instants import Instant
    from seatrial.core.model.seen.nodes import NodeSeen
    from seatrial.core.model.seen.operators import OperatorFacts
    from seatrial.core.survey.adoption.fleet import Refusal, Rollout
    from seatrial.core.survey.adoption.traces import Adoption, Traces, Wish

SYNC_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptOptions:
    """Which nodes are meant, which way they go, and within which limits."""

    rollout: str = ""
    """A rollout that waits for it: its nodes are meant."""
    to: str | None = None
    back: str | None = None
    """Undo instead: to this driver, or where it is empty to what most nodes ran before; None finishes."""
    selector: tuple[tuple[str, str], ...] = ()
    release: tuple[str, ...] = ()
    """Nodes whose cordon is of the upgrade, whoever set it."""
    publishes: bool = False
    """Whether the version is written into what carries it."""
    name: str | None = None
    max_unavailable: str | None = None
    max_parallel: int | None = None
    max_failed: int | None = None

    @property
    def is_back(self) -> bool:
        return self.back is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionPlan:
    """What is announced: every node, every write."""

    wish: Wish
    adoptions: dict[str, Adoption]
    rollout: str
    """The GPURollout that takes the nodes up."""
    body: dict[str, Any] | None
    """What it is made of; None where it is there already."""
    resources: tuple[str, ...] = ()
    """What the version is written into."""
    unpublished: tuple[str, ...] = ()
    """Nodes whose DaemonSet carries another version."""

    @property
    def has_left(self) -> bool:
        """Whether a node waits for a person."""
        from seatrial.core.survey.adoption.traces import Treatment

        return any(each.fate is Treatment.LEAVE for each in self.adoptions.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is looked at."""

    at: Instant
    nodes: Mapping[str, NodeSeen]
    traces: Mapping[str, Traces]
    operator: OperatorFacts
    rollouts: tuple[picking.Rollout, ...] = ()


def check(asked: AdoptOptions) -> None:
    """Refuse what cannot be meant, before anything is read."""
    from seatrial.core.compat.versions import DriverVersion, VersionInvalid

    for option, said in (("--to", asked.to), ("--back", asked.back)):
        try:
            if said:
                DriverVersion.parse(said)
        except VersionInvalid as err:
            raise CalledWrongly(f"{option}: {err}") from err
    if asked.rollout and asked.selector:
        raise CalledWrongly(f"{asked.rollout} names the nodes, and so does --selector; give one of them.")


@asynccontextmanager
async def looking(cluster: Cluster) -> AsyncIterator[Taker]:
    """Watch a cluster, with every node and its traces read once; it is watched until the plan was carried out."""
    from seatrial.adapters.kube.adoption import AdoptionObserver

    faults: list[str] = []
    async with cluster.client() as client:
        rollouts = await picking.all_of(client)
        observing = AdoptionObserver(client, namespace=cluster.namespace, on_fault=faults.append)
        async with observing as observer:
            await observer.wait_synced(SYNC_SECONDS)
            await observer.read_traces()
            yield Taker(client, observer, rollouts, faults)


class Taker:
    """Plans for the nodes that are watched, and carries the plan out."""

    def __init__(
        self, client: Client, observer: AdoptionObserver, rollouts: tuple[picking.Rollout, ...], faults: list[str]
    ) -> None:
        self._client, self._observer, self._rollouts = client, observer, rollouts
        self.faults = faults
        """What could not be read."""

    def plan(self, asked: AdoptOptions) -> AdoptionPlan | Refusal:
        """What would be done, or why nothing is."""
        nodes = self._observer.all_nodes()
        scene = Scene(
            at=round(self._client.now(), 3),  # to the millisecond, as records keep it
            nodes=nodes,
            traces={name: self._observer.traces_of(name) for name in nodes},
            operator=self._observer.operator(),
            rollouts=self._rollouts,
        )
        return plan_of(asked, scene)

    async def take_up(self, plan: AdoptionPlan) -> Taken:
        """Records first, then the rollout, the version last."""
        from seatrial.adapters.kube import adoption
        from seatrial.core.survey.adoption import node as adopt

        classify = partial(adopt.classify, wish=plan.wish)
        taken = await adoption.take_up(self._client, self._observer, plan.adoptions, classify)
        if plan.body is not None and not taken.changed:
            await adoption.create_rollout(self._client, plan.body)
        if plan.resources and not taken.changed:
            await adoption.publish(self._client, plan.resources, plan.wish.target)
        return taken


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def plan_of(asked: AdoptOptions, scene: Scene) -> AdoptionPlan | Refusal:
    """What would be done, or why nothing is."""
    from seatrial.core.survey.adoption import fleet as adopt_plan
    from seatrial.core.survey.adoption import node as adopt

    selector = _selector(asked, scene.rollouts)
    nodes = _members(scene.nodes, selector)
    _check_released(asked.release, nodes)
    there = [_rollout(each, nodes) for each in scene.rollouts]
    target = adopt_plan.why_not(nodes, scene.operator, there) or _target(asked, nodes, there)
    if not isinstance(target, str):
        return target
    carriers = _carriers(asked, target, nodes, there, scene.operator)
    if isinstance(carriers, adopt_plan.Refusal):
        return carriers
    name, body = _resource(asked, target, selector, there)
    unpublished = adopt_plan.unpublished(nodes, target)
    wish = _wish(asked, scene, target, there, name, is_published=not unpublished)
    return AdoptionPlan(
        wish=wish,
        adoptions={key: adopt.classify(node, scene.traces[key], wish) for key, node in nodes.items()},
        rollout=name,
        body=body,
        resources=carriers,
        unpublished=unpublished,
    )


def _carriers(
    asked: AdoptOptions, target: str, nodes: Mapping[str, NodeSeen], there: list[Rollout], operator: OperatorFacts
) -> tuple[str, ...] | Refusal:
    """What the version is written into, where that is asked for; or why it is not taken up beside what is there."""
    from seatrial.core.survey.adoption import fleet as adopt_plan

    refusal = adopt_plan.why_not_beside(target, nodes, there)
    if refusal is not None:
        return refusal
    return adopt_plan.to_publish(nodes, operator, target) if asked.publishes else ()


def _wish(
    asked: AdoptOptions, scene: Scene, target: str, there: list[Rollout], name: str, *, is_published: bool
) -> Wish:
    from seatrial.core.survey.adoption import traces as values

    return values.Wish(
        target=target,
        now=scene.at,
        is_back=asked.is_back,
        released=frozenset(asked.release),
        alive=frozenset(each.name for each in there if not each.is_ended),
        admitted=_admitted(name, scene.rollouts),
        has_operator=bool(scene.operator.kind),
        is_published=is_published,
    )


def _selector(asked: AdoptOptions, rollouts: Iterable[picking.Rollout]) -> dict[str, str]:
    from seatrial.core.model.owners import GPU_PRESENT

    if asked.rollout:
        return dict(picking.meant(rollouts, asked.rollout).spec.get("nodeSelector") or GPU_PRESENT)
    return dict(asked.selector or GPU_PRESENT)


def _members(nodes: Mapping[str, NodeSeen], selector: Mapping[str, str]) -> dict[str, NodeSeen]:
    from seatrial.core.model.intent import is_member

    return {name: node for name, node in sorted(nodes.items()) if is_member(name, node.facts.labels, selector, ())}


def _check_released(released: Iterable[str], nodes: Mapping[str, NodeSeen]) -> None:
    for name in released:
        if name not in nodes:
            raise CalledWrongly(f"--release {name}: it is not among the chosen nodes.")


def _rollout(found: picking.Rollout, nodes: Mapping[str, NodeSeen]) -> Rollout:
    from seatrial.adapters.kube.shapes import keys
    from seatrial.core.survey.adoption import fleet as adopt_plan

    phase = str(found.campaign.get("pausedIn") or found.campaign.get("phase") or "Proposed")
    return adopt_plan.Rollout(
        name=found.name,
        target=found.target,
        is_campaign=found.is_campaign,
        is_begun=phase != "Proposed",
        is_ended=found.is_ended,
        is_adoption=keys.ADOPTION_LABEL in (found.raw["metadata"].get("labels") or {}),
        members=frozenset(_members(nodes, found.spec.get("nodeSelector") or {})),
    )


def _target(asked: AdoptOptions, nodes: Mapping[str, NodeSeen], there: list[Rollout]) -> str | Refusal:
    """The version that is meant; an adoption that was interrupted has said it before."""
    from seatrial.core.survey.adoption import fleet as adopt_plan

    said = asked.to or asked.back or adopt_plan.begun_target(there)
    if said:
        return str(said)
    return adopt_plan.former_target(nodes) if asked.is_back else adopt_plan.carried_target(nodes)


def _resource(
    asked: AdoptOptions, target: str, selector: dict[str, str], there: list[Rollout]
) -> tuple[str, dict[str, Any] | None]:
    """The rollout that takes the nodes up, and what it is made of unless it is there already."""
    from seatrial.adapters.kube.shapes import keys

    going = [each.name for each in there if each.is_going and each.members]
    if going:
        return going[0], None  # of the same nodes to the same version, or we were refused
    name = asked.name or _free_name(f"adopt-{target}", {each.name for each in there})
    options = {
        "maxUnavailable": asked.max_unavailable,
        "maxParallelUpgrades": asked.max_parallel,
        "maxFailed": asked.max_failed,
    }
    limits = {key: value for key, value in options.items() if value is not None}
    spec: dict[str, Any] = {"target": {"driver": target}, "nodeSelector": selector}
    body = resources.resource_of(name, spec | ({"limits": limits} if limits else {}))
    way = "back" if asked.is_back else "to"
    return name, body | {"metadata": {**body["metadata"], "labels": {keys.ADOPTION_LABEL: way}}}


def _free_name(plain: str, taken: set[str]) -> str:
    name, number = plain, 1
    while name in taken:
        number += 1
        name = f"{plain}-{number}"
    return name


def _admitted(name: str, rollouts: tuple[picking.Rollout, ...]) -> dict[str, int]:
    found = next((each for each in rollouts if each.name == name), None)
    entries = found.status.get("admitted") or () if found is not None else ()
    return {str(each["node"]): int(each["attempt"]) for each in entries}
