"""What a rule is given and what it gives back. No rule lives here.

    Case    a stack, the facts and the day: all that a rule on one stack may look at
    Step    two stacks, the facts and the day: all that a rule on a change may look at
    Answer  one thing a rule has to say; several are folded into the rule's one Finding
    Rule    an id, what it means, what it reads, and the function that judges

A rule that finds nothing to judge gives no answer and so no finding: a stack without a network has no network rules.

The one law of this file: only what was verified in its source may block. A fail that rests on anything less becomes a
warn that names the confidence.

Tests: tests/core/compat/test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import Final, TypeVar

from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.facts import (
    Cite,
    Existence,
    Facts,
    GpuOperatorRelease,
    NetworkOperatorRelease,
    OpenShiftRelease,
    weakest,
)
from seatrial.core.compat.findings import BADNESS, Confidence, Finding, Verdict
from seatrial.core.compat.matrix import COMPONENTS, NOWHERE, Component, Hardware, Span, Stack, Value
from seatrial.core.compat.versions import (
    CudaVersion,
    DraDriverVersion,
    DriverVersion,
    KernelVersion,
    KubernetesVersion,
    NcclVersion,
    OfedVersion,
    OpenShiftVersion,
    OperatorVersion,
    PartVersion,
    SriovOperatorVersion,
    SystemVersion,
    Version,
)
from seatrial.core.errors import CoreBug

_V = TypeVar("_V", bound=Version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One stack to judge."""

    stack: Stack
    facts: Facts
    on: date

    def has(self, *components: Component) -> bool:
        """Whether the stack names all of them, readable or not."""
        values = self.stack.values
        for component in components:  # noqa: SIM110  a plan asks this so often that all() over a generator shows
            if component not in values:
                return False
        return True

    def spans(self, *components: Component) -> tuple[Span, ...]:
        """Where they are written; an empty tuple for stacks that do not come from a file."""
        return tuple(
            value.span for part in components if (value := self.stack[part]) is not None and value.span != NOWHERE
        )

    def unreadable(self, *components: Component) -> tuple[Answer, ...]:
        """One fail for each of them that is written but cannot be read."""
        values = [value for part in components if (value := self.stack[part]) is not None]
        return tuple(unread(value) for value in values if value.version is None)

    def _read(self, component: Component, kind: type[_V]) -> _V | None:
        value = self.stack[component]
        return value.version if value is not None and isinstance(value.version, kind) else None

    @property
    def hardware(self) -> Hardware:
        return self.stack.hardware

    @property
    def openshift(self) -> OpenShiftVersion | None:
        return self._read(Component.OPENSHIFT, OpenShiftVersion)

    @property
    def kubernetes(self) -> KubernetesVersion | None:
        return self._read(Component.KUBERNETES, KubernetesVersion)

    @property
    def kernel(self) -> KernelVersion | None:
        return self._read(Component.KERNEL, KernelVersion)

    @property
    def gpu_operator(self) -> OperatorVersion | None:
        return self._read(Component.GPU_OPERATOR, OperatorVersion)

    @property
    def driver(self) -> DriverVersion | None:
        return self._read(Component.GPU_DRIVER, DriverVersion)

    @property
    def cuda(self) -> CudaVersion | None:
        return self._read(Component.CUDA, CudaVersion)

    @property
    def cuda_compat(self) -> CudaVersion | None:
        return self._read(Component.CUDA_COMPAT, CudaVersion)

    @property
    def system(self) -> SystemVersion | None:
        return self._read(Component.OS, SystemVersion)

    @property
    def containerd(self) -> PartVersion | None:
        return self._read(Component.CONTAINERD, PartVersion)

    @property
    def dra_driver(self) -> DraDriverVersion | None:
        return self._read(Component.DRA_DRIVER, DraDriverVersion)

    @property
    def fabric_manager(self) -> DriverVersion | None:
        return self._read(Component.FABRIC_MANAGER, DriverVersion)

    @property
    def network_operator(self) -> OperatorVersion | None:
        return self._read(Component.NETWORK_OPERATOR, OperatorVersion)

    @property
    def mofed(self) -> OfedVersion | None:
        return self._read(Component.MOFED, OfedVersion)

    @property
    def sriov(self) -> SriovOperatorVersion | None:
        return self._read(Component.SRIOV_OPERATOR, SriovOperatorVersion)

    @property
    def nccl(self) -> NcclVersion | None:
        return self._read(Component.NCCL, NcclVersion)

    @property
    def gpu_release(self) -> GpuOperatorRelease | None:
        return None if self.gpu_operator is None else self.facts.gpu_operator(self.gpu_operator)

    @property
    def network_release(self) -> NetworkOperatorRelease | None:
        return None if self.network_operator is None else self.facts.network_operator(self.network_operator)

    @property
    def openshift_release(self) -> OpenShiftRelease | None:
        return None if self.openshift is None else self.facts.openshift(self.openshift)

    @property
    def module(self) -> str:
        """The kernel modules in force: as written, else the operator's default; empty where neither says."""
        release = self.gpu_release
        return self.hardware.kernel_module or (release.kernel_module if release is not None else "")

    @property
    def ofed(self) -> OfedVersion | None:
        """The network driver: as written, else the one the Network Operator ships."""
        if self.has(Component.MOFED) or self.network_release is None:
            return self.mofed
        return next(iter(self.network_release.ofeds), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change to judge."""

    before: Case
    after: Case

    @property
    def facts(self) -> Facts:
        return self.after.facts

    def moved(self, among: Iterable[Component] = COMPONENTS) -> tuple[Component, ...]:
        """What both stacks name and has another version now; what only one names is unsaid, not moved.

        A rule asks for what it judges and no more: a planner remembers an answer by what the rule looked at.
        """
        return tuple(
            part
            for part in among
            if self.before.has(part) and self.after.has(part) and self.before.stack.differs(self.after.stack, part)
        )

    def appeared(self) -> tuple[Component, ...]:
        """What only the stack after the change names."""
        return tuple(part for part in COMPONENTS if self.after.has(part) and not self.before.has(part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One thing a rule has to say."""

    verdict: Verdict
    message: str
    next_step: str = ""
    spans: tuple[Span, ...] = ()
    sources: tuple[str, ...] = ()
    confidence: Confidence = Confidence.VERIFIED
    own: tuple[str, ...] = ()


def ok(message: str, *cites: Cite | None, spans: tuple[Span, ...] = ()) -> Answer:
    """A fact says so."""
    return _answer(Verdict.OK, message, "", cites, spans)


def warn(message: str, next_step: str, *cites: Cite | None, spans: tuple[Span, ...] = ()) -> Answer:
    """Allowed, but outside what was tested or listed."""
    return _answer(Verdict.WARN, message, next_step, cites, spans)


def unknown(message: str, next_step: str, *cites: Cite | None, spans: tuple[Span, ...] = ()) -> Answer:
    """No fact about one side."""
    return _answer(Verdict.UNKNOWN, message, next_step, cites, spans)


def fail(message: str, next_step: str, *cites: Cite | None, spans: tuple[Span, ...] = ()) -> Answer:
    """A fact says they do not go together; a warn where a fact it rests on is not verified."""
    found = _answer(Verdict.FAIL, message, next_step, cites, spans)
    if found.confidence is Confidence.VERIFIED:
        return found
    return Answer(
        verdict=Verdict.WARN,
        message=f"{message} This rests on a fact of confidence {found.confidence.value!r}, so it does not block.",
        next_step=next_step,
        spans=spans,
        sources=found.sources,
        confidence=found.confidence,
        own=found.own,
    )


def unread(value: Value) -> Answer:
    """A value that cannot be read fails every rule that needs it."""
    return Answer(
        verdict=Verdict.FAIL,
        message=value.problem,
        next_step=f"Correct {value.component.value}, or leave it out until it is known.",
        spans=(value.span,) if value.span != NOWHERE else (),
    )


def nothing_known(what: str, newest: str, facts: Facts, spans: tuple[Span, ...]) -> Answer:
    """The answer for a version the knowledge base has no row for."""
    return unknown(
        f"There is no fact about {what}{f'; the newest known is {newest}' if newest else ''}: knowledge reaches up to "
        f"{facts.known_until}.",
        "Update seatrial, or its facts with `seatrial facts update`; add the fact with `seatrial facts add`; or accept "
        "the rule with a reason.",
        spans=spans,
    )


NAMES: Final = {Component.GPU_OPERATOR: "GPU Operator", Component.NETWORK_OPERATOR: "Network Operator"}


def no_release(case: Case, component: Component, version: OperatorVersion | None) -> Answer:
    """The answer for an operator we have no row for; that it was never released is for `exists` to fail."""
    name, known = f"{NAMES[component]} {version}", case.facts.operators(component)
    if version is not None and case.facts.existence(component, version) is Existence.NEVER:
        return unknown(
            f"{name} was never released, so nothing can be said about it.",
            "Take one of the releases that exist.",
            case.facts.cite(f"{component.value}.versioning"),
            spans=case.spans(component),
        )
    return nothing_known(name, str(max(known, default="")), case.facts, case.spans(component))


def _answer(
    verdict: Verdict, message: str, next_step: str, cites: Iterable[Cite | None], spans: tuple[Span, ...]
) -> Answer:
    named = [cite for cite in cites if cite is not None]
    return Answer(
        verdict=verdict,
        message=message,
        next_step=next_step,
        spans=spans,
        sources=tuple(dict.fromkeys(cite.source for cite in named)),
        confidence=weakest(named),
        own=_own(named),
    )


def _own(cites: Iterable[Cite]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cite.origin for cite in cites if cite.origin))


