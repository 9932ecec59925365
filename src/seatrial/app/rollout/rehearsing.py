"""A rollout on trial: the live cluster goes into a simulated one, and every write is told, up to the first verdict.

Law of this file: the same loop and the same rules as live decide; only the world is not real, so nothing is written.
What happens after the first verdict depends on it and is told in one sentence. Tests:
tests/app/rollout/test_rehearsing.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from seatrial.app.awaiting import finished
from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import Publish
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.base.values import dataclass, replace
from seatrial.core.campaign import waves
from seatrial.core.holds import Hold
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, Via
from seatrial.core.model.gates import default_suite
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.text import spans
from seatrial.core.words import acts as words
from seatrial.core.words import causes

if TYPE_CHECKING:
    from seatrial.app.rollout.outset import Outset
    from seatrial.app.rollout.targeting import RolloutTarget
    from seatrial.core.model.campaign import Campaign
    from seatrial.core.model.intent import Intent
    from seatrial.core.model.seen.nodes import NodeSeen
    from seatrial.core.model.seen.operands import OperandSeen
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
    published: Publish | None = None
    """The first version that would be published, where it came so far."""

    @property
    def is_held(self) -> bool:
        """Whether it would wait for somebody."""
        return any(held.code in causes.NEEDS_SOMEBODY for held in self.holds)


def rehearse(outset: Outset, target: RolloutTarget) -> Trial:
    """Let the rollout run in a simulated copy of the cluster until its gates have said something."""
    from seatrial.run.loop import run_forever
    from seatrial.run.memory import Memory
    from seatrial.sim.world import World

    members = [_playable(node) for node in outset.members.values()]
    world = World(members, _asking(outset), outside=_outside(outset, target), started_at=outset.at)
    rehearsal = _Rehearsal(world, outset)
    ports = replace(world.ports(rehearsal), observer=rehearsal, executor=rehearsal)
    memory = Memory(outset.at)
    report = finished(run_forever(ports, memory, on_report=rehearsal.note, is_over=rehearsal.is_over))
    record = world.rollout.campaign or CampaignRecord()
    holds = tuple(report.decision.waits) if report.decision is not None else ()
    is_judged = record.phase not in BEFORE_VERDICT
    mine = () if is_judged else tuple(held for held in holds if held.subject == outset.intent.rollout)
    return Trial(writes=tuple(rehearsal.writes), record=record, holds=mine, published=rehearsal.published)


def _asking(outset: Outset) -> Intent:
    """With the gates that its canaries will be asked, by what the nodes show now; the played ones show no GPUs."""
    from seatrial.app.rollout.starting import begun_with

    campaign, members = outset.intent.campaign, outset.members
    if campaign is None or not campaign.suite_image:
        return outset.intent
    begun = begun_with(campaign, members)
    count = min((default_suite.gpu_count(members[name].facts.offer) for name in begun.canaries), default=0)
    gates = tuple(replace(gate.on(count), all_gpus=False) for gate in default_suite.with_suite(campaign, begun).gates)
    return replace(outset.intent, campaign=replace(campaign, gates=gates, suite_image=None))


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
            operands=tuple(map(_playable_operand, facts.operands)),
        ),
        record=replace(record, old_pod=f"{record.old_pod}-0") if record and record.old_pod else record,
    )


def _playable_operand(seen: OperandSeen) -> OperandSeen:
    """An operand of a live node as the simulated world plays one: its revision is its version."""
    wanted, pod = seen.version or seen.wanted, seen.pod
    if pod is None:
        return replace(seen, wanted=wanted)
    revision = wanted if pod.revision == seen.wanted else pod.version or pod.revision
    return replace(seen, wanted=wanted, pod=replace(pod, uid=f"{pod.uid}-0", revision=revision))


def _outside(outset: Outset, target: RolloutTarget) -> Outside:
    from seatrial.core.model.campaign import SourceFacts
    from seatrial.sim.operand_pods import files_of
    from seatrial.sim.outside import Outside

    campaign = outset.intent.campaign
    if campaign is None or not (campaign.has_source or campaign.publish is Via.GIT):
        return Outside(operator=outset.operator, machine_pools=outset.machine_pools)
    commit = ((target.matrix or {}).get("git") or {}).get("commit", "")
    source = SourceFacts(head=commit, driver=str(outset.intent.target.driver))
    return Outside(
        operator=outset.operator,
        source=source,
        files=files_of(outset.operator) if campaign.publish is Via.GIT else (),
        machine_pools=outset.machine_pools,
    )


class _Rehearsal:
    """Stands between the loop and the simulated world, and writes down what goes by."""

    def __init__(self, world: World, outset: Outset) -> None:
        self._world, self._outset = world, outset
        self.writes: list[Written] = []
        self.published: Publish | None = None
        self._passes = 0

    # the ports
    def observe(self) -> Sight:
        sight = self._world.observe()
        nodes = {name: self._with_image(node) for name, node in sight.seen.nodes.items()}
        return replace(sight, seen=replace(sight.seen, nodes=nodes, others=self._outset.others))

    def _with_image(self, node: NodeSeen) -> NodeSeen:
        """The image that the new version will have, as far as the old one's name tells: it is brought to the node."""
        wanted, live = node.facts.wanted, self._outset.members[node.name].facts.wanted
        image = live.image_with(wanted.version) if wanted is not None and live is not None else ""
        if wanted is None or wanted.image or not image:
            return node
        return replace(node, facts=replace(node.facts, wanted=replace(wanted, image=image)))

    async def wait(self, until: float | None) -> bool:
        return await self._world.wait(until)

    def submit(self, action: Action) -> None:
        record = self._world.rollout
        if isinstance(action, Publish) and self.published is None:
            self.published = action
        self._world.submit(action)
        is_silent = isinstance(action, WriteRolloutRecord) and (action.record.campaign, action.record.admitted) == (
            record.campaign,
            record.admitted,
        )
        if not is_silent:  # the summary for people says nothing new
            told = words.written(action)
            after_seconds = self._world.time - self._outset.at
            self.writes.append(Written(after_seconds=after_seconds, what=told.where, content=told.what))

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
            return not any(self._is_closed(name) for name in record.canaries)
        # A world in which nothing happens any more only has the clock of our own deadlines.
        is_idle = self._world.next_at is None and report.decision is not None and not report.decision.actions
        return self._passes >= PASSES_MAX or (is_idle and not report.outcomes)

    def _is_closed(self, name: str) -> bool:
        """Whether a canary has still to be opened: that follows its gates."""
        node = self._world.observe().seen.nodes[name]
        return node.record is not None and node.record.phase is NodePhase.UNCORDON_REQUIRED


def then(campaign: Campaign, trial: Trial, members: int) -> str:
    """What follows once the gates have passed."""
    gates = ", ".join(["readiness", *(gate.name for gate in campaign.gates)])
    canaries = len(trial.record.canaries) or campaign.canary.count
    bounds = waves.bounds(campaign.waves, max(0, members - canaries))
    sizes = ", ".join(str(bound - before) for before, bound in zip((0, *bounds), bounds, strict=False))
    judged = f"gates {gates} asked again every {spans.span(campaign.bake.every_seconds)}"
    ends = "promotion of the matrix's entry" if campaign.has_source else "its labels removed"
    return (
        f"then: {judged}, bake {spans.span(campaign.bake.seconds)} with evidence, "
        f"waves of {sizes or 'no'} nodes, {ends}."
    )
