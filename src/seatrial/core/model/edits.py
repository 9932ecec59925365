"""What an edit of a rollout means while it is under way: one row for every field of the spec. A table, no behaviour.

    refused             the API server turns it down (the rules are in manifests/crd.yaml): what was begun one way
                        cannot be undone another way
    at once             with the next pass, for everybody who has not got past it
    with what is next   the step under way ends as it began; the next one of its kind is taken as the rollout says now
    no effect           what it says was used when the campaign began, and is written down

Law of this file: no edit that the API server accepts leads to a breach of a promise (invariants.py). A field without a
row fails the tests; docs/reference/edits.md is generated from here.

Tests: tests/core/model/test_edits.py (every row is of a field, and the other way round; every edit in every phase),
tests/e2e/test_edits.py (what is refused and what is not, by a real API server)
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.model.target import PUBLISHED


class Effect(StrEnum):
    """When an edit takes effect."""

    REFUSED = "refused"
    """Always, once the rollout has a canary."""
    REFUSED_BEGUN = "refused once begun"
    """Once the campaign is past Proposed, for good."""
    AT_ONCE = "at once"
    NEXT = "with what is next"
    NONE_BEGUN = "no effect once begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What an edit of one field means."""

    effect: Effect
    means: str


def _refused(means: str) -> Edit:
    return Edit(effect=Effect.REFUSED, means=means)


def _refused_begun(means: str) -> Edit:
    return Edit(effect=Effect.REFUSED_BEGUN, means=means)


def _at_once(means: str) -> Edit:
    return Edit(effect=Effect.AT_ONCE, means=means)


def _next(means: str) -> Edit:
    return Edit(effect=Effect.NEXT, means=means)


def _none_begun(means: str) -> Edit:
    return Edit(effect=Effect.NONE_BEGUN, means=means)


_MATRIX: Final = _refused_begun("The way back leads over the place the campaign began with: its commits and its mark.")
_PUBLISHED: Final = _refused_begun("What was committed there is reverted there.")
_LEAVING: Final = _at_once("Nodes that are being emptied take it as it is now; time counts from when they began.")
_DRAINED: Final = _at_once("Nodes that are being drained take it as it is now; time counts from when they began.")
_JOBS: Final = _at_once("Nodes that wait for jobs take it as it is now; time counts from when they began to wait.")
_LIMIT: Final = _at_once(
    "A higher one lets more nodes start; under a lower one nodes that have not begun give their slot back, the "
    "others finish."
)
_DOMAIN: Final = _at_once("Nodes that start from now on count against it; nodes under way finish.")
_GATE: Final = _next(
    "Asked as it is now from the next round on; waves do not open before it has passed. A round under way in which it "
    "is another gate than before begins again. What has failed stays failed."
)
_WORD: Final = _at_once(
    "Counts in the round under way and in those that come, while it lasts. A verdict that was written down stays for "
    "its round, also when the word is taken back."
)
_WAVES: Final = _at_once(
    "The size of the current wave is worked out again. Nodes that have started continue, even if the wave gets smaller."
)
_WINDOW: Final = _at_once("Nodes that have not started wait for a window as it is now; nodes under way finish.")
_POOLS: Final = _refused_begun("Pools that were made or paused would be left so.")
_MAINTENANCE: Final = _refused_begun(
    "What was asked for in one name would never be given back; refused as soon as the controller has seen the rollout. "
    "To add maintenance where there was none is fine, for who starts from then on."
)
_ATTRITION: Final = _at_once(
    "What counts until the deadline stays as it is. Without attrition, nodes that wait for their jobs are given back, "
    "and evicted when their turn comes."
)
_TOLD: Final = _at_once("What happens from now on is sent there.")

_OPERAND: Final = _refused("Abort the rollout and make another. Without a canary: at once.")

