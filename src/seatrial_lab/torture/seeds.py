"""One seed, from its first moment to its judgement: blows at their share of the way, a controller that is kept alive.

The controller is started again whenever it ends, after a pause that grows, as a kubelet does. Tests: bench/torture.py
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any, Final

from seatrial.adapters.journal.reading import first_broken_line
from seatrial.core.model.campaign import ENDED
from seatrial_lab.testbed import errors
from seatrial_lab.torture import judging
from seatrial_lab.torture.blows import Blows
from seatrial_lab.torture.drawing import Schedule
from seatrial_lab.torture.judging import Asked, Seen, Wanted
from seatrial_lab.torture.moved import PARALLEL_MAX
from seatrial_lab.torture.stage import MARKS, UNAVAILABLE_MAX, Play, Stage
from seatrial_lab.torture.table import Mode

LOOK_SECONDS: Final = 0.25
LIMIT_SECONDS: Final = {Mode.DIRECT: 300.0, Mode.DELEGATED: 600.0}
SETTLE_SECONDS: Final = 40.0
"""How long after its last phase the last mark may stay: a streak of refusals may have to pass first."""
PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS = 1.0, 10.0
LONG_LIFE_SECONDS: Final = 60.0
BREACH: Final = "promise about to be broken"
CRASH: Final = "Traceback"
TAIL_LINES: Final = 25


@dataclass(kw_only=True)
class Keeper:
    """Starts the controller again whenever it ends."""

    play: Play
    lives: int = 0
    ends: list[str] = field(default_factory=list)
    """What each life said last."""
    _pause_seconds: float = PAUSE_FIRST_SECONDS
    _again_at: float = 0.0
    _born_at: float = 0.0

    def look(self) -> None:
        """Start it where it does not run, and it is time to."""
        controller, now = self.play.controller, time.monotonic()
        if controller.is_running:
            return
        if self.lives and not self._again_at:
            self.ends.append((self.play.log().splitlines() or [""])[-1][:300])
            if now - self._born_at > LONG_LIFE_SECONDS:
                self._pause_seconds = PAUSE_FIRST_SECONDS
            self._again_at = now + self._pause_seconds
            self._pause_seconds = min(2 * self._pause_seconds, PAUSE_MAX_SECONDS)
        if now >= self._again_at:
            self.lives, self._born_at, self._again_at = self.lives + 1, now, 0.0
            controller.start()


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How one seed went."""

    schedule: Schedule
    problems: tuple[str, ...]
    struck: tuple[str, ...]
    met: dict[str, int]
    """How many requests, events and watches each fault met on the way."""
    lives: int
    ends: tuple[str, ...]
    asked: Asked
    seconds: float
    tail: str
    """What the controller said last, and the rollout's status, where something is wrong."""

    def line(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "seed": self.schedule.seed,
            "fault": self.schedule.only,
            "kind": self.schedule.kind,
            "faults": [blow.fault.name for blow in self.schedule.blows],
            "struck": list(self.struck),
            "met": self.met,
            "problems": list(self.problems),
            "lives": self.lives,
            "ends": list(self.ends),
            "writes": self.asked.writes,
            "requests": self.asked.requests,
            "commits": list(self.asked.commits),
            "seconds": round(self.seconds, 1),
        }

    def story(self) -> str:
        """The shortest account of what went wrong, and how to see it again."""
        alone = f"make torture SEEDS={self.schedule.seed}"
        lines = [
            f"Seed {self.schedule.name} ({self.schedule.kind}) did not end as it does without faults.",
            *(f"  {number}. {each}" for number, each in enumerate(self.struck, 1)),
            *(f"  it ended, and began anew: {each}" for each in self.ends),
            *(f"  wrong: {each}" for each in self.problems),
            f"  again: {alone}{f' FAULT={self.schedule.only}' if self.schedule.only else ''}",
        ]
        return "\n".join(lines)


