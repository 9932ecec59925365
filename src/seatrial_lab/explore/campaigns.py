"""Campaigns in the explorer: what must never be true of one, whatever anybody believes, and where it may come to rest.

    early      nobody but a canary is touched, and nothing published, before the record says so
    unproven   the fleet does not move, and nothing is promoted, without every gate passed and the bake complete
    twice      each step is one commit, and a rollout one tag
    left       an ended campaign leaves every node on its version, and nothing of ours on any
    let in     NVIDIA's controller may start nobody whom the ledger does not name
    failed     no more fail than are tolerated, and those who were under way when the last of these did

Looks at the truth alone and works out anew who may be touched, so that core's own reading cannot mislead it.

Tests: tests/model/test_explore_campaign.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from seatrial.core.budget import order
from seatrial.core.campaign import waves
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import ENDED, Campaign, CampaignRecord, PublishStep, RolloutPhase
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.node.progress import carries, is_without_gpu
from seatrial.sim import upgrade_controller
from seatrial.sim.operand_pods import all_carriers, said_by
from seatrial.sim.outside import Outside, Versions

RESTING: Final = frozenset(
    {
        HoldCode.APPROVAL_PENDING,
        HoldCode.ROLLBACK_PENDING,
        HoldCode.GATE_UNKNOWN,
        HoldCode.GATE_REFUSED,
        HoldCode.GATE_UNATTESTED,
        HoldCode.FAILURE_BUDGET,
        HoldCode.NODES_FAILED,
        HoldCode.WRITTEN_BY_ANOTHER,
        HoldCode.TAKEN_OVER,
        HoldCode.REVERT_CONFLICT,
        HoldCode.ENTRY_BAD,
        HoldCode.MERGE_PENDING,
        HoldCode.MERGE_OVERDUE,
        HoldCode.REQUEST_DECLINED,
        HoldCode.MATRIX_CHANGED,
        HoldCode.PLACES_CHANGED,
        HoldCode.SOURCE_BARRED,
        HoldCode.MATRIX_PROBLEM,
        HoldCode.NO_CANARY,
        HoldCode.NO_WAY_BACK,
        HoldCode.NOTHING_TO_PUBLISH,
        HoldCode.RELEASE_UNSEEN,
        HoldCode.RELEASE_PINNED,
        HoldCode.RELEASE_ONE_WAY,
        HoldCode.RELEASE_AUTOMATIC,
        HoldCode.RELEASE_UNPLANNED,
        HoldCode.RELEASE_BY_HAND,
        HoldCode.RELEASE_UNCLEAR,
        HoldCode.RELEASE_FAILED,
        HoldCode.RELEASE_STAYS,
        HoldCode.OUTSIDE_WINDOW,
        HoldCode.BAKING,
        HoldCode.TELEMETRY_MISSING,
        HoldCode.CANARY_IDLE,
        HoldCode.LOSS_NOT_EXCLUDED,
        HoldCode.TENANTS_AWAITED,
    }
)
"""What a campaign as a whole may wait for when nothing moves any more: somebody's decision, or the next hour."""

_FLEET: Final = frozenset({RolloutPhase.WAVING, RolloutPhase.PROMOTING, RolloutPhase.DONE})
_AT_WORK: Final = frozenset({*upgrade_controller.PLAYED, upgrade_controller.FAILED})


def is_at_rest(record: CampaignRecord | None, holds: Iterable[Hold], rollout: str) -> bool:
    """Whether a campaign is over, or waits for somebody."""
    if record is not None and record.phase in (*ENDED, RolloutPhase.PAUSED):
        return True
    return any(held.subject == rollout and held.code in RESTING for held in holds)


def plain(record: RolloutRecord) -> RolloutRecord:
    """The record without what is for people only; of its history stays whether the waves had begun."""
    campaign = record.campaign
    if campaign is not None:
        begun = tuple(turn for turn in campaign.history if turn.phase is RolloutPhase.WAVING)[:1]
        campaign = replace(campaign, history=tuple(replace(turn, why="") for turn in begun))
    return replace(record, summary=None, summarised_at=0.0, lost_gpu_seconds=0.0, cost=None, campaign=campaign)


def why_wrong(
    nodes: tuple[NodeSeen, ...], record: RolloutRecord, outside: Outside, start: Outside, intent: Intent
) -> str | None:
    """What the truth says about a campaign; None while all is well."""
    campaign, written = intent.campaign, record.campaign or CampaignRecord()
    if campaign is None:
        return None
    return (
        _why_early(nodes, written, outside, start, intent)
        or _why_unproven(written, outside, campaign)
        or _why_twice(outside)
        or _why_left(nodes, outside, written, intent)
        or _why_published(written, outside, start)
        or _why_let_in(nodes, record)
        or _why_too_many(nodes, intent)
    )


def _why_early(
    nodes: tuple[NodeSeen, ...], record: CampaignRecord, outside: Outside, start: Outside, intent: Intent
) -> str | None:
    if record.phase is RolloutPhase.PROPOSED and all_carriers(outside.operator) != all_carriers(start.operator):
        return "a version is published, and the record does not say so"
    open_ = _open(nodes, record, intent)
    for node in nodes:
        if node.name not in open_ and (why := _why_touched(node, intent)):
            return f"{node.name} {why}, and its turn has not come ({record.phase})"
    return None


