"""A campaign as a tree in the terminal: one screen answers "where are we, and what do we wait for".

    spring  driver 570.124.06 → 580.105.08
    ✔ Proposed ▸ ✔ Canary ▸ ✔ Gating ▸ ▶ Baking ▸ Waving ▸ Promoting ▸ Done
    ├─ canary ✔ gpu-03 upgrade-done, runs 580.105.08
    ├─ bake   ████░░░░░░░░░░░░ 12.0 of 48.0 h with evidence
    …

Law of this file: a picture in, lines out. As many nodes as there are, the lines stay few: nodes are counted, and only
those that are worth a person's eye have a line. Tests: tests/cli/test_rollout_tree.py
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from seatrial.app.outcome import Outcome
from seatrial.app.picture import NodeLine, Picture
from seatrial.cli.show import ahead
from seatrial.core.base.values import dataclass
from seatrial.core.budget.losses import TOLD_HOURS
from seatrial.core.campaign.course import WAY_FORWARD
from seatrial.core.model.campaign import ENDED, RolloutPhase
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.rollouts import Told, Waiting
from seatrial.core.node.progress import Progress
from seatrial.core.text import spans
from seatrial.core.text.names import a_few, number_of

BAR: Final = 24
NAMED_MAX: Final = 4
LABEL: Final = 7


_BACK: Final = (RolloutPhase.REVERTING, RolloutPhase.REVERTED)
_STANDINGS: Final = (
    (Progress.DONE, "done"),
    (Progress.MOVING, "moving"),
    (Progress.AWAY, "to come"),
    (Progress.FAILED, "failed"),
    (Progress.SKIPPED, "left out"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ink:
    """What a terminal can show: which signs, and whether in colour."""

    is_plain: bool = False
    """ASCII only."""
    has_colour: bool = False

    def sign(self, name: str) -> str:
        return _SIGNS[name][self.is_plain]

    def paint(self, text: str, colour: str) -> str:
        return f"\033[{_COLOURS[colour]}m{text}\033[0m" if self.has_colour and text else text


_SIGNS: Final = {
    "done": ("✔", "+"),
    "failed": ("✖", "x"),
    "now": ("▶", ">"),
    "pending": ("◌", "."),
    "unknown": ("?", "?"),
    "then": ("▸", ">"),
    "to": ("→", "->"),
    "branch": ("├─", "|-"),
    "last": ("└─", "`-"),
    "trunk": ("│ ", "| "),
    "full": ("█", "#"),
    "half": ("▒", "+"),
    "empty": ("░", "."),
    "cut": ("…", "~"),
}
_PLAIN: Final = "\033[0m"
_COLOUR: Final = re.compile("\033\\[[0-9;]*m")
_COLOURS: Final = {"good": "32", "bad": "31;1", "now": "36;1", "held": "33", "faint": "2", "bold": "1"}
_VERDICTS: Final = {
    GateVerdict.PASSED: ("done", "good"),
    GateVerdict.FAILED: ("failed", "bad"),
    GateVerdict.PENDING: ("pending", "now"),
    GateVerdict.UNKNOWN: ("unknown", "held"),
}
_NODES: Final = {
    Progress.DONE: ("done", "good"),
    Progress.FAILED: ("failed", "bad"),
    Progress.MOVING: ("now", "now"),
    Progress.AWAY: ("pending", "faint"),
    Progress.SKIPPED: ("pending", "faint"),
}


def tree(picture: Picture, ink: Ink, width: int = 0, *, has_waits: bool = True) -> list[str]:
    """The lines of a picture, none longer than `width` when one is given; why it waits may stand elsewhere."""
    lines = [*_head(picture, ink, width)]
    branches = [
        branch
        for branch in (
            ("waits", [*_waits(picture, ink)] if has_waits else []),
            ("canary", [*_canary(picture, ink)]),
            ("gates", [*_gates(picture, ink)]),
            ("bake", [*_bake(picture, ink)]),
            ("waves", [*_waves(picture, ink)]),
            ("nodes", [*_nodes(picture, ink, {each.code for each in picture.told} if has_waits else None)]),
        )
        if branch[1]
    ]
    for number, (label, wide) in enumerate(branches):
        body = _wrapped(wide, width - LABEL - 3 if width else 0, then="" if label == "waits" else "  ")
        is_last = number == len(branches) - 1
        joint = ink.sign("last" if is_last else "branch")
        trunk = "  " if is_last else ink.sign("trunk")
        lines.append(f"{joint} {ink.paint(f'{label:{LABEL}}', 'bold')}{body[0]}")
        lines += [f"{trunk} {'':{LABEL}}{line}" for line in body[1:]]
    return [cut(line, width, ink) for line in lines] if width else lines


def _wrapped(lines: Iterable[str], room: int, *, then: str = "  ") -> list[str]:
    """Sentences whole, in as many lines as they need: a reason, or what to do, is worth nothing when it is cut."""
    return [part for line in lines for part in (_broken(line, room, then) if room else (line,))]


def _broken(line: str, room: int, then: str) -> Iterator[str]:
    """A line in parts that fit; a colour ends with each part and goes on in the next."""
    part = ""
    for word in line.split(" "):
        longer = f"{part} {word}" if part else word
        if not part or len(_COLOUR.sub("", longer)) <= room:
            part = longer
            continue
        colours = _COLOUR.findall(part)
        is_open = bool(colours) and colours[-1] != _PLAIN
        yield part + (_PLAIN if is_open else "")
        part = then + (colours[-1] if is_open else "") + word
    yield part


# ── the head ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _head(picture: Picture, ink: Ink, width: int) -> Iterator[str]:
    record = picture.record
    was = f"{picture.before} {ink.sign('to')} " if picture.before else ""
    step = picture.campaign.by_hand
    what = step.component.value if step is not None else "driver"
    yield f"{ink.paint(picture.name, 'bold')}  {what} {was}{picture.target}"
    yield _path(picture, ink, width)
    age = spans.span(picture.at - record.entered_at)
    phase = f"{record.phase.value} for {age}"
    if record.phase is RolloutPhase.PAUSED and record.paused_in is not None:
        phase = f"Paused in {record.paused_in.value} for {age}"
    yield from _wrapped([f"{phase}{_left(picture)}"], width)
    yield ink.paint("; ".join(filter(None, (f"{picture.who_moves} ({picture.mode})", picture.source))), "faint")
    if record.why:
        yield from _wrapped([ink.paint(f"undone because {record.ending}", "bad")], width)
    if record.rejected not in ("", record.why):
        yield from _wrapped([ink.paint(f"the version is rejected: {record.rejected}", "bad")], width)


def _left(picture: Picture) -> str:
    found = picture.outlook
    if found is None:
        return ""
    told = "time left unknown" if found.seconds is None else f"{ahead.left(found)} left"
    return f", {told} ({found.rests_on})"


def _path(picture: Picture, ink: Ink, width: int) -> str:
    """The phases, the current one marked; where there is no room for all of them, those around it."""
    record = picture.record
    now = record.paused_in or record.phase
    been = [turn.phase for turn in record.history]
    path: tuple[RolloutPhase, ...] = WAY_FORWARD
    failed = None
    if now in _BACK:
        # The way there as far as it went, then the way back.
        path = (*(phase for phase in WAY_FORWARD if phase in (RolloutPhase.PROPOSED, *been)), *_way_back(been))
        failed = next((phase for phase in reversed(been) if phase in WAY_FORWARD[:-1]), None)
        failed = None if RolloutPhase.DONE in been else failed
    place = path.index(now)
    words = []
    lengths = [len(phase.value) + 5 for phase in path]
    first, last = 0, len(path)
    while width and sum(lengths[first:last]) + 4 > width and last - first > 1:
        first, last = (first + 1, last) if place - first >= last - 1 - place else (first, last - 1)
    for number, phase in enumerate(path):
        if not first <= number < last:
            continue
        if phase is failed:
            words.append(ink.paint(f"{ink.sign('failed')} {phase.value}", "bad"))
        elif number < place or (number == place and phase in ENDED):
            colour = "held" if phase in _BACK else "good"
            words.append(ink.paint(f"{ink.sign('done')} {phase.value}", colour))
        elif number == place:
            colour = "bad" if phase in _BACK else "held" if picture.outcome is Outcome.HELD else "now"
            words.append(ink.paint(f"{ink.sign('now')} {phase.value}", colour))
        else:
            words.append(ink.paint(phase.value, "faint"))
    then, more = f" {ink.sign('then')} ", ink.paint(ink.sign("cut"), "faint")
    return then.join([*([more] if first else []), *words, *([more] if last < len(path) else [])])


def _way_back(been: Sequence[RolloutPhase]) -> tuple[RolloutPhase, ...]:
    """The phases of the way back; one that had not begun has nothing to revert, and only ends."""
    has_none = RolloutPhase.REVERTED in been and RolloutPhase.REVERTING not in been
    return (RolloutPhase.REVERTED,) if has_none else _BACK


# ── the branches ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _canary(picture: Picture, ink: Ink) -> Iterator[str]:
    if not picture.canaries:
        yield ink.paint("none that will do", "held")
    for line in picture.canaries[:NAMED_MAX]:
        would = "would be the canary: " if not picture.record.canaries else ""
        state = _state(line, is_back=picture.to_go_back is not None)
        yield f"{_node(line, ink)} {would}{state}, {_runs(line)}{_since(line, picture)}"
    yield from _more(len(picture.canaries) - NAMED_MAX)


def _gates(picture: Picture, ink: Ink) -> Iterator[str]:
    record = picture.record
    if not record.gates:
        asked = ["readiness", *(gate.name for gate in picture.campaign.gates)]
        yield ink.paint(f"{', '.join(asked)}: {_unanswered(picture)}", "faint")
        return
    counting = [each for each in record.gates if not each.is_left_out]
    shown = sorted(counting, key=lambda each: each.verdict is GateVerdict.PASSED)
    passed = sum(each.verdict is GateVerdict.PASSED for each in shown)
    for left in (each for each in record.gates if each.is_left_out):
        yield ink.paint(f"{left.gate} on {left.node} left out: {left.detail}", "faint")
    if passed == len(shown):
        names = ", ".join(dict.fromkeys(each.gate for each in shown))
        yield f"{ink.paint(ink.sign('done'), 'good')} round {record.round} passed: {names}"
        return
    yield f"round {record.round}: {passed} of {len(shown)} passed"
    # What did not pass comes first, so that it is never what is left out.
    for each in shown[: 2 * NAMED_MAX]:
        sign, colour = _VERDICTS[each.verdict]
        is_told = not each.detail or each.detail in record.why  # it stands above, as the reason for the way back
        detail = "" if is_told else f": {each.detail}"
        yield f"{ink.paint(ink.sign(sign), colour)} {each.gate} on {each.node} {each.verdict.value}{detail}"
    yield from _more(len(shown) - 2 * NAMED_MAX)


def _unanswered(picture: Picture) -> str:
    """Why there is no verdict: nothing was asked, or what was asked before has been asked again since."""
    record = picture.record
    again = record.round > 1 or record.baked_seconds > 0
    said = f"no answer in round {record.round}" if again else "not asked"
    return said if record.phase in _BACK or picture.is_ended else f"{said} yet"


def _bake(picture: Picture, ink: Ink) -> Iterator[str]:
    asked, baked = picture.campaign.bake.seconds, picture.record.baked_seconds
    share = min(1.0, baked / asked) if asked else 1.0
    full = round(share * BAR)
    bar = ink.sign("full") * full + ink.sign("empty") * (BAR - full)
    yield f"{bar} {spans.span(baked)} of {spans.span(asked)} with evidence"
    exposed = picture.record.exposed
    if exposed is not None:
        events = sum(each.events for each in exposed.rare)
        seen = f"{spans.span(exposed.watched_seconds)} with data, at work for {exposed.loaded_gpu_hours:.1f} GPU-hours"
        yield f"{seen}, {number_of(events, 'error') if events else 'no errors'}: `seatrial bake explain`"
    if picture.record.compared is not None:
        from seatrial.core.words import speeds

        compared = speeds.line(speeds.speeds_of(picture.record, picture.campaign))
        if compared:
            yield f"{compared}: `seatrial bake explain`"


def _waves(picture: Picture, ink: Ink) -> Iterator[str]:
    sizes, record = picture.wave_sizes, picture.record
    if not sizes:
        return
    phase = record.paused_in or record.phase
    been = phase in (RolloutPhase.PROMOTING, RolloutPhase.DONE)
    current = record.wave if phase is RolloutPhase.WAVING else len(sizes) if been else -1
    words = []
    for number, size in enumerate(sizes):
        sign, colour = ("done", "good") if number < current else ("now", "now") if number == current else ("", "faint")
        words.append(ink.paint(f"{ink.sign(sign) if sign else ''}{size}", colour))
    if len(words) > 12:
        first = max(0, min(current - 4, len(words) - 12))
        words = [*([ink.sign("cut")] if first else []), *words[first : first + 12], ink.sign("cut")]
    what = "nodes" if current < 0 else ""
    if 0 <= current < len(sizes):
        what = f": wave {current + 1} of {len(sizes)}, {picture.wave_done} of {sizes[current]} done"
    yield " ".join(words) + (f" {what}" if what == "nodes" else what)


def _nodes(picture: Picture, ink: Ink, told: Collection[str] | None) -> Iterator[str]:
    """How many nodes stand where; why one waits, unless the reasons stand elsewhere (None), or that code's does."""
    if picture.to_go_back is not None:
        yield from _going_back(picture, ink, told)
        return
    total = picture.total
    names = {**dict(_STANDINGS), **({Progress.MOVING: "half-way"} if picture.is_stale else {})}
    counts = [(word, picture.count(standing)) for standing, word in names.items() if picture.count(standing)]
    done, moving = picture.count(Progress.DONE), picture.count(Progress.MOVING)
    full = done * BAR // total if total else 0
    half = min(BAR - full, -(-moving * BAR // total)) if total else 0
    bar = (
        ink.paint(ink.sign("full") * full, "good")
        + ink.paint(ink.sign("half") * half, "now")
        + ink.sign("empty") * (BAR - full - half)
    )
    words = ", ".join(f"{count} {word}" for word, count in counts) or "none"
    hours = picture.lost_gpu_hours or 0.0
    lost = f"; {hours:,.1f} GPU-hours lost" if hours >= TOLD_HOURS else ""
    yield f"{bar} {words} of {total}{lost}"
    for lines in (picture.failed, picture.moving):
        for line in lines[:NAMED_MAX]:
            yield f"{_node(line, ink)} {line.state}{_since(line, picture)}{_why(line, told)}"
        yield from _more(len(lines) - NAMED_MAX)


def _going_back(picture: Picture, ink: Ink, told: Collection[str] | None) -> Iterator[str]:
    """How far the way back is."""
    names = picture.to_go_back or ()
    to = f" to {picture.before}" if picture.before else ""
    out = picture.not_coming_back
    if not names:
        but = f", except {a_few(out, NAMED_MAX)}, left out by a person" if out else ""
        yield f"{ink.paint(ink.sign('done'), 'good')} every node is back{to}{but}"
        return
    many = number_of(len(names), "node")
    yield f"{many} of {picture.total} still to go back{to}: {a_few(names, NAMED_MAX)}"
    for line in (*picture.failed[:NAMED_MAX], *picture.moving[:NAMED_MAX]):
        yield f"{_node(line, ink)} {line.state}{_since(line, picture)}{_why(line, told)}"


def _waits(picture: Picture, ink: Ink) -> Iterator[str]:
    for told in picture.told:
        yield from _told(told, picture, ink)
    if not picture.told and not picture.is_ended:
        yield "for nothing: it is moving"
    if not picture.is_ended:
        yield f"as of {picture.as_of}"  # plain, so that it is wrapped and not cut


def _told(told: Told, picture: Picture, ink: Ink) -> Iterator[str]:
    whom = f" on {a_few(told.nodes, 2, count=told.count)}" if isinstance(told, Waiting) else ""
    said = times(told, picture.at)
    yield ink.paint(str(told.code), "held") + whom + (f" ({said})" if said else "")
    yield f"{told.why}."
    yield f"{ink.sign('to')} {told.next_step}"


def times(told: Told, at: Instant) -> str:
    """Since when, and until when at most."""
    said = []
    if told.since is not None and at - told.since >= 1:
        said.append(f"for {spans.span(at - told.since)}")
    if told.until is not None and told.until > at:
        said.append(f"looks again or gives up within {spans.span(told.until - at)}")
    return ", ".join(said)


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _node(line: NodeLine, ink: Ink) -> str:
    sign, colour = _NODES[line.standing]
    return f"{ink.paint(ink.sign(sign), colour)} {line.name}"


def _state(line: NodeLine, *, is_back: bool) -> str:
    """On the way back a node that is done is so for the version before, and the page says that it went back."""
    is_earlier = line.state == NodePhase.UPGRADE_DONE and line.standing is Progress.AWAY and not is_back
    return f"{line.state} for an earlier target" if is_earlier and line.is_driver_ready else line.state


def _runs(line: NodeLine) -> str:
    if not line.driver:
        return "no driver"
    return f"runs {line.driver}" if line.is_driver_ready else f"driver {line.driver} is not Ready"


def _since(line: NodeLine, picture: Picture) -> str:
    return f", for {spans.span(picture.at - line.since)}" if line.since is not None else ""


def _why(line: NodeLine, told: Collection[str] | None) -> str:
    """The reason, or its code where the sentence stands elsewhere: no reason is given twice."""
    if line.told is None:
        return ""
    is_elsewhere = told is None or line.told.code in told
    return f": {line.told.code if is_elsewhere else line.told.why or line.told.code}"


def _more(count: int) -> Iterator[str]:
    if count > 0:
        yield f"and {count} more"


def cut(line: str, width: int, ink: Ink) -> str:
    """A line that fits; colours take no room, and end where the line is cut."""
    room, seen, place = width, 0, 0
    while place < len(line):
        if line[place] == "\033":
            place = line.index("m", place) + 1
            continue
        seen += 1
        if seen > room:
            kept = _shown(line, room - 1)
            return kept + ink.sign("cut") + ("\033[0m" if "\033" in kept else "")
        place += 1
    return line


def _shown(line: str, count: int) -> str:
    """The first so many characters that take room."""
    place = seen = 0
    while place < len(line) and seen < count:
        if line[place] == "\033":
            place = line.index("m", place) + 1
            continue
        seen += 1
        place += 1
    return line[:place]


def fits(lines: Sequence[str], height: int, ink: Ink) -> list[str]:
    """As many lines as a terminal has; what is left out is said."""
    if len(lines) <= height:
        return list(lines)
    left = len(lines) - height + 1
    return [*lines[: height - 1], f"{ink.sign('cut')} {left} more lines: make the window higher, or use -o json"]
