"""Start a rollout: judge what it upgrades to, show what will happen, ask, create it.

Law of this file: nothing is created that was not shown, and a trial writes nothing at all. Tests:
tests/cli/test_rollout_start.py, tests/cli/test_rollout_live.py
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout import acts as rollout_acts
from seatrial.cli.rollout import pick as rollout_pick
from seatrial.cli.rollout import source as rollout_source
from seatrial.cli.rollout import spec as rollout_spec
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.adapters.kube.shapes import models
    from seatrial.cli.rollout.pick import Rollout
    from seatrial.cli.rollout.source import Target
    from seatrial.core.model.instants import Instant
    from seatrial.core.model.intent import Intent
    from seatrial.core.model.snapshot import MachinePool, NodeSeen, OperatorFacts

SYNC_SECONDS = 60.0


class FileUnusable(SeatrialError):  # noqa: N818  the message says what to do
    """A file given with an option cannot be read as what it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a rollout begins with."""

    at: Instant
    made: dict[str, Any]
    """The resource as the API server would take it, with its defaults."""
    intent: Intent
    members: dict[str, NodeSeen]
    operator: OperatorFacts
    others: tuple[str, ...]
    """Other campaigns that have not ended."""
    machine_pools: tuple[MachinePool, ...] = ()
    """MachineConfigPools, where the rollout has to do with some."""


def run(args: argparse.Namespace) -> int:
    rollout_spec.check_options(args)
    if args.plan or args.to:
        from seatrial.cli.rollout import plan as rollout_plan

        return rollout_plan.run(args)
    on = datetime.now().astimezone().date()
    given = _file(args.file) if args.file else None
    name = args.name or ((given or {}).get("metadata") or {}).get("name") or ""
    target = rollout_source.read(args, given["spec"] if given else None, name or "seatrial", on)
    code = rollout_source.verdict(target, accepts_unknown=args.accept_unknown)
    if code is not ExitCode.OK:
        return code
    taken = rollout_pick.listed(args)
    name = name or rollout_spec.name_of(target.driver, on, frozenset(each.name for each in taken))
    resource = rollout_spec.resource_of(name, _spec(args, given, target))
    around = asyncio.run(look_around(args, resource, taken))
    print("\n".join(preview(around, target)), file=sys.stderr)
    if args.dry_run:
        from seatrial.cli.rollout import trial as rollout_trial

        return rollout_trial.show(around, target, output=args.output)
    if not rollout_acts.confirmed(args, "Start it?"):
        print("seatrial: nothing was written.", file=sys.stderr)
        return ExitCode.ERROR
    made = asyncio.run(_create(args, resource))
    _tell(made, around, args.output)
    return ExitCode.OK


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def _spec(args: argparse.Namespace, given: dict[str, Any] | None, target: Target) -> dict[str, Any]:
    if given is None:
        gates = read_gates(args.gates_file) if args.gates_file else None
        return rollout_spec.spec_of(
            args, target.driver, matrix=target.matrix, gates=gates, canary_node=target.canary_node
        )
    spec: dict[str, Any] = {**given["spec"], "target": {"driver": target.driver}}
    if target.matrix is not None:
        spec["matrix"] = target.matrix
    if args.paused:
        spec["paused"] = True
    spec.setdefault("canary", {})
    return spec


def _file(path: str) -> dict[str, Any]:
    found = _yaml(path)
    is_ours = isinstance(found, dict) and found.get("kind") == rollout_spec.KIND
    if not is_ours or not isinstance(found.get("spec"), dict) or found.get("apiVersion") != rollout_spec.API_VERSION:
        raise FileUnusable(
            f"{path} is no {rollout_spec.KIND} of {rollout_spec.API_VERSION} with a spec. "
            "`seatrial manifests crd` says what one looks like."
        )
    return dict(found)


def read_gates(path: str) -> list[dict[str, Any]]:
    """The gates in a file."""
    found = _yaml(path)
    found = found.get("gates") if isinstance(found, dict) else found
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found) or not found:
        raise FileUnusable(f"{path} holds no list of gates; each has a name and an image.")
    return found


def _yaml(path: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise FileUnusable(f"{path} cannot be read: {err}.") from err
    except yaml.YAMLError as err:
        what = " ".join(str(err).split())
        raise FileUnusable(f"{path} is no YAML: {what}.") from err


# ── what is there ────────────────────────────────────────────────────────────────────────────────────────────────────


async def look_around(args: argparse.Namespace, resource: dict[str, Any], taken: tuple[Rollout, ...]) -> Around:
    """Have the API server judge the resource without keeping it, and look at what it would be about."""
    import msgspec

    from seatrial.adapters.kube.reading.observe import KubeObserver
    from seatrial.adapters.kube.shapes import keys, models
    from seatrial.core.model.intent import is_member

    faults: list[str] = []
    async with rollout_pick.connect(args) as client:
        made: dict[str, Any] = await client.create(keys.ROLLOUTS, resource, dict, is_trial=True)
        rollout = msgspec.convert(made, models.Rollout)
        observing = KubeObserver(
            client, namespace=args.namespace, rollout=rollout.metadata.name, on_fault=faults.append
        )
        async with observing as observer:
            await observer.wait_synced(SYNC_SECONDS)
            operator = observer.operator()
            pools = await _pools(client, rollout, faults)
            selector = rollout.spec.node_selector
            members = {
                name: node
                for name, node in observer.all_nodes().items()
                if is_member(name, node.facts.labels, selector, ())
            }
    for fault in faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    now = time.time()
    return Around(
        at=now,
        made=made,
        intent=_intent(rollout, operator, now),
        members=members,
        operator=operator,
        others=tuple(each.name for each in taken if each.is_campaign and not each.is_ended),
        machine_pools=pools,
    )


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


def _intent(rollout: models.Rollout, operator: OperatorFacts, now: Instant) -> Intent:
    from seatrial.adapters.kube.reading.rollout_intent import read_intent

    try:
        return read_intent(rollout, operator, now)
    except ValueError as err:
        raise rollout_spec.CalledWrongly(str(err)) from err


async def _create(args: argparse.Namespace, resource: dict[str, Any]) -> dict[str, Any]:
    from seatrial.adapters.kube.shapes import keys

    async with rollout_pick.connect(args) as client:
        found: dict[str, Any] = await client.create(keys.ROLLOUTS, resource, dict)
        return found


# ── what is said ─────────────────────────────────────────────────────────────────────────────────────────────────────


def preview(around: Around, target: Target) -> Iterator[str]:
    """What a rollout would do, in the order in which it would."""
    from seatrial.core.campaign import canary, waves
    from seatrial.core.model.campaign import Mode, Via

    intent, members = around.intent, around.members
    campaign = intent.campaign
    running = Counter(node.facts.driver.version or "?" for node in members.values() if node.facts.driver is not None)
    now = ", ".join(f"{version} on {count}" for version, count in running.most_common()) or "no driver pod"
    step = campaign.by_hand if campaign is not None else None
    runs = f"drivers now {now}" if step is not None else f"now {now}"
    yield f"Rollout   {intent.rollout}: {intent.goal}, {runs} of {len(members)} nodes"
    yield f"Source    {target.where}"
    if campaign is None:
        return
    chosen = canary.choose(members, campaign.canary)
    how = "named" if campaign.canary.nodes else "chosen by their load" if len(chosen) > 1 else "chosen by its load"
    yield f"Canary    {', '.join(chosen) + f' ({how})' if chosen else 'none that will do; it will wait and say why'}"
    yield f"Gates     {', '.join(['readiness', *(f'{gate.name} ({gate.image})' for gate in campaign.gates)])}"
    hours, every = campaign.bake.seconds / 3600, campaign.bake.every_seconds / 60
    yield f"Bake      {hours:g} h with evidence, gates asked every {every:g} min"
    bounds = waves.bounds(campaign.waves, len(members) - len(chosen))
    sizes = [str(bound - before) for before, bound in zip((0, *bounds), bounds, strict=False)]
    yield f"Waves     {', '.join(sizes) or 'none'} nodes"
    carriers = ", ".join(carrier.name for carrier in around.operator.carriers) or "no resource that carries a version"
    how_published = {
        Via.DIRECT: f"by writing {carriers}",
        Via.GIT: "by commits, which Argo CD or Flux brings into the cluster",
        Via.NOBODY: "by somebody else; the rollout waits for it",
    }
    yield f"Publish   {'nothing' if step is not None else how_published[campaign.publish]}"
    mode = Mode.BY_HAND if step is not None else campaign.mode or around.operator.mode
    movers = {Mode.DELEGATED: "NVIDIA's upgrade controller", Mode.DIRECT: "seatrial", Mode.BY_HAND: "people"}
    yield f"Nodes     moved by {movers[mode]} ({mode.value})"
    if campaign.manual:
        yield f"Asks      a person before {', '.join(campaign.manual)}"
    if campaign.openings is not None:
        yield "Windows   nodes start only while one is open"
    for other in around.others:
        yield f"Waits     {other} has not ended: this one will be held until it has"


def _tell(made: dict[str, Any], around: Around, output: str) -> None:
    name = made["metadata"]["name"]
    if output == "json":
        print(json.dumps(made, indent=2))
    elif output == "name":
        print(f"gpurollout.seatrial.dev/{name}")
    else:
        print(f"gpurollout.seatrial.dev/{name} created")
    if made["spec"].get("paused"):
        print(f"It is paused: `seatrial rollout resume {name}` begins it.", file=sys.stderr)
    elif around.others:
        print(f"It is held until {', '.join(around.others)} has ended: `seatrial why {name}`.", file=sys.stderr)
    print(f"Watch it with `seatrial rollout status {name} -w`.", file=sys.stderr)
