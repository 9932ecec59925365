"""Ask whether tests notice what is broken on purpose; the result is kept in bench/results, and exit 1 says too few did.

python -m bench.mutants                        400 mutants of seed 1, on every core; goes on where it was broken off
python -m bench.mutants --seed 7 --sample 100
python -m bench.mutants --file adapters/git    mutants of these files alone; nothing is kept
python -m bench.mutants --anew                 forget what was found before
python -m bench.mutants --by-hand              the mistakes written down in by_hand.toml, with one process
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue

from bench.machine import keep, machine
from bench.mutants import by_hand, counting, equivalents, reach
from bench.mutants.choosing import Choice
from bench.mutants.counting import ASKED_SHARE, Note, Notes, Verdict
from bench.mutants.drawing import drawn
from bench.mutants.edits import Mutant
from bench.mutants.rooms import Room

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".mutants"
SAMPLE = 400
PROGRESS_SECONDS = 30.0


def main() -> int:
    """Draw, measure, try, count."""
    asked = _asked()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop; the next run goes on from here"))
    if asked.by_hand:
        return _by_hand(asked.file, _notes(asked.anew))
    texts = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for folder in reach.EDITED
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    wanted = {file: text for file, text in texts.items() if asked.file in file}
    sample = list(islice(drawn(wanted, asked.seed), asked.sample))
    began = time.monotonic()
    known, notes = reach.Kept(KEPT / "reach.json", ROOT), _notes(asked.anew)  # what the rooms are copied from
    with ExitStack() as stack:
        rooms = [_room(stack) for _ in range(asked.jobs)]
        _measure(known, rooms)
        before = sum(notes.of(mutant) is not None for mutant in sample)
        tried = _tried(sample, Choice(known.reached(), texts), rooms, notes)
    result = counting.result_of(tried)
    for line in (*result["survived"], *result["unreached"]):
        print(f"not caught: {line}")
    print(f"{result['caught_share']:.1%} caught of {len(sample)}; {result['verdicts']}")
    if not asked.file:
        seconds = round(time.monotonic() - began)
        about = {
            "machine": machine(),
            "seed": asked.seed,
            "jobs": asked.jobs,
            "seconds": seconds,
            "known_before": before,
        }
        print(keep("mutants", {**about, **result}))
    return int(result["caught_share"] < ASKED_SHARE)


def _by_hand(file: str, known: Notes) -> int:
    began = time.monotonic()
    with ExitStack() as stack:
        result = by_hand.played(_room(stack), ROOT, file, known)
    print(f"{result['caught_share']:.1%} caught of {result['mutants']}; {result['verdicts']}")
    if not file:
        print(keep("mutants-by-hand", {"machine": machine(), "seconds": round(time.monotonic() - began), **result}))
    return int(result["caught_share"] < ASKED_SHARE)


def _room(stack: ExitStack) -> Room:
    room = Room(Path(tempfile.mkdtemp(prefix="seatrial-mutants-")), ROOT, Path(sys.prefix))
    stack.callback(room.close)
    return room


def _notes(is_anew: bool) -> Notes:
    path = KEPT / "verdicts.jsonl"
    if is_anew:
        path.unlink(missing_ok=True)
    rests = {path for test in reach.test_files(ROOT) for path in reach.rests_on(test, ROOT)}
    return Notes(path, code=reach.code_of(ROOT), tests=reach.digest(rests, ROOT))


# ── which tests there are ────────────────────────────────────────────────────────────────────────────────────────────


def _measure(known: reach.Kept, rooms: list[Room]) -> None:
    """Find out what every test runs, in all rooms at once, where that is not known."""
    missing = known.missing()
    if missing:
        print(f"measuring what the tests of {len(missing)} files run …", file=sys.stderr, flush=True)
    piles = [missing[index :: len(rooms)] for index in range(len(rooms))]
    running = [(pile, room, _measuring(room, pile)) for pile, room in zip(piles, rooms, strict=True) if pile]
    for pile, room, process in running:
        out, _ = process.communicate()
        found = room.work / "reached.json"
        if not found.exists():
            raise SystemExit(f"The tests could not be measured:\n{out[-2000:]}")
        known.take(pile, reach.read(found))
    if broken := known.broken():
        print("do not pass as it is, and are not asked:", *broken, sep="\n  ", file=sys.stderr)


def _measuring(room: Room, pile: list[str]) -> subprocess.Popen[str]:
    command = [str(room.python), "-m", "bench.mutants.reach", "reached.json", *pile]
    return subprocess.Popen(
        command, cwd=room.work, env=room.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


# ── trying ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _tried(sample: list[Mutant], choice: Choice, rooms: list[Room], notes: Notes) -> list[Note]:
    known = {each.key: each.why for each in equivalents.listed()}
    due: SimpleQueue[Mutant] = SimpleQueue()
    verdicts: dict[str, Note] = {}
    for mutant in sample:
        found = _without_trying(mutant, known, notes)
        if found is None:
            due.put(mutant)
        else:
            verdicts[mutant.name] = found
    progress = _Progress(verdicts, len(sample))
    workers = ThreadPoolExecutor(len(rooms))
    try:
        for ended in [workers.submit(_work, room, due, choice, notes, progress) for room in rooms]:
            ended.result()
    finally:
        for room in rooms:  # who is told to stop does not wait for what is being tried
            room.close()
        workers.shutdown()
    progress.end()
    return [verdicts[mutant.name] for mutant in sample]


def _without_trying(mutant: Mutant, known: Mapping[equivalents.Key, str], notes: Notes) -> Note | None:
    why = known.get(equivalents.key_of(mutant))
    if why is not None:
        return Note(mutant=mutant.name, verdict=Verdict.EQUIVALENT, by=why)
    return notes.of(mutant)


def _work(room: Room, due: SimpleQueue[Mutant], choice: Choice, notes: Notes, progress: _Progress) -> None:
    for mutant in _all_of(due):
        note = try_out(room, mutant, choice)
        with progress.turn:
            notes.take(note)
            progress.take(note)


def _all_of(due: SimpleQueue[Mutant]) -> Iterator[Mutant]:
    while True:
        try:
            yield due.get_nowait()
        except Empty:
            return


def try_out(room: Room, mutant: Mutant, choice: Choice) -> Note:
    """Whether a test notices a mutant."""
    chosen = choice.of(mutant)
    if not chosen.first:
        return Note(mutant=mutant.name, verdict=Verdict.UNREACHED)
    seconds, asked, verdict, by = 0.0, 0, Verdict.SURVIVED, ""
    with room.holding(mutant):
        for helping in filter(None, (chosen.first, chosen.others)):
            limit = LIMIT_SECONDS + LIMIT_TIMES * sum(each.seconds for each in helping)
            answer = room.ask([each.test for each in helping], limit)
            seconds, asked = seconds + answer.seconds, asked + len(helping)
            if answer.failed or answer.is_over_time:
                verdict = Verdict.HUNG if answer.is_over_time else Verdict.CAUGHT
                by = answer.failed
                break
    left_out = chosen.left_out if verdict is Verdict.SURVIVED else 0
    return Note(mutant=mutant.name, verdict=verdict, by=by, asked=asked, left_out=left_out, seconds=round(seconds, 1))


LIMIT_SECONDS, LIMIT_TIMES = 40.0, 6.0
"""Who does not end within this, and so many times what it took unedited, hangs."""


class _Progress:
    """How it stands, on one line where somebody looks at it, else every now and then."""

    def __init__(self, verdicts: dict[str, Note], count: int) -> None:
        self.turn = threading.Lock()
        self._verdicts, self._count = verdicts, count
        self._began = self._told_at = time.monotonic()
        self._before = len(verdicts)
        self._is_watched = sys.stderr.isatty()

    def take(self, note: Note) -> None:
        self._verdicts[note.mutant] = note
        now = time.monotonic()
        if self._is_watched or now - self._told_at >= PROGRESS_SECONDS:
            self._told_at = now
            self._say(now)

    def end(self) -> None:
        if self._is_watched:
            print(file=sys.stderr)

    def _say(self, now: float) -> None:
        done = len(self._verdicts)
        left = (self._count - done) * (now - self._began) / max(1, done - self._before)
        caught = counting.share_of(self._verdicts.values())
        text = f"{done} of {self._count} mutants, {caught:.0%} caught, {left / 60:.0f} min left"
        print(
            f"\r{text}   " if self._is_watched else text,
            end="" if self._is_watched else "\n",
            file=sys.stderr,
            flush=True,
        )


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=SAMPLE)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--file", default="", help="only files whose path has this in it; nothing is kept")
    parser.add_argument("--anew", action="store_true", help="forget what was found before")
    parser.add_argument("--by-hand", action="store_true", help="the mistakes written down in by_hand.toml")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
