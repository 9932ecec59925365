"""Why a rollout as a whole disrupts nobody, and what it may do all the same.

    paused                        a person wants it so
    contradicted, sandboxed       who is to move the nodes is not who does
    unguarded                     nothing holds the rollout there while we are at work
    rolls by itself, delegated    operands would not move node by node
    blind                         a stream is not read to its end, or silent for too long
    unreadable                    an object that every decision rests on cannot be read
    unwritable                    what is done could not be told afterwards
    not published                 the nodes would get another version

Law of this file: a stop is about everybody; what one node waits for is said elsewhere.
Tests: tests/core/decision/test_decide.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from seatrial.core.actions.action import Action, is_disruptive
from seatrial.core.actions.on_nodes import ReleaseMaintenance, Uncordon, WriteNodeRecord
from seatrial.core.campaign import leaving
from seatrial.core.compat import versions
from seatrial.core.compat.matrix import Component
from seatrial.core.decision.unreadable import why_unreadable
from seatrial.core.holds import Hold, HoldCode, Trait, having, hold
from seatrial.core.model.campaign import ENDED, CampaignRecord, RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.known import OWNER, by
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operands import COMPONENTS, Operand, governed_by
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.snapshot import STALE_SECONDS, Snapshot
from seatrial.core.movers.mover import PLAIN, asked_mode, mode_of, mover_of
from seatrial.core.movers.view import Mover
from seatrial.core.node.aiming import NO_VERSION
from seatrial.core.node.progress import carried, is_same, is_same_part, share_of
from seatrial.core.node.writing import Step

FREEZING: Final = having(Trait.FREEZES)
DRA_STRATEGY: Final = "kubeletPlugin.updateStrategy.type in the values of the DRA driver's chart"
_APART: Final = frozenset({Component.MOFED, Component.DRA_DRIVER})
"""Components that do not come from a ClusterPolicy."""
CONTRADICTED: Final = frozenset({HoldCode.MODE_CONTRADICTION, HoldCode.NOBODY_MOVES})
"""Stops under which the nodes are somebody else's to open and to close."""


def why_stopped(seen: Snapshot, intent: Intent, now: Instant) -> Hold | None:
    """Why nobody is to be disrupted at all: paused, half blind, contradicted, or not yet published."""
    if intent.is_paused:
        because = {"why": intent.paused_because} if intent.paused_because else {}
        return hold(intent.rollout, HoldCode.PAUSED, because, rollout=intent.rollout)
    contradiction = _contradiction(seen, intent)
    if contradiction is not None:
        return contradiction
    unguarded = leaving.why_unguarded(seen, intent)
    if unguarded is not None:
        return unguarded
    blind = why_blind(seen, intent, now)
    if blind is not None:
        return blind
    unreadable = why_unreadable(intent.rollout, seen.unreadable_objects)
    if unreadable is not None:
        return unreadable
    if seen.kueue_trouble and intent.checkpoint.kueue:
        return hold(intent.rollout, HoldCode.KUEUE_UNSEEN, why=seen.kueue_trouble)
    if seen.journal_trouble:
        return hold(intent.rollout, HoldCode.JOURNAL_UNWRITABLE, why=seen.journal_trouble)
    # A campaign publishes by itself, scope by scope, and says what it waits for.
    unpublished = _not_published(by(seen.nodes, _carried), intent) if intent.campaign is None else None
    if unpublished is not None:
        return hold(intent.rollout, HoldCode.TARGET_NOT_PUBLISHED, found=unpublished, target=intent.target.published)
    return None


def _carried(node: NodeSeen) -> str | None:
    """The version that the DaemonSet of a node carries; None where there is none."""
    return node.facts.wanted.version if node.facts.wanted is not None else None


