"""dcgm-diag: what NVIDIA's own diagnostic says, test by test.

    dcgmi diag -r LEVEL -j ─▶ "DCGM Diagnostic" (4.x) or "DCGM GPU Diagnostic" (3.x) ─▶ tests ─▶ results by GPU

A status that is not a pass by name is never one. dcgmi ends with an error for mere warnings, so its document decides.
Tests: tests/probes/test_dcgm_diag.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any, Final

from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes

ROOTS: Final = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
DEADLINES_SECONDS: Final = {1: 300, 2: 900, 3: 3600, 4: 3 * 3600}


def look(options: Options, notes: Notes) -> None:
    program = shutil.which("dcgmi")
    if program is None:
        raise Unmeasurable("dcgmi is not in this image; NVIDIA's DCGM image has it")
    command = [program, "diag", "-r", str(options.level), "-j"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DEADLINES_SECONDS[options.level], check=False
        )
    except subprocess.TimeoutExpired as err:
        raise Unmeasurable(f"dcgmi diag -r {options.level} had no answer within {err.timeout:.0f} s") from err
    read(done.stdout, done.stderr, notes)


def read(output: str, errors: str, notes: Notes) -> None:
    """Note what a document of dcgmi says; what cannot be read is unmeasurable."""
    begin, end = output.find("{"), output.rfind("}")
    try:
        document = json.loads(output[begin : end + 1]) if begin >= 0 else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        said = (errors or output).strip().splitlines() or ["it said nothing"]
        raise Unmeasurable(f"dcgmi gave no document: {said[-1]}")
    root = next((document[key] for key in ROOTS if isinstance(document.get(key), dict)), document)
    for source in {id(each): each for each in (document, root)}.values():
        if source.get("runtime_error"):
            notes.misses("dcgm", str(source["runtime_error"]))
    passed = 0
    for test, result in _results(root):
        passed += _note(test, result, notes)
    if not passed and not notes.broken and not notes.unknown:
        raise Unmeasurable("dcgmi ran no test")
    notes.measure("tests-passed", passed, "results")


def _results(root: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    categories = [*_dicts(root.get("test_categories")), root]
    for test in (test for category in categories for test in _dicts(category.get("tests"))):
        for result in _dicts(test.get("results")):
            yield str(test.get("name", "a test without a name")), result


def _note(test: str, result: dict[str, Any], notes: Notes) -> bool:
    status = str(result.get("status", "")).strip().lower()
    gpu = f"GPU {result['entity_id']}" if "entity_id" in result else f"GPU {result.get('gpu_ids', '?')}"
    why = _why(result)
    match status:
        case "pass":
            return True
        case "fail":
            notes.breaks(test, why or "it failed without a word", gpu=gpu)
        case "warn" | "warning":
            notes.misses(test, why or "it warned without a word", gpu=gpu)
        case "skip" | "skipped" | "not run" | "notrun" | "":
            pass  # not part of this level, or not for this product
        case _:
            notes.misses(test, f"its status is {status}", gpu=gpu)
    return False


def _why(result: dict[str, Any]) -> str:
    found = result.get("warnings") or ()
    told = [each.get("warning", "") if isinstance(each, dict) else str(each) for each in found]
    return "; ".join(filter(None, told))


def _dicts(found: Any) -> list[dict[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