def _always(_: Case) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule on a stack or on a change; exactly one of `judge` and `judge_change` is there."""

    id: str
    title: str
    meaning: str
    """What it means: for a reader who has just met one of its findings."""
    inputs: tuple[Component, ...]
    sources: tuple[str, ...]
    """Where its facts come from, as paths of the knowledge base or as documents."""
    needs: tuple[Component, ...] = ()
    """The inputs without which there is nothing to judge."""
    applies: Callable[[Case], bool] = _always
    is_by_pool: bool = False
    """Whether it looks at the hardware, so that each pool of a mixed fleet is asked by itself."""
    judge: Callable[[Case], Iterable[Answer]] | None = None
    judge_change: Callable[[Step], Iterable[Answer]] | None = None

    @property
    def is_on_change(self) -> bool:
        return self.judge_change is not None

    def on_stack(self, case: Case) -> Finding | None:
        """The rule's one finding about a stack, or None where it has nothing to judge."""
        return fold(self.id, self.answers(case))

    def answers(self, case: Case) -> tuple[Answer, ...]:
        """All that the rule has to say about a stack, one by one."""
        if self.judge is None:
            raise CoreBug(f"rule {self.id} judges changes, not stacks")
        pools = case.hardware.pools
        if self.is_by_pool and len(pools) > 1:
            return tuple(self._on_pools(case, pools))
        if not case.has(*self.needs) or not self.applies(case):
            return ()
        return case.unreadable(*self.needs) or tuple(self.judge(case))

    def _on_pools(self, case: Case, pools: tuple[Hardware, ...]) -> Iterator[Answer]:
        for pool in pools:
            alone = replace(case, stack=replace(case.stack, hardware=pool))
            if self.judge is not None and case.has(*self.needs) and self.applies(alone):
                named = (replace(answer, message=f"{pool.name}: {answer.message}") for answer in self.judge(alone))
                yield from case.unreadable(*self.needs) or named

    def on_change(self, step: Step) -> Finding | None:
        """The rule's one finding about a change, or None where it has nothing to judge."""
        return fold(self.id, self.answers_on_change(step))

    def answers_on_change(self, step: Step) -> tuple[Answer, ...]:
        """All that the rule has to say about a change, one by one."""
        if self.judge_change is None:
            raise CoreBug(f"rule {self.id} judges stacks, not changes")
        return tuple(self.judge_change(step))