def _contradiction(seen: Snapshot, intent: Intent) -> Hold | None:
    """Why who is to move the nodes is not who does."""
    other, record = _other_mover(seen.operator, seen.nodes), seen.rollout.campaign
    # On the way back its controller is switched off for a moment, by us.
    is_free = record is not None and record.phase in (RolloutPhase.REVERTING, *ENDED)
    if seen.operator.is_sandboxed and not is_free and mover_of(asked_mode(intent.campaign)).minds_sandbox:
        return hold(intent.rollout, HoldCode.SANDBOXED, owner=seen.operator.kind)
    if intent.attrition is not None and not is_free:
        by_whom = mover_of(mode_of(record, intent.campaign, seen.operator))
        if intent.campaign is not None and not by_whom.closes:
            return hold(intent.rollout, HoldCode.ATTRITION_DELEGATED, resource=seen.operator.kind)
    rolling = _why_not_one_by_one(seen, intent, is_free=is_free)
    if rolling is not None:
        return rolling
    mover = _mover(record, intent)
    return mover.why_contradicted(intent.rollout, seen.operator, other, is_free=is_free)


def _why_not_one_by_one(seen: Snapshot, intent: Intent, *, is_free: bool) -> Hold | None:
    """Why operands would not move node by node: somebody else moves nodes, or all of them move by themselves."""
    components = tuple(each for each in intent.target.components if each is not Component.NETWORK_OPERATOR)
    operator = seen.operator
    if not components or is_free:
        return None
    if Component.MOFED in components and (unseen := _why_no_network(seen, intent)) is not None:
        return unseen
    if Component.DRA_DRIVER in components and any(by(seen.nodes, _is_dra_operators)):
        return hold(intent.rollout, HoldCode.DRA_BY_OPERATOR)
    named = ", ".join(component.value for component in components)
    if operator.pools and any(component not in _APART for component in components):
        return hold(intent.rollout, HoldCode.OPERANDS_BY_POOL, components=named)
    mover = mover_of(mode_of(seen.rollout.campaign, intent.campaign, operator))
    if intent.campaign is not None and not mover.moves_operands:
        return hold(intent.rollout, HoldCode.OPERANDS_DELEGATED, components=named, resource=operator.kind)
    rolling = [operand for operand in operator.rolling if operand in governed_by(components)]
    # A release's own Deployment may be faster than what tells DaemonSets to wait: it has to be told before.
    is_release = Component.GPU_OPERATOR in components
    if intent.campaign is not None and intent.campaign.sets_on_delete and not is_release:
        rolling = [each for each in rolling if each is Operand.DRA_PLUGIN or _is_out(seen, intent, each)]
    if not rolling:
        return None
    who = ", ".join(operand.value for operand in rolling)
    is_plugin = rolling == [Operand.DRA_PLUGIN]
    where = DRA_STRATEGY if is_plugin else f"spec.daemonsets.updateStrategy in {operator.kind or 'the ClusterPolicy'}"
    return hold(intent.rollout, HoldCode.ROLLS_BY_ITSELF, operands=who, where=where)


def _is_dra_operators(node: NodeSeen) -> bool:
    """Whether the DRA plugin of a node is the GPU Operator's own."""
    return node.facts.dra is not None and node.facts.dra.is_operators


def _why_no_network(seen: Snapshot, intent: Intent) -> Hold | None:
    """Why the network driver would not move node by node: its own operator moves it, or nobody shows us one."""
    network = seen.operator.network
    if network is not None and network.is_auto_upgrading:
        return hold(intent.rollout, HoldCode.NETWORK_DELEGATED, resource=network.carrier.name)
    missing = ""
    if network is None and intent.campaign is not None:
        missing = "no NicClusterPolicy names one"
    elif seen.nodes and not any(node.facts.network is not None for node in seen.nodes.values()):
        missing = "no DaemonSet of one wants a node of the rollout"
    return hold(intent.rollout, HoldCode.NETWORK_UNSEEN, missing=missing) if missing else None


