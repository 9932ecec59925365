"""Check data/compat-facts.yaml and write it as the package's knowledge base. Run by `make facts`.

The reader of the package (seatrial.core.compat.facts) checks the schema: versions, ranges, sources, confidences, keys.
Here is asked what only makes sense of the whole: release lines are complete, and what one table says of another's rows
is true.

Tests: tests/core/compat/test_facts.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from seatrial.core.compat import facts
from seatrial.core.compat.facts import Facts
from seatrial.core.compat.matrix import Component

HERE = Path(__file__).parent
DATA, SUPPLEMENT = HERE / "compat-facts.yaml", HERE / "compat-supplement.yaml"
WRITTEN = HERE.parent / "src" / "seatrial" / "knowledge" / "facts.json"

NOT_FOR_THE_PACKAGE = ("example_matrices",)
"""Examples are for the tests, which read them from the data."""


def main() -> int:
    """Check, and write only what is right."""
    data = whole(load(DATA), load(SUPPLEMENT))
    problems = list(check(data))
    for problem in problems:
        print(f"{DATA.name}: {problem}", file=sys.stderr)
    if problems:
        return 1
    WRITTEN.write_text(text_of(data), encoding="utf-8")
    size, made_on = WRITTEN.stat().st_size // 1024, data["generated"]["on"]
    print(f"{WRITTEN.relative_to(HERE.parent)}: {size} KiB, knowledge of {made_on}")
    return 0


def load(path: Path) -> Any:
    """Read one YAML file; days stay texts, as they are in JSON."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def whole(data: dict[str, Any], supplement: dict[str, Any]) -> dict[str, Any]:
    """The data with its machine-readable forms, without what the package does not need."""
    kept = {key: value for key, value in data.items() if key not in NOT_FOR_THE_PACKAGE}
    for section, block in supplement.items():
        if section == "known_issues":
            kept[section] = [_issue(row, block) for row in kept[section]]
            continue
        for key, more in block.items():
            kept[section] = {**kept[section], key: {**kept[section][key], **more}}
    return kept


def text_of(data: dict[str, Any]) -> str:
    """The package's form: compact, and the same for the same data."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=False, default=str) + "\n"


def check(data: dict[str, Any]) -> Iterator[str]:
    """Everything that is wrong, as sentences."""
    try:
        known = facts.read(data)
    except facts.FactInvalid as err:
        yield str(err)
        return
    yield from _lines(data, known)
    yield from _references(data, known)
    yield from _sources(data, ())


def _issue(row: dict[str, Any], more: list[dict[str, Any]]) -> dict[str, Any]:
    when = {key: text for each in more if each["effect"] == row["effect"] for key, text in each["when"].items()}
    return {**row, "when": {**row["when"], **when}}


def _lines(data: dict[str, Any], known: Facts) -> Iterator[str]:
    for component in (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR):
        stated, rows = data[component.value]["release_line"], known.operators(component).values()
        if sorted(stated, key=_numbers) != stated or len(set(stated)) != len(stated):
            yield f"{component.value}.release_line is not in order"
        if set(stated) != {row.line for row in rows}:
            yield f"{component.value}.release_line and the lines of its releases differ"
        for key, row in data[component.value]["releases"].items():
            if row["major"] != key.removeprefix("v").rsplit(".", key.count("-") + 1)[0]:
                yield f"{component.value}.releases.{key}: major is {row['major']}"


def _references(data: dict[str, Any], known: Facts) -> Iterator[str]:
    releases = data["gpu_operator"]["releases"]
    for row in data["gpu_operator"]["source_disagreements"]:
        if row["release"] not in releases:
            yield f"gpu_operator.source_disagreements names {row['release']}, which has no release"
    for row in data["gpu_operator"]["never_released"]:
        if row["version"] in releases:
            yield f"gpu_operator.never_released names {row['version']}, which has a release"
    for version, release in known.gpu_operators.items():
        if release.driver not in known.drivers:
            yield f"gpu_operator.releases.{version}: default driver {release.driver} is in no list of drivers"
    for key, row in data["openshift"]["releases"].items():
        stream = data["rhel_kernel_streams"].get(row["rhel"])
        if stream is None or (stream["kernel"], stream["dist"]) != (row["kernel_stream"], row["kernel_dist"]):
            yield f"openshift.releases.{key}: RHEL {row['rhel']} has another kernel in rhel_kernel_streams"
    for version in data["mofed_kernel"]["rhel_added_by_release"]["values"]:
        if version not in data["network_operator"]["releases"]:
            yield f"mofed_kernel.rhel_added_by_release names {version}, which has no release"


def _sources(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """A mapping that has one of the two has both; rows without either rest on the mapping above them."""
    if isinstance(value, dict):
        if ("confidence" in value) != ("source" in value or "evidence" in value or "kernel_source" in value):
            yield f"{'.'.join(path)}: source and confidence go together"
        if "find_string" in str(value.get("source")):
            yield f"{'.'.join(path)}: a source must be something a reader can find"
        for key, below in value.items():
            yield from _sources(below, (*path, str(key)))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _sources(below, (*path, str(index)))


def _numbers(line: str) -> tuple[int, ...]:
    return tuple(map(int, line.split(".")))


if __name__ == "__main__":
    sys.exit(main())
