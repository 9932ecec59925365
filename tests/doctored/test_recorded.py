"""Every recorded cluster: what is wrong is found on the nodes it is on, and nothing that is not."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import pytest

from seatrial.adapters.files.facts import failures as failures_file
from seatrial.app.survey.diagnosing import Diagnosed, DoctorOptions
from seatrial.cli.survey import doctor_telling
from seatrial.core.survey.doctor.diagnosing import Diagnosis, diagnose
from tests import doctored

GOLDEN = Path(__file__).parent / "golden"


async def found_in(name: str) -> Diagnosis:
    return diagnose(await doctored.read(doctored.recorded(name)), failures_file.known())


@pytest.mark.parametrize("name", doctored.NAMES)
async def test_what_is_wrong_is_found_where_it_is_and_nothing_else(name: str) -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for case in (await found_in(name)).cases:
        found[case.failure.name].append(case.node)
    assert {failure: sorted(nodes) for failure, nodes in found.items()} == doctored.expected(name)


@pytest.mark.parametrize("name", doctored.NAMES)
async def test_what_is_printed_is_what_was_read_over(name: str) -> None:
    diagnosis = await found_in(name)
    text = doctor_telling.as_text(
        Diagnosed(diagnosis=diagnosis, options=DoctorOptions(), known_count=len(failures_file.known()))
    )
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SEATRIAL_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == f"{text}\n"


def test_every_failure_is_recorded_at_least_once() -> None:
    recorded = {failure for name in doctored.NAMES for failure in doctored.expected(name)}
    assert recorded == {each.name for each in failures_file.known()}
