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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from seatrial.app.outcome import Outcome
from seatrial.app.picture import NodeLine, Picture
from seatrial.cli import terminal
from seatrial.cli.show import ahead
from seatrial.core.budget.losses import TOLD_HOURS
from seatrial.core.campaign.course import WAY_FORWARD
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.instants import Instant
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
            ("nodes", [*_nodes(picture, ink)]),
        )
        if branch[1]
    ]
    for number, (label, wide) in enumerate(branches):
        body = [*_wrapped(wide, width)] if label == "waits" else wide
        is_last = number == len(branches) - 1
        joint = ink.sign("last" if is_last else "branch")
        trunk = "  " if is_last else ink.sign("trunk")
        lines.append(f"{joint} {ink.paint(f'{label:{LABEL}}', 'bold')}{body[0]}")
        lines += [f"{trunk} {'':{LABEL}}{line}" for line in body[1:]]
    return [cut(line, width, ink) for line in lines] if width else lines


def _wrapped(lines: Sequence[str], width: int) -> Iterator[str]:
    """Sentences whole, in as many lines as they need: what to do is worth nothing when it is cut."""
    room = width - LABEL - 3
    for line in lines:
        if not width or "\033" in line or len(line) <= room:
            yield line
            continue
        yield from terminal.wrapped(line, room)


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
    yield f"{phase}{_left(picture)}"
    yield ink.paint("; ".join(filter(None, (f"{picture.who_moves} ({picture.mode})", picture.source))), "faint")
    if record.why:
        yield ink.paint(f"undone because {record.ending}", "bad")
    if record.rejected not in ("", record.why):
        yield ink.paint(f"the version is rejected: {record.rejected}", "bad")


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
    if now in _BACK:
        # The way there as far as it went, then the way back.
        path = (*(phase for phase in WAY_FORWARD if phase in (RolloutPhase.PROPOSED, *been)), *_BACK)
    place = path.index(now)
    words = []
    lengths = [len(phase.value) + 5 for phase in path]
    first, last = 0, len(path)
    while width and sum(lengths[first:last]) + 4 > width and last - first > 1:
        first, last = (first + 1, last) if place - first >= last - 1 - place else (first, last - 1)
    for number, phase in enumerate(path):
        if not first <= number < last:
            continue
        if number < place or (number == place and phase is RolloutPhase.DONE):
            words.append(ink.paint(f"{ink.sign('done')} {phase.value}", "good"))
        elif number == place:
            colour = "bad" if phase in _BACK else "held" if picture.outcome is Outcome.HELD else "now"
            words.append(ink.paint(f"{ink.sign('now')} {phase.value}", colour))
        else:
            words.append(ink.paint(phase.value, "faint"))
    then, more = f" {ink.sign('then')} ", ink.paint(ink.sign("cut"), "faint")
    return then.join([*([more] if first else []), *words, *([more] if last < len(path) else [])])


# ── the branches ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _canary(picture: Picture, ink: Ink) -> Iterator[str]:
    if not picture.canaries:
        yield ink.paint("none that will do", "held")
    for line in picture.canaries[:NAMED_MAX]:
        would = "would be " if not picture.record.canaries else ""
        yield f"{_node(line, ink)} {would}{line.state}, {_runs(line)}{_since(line, picture)}"
    yield from _more(len(picture.canaries) - NAMED_MAX)


def _gates(picture: Picture, ink: Ink) -> Iterator[str]:
    record = picture.record
    if not record.gates:
        asked = ["readiness", *(gate.name for gate in picture.campaign.gates)]
        yield ink.paint(f"{', '.join(asked)}: not asked yet", "faint")
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
        detail = f": {each.detail}" if each.detail else ""
        yield f"{ink.paint(ink.sign(sign), colour)} {each.gate} on {each.node} {each.verdict.value}{detail}"
    yield from _more(len(shown) - 2 * NAMED_MAX)


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


def _nodes(picture: Picture, ink: Ink) -> Iterator[str]:
    if picture.to_go_back is not None:
        yield from _going_back(picture, ink)
        return
    total = picture.total
    counts = [(word, picture.count(standing)) for standing, word in _STANDINGS if picture.count(standing)]
    done, moving = picture.count(Progress.DONE), picture.count(Progress.MOVING)
    full = done * BAR // total if total else 0
    half = min(BAR - full, -(-moving * BAR // total)) if total else 0
    bar = (
        ink.paint(ink.sign("full") * full, "good")
        + ink.paint(ink.sign("half") * half, "now")
        + ink.sign("empty") * (BAR - full - half)
    )
    told = ", ".join(f"{count} {word}" for word, count in counts) or "none"
    hours = picture.lost_gpu_hours or 0.0
    lost = f"; {hours:,.1f} GPU-hours lost" if hours >= TOLD_HOURS else ""
    yield f"{bar} {told} of {total}{lost}"
    for lines in (picture.failed, picture.moving):
        for line in lines[:NAMED_MAX]:
            yield f"{_node(line, ink)} {line.state}{_since(line, picture)}{_why(line)}"
        yield from _more(len(lines) - NAMED_MAX)


def _going_back(picture: Picture, ink: Ink) -> Iterator[str]:
    """How far the way back is."""
    names = picture.to_go_back or ()
    to = f" to {picture.before}" if picture.before else ""
    if not names:
        yield f"{ink.paint(ink.sign('done'), 'good')} every node is back{to}"
        return
    many = number_of(len(names), "node")
    yield f"{many} of {picture.total} still to go back{to}: {a_few(names, NAMED_MAX)}"
    for line in (*picture.failed[:NAMED_MAX], *picture.moving[:NAMED_MAX]):
        yield f"{_node(line, ink)} {line.state}{_since(line, picture)}{_why(line)}"


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


def _runs(line: NodeLine) -> str:
    if not line.driver:
        return "no driver"
    return f"runs {line.driver}" if line.is_driver_ready else f"driver {line.driver} is not Ready"


def _since(line: NodeLine, picture: Picture) -> str:
    return f", for {spans.span(picture.at - line.since)}" if line.since is not None else ""


def _why(line: NodeLine) -> str:
    return f": {line.told.why or line.told.code}" if line.told is not None else ""


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
