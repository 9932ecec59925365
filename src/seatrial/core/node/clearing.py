"""Clearing a node of those who use its GPUs: wait for jobs, let them save their work, evict, in the end drain.

A network driver takes more: nobody can tell who uses the network, so everybody leaves whom a drain takes.

Nobody is deleted by force. Budgets of the users are honoured, pods that would be lost for good are left alone unless
the policy says otherwise, and whatever does not leave in time is named. One pod that must not be evicted keeps all of
its node: half an emptied node helps nobody.

Tests: tests/core/node/test_clearing.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from seatrial.core.actions.on_nodes import KUEUE, AskCheckpoint, EvictPods, PauseClients
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Drain, Eviction, JobWait, Policy
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod, PodOwner
from seatrial.core.model.selectors import NETWORK_DRAIN_SKIP_KEY
from seatrial.core.node import closing
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.visiting import Takes, takes_now
from seatrial.core.node.writing import (
    PAUSED,
    Closed,
    Orders,
    Step,
    deadline_of,
    give_back,
    open_phase,
    record_of,
    retry_at,
    wait,
)
from seatrial.core.text import spans

NOBODY: Final = Closed(jobs=0, idle=0)


class Exit(NamedTuple):
    """How pods leave: by which rules, until when, and what the node is given up for when they do not."""

    rules: Eviction
    deadline: Instant
    failure: FailureCode
    is_pausing: bool = True
    """Whether clients that were asked to leave once are kept away; with a driver there to be used they come back."""


def users(facts: NodeFacts) -> tuple[Pod, ...]:
    """The pods that have to leave before the driver does.

    A DaemonSet's pod that merely runs under NVIDIA's runtime class and cannot be asked to leave is not among them: it
    may hold nothing, it would be back at once, and nobody could do anything about it.
    """
    return tuple(pod for pod in facts.gpu_pods if pod.keeper is not PodOwner.DAEMON_SET or _is_movable(pod))


def _is_movable(pod: Pod) -> bool:
    return bool(pod.deploy_label) or pod.gpu is not GpuUse.RUNTIME_CLASS


def drained(facts: NodeFacts, drain: Drain) -> tuple[Pod, ...]:
    """The pods that a drain takes; those of DaemonSets and static ones stay, as in every drain."""
    found = (pod for pod in facts.pods if pod.keeper not in (PodOwner.DAEMON_SET, PodOwner.KUBELET))
    chosen = (pod for pod in found if drain.selector.matches(dict(pod.labels)))
    skip = (NETWORK_DRAIN_SKIP_KEY, "true")
    return tuple(pod for pod in chosen if not facts.is_network_due or skip not in pod.labels)


def policy_of(node: NodeSeen, orders: Orders) -> Policy:
    """What somebody else is told who empties the node for us: for a network driver, a drain."""
    policy = orders.policy(node)
    if not node.facts.is_network_due:
        return policy
    return replace(policy, drain=replace(policy.drain, is_enabled=True))


def is_still_asked_for(node: NodeSeen) -> bool:
    """Whether somebody asked for this upgrade although the wanted revision runs, and has not got it yet."""
    record, driver = node.record, node.facts.driver
    is_old = record is not None and record.is_requested and driver is not None and driver.uid == record.old_pod
    return is_old or node.facts.awaits_safe_load


def keeps_driver(node: NodeSeen) -> bool:
    """Whether the GPU driver may stay as it is, and a visit is for the operands around it alone."""
    facts, record = node.facts, record_of(node)
    is_driver_due = is_still_asked_for(node) or bool(record.old_pod) or record.is_requested
    is_kept = facts.driver is not None and facts.is_driver_in_sync and not facts.driver.is_orphaned
    return is_kept and not is_driver_due and bool(facts.operands)


def _keeps_gpus(node: NodeSeen, orders: Orders) -> bool:
    """Whether nobody has to leave for the GPUs' sake: the network driver alone is why pods leave."""
    facts = node.facts
    others = replace(facts, operands=tuple(each for each in facts.operands if each is not facts.network))
    is_kept = takes_now(others, evicts_for_runtime=orders.intent.evicts_for_runtime) < Takes.EVICTION
    return facts.is_network_due and keeps_driver(node) and is_kept


def begin(node: NodeSeen, now: Instant) -> Step:
    """More is due than a restart under everybody's feet: whoever uses a GPU leaves first."""
    is_open = not node.facts.is_cordoned
    return open_phase(node, NodePhase.WAIT_FOR_JOBS_REQUIRED, now, cordon=is_open, is_restart_only=False)


