"""The ways a node can take through its upgrade, worked out once for all nodes that are alike.

A node's own way depends on its facts, on the policy and on the order in which things happen to it; not on its name, nor
on how long each thing takes, nor on the other nodes once it is admitted. So it is walked with the real `step_node` and
the real reactions the first time somebody takes it, remembered as a tree of stations, and merely looked up after that:

    start ─admitted─▶ ● ─pods leave─▶ ● ─driver pod replaced─▶ ● ─driver gets ready─▶ ● ─validator restarts─▶ …
                      └─TIMER─▶ ●  (the eviction's time is up)                        └─GPUs offered─▶ …

A station says which reactions begin or end there, until when the node would wait (counted from an earlier station of
the same way), and how the node stands towards the fleet's budget. What makes this right is that the instants at which
`step_node` would decide otherwise are known (a hold's `until`, and one more: `_decides_at`), so that a way is told by
its events alone. tests/sim/test_forecast_same.py compares whole runs with those of `decide`.

Tests: tests/sim/test_forecast.py, tests/sim/test_forecast_same.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from seatrial.core.actions.on_nodes import EvictPods
from seatrial.core.base.values import dataclass, replace
from seatrial.core.budget import capacity
from seatrial.core.budget.losses import COUNT_LABEL, GPU
from seatrial.core.errors import CoreBug
from seatrial.core.holds import Hold
from seatrial.core.model.instants import ApiInstant, Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.rollouts import Admission, Rebuff
from seatrial.core.node import phases
from seatrial.core.node.step import VALIDATOR_SECONDS, step_node
from seatrial.core.node.writing import Orders
from seatrial.sim.acts import Refused, apply
from seatrial.sim.nodes import JOB_LABEL, Fate
from seatrial.sim.reactions import CORDON_NOTE, OPERATORS_OWN, REACTIONS

NAME: Final = "node"
STEPS_MAX: Final = 100
"""More acts than this at one instant are a circle."""
TIMER: Final = "time is up"
JOB_FINISHES: Final = "job finishes"
BUDGET_FREES: Final = "the disruption budget has room"
"""Besides the simulator's own reactions: here a budget blocks evictions for a while and not for ever."""
RESUMED: Final = "found failed"
IN_TIME: Final = " at the last moment"
"""Added to what happens at the very instant at which the node would have given up: it decides later than it happens."""


class Luck(NamedTuple):
    """What one attempt meets."""

    is_failing: bool = False
    is_blocked: bool = False


class Standing(NamedTuple):
    """How a node stands towards the budget of the fleet."""

    is_wishing: bool = False
    is_under_way: bool = False
    is_held: bool = False
    """Named in the ledger."""
    is_unavailable: bool = False
    is_failed: bool = False
    has_begun: bool = False


class Moment(float):
    """An instant that remembers from which station it was counted, so that others can count the same way."""

    __slots__ = ("offset", "station")

    def __new__(cls, value: float, station: int, offset: float = 0.0) -> Moment:
        made = super().__new__(cls, value)
        made.station, made.offset = station, offset
        return made

    station: int
    offset: float

    def __add__(self, seconds: float) -> Moment:
        return Moment(float(self) + seconds, self.station, self.offset + seconds)


Event: TypeAlias = str | Luck
"""A reaction's name, TIMER, BUDGET_FREES, RESUMED; or an admission, with the luck of the attempt."""


