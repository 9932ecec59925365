"""A rollout on trial: the live cluster goes into a simulated one, and every write is told, up to the first verdict.

Law of this file: the same loop and the same rules as live decide; only the world is not real, so nothing is written.
What happens after the first verdict depends on it and is told in one sentence. Tests: tests/cli/test_rollout_trial.py
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show.picture import HELD
from seatrial.core.actions import (
    Action,
    AskCheckpoint,
    Cordon,
    EvictPods,
    GuardRollout,
    MakePool,
    MarkBad,
    MarkNode,
    PausePool,
    Promote,
    Publish,
    ReleaseRollout,
    RemovePool,
    RestartPod,
    RevertCommits,
    SetAutoUpgrade,
    StartProbe,
    Uncordon,
    WriteNodeRecord,
    WriteRolloutRecord,
)
from seatrial.core.campaign import waves
from seatrial.core.holds import Hold
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, Via
from seatrial.core.movers import driver_manager, prepulling
from seatrial.core.words import explain

if TYPE_CHECKING:
    from seatrial.cli.rollout.source import Target
    from seatrial.cli.rollout.start import Around
    from seatrial.core.model.campaign import Campaign
    from seatrial.core.model.snapshot import NodeSeen, RolloutRecord
    from seatrial.ports import Outcome, Sight
    from seatrial.run.loop import Report
    from seatrial.sim.outside import Outside
    from seatrial.sim.world import World

DEPLOY_PREFIX: Final = "nvidia.com/gpu.deploy."
PASSES_MAX: Final = 5_000
BEFORE_VERDICT: Final = frozenset({RolloutPhase.PROPOSED, RolloutPhase.CANARY, RolloutPhase.GATING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One write that would be made."""

    after_seconds: float
    what: str
    """The object."""
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Everything that would be written until the first verdict, and how far it came."""

    writes: tuple[Written, ...]
    record: CampaignRecord
    holds: tuple[Hold, ...]
    """Why it goes no further by itself; empty where the verdict was reached."""

    @property
    def is_judged(self) -> bool:
        return self.record.phase not in BEFORE_VERDICT

    @property
    def is_held(self) -> bool:
        """Whether it would wait for somebody."""
        return any(held.code in HELD for held in self.holds)


def show(around: Around, target: Target, *, output: str) -> int:
    """Print what would be written; exit code 12 where it would wait for somebody before the first verdict."""
    trial = rehearse(around, target)
    if output == "json":
        print(json.dumps(_as_data(around, trial), indent=2))
    else:
        print("\n".join(_lines(around, trial)))
    return ExitCode.HELD if trial.is_held else ExitCode.OK


def rehearse(around: Around, target: Target) -> Trial:
    """Let the rollout run in a simulated copy of the cluster until its gates have said something."""
    from seatrial.run.loop import run_forever
    from seatrial.run.memory import Memory
    from seatrial.sim.world import World

    members = [_playable(node) for node in around.members.values()]
    world = World(members, around.intent, outside=_outside(around, target), started_at=around.at)
    rehearsal = _Rehearsal(world, around)
    ports = replace(world.ports(rehearsal), observer=rehearsal, executor=rehearsal)
    memory = Memory(around.at)
    report = asyncio.run(run_forever(ports, memory, on_report=rehearsal.note, is_over=rehearsal.is_over))
    record = world.rollout.campaign or CampaignRecord()
    holds = tuple(report.decision.waits) if report.decision is not None else ()
    is_judged = record.phase not in BEFORE_VERDICT
    mine = () if is_judged else tuple(held for held in holds if held.subject == around.intent.rollout)
    return Trial(writes=tuple(rehearsal.writes), record=record, holds=mine)


def _playable(node: NodeSeen) -> NodeSeen:
    """A live node as the simulated world plays one.

    Pods count their generations in their uid. Which GPUs come back is not simulated, so nothing is remembered of them;
    and a deploy label whose DaemonSet holds no GPU is none of a trial's business.
    """
    facts = node.facts
    kept = {pod.deploy_label for pod in facts.pods}
    labels = {key: value for key, value in facts.labels.items() if not key.startswith(DEPLOY_PREFIX) or key in kept}
    record = node.record
    return replace(
        node,
        facts=replace(
            facts,
            labels=labels,
            offer=replace(facts.offer, resources=()),
            driver=replace(facts.driver, uid=f"{facts.driver.uid}-0") if facts.driver else None,
            validator=replace(facts.validator, uid=f"{facts.validator.uid}-0") if facts.validator else None,
            dra=replace(facts.dra, uid=f"{facts.dra.uid}-0") if facts.dra else None,
        ),
        record=replace(record, old_pod=f"{record.old_pod}-0") if record and record.old_pod else record,
    )


def _outside(around: Around, target: Target) -> Outside:
    from seatrial.core.model.campaign import SourceFacts
    from seatrial.sim.outside import Outside

    campaign = around.intent.campaign
    if campaign is None or not (campaign.has_source or campaign.publish is Via.GIT):
        return Outside(operator=around.operator, machine_pools=around.machine_pools)
    commit = ((target.matrix or {}).get("git") or {}).get("commit", "")
    source = SourceFacts(head=commit, driver=str(around.intent.target))
    files = tuple((carrier.name, carrier.version) for carrier in around.operator.carriers)
    return Outside(
        operator=around.operator,
        source=source,
        files=files if campaign.publish is Via.GIT else (),
        machine_pools=around.machine_pools,
    )


class _Rehearsal:
    """Stands between the loop and the simulated world, and writes down what goes by."""

    def __init__(self, world: World, around: Around) -> None:
        self._world, self._around = world, around
        self.writes: list[Written] = []
        self._passes = 0

    # the ports
    def observe(self) -> Sight:
        sight = self._world.observe()
        nodes = {name: self._with_image(node) for name, node in sight.seen.nodes.items()}
        return replace(sight, seen=replace(sight.seen, nodes=nodes, others=self._around.others))

    def _with_image(self, node: NodeSeen) -> NodeSeen:
        """The image that the new version will have, as far as the old one's name tells: it is brought to the node."""
        wanted, live = node.facts.wanted, self._around.members[node.name].facts.wanted
        if wanted is None or live is None or wanted.image or not live.version or live.version not in live.image:
            return node
        image = live.image.replace(live.version, wanted.version)
        return replace(node, facts=replace(node.facts, wanted=replace(wanted, image=image)))

    async def wait(self, until: float | None) -> bool:
        return await self._world.wait(until)

    def submit(self, action: Action) -> None:
        record = self._world.rollout
        self._world.submit(action)
        is_silent = isinstance(action, WriteRolloutRecord) and (action.record.campaign, action.record.admitted) == (
            record.campaign,
            record.admitted,
        )
        if not is_silent:  # the summary for people says nothing new
            what, content = told(action)
            self.writes.append(Written(after_seconds=self._world.time - self._around.at, what=what, content=content))

    def in_flight(self) -> frozenset[str]:
        return self._world.in_flight()

    def collect(self) -> tuple[Outcome, ...]:
        return self._world.collect()

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        """The journal of a trial is what it shows."""

    # the loop
    def note(self, _report: Report) -> None:
        self._passes += 1

    def is_over(self, report: Report) -> bool:
        record = self._world.rollout.campaign
        if record is not None and record.phase not in BEFORE_VERDICT:
            return True
        # A world in which nothing happens any more only has the clock of our own deadlines.
        is_idle = self._world.next_at is None and report.decision is not None and not report.decision.actions
        return self._passes >= PASSES_MAX or (is_idle and not report.outcomes)