def play(stage: Stage, schedule: Schedule, without: Asked | None) -> Played:
    """Play one story, and judge it; `without` is the same one without faults, None where this is that one."""
    with stage.opened(schedule) as opened:
        blows, keeper = Blows(play=opened), Keeper(play=opened)
        keeper.look()
        opened.begin()
        began = time.monotonic()
        rest = list(schedule.blows)
        deadline = began + LIMIT_SECONDS[schedule.mode] + 2 * sum(blow.seconds for blow in schedule.blows)
        while time.monotonic() < deadline and not _has_ended(opened, blows):
            keeper.look()
            blows.undo_due()
            if rest and without is not None and opened.way.write_count >= rest[0].share * without.writes:
                blows.strike(rest.pop(0))
            time.sleep(LOOK_SECONDS)
        seconds = time.monotonic() - began
        blows.undo_all()
        wanted = _wanted(opened, without)
        seen = _settled(opened, keeper, wanted)
        found = judging.problems(wanted, seen)
        asked = Asked(
            writes=opened.way.write_count,
            requests=opened.way.request_count,
            seconds=seconds,
            commits=seen.commits,
        )
        return Played(
            schedule=schedule,
            problems=found,
            struck=tuple(blows.struck),
            met=dict(opened.way.struck),
            lives=keeper.lives,
            ends=tuple(keeper.ends),
            asked=asked,
            seconds=seconds,
            tail=_tail(opened) if found else "",
        )


def _has_ended(opened: Play, blows: Blows) -> bool:
    return blows.is_over and opened.status().get("phase") in ENDED


def _wanted(opened: Play, without: Asked | None) -> Wanted:
    is_known = without is not None and opened.schedule.has_git
    return Wanted(
        phase=opened.schedule.end.value,
        version=opened.wanted,
        node_count=len(opened.stage.moved.nodes),
        parallel_max=PARALLEL_MAX,
        unavailable_max=UNAVAILABLE_MAX,
        blow_count=len(opened.schedule.blows),
        commits=without.commits if is_known and without is not None else None,
        requests=without.requests if without is not None else None,
    )


def _settled(opened: Play, keeper: Keeper, wanted: Wanted) -> Seen:
    """What is seen once everything is as it should be, or does not come to be so."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        keeper.look()
        try:
            seen = _seen(opened, keeper)
            if not judging.unsettled(wanted, seen) or time.monotonic() > deadline:
                return seen
        except errors.KubectlFailed:
            if time.monotonic() > deadline:
                raise
        time.sleep(4 * LOOK_SECONDS)


def _seen(opened: Play, keeper: Keeper) -> Seen:
    items, log = opened.stage.node_items(), opened.log()
    metas = [(each["metadata"]["name"], each["metadata"]) for each in items]
    marks = [
        f"{name}: {key}"
        for name, meta in metas
        for key in (*meta.get("labels", {}), *meta.get("annotations", {}))
        if key in MARKS
    ]
    label = opened.stage.moved.state_label
    broken = first_broken_line(opened.controller.journal) if opened.controller.journal.exists() else None
    return Seen(
        phase=opened.status().get("phase", ""),
        versions=tuple(opened.stage.moved.versions().values()),
        cordoned=tuple(each["metadata"]["name"] for each in items if each["spec"].get("unschedulable")),
        marks=tuple(marks),
        states=tuple(meta.get("labels", {}).get(label, "") for _, meta in metas),
        under_way_most=judging.most_under_way(opened.histories),
        unavailable_most=judging.most_unavailable(opened.histories),
        breaches=tuple(line[:300] for line in log.splitlines() if BREACH in line),
        crashes=_crashes(log),
        journal="" if broken is None else str(broken),
        commits=_plain(opened),
        requests=opened.way.request_count,
        lives=keeper.lives,
    )


def _crashes(log: str) -> tuple[str, ...]:
    """What was never caught: the last line of each traceback."""
    found, lines = [], log.splitlines()
    for number, line in enumerate(lines):
        if line.startswith(CRASH):
            rest = [each for each in lines[number + 1 :] if each and not each.startswith(" ")]
            found.append((rest or [line])[0][:300])
    return tuple(found)


def _plain(opened: Play) -> tuple[str, ...]:
    """The commits, by words that are the same in every play."""
    names = {opened.target: "TARGET", opened.running: "RUNNING", opened.rollout: "ROLLOUT"}
    names |= dict.fromkeys(opened.stage.moved.nodes, "NODE")
    texts = opened.commits() if opened.schedule.has_git else []
    for name, word in names.items():
        texts = [text.replace(name, word) for text in texts]
    return tuple(texts)


def _tail(opened: Play) -> str:
    status = json.dumps(opened.status(), indent=1)
    return "\n".join([status, *opened.log().splitlines()[-TAIL_LINES:]])