def _open(nodes: tuple[NodeSeen, ...], record: CampaignRecord, intent: Intent) -> set[str]:
    """Who may have been touched by now."""
    if intent.campaign is None or not record.history:
        return set(record.canaries)
    is_by_hand = intent.campaign.by_hand is not None
    members = [node for node in nodes if is_by_hand or node.record is not None or not is_without_gpu(node.facts)]
    rest = [node.name for node in order.fixed(members, intent) if node.name not in record.canaries]
    bounds = waves.bounds(intent.campaign.waves, len(rest))
    reached = bounds[min(record.wave, len(bounds) - 1)] if bounds else 0
    return {*record.canaries, *rest[:reached]}


def _why_touched(node: NodeSeen, intent: Intent) -> str:
    driver = node.facts.driver
    if node.record is not None:
        return f"has a record ({node.record.phase})"
    if node.facts.nvidia_state in _AT_WORK:
        return f"is moved by NVIDIA's controller ({node.facts.nvidia_state})"
    if driver is not None and carries(node.facts, intent.target.published):
        return f"runs {intent.target.published}"
    return ""


def _why_unproven(record: CampaignRecord, outside: Outside, campaign: Campaign) -> str | None:
    is_promoted = outside.source is not None and bool(outside.source.commit_of(PublishStep.PROMOTION))
    if record.phase not in _FLEET and not is_promoted:
        return None
    passed = {
        (each.gate, node)
        for each in outside.measurements
        if each.verdict is GateVerdict.PASSED and each.round == _last_round(record, outside)
        for node in (each.node, *each.gang)
    }
    # What was said is no part of the world outside, and may be taken back once it has counted.
    measured = [gate for gate in campaign.gates if gate.attest is None and gate.tenant is None]
    # Who was left out of a gang, and that it was told, is in the record.
    passed |= {(each.gate, each.node) for each in record.gates if each.is_left_out}
    asked = [(gate.name, node) for gate in measured for node in record.canaries if node not in gate.not_on]
    missing = [f"{gate} on {node}" for gate, node in asked if (gate, node) not in passed]
    if missing:
        return f"the campaign is {record.phase}, and {missing[0]} has not passed"
    if record.baked_seconds < campaign.bake.seconds:
        return f"the campaign is {record.phase} after {record.baked_seconds:g} s of bake"
    return None


def _last_round(record: CampaignRecord, outside: Outside) -> int:
    """The last round that anything is known of: after a pause a new one is asked before anybody else starts."""
    ended = (each.round for each in outside.measurements if each.verdict is not GateVerdict.PENDING)
    return max((number for number in ended if number <= record.round), default=record.round)


def _why_twice(outside: Outside) -> str | None:
    steps = Counter(step for step, _ in outside.source.steps) if outside.source is not None else Counter()
    for step, count in steps.items():
        if count > 1:
            return f"{count} commits of step {step}"
    return f"{len(outside.tags)} tags of one rollout" if len(outside.tags) > 1 else None


def _why_left(nodes: tuple[NodeSeen, ...], outside: Outside, record: CampaignRecord, intent: Intent) -> str | None:
    if record.phase not in ENDED:
        return None
    for pool in outside.machine_pools:
        if pool.is_ours or pool.paused_by:
            return (
                f"the campaign is {record.phase}, and pool {pool.name} is still {'there' if pool.is_ours else 'ours'}"
            )
    for node in nodes:
        if node.facts.canary_of or node.facts.skipped_by:
            return f"the campaign is {record.phase}, and {node.name} is still marked"
        driver = node.facts.driver
        if _has_failed(node) or driver is None:
            continue
        if carries(node.facts, intent.target.published) is (record.phase is RolloutPhase.REVERTED):
            return f"the campaign is {record.phase}, and {node.name} runs {driver.version}"
    return None


def _why_let_in(nodes: tuple[NodeSeen, ...], record: RolloutRecord) -> str | None:
    named = {admission.node for admission in record.admitted}
    for node in nodes:
        is_let_in = node.facts.nvidia_state == upgrade_controller.REQUIRED and not node.facts.is_skipped
        if is_let_in and node.name not in named:
            return f"{node.name} is let in to NVIDIA's controller, and the ledger does not name it"
    return None


def _why_too_many(nodes: tuple[NodeSeen, ...], intent: Intent) -> str | None:
    failed = sorted(node.name for node in nodes if _has_failed(node))
    at_once = intent.limits.parallel_max or len(nodes)
    if len(failed) <= intent.failed_max + at_once:
        return None
    return f"{', '.join(failed)} have failed at a limit of {intent.failed_max}, {at_once} at a time"


def _has_failed(node: NodeSeen) -> bool:
    is_failed = node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED
    return is_failed or node.facts.nvidia_state == NodePhase.UPGRADE_FAILED.value


def _why_published(record: CampaignRecord, outside: Outside, start: Outside) -> str | None:
    if record.phase is not RolloutPhase.REVERTED:
        return None
    # Where a repository is synced, the cluster follows it in the end.
    for name, text in _published(outside):
        if text != dict(_published(start))[name]:
            return f"the campaign is {record.phase}, and {name} is published with {text}"
    return None


def _published(outside: Outside) -> Versions:
    return outside.files or tuple((carrier.name, said_by(carrier)) for carrier in all_carriers(outside.operator))