def _alone(rule: str, answer: Answer) -> Finding:
    return Finding(
        rule=rule,
        verdict=answer.verdict,
        message=answer.message,
        next_step=answer.next_step,
        spans=tuple(dict.fromkeys(answer.spans)),
        sources=answer.sources,
        confidence=answer.confidence,
        own=answer.own,
    )


def apart(rule: str, answers: Iterable[Answer]) -> tuple[Finding, ...]:
    """One finding per component that the rule objects to, at the place where the matrix names it; one if all is ok."""
    given = tuple(answers)
    groups: dict[tuple[Span, ...], list[Answer]] = {}
    for answer in [each for each in given if each.verdict is not Verdict.OK] or given:
        groups.setdefault(answer.spans[:1] if answer.verdict is not Verdict.OK else (), []).append(answer)
    folded = (fold(rule, group) for group in groups.values())
    return tuple(finding for finding in folded if finding is not None)


def fold(rule: str, answers: Iterable[Answer]) -> Finding | None:
    """All a rule has to say as one finding, the worst first; what is ok is left out where something is not."""
    ranked = sorted(answers, key=lambda answer: -BADNESS[answer.verdict])
    if not ranked:
        return None
    if len(ranked) == 1:
        return _alone(rule, ranked[0])
    top = ranked[0].verdict
    told = ranked if top is Verdict.OK else [answer for answer in ranked if answer.verdict is not Verdict.OK]
    worst_told = [answer for answer in told if answer.verdict is top]
    return Finding(
        rule=rule,
        verdict=top,
        message=" ".join(dict.fromkeys(answer.message for answer in told)),
        next_step=" ".join(dict.fromkeys(answer.next_step for answer in told if answer.next_step)),
        spans=tuple(dict.fromkeys(span for answer in told for span in answer.spans)),
        sources=tuple(dict.fromkeys(source for answer in told for source in answer.sources)),
        confidence=max((answer.confidence for answer in worst_told), key=list(Confidence).index),
        own=tuple(dict.fromkeys(each for answer in told for each in answer.own)),
    )