def step_returned(node: NodeSeen, orders: Orders, deadline: Instant, now: Instant) -> Step:
    """Ask those to leave who came after a node had been cleared."""
    leave = Exit(orders.policy(node).eviction, deadline, FailureCode.EVICTION_TIMEOUT)
    return evict(node, users(node.facts), leave, orders, now)


def step_undrained(node: NodeSeen, orders: Orders, deadline: Instant, now: Instant) -> Step | None:
    """The same of a node whose network driver goes; None where nobody is left whom a drain takes."""
    drain = orders.policy(node).drain
    leaving = drained(node.facts, drain)
    return (
        evict(node, leaving, Exit(drain.rules, deadline, FailureCode.DRAIN_TIMEOUT), orders, now) if leaving else None
    )


# ── waiting for jobs ─────────────────────────────────────────────────────────────────────────────────────────────────


def step_waiting_for_jobs(node: NodeSeen, orders: Orders, now: Instant, kept: Step | None = None) -> Step:
    """Wait until the selected pods have finished, or their time is up; by attrition, until it is said to be enough."""
    if node.name in orders.ahead:
        return _step_closed(node, orders, now)
    if kept is not None:
        return kept  # its driver would not come back, and who waits for jobs alone is opened again
    jobs = orders.policy(node).jobs if orders.attrition is None else JobWait()
    running = [pod for pod in node.facts.pods if jobs.selector is not None and jobs.selector.matches(dict(pod.labels))]
    seconds = jobs.timeout_seconds
    deadline = deadline_of(record_of(node), orders, seconds) if seconds else None
    if not running or (deadline is not None and now >= deadline):
        if _keeps_gpus(node, orders):
            return _begin_draining(node, orders, now)
        is_saving = any(_hook(pod, orders) is not None for pod in users(node.facts))
        taken = orders.attrition.taken.get(node.name) if orders.attrition is not None else None
        return open_phase(node, NodePhase.POD_DELETION_REQUIRED, now, is_saving=is_saving, taken=taken)
    return Step(
        hold=hold(
            node.name,
            HoldCode.JOBS_RUNNING,
            since=record_of(node).entered_at,
            until=deadline,
            pod=running[0].full_name,
            count=len(running),
            limit=spans.span(seconds) if seconds else "none",
        )
    )