EDITS: Final[Mapping[str, Edit]] = {
    "target.driver": _refused(
        "Abort the rollout and make another. Without a canary: at once, for nodes that have not begun."
    ),
    **dict.fromkeys((f"target.{each.value}" for each in PUBLISHED), _OPERAND),
    "evictOnRuntimeRestart": _at_once("For nodes whose container runtime has not been restarted yet."),
    "nodeSelector": _refused_begun("Nodes that left would be neither upgraded nor rolled back, and keep our marks."),
    "limits.maxParallelUpgrades": _LIMIT,
    "limits.maxUnavailable": _LIMIT,
    "limits.maxIdleGPUs": _LIMIT,
    "limits.maxFailed": _at_once(
        "With more failures than that no other node starts; a higher one lets the rest continue."
    ),
    "waitForCompletion.podSelector": _JOBS,
    "waitForCompletion.timeoutSeconds": _JOBS,
    "podDeletion.force": _LEAVING,
    "podDeletion.deleteEmptyDir": _LEAVING,
    "podDeletion.timeoutSeconds": _LEAVING,
    "drain.enable": _DRAINED,
    "drain.force": _DRAINED,
    "drain.deleteEmptyDir": _DRAINED,
    "drain.podSelector": _DRAINED,
    "drain.timeoutSeconds": _DRAINED,
    "domains": _DOMAIN,
    "domains[].label": _DOMAIN,
    "domains[].maxUnavailable": _DOMAIN,
    "domains[].unit": _DOMAIN,
    "order": _at_once(
        "The order and the members of the current wave are worked out again; nodes that have started continue."
    ),
    "retries.max": _at_once("Nodes that have failed are tried again as often as it says now."),
    "retries.pauseSeconds": _at_once("The pause counts from when the node failed."),
    "checkpoint.timeoutSeconds": _at_once("Counts from when the pods were asked."),
    "checkpoint.kueue": _next("Workloads of pods that are to leave from now on are suspended, or not."),
    "checkpoint.webhook": _next("Pods that are asked from now on are asked there."),
    "attrition.deadlineSeconds": _ATTRITION,
    "attrition.closeAhead": _ATTRITION,
    "attrition.earlyEviction": _ATTRITION,
    "maintenance.requestorID": _MAINTENANCE,
    "maintenance.namespace": _MAINTENANCE,
    "maintenance.prefix": _MAINTENANCE,
    "maintenance.timeoutSeconds": _at_once("Counts from when the maintenance operator was asked."),
    "driverTimeoutSeconds": _at_once("Counts from when the driver began to start; shorter than that, the node fails."),
    "validationTimeoutSeconds": _at_once("Counts from when the validation began; shorter than that, the node fails."),
    "paused": _at_once(
        "Everything stays as it is. After a resume the gates run again before evidence counts or the next node starts."
    ),
    "pausedBecause": _at_once("It is shown while the rollout is paused, and nothing is decided by it."),
    "onDelete": _at_once("What it says when the rollout is deleted counts, and afterwards as well."),
    "mode": _refused_begun("Who moves the nodes is written down; nodes half-way would have two movers, or none."),
    "matrix.git.url": _MATRIX,
    "matrix.git.branch": _MATRIX,
    "matrix.git.path": _MATRIX,
    "matrix.git.commit": _MATRIX,
    "matrix.configMap.namespace": _MATRIX,
    "matrix.configMap.name": _MATRIX,
    "matrix.configMap.key": _MATRIX,
    "matrix.entry": _MATRIX,
    "publish.via": _refused("What was published one way cannot be reverted another way."),
    "publish.setOnDelete": _next("The next version is published with it, or without."),
    "publish.oneWay": _at_once("A release that waits for it is brought; one that was brought stays."),
    "publish.git.path": _PUBLISHED,
    "publish.git.url": _PUBLISHED,
    "publish.git.branch": _PUBLISHED,
    "publish.git.pullRequests": _next("Steps that are not proposed or committed yet go the way it says now."),
    "canary.count": _none_begun("The canaries are chosen when the campaign begins."),
    "canary.nodes": _none_begun("The canaries are chosen when the campaign begins."),
    "canary.selector": _next("The canaries stay; one that leaves the cluster is replaced by a node with these labels."),
    "canary.machineConfigPool": _POOLS,
    "canary.pausePools": _POOLS,
    "gates": _GATE,
    "gates[].name": _GATE,
    "gates[].image": _GATE,
    "gates[].probe": _GATE,
    "gates[].command": _GATE,
    "gates[].gpus": _GATE,
    "gates[].timeoutSeconds": _next("Tries that are begun from now on have as long."),
    "gates[].attest.asks": _GATE,
    "gates[].expression": _GATE,
    "gates[].tenant.podSelector": _GATE,
    "gates[].tenant.pods": _GATE,
    "gates[].tenant.seconds": _GATE,
    "gates[].webhook": _GATE,
    "gates[].prometheus.query": _GATE,
    "gates[].prometheus.unit": _GATE,
    "gates[].prometheus.atLeast": _GATE,
    "gates[].prometheus.atMost": _GATE,
    "gates[].figures": _GATE,
    "gates[].figures[].name": _GATE,
    "gates[].figures[].atLeast": _GATE,
    "gates[].figures[].atMost": _GATE,
    "bake.durationSeconds": _at_once(
        "While the canary bakes. When the waves open, how much was asked for is written down, and later edits change "
        "nothing."
    ),
    "bake.everySeconds": _at_once("Counts from the last round."),
    "bake.minimumLoad": _at_once("While the canary bakes; later edits change nothing."),
    "bake.until.exclude": _at_once("While the canary bakes; later edits change nothing."),
    "bake.until.confidence": _at_once("While the canary bakes; later edits change nothing."),
    "waves.growth": _WAVES,
    "waves.first": _WAVES,
    "waves.step": _WAVES,
    "waves.factor": _WAVES,
    "waves.percentages": _WAVES,
    "waves.pauseSeconds": _at_once("Counts from when the wave was over."),
    "windows.timeZone": _WINDOW,
    "windows.open": _WINDOW,
    "windows.open[].days": _WINDOW,
    "windows.open[].start": _WINDOW,
    "windows.open[].minutes": _WINDOW,
    "approvals.manual": _next("A point that is still ahead waits for approval, or no longer does."),
    "approvals.approved": _next("An approval counts at its point; withdrawn after that, it changes nothing."),
    "approvals.tagWithFailures": _next(
        "The promotion waits for an approval when nodes have failed, or no longer does."
    ),
    "approvals.attested": _WORD,
    "approvals.attested[].gate": _WORD,
    "approvals.attested[].node": _WORD,
    "approvals.attested[].verdict": _WORD,
    "approvals.attested[].because": _WORD,
    "approvals.attested[].by": _WORD,
    "approvals.attested[].at": _WORD,
    "approvals.attested[].until": _WORD,
    "said": _at_once("It is shown, and nothing is decided by it."),
    "said[].what": _at_once("It is shown, and nothing is decided by it."),
    "said[].by": _at_once("It is shown, and nothing is decided by it."),
    "said[].at": _at_once("It is shown, and nothing is decided by it."),
    "abort": _at_once("The rollout is undone. It cannot be withdrawn; another text changes nothing."),
    "markBad": _at_once("With abort, until the rollout is Reverted: the entry is marked bad."),
    "prepull": _at_once("For nodes that have not started."),
    "byHand.component": _refused("People are half-way with it."),
    "byHand.version": _refused("People are half-way with it."),
    "byHand.before": _none_begun("The way back is written down when the campaign begins."),
    "byHand.instructions": _at_once("It is shown as it is."),
    "byHand.oneWay": _at_once("Whether people are asked to put it back, or whether it may stay."),
    "after": _none_begun("It is asked for before the campaign begins."),
    "notifications.webhook": _TOLD,
    "notifications.format": _TOLD,
}
"""By field of the spec, without `spec.`; `[]` stands for every item of a list."""
