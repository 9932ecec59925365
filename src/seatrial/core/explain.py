"""Holds and failures as sentences: why it waits, and what to do. The only place in core with English for users.

Tests: tests/core/test_explain.py; docs/reference/holds.md is generated from EXPLANATIONS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from seatrial.core.holds import Hold, HoldCode
from seatrial.core.node import FailureCode
from seatrial.core.snapshot import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why, and what next; `{names}` are filled from the hold's parameters."""

    why: str
    next_step: str


def _says(why: str, next_step: str) -> Explanation:
    return Explanation(why=why, next_step=next_step)


_BY_ITSELF: Final = "Nothing to do: it goes on by itself."

EXPLANATIONS: Final[Mapping[HoldCode, Explanation]] = {
    HoldCode.PAUSED: _says(
        "the rollout is paused; every node keeps its place",
        'Resume with `kubectl patch gpurollout {rollout} --type=merge -p \'{{"spec":{{"paused":false}}}}\'`.',
    ),
    HoldCode.STALE_VIEW: _says(
        "the view of {source} is not current, and nobody is disrupted on an old view",
        "Usually passes within a minute; otherwise check the API server and the controller's log.",
    ),
    HoldCode.MODE_CONTRADICTION: _says(
        "NVIDIA's own upgrade controller is on ({owner} has autoUpgrade: true), and only one may move the nodes",
        "Set upgradePolicy.autoUpgrade to false on {owner} to let seatrial move the nodes.",
    ),
    HoldCode.TARGET_NOT_PUBLISHED: _says(
        "the rollout wants driver {target}, but the driver DaemonSet carries {found}",
        "Publish {target} (in the ClusterPolicy, the NVIDIADriver or the DaemonSet), or change the rollout's target.",
    ),
    HoldCode.PARALLEL_LIMIT: _says(
        "{limit} nodes may be upgraded at once, and that many are under way: {nodes}",
        "Its turn comes when one of them ends; raise spec.limits.maxParallelUpgrades to go faster.",
    ),
    HoldCode.UNAVAILABLE_LIMIT: _says(
        "{limit} nodes may be unavailable, and {taken} are: {nodes}",
        "Bring an unavailable node back, or raise spec.limits.maxUnavailable.",
    ),
    HoldCode.FAILURE_BUDGET: _says(
        "{failed} nodes have failed ({nodes}), {limit} may; no further node starts",
        "Look at each with `seatrial why`; retry it by setting its label to upgrade-required.",
    ),
    HoldCode.LEDGER_PENDING: _says("its place in the ledger is being written", _BY_ITSELF),
    HoldCode.PASS_FULL: _says("this pass already has its {limit} acts", _BY_ITSELF),
    HoldCode.SKIPPED: _says(
        "somebody marked the node with nvidia.com/gpu-driver-upgrade.skip=true",
        "Remove the label to let the node be upgraded.",
    ),
    HoldCode.NODE_NOT_READY: _says(
        "the node is NotReady, and an upgrade could not finish on it",
        "Bring the node back, or mark it nvidia.com/gpu-driver-upgrade.skip=true.",
    ),
    HoldCode.DRIVER_POD_MISSING: _says(
        "the node has no driver pod",
        "Check that the driver DaemonSet selects the node: "
        "`kubectl get pods -A -o wide --field-selector spec.nodeName={subject}`.",
    ),
    HoldCode.REVISION_UNKNOWN: _says(
        "it is not known which revision the owner of driver pod {pod} wants",
        "Usually passes within seconds of a change; a driver pod without a DaemonSet must be removed by hand.",
    ),
    HoldCode.RECORD_UNREADABLE: _says(
        "the annotation seatrial.dev/upgrade cannot be read: {found}",
        "Restore the annotation, or remove it and the label to start this node afresh (check its cordon first).",
    ),
    HoldCode.RECORD_EDITED: _says(
        "the state label says {found}, our record says {recorded}, and we do not guess who is right",
        "Remove the label to restore the record; only a failed node is retried by setting it to upgrade-required.",
    ),
    HoldCode.WRITE_IN_FLIGHT: _says("a write of ours is not yet answered, or not yet to be seen", _BY_ITSELF),
    HoldCode.WRITE_REFUSED: _says(
        "the API server turned our last write down: {why}",
        "It is tried again by itself; if it stays so, check the controller's rights with `kubectl auth can-i --list`.",
    ),
    HoldCode.CORDON_LOST: _says(
        "somebody uncordoned the node while it was being upgraded",
        "Cordon it again to let the upgrade go on (the cordon is then yours to lift); otherwise the node is given up.",
    ),
    HoldCode.EVICTING: _says(
        "GPU pods still on their way out: {count}, first {pod}", "Nothing to do unless a pod hangs in Terminating."
    ),
    HoldCode.EVICTION_BLOCKED: _says(
        "evictions of GPU pods turned down: {count}, first {pod}: {why}",
        "Give the pod's budget room (more replicas, or a looser PodDisruptionBudget); it is tried again by itself.",
    ),
    HoldCode.POD_WITHOUT_CONTROLLER: _says(
        "pod {pod} has no controller and would be lost for good",
        "Move or delete it yourself, or set spec.podDeletion.force.",
    ),
    HoldCode.POD_WITH_EMPTY_DIR: _says(
        "pod {pod} keeps data in an emptyDir that eviction deletes",
        "Save the data and delete the pod yourself, or set spec.podDeletion.deleteEmptyDir.",
    ),
    HoldCode.DRIVER_STOPPING: _says(
        "the old driver pod {pod} is stopping", "Nothing to do unless it hangs: then look at the node's kubelet."
    ),
    HoldCode.DRIVER_STARTING: _says(
        "driver pod {pod} is starting{trouble_text}",
        "See `kubectl logs` and `kubectl describe pod` of {pod} if it takes longer than usual.",
    ),
    HoldCode.DRIVER_NOT_READY: _says(
        "driver pod {pod} is not ready{trouble_text}", "See `kubectl logs` and `kubectl describe pod` of {pod}."
    ),
    HoldCode.VALIDATOR_MISSING: _says(
        "the node has no running validator pod, and unproven is not proven",
        "Check the DaemonSet with app=nvidia-operator-validator.",
    ),
    HoldCode.VALIDATOR_NOT_READY: _says(
        "the validator has not finished its checks",
        "See `kubectl logs` of the validator pod if it takes longer than usual.",
    ),
    HoldCode.VALIDATOR_STALE: _says(
        "the validator was Ready before the new driver, so it proves nothing about it",
        "It normally restarts with the driver; delete the validator pod on the node to have it check again.",
    ),
    HoldCode.FAILED: _says(
        "the upgrade of this node failed: {why_text}",
        "Mend the cause, then retry: "
        "`kubectl label node {subject} seatrial.dev/gpu-driver-upgrade-state=upgrade-required --overwrite`.",
    ),
}