def _step_closed(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """Wait, closed, for the jobs on the node to end; given back where that has to be, or somebody opened it."""
    standing, record = orders.attrition, record_of(node)
    if standing is None or node.name in orders.given_back or not node.facts.is_cordoned:
        return give_back(node, orders, now)
    found = standing.closed.get(node.name, NOBODY)
    told = hold(
        node.name,
        HoldCode.CLOSED_AHEAD,
        {"kept": found.kept} if found.kept else {},
        since=record.closed_at if record.closed_at is not None else record.entered_at,
        until=None if found.kept else standing.evicted_at,
        jobs=found.jobs,
        idle=found.idle,
        limit=standing.idle_max,
    )
    return Step(hold=told)


def spares_users(node: NodeSeen, intent: Intent) -> bool:
    """Whether a visit takes nobody from the node who uses it, or the node takes no work as it is, since it failed."""
    facts, record = node.facts, record_of(node)
    if record.is_cordon_ours or record.has_lost_driver or bool(record.old_pod):
        return True
    if facts.is_network_due:
        return False
    needed = takes_now(facts, evicts_for_runtime=intent.evicts_for_runtime)
    is_asked = record.is_requested or facts.awaits_safe_load
    return (keeps_driver(node) and needed < Takes.EVICTION) or (facts.is_restart_enough and not is_asked)


# ── evicting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def step_evicting(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """Move the users of the GPUs away; on to the drain when they do not go and one is allowed."""
    policy = orders.policy(node)
    leaving = users(node.facts)
    if not leaving:
        if node.facts.is_network_due:
            return _begin_draining(node, orders, now)
        return open_phase(node, NodePhase.POD_RESTART_REQUIRED, now)
    asked_until = _checkpoint_deadline(node, orders)
    saving = _step_saving(node, leaving, orders, asked_until, now)
    if saving is not None:
        return saving
    deadline = asked_until + policy.eviction.timeout_seconds
    is_hopeless = any(_why_protected(pod, policy.eviction) is not None for pod in leaving if not pod.is_terminating)
    if policy.drain.is_enabled and (is_hopeless or now >= deadline):
        return open_phase(node, NodePhase.DRAIN_REQUIRED, now)
    return evict(node, leaving, Exit(policy.eviction, deadline, FailureCode.EVICTION_TIMEOUT), orders, now)


def step_draining(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """Move every pod away that the drain selects; for a network driver also where no drain is allowed otherwise."""
    drain = orders.policy(node).drain
    leaving = drained(node.facts, drain)
    if not leaving or not (drain.is_enabled or node.facts.is_network_due):
        return open_phase(node, NodePhase.POD_RESTART_REQUIRED, now)
    deadline = deadline_of(record_of(node), orders, drain.rules.timeout_seconds)
    if node.facts.is_network_due:
        # Who would not go in the eviction before a drain was asked there; here many are asked for the first time.
        asked_until = _checkpoint_deadline(node, orders)
        saving = _step_saving(node, leaving, orders, asked_until, now)
        if saving is not None:
            return saving
        deadline = asked_until + drain.rules.timeout_seconds
    return evict(node, leaving, Exit(drain.rules, deadline, FailureCode.DRAIN_TIMEOUT), orders, now)


def _begin_draining(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """Open the drain; whoever offers to save their work and was not asked yet gets the time for it."""
    token = checkpoint_token(node, orders)
    leaving = drained(node.facts, orders.policy(node).drain)
    is_saving = any(pod.offers_checkpoint and pod.checkpoint_asked != token for pod in leaving)
    return open_phase(node, NodePhase.DRAIN_REQUIRED, now, is_saving=is_saving)


def evict(node: NodeSeen, pods: tuple[Pod, ...], leave: Exit, orders: Orders, now: Instant) -> Step:
    """Ask pods to leave, or say what keeps them. Only for a node with pods to evict."""
    facts, record = node.facts, record_of(node)
    rules, deadline, failure, is_pausing = leave
    if not facts.is_cordoned:
        return wait(node, HoldCode.CORDON_LOST, deadline, FailureCode.CORDON_LOST, now)
    staying = [pod for pod in pods if not pod.is_terminating]
    for pod in staying:
        protected = _why_protected(pod, rules)
        if protected is not None:
            return wait(node, protected, deadline, failure, now, pod=pod.full_name)
    pausing = step_pausing(node, staying) if is_pausing else None
    if pausing is not None and now < deadline:
        return pausing
    movable = [pod for pod in staying if pod.keeper is not PodOwner.DAEMON_SET]  # their label is paused: they go
    due = tuple(pod for pod in movable if pod.uid not in orders.rebuffs or now >= retry_at(orders.rebuffs[pod.uid]))
    if due and now < deadline:
        act = EvictPods(node=node.name, attempt=record.attempt, pods=due)
        return Step(action=act, beside=refusal(node, orders))
    refused = refusal(node, orders)
    if refused is None:
        return wait(node, HoldCode.EVICTING, deadline, failure, now, pod=pods[0].full_name, count=len(pods))
    again = min((retry_at(orders.rebuffs[pod.uid]) for pod in movable if pod.uid in orders.rebuffs), default=None)
    return wait(
        node, HoldCode.EVICTION_BLOCKED, deadline, failure, now, look_again_at=again, params=dict(refused.params)
    )


def refusal(node: NodeSeen, orders: Orders) -> Hold | None:
    """That pods of the node were not let go, which stands until they leave; None where nobody said no."""
    blocked = [
        (pod, orders.rebuffs[pod.uid])
        for pod in node.facts.pods
        if pod.uid in orders.rebuffs and not pod.is_terminating and pod.keeper is not PodOwner.DAEMON_SET
    ]
    if not blocked or node.record is None:
        return None
    pod, rebuff = min(blocked, key=lambda pair: (retry_at(pair[1]), pair[0].uid))
    return hold(
        node.name,
        HoldCode.EVICTION_BLOCKED,
        since=node.record.entered_at,
        pod=pod.full_name,
        why=rebuff.detail,
        count=len(blocked),
    )


def step_slipped(node: NodeSeen, orders: Orders, deadline: Instant, now: Instant) -> Step | None:
    """Have those leave who came while the node was open; None where nobody did. They go before anything is proven."""
    pods = closing.slipped_in(node)
    if not pods:
        return None
    leave = Exit(orders.policy(node).eviction, deadline, FailureCode.EVICTION_TIMEOUT, is_pausing=False)
    step = evict(node, pods, leave, orders, now)
    if step.hold is None or step.hold.code is not HoldCode.EVICTING:
        return step
    return Step(hold=replace(step.hold, code=HoldCode.SLIPPED_IN))


def _why_protected(pod: Pod, rules: Eviction) -> HoldCode | None:
    if pod.keeper is PodOwner.KUBELET:
        return HoldCode.STATIC_POD_HOLDS_GPU
    if pod.keeper is PodOwner.DAEMON_SET:
        return None if pod.deploy_label else HoldCode.DAEMON_SET_HOLDS_GPU
    if pod.keeper is PodOwner.NOBODY and not rules.force:
        return HoldCode.POD_WITHOUT_CONTROLLER
    if pod.has_empty_dir and not rules.delete_empty_dir:
        return HoldCode.POD_WITH_EMPTY_DIR
    return None


def step_pausing(node: NodeSeen, staying: Iterable[Pod] = ()) -> Step | None:
    """Ask DaemonSets that choose their nodes by a deploy label to leave; None when there is nobody left to ask.

    Those asked before are asked again: given their label back, they may be about to start, and not to be seen yet.
    """
    facts, record = node.facts, record_of(node)
    wanted = {pod.deploy_label for pod in staying if pod.keeper is PodOwner.DAEMON_SET and pod.deploy_label}
    wanted |= dict(record.paused).keys()
    values = {key: facts.labels[key] for key in sorted(wanted) if PAUSED not in facts.labels.get(key, PAUSED)}
    if not values:
        return None
    paused = dict(record.paused) | values
    return Step(
        action=PauseClients(
            node=node.name,
            record=replace(record, paused=tuple(sorted(paused.items()))),
            expect=facts.resource_version,
            labels=tuple((key, paused_value(value)) for key, value in values.items()),
        )
    )


def paused_value(value: str) -> str:
    """A deploy label's value while it is paused, as NVIDIA's driver manager writes it."""
    return PAUSED if value == "true" else f"{value}_{PAUSED}"


# ── checkpoints ──────────────────────────────────────────────────────────────────────────────────────────────────────


def checkpoint_token(node: NodeSeen, orders: Orders) -> str:
    """What asks, and what an answer has to repeat: one per rollout, node and attempt."""
    return f"{orders.intent.rollout}.{node.name}.{record_of(node).attempt}"


def _checkpoint_deadline(node: NodeSeen, orders: Orders) -> Instant:
    record = record_of(node)
    return deadline_of(record, orders, orders.intent.checkpoint.timeout_seconds if record.is_saving else 0)


def _step_saving(
    node: NodeSeen, leaving: Iterable[Pod], orders: Orders, deadline: Instant, now: Instant
) -> Step | None:
    """Have jobs save their work; None when all have, or their time is up, or none offers to."""
    token = checkpoint_token(node, orders)
    unsaved = [
        pod
        for pod in leaving
        if _hook(pod, orders) is not None and not pod.is_terminating and pod.checkpoint_saved != token
    ]
    if not unsaved or now >= deadline:
        return None
    due = [pod for pod in unsaved if _is_due(pod, token, orders, now)]
    if due:
        webhook = _hook(due[0], orders) or ""
        together = tuple(pod for pod in due if _hook(pod, orders) == webhook)
        attempt = record_of(node).attempt
        return Step(action=AskCheckpoint(node=node.name, attempt=attempt, pods=together, token=token, webhook=webhook))
    again = [retry_at(orders.rebuffs[pod.uid]) for pod in unsaved if _hook(pod, orders) and pod.uid in orders.rebuffs]
    ending = next((pod for pod in unsaved if _hook(pod, orders) == KUEUE), None)
    pod, count = unsaved[0].full_name, len(unsaved)
    since, until = record_of(node).entered_at, min([deadline, *again])
    if ending is None:
        waiting = hold(
            node.name, HoldCode.CHECKPOINT_PENDING, since=since, until=until, pod=pod, count=count, token=token
        )
        return Step(hold=waiting)
    workload = f"{ending.namespace}/{ending.workload}"
    waiting = hold(node.name, HoldCode.KUEUE_PENDING, since=since, until=until, pod=pod, count=count, workload=workload)
    return Step(hold=waiting)


def _hook(pod: Pod, orders: Orders) -> str | None:
    """Who is asked before a pod is evicted: Kueue, a webhook, the pod itself (empty); None for nobody."""
    checkpoint = orders.intent.checkpoint
    if checkpoint.kueue and pod.workload:
        return KUEUE
    return checkpoint.webhook if pod.offers_checkpoint else None


def _is_off(pod: Pod, token: str) -> bool:
    """Whether a pod's Workload is suspended already: for this visit, or for another node that it runs on as well.

    Were the mark written anew for each of its nodes, they would take it from each other until the last pod is gone.
    """
    visit = (pod.suspended_for.rpartition(".")[0], token.rpartition(".")[0])
    return bool(pod.suspended_for) and (pod.suspended_for == token or visit[0] != visit[1])


def _is_due(pod: Pod, token: str, orders: Orders, now: Instant) -> bool:
    """Whether to ask: a pod is asked once, a webhook until it says that the work is saved."""
    hook = _hook(pod, orders)
    if hook == KUEUE and _is_off(pod, token):
        return False
    if not hook:
        return pod.checkpoint_asked != token
    return pod.uid not in orders.rebuffs or now >= retry_at(orders.rebuffs[pod.uid])
