"""The questions of a night shift with one command each, asked as a person does: on a terminal, one after the other.

The commands are those of docs/how-to/questions-at-three-in-the-morning.md, and the two that look at the whole cluster.
Tests: tests/bench/test_night.py
"""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from bench.night import checks
from bench.night.checks import Check, Said
from bench.night.facts import Facts

from tests.docs.terminal import on_terminal
from tests.e2e.light_stage import LightStage

COLUMNS: Final = 110
PROGRESS: Final = re.compile(r"[^\n]*\r\x1b\[K")
"""A line that a terminal shows for a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person wants to know, the command for it, and what can be checked of the answer."""

    text: str
    command: str
    check: Check
    writes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was said, and what of it is untrue."""

    text: str
    command: str
    said: Said
    seconds: float
    untrue: tuple[str, ...]


QUESTIONS: Final = (
    Question(text="Where are we?", command="seatrial status {rollout}", check=checks.where),
    Question(text="What is it doing?", command="seatrial node get", check=checks.doing),
    Question(text="Why is {node} not moving?", command="seatrial why {node}", check=checks.why),
    Question(text="What happens next, and when?", command="seatrial why {rollout}", check=checks.what_next),
    Question(text="What does it cost?", command="seatrial report {rollout}", check=checks.cost),
    Question(text="How is it undone?", command="seatrial rollout {undo} {rollout} --dry-run", check=checks.undo),
    Question(text="Who approved it?", command="seatrial rollout history {rollout}", check=checks.approved),
    Question(text="Which version runs where?", command="seatrial audit", check=checks.versions),
    Question(text="What is broken?", command="seatrial doctor", check=checks.broken),
    Question(text="And with kubectl alone?", command="kubectl get gpurollouts", check=checks.kubectl),
    Question(text="Can I stop it?", command="seatrial rollout pause {rollout}", check=checks.stop, writes=True),
)


def ask_all(stage: LightStage, read: Callable[[], Facts]) -> list[Answer]:
    """Every answer of this moment: of each struck node why it does not move, and of one whose turn has not come."""
    facts = read()
    nodes = sorted({each.node for each in facts.struck if each.node} | _queued(facts))
    undone = "rollback" if facts.phase == "Done" else "abort"
    found = []
    for each in QUESTIONS:
        for node in nodes if "{node}" in each.command else [""]:
            names = {"rollout": stage.rollout, "node": node, "undo": undone}
            found.append(_ask(stage, read, each, names))
    return found


def _queued(facts: Facts) -> set[str]:
    """One node that nothing is wrong with, and that has yet to come."""
    struck = facts.struck_by(*(each.fault.name for each in facts.struck))
    return set(sorted(facts.running(facts.before) - struck)[-1:]) if not facts.is_back else set()


def _ask(stage: LightStage, read: Callable[[], Facts], question: Question, names: dict[str, str]) -> Answer:
    command, before, began = question.command.format(**names), read(), time.monotonic()
    said, seconds = replace(shown(stage, command), node=names["node"]), time.monotonic() - began
    after = read()
    untrue = list(question.check(said, after))
    if not question.writes:
        untrue = checks.untrue_in_both(untrue, list(question.check(said, before)))
        if before.generation != after.generation:
            untrue.append("it only asked, and the rollout was changed")
    return Answer(text=question.text.format(**names), command=command, said=said, seconds=seconds, untrue=tuple(untrue))


def shown(stage: LightStage, command: str) -> Said:
    """What a person sees who types this."""
    program, *words = shlex.split(command)
    kubectl = str(stage.plane.status().kubectl)
    typed = [kubectl, *words] if program == "kubectl" else [sys.executable, "-m", "seatrial", *words]
    environment = {"KUBECONFIG": str(stage.plane.kubeconfig), "NO_COLOR": "1"}
    text, code = on_terminal(typed, columns=COLUMNS, environment=environment)
    return Said(text=PROGRESS.sub("", text), code=code)
