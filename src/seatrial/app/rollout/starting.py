"""Start a rollout: judge what it upgrades to, say what will happen, create it.

Law of this file: nothing is created that the API server has not judged, and looking around writes nothing at all.
Tests: tests/app/rollout/test_starting.py, tests/cli/test_rollout_live.py
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from seatrial.app import picking, texts
from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout import asking, committing, fields, targeting
from seatrial.app.rollout import resource as resources
from seatrial.app.rollout.outset import Outset
from seatrial.app.texts import FileUnusable
from seatrial.core.text import spans
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.adapters.kube.reading.leader import Leader
    from seatrial.adapters.kube.shapes import models
    from seatrial.adapters.kube.streams.row import Where
    from seatrial.app.connecting import Cluster
    from seatrial.app.picking import Rollout
    from seatrial.app.rollout.options import StartOptions
    from seatrial.app.rollout.targeting import RolloutTarget
    from seatrial.core.compat.matrix import Component
    from seatrial.core.model.campaign import Campaign, CampaignRecord
    from seatrial.core.model.instants import Instant
    from seatrial.core.model.intent import Intent
    from seatrial.core.model.seen.nodes import NodeSeen
    from seatrial.core.model.seen.operators import MachinePool, OperatorFacts
    from seatrial.core.model.seen.rollouts import Told

SYNC_SECONDS: Final = 60.0


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def read_rollout(path: str) -> dict[str, Any]:
    """The GPURollout in a file."""
    found = texts.read_yaml(path)
    is_ours = isinstance(found, dict) and found.get("kind") == resources.KIND
    if not is_ours or not isinstance(found.get("spec"), dict) or found.get("apiVersion") != resources.API_VERSION:
        raise FileUnusable(
            f"{path} is not a {resources.KIND} of {resources.API_VERSION} with a spec. "
            "`seatrial manifests crd` says what one looks like."
        )
    return dict(found)


def target_of(asked: StartOptions, given: dict[str, Any] | None, on: date) -> RolloutTarget:
    """What is upgraded to, judged; `given` is the GPURollout of a file."""
    name = _said_name(asked, given) or "seatrial"
    return targeting.read(asked.goal, given["spec"] if given else None, name, on, asked.facts)


def _said_name(asked: StartOptions, given: dict[str, Any] | None) -> str:
    return asked.name or ((given or {}).get("metadata") or {}).get("name") or ""


def _spec(asked: StartOptions, given: dict[str, Any] | None, target: RolloutTarget) -> dict[str, Any]:
    if given is None:
        return resources.spec_of(
            asked,
            target.driver,
            beside=target.beside,
            matrix=target.matrix,
            gates=gates_of(asked),
            canary_node=target.canary_node,
        )
    spec: dict[str, Any] = {**given["spec"], "target": {"driver": target.driver, **dict(target.beside)}}
    if target.matrix is not None:
        spec["matrix"] = target.matrix
    if asked.paused:
        spec["paused"] = True
    spec.setdefault("canary", {})
    return spec


def gates_of(asked: StartOptions) -> list[dict[str, Any]] | None:
    """The gates of the file that was named; None where none was."""
    return read_gates(asked.care.gates_file) if asked.care.gates_file else None


def read_gates(path: str) -> list[dict[str, Any]]:
    """The gates in a file."""
    found = texts.read_yaml(path)
    found = found.get("gates") if isinstance(found, dict) else found
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found) or not found:
        raise FileUnusable(f"{path} has no list of gates; each has a name, and an image or whoever else answers it.")
    return found


# ── what is there ────────────────────────────────────────────────────────────────────────────────────────────────────


async def propose(
    cluster: Cluster, asked: StartOptions, given: dict[str, Any] | None, target: RolloutTarget, on: date
) -> Outset:
    """Name the rollout, and look at what it would begin with."""
    taken = await picking.listed(cluster)
    name = _said_name(asked, given) or resources.name_of(target.driver, on, frozenset(each.name for each in taken))
    spec = _spec(asked, given, target)
    with tempfile.TemporaryDirectory(prefix="seatrial-") as clone:
        folder = Path(clone)
        file = await asyncio.to_thread(committing.published_file, spec, name, folder)
        outset = replace(await look_around(cluster, resources.resource_of(name, spec), taken), file=file)
        return replace(outset, checks=await asking.checks_of(cluster, outset, folder))


async def look_around(cluster: Cluster, resource: dict[str, Any], taken: tuple[Rollout, ...]) -> Outset:
    """Have the API server judge the resource without keeping it, and look at what it would be about."""
    import msgspec

    from seatrial.adapters.kube.reading import table
    from seatrial.adapters.kube.reading.fleet import FleetObserver, governed_of
    from seatrial.adapters.kube.reading.leader import leader_of
    from seatrial.adapters.kube.shapes import models

    faults: list[str] = []
    async with cluster.client() as client:
        made = await fields.made_of(client, resource)
        rollout = msgspec.convert(made, models.Rollout)
        leader = await leader_of(client, cluster.lease_namespace)
        # Whether operands roll by themselves matters to who moves some, and only they need the right to see it.
        rows = (*table.FLEET, table.DAEMON_SETS) if len(rollout.spec.target) > 1 else table.FLEET
        brought = (row for each in governed_of(rollout) for row in table.BROUGHT.get(each, ()))
        kept_by_others = (table.MAINTENANCES,) if rollout.spec.maintenance is not None else ()
        rows = (*rows, *brought, *kept_by_others)
        dra = leader.dra_namespaces if leader is not None else ()
        observing = FleetObserver(client, rows, namespace=cluster.namespace, dra_namespaces=dra, on_fault=faults.append)
        async with observing as observer:
            await observer.wait_synced(SYNC_SECONDS)
            operator = await _with_releases(client, rollout, observer.operator(), observer.streams.where, faults)
            pools = await _pools(client, rollout, faults)
            members = dict(observer.members_of(rollout))
    now = time.time()
    return Outset(
        at=now,
        resource=resource,
        made=made,
        intent=_intent(rollout, operator, now, leader.suite_image if leader is not None else ""),
        members=members,
        operator=operator,
        others=tuple(each.name for each in taken if each.is_campaign and not each.is_ended),
        machine_pools=pools,
        faults=tuple(faults),
        unled=_unled(rollout.metadata.name, leader, client.now()),
    )


async def unled(cluster: Cluster, rollout: str) -> Told | None:
    """That no controller is in charge, so what is asked of a rollout waits; None where that cannot be seen."""
    from seatrial.adapters.kube.reading.leader import leader_of

    async with cluster.client() as client:
        return _unled(rollout, await leader_of(client, cluster.lease_namespace), client.now())


def _unled(rollout: str, leader: Leader | None, now: Instant) -> Told | None:
    from seatrial.core.decision import leading

    if leader is None or leader.is_leading(now) or leader.is_doubtful(now):
        return None
    return leading.told(rollout, leader.holder, leader.heard_at)


async def _pools(client: Client, rollout: models.Rollout, faults: list[str]) -> tuple[MachinePool, ...]:
    """The MachineConfigPools as the rollout would see them; none where it has to do with none."""
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.reading import pools
    from seatrial.adapters.kube.shapes import keys
    from seatrial.adapters.kube.shapes.campaign_models import MachineConfigPool

    canary = rollout.spec.canary
    if canary is None or not (canary.machine_config_pool or canary.pause_pools):
        return ()
    try:
        found = await client.list(keys.MACHINE_POOLS, MachineConfigPool)
    except (errors.NotFound, errors.Forbidden) as err:
        faults.append(str(err))
        return ()
    return tuple(pools.facts_of(pools.pool_item(each), rollout.metadata.name) for each in found.items)


async def _with_releases(
    client: Client, rollout: models.Rollout, operator: OperatorFacts, where: Where, faults: list[str]
) -> OperatorFacts:
    """The operator with the releases that run, and what holds them, where the rollout is about one."""
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.reading import releases
    from seatrial.core.model.seen.releases import CHARTS

    if not any(component.value in rollout.spec.target for component in CHARTS):
        return operator
    found: dict[str, list[Any]] = {}
    for row in releases.ROWS:
        found[row.name] = []
        try:
            listed = client.each(row.path(where), row.model, label_selector=row.label_selector)
            slim = row.slim(where)
            found[row.name] = [kept async for each in listed if (kept := slim(each)) is not None]
        except errors.NotFound:
            continue  # an engine that is not there holds nothing
        except errors.Forbidden as err:
            faults.append(str(err))
    return releases.with_releases(operator, lambda row: found[row.name], where)


def _intent(rollout: models.Rollout, operator: OperatorFacts, now: Instant, suite_image: str) -> Intent:
    from seatrial.adapters.kube.reading.rollout_intent import read_intent

    try:
        return read_intent(rollout, operator, now, suite_image=suite_image)
    except ValueError as err:
        raise CalledWrongly(str(err)) from err


async def create(cluster: Cluster, outset: Outset) -> dict[str, Any]:
    """The rollout as it stands there now."""
    from seatrial.adapters.kube.shapes import keys

    async with cluster.client() as client:
        found: dict[str, Any] = await client.create(keys.ROLLOUTS, outset.resource, dict)
        return found


# ── what will happen ─────────────────────────────────────────────────────────────────────────────────────────────────


def preview(outset: Outset, target: RolloutTarget) -> Iterator[tuple[str, str]]:
    """What a rollout would do, in the order in which it would: about what, and what."""
    intent, members = outset.intent, outset.members
    campaign = intent.campaign
    running = Counter(node.facts.driver_standing for node in members.values() if node.facts.driver is not None)
    now = ", ".join(f"{version} on {count}" for version, count in running.most_common()) or "no driver pod"
    step = campaign.by_hand if campaign is not None else None
    runs = f"drivers now {now}" if step is not None else f"now {now}"
    yield "Rollout", f"{intent.rollout}: {intent.goal}, {runs} of {number_of(len(members), 'node')}"
    yield "Source", target.where
    yield from _moves(outset)
    if campaign is not None:
        yield from _course(outset, campaign)
        yield from _attrition(outset.intent)
        yield from _ways(outset, campaign)
    for other in outset.others if campaign is not None else ():
        yield "Waits", f"{other} has not ended: this one will be held until it has"


def _attrition(intent: Intent) -> Iterator[tuple[str, str]]:
    """By attrition: what happens to who is at work."""
    way = intent.attrition
    if way is None:
        return
    early = ", or before that where waiting costs more" if way.evicts_early else ""
    deadline, idle = spans.span(way.deadline_seconds), intent.limits.idle_gpus_max
    text = (
        f"in the waves nodes are closed while their jobs run, and upgraded when these end; at most {idle} of the GPUs "
        f"stand idle for it. Who still runs when {deadline} of waves are nearly over is evicted{early}"
    )
    yield "Attrition", text


def _moves(outset: Outset) -> Iterator[tuple[str, str]]:
    """What moves with the driver, or around it, and what each takes from the users of a node."""
    from seatrial.core.model.seen.operands import COMPONENTS
    from seatrial.core.model.seen.releases import CHARTS, ON_NODES
    from seatrial.core.node.progress import carriers_for
    from seatrial.core.node.visiting import VISITS

    target = outset.intent.target
    carried = {name: text for each in carriers_for(outset.operator, target.published) for name, text in each.parts}
    there = {each.operand for node in outset.members.values() for each in node.facts.operands}
    for component in target.components:
        if component in CHARTS:
            yield from _release_moves(component, target.version_of(component), carried.get(component.value, ""))
        if component in CHARTS and component not in ON_NODES:
            continue
        operands = [operand for operand, part in COMPONENTS.items() if part is component]
        for operand in [each for each in operands if each in there] or operands[:1]:
            visit, now = VISITS[operand], carried.get(component.value, "")
            what = f"{component.value} {target.version_of(component)}" if operand is operands[0] else operand.value
            was = f" (now {now})" if now and operand is operands[0] else ""
            leave = (
                ". GPU pods leave before that" if visit.restarts_runtime and outset.intent.evicts_for_runtime else ""
            )
            yield "Moves", f"{what}{was}: {visit.action[0].lower()}{visit.action[1:]}. {visit.impact}{leave}"


def _release_moves(component: Component, version: str, now: str) -> Iterator[tuple[str, str]]:
    """What a release of an operator moves at once, and what waits for a visit."""
    from seatrial.core.node.impact_words import RELEASES

    was = f" (now {now})" if now else ""
    at_once, visited = RELEASES[component]
    yield "Moves", f"{component.value} {version}{was}: {at_once}. {visited}"


def begun_with(campaign: Campaign, members: Mapping[str, NodeSeen]) -> CampaignRecord:
    """Whom it would begin with, and which gates of the suite they could show, by what the nodes show now."""
    from seatrial.core.campaign import canary
    from seatrial.core.model.campaign import CampaignRecord
    from seatrial.core.model.gates import default_suite

    chosen = canary.choose(members, campaign.canary)
    facts = (members[name].facts for name in chosen)
    return CampaignRecord(canaries=chosen, suite=default_suite.chosen(campaign.suite_image or "", facts))


def _course(outset: Outset, campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Who goes first, what has to be shown, and who follows."""
    from seatrial.core.campaign import canary, waves
    from seatrial.core.model.gates import default_suite

    members = outset.members
    chosen = canary.choose(members, campaign.canary)
    how = "named" if campaign.canary.nodes else "chosen by their load" if len(chosen) > 1 else "chosen by its load"
    yield "Canary", f"{', '.join(chosen)} ({how})" if chosen else "none that will do; it will wait and say why"
    begun = begun_with(campaign, members)
    asked = default_suite.with_suite(campaign, begun).gates
    yield "Gates", ", ".join(["readiness", *(f"{gate.name} ({gate.means})" for gate in asked)])
    for each in begun.suite.left_out if begun.suite is not None else ():
        yield "", f"without {each.gate} on {each.node}: {each.why}"
    every = spans.span(campaign.bake.every_seconds)
    load = f", at work for {campaign.bake.load_min:.0%} of it" if campaign.bake.load_min else ""
    bake = campaign.bake
    proof = (
        f", until a loss of {100 * bake.exclude:g}% is ruled out at {100 * bake.confidence:g}%" if bake.exclude else ""
    )
    yield "Bake", f"{spans.span(bake.seconds)} with evidence{load}{proof}, gates asked every {every}"
    bounds = waves.bounds(campaign.waves, len(members) - len(chosen))
    sizes = [str(bound - before) for before, bound in zip((0, *bounds), bounds, strict=False)]
    yield "Waves", f"{', '.join(sizes) or 'none'} nodes"


