"""How a page is played: which commands it has, when an answer is what it shows, and how it is written anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.played import WRITES, Command, commands_of, is_said, play

PAGE = """\
# A page

```console
$ one
first
$ two <<END
  its input
END
second
```

```yaml
$ no command
```

```console
$ three \\
    more
```
"""


def test_a_command_has_its_input_and_its_answer() -> None:
    assert list(commands_of(PAGE)) == [
        Command(line=3, text="one", shown=("first",)),
        Command(line=5, text="two <<END\n  its input\nEND", shown=("second",)),
        Command(line=16, text="three \\\n    more", shown=()),
    ]


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("waits for 12 s", "waits for 3 min 4 s"),
        ("since 2026-11-17T18:24:20Z", "since 2027-01-01T00:00:00Z"),
        ("pod driver-daemonset-gpu-q29n2", "pod driver-daemonset-gpu-x7v4k"),
        ("a   b\nc", "a b c"),
        ("commit 1234abcd", "commit 0f0f0f0f"),
        ("first\n…\nlast", "first\nand others\nlast"),
        ("…\nlast", "much\nlast"),
        ("first …", "first word"),
    ],
)
def test_what_is_never_the_same_twice_does_not_count(shown: str, said: str) -> None:
    assert is_said(tuple(shown.splitlines()), said)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("gpu-004 waits", "gpu-005 waits"),
        ("3 nodes", "4 nodes"),
        ("driver 570.124.06", "driver 580.105.08"),
        ("first\n…\nlast", "first\nand others"),
        ("first", "first\nand more"),
    ],
)
def test_everything_else_does(shown: str, said: str) -> None:
    assert not is_said(tuple(shown.splitlines()), said)


def test_a_page_that_shows_something_else_is_told_with_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WRITES, raising=False)
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    answers = {"one": "other", "two": "second", "three": ""}
    with pytest.raises(AssertionError, match=r"page.md:4: \$ one\n--- shown\nfirst\n--- said\nother"):
        play(page, lambda command: answers[command.text.split()[0]])
    assert page.read_text(encoding="utf-8") == PAGE


def test_it_is_written_anew_where_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WRITES, "1")
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    answers = {"one": "other\nlines\n", "two": "second", "three": "third"}
    play(page, lambda command: answers[command.text.split()[0]])
    monkeypatch.delenv(WRITES)
    play(page, lambda command: answers[command.text.split()[0]])
    assert "$ one\nother\nlines\n$ two" in page.read_text(encoding="utf-8")
