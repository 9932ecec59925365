"""What the tests beside the GPU Operator say of the one that this run names: outcomes and time of each file.

    SEATRIAL_GPU_OPERATOR=DIR python -m bench.beside [--into RESULT] [FILE…]

Without files it runs every test that has the mark `operator`, which takes most of an hour; with --into what some files
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

OUTCOMES = {"failure": "failed", "error": "failed", "skipped": "left_out"}


def main() -> int:
    """Run the tests and keep what they say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", default=["tests"], help="test files; else all")
    parser.add_argument("--into", type=Path, metavar="RESULT", help="the result that this is added to")
    args = parser.parse_args()
    parts = operator_parts.find()
    files = outcomes(args.files)
    if args.into is None:
        path = keep(f"beside-{parts.release}", result_of(parts.release, files))
    else:
        path = args.into
        before = json.loads(path.read_text(encoding="utf-8"))["files"] if path.exists() else {}
        path.write_text(json.dumps(result_of(parts.release, before | files), indent=2) + "\n", encoding="utf-8")
    print(f"bench: kept as {path}", file=sys.stderr)
    return 1 if any(each["failed"] for each in files.values()) else 0


def outcomes(files: list[str]) -> dict[str, dict[str, Any]]:
    """What each of these files says, by its name."""
    with tempfile.TemporaryDirectory(prefix="seatrial-bench-") as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "operator", f"--junitxml={report}", *files]
        subprocess.run(command, stdout=sys.stderr, check=False)
        cases = list(ET.parse(report).iter("testcase"))  # noqa: S314  written by our own pytest a moment ago
    by_file: dict[str, list[ET.Element]] = {}
    for case in cases:
        by_file.setdefault(case.attrib["classname"].replace(".", "/") + ".py", []).append(case)
    return {name: said_by(found) for name, found in sorted(by_file.items())}


def said_by(cases: list[ET.Element]) -> dict[str, Any]:
    """The outcomes of one file, with the names of those that did not pass."""
    by_outcome = [(outcome_of(case), case) for case in cases]
    counts = Counter(outcome for outcome, _ in by_outcome)
    return {
        "passed": counts["passed"],
        "failed": sorted(case.attrib["name"] for outcome, case in by_outcome if outcome == "failed"),
        "left_out": {case.attrib["name"]: why(case) for outcome, case in by_outcome if outcome == "left_out"},
        "seconds": round(sum(float(case.attrib["time"]) for case in cases)),
    }


def outcome_of(case: ET.Element) -> str:
    """Passed, failed or left out."""
    return next((OUTCOMES[each.tag] for each in case if each.tag in OUTCOMES), "passed")


def why(case: ET.Element) -> str:
    """Why a test was left out."""
    return next((each.attrib.get("message", "") for each in case if each.tag == "skipped"), "")


def result_of(release: str, files: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Everything that was said, with where and when."""
    return {
        "what": "the tests beside the real GPU Operator, beside this one",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "gpu_operator": release,
        "passed": sum(each["passed"] for each in files.values()),
        "failed": sum(len(each["failed"]) for each in files.values()),
        "left_out": sum(len(each["left_out"]) for each in files.values()),
        "files": dict(sorted(files.items())),
    }


if __name__ == "__main__":
    sys.exit(run(main))