class Station:
    """Where a way has led; the next stations are found when somebody goes there first."""

    __slots__ = (
        "_admission", "_at", "_driver_uid", "_fate", "_intent", "_is_awake", "_next", "_pending", "_rebuffs", "_up_at",
        "depth", "evicted", "held", "node", "standing", "starts", "stops", "timer",
    )  # fmt: skip

    def __init__(
        self,
        intent: Intent,
        node: NodeSeen,
        *,
        admission: Admission | None,
        fate: Fate,
        rebuffs: Mapping[str, Rebuff],
        pending: Iterable[str],
        is_awake: bool,
        depth: int,
        now: Instant,
        driver_uid: str,
    ) -> None:
        self._intent, self._fate, self.depth = intent, fate, depth
        self._rebuffs = dict(rebuffs)
        self._next: dict[Event, Station] = {}
        self.evicted = 0
        """Pods asked to leave here."""
        self.node, self.held, is_wishing = self._settled(node, admission, now)
        ledger = capacity.still_admitted((admission,) if admission else (), {NAME: self.node}, intent)
        self._admission = ledger[0] if ledger else None
        record = self.node.record
        self.standing = Standing(
            is_wishing=is_wishing,
            is_under_way=bool(capacity.under_way(ledger, {NAME: self.node})),
            is_held=bool(ledger),
            is_unavailable=self.node.facts.is_unavailable,
            is_failed=capacity.has_failed(record),
            has_begun=record is not None and record.phase not in phases.NOT_STARTED,
        )
        # Until its turn comes, and once its users have it back, a node stays as it is: whoever ends there is replaced.
        # One that waits for another turn stays as it is, too, half way through whatever happens to it.
        self._is_awake = is_awake and (bool(ledger) or self.standing.is_failed or is_wishing)
        self._driver_uid = _driver_uid(self.node.facts)
        before = list(pending)
        known = set(before) if self._driver_uid == driver_uid else set()
        applicable = self._applicable(now) if self._is_awake else {}
        is_frozen = self._is_awake and is_wishing
        self.stops = () if is_frozen else tuple(what for what in before if what not in known or what not in applicable)
        self.starts = () if is_frozen else tuple(each for each in applicable.items() if each[0] not in known)
        self._pending = tuple(before if is_frozen else applicable)
        until = self._decides_at(now)
        self._at = float(now)
        self._up_at = None if until is None else float(until)
        self.timer: tuple[int, float] | None = None
        """When the node would decide otherwise by itself: seconds after an earlier station, by its number."""
        if until is not None:
            self.timer = (until.station, until.offset) if isinstance(until, Moment) else (0, until)

    def _decides_at(self, now: Instant) -> Instant | None:
        """When the node would decide otherwise, though nothing happened to it."""
        until, record = self.held.until if self.held is not None else None, self.node.record
        if until is None or record is None or record.phase is not NodePhase.VALIDATION_REQUIRED:
            return until
        # The one instant that a hold does not name while something else is missing from the proof.
        restarts_at = record.entered_at + VALIDATOR_SECONDS
        return min(until, restarts_at) if now < restarts_at else until

    def after(self, event: Event) -> Station:
        """The station that follows when this happens."""
        found = self._next.get(event)
        if found is None:
            found = self._next[event] = self._follow(event, Moment(self._when(event), self.depth + 1))
        return found

    def _when(self, event: Event) -> float:
        """An instant for this to happen at. Any will do that is before the node's own time is up, or just then.

        Not that of whoever comes here first: the station before may have been found by somebody else, in other times.
        """
        if self._up_at is None or isinstance(event, Luck):
            return self._at + 1.0
        is_last = event == TIMER or event.endswith(IN_TIME)
        return self._up_at if is_last else (self._at + self._up_at) / 2

    def _follow(self, event: Event, now: Moment) -> Station:
        node, admission, fate = self.node, self._admission, self._fate
        if isinstance(event, Luck):
            record = node.record
            admission = Admission(node=NAME, attempt=record.attempt if record else 0)
            fate = _fate(event, node.facts)
        elif event in (BUDGET_FREES, BUDGET_FREES + IN_TIME):
            fate = replace(fate, is_eviction_blocked=False)
        elif event == RESUMED:
            fate = _fate(Luck(is_failing=True), node.facts)  # nobody has mended it
        elif event != TIMER:
            facts = REACTIONS[event.removesuffix(IN_TIME)](node.facts, fate, now)
            node = replace(node, facts=facts) if facts is not None else node
        return Station(
            self._intent,
            node,
            admission=admission,
            fate=fate,
            rebuffs=self._rebuffs,
            pending=[what for what in self._pending if what != event and what + IN_TIME != event],
            is_awake=self._is_awake or isinstance(event, Luck) or event == RESUMED,
            depth=self.depth + 1,
            now=now,
            driver_uid=self._driver_uid,
        )

    def _settled(self, node: NodeSeen, admission: Admission | None, now: Instant) -> tuple[NodeSeen, Hold | None, bool]:
        """The node after everything that we would do to it at once, and what it waits for then."""
        orders = Orders(
            intent=self._intent,
            admitted={admission.node: admission.attempt} if admission else {},
            recalled=frozenset(),
            rebuffs=self._rebuffs,
            attentive_since=0.0,
        )
        for _ in range(STEPS_MAX):
            step = step_node(node, orders, now)
            if step.action is None:
                return node, step.hold, step.wants_admission
            answer = apply(node, step.action, self._fate)
            if isinstance(answer, Refused):
                self._remember(getattr(step.action, "pods", ()), answer, now)
                continue
            if isinstance(step.action, EvictPods):
                self.evicted += len(step.action.pods)
            node = answer
        raise CoreBug(f"a node acts in a circle, from {node.record}.")

    def _remember(self, pods: Iterable[Pod], answer: Refused, now: Instant) -> None:
        """What was turned down, as the loop's memory keeps it."""
        if answer.is_stale:
            raise CoreBug(f"an act came too late where nothing moves in between: {answer.why}.")
        for pod in pods:
            before = self._rebuffs.get(pod.uid)
            count = before.count + 1 if before else 1
            self._rebuffs[pod.uid] = Rebuff(at=now, count=count, code="blocked", detail=answer.why)

    def _applicable(self, now: Instant) -> dict[str, int]:
        """The reactions under way here, and how many pods each is about."""
        facts = self.node.facts
        # A kubelet that is silent does nothing.
        found = {
            what: 1
            for what, reaction in REACTIONS.items()
            if (facts.is_ready or what in OPERATORS_OWN) and reaction(facts, self._fate, now) is not None
        }
        if JOB_FINISHES in found:
            found[JOB_FINISHES] = sum(JOB_LABEL in dict(pod.labels) for pod in facts.pods)
        if self._fate.is_eviction_blocked and any(pod.uid in self._rebuffs for pod in facts.pods):
            found[BUDGET_FREES] = 1
        return found


