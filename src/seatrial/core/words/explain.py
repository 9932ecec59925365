"""Holds and failures as sentences: why it waits, and what to do.

The sentences of holds are tables of their own, of_rollouts.py and of_nodes.py; here their gaps are filled.
Law of this file: it never raises, since the controller writes these sentences while it decides. What a hold should have
said and did not is a gap that reads UNKNOWN; tests look for it wherever a hold is made (tests/core/words/explained.py).
Tests: tests/core/words/ (test_explain.py, test_hold_parameters.py); docs/reference/holds.md is made from EXPLANATIONS.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from shlex import quote
from typing import Final

from seatrial.core.budget.attrition.values import Reason
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model import deployers, troubles
from seatrial.core.model.campaign import Point, Via
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.releases import is_holder
from seatrial.core.model.seen.rollouts import Told
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.progress import ANY
from seatrial.core.text import spans
from seatrial.core.text.commands import filled
from seatrial.core.text.moments import dated
from seatrial.core.text.names import number_of
from seatrial.core.words.explanations import Explanation
from seatrial.core.words.of_nodes import OF_NODES
from seatrial.core.words.of_rollouts import OF_ROLLOUTS

EXPLANATIONS: Final[Mapping[HoldCode, Explanation]] = {**OF_ROLLOUTS, **OF_NODES}

POINTS: Final[Mapping[str, str]] = {
    Point.CANARY: "the canary is touched",
    Point.WAVES: "the fleet follows the canary",
    Point.PROMOTION: "the matrix is promoted",
    Point.ROLLBACK: "it is undone",
}

PUBLISHING: Final[Mapping[str, str]] = {
    Via.GIT: f"It continues when {deployers.ENGINE} has applied the commit; check that it syncs, "
    "and whether a pull request waits to be merged.",
    Via.DIRECT: "It continues when the GPU Operator has updated the DaemonSets; check its log if it does not.",
    Via.NOBODY: "Publish {version} in {resource}.",
}

RELEASED: Final = "It continues when the operator's Deployment runs the release; check {resource} if it does not."
"""The same where the version is a chart's."""

FOLLOWED: Final = "It continues when {follower}, now at {at}, applies our commit; {look} makes it sync now."
FOLLOWED_UNTOLD: Final = "It continues when {follower} applies our commit; {look} makes it sync now."
"""The same where it is seen who does so; it looks by itself every few minutes."""

OBSERVED: Final = "`seatrial rollout observed {component} {version} {names}`"
OTHERWISE_RETRY: Final = "; or fix the cause, then `seatrial node retry NODE`"
OTHERWISE_NOTHING: Final = (
    ". A failed gate is not asked again and cannot be overruled: to try again, undo this rollout and start another"
)

RETRIED: Final = "Once it is fixed: `seatrial node retry {subject}`."
AGAIN: Final = "Then: `seatrial node retry {subject}` (or set its label {label} to upgrade-required)."
LEFT_OUT: Final = (
    "It is left out, and stays as it is. To try again: `seatrial node unskip {subject}`, then `seatrial node retry "
    "{subject}`."
)
UNDO: Final = "; or raise limits.maxFailed; or go back with `seatrial rollout abort {subject} --reason ...`"
UNDO_MARKED: Final = f"{UNDO}, which marks the entry bad"
"""What else there is to do where a campaign stops, and what that does to the matrix."""

CLOSED: Final = "its gates have passed: they need its GPUs free"
CLOSED_BACK: Final = "it runs {} again, since its gates have not passed on this driver"
"""What a canary waits for that stays cordoned: forward, and on the way back."""

FAILURES: Final[Mapping[str, str]] = {
    FailureCode.EVICTION_TIMEOUT: "GPU pods did not leave in time; none was force-deleted",
    FailureCode.DRAIN_TIMEOUT: "the node was not drained in time; no pod was force-deleted",
    FailureCode.MAINTENANCE_TIMEOUT: "the maintenance operator did not drain the node in time",
    FailureCode.CORDON_LOST: "the node was uncordoned during its upgrade, and nobody cordoned it again",
    FailureCode.DRIVER_CRASH_LOOP: "a container of the driver pod keeps crashing",
    FailureCode.DRIVER_TIMEOUT: "the driver pod did not become Ready in time",
    FailureCode.OPERAND_TIMEOUT: "an operand of the node did not become Ready in time",
    FailureCode.VALIDATION_TIMEOUT: "the new driver was not validated in time; the node stays cordoned",
}

TAKEN: Final[Mapping[str, str]] = {
    Reason.WAITING_COSTS_MORE: "its jobs are evicted early",
    Reason.REPLICAS: "it serves and would never end, and ready replicas elsewhere answer meanwhile",
    Reason.SAVED: "its job has just saved its work, and the next time would be too late",
    Reason.DEADLINE: "the deadline leaves no more time",
}
"""Why a node is emptied before its jobs have ended, by the text of a Reason of attrition."""

