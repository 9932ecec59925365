"""The page and the picture about the phases of a rollout, from their table; written by docs/generate.py.

What leads from one phase to the next is written here once; a way without a word is a KeyError, not a gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from docs import drawing
from seatrial.core.campaign.course import TRANSITIONS, WAY_FORWARD
from seatrial.core.model.campaign import Bake, Point, RolloutPhase

Way = tuple[RolloutPhase, RolloutPhase]
MEANS: Final[Mapping[RolloutPhase, str]] = {
    RolloutPhase.PROPOSED: "Nothing is written but the record. Checked: the rights, the matrix, a canary that will do, "
    "a version to go back to, no other rollout, nothing left half-way.",
    RolloutPhase.CANARY: "The canary is marked, everybody else is kept out, the version is published, and the canary "
    "alone is upgraded.",
    RolloutPhase.GATING: "The canary runs the new driver and is proven. Every gate is asked on every canary.",
    RolloutPhase.BAKING: "The gates are asked again and again. Time counts only when we looked all the while and the "
    "round after it passed.",
    RolloutPhase.WAVING: "The version is published for everybody, and the fleet follows in waves, in windows.",
    RolloutPhase.PROMOTING: "The matrix is promoted and tagged, and every mark is taken away. With failed nodes it "
    "waits: they are fixed or left out, or a person accepts that.",
    RolloutPhase.DONE: "The target is the production version. Nodes that come late, or are retried, still follow.",
    RolloutPhase.PAUSED: "Everybody keeps their place. The time is no evidence of anything.",
    RolloutPhase.REVERTING: "What was published is taken back, who was touched goes back, a rejected entry is marked.",
    RolloutPhase.REVERTED: "Everything is as it was before. The end.",
}
_ABORTED: Final = "`seatrial rollout abort`"
_FAILED: Final = "by itself unless a person decides (`approvals.manual: [rollback]`)"
WHEN: Final[Mapping[Way, str]] = {
    (
        RolloutPhase.PROPOSED,
        RolloutPhase.CANARY,
    ): "every check passes, a window is open, a person said yes",
    (RolloutPhase.PROPOSED, RolloutPhase.REVERTED): f"{_ABORTED}: there is nothing to undo",
    (RolloutPhase.CANARY, RolloutPhase.GATING): "every canary is done",
    (RolloutPhase.GATING, RolloutPhase.BAKING): "every gate passed",
    (RolloutPhase.GATING, RolloutPhase.CANARY): "a canary is gone, at work again, or runs something else",
    (RolloutPhase.BAKING, RolloutPhase.CANARY): "a canary is gone, at work again, or runs something else",
    (RolloutPhase.BAKING, RolloutPhase.WAVING): "there is evidence for as long as `bake.durationSeconds` asks",
    (RolloutPhase.WAVING, RolloutPhase.PROMOTING): "the last wave is over",
    (
        RolloutPhase.PROMOTING,
        RolloutPhase.DONE,
    ): "no node has failed, or that is accepted; the matrix is promoted, and nothing of ours is left on nodes",
    (RolloutPhase.CANARY, RolloutPhase.REVERTING): f"{_ABORTED}; a canary failed, {_FAILED}",
    (RolloutPhase.GATING, RolloutPhase.REVERTING): f"{_ABORTED}; a gate failed, {_FAILED}",
    (RolloutPhase.BAKING, RolloutPhase.REVERTING): f"{_ABORTED}; a gate failed, {_FAILED}",
    (RolloutPhase.WAVING, RolloutPhase.REVERTING): f"{_ABORTED}; too many failures stop the waves and undo nothing",
    (RolloutPhase.PROMOTING, RolloutPhase.REVERTING): _ABORTED,
    (RolloutPhase.DONE, RolloutPhase.REVERTING): f"{_ABORTED}, or `seatrial rollout rollback`",
    (RolloutPhase.REVERTING, RolloutPhase.REVERTED): "every node is back, and nothing of ours is left",
}


def text() -> str:
    """The whole page."""
    ways = [(before, after) for before in RolloutPhase for after in RolloutPhase if after in TRANSITIONS[before]]
    rows = "".join(f"| {phase} | {MEANS[phase]} |\n" for phase in RolloutPhase)
    told = "".join(f"| {before} | {after} | {_when(before, after)} |\n" for before, after in ways)
    points = ", ".join(f"`{point}`" for point in Point)
    bake = Bake()
    return (
        "# Phases of a rollout\n\n"
        "A rollout with a canary walks along this table; `status.phase` says where it stands. The table is\n"
        "`TRANSITIONS` in `core/campaign/course.py`. A pass either writes the next phase or acts in the one it has\n"
        "seen, so a crash between any two writes loses nothing.\n\n"
        "![The phases of a rollout](../pictures/rollout-phases.svg)\n\n"
        "| Phase | What happens in it |\n| --- | --- |\n"
        f"{rows}"
        f"\nA person can be asked to say yes before {points}: `spec.approvals.manual`.\n"
        f"Without a word in the rollout the bake asks for {bake.seconds / 3600:g} hours, and asks the gates every "
        f"{bake.every_seconds / 60:g} minutes.\n"
        "Why a rollout waits in a phase, and what to do: [holds](holds.md).\n\n"
        "## Ways\n\n| From | To | When |\n| --- | --- | --- |\n"
        f"{told}"
        "\n## As Mermaid\n\n```mermaid\n"
        f"{_mermaid(ways)}"
        "```\n"
    )


def _when(before: RolloutPhase, after: RolloutPhase) -> str:
    if after is RolloutPhase.PAUSED:
        return "`seatrial rollout pause`"
    return "`seatrial rollout resume`, where it was paused" if before is RolloutPhase.PAUSED else WHEN[before, after]


def _mermaid(ways: list[Way]) -> str:
    lines = ["stateDiagram-v2", f"    [*] --> {RolloutPhase.PROPOSED}"]
    lines += [f"    {before} --> {after}" for before, after in ways]
    lines += [f"    {phase} --> [*]" for phase in RolloutPhase if not TRANSITIONS[phase]]
    return "\n".join(lines) + "\n"


# ── the picture ──────────────────────────────────────────────────────────────────────────────────────────────────────

WIDTH, HEIGHT, BOX_WIDTH, BOX_HEIGHT = 1190, 400, 112, 40
COLUMNS: Final = tuple(90.0 + 168 * number for number in range(len(WAY_FORWARD)))
ABOVE, ROW, BELOW = 50.0, 170.0, 310.0
GAP: Final = (COLUMNS[2] + COLUMNS[3]) / 2
"""Between two boxes of the row: what is above and what is below see each other there."""
PLACES: Final[Mapping[RolloutPhase, drawing.Point]] = {
    **{phase: (column, ROW) for phase, column in zip(WAY_FORWARD, COLUMNS, strict=True)},
    RolloutPhase.PAUSED: (GAP, ABOVE),
    RolloutPhase.REVERTING: (GAP, BELOW),
    RolloutPhase.REVERTED: (COLUMNS[0], BELOW),
}
UNDER: Final = ROW + BOX_HEIGHT / 2
DETOURS: Final[Mapping[Way, tuple[drawing.Point, ...]]] = {
    # The ways that a straight line would draw through something; any other way is a straight line.
    (RolloutPhase.GATING, RolloutPhase.CANARY): drawing.arch(COLUMNS[2] - 30, COLUMNS[1] + 36, UNDER, 26),
    (RolloutPhase.BAKING, RolloutPhase.CANARY): drawing.arch(COLUMNS[3] - 36, COLUMNS[1] + 18, UNDER, 46),
}
KINDS: Final = {RolloutPhase.DONE: "box end", RolloutPhase.REVERTED: "box bad"}
LEGEND: Final = "Blue: a rollout that goes well. Dashed: everything else. A pause ends where it began."


def picture() -> str:
    """The phases, drawn from their table."""
    main = set(pairwise(WAY_FORWARD))
    ways = [(before, after) for before in RolloutPhase for after in RolloutPhase if after in TRANSITIONS[before]]
    # A pause ends where it began: one line with two ends would say no more than one.
    drawn = [way for way in ways if way[0] is not RolloutPhase.PAUSED]
    ordered = sorted(drawn, key=lambda way: way in main)  # the main way on top
    parts = [
        *(drawing.arrow(DETOURS.get(way) or _straight(way), "way" if way in main else "side") for way in ordered),
        *(drawing.box(phase, PLACES[phase], KINDS.get(phase, "box"), BOX_WIDTH, BOX_HEIGHT) for phase in RolloutPhase),
    ]
    return drawing.picture("phases of a rollout", WIDTH, HEIGHT, parts, LEGEND)


def _straight(way: Way) -> tuple[drawing.Point, ...]:
    """From border to border, along the line between the middles."""
    start, end = (PLACES[phase] for phase in way)
    return (
        drawing.border(start, end, BOX_WIDTH, BOX_HEIGHT),
        drawing.border(end, start, BOX_WIDTH, BOX_HEIGHT),
    )
