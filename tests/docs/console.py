"""Pages whose consoles are real: their commands are run in one shell, and compared with what the page shows.

Law of this file: the page is the only source. A command stands there and nowhere else, and what it prints is put there
by a run: SEATRIAL_WRITE_PAGES=1 writes what differs. What is another thing in every run (times, hashes, names that a
cluster gives) is masked on both sides before it is compared; `…` in the page stands for anything, and alone on a line
for any lines. Tests: tests/docs/test_console.py
"""

from __future__ import annotations

import difflib
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

VARIABLE: Final = "SEATRIAL_WRITE_PAGES"
FENCE, CONSOLE, PROMPT, ANYTHING = "```", "```console", "$ ", "…"
HEREDOC: Final = re.compile(r"<<-?\s*'?(\w+)'?")

COMMAND_SECONDS: Final = 120.0
BROKEN_CODES: Final = (1, 2, 126, 127)
"""Of a command that did not do what it is there for, whatever it printed."""
FINDINGS: Final = re.compile(r"(?m)^\S+:\d+:\d+: fail ")
"""A check that found what the page shows did what it is there for."""

PROGRESS: Final = re.compile(r"(?m)^seatrial: .* so far(, about .* left)?\n")
"""Of these there are as many as a machine is slow; on a terminal they go away again."""