ENDS: Final[Mapping[str, str]] = {
    HoldCode.CLOSED_AHEAD: "",
    HoldCode.LEFT_OPEN: "closed within {} at the latest",
    HoldCode.GIVEN_BACK: "left alone for another {}",
}
"""What the end of a wait is, where it is neither another look nor a failure; empty where the next step says it."""

UNKNOWN: Final = "(unknown)"


class _Filled(str):
    """What fills a gap; `{count:node}` counts nodes, and `{count:is|are}` is the word that goes with the count."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        one, _, many = spec.partition("|")
        if many:
            return one if self == "1" else many
        if spec and self.isdecimal():
            return number_of(int(self), spec)
        return f"{self} {spec}s" if spec else str(self)


class _Gaps(dict[str, str]):
    """What fills the gaps of a sentence; a hole is said to be one."""

    def __missing__(self, _name: str) -> str:
        return _Filled(UNKNOWN)


def _hand_step(params: Mapping[str, str]) -> str:
    """What a person does, and how it comes to be seen."""
    told = params.get("instructions", "").rstrip(". ")
    first = f"{told}. " if told else "Install it with its own tools. "
    if params.get("shown"):
        return f"{first}It is detected automatically, in the node's {params['shown']}."
    return f"{first}Kubernetes does not show it: report it with {filled(OBSERVED, params)} once it is installed."


def _back_step(params: Mapping[str, str]) -> str:
    if params.get("shown"):
        return f"Put it back with its own tools; it is detected automatically, in the node's {params['shown']}."
    version = params.get("before", "")
    version = "VERSION" if " " in version else version
    said = filled(OBSERVED, _Gaps({**params, "version": version}))
    return f"Put it back with its own tools, then report it with {said}."


@lru_cache(maxsize=1024)  # what waits is told again on every pass, in the same words
def why(held: Hold) -> str:
    """Why it waits, as the middle of a sentence."""
    text = _fill(EXPLANATIONS[held.code].why, held)
    cause, lack = _diagnosis(held), _lack(held)
    text = f"{text}; {cause[0]}" if cause else f"{text}; {why(lack)}" if lack is not None else text
    return f"{text}{_taken(held)}{_opened(held)}"


def _opened(held: Hold) -> str:
    """How often somebody opened the node since its driver was deleted, where they did and the hold does not say so."""
    count = dict(held.params).get("reopened", "")
    if not count or held.code is HoldCode.SLIPPED_IN:
        return ""
    times = "once" if count == "1" else f"{count} times"
    return f"; the node was uncordoned {times} after its old driver was deleted, and cordoned again"


@lru_cache(maxsize=1024)
def next_step(held: Hold) -> str:
    """What somebody can do about it."""
    cause = _diagnosis(held)
    if cause is not None and held.code is not HoldCode.FAILED:
        return cause[1]
    lack = _lack(held)
    if lack is not None:
        return f"{next_step(lack)} {_fill(LEFT_OUT if dict(held.params).get('skipped') else RETRIED, held)}"
    return _fill(EXPLANATIONS[held.code].next_step, held)


def _lack(held: Hold) -> Hold | None:
    """What a node that has failed for want of proof lacks to this moment, as the hold that it was before."""
    params = dict(held.params)
    code = params.pop("lack", "")
    return hold(held.subject, HoldCode(code), params) if held.code is HoldCode.FAILED and code else None


def _diagnosis(held: Hold) -> tuple[str, str] | None:
    """What a recognised trouble means, and what to do about it; none for one that only a later release knows."""
    params = dict(held.params)
    if params.get("diagnosis") not in frozenset(troubles.Trouble):
        return None
    found = troubles.Diagnosis(trouble=troubles.Trouble(params["diagnosis"]), found=params.get("found", ""))
    cause, cure = troubles.advice(
        found,
        pod=params.get("pod", "the driver pod"),
        node=held.subject,
        kernel=params.get("kernel", ""),
        back=params.get("back", ""),
    )
    return cause.rstrip(". :"), cure


def _fill(text: str, held: Hold) -> str:
    params = _Gaps(held.params)
    trouble = params.get("trouble", "")
    params["trouble_text"] = f" ({trouble})" if trouble else ""
    params.setdefault("label", "seatrial.dev/gpu-driver-upgrade-state")
    reason = params.get("why", "")
    params["why_text"] = FAILURES.get(reason, reason or "no reason was recorded")
    params["reason_text"] = f": {reason}" if reason else ""
    params["setback_text"] = f"; evidence restarted when {params['setback']}" if params.get("setback") else ""
    params["pods_text"] = _pods_text(params)
    params["idle_text"] = _idle_text(params.get("idle", UNKNOWN))
    params["evicted_text"] = _evicted_text(held.until, params.get("kept", ""))
    params["point_text"] = POINTS.get(params.get("point", ""), "")
    params["silent_text"] = f"; {params['silent']} has it and is not Ready" if params.get("silent") else ""
    params["by_text"] = f" by rollout {params['by']}" if params.get("by") else ""
    params["scope_text"] = f" of {params['scope']}" if params.get("scope") else ""
    together = params.get("together", "")
    params["gpus_text"] = f"the nodes that are emptied together ({together}) have" if together else "it has"
    back = params.get("back", "")
    params["closed_text"] = CLOSED_BACK.format(back) if back else CLOSED
    params["namespace_text"] = f"namespace {params['namespace']}" if params.get("namespace") else "its namespace"
    if params.get("resource") == ANY:
        params |= {"resource": "the driver DaemonSets", "carrier_text": "the driver DaemonSets"}
    else:
        has_sets = params.get("resource", "").startswith(("ClusterPolicy/", "NVIDIADriver/"))
        params["carrier_text"] = f"{params['resource']}{' and its DaemonSets' if has_sets else ''}"
    cause = _diagnosis(held)
    params["cure"] = cause[1] if cause else "Fix the cause."
    # What others say may end with a full stop of its own.
    texts = _Gaps({key: _Filled(value.rstrip(". ")) for key, value in params.items()})
    whole = {
        "cure": params["cure"],
        "job_step": _job_step(params),
        "publish_step": filled(_publish_step(params), texts),
        "otherwise_step": OTHERWISE_NOTHING if params.get("is_final") else OTHERWISE_RETRY,
        "undo_step": filled(_undo_step(params.get("undo", "")), {"subject": held.subject}),
        "again_step": filled(LEFT_OUT if params.get("skipped") else AGAIN, {**texts, "subject": held.subject}),
        "hand_step": _hand_step(params) if held.code is HoldCode.BY_HAND_PENDING else "",
        "resume_step": _resume_step(params, held.subject) if held.code is HoldCode.POOL_PAUSED else "",
        "back_step": _back_step(params) if held.code is HoldCode.BY_HAND_BACK else "",
    }
    return filled(text, _Gaps({**texts, **whole, "subject": held.subject}))


def _idle_text(idle: str) -> str:
    """What a closed node costs."""
    if idle == "0":
        return "full, costs nothing"
    return f"{idle} {'GPU' if idle == '1' else 'GPUs'} idle"


def _evicted_text(until: Instant | None, kept: str) -> str:
    """Until when a closed node is waited for."""
    if kept == "late":
        return "evicted as soon as nothing else keeps it, since its deadline has passed"
    if kept == "size":
        return "never evicted, since its job is on more GPUs than that"
    if until is None:
        return "evicted by its deadline, which stands still now"
    return f"evicted at {dated(until):%Y-%m-%d %H:%M} UTC at the latest"


def _taken(held: Hold) -> str:
    """Why a node is emptied before its jobs have ended, with what either way costs; empty where it is not."""
    params = dict(held.params)
    because = TAKEN.get(params.get("taken", ""), "")
    if not because:
        return ""
    waiting = f"to wait costs {params['waiting']} GPU-hours, " if params["taken"] != Reason.DEADLINE else ""
    return f"; {because}: {waiting}to evict costs {params['evicting']} GPU-hours"


def _pods_text(params: Mapping[str, str]) -> str:
    """Which pods it is about: the only one, or how many and the first of them."""
    count, pod = params.get("count", UNKNOWN), params.get("pod", UNKNOWN)
    return f"pod {pod}" if count == "1" else f"{count} pods (first: {pod})"


def _job_step(params: Mapping[str, str]) -> str:
    """How to hear what a gate says so far."""
    namespace, _, name = params.get("job", "").partition("/")
    if not name:
        return "see the gates' Jobs"
    return f"`kubectl -n {quote(namespace)} logs {quote(f'job/{name}')}` shows its output so far"


def _undo_step(undo: str) -> str:
    """The way back of a campaign; a node has none of its own."""
    return {"marks": UNDO_MARKED, "leaves": UNDO}.get(undo, "")


def _publish_step(params: Mapping[str, str]) -> str:
    if is_holder(params.get("resource", "")):
        return RELEASED
    if not params.get("follower"):
        return PUBLISHING.get(params.get("via", ""), "")
    return FOLLOWED if params.get("at") else FOLLOWED_UNTOLD


def _resume_step(params: Mapping[str, str], rollout: str) -> str:
    """Who ends the pause of a pool, and with what."""
    command = (
        f'`kubectl patch machineconfigpool {quote(params["pool"])} --type merge -p \'{{"spec":{{"paused":false}}}}\'`'
    )
    if params.get("is_left"):
        return f"It stays paused: resuming it would bring what was undone to its nodes. If you want that: {command}."
    if params.get("by") == rollout:
        return "It is resumed when the canary has passed, or is back on its old version."
    return f"Resume the pool before the current certificates expire: {command}."


def times(held: Hold | Told, now: Instant) -> str:
    """Since when, and until when at the latest, in brackets."""
    parts = []
    if held.since is not None and now - held.since >= 1:
        parts.append(f"for {spans.span(now - held.since)}")
    if held.until is not None and held.until > now:
        said = ENDS.get(held.code, "looks again or gives up within {}")
        parts += [said.format(spans.span(held.until - now))] if said else []
    return f" ({', '.join(parts)})" if parts else ""