# ── what is said ─────────────────────────────────────────────────────────────────────────────────────────────────────


def told(action: Action) -> tuple[str, str]:
    """The object an act writes, and what it writes there, in one line."""
    match action:
        case WriteRolloutRecord(record=record):
            phase = f"phase {record.campaign.phase.value}" if record.campaign is not None else "its record"
            return f"gpurollout/{record.name} status", phase + _more(record)
        case MarkNode(node=node, rollout=rollout, canary=canary, skip=skip):
            marks = [
                _label("seatrial.dev/canary", rollout, canary),
                _label("nvidia.com/gpu-driver-upgrade.skip", "true", skip),
            ]
            return f"node/{node}", ", ".join(mark for mark in marks if mark)
        case Publish(step=step, versions=versions, via=via, switches=switches):
            carried = ", ".join(f"{name} driver version {version}" for name, version in versions)
            where = "git commit" if via is Via.GIT else ", ".join(name for name, _ in versions)
            told = f", driver manager {driver_manager.told(switches)}: else it uncordons nodes before they are proven"
            return where, f"{carried} (step {step}){told if switches else ''}"
        case Cordon(node=node, record=record):
            return f"node/{node}", f"cordon, state {record.phase.value}"
        case Uncordon(node=node, record=record):
            return f"node/{node}", f"uncordon, state {record.phase.value}"
        case WriteNodeRecord(node=node, record=record, labels=labels):
            more = "".join(f", label {key}={value}" for key, value in labels)
            return f"node/{node}", f"state {record.phase.value}{more}"
        case EvictPods(pods=pods, node=node):
            return f"pods of node/{node}", f"evict {', '.join(pod.full_name for pod in pods)}"
        case AskCheckpoint(pods=pods, node=node):
            return f"pods of node/{node}", f"ask to save their work: {', '.join(pod.full_name for pod in pods)}"
        case RestartPod(namespace=namespace, pod=pod, operand=operand):
            return f"pod/{namespace}/{pod}", f"delete, so that its DaemonSet starts a new {operand}"
        case StartProbe(gate=gate, node=node) if gate.name == prepulling.NAME:
            return "job to bring the image", f"on node/{node}, image {gate.image}"
        case StartProbe(gate=gate, node=node):
            command = f", command {' '.join(gate.command)}" if gate.command else ""
            return f"job for gate {gate.name}", f"on node/{node}, image {gate.image}, {gate.gpus} GPUs{command}"
        case SetAutoUpgrade(resource=resource, value=value):
            return resource, f"driver.upgradePolicy.autoUpgrade {str(value).lower()}"
        case MakePool(name=name):
            return f"machineconfigpool/{name}", "create, for the canary"
        case PausePool(name=name, value=value):
            return f"machineconfigpool/{name}", f"paused {str(value).lower()}"
        case RemovePool(name=name):
            return f"machineconfigpool/{name}", "delete"
        case GuardRollout(rollout=rollout):
            return f"gpurollout/{rollout}", "our finalizer, so that who deletes it is waited for"
        case ReleaseRollout(rollout=rollout):
            return f"gpurollout/{rollout}", "without our finalizer"
        case RevertCommits() | MarkBad() | Promote():
            return "git commit", type(action).__name__
        case _:
            return f"nodemaintenance/{action.name}", f"{type(action).__name__} for node/{action.node}"


