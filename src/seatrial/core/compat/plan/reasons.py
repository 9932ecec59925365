"""Why a step is in a plan, and why it stands where it stands.

    why     what asks for it: the target, a release line between, a later step that fails without it
    order   why it comes before what comes later, or after what came before; where the usual order is left, the rule
            that makes it so, or that fewer doubts lie on this way

Tests: tests/core/compat/test_plan_reasons.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from itertools import pairwise
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.findings import Verdict
from seatrial.core.compat.matrix import COMPONENTS, Component, Group
from seatrial.core.compat.plan.judge import Judge
from seatrial.core.compat.plan.memory import Values
from seatrial.core.compat.plan.parts import NAMES, Part, named, part_of, parts_of, rank_of
from seatrial.core.compat.plan.search import State
from seatrial.core.compat.plan.values import Reason, Why
from seatrial.core.compat.versions import DriverVersion, LinedVersion

_DOUBTFUL: Final = (Verdict.WARN, Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What one step moves."""

    number: int
    place: int
    components: tuple[Component, ...]
    old: Values
    new: Values

    @property
    def parts(self) -> tuple[Part, ...]:
        return parts_of(self.components)

    @property
    def lead(self) -> Component:
        """What the step is called by."""
        return min((part for part in self.components if part in NAMES), key=COMPONENTS.index)

    @property
    def name(self) -> str:
        """What it leads to."""
        value = self.new.get(self.lead)
        return NAMES[self.lead] if value is None else named(value)

    @property
    def old_name(self) -> str:
        """What it comes from."""
        value = self.old.get(self.lead)
        return f"what {NAMES[self.lead]} is today" if value is None else named(value)


