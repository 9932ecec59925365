"""A room, with the real code and real tests in it: what is broken there is noticed, and the checkout knows nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bench.mutants import __main__ as command
from bench.mutants import reach
from bench.mutants.choosing import Choice
from bench.mutants.counting import Verdict
from bench.mutants.edits import Mutant, mutants_of
from bench.mutants.reach import Reached
from bench.mutants.rooms import Room, RoomGone

ROOT = Path(__file__).resolve().parents[2]
FILE, TESTS = "src/seatrial/adapters/kube/shapes/marking.py", "tests/adapters/kube/test_marking.py"
CHILD, ITS_TESTS = "src/seatrial/adapters/expressions/child.py", "tests/adapters/expressions/test_measurer.py"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    opened = Room(tmp_path_factory.mktemp("room") / "it", ROOT, Path(sys.prefix))
    yield opened
    opened.close()
    assert not opened.work.exists()


def a_mutant(file: str, before: str, after: str) -> Mutant:
    """The first mutant of a file with these texts."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = mutants_of(file, text)
    return next(each for each in found if " ".join(each.before.split()) == before and each.after == after)


UNBOUND = a_mutant(FILE, '"resourceVersion": action.expect,', "")


def test_what_is_broken_is_noticed_by_the_first_test_that_fails_and_only_while_it_is(room: Room) -> None:
    before = (ROOT / FILE).read_text(encoding="utf-8")
    assert room.ask([TESTS], 60.0).failed == ""
    with room.holding(UNBOUND):
        answer = room.ask([TESTS], 60.0)
        assert (ROOT / FILE).read_text(encoding="utf-8") == before
    assert answer.failed.startswith(f"{TESTS}::test_a_retry_asks")
    assert room.ask([TESTS], 60.0).failed == ""


def test_a_file_that_cannot_even_be_imported_is_noticed(room: Room) -> None:
    broken = Mutant(**{each: getattr(UNBOUND, each) for each in Mutant.__slots__} | {"after": "**nobody, "})
    with room.holding(broken):
        assert room.ask([TESTS], 60.0).failed


def test_a_case_that_is_gone_with_what_it_was_made_of_catches_nothing_and_hides_nothing(room: Room) -> None:
    assert room.ask([f"{TESTS}::test_that_is_not_there"], 60.0).failed == ""
    with room.holding(UNBOUND):
        assert room.ask([f"{TESTS}::test_that_is_not_there"], 60.0).failed


def test_a_child_that_is_started_in_isolation_runs_the_mutant_as_well(room: Room) -> None:
    mutant = next(
        each
        for each in mutants_of(CHILD, (ROOT / CHILD).read_text(encoding="utf-8"))
        if each.edit == "statement" and each.before.startswith("json.dump(")
    )
    with room.holding(mutant):
        assert room.ask([ITS_TESTS], 60.0).failed


def test_who_does_not_end_is_ended_with_all_that_he_started(room: Room) -> None:
    (room.work / "tests" / "test_hanging.py").write_text(
        "import subprocess, sys\n\n\ndef test_it():\n"
        "    subprocess.run([sys.executable, '-c', 'import time; print(1); time.sleep(600)', 'left-behind'])\n"
    )
    answer = room.ask(["tests/test_hanging.py"], 3.0)
    assert (answer.is_over_time, answer.failed) == (True, "")
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "left-behind" not in running


def test_a_room_that_is_closed_takes_everything_along(tmp_path: Path) -> None:
    closed = Room(tmp_path / "it", ROOT, Path(sys.prefix))
    (closed.work / "tests" / "test_hanging.py").write_text(
        "import subprocess, sys\n\n\ndef test_it():\n"
        "    subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)', 'closed-behind'])\n"
    )

    def is_running() -> bool:
        return "closed-behind" in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout

    with ThreadPoolExecutor(1) as other:
        asked = other.submit(closed.ask, ["tests/test_hanging.py"], 60.0)
        until = time.monotonic() + 30.0
        while not is_running() and time.monotonic() < until:
            time.sleep(0.05)
        closed.close()
        with pytest.raises(RoomGone):
            asked.result(30.0)
    assert not is_running()
    assert not closed.work.exists()


def test_nothing_of_whoever_asked_can_be_reached_from_a_room(room: Room) -> None:
    (room.work / "tests" / "test_inside.py").write_text(
        "import subprocess, sys\nfrom pathlib import Path\n\nimport seatrial\n\n\ndef test_it():\n"
        "    here = Path.cwd()\n    assert Path(seatrial.__file__).is_relative_to(here)\n"
        "    assert Path.home().parent == here.parent\n"
        "    assert subprocess.run(['git', 'status'], capture_output=True).returncode == 128\n"
        "    isolated = [sys.executable, '-I', '-c', 'import seatrial; print(seatrial.__file__)']\n"
        "    assert subprocess.run(isolated, capture_output=True, text=True).stdout.startswith(str(here))\n"
    )
    assert room.ask(["tests/test_inside.py"], 60.0).failed == ""


def test_the_lines_of_every_test_are_measured_and_those_who_run_a_mutant_are_asked(room: Room) -> None:
    process = command._measuring(room, [TESTS])
    assert process.wait(60) == 0
    found = [
        Reached(test=test, seconds=told["seconds"], lines={file: int(bits, 16) for file, bits in told["lines"].items()})
        for test, told in reach.read(room.work / "reached.json").items()
        if told["passed"]
    ]
    choice = Choice(found, {FILE: (ROOT / FILE).read_text(encoding="utf-8")})
    assert len(choice.of(UNBOUND).first) == len(found) == 3
    note = command.try_out(room, UNBOUND, choice)
    assert (note.verdict, note.by.partition("::")[0]) == (Verdict.CAUGHT, TESTS)
    canary = a_mutant(FILE, "labels[keys.CANARY_LABEL] = action.rollout if action.canary else None", "pass")
    assert command.try_out(room, canary, choice).verdict is Verdict.UNREACHED