def _more(record: RolloutRecord) -> str:
    """What a record says besides its phase."""
    names = ", ".join(admission.node for admission in record.admitted)
    gates = record.campaign.gates if record.campaign is not None else ()
    verdicts = ", ".join(f"{each.gate} on {each.node} {each.verdict.value}" for each in gates)
    return (f", may be disrupted: {names}" if names else "") + (f", gates: {verdicts}" if verdicts else "")


def _label(key: str, value: str, is_set: bool | None) -> str:
    if is_set is None:
        return ""
    return f"label {key}={value}" if is_set else f"label {key} taken away"


def _lines(around: Around, trial: Trial) -> Iterator[str]:
    from seatrial.cli import terminal

    name = around.intent.rollout
    rows = [("After", "Object", "Content"), ("0 s", f"gpurollout/{name}", "create")]
    rows += [(explain.span(each.after_seconds), each.what, each.content) for each in trial.writes]
    yield terminal.columns(rows)
    yield ""
    if trial.holds:
        yield f"It would wait in {trial.record.phase.value}:"
        for held in trial.holds:
            yield f"  {held.code.value}: {explain.why(held)}. {explain.next_step(held)}"
    campaign = around.intent.campaign
    if campaign is not None:
        yield then(campaign, trial, len(around.members))
    yield "Times are those of a simulated cluster. Nothing was written."


def then(campaign: Campaign, trial: Trial, members: int) -> str:
    """What follows once the gates have passed."""
    gates = ", ".join(["readiness", *(gate.name for gate in campaign.gates)])
    canaries = len(trial.record.canaries) or campaign.canary.count
    bounds = waves.bounds(campaign.waves, max(0, members - canaries))
    sizes = ", ".join(str(bound - before) for before, bound in zip((0, *bounds), bounds, strict=False))
    judged = f"gates {gates} asked again every {campaign.bake.every_seconds / 60:g} min"
    ends = "promotion of the matrix's entry" if campaign.has_source else "its labels removed"
    return (
        f"then: {judged}, bake {campaign.bake.seconds / 3600:g} h with evidence, "
        f"waves of {sizes or 'no'} nodes, {ends}."
    )


def _as_data(around: Around, trial: Trial) -> dict[str, object]:
    campaign = around.intent.campaign
    return {
        "resource": {key: around.made[key] for key in ("apiVersion", "kind", "spec")}
        | {"metadata": {"name": around.intent.rollout}},
        "writes": [
            {"afterSeconds": round(each.after_seconds, 1), "object": each.what, "content": each.content}
            for each in trial.writes
        ],
        "phase": trial.record.phase.value,
        "holds": [
            {"code": held.code.value, "why": explain.why(held), "next": explain.next_step(held)} for held in trial.holds
        ],
        "then": then(campaign, trial, len(around.members)) if campaign is not None else "",
    }
