"""What an argument can be: its choices, or what its metavar names.

Law of this file: a metavar is a word of the trade, and says everywhere the same; so this table is all there is to write
for a new argument, and most need nothing. Tests: tests/cli/test_completion.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Final, NamedTuple


class Candidate(NamedTuple):
    """A word, and a line about it."""

    word: str
    text: str = ""


class Directive(IntEnum):
    """What the shell is to do besides, in cobra's numbers."""

    FILES = 0
    NO_FILES = 4
    FOLDERS = 16


Said = Mapping[str, str]
Finder = Callable[[Said, Mapping[str, str]], Iterable[Candidate]]


def of(action: argparse.Action, said: Said, environ: Mapping[str, str]) -> tuple[list[Candidate], Directive]:
    """Everything that an argument can be."""
    if isinstance(action, argparse._SubParsersAction):
        return [Candidate(each.dest, line_of(each.help)) for each in action._choices_actions], Directive.NO_FILES
    if action.choices is not None:
        return [Candidate(str(each)) for each in action.choices], Directive.NO_FILES
    kind = str(action.metavar or action.dest).upper()
    if kind in PATHS:
        return [], PATHS[kind]
    finder = FINDERS.get(kind)
    return list(finder(said, environ)) if finder is not None else [], Directive.NO_FILES


def line_of(text: str | None) -> str:
    """A help text as one line, as argparse prints it."""
    return " ".join((text or "").replace("%%", "%").split())


# ── what is looked up ────────────────────────────────────────────────────────────────────────────────────────────────


def _live(*kinds: str) -> Finder:
    def find(said: Said, environ: Mapping[str, str]) -> Iterable[Candidate]:
        from seatrial.adapters.kube import names
        from seatrial.app.connecting import USER_AGENT, Cluster

        config = Cluster(kubeconfig=said.get("kubeconfig"), context=said.get("context"), environ=environ).config()
        agent = f"{USER_AGENT} (completion)"
        listed = (names.names(config, getattr(names, kind), user_agent=agent) for kind in kinds)
        return [Candidate(*each) for found in listed for each in found]

    return find


def _contexts(said: Said, environ: Mapping[str, str]) -> Iterable[Candidate]:
    from seatrial.adapters.kube.api.config import contexts

    found = contexts(kubeconfig=said.get("kubeconfig"), environ=environ)
    return [Candidate(name, f"cluster {cluster}" if cluster else "") for name, cluster in found.items()]


def _states(_said: Said, _environ: Mapping[str, str]) -> Iterable[Candidate]:
    from seatrial.core.model.seen.nodes import NodePhase

    return [Candidate(phase.value) for phase in NodePhase]


def _components(_said: Said, _environ: Mapping[str, str]) -> Iterable[Candidate]:
    from seatrial.core.compat.matrix import Component

    return [Candidate(each.value) for each in Component]


def _operands(_said: Said, _environ: Mapping[str, str]) -> Iterable[Candidate]:
    from seatrial.core.model.seen.operands import ASKED

    return [Candidate(f"{each.value}=") for each in ASKED]


def _roles(_said: Said, _environ: Mapping[str, str]) -> Iterable[Candidate]:
    from seatrial.core.compat.matrix import Role

    return [Candidate(each.value) for each in Role]


def _rules(_said: Said, _environ: Mapping[str, str]) -> Iterable[Candidate]:
    from seatrial.core.compat.rules import RULES

    return [Candidate(each.id, each.title) for each in RULES]


FINDERS: Final[Mapping[str, Finder]] = {
    "NODE": _live("NODES"),
    "ROLLOUT": _live("ROLLOUTS"),
    "NODE|ROLLOUT": _live("ROLLOUTS", "NODES"),
    "NAMESPACE": _live("NAMESPACES"),
    "CONTEXT": _contexts,
    "STATE": _states,
    "COMPONENT": _components,
    "COMPONENT=V": _operands,
    "ROLE": _roles,
    "ENTRY": _roles,
    "RULE": _rules,
}
PATHS: Final = {
    "FILE": Directive.FILES,
    "BEFORE": Directive.FILES,
    "JOURNAL": Directive.FILES,
    "SOURCE": Directive.FILES,
    "DIR": Directive.FOLDERS,
    "DIR|URL": Directive.FOLDERS,
}