def start(node: NodeSeen, intent: Intent, *, is_admitted: bool) -> Station:
    """The first station of a node as `alike` gives it."""
    record = node.record
    station = Station(
        intent,
        node,
        admission=Admission(node=NAME, attempt=record.attempt) if is_admitted and record else None,
        fate=Fate(),
        rebuffs={},
        pending=(),
        is_awake=False,
        depth=0,
        now=Moment(0.0, 0),
        driver_uid=_driver_uid(node.facts),
    )
    return station.after(RESUMED) if station.standing.is_failed and not is_admitted else station


def _fate(luck: Luck, facts: NodeFacts) -> Fate:
    wanted = facts.wanted.version if facts.wanted else ""
    return Fate(driver_fails_on=wanted if luck.is_failing else "", is_eviction_blocked=luck.is_blocked)


def _driver_uid(facts: NodeFacts) -> str:
    return facts.driver.uid if facts.driver else ""


# ── which nodes are alike ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A node without what tells it from its like: names, uids, versions of objects, instants but for their order."""

    node: NodeSeen
    labels: tuple[tuple[str, str], ...]
    """The node's labels are not compared, so those that matter are here once more."""
    is_admitted: bool


def kind_of(node: NodeSeen, intent: Intent, *, is_admitted: bool) -> Kind:
    """The kind of a node; whoever is of one kind has the same ways."""
    facts, record = node.facts, node.record
    labels = _labels_that_matter(node)
    keys = _selected_keys(intent)
    rank = _ranks(facts)
    driver, validator, plugin, loaded, found = facts.driver, facts.validator, facts.dra, facts.loaded, facts.maintenance
    plain = replace(
        facts,
        name=NAME,
        resource_version="1",
        ready_at=None,
        boot_id="",
        labels=labels,
        driver=driver
        and replace(
            driver,
            name="driver",
            uid="driver-0",
            ready_since=rank(driver.ready_since),
            started_at=rank(driver.started_at),
            trouble="",
            symptoms=(),
        ),
        validator=validator
        and replace(validator, name="validator", uid="validator-0", ready_since=rank(validator.ready_since)),
        dra=plugin and replace(plugin, name="plugin", uid="plugin-0", started_at=rank(plugin.started_at)),
        loaded=loaded and replace(loaded, seen_at=rank(loaded.seen_at)),
        maintenance=found
        and replace(found, name=found.name.replace(facts.name, NAME), uid="maintenance-0", resource_version="1"),
        pods=tuple(_plain_pod(pod, number, keys) for number, pod in enumerate(facts.pods)),
        offer=_plain_offer(facts.offer),
        mig_state="",
        symptoms=(),
    )
    seen = replace(node, facts=plain, record=record and _plain_record(record, driver.uid if driver else ""))
    return Kind(node=seen, labels=tuple(sorted(labels.items())), is_admitted=is_admitted)