class Reasons:
    """Answers for every step of one way."""

    def __init__(self, states: Sequence[State], judge: Judge) -> None:
        self._states = states
        self._judge = judge
        self._needs: dict[int, Why | None] = {}
        self._moves = [self._move(number, *pair) for number, pair in enumerate(pairwise(states), start=1)]

    def _move(self, number: int, before: State, after: State) -> Moved:
        place = next(place for place, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1])
        old, new = (self._judge.space.roads[place].bundles[state[place]].values for state in (before, after))
        components = tuple(part for part in COMPONENTS if old.get(part) is not new.get(part))
        return Moved(number=number, place=place, components=components, old=old, new=new)

    # ── why ──

    def why(self, number: int) -> Iterator[Why]:
        """What asks for a step."""
        move = self._moves[number - 1]
        goal = self._held(self._states[-1], move.place)
        if all(move.new.get(part) is goal.get(part) for part in move.components):
            how_far = "" if self._is_path_doubted(move) else _how_far(move)
            yield Why(reason=Reason.WANTED, sentence=f"the target asks for {move.name}{how_far}")
        else:
            yield self._detour(move)
        if len(move.parts) > 1:
            yield self._at_once(move)
        needed = self._needed_by(move)
        if needed is not None:
            yield needed

    def _is_path_doubted(self, move: Moved) -> bool:
        """Whether nobody knows how far apart the two are, such as where one of them was never released."""
        found = self._judge.findings(self._states[move.number - 1], self._states[move.number])
        return any(each.rule == "upgrade-path" and each.verdict is Verdict.UNKNOWN for each in found)

    def _detour(self, move: Moved) -> Why:
        """Why not at once to what is wanted: a rule about the change forbids it, or the stack it would make."""
        before = self._states[move.number - 1]
        at_once = self._replaced(before, move, self._held(self._states[-1], move.place))
        wanted = self._named_in(at_once, move)
        alone = self._judge.on_lone_move(move.place, before[move.place], at_once[move.place]).failing
        failing = alone or self._judge.on_move(before, at_once, move.place).failing
        if "upgrade-path" in failing:
            unit = "minor" if Part.PLATFORM in move.parts else "release line"
            return Why(
                reason=Reason.NEXT_LINE,
                rule="upgrade-path",
                sentence=f"on the way to {wanted}: no {unit} may be skipped (rule upgrade-path)",
            )
        if failing:
            return Why(
                reason=Reason.NEXT_LINE,
                rule=min(failing),
                sentence=f"on the way to {wanted}, which cannot be reached at once ({_rules(failing)})",
            )
        failing = self._judge.on_stack(at_once).failing
        if failing:
            return Why(
                reason=Reason.FORCED,
                rule=min(failing),
                sentence=f"on the way to {wanted}, which does not yet fit the rest ({_rules(failing)})",
            )
        return Why(reason=Reason.FORCED, sentence=f"on the way to {wanted}: it keeps a later step possible")

    def _at_once(self, move: Moved) -> Why:
        """Why two things move in one step: what fails if one of them goes alone."""
        before, told, rules = self._states[move.number - 1], [], set[str]()
        for part in move.parts:
            alone = self._replaced(before, move, move.new, only=part)
            failing = self._judge.on_stack(alone).failing or self._judge.on_move(before, alone, move.place).failing
            first = next(each for each in move.components if part_of(each) is part)
            value = move.new.get(first)
            told.append(f"{named(value) if value else NAMES[first]} alone fails {', '.join(sorted(failing))}")
            rules |= failing
        return Why(
            reason=Reason.FORCED,
            rule=min(rules, default=""),
            sentence=f"they move in one step, because neither can go first: {'; '.join(told)}",
        )

    def _needed_by(self, move: Moved) -> Why | None:
        """What the first later step says that would fail without this one."""
        if move.number not in self._needs:
            self._needs[move.number] = self._asked_by(move)
        return self._needs[move.number]

    def _asked_by(self, move: Moved) -> Why | None:
        already = self._judge.on_stack(self._states[move.number - 1]).failing  # what fails today asks for nothing later
        for later in self._moves[move.number :]:
            if later.place == move.place and set(later.parts) & set(move.parts):
                return None  # the next step of the same part answers for the rest
            if Part.SRIOV in later.parts:
                continue  # it follows the platform and never leads
            here, there = (
                self._replaced(state, move, move.old) for state in self._states[later.number - 1 : later.number + 1]
            )
            moving, standing = self._judge.on_move(here, there, later.place), self._judge.on_stack(there)
            failing = (moving.failing - already) or (standing.failing - already)
            if failing:
                is_platform = Part.PLATFORM in later.parts
                return Why(
                    reason=Reason.BRIDGE if is_platform else Reason.FORCED,
                    rule=min(failing),
                    step=later.number,
                    sentence=f"{later.name} (step {later.number}) needs it: with {move.old_name} {_rules(failing)} "
                    "would fail",
                )
        return None

    # ── order ──

    def order(self, number: int) -> str:
        """Why a step stands where it stands; empty where nothing else moves."""
        move = self._moves[number - 1]
        part = move.parts[0]
        later = [each for each in self._moves[number:] if each.parts[0] is not part]
        earlier = [each for each in self._moves[: number - 1] if each.parts[0] is not part]
        overtaken = next((each for each in later if self._rank(each.parts[0]) < self._rank(part)), None)
        needed = self._needed_by(move)
        if overtaken is not None and (needed is None or needed.step != overtaken.number):
            return self._overtaking(move, overtaken)
        once = self._reloading(move)
        if once and not later:
            return once
        for mine, is_before, other, sentence in PLACES:
            if mine is part and any(other is each.parts[0] for each in (later if is_before else earlier)):
                return sentence.format(platform=self._platform)
        return "one thing at a time, so that a fault has one cause" if later or earlier else ""

    def _reloading(self, move: Moved) -> str:
        """What is to be said of a network driver that is kept on the way and reloaded once."""
        network = [each for each in self._moves if Part.NETWORK in each.parts]
        reloading = [each.number for each in network if Component.MOFED in each.components]
        if Part.NETWORK not in move.parts or len(reloading) != 1 or len(network) < 2:
            return ""
        if reloading == [move.number]:
            return "MOFED is reloaded here and nowhere else on the way: the releases before support the one that runs"
        return f"MOFED stays as it is until step {reloading[0]}, so that nodes reload it once"

    def _rank(self, part: Part) -> int:
        return rank_of(part, is_down=self._are_images_down)

    def _overtaking(self, move: Moved, later: Moved) -> str:
        """Why something comes later that usually goes first."""
        before = self._states[move.number - 1]
        tried = self._replaced(before, later, later.new)
        failing = self._judge.on_move(before, tried, later.place).failing or self._judge.on_stack(tried).failing
        if failing:
            return f"before {later.name}, which is not allowed yet ({_rules(failing)})"
        mine, theirs = (
            {each.rule for each in self._judge.findings(before, after) if each.verdict in _DOUBTFUL}
            for after in (self._states[move.number], tried)
        )
        start = f"before {later.name}, although that usually goes first"
        if "lifecycle" in theirs - mine:
            return f"{start}: what is out of support leaves first (rule lifecycle)"
        if theirs - mine:
            return f"{start}: the other way round {_rules(theirs - mine)} would raise a doubt"
        return f"{start}: this way fewer warnings and unknowns are met on the whole"

    # ── states that never were ──

    def _held(self, state: State, place: int) -> Values:
        return self._judge.space.roads[place].bundles[state[place]].values

    def _named_in(self, state: State, move: Moved) -> str:
        value = self._held(state, move.place).get(move.lead)
        return NAMES[move.lead] if value is None else named(value)

    def _replaced(self, state: State, move: Moved, values: Values, only: Part | None = None) -> State:
        """A state with what a step moves as it is in `values`."""
        held = dict(self._held(state, move.place))
        for component in Component:
            if part_of(component) in (move.parts if only is None else (only,)):
                held.pop(component, None)
                if component in values:
                    held[component] = values[component]
        bundle = self._bundles[move.place].get(_key(held), state[move.place])
        return (*state[: move.place], bundle, *state[move.place + 1 :])

    @cached_property
    def _bundles(self) -> list[dict[frozenset[int], int]]:
        roads = self._judge.space.roads
        return [{_key(bundle.values): place for place, bundle in enumerate(road.bundles)} for road in roads]

    @cached_property
    def _platform(self) -> str:
        values = next(
            (
                self._held(self._states[0], place)
                for place, road in enumerate(self._judge.space.roads)
                if road.group is Group.PLATFORM
            ),
            {},
        )
        return "OpenShift" if Component.OPENSHIFT in values or Component.KUBERNETES not in values else "Kubernetes"

    @cached_property
    def _are_images_down(self) -> bool:
        numbers = {part: move.number for move in self._moves for part in move.parts}
        return numbers.get(Part.IMAGES, 0) < numbers.get(Part.DRIVER, 0)


