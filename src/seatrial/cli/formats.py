"""How a command prints what it found: `-o table|wide|json|yaml|name`, and the documents and names themselves.

Law of this file: json and yaml are the same document, and a name is what kubectl prints, so that it can be handed on to
kubectl. Nobody else writes documents. Which command has which format, and why not: tests/cli/test_options.py.
Tests: tests/cli/test_formats.py
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import Any, Final

from seatrial.cli.program import print_data

TABLE: Final = "table"
WIDE: Final = "wide"
JSON: Final = "json"
YAML: Final = "yaml"
NAME: Final = "name"

NODE: Final = "node"
ROLLOUT: Final = "gpurollout.seatrial.dev"


def add_output(parser: argparse.ArgumentParser, *more: str) -> None:
    """-o, with a table for people and documents for scripts; and what a command can print besides."""
    formats = [TABLE, *(each for each in more if each == WIDE), JSON, YAML, *(each for each in more if each != WIDE)]
    parser.add_argument("-o", "--output", choices=formats, default=TABLE, help="how to print it")


def is_document(output: str) -> bool:
    """Whether everything is to be printed for scripts."""
    return output in (JSON, YAML)


def print_document(data: Any, output: str) -> None:
    """Print a document as a whole."""
    print_data(_yaml(data) if output == YAML else json.dumps(data, indent=2, ensure_ascii=False))


def print_next(data: Any, output: str) -> None:
    """Print one of several documents that come one after the other: JSON as a line each, so that it can be read so."""
    print_data(f"---\n{_yaml(data)}" if output == YAML else json.dumps(data, ensure_ascii=False), is_last=True)


def print_names(kind: str, names: Iterable[str]) -> None:
    """Print names as kubectl does."""
    for name in names:
        print_data(f"{kind}/{name}")


def _yaml(data: Any) -> str:
    import yaml

    plain = json.loads(json.dumps(data))  # what JSON knows, and no more: enums and tuples are text and lists here, too
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(plain, Dumper=dumper, sort_keys=False, allow_unicode=True, width=110)
    return text.removesuffix("\n")
