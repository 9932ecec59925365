"""What we promise of a campaign: its record first, evidence before the fleet, a way back, and nobody out of turn.

Law of this file: a promise is about what is decided, whoever decided it.

Tests: tests/core/promises/test_invariants.py, tests/core/promises/test_promises_alone.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.actions.action import is_disruptive
from seatrial.core.actions.at_home import MarkBad, Promote, Publish
from seatrial.core.actions.of_campaigns import CampaignAct, MarkNode, PausePool
from seatrial.core.actions.on_nodes import NodeAct, Uncordon, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget import capacity
from seatrial.core.campaign import comparing, course, leaving
from seatrial.core.decision.decide import Decision
from seatrial.core.model.campaign import Campaign, CampaignRecord, PublishStep, RolloutPhase, Via
from seatrial.core.model.gates.gate import READINESS, GateResult, GateVerdict
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.target import parts_of
from seatrial.core.movers import letting_in
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node import progress
from seatrial.core.node.phases import is_under_way
from seatrial.core.node.progress import Progress, carrier_of, carries, is_same, resources_of, share_of, wants
from seatrial.core.promises.breach import Breach, breach, is_start, is_within


def turn(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """A campaign's record walks along the table of phases, and nothing of it goes backwards."""
    before = seen.rollout.campaign
    for action in decision.actions:
        if isinstance(action, WriteRolloutRecord):
            after = action.record.campaign
            if after is None and before is not None:
                yield breach("turn", intent.rollout, "the campaign's record is lost")
            elif after is not None:
                yield from (breach("turn", intent.rollout, detail) for detail in _backwards(before, after))


def _backwards(before: CampaignRecord | None, after: CampaignRecord) -> Iterator[str]:
    """What about a record may not follow the one before it."""
    if before is None:
        if after.phase is not RolloutPhase.PROPOSED:
            yield f"it begins as {after.phase}"
        return
    if after.phase is not before.phase and after.phase not in course.TRANSITIONS[before.phase]:
        yield f"{before.phase} → {after.phase}"
    if before.phase is RolloutPhase.PAUSED and after.phase not in (RolloutPhase.PAUSED, before.paused_in):
        yield f"paused in {before.paused_in}, resumed in {after.phase}"
    is_begun = before.phase is not RolloutPhase.PROPOSED and before.paused_in is not RolloutPhase.PROPOSED
    if is_begun and (after.mode, after.baseline, after.switches) != (before.mode, before.baseline, before.switches):
        yield "who moves the nodes, or the way back, is changed on the way"
    if after.round < before.round:
        yield f"round {before.round} → {after.round}: what was measured for it would be taken for new"
    if after.wave < before.wave:
        yield f"wave {before.wave} → {after.wave}"
    if (before.date or before.tag_base) and (after.date, after.tag_base) != (before.date, before.tag_base):
        yield "the promotion gets a second name"
    forgotten = [each for each in before.gates if each.verdict is GateVerdict.FAILED and each not in after.gates]
    if forgotten:
        yield f"gate {forgotten[0].gate} failed on {forgotten[0].node}, and is forgotten"
    if before.why and after.why != before.why and before.phase in _UNDOING:
        yield "why it is undone is changed"


_UNDOING: Final = frozenset({RolloutPhase.REVERTING, RolloutPhase.REVERTED})