VOLATILE: Final = tuple(
    (re.compile(pattern), told)
    for pattern, told in (
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (r"\d{4}-\d\d(-\d\d)?\b", "<date>"),
        (r"\b\d\d:\d\d(:\d\d)?( UTC)?", "<clock>"),
        (r"127\.0\.0\.1:\d+", "<address>"),
        (r"\b(?:vm|localhost|[a-z0-9.]+)-\d+-[0-9a-f]{8}\b", "<process>"),
        (r"@\d+\b", "@<version>"),
        (r"\b(nvidia-[a-z-]+?)-[a-z0-9]{5}\b(?!-)", r"\1-<suffix>"),
        (r"\b(serv(?:ice|ing)-gpu-\d+)-[0-9a-f]{6,10}-[a-z0-9]{5}\b", r"\1-<suffix>"),
        (r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b", "<hash>"),
        (r"\b\d+(\.\d+)? ?(ms|s|min|h|d|seconds?|minutes?|hours?)\b( \d+ (s|min|h)\b)?", "<duration>"),
        (r"\b(\d+[smh]){1,2}\b", "<duration>"),
        (r"\bpid \d+", "pid <n>"),
        (r"\[\d+\] \d+", "[<n>] <n>"),
        (r"\b\d+ MiB", "<memory>"),
        (r", looks again or gives up within <duration>", ""),  # between two tries there is nothing to wait for
        (r" \(at most <duration>\)", ""),
        (r"\bround \d+\b", "round <n>"),
        (r"; \d+\.\d+ GPU-hours lost\b|(?m:^Cost +\d.* so far\n)", ""),  # a fast machine is done before it costs much
        (r"\b\d+\.\d+ GPU-hours", "<cost>"),
        (r"[█▒░]+", "<bar>"),
        (r" +", " "),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A command of a page with what it prints there, and where: the lines from `first` up to `last`."""

    command: str
    shown: str
    first: int
    last: int
    """The lines of what it prints: the first of them, and the one behind the last."""


def entries_of(page: str) -> list[Entry]:
    """Every command of the console blocks of a page, in order."""
    lines, found, at = page.split("\n"), [], 0
    while at < len(lines):
        if lines[at] != CONSOLE:
            at += 1
            continue
        at += 1
        while lines[at] != FENCE:
            assert lines[at].startswith(PROMPT), f"line {at + 1} is output of no command: {lines[at]}"
            begin, at = at, _end_of_command(lines, at)
            command = "\n".join([lines[begin].removeprefix(PROMPT), *lines[begin + 1 : at]])
            first = at
            while lines[at] != FENCE and not lines[at].startswith(PROMPT):
                at += 1
            found.append(Entry(command=command, shown="\n".join(lines[first:at]), first=first, last=at))
    return found


def _end_of_command(lines: list[str], at: int) -> int:
    """The line behind a command that begins here."""
    while lines[at].endswith("\\"):
        at += 1
    if word := HEREDOC.search(lines[at]):
        at = lines.index(word[1], at)
    return at + 1


def masked(text: str) -> str:
    """A text in which whatever differs between two runs is called by what it is."""
    for pattern, told in VOLATILE:
        text = pattern.sub(told, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def is_as_shown(shown: str, printed: str) -> bool:
    """Whether what was printed is what the page shows, but for what differs between two runs and what it leaves out."""
    parts = []
    for line in masked(shown).split("\n"):
        inside = ".*".join(re.escape(part) for part in line.split(ANYTHING))
        parts.append(r"(?:.*\n)*" if line.strip() == ANYTHING else inside + r"\n")
    return re.fullmatch("".join(parts), masked(printed) + "\n") is not None


def rewritten(page: str, printed: Mapping[int, str]) -> str:
    """The page with what was printed in place of what it shows, for entries by their number."""
    lines, entries = page.split("\n"), entries_of(page)
    for number in sorted(printed, reverse=True):
        fresh = printed[number].strip("\n")
        lines[entries[number].first : entries[number].last] = fresh.split("\n") if fresh else []
    return "\n".join(lines)


def under(page: str, heading: str) -> range:
    """The lines of a page under a heading, up to the next one; all of them where none is named."""
    lines = page.split("\n")
    if not heading:
        return range(len(lines))
    begin = lines.index(heading)
    return range(begin, next((at for at in range(begin + 1, len(lines)) if lines[at].startswith("## ")), len(lines)))


def run_page(path: Path, shell: Shell, heading: str = "") -> None:
    """Run the commands of a page, or of a part of it, and compare; or write what they print, where asked to."""
    text, is_written = path.read_text(encoding="utf-8"), bool(os.environ.get(VARIABLE))
    meant, differs = under(text, heading), dict[int, str]()
    for number, entry in enumerate(entries_of(text)):
        if entry.first not in meant:
            continue
        code, printed = shell.run(entry.command, timeout_seconds=COMMAND_SECONDS)
        print(f"$ {entry.command}\n{printed}", end="")
        if not is_as_shown(entry.shown, printed):
            differs[number] = printed
            told = "\n".join(
                difflib.unified_diff(
                    masked(entry.shown).split("\n"), masked(printed).split("\n"), "the page", "this run", lineterm=""
                )
            )
            assert is_written, f"$ {entry.command}\n{told}"
        is_found = code == 1 and FINDINGS.search(entry.shown) is not None
        assert code not in BROKEN_CODES or is_found, f"$ {entry.command}\n{printed}(exit code {code})"
    if differs:
        path.write_text(rewritten(text, differs), encoding="utf-8")


def environment() -> dict[str, str]:
    """What a person's shell has: our programs, and a name to commit by."""
    you = {"NAME": "You", "EMAIL": "you@example.org"}
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        **{f"GIT_{who}_{what}": told for who in ("AUTHOR", "COMMITTER") for what, told in you.items()},
    }


class Shell:
    """One shell for a whole page: what a command changes is changed for the next. Whatever it started ends with it."""

    def __init__(self, folder: Path, *, home: Path, environment: Mapping[str, str], told_home: str) -> None:
        """The home folder is called by another name in what commands print."""
        self._folder, self._home, self._told_home = folder, home, told_home
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=home,
            env={**environment, "HOME": str(home)},
            text=True,
            start_new_session=True,
        )
        self._tell("shopt -s expand_aliases")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self._shell.pid, signal.SIGKILL)  # its own session: the shell and what it left in the background
        self._shell.wait(10)

    def run(self, command: str, *, timeout_seconds: float) -> tuple[int, str]:
        """Run a command to its end, and return its exit code and what it printed."""
        asked, out = self._folder / "command", self._folder / "printed"
        asked.write_text(command + "\n", encoding="utf-8")
        self._tell(f'{{ . "{asked}"; }} </dev/null >"{out}" 2>&1; echo "$?"')
        assert self._shell.stdout is not None
        ready, _, _ = select.select([self._shell.stdout], [], [], timeout_seconds)
        printed = out.read_text(encoding="utf-8").replace(str(self._home), self._told_home)
        assert ready, f"{command!r} did not end within {timeout_seconds:g} s; so far it printed:\n{printed}"
        code = self._shell.stdout.readline().strip()
        assert code.isdecimal(), f"the shell ended with {command!r}: {code}"
        return int(code), PROGRESS.sub("", printed)

    def _tell(self, line: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(line + "\n")
        self._shell.stdin.flush()