def _labels_that_matter(node: NodeSeen) -> dict[str, str]:
    """Labels that reactions look at.

    Deploy labels only of clients that are here: a real node has one for every operand, and the operands that hold no
    GPU neither leave nor come back. What the node offers is what it has, whatever its label says.
    """
    facts, record = node.facts, node.record
    clients = {pod.deploy_label for pod in facts.pods} | {key for key, _ in (record.paused if record else ())}
    labels = {key: value for key, value in facts.labels.items() if key in clients or key == CORDON_NOTE}
    offer = record.before if record is not None and record.before is not None else facts.offer
    count = sum(each for _, each in offer.resources)
    return labels | ({COUNT_LABEL: str(count)} if count else {})


def _plain_offer(offer: GpuOffer) -> GpuOffer:
    """Whole GPUs and MIG slices go and come back together."""
    count = sum(each for _, each in offer.resources)
    return replace(offer, resources=((GPU, count),) if offer.resources else ())


def _plain_record(record: NodeRecord, driver_uid: str) -> NodeRecord:
    old = "driver-0" if record.old_pod and record.old_pod == driver_uid else "gone-0" if record.old_pod else ""
    # Deadlines count from the start of the forecast, as after an outage of the controller.
    before = record.before and _plain_offer(record.before)
    start = Moment(0.0, 0)
    return replace(record, attempt=1, entered_at=start, closed_at=None, old_pod=old, trouble="", before=before)


def _plain_pod(pod: Pod, number: int, keys: frozenset[str]) -> Pod:
    labels = tuple((key, value if key in keys else "") for key, value in pod.labels if key in keys or key == JOB_LABEL)
    return replace(
        pod,
        namespace="",
        name=f"pod-{number}",
        uid=f"pod-{number}",
        labels=labels,
        checkpoint_asked="",
        checkpoint_saved="",
    )


def _selected_keys(intent: Intent) -> frozenset[str]:
    """The labels of pods that the policies look at."""
    policies = (intent.policy, *intent.pools.values())
    selectors = [selector for policy in policies for selector in (policy.jobs.selector, policy.drain.selector)]
    return frozenset(term.key for selector in selectors if selector is not None for term in selector.terms)


def _ranks(facts: NodeFacts) -> Any:
    """Instants of the cluster by their order alone, all of them before the start."""
    owners = ((facts.driver, "ready_since"), (facts.driver, "started_at"), (facts.validator, "ready_since"))
    others = ((facts.dra, "started_at"), (facts.loaded, "seen_at"))
    instants: set[ApiInstant] = {
        instant for owner, key in (*owners, *others) if owner and (instant := getattr(owner, key)) is not None
    }
    ranks = {instant: float(number - len(instants)) for number, instant in enumerate(sorted(instants))}
    return lambda instant: None if instant is None else ranks[instant]