def record_first(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nothing of a campaign is done in the pass that changes its record: a crash between the two loses nothing."""
    written = [action.record.campaign for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    if not written or written[0] == seen.rollout.campaign:
        return
    for action in decision.actions:
        if isinstance(action, CampaignAct):
            yield breach("record_first", intent.rollout, f"{type(action).__name__} before its record is seen")


def bake(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """The fleet follows, and the matrix is promoted, only when every gate has passed for as long as was asked."""
    for action in decision.actions:
        if isinstance(action, WriteRolloutRecord):
            lack = _opened_early(seen.rollout.campaign, action.record.campaign, intent)
            if lack:
                yield breach("bake", intent.rollout, lack)
        is_fleet = isinstance(action, Publish) and action.step is PublishStep.FLEET
        is_fleet = is_fleet or (isinstance(action, PausePool) and _lets_go(seen, intent, action))
        if is_fleet or isinstance(action, Promote):
            lack = _unbaked(seen.rollout.campaign, intent)
            if lack:
                yield breach("bake", action.subject, lack)


def _opened_early(before: CampaignRecord | None, after: CampaignRecord | None, intent: Intent) -> str:
    """What the evidence lacks with which waves are opened; empty when it is whole, or none are."""
    opens = after is not None and after.phase is RolloutPhase.WAVING
    if after is None or not opens or before is None or before.phase is not RolloutPhase.BAKING:
        return ""
    if intent.campaign is None:
        return "there is no record of a canary"
    asked_seconds = intent.campaign.bake.seconds
    if after.baked_seconds < asked_seconds:
        return f"baked {after.baked_seconds} of {asked_seconds} s"
    load = after.exposed.load if after.exposed is not None else 0.0
    if load < intent.campaign.bake.load_min:
        return f"the canary worked for {load:.0%} of its time"
    unproven = comparing.why_unproven(after, intent.campaign)
    if unproven:
        return f"the asked loss is not excluded: {unproven}"
    return _unasked(after, intent.campaign)


def _unasked(record: CampaignRecord, campaign: Campaign) -> str:
    """Which gate has not passed on which canary, by the results on record; empty when every one has."""
    passed = {(each.gate, each.asked, each.node) for each in record.gates if _counts(each)}
    for node in record.canaries:
        asked = [(gate.name, gate.mark) for gate in campaign.gates if node not in gate.not_on]
        for name, mark in ((READINESS, ""), *asked):
            if (name, mark, node) not in passed:
                return f"gate {name} has not passed on {node}"
    return "" if record.canaries else "there is no canary"


def _counts(result: GateResult) -> bool:
    return result.verdict is GateVerdict.PASSED or result.is_left_out


def _lets_go(seen: Snapshot, intent: Intent, action: PausePool) -> bool:
    """Whether nodes of a pool get what the canary is to prove; not where everything was taken back."""
    is_paused = any(pool.name == action.name and pool.is_paused for pool in seen.machine_pools)
    record, mover = seen.rollout.campaign, mover_seen(seen, intent)
    is_back = record is not None and record.phase is RolloutPhase.REVERTING and mover.is_automatic
    return not action.value and is_paused and not is_back


def _unbaked(record: CampaignRecord | None, intent: Intent) -> str:
    """What the evidence lacks; empty when it is whole."""
    if record is None or intent.campaign is None:
        return "there is no record of a canary"
    if record.phase not in (RolloutPhase.WAVING, RolloutPhase.PROMOTING):
        return f"the campaign is at {record.phase}"
    asked = [each for each in record.gates if not each.is_left_out]
    unpassed = [each for each in asked if each.verdict is not GateVerdict.PASSED]
    if not asked or unpassed:
        return f"gate {unpassed[0].gate} is {unpassed[0].verdict}" if unpassed else "no gate was asked"
    # Once the fleet follows, what is asked for later changes nothing.
    asked_seconds = record.bake_asked_seconds
    asked_seconds = intent.campaign.bake.seconds if asked_seconds is None else asked_seconds
    return f"baked {record.baked_seconds} of {asked_seconds} s" if record.baked_seconds < asked_seconds else ""


def accepted(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nothing is promoted, and no campaign is done, with failed nodes unless a person has accepted that."""
    record, campaign = seen.rollout.campaign, intent.campaign
    is_begun = seen.source is not None and bool(seen.source.commit_of(PublishStep.PROMOTION))
    if campaign is None or record is None or campaign.accepts_failures or is_begun:
        return
    for action in decision.actions:
        after = action.record.campaign if isinstance(action, WriteRolloutRecord) else None
        ends = after is not None and after.phase is RolloutPhase.DONE and record.phase is RolloutPhase.PROMOTING
        if ends or isinstance(action, Promote):
            mover = mover_seen(seen, intent)
            found = mover.standings(seen.nodes, mover.target(intent)).get(Progress.FAILED, ())
            failed = sorted(name for name in found if not progress.is_left_out(seen.nodes[name].facts))
            if failed:
                yield breach("accepted", action.subject, f"{failed[0]} has failed, and no person has accepted that")


def measured(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No canary that we closed takes work on the new driver before the gates that want its GPUs have passed there."""
    record, target = seen.rollout.campaign, intent.target.published
    is_left = leaving.is_leaving(seen, intent)
    for action in decision.actions:
        if not isinstance(action, Uncordon) or is_left or not _is_unmeasured(record, intent.campaign, action.node):
            continue
        node = seen.nodes[action.node]
        is_back = (
            record is not None and letting_in.is_going_back(record) and _is_back(seen, record, action.node, target)
        )
        # Who had failed and is well by itself is opened as any such node: its campaign ends, or a person decides.
        if is_under_way(node.record) and wants(node.facts, target) and not is_back:
            yield breach("measured", action.node, "it is opened, and a gate that wants its GPUs has not passed")


_BEFORE_WORK: Final = frozenset({RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.REVERTING})


def _is_unmeasured(record: CampaignRecord | None, campaign: Campaign | None, name: str) -> bool:
    """Whether a gate that takes GPUs has yet to pass on a canary, in a phase in which that closes it."""
    if record is None or campaign is None or name not in record.canaries:
        return False
    passed = {(each.gate, each.asked) for each in record.gates if each.node == name and _counts(each)}
    wanted = (gate for gate in campaign.gates if gate.wants_gpus and not gate.is_soak and name not in gate.not_on)
    is_early = (record.paused_in or record.phase) in _BEFORE_WORK
    return is_early and any((gate.name, gate.mark) not in passed for gate in wanted)


def _is_back(seen: Snapshot, record: CampaignRecord, name: str, target: str) -> bool:
    """Whether a node is to run again what it ran before, which may be of the same version."""
    facts = seen.nodes[name].facts
    back = progress.back_to(record.baseline, seen.operator, target)
    return wants(facts, progress.way_back(facts, seen.operator, back, target))


def way_back(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No version is published in a resource unless what it carried is on record, or nothing there would change."""
    record = seen.rollout.campaign
    known = dict(record.baseline) if record is not None else {}
    for action in decision.actions:
        if isinstance(action, WriteRolloutRecord) and action.record.campaign is not None and not known:
            for resource, before in action.record.campaign.baseline:
                target = share_of(resource, intent.target.published)
                if is_same(before, target) and _moves_somebody(seen, resource, target):
                    yield breach(
                        "way_back", intent.rollout, f"{resource} would go back to {before}, which is the target"
                    )
        if not isinstance(action, Publish) or action.step not in (PublishStep.CANARY, PublishStep.FLEET):
            continue
        for resource, version in action.versions:
            if resource not in known and _moves_somebody(seen, resource, version):
                yield breach("way_back", intent.rollout, f"{resource} gets {version} with nothing to return to")


def overwritten(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """What the way back writes into a resource replaces our version, and none that somebody wrote there after it."""
    target, _ = parts_of(intent.target.published)
    for action in decision.actions:
        if not isinstance(action, Publish) or action.step is not PublishStep.REVERT or action.via is not Via.DIRECT:
            continue
        for resource, version in action.versions:
            found, wanted = carrier_of(resource, seen.operator).version, parts_of(version)[0]
            if found and wanted and not any(is_same(found, each) for each in (wanted, target)):
                yield breach("overwritten", intent.rollout, f"{resource} has {found}, not ours, and gets {wanted}")


def _moves_somebody(seen: Snapshot, resource: str, version: str) -> bool:
    return any(_moves(seen, node, resource, version) for node in seen.nodes.values())


def _moves(seen: Snapshot, node: NodeSeen, resource: str, version: str) -> bool:
    return resource in resources_of(node.facts, seen.operator, version) and not carries(node.facts, version)


OPENING: Final = frozenset({RolloutPhase.WAVING, RolloutPhase.PROMOTING, RolloutPhase.DONE, RolloutPhase.REVERTING})
"""Phases in which nodes other than the canaries may have their turn."""


def unopened(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nobody starts, and nobody is disrupted, before their turn; those that go with a canary as one have its turn."""
    if intent.campaign is None:
        return
    record = seen.rollout.campaign
    canaries = set(record.canaries) if record is not None else set()
    if record is not None and record.phase in OPENING:
        return
    units = {_unit_of(seen, intent, name) for name in canaries if name in seen.nodes} - {""}
    for action in decision.actions:
        if not isinstance(action, NodeAct) or is_under_way(seen.nodes[action.node].record):
            continue
        starts = isinstance(action, WriteNodeRecord) and is_start(seen, action)
        is_first = action.node in canaries or _unit_of(seen, intent, action.node) in units
        if (starts or is_disruptive(action)) and not is_first:
            where = record.phase if record is not None else "nowhere yet"
            yield breach("unopened", action.node, f"{type(action).__name__} while the campaign is at {where}")


def _unit_of(seen: Snapshot, intent: Intent, name: str) -> str:
    return capacity.place_of(seen.nodes[name].facts, intent).unit


def on_time(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nobody starts outside a window or while paused, whoever moves the nodes; a way back waits for no window."""
    is_paused = intent.is_paused and not seen.is_let_go  # who deletes a rollout does not wait for its pause to end
    why = "paused" if is_paused else "outside of every window" if _is_shut(seen, intent, decision) else ""
    for action in decision.actions:
        starts = isinstance(action, WriteNodeRecord) and is_start(seen, action)
        if why and (starts or (isinstance(action, MarkNode) and _lets_in(seen, intent, action))):
            yield breach("on_time", action.subject, f"it is started while the rollout is {why}")


def _is_shut(seen: Snapshot, intent: Intent, decision: Decision) -> bool:
    record = seen.rollout.campaign
    if intent.campaign is None or decision.at is None or (record is not None and letting_in.is_going_back(record)):
        return False
    return not is_within(intent.campaign.openings, decision.at, mover_seen(seen).margin_seconds)


def _lets_in(seen: Snapshot, intent: Intent, action: MarkNode) -> bool:
    """Whether NVIDIA's controller may start a node once this is done."""
    node, record = seen.nodes[action.node], seen.rollout.campaign
    if record is None or not mover_seen(seen).starts_by_itself:
        return False
    if leaving.is_leaving(seen, intent):  # nothing more is published, so only what is published now can move it
        return action.is_retry or (action.skip is False and mover_seen(seen).would_begin(node.facts))
    version = letting_in.version_for(node.facts, record, seen.operator, intent)
    return action.is_retry or (action.skip is False and letting_in.may_be_started(node, version))


def let_in(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """NVIDIA's controller is let in to nodes that the ledger names; on the way forward not after too many failures."""
    named = {admission.node for admission in seen.rollout.admitted}
    is_back = seen.rollout.campaign is not None and letting_in.is_going_back(seen.rollout.campaign)
    states = {name: node.facts.nvidia_state for name, node in seen.nodes.items()}
    failed = [] if is_back else [name for name, state in states.items() if state == NodePhase.UPGRADE_FAILED]
    for action in decision.actions:
        if isinstance(action, Publish) and action.step is not PublishStep.REVERT:
            yield from _not_kept_out(seen, action, named)
        if not isinstance(action, MarkNode) or not _lets_in(seen, intent, action):
            continue
        if action.node not in named:
            yield breach("let_in", action.node, "it is let in, and the ledger does not name it")
        if len(failed) > intent.failed_max:
            detail = f"it is let in after {len(failed)} failures, limit {intent.failed_max}"
            yield breach("let_in", action.node, detail)


def _not_kept_out(seen: Snapshot, action: Publish, named: set[str]) -> Iterator[Breach]:
    """Nodes that NVIDIA's controller would start by itself once a version is published."""
    for name, node in seen.nodes.items() if mover_seen(seen).starts_by_itself else ():
        is_free = node.facts.nvidia_state in _AT_REST and not node.facts.is_skipped and name not in named
        if is_free and any(_moves(seen, node, *each) for each in action.versions):
            yield breach("let_in", name, "it is not kept out of what is published, and the ledger does not name it")


_AT_REST: Final = ("", NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE)


def one_thing(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nothing new is published while another campaign is under way; going back is always right."""
    for action in decision.actions:
        is_new = isinstance(action, Publish) and action.step is not PublishStep.REVERT
        if seen.others and is_new:
            yield breach("one_thing", action.subject, f"{seen.others[0]} is under way as well")


_UNTRIED: Final = ("eviction-timeout", "drain-timeout", "maintenance-timeout", "cordon-lost")


def rejected(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """An entry is marked bad for a verdict of ours, or because the person who undoes the rollout says so."""
    record, campaign = seen.rollout.campaign, intent.campaign
    verdict = record.rejected if record is not None else ""
    is_due = campaign is not None and campaign.has_source and (bool(verdict) or campaign.marks_bad)
    for action in decision.actions:
        if isinstance(action, MarkBad) and not is_due:
            yield breach("rejected", intent.rollout, "the entry is marked bad, and nobody has rejected the version")
        after = action.record.campaign if isinstance(action, WriteRolloutRecord) else None
        if after is not None and after.rejected and not verdict and not _speaks_against(seen, after):
            yield breach("rejected", intent.rollout, "a verdict is written down, and nothing seen speaks against it")


def _speaks_against(seen: Snapshot, after: CampaignRecord) -> bool:
    """Whether a gate has failed, something was measured that may have, or a node failed with the new driver."""
    has_failed = any(each.verdict is GateVerdict.FAILED for each in after.gates)
    is_measured = after.exposed is not None or after.compared is not None
    return has_failed or is_measured or any(_has_tried(node) for node in seen.nodes.values())


def _has_tried(node: NodeSeen) -> bool:
    """Whether a node has failed, and not because nobody could empty it."""
    record = node.record
    by_us = record is not None and record.phase is NodePhase.UPGRADE_FAILED and record.reason not in _UNTRIED
    return by_us or node.facts.nvidia_state == NodePhase.UPGRADE_FAILED