def _ways(outset: Outset, campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Who publishes, who moves the nodes, and whom it waits for."""
    from seatrial.core.model import deployers
    from seatrial.core.model.campaign import Via
    from seatrial.core.movers.mover import mode_of, mover_of
    from seatrial.core.node.progress import carriers_for

    step = campaign.by_hand
    found = carriers_for(outset.operator, outset.intent.target.published)
    carriers = ", ".join(carrier.name for carrier in found) or "no resource that sets the version"
    how_published = {
        Via.DIRECT: f"by writing {carriers}",
        Via.GIT: f"by commits, which {deployers.ENGINE} brings into the cluster",
        Via.NOBODY: "by somebody else; the rollout waits for it",
    }
    by_olm = [each for each in outset.operator.subscriptions if each.component in outset.intent.target.components]
    olm = (
        f"; {by_olm[0].resource} brings the release, once its InstallPlan is approved, and no way back"
        if by_olm
        else ""
    )
    strategy = "; DaemonSets are set to OnDelete with it" if campaign.sets_on_delete else ""
    yield "Publish", "nothing" if step is not None else f"{how_published[campaign.publish]}{olm}{strategy}"
    mode = mode_of(None, campaign, outset.operator)
    yield "Nodes", f"moved by {mover_of(mode, outset.intent, outset.operator).who} ({mode.value})"
    if campaign.manual:
        yield "Asks", f"a person before {', '.join(campaign.manual)}"
    if campaign.openings is not None:
        yield "Windows", "nodes start only while one is open"
