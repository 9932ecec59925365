"""The controller's metrics: what core/decision/measures.py counts, under the names Prometheus gets to see.

NVIDIA's names keep NVIDIA's meaning, so that dashboards and alerts made for its upgrade controller go on working; what
its controller never told (states, holds, durations) is called `seatrial_…`. No metric is labelled by node: ten thousand
nodes must not become a million series. What is not known is not published: before the first pass, and while there is no
rollout to look at, the gauges about the rollout are absent, and not 0.

Tests: tests/controller/test_metrics.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, get_args

import prometheus_client
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from seatrial.bugs import Bug, Guard
from seatrial.core.actions.action import Action
from seatrial.core.decision import measures
from seatrial.core.decision.measures import Figures, Meter
from seatrial.core.holds import HoldCode
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.rollouts import Cost
from seatrial.core.survey.audit.auditing import Audit
from seatrial.core.survey.audit.findings import FindingKind
from seatrial.ports import Outcome, Result
from seatrial.run.loop import Report
from seatrial.supervision import Ending

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Of the page: the text format that every Prometheus reads."""

STATE_SECONDS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400)
"""From a cordon, which takes a second, to a node that waits four hours for its turn."""
PASS_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)

VERSIONS_MAX: Final = 20
"""Of one component, those that most nodes run: a fleet that never was one must not become a thousand series."""

TASKS: Final = ("source", "pacer", "events", "lease", "notices", "audit")
"""What works in the background, by the names it is told under."""

NVIDIA: Final[tuple[tuple[str, str, Callable[[Figures], int]], ...]] = (
    (
        "gpu_operator_driver_auto_upgrade_enabled",
        "Whether driver upgrades are automated: by a rollout that is not paused, or by NVIDIA's upgrade controller.",
        lambda figures: int(figures.is_automated),
    ),
    (
        "gpu_operator_nodes_upgrades_in_progress",
        "Nodes in any state but unknown, upgrade-required and upgrade-done; failed nodes are among them.",
        lambda figures: figures.in_progress_count,
    ),
    (
        "gpu_operator_nodes_upgrades_done",
        "Nodes in upgrade-done.",
        lambda figures: figures.done_count,
    ),
    (
        "gpu_operator_nodes_upgrades_failed",
        "Nodes in upgrade-failed.",
        lambda figures: figures.failed_count,
    ),
    (
        "gpu_operator_nodes_upgrades_available",
        "Free slots: how many more nodes may start now. Never negative.",
        lambda figures: figures.available_count,
    ),
    (
        "gpu_operator_nodes_upgrades_pending",
        "Nodes in upgrade-required, those marked skip included.",
        lambda figures: figures.pending_count,
    ),
)

