"""Compare compat-facts.yaml with what the programs derive: `make facts-derive SOURCES=DIR`.

Prints what is equal, what differs and what was read by hand, and proposes rows for releases that the checkouts have and
the data does not. Exits with 1 when a derived row differs; nothing is written.

Tests: tests/data/test_extract.py
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from data.extract import endoflife, gpu_operator, network_operator
from data.extract import rows as all_rows
from data.extract.checkouts import Checkouts
from data.extract.rows import DOUBTED, EXTRACTORS, Extractor, Row

DATA: Final = Path(__file__).parents[1] / "compat-facts.yaml"
EQUAL, DIFFERENT, ABSENT, BY_HAND = "equal", "different", "source absent", "read by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one row."""

    row: Row
    extractor: str
    state: str
    differences: tuple[str, ...] = ()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make facts-derive", description=__doc__)
    parser.add_argument("sources", type=Path, metavar="DIR", help="the folder of the checkouts")
    parser.add_argument("--data", type=Path, default=DATA, help=argparse.SUPPRESS)
    args = parser.parse_args()
    data = yaml.load(args.data.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    checkouts = Checkouts(folder=args.sources)
    outcomes = [outcome(row, checkouts) for row in all_rows.rows(data)]
    for each in outcomes:
        for difference in each.differences:
            print(f"{'.'.join(each.row.path)} ({each.extractor}): {difference}")
    for path, row in proposals(data, checkouts):
        print(f"\n# not in the data: {'.'.join(path)}")
        print(yaml.safe_dump({path[-1]: row}, sort_keys=False, allow_unicode=True), end="")
    _print_counts(outcomes)
    return 1 if any(each.state == DIFFERENT for each in outcomes) else 0


def outcome(row: Row, checkouts: Checkouts) -> Outcome:
    """Derive one row again, and compare; fields that no program derives are left to whoever wrote them."""
    extractor = all_rows.extractor_of(row)
    if extractor is None:
        return Outcome(row=row, extractor="", state=BY_HAND)
    derived = _derived(extractor, row, checkouts)
    if derived is None:
        return Outcome(row=row, extractor=extractor.name, state=ABSENT)
    doubted = DOUBTED.get(".".join(row.path), {})
    differences = tuple(differing(row.fields, {name: value for name, value in derived.items() if name not in doubted}))
    return Outcome(
        row=row, extractor=extractor.name, state=DIFFERENT if differences else EQUAL, differences=differences
    )


def differing(shipped: Mapping[str, Any], derived: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """What two rows do not agree about, field by field."""
    for name, value in derived.items():
        ours = shipped.get(name)
        if isinstance(value, dict) and isinstance(ours, dict):
            yield from differing(ours, value, f"{at}{name}.")
            more = (key for key in ours if key not in value and ours[key] is not None)
            yield from (f"{at}{name}.{key} is {ours[key]!r}, derived is nothing" for key in more)
        elif ours != value:
            yield f"{at}{name} is {ours!r}, derived is {value!r}"


def proposals(data: Mapping[str, Any], checkouts: Checkouts) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Rows for releases that are in a checkout and not in the data; a person decides."""
    for extractor, section, ref, key in _candidates(checkouts):
        known = data[section[0]][section[1]]
        row = Row(path=(*section, key), source=_source(extractor, ref), fields={})
        derived = _derived(extractor, row, checkouts) if key not in known else None
        if derived is not None:
            yield row.path, {**derived, "source": row.source, "confidence": extractor.confidence}


def _candidates(checkouts: Checkouts) -> Iterator[tuple[Extractor, tuple[str, str], str, str]]:
    by_name = {each.name: each for each in EXTRACTORS}
    for name, section in (
        ("gpu-operator-values", ("gpu_operator", "releases")),
        ("network-operator-release", ("network_operator", "releases")),
    ):
        checkout = checkouts.of(by_name[name].repository)
        for tag in checkout.tags() if checkout is not None else ():
            if re.fullmatch(r"v(2[4-9]|[3-9]\d)\.\d+\.\d+", tag):
                yield by_name[name], section, tag, tag
    pages = checkouts.of(endoflife.REPOSITORY)
    for name, section, file, pattern in (
        ("endoflife-kubernetes", ("kubernetes", "releases"), endoflife.KUBERNETES, r"(1\.(?:2[5-9]|[3-9]\d))"),
        ("endoflife-driver", ("driver", "lifecycle"), endoflife.DRIVER, r"r(4[5-9]\d|[5-9]\d\d)-linux"),
    ):
        page = pages.text("HEAD", file) if pages is not None else None
        for cycle in endoflife.cycles(page) if page else ():
            if found := re.fullmatch(pattern, cycle):
                yield by_name[name], section, "HEAD", found[1]


def _derived(extractor: Extractor, row: Row, checkouts: Checkouts) -> dict[str, Any] | None:
    checkout, found = checkouts.of(extractor.repository), extractor.pattern.fullmatch(row.source)
    return None if checkout is None or found is None else extractor.derive(checkout, found["ref"], row)


def _source(extractor: Extractor, ref: str) -> str:
    files = {
        "gpu-operator-values": gpu_operator.VALUES,
        "network-operator-release": network_operator.RELEASE,
        "endoflife-kubernetes": f"{endoflife.KUBERNETES} (from kubernetes.io/releases/patch-releases)",
        "endoflife-driver": endoflife.DRIVER,
    }
    return f"github:{extractor.repository}@{ref}:{files[extractor.name]}"


def _print_counts(outcomes: list[Outcome]) -> None:
    print()
    counts = Counter((each.extractor or "(by hand)", each.state) for each in outcomes)
    for (name, state), count in sorted(counts.items()):
        print(f"{name:26} {state:14} {count}")


if __name__ == "__main__":
    sys.exit(main())
