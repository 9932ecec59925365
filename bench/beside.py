"""What the tests beside the GPU Operator say of the one that this run names, test by test.

    SEATRIAL_GPU_OPERATOR=DIR python -m bench.beside [--into RESULT] [--only EXPRESSION] [FILE…]

Without files it runs every test that has the mark `operator`, which takes most of an hour; with --into what some tests
say is added to what others said before. What a test that was left out is about does not hold for this operator.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.machine import keep, machine, run

from seatrial_lab.testbed.building import operator_parts

OUTCOMES = {"failure": "failed", "error": "failed", "skipped": "left out"}
Said = dict[str, dict[str, str]]
"""By file and test."""


def main() -> int:
    """Run the tests and keep what they say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", default=["tests"], help="test files; else all")
    parser.add_argument("--only", default="", metavar="EXPRESSION", help="of these the tests whose names match, as -k")
    parser.add_argument("--into", type=Path, metavar="RESULT", help="the result that this is added to")
    args = parser.parse_args()
    parts = operator_parts.find()
    said = outcomes(args.files, args.only)
    if args.into is None:
        path = keep(f"beside-{parts.release}", result_of(parts.release, said))
    else:
        path = args.into
        before: Said = json.loads(path.read_text(encoding="utf-8"))["tests"] if path.exists() else {}
        whole = {file: before.get(file, {}) | said.get(file, {}) for file in before | said}
        path.write_text(json.dumps(result_of(parts.release, whole), indent=2) + "\n", encoding="utf-8")
    print(f"bench: kept as {path}", file=sys.stderr)
    return 1 if any("failed" in tests.values() for tests in said.values()) else 0


def outcomes(files: list[str], only: str) -> Said:
    """What the tests of these files say."""
    with tempfile.TemporaryDirectory(prefix="seatrial-bench-") as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "operator", "-k", only, f"--junitxml={report}", *files]
        subprocess.run(command, stdout=sys.stderr, check=False)
        cases = list(ET.parse(report).iter("testcase"))  # noqa: S314  written by our own pytest a moment ago
    said: Said = {}
    for case in cases:
        file = case.attrib["classname"].replace(".", "/") + ".py"
        said.setdefault(file, {})[case.attrib["name"]] = outcome_of(case)
    return said


def outcome_of(case: ET.Element) -> str:
    """Passed, failed, or left out and why."""
    found = next((each for each in case if each.tag in OUTCOMES), None)
    if found is None:
        return "passed"
    why = f": {found.attrib.get('message', '')}" if found.tag == "skipped" else ""
    return f"{OUTCOMES[found.tag]}{why}"


def result_of(release: str, said: Said) -> dict[str, Any]:
    """Everything that was said, with where and when."""
    counts = Counter(outcome.partition(":")[0] for tests in said.values() for outcome in tests.values())
    return {
        "what": "the tests beside the real GPU Operator, beside this one",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "gpu_operator": release,
        "counts": dict(sorted(counts.items())),
        "tests": {file: dict(sorted(tests.items())) for file, tests in sorted(said.items())},
    }


if __name__ == "__main__":
    sys.exit(run(main))