def _is_out(seen: Snapshot, intent: Intent, operand: Operand) -> bool:
    """Whether what we publish has reached the DaemonSet of an operand, and it rolls by itself all the same."""
    record, operator, target = seen.rollout.campaign, seen.operator, intent.target
    if record is None or not record.is_under_way:
        return False
    wanted = share_of(operator.kind, target.published)
    if not is_same(carried(operator.kind, operator, wanted), wanted):
        return False
    component = COMPONENTS.get(operand)
    wanted = target.version_of(component) if component is not None else ""
    templates = (
        each.version for node in seen.nodes.values() for each in node.facts.operands if each.operand is operand
    )
    return component is None or any(is_same_part(component, text, wanted) for text in templates)


def _mover(record: CampaignRecord | None, intent: Intent) -> Mover:
    """Who is to move the nodes, as far as somebody has said so; without a campaign it is us."""
    if record is not None and record.mode is not None:
        return mover_of(record.mode)
    return mover_of(asked_mode(intent.campaign)) if intent.campaign is not None else PLAIN


def _other_mover(operator: OperatorFacts, nodes: Mapping[str, NodeSeen]) -> str:
    """The resource under which NVIDIA's own controller moves members of this rollout; empty when there is none."""
    if not operator.pools:
        return operator.kind if operator.is_auto_upgrading else ""
    owners = by(nodes, OWNER)
    names = sorted(pool.name for pool in operator.pools if pool.is_auto_upgrading and pool.name in owners)
    return f"NVIDIADriver/{names[0]}" if names else ""


def why_blind(seen: Snapshot, intent: Intent, now: Instant) -> Hold | None:
    """Which stream cannot be trusted: not yet listed, or silent for too long."""
    for stream in seen.freshness:
        if not stream.is_synced or now - stream.heard_at > STALE_SECONDS:
            return hold(intent.rollout, HoldCode.STALE_VIEW, source=stream.source, since=stream.heard_at)
    return None


def _not_published(carried: Iterable[str | None], intent: Intent) -> str | None:
    """What the driver DaemonSets carry instead of the target; None when all of them carry it."""
    others = sorted(text for text in carried if text is not None and not _is_target(text, intent))
    return ", ".join(text or NO_VERSION for text in others) if others else None


def _is_target(text: str, intent: Intent) -> bool:
    try:
        return versions.DriverVersion.parse(text) == intent.target.driver
    except versions.VersionInvalid:
        return False


def is_kept_back(step: Step, stop: HoldCode) -> bool:
    """Whether a step has to wait until the rollout as a whole, stopped for this reason, may go on."""
    if step.action is None:
        return step.wants_admission
    if stop in (HoldCode.STALE_VIEW, HoldCode.UNREADABLE_OBJECT) and gives_back(step.action):
        return True  # what an old view calls proven may be gone by now
    return stop in FREEZING or leads_to_disruption(step.action)


def is_disturbing(step: Step) -> bool:
    """Whether a step disturbs the users of a node, or asks to begin what will."""
    return step.wants_admission if step.action is None else leads_to_disruption(step.action)


def gives_back(action: Action) -> bool:
    """Whether an act lets the users of a node come back, or is about to."""
    opens = action.record.phase if isinstance(action, WriteNodeRecord) else None
    return isinstance(action, Uncordon | ReleaseMaintenance) or opens is NodePhase.UNCORDON_REQUIRED


def leads_to_disruption(action: Action) -> bool:
    """Whether an act takes something away, or is the first of a row that will."""
    opens = action.record.phase if isinstance(action, WriteNodeRecord) else None
    # An attempt opened without a published target would only be released again.
    starts = (NodePhase.UPGRADE_REQUIRED, NodePhase.CORDON_REQUIRED, NodePhase.NODE_MAINTENANCE_REQUIRED)
    return is_disruptive(action) or (opens in starts and not isinstance(action, Uncordon))


def like(held: Hold, subject: str) -> Hold:
    """The same hold for somebody else."""
    return Hold(subject=subject, code=held.code, params=held.params, since=held.since, until=held.until)