FAILURES: Final[Mapping[str, str]] = {
    FailureCode.EVICTION_TIMEOUT: "GPU pods did not leave in time; nothing was deleted by force",
    FailureCode.DRIVER_CRASH_LOOP: "a container of the driver pod keeps crashing",
    FailureCode.DRIVER_TIMEOUT: "the driver pod did not become Ready in time",
    FailureCode.VALIDATION_TIMEOUT: "the validator did not pass in time; the node stays cordoned",
}


def why(held: Hold) -> str:
    """Why it waits, as the middle of a sentence."""
    return _fill(EXPLANATIONS[held.code].why, held)


def next_step(held: Hold) -> str:
    """What somebody can do about it."""
    return _fill(EXPLANATIONS[held.code].next_step, held)


def sentence(held: Hold, now: Instant) -> str:
    """The whole answer: who, why, how long yet, and what next."""
    return f"{held.subject}: {why(held)}{_times(held, now)}. {next_step(held)}"


def span(seconds: float) -> str:
    """A duration as people say it."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _fill(text: str, held: Hold) -> str:
    params = dict(held.params)
    trouble = params.get("trouble", "")
    params["trouble_text"] = f" ({trouble})" if trouble else ""
    reason = params.get("why", "")
    params["why_text"] = FAILURES.get(reason, reason or "no reason was recorded")
    # What others say may end with a full stop of its own.
    return text.format(**{key: value.rstrip(". ") for key, value in params.items()}, subject=held.subject)


def _times(held: Hold, now: Instant) -> str:
    parts = []
    if held.since is not None and now - held.since >= 1:
        parts.append(f"for {span(now - held.since)}")
    if held.until is not None and held.until > now:
        parts.append(f"at most {span(held.until - now)} more before we look again or give up")
    return f" ({', '.join(parts)})" if parts else ""