# A second series per counter, with the time it was made: nothing reads it, and it doubles the page.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """Takes in pass after pass and gives the page; one per controller."""

    def __init__(self, *, version: str, now: Callable[[], Instant], is_leader: Callable[[], bool]) -> None:
        """`now` is the clock of the loop whose reports are taken."""
        self._now = now
        self._is_leader = is_leader
        self._latest: Report | None = None
        self._audit: tuple[Audit, Instant] | None = None
        self._meter = Meter()
        self._registry = CollectorRegistry()
        self._registry.register(_Standing(self._families))
        build = prometheus_client.Info("seatrial_build", "The version that runs.", registry=self._registry)
        build.info({"version": version})
        self._waiting = prometheus_client.Counter(
            "seatrial_waiting_seconds",
            "Node-seconds lost to waiting, by the reason.",
            ("code",),
            registry=self._registry,
        )
        self._durations = prometheus_client.Histogram(
            "seatrial_state_duration_seconds",
            "How long nodes were in a state they left.",
            ("state",),
            buckets=STATE_SECONDS,
            registry=self._registry,
        )
        self._acts = prometheus_client.Counter(
            "seatrial_acts",
            "Acts that were answered, by kind and result.",
            ("act", "result"),
            registry=self._registry,
        )
        self._breaches = prometheus_client.Counter(
            "seatrial_breaches",
            "Promises about to be broken; nothing of such a pass was executed.",
            ("promise",),
            registry=self._registry,
        )
        self._passes = prometheus_client.Histogram(
            "seatrial_pass_duration_seconds",
            "How long one pass took, from looking to the last act begun.",
            buckets=PASS_SECONDS,
            registry=self._registry,
        )
        self._endings = prometheus_client.Counter(
            "seatrial_background_endings",
            "How often work in the background ended and was restarted, by what it does.",
            ("task",),
            registry=self._registry,
        )
        self._bugs = prometheus_client.Counter(
            "seatrial_bugs",
            "Exceptions that were contained, by where: an object, an act or a rollout was set aside for each.",
            ("guard",),
            registry=self._registry,
        )
        self._begin_at_zero()

    def bug(self, bug: Bug) -> None:
        """Take in a bug of ours that was contained."""
        self._bugs.labels(guard=bug.guard.value).inc()

    def ended(self, ending: Ending) -> None:
        """Take in that work in the background ended; may be called by any thread."""
        self._endings.labels(task=ending.task).inc()

    def take(self, report: Report) -> None:
        """Take in one pass, right after it."""
        self._passes.observe(max(0.0, self._now() - report.at))
        self._take_outcomes(report.outcomes)
        for breach in report.breaches:
            self._breaches.labels(promise=breach.promise).inc()
        self._take_stays(report)
        self._meter = measures.follow(self._meter, report.decision, report.at)
        for code, seconds in self._meter.lost.items():
            self._waiting.labels(code=code.value).inc(seconds)
        self._latest = report

    def take_audit(self, audit: Audit, at: Instant) -> None:
        """Take in what an audit found, as of when it was begun."""
        self._audit = (audit, at)

    def page(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return prometheus_client.generate_latest(self._registry)

    def _begin_at_zero(self) -> None:
        """Show every series we can name from the start: a rate cannot see the step from nothing to 1."""
        for code in HoldCode:
            self._waiting.labels(code=code.value)
        for guard in Guard:
            self._bugs.labels(guard=guard.value)
        for task in TASKS:
            self._endings.labels(task=task)
        for phase in NodePhase:
            self._durations.labels(state=phase.value)
        for kind in get_args(Action):
            for result in Result:
                self._acts.labels(act=kind.__name__, result=result.value)

    def _take_outcomes(self, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            self._acts.labels(act=type(outcome.action).__name__, result=outcome.result.value).inc()

    def _take_stays(self, report: Report) -> None:
        before = self._latest.sight if self._latest is not None else None
        if before is None or report.sight is None:
            return
        for stay in measures.stays(before.seen, report.sight.seen):
            self._durations.labels(state=stay.phase.value).observe(stay.seconds)

    def _families(self) -> Iterator[GaugeMetricFamily]:
        """The gauges, counted when somebody asks and not on each of many passes between two questions."""
        yield GaugeMetricFamily(
            "seatrial_leader", "Whether this process leads; others stand by.", value=int(self._is_leader())
        )
        if self._audit is not None:
            yield from _audited(*self._audit)
        if self._latest is None or self._latest.sight is None or self._latest.decision is None:
            return
        broken = Counter(breach.promise for breach in self._latest.breaches)
        meaning = "What the last pass would have broken, by promise; nothing is done on the rollout while there is any."
        if broken:
            yield _by_label("seatrial_broken_promises", meaning, "promise", broken.items())
        sight = self._latest.sight
        figures = measures.measure(sight.seen, sight.intent, self._latest.decision)
        for name, meaning, value_of in NVIDIA:
            yield GaugeMetricFamily(name, meaning, value=value_of(figures))
        yield _by_label("seatrial_nodes", "Nodes by state.", "state", figures.nodes.items())
        yield _by_label("seatrial_holds", "Nodes that are held, by the reason.", "code", figures.holds.items())
        yield GaugeMetricFamily(
            "seatrial_operands_waiting_nodes",
            "Nodes whose operands wait for their turn; meanwhile the ClusterPolicy says notReady, as expected.",
            value=figures.operands_waiting_count,
        )
        yield _by_label(
            "seatrial_hold_wait_seconds",
            "How long the node that waits longest has waited, by the reason; counted from when we first saw it where "
            "the cluster does not say since when.",
            "code",
            self._meter.longest.items(),
        )
        if figures.phases:
            meaning = "1 for the phase of the rollout with a canary, 0 for every other."
            yield _by_label("seatrial_rollout_phase", meaning, "phase", figures.phases.items())
        cost = "GPUs of the nodes in the ledger, times how long they were in it, until the ledger was last written."
        for name, meaning, value in (
            ("seatrial_lost_gpu_seconds", cost, figures.lost_gpu_seconds),
            ("seatrial_rollout_baked_seconds", "How long the canary has been healthy.", figures.baked_seconds),
            ("seatrial_rollout_bake_seconds", "How long the canary has to stay healthy.", figures.bake_seconds),
        ):
            if value is not None:
                yield GaugeMetricFamily(name, meaning, value=value)
        if figures.cost is not None:
            yield from _by_attrition(figures.cost)


def _by_attrition(cost: Cost) -> Iterator[GaugeMetricFamily]:
    """What a rollout by attrition has cost, by cause, and what evictions would have."""
    causes = (
        ("idle", cost.idle_gpu_seconds),
        ("thrown-away", cost.thrown_gpu_seconds),
        ("reload", cost.reload_gpu_seconds),
    )
    meaning = "What a rollout by attrition has cost until its ledger was last written, by cause."
    yield _by_label("seatrial_attrition_gpu_seconds", meaning, "cause", causes)
    meaning = "Jobs that were evicted by attrition; a gang counts once."
    yield GaugeMetricFamily("seatrial_attrition_evicted_jobs", meaning, value=cost.evictions)
    meaning = "What it would have cost to evict each job when its node was closed."
    yield GaugeMetricFamily("seatrial_attrition_evicting_gpu_seconds", meaning, value=cost.evicting_gpu_seconds)


def _audited(audit: Audit, at: Instant) -> Iterator[GaugeMetricFamily]:
    """What an audit found; every kind is there, so that an alert sees it come."""
    yield GaugeMetricFamily("seatrial_audit_timestamp_seconds", "When the cluster was last audited.", value=at)
    found, nodes = Counter[str](), Counter[str]()
    for each in audit.findings:
        found[each.kind.value] += 1
        nodes[each.kind.value] += len(each.nodes)
    kinds = [each.value for each in FindingKind]
    yield _by_label("seatrial_audit_findings", "Findings, by kind.", "kind", ((each, found[each]) for each in kinds))
    meaning = "Nodes that findings are about, by kind; one about the cluster counts none."
    yield _by_label("seatrial_audit_finding_nodes", meaning, "kind", ((each, nodes[each]) for each in kinds))
    versions = GaugeMetricFamily(
        "seatrial_audit_version_nodes",
        "Nodes that run a version of a component; 1 where the cluster has the component once.",
        labels=("component", "version"),
    )
    for row in audit.rows:
        for version, count in row.found[:VERSIONS_MAX]:
            versions.add_metric((row.component.value, version), count)
    yield versions


class _Standing(Collector):
    """Lets gauges be made at the moment they are asked for, and be absent."""

    def __init__(self, families: Callable[[], Iterator[GaugeMetricFamily]]) -> None:
        self._families = families

    def collect(self) -> Iterator[GaugeMetricFamily]:
        return self._families()


def _by_label(name: str, meaning: str, label: str, values: Iterable[tuple[str, float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, meaning, labels=(label,))
    for text, value in values:
        family.add_metric((str(text),), value)
    return family
