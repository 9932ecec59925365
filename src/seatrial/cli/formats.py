"""How a command prints what it found: `-o table|wide|json|yaml|name`, and the documents and names themselves.

Law of this file: json and yaml are the same document, and a name is what kubectl prints, so that it can be handed on to
kubectl. Nobody else writes documents, nor JUnit's: there unknown is an error, and never a pass. Which command has which
format, and why not: tests/cli/test_options.py. Tests: tests/cli/test_formats.py
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from seatrial import __version__
from seatrial.core.base.values import dataclass, field

TABLE: Final = "table"
WIDE: Final = "wide"
JSON: Final = "json"
YAML: Final = "yaml"
NAME: Final = "name"
JUNIT: Final = "junit"
SARIF: Final = "sarif"

NODE: Final = "node"
ROLLOUT: Final = "gpurollout.seatrial.dev"


def add_output(parser: argparse.ArgumentParser, *more: str) -> None:
    """-o, with a table for people and documents for scripts; and what a command can print besides."""
    formats = [TABLE, *(each for each in more if each == WIDE), JSON, YAML, *(each for each in more if each != WIDE)]
    parser.add_argument(
        "-o",
        "--output",
        choices=formats,
        default=TABLE,
        metavar="FORMAT",
        help=f"how to print it: {', '.join(formats)}",
    )


def is_document(output: str) -> bool:
    """Whether everything is to be printed for scripts."""
    return output in (JSON, YAML)


def print_document(data: Any, output: str) -> None:
    """Print a document as a whole."""
    print(_yaml(data) if output == YAML else json.dumps(data, indent=2, ensure_ascii=False))


def print_next(data: Any, output: str) -> None:
    """Print one of several documents that come one after the other: JSON as a line each, so that it can be read so."""
    print(f"---\n{_yaml(data)}" if output == YAML else json.dumps(data, ensure_ascii=False), flush=True)


def print_names(kind: str, names: Iterable[str]) -> None:
    """Print names as kubectl does."""
    for name in names:
        print(f"{kind}/{name}")


def _yaml(data: Any) -> str:
    import yaml

    plain = json.loads(json.dumps(data))  # what JSON knows, and no more: enums and tuples are text and lists here, too
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(plain, Dumper=dumper, sort_keys=False, allow_unicode=True, width=110)
    return text.removesuffix("\n")


# ── for code scanners ────────────────────────────────────────────────────────────────────────────────────────────────


def sarif(rules: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One run of SARIF 2.1.0."""
    tool = {"driver": {"name": "seatrial", "semanticVersion": __version__, "rules": list(rules)}}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": tool, "columnKind": "unicodeCodePoints", "results": list(results)}],
    }


# ── for whoever collects test results ────────────────────────────────────────────────────────────────────────────────


class Outcome(StrEnum):
    """How a case of JUnit's ended, by the tag that says so."""

    PASSED = ""
    FAILED = "failure"
    UNKNOWN = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that was looked at."""

    place: str
    """What it belongs to; JUnit calls it the class."""
    name: str
    outcome: Outcome = Outcome.PASSED
    kind: str = ""
    message: str = ""
    text: str = ""
    more: Mapping[str, str] = field(default_factory=dict)
    """Attributes besides: the time it took, the file and line."""


def junit(name: str, suites: Mapping[str, Sequence[Case]]) -> str:
    """Cases in their suites, as JUnit has them."""
    from xml.etree import ElementTree

    root = ElementTree.Element("testsuites", _counts(name, [case for each in suites.values() for case in each]))
    for title, cases in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", _counts(title, cases))
        for case in cases:
            said = {"classname": case.place, "name": case.name, **case.more}
            element = ElementTree.SubElement(suite, "testcase", {key: _plain(text) for key, text in said.items()})
            if case.outcome is not Outcome.PASSED:
                why = {"type": case.kind, "message": case.message}
                told = {key: _plain(text) for key, text in why.items() if text}
                ElementTree.SubElement(element, case.outcome.value, told).text = _plain(case.text) or None
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _counts(name: str, cases: Sequence[Case]) -> dict[str, str]:
    ended = {"failures": Outcome.FAILED, "errors": Outcome.UNKNOWN, "skipped": Outcome.SKIPPED}
    counted = {key: str(sum(case.outcome is outcome for case in cases)) for key, outcome in ended.items()}
    return {"name": _plain(name), "tests": str(len(cases)), **counted}


def _plain(text: str) -> str:
    """What XML can hold."""
    return "".join(each if each in "\t\n" or each >= " " else "\N{REPLACEMENT CHARACTER}" for each in text)