def _key(values: Values) -> frozenset[int]:
    return frozenset(map(id, values.values()))


def _rules(failing: Set[str]) -> str:
    return f"{'rule' if len(failing) == 1 else 'rules'} {', '.join(sorted(failing))}"


def _how_far(move: Moved) -> str:
    """How far a step goes that leads to what is wanted."""
    here, there = (values.get(move.lead) for values in (move.old, move.new))
    old, new = here.version if here else None, there.version if there else None
    if isinstance(old, LinedVersion) and isinstance(new, type(old)) and new < old:
        return ", which is older"
    match move.lead, old, new:
        case Component.GPU_OPERATOR | Component.NETWORK_OPERATOR, LinedVersion(), LinedVersion():
            return ", a patch of the release line that runs" if old.line == new.line else ", one release line on"
        case Component.OPENSHIFT | Component.KUBERNETES, LinedVersion(), LinedVersion():
            return ", a patch of the minor that runs" if old.line == new.line else ", one minor on"
        case Component.GPU_DRIVER, DriverVersion(), DriverVersion():
            return ", of the branch that runs" if old.branch == new.branch else f", branch {new.branch}"
        case _:
            return ""


PLACES: Final = (
    (
        Part.OPERATOR,
        True,
        Part.DRIVER,
        "before the driver: no GPU pod has to leave for it, and if something breaks you know which of the two it was",
    ),
    (
        Part.OPERATOR,
        True,
        Part.NETWORK,
        "before the Network Operator: its new releases need a recent GPU Operator",
    ),
    (
        Part.DRIVER,
        True,
        Part.IMAGES,
        "before the images: old CUDA runs on a new driver, new CUDA does not run on an old one",
    ),
    (
        Part.IMAGES,
        True,
        Part.DRIVER,
        "before the driver: images that need the new CUDA must be gone before an older driver comes",
    ),
    (
        Part.NETWORK,
        True,
        Part.FIRMWARE,
        "before the firmware: NVIDIA tests a MOFED that is newer than its firmware, not the other way round",
    ),
    (
        Part.FIRMWARE,
        True,
        Part.PLATFORM,
        "before {platform}, from which there is no way back",
    ),
    (
        Part.NETWORK,
        True,
        Part.PLATFORM,
        "before {platform}: it has to work on the old minor and on the new one",
    ),
    (
        Part.OPERATOR,
        True,
        Part.PLATFORM,
        "before {platform}: it has to work on the old minor and on the new one",
    ),
    (
        Part.DRIVER,
        True,
        Part.PLATFORM,
        "before {platform}: the GPUs are settled before the nodes get another kernel",
    ),
    (
        Part.PLATFORM,
        True,
        Part.SRIOV,
        "before the SR-IOV operator, which is built for one minor of OpenShift and follows it",
    ),
    (
        Part.IMAGES,
        False,
        Part.DRIVER,
        "after the driver: every node has to run the new one before the first image needs it",
    ),
    (
        Part.DRIVER,
        False,
        Part.IMAGES,
        "after the images: no image needs the newer driver by then",
    ),
    (
        Part.DRIVER,
        False,
        Part.OPERATOR,
        "after the GPU Operator: GPU pods have to leave for the driver, so it gets a step of its own",
    ),
    (
        Part.OPERATOR,
        False,
        Part.DRIVER,
        "after the driver: this release goes with the new one",
    ),
    (
        Part.NETWORK,
        False,
        Part.OPERATOR,
        "after the GPU Operator: new Network Operators need a recent one",
    ),
    (
        Part.FIRMWARE,
        False,
        Part.NETWORK,
        "after MOFED: NVIDIA tests a MOFED that is newer than its firmware, not the other way round",
    ),
    (
        Part.SRIOV,
        False,
        Part.PLATFORM,
        "after OpenShift: it is built for one minor and follows it",
    ),
    (
        Part.PLATFORM,
        False,
        Part.OPERATOR,
        "after the operators: they have to work on the old minor and on the new one",
    ),
    (
        Part.PLATFORM,
        False,
        Part.NETWORK,
        "after the operators: they have to work on the old minor and on the new one",
    ),
    (
        Part.WORKLOAD,
        False,
        Part.DRIVER,
        "last: images are rolled out by their owners, and nothing in the cluster waits for them",
    ),
)
"""Why one part comes before (True) or after (False) another; the first that fits is told."""
