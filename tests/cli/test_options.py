"""Which command has which of the common options, and why not: walked along the parsers, so nothing can be left out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from seatrial.cli import commands

DOCUMENTS: Final = ("table", "json", "yaml")


class Row(NamedTuple):
    """What a command has of the common options, and why it has no more."""

    formats: tuple[str, ...] = ()
    has: str = ""
    """Of: w (--watch), o (--watch-only), l (--selector), c (--kubeconfig, --context and --namespace)."""
    why: str = ""


NAMED: Final = (*DOCUMENTS, "name")
ALL: Final = ("table", "wide", "json", "yaml", "name")
NO_CLUSTER: Final = "files alone: no cluster, nothing that changes by itself, nothing with labels"
ONE: Final = "one rollout, which is named: whoever pauses or undoes says which"
ENVIRONMENT: Final = "an init container on one node, told by its environment as NVIDIA's is; KUBECONFIG is part of that"
FORM: Final = "what it prints has one form, which is read by something else"

FOLDERS: Final = {"bundle"}
"""Whose -o is the folder that they write, as it is of everything else that writes bundles."""

TABLE: Final = {
    "init": Row((), "c", "writes files and says which"),
    "matrix show": Row(DOCUMENTS, why=NO_CLUSTER),
    "matrix diff": Row(DOCUMENTS, why=NO_CLUSTER),
    "matrix set": Row(DOCUMENTS, why=NO_CLUSTER),
    "matrix promote": Row(DOCUMENTS, why=NO_CLUSTER),
    "matrix unmark": Row(DOCUMENTS, why=NO_CLUSTER),
    "matrix add": Row(DOCUMENTS, why=NO_CLUSTER),
    "matrix fmt": Row(why="rewrites a file and says so"),
    "matrix schema": Row(why=FORM),
    "check": Row((*DOCUMENTS, "sarif", "junit"), why=NO_CLUSTER),
    "facts list": Row(DOCUMENTS, why=NO_CLUSTER),
    "facts show": Row(DOCUMENTS, why=NO_CLUSTER),
    "facts search": Row(DOCUMENTS, why=NO_CLUSTER),
    "facts status": Row(DOCUMENTS, why=NO_CLUSTER),
    "facts update": Row(DOCUMENTS, why=NO_CLUSTER),
    "facts add": Row(why="copies a file and says where"),
    "facts remove": Row(why="removes a bundle and says so"),
    "facts schema": Row(why=FORM),
    "plan": Row(DOCUMENTS, why=NO_CLUSTER),
    "bundle": Row(why="writes a folder, which its -o names, and says so"),
    "bundle diff": Row(DOCUMENTS, why=NO_CLUSTER),
    "forecast": Row(DOCUMENTS, "c", "the whole fleet at one moment; its members are the rollout's"),
    "demo": Row(why="a story for people"),
    "rollout start": Row(NAMED, "lc", "`status -w` watches it; -l says who its members are"),
    "rollout get": Row(ALL, "wolc"),
    "rollout describe": Row(DOCUMENTS, "c", "everything about one; `status -w` watches it"),
    "rollout pause": Row(NAMED, "c", ONE),
    "rollout resume": Row(NAMED, "c", ONE),
    "rollout promote": Row(NAMED, "c", ONE),
    "rollout approve": Row(NAMED, "c", ONE),
    "rollout abort": Row(NAMED, "c", ONE),
    "rollout observed": Row(NAMED, "lc", "a write"),
    "rollout adopt": Row(NAMED, "lc", "`status -w` watches the rollout that it makes"),
    "rollout rollback": Row(NAMED, "c", ONE),
    "rollout history": Row(NAMED, "lc", "what has been does not change; `status -w` shows what is"),
    "status": Row(ALL, "woc", ONE),
    "why": Row(DOCUMENTS, "wc", "an answer about one name, so there are no names to print or to choose"),
    "gates run": Row(
        ("table", "wide", "json", "yaml", "junit", "ctrf"), "c", "one node, which is named, until it has answered"
    ),
    "gates list": Row(DOCUMENTS, why="what comes with seatrial: no cluster, nothing that changes by itself"),
    "gates show": Row(("table", "wide", "json", "yaml"), "wc", "one rollout; a gate is no object of the cluster"),
    "gates attest": Row(NAMED, "c", ONE),
    "bake explain": Row(("table", "json", "yaml"), "wc", "one rollout; what is proven is no object of the cluster"),
    "report": Row(DOCUMENTS, "c", "one rollout, looked back upon; `status -w` watches it"),
    "dra status": Row(("table", "wide", "json", "yaml"), "c", "one look at all of them; `dra reroll --wait` goes on"),
    "dra reroll": Row(DOCUMENTS, "c", "a write to nodes that are named, or all; --wait ends when it is done"),
    "audit": Row(
        ("table", "wide", "json", "yaml", "markdown", "junit", "sarif", "brief"),
        "wc",
        "all GPU nodes; what it prints is no object",
    ),
    "doctor": Row(DOCUMENTS, "c", "one look at all nodes, or the one that is named; what it prints is no object"),
    "node get": Row(ALL, "wolc"),
    "node retry": Row(NAMED, "lc", "a write: `node get -w` shows what becomes of it"),
    "node skip": Row(NAMED, "lc", "a write: `node get -w` shows what becomes of it"),
    "node unskip": Row(NAMED, "lc", "a write: `node get -w` shows what becomes of it"),
    "controller": Row((), "c", "a service: it logs"),
    "pace": Row(DOCUMENTS, "c", "a service that prints a summary when it ends"),
    "driver-manager preflight": Row(DOCUMENTS, why=ENVIRONMENT),
    "driver-manager uninstall": Row(why=ENVIRONMENT),
    "replay": Row(DOCUMENTS, why=NO_CLUSTER),
    "snapshot": Row((), "c", FORM),
    "manifests": Row(why=FORM),
    "uninstall": Row((), "c", "a Job's log, read by people"),
    "completion": Row(why=FORM),
    **dict.fromkeys(
        ("testbed up", "testbed status", "testbed break", "testbed heal", "testbed down"),
        Row(why="a laboratory with a cluster of its own"),
    ),
}


HEEDED: Final = tuple(f"rollout {what}" for what in ("pause", "resume", "abort", "rollback"))
"""What the controller does, and what a command waits for a moment to be done."""


def _leaves(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not any(action.required for action in below):
        yield name, parser
    for action in below:
        for word, each in action.choices.items():
            yield from _leaves(f"{name} {word}", each)


LEAVES: Final = dict(leaf for name in commands.COMMANDS for leaf in _leaves(name, commands.parser_of(name)))


def test_the_table_has_every_command() -> None:
    assert set(TABLE) == set(LEAVES)


@pytest.mark.parametrize("name", TABLE)
def test_a_command_has_the_options_that_make_sense_and_says_why_not(name: str) -> None:
    known, row = LEAVES[name]._option_string_actions, TABLE[name]
    output = known.get("--output")
    assert (tuple(output.choices or ()) if output is not None else ()) == row.formats
    assert output is None or name in FOLDERS or (output.default == "table" and known["-o"] is output)
    letters = {"w": ("-w", "--watch"), "o": ("--watch-only",), "l": ("-l", "--selector")}
    letters["c"] = ("--kubeconfig", "--context", "-n", "--namespace")
    for letter, options in letters.items():
        assert [option in known for option in options] == [letter in row.has] * len(options), options
    assert row.why or set(row.has) == set(letters)
    assert ("--timeout" in known) is ("w" in row.has or name in HEEDED)


def test_an_option_means_the_same_everywhere() -> None:
    """One letter, one long name: whoever has learnt -o, -w, -l, -n, -y or -f has learnt it for all commands."""
    found: dict[str, set[str]] = {}
    for parser in LEAVES.values():
        for action in parser._actions:
            for short in action.option_strings:
                if len(short) == 2:
                    found.setdefault(short, set()).add(action.option_strings[-1])
    assert found == {
        "-h": {"--help"},
        "-o": {"--output"},
        "-w": {"--watch"},
        "-l": {"--selector"},
        "-n": {"--namespace"},
        "-y": {"--yes"},
        "-f": {"--file"},
        "-a": {"--all"},
    }
