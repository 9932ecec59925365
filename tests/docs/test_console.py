"""Pages whose consoles are run: what is a command, what is the same, and what a run puts into the page."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seatrial_lab.testbed import waiting
from tests.docs.console import Entry, Shell, entries_of, is_as_shown, rewritten

PAGE = """# A page

```console
$ one
a
b
$ two \\
    three <<END
four
END
c
```

```yaml
$ none: of ours
```

```console
$ last
```
"""


def test_commands_are_taken_from_console_blocks_with_what_stands_below_them() -> None:
    assert entries_of(PAGE) == [
        Entry(command="one", shown="a\nb", first=4, last=6),
        Entry(command="two \\\n    three <<END\nfour\nEND", shown="c", first=10, last=11),
        Entry(command="last", shown="", first=19, last=19),
    ]


def test_output_that_belongs_to_no_command_is_told() -> None:
    with pytest.raises(AssertionError, match="line 2 is output of no command: stray"):
        entries_of("```console\nstray\n```")


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("done at 2026-11-17T18:24:20Z", "done at 2027-01-02T03:04:05.678Z\n"),
        ("heard of 2 s ago", "heard of 1 min 12 s ago"),
        ("AGE\n23s     x", "AGE\n1m4s x  "),
        ("pod nvidia-driver-daemonset-q29n2 is starting", "pod nvidia-driver-daemonset-abcde is starting"),
        ("commit 1a2b3c4", "commit deadbee1"),
        ("first\n…\nlast", "first\nlast"),
        ("first\n…\nlast", "first\nand\nmore\nlast"),
        ("a … b", "a little of b"),
        ("", "\n"),
    ],
)
def test_what_differs_between_runs_or_is_left_out_is_the_same(shown: str, printed: str) -> None:
    assert is_as_shown(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("2 nodes", "3 nodes"),
        ("driver 570.124.06", "driver 570.172.08"),
        ("first\n…\nlast", "first\nlast\nmore"),
        ("said", ""),
        ("", "said"),
        ("gpu-003 waits", "gpu-004 waits"),
    ],
)
def test_everything_else_is_not(shown: str, printed: str) -> None:
    assert not is_as_shown(shown, printed)


def test_a_run_replaces_what_is_shown_and_nothing_else() -> None:
    fresh = rewritten(PAGE, {0: "A\n", 2: "Z\n"})
    assert [each.shown for each in entries_of(fresh)] == ["A", "c", "Z"]
    assert rewritten(fresh, {0: "a\nb", 2: ""}) == PAGE


def test_one_shell_runs_all_commands_and_ends_what_they_left(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = {"PATH": os.environ["PATH"]}
    with Shell(tmp_path, home=home, environment=environment, told_home="/home/you") as shell:
        assert shell.run("alias say=echo; cd ~; export WORD=x", timeout_seconds=10) == (0, "")
        assert shell.run("say $WORD; pwd; false", timeout_seconds=10) == (1, "x\n/home/you\n")
        code, printed = shell.run("cat <<END\nsaid\nEND\nsleep 600 & echo $!", timeout_seconds=10)
        said, left = printed.split()
        assert (code, said, Path(f"/proc/{left}").exists()) == (0, "said", True)
    waiting.wait_for(lambda: is_over(left), what="what it left to be over", timeout_seconds=10)


def is_over(process: str) -> bool:
    """Whether a process is gone, or dead and not taken note of by its parent."""
    try:
        return ") Z " in Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return True
