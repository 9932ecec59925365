"""What the documentation names exists: every path, and every symbol of the code.

Decisions and the changelog tell of what was so when they were written, and are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    if page.parent.name != "decisions" and page.name != "CHANGELOG.md"
]
CODE = ("src", "tests", "bench", "data", "docs", "charts")
BELOW = ("", "src", "src/seatrial", "src/seatrial/core", "src/seatrial/adapters/kube", "tests")
"""Where a path that a page names may begin."""
THEIRS = {
    "gpu-version-matrix.yaml",
    "matrix.yaml",
    "seatrial-rules.yaml",
    ".pre-commit-config.yaml",
    "seatrial-facts/bundles/",
    "seatrial-facts/bundles.lock.json",
    # of a bundle
    "seatrial-bundle.yaml",
    "kustomization.yaml",
    "helmfile.yaml",
    "app-of-apps.yaml",
    "sources/seatrial-bundle.yaml",
    "NNN-gpu-operator/values.yaml",
    "NNN-RELEASE/values.yaml",
}
"""Files of the reader's own repository."""
EXAMPLES = {"docs/decisions/NNNN-title.md", "test_a_node_cordoned_by_a_human_stays_cordoned"}

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w./-]+\.(?:py|yaml|yml|json|md|toml|gz|svg)|\.?\w[\w.-]*(?:/[\w.-]+)*/")
SYMBOL = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?")
IN_FILE = re.compile(r"`([A-Za-z_]\w*)` in\s+`([\w./-]+\.py)`")


def named(page: Path) -> Iterator[str]:
    yield from (each for each in NAMED.findall(FENCE.sub("", page.read_text(encoding="utf-8"))) if each not in EXAMPLES)


def found(name: str, page: Path) -> Path | None:
    """The file or folder that a page means, None where there is none."""
    places = [page.parent / name, *(ROOT / below / name for below in BELOW)]
    if "/" not in name:  # a neighbour of what was named before
        places += [*ROOT.glob(f"src/**/{name}"), *ROOT.glob(f"tests/**/{name}")]
    return next((place for place in places if place.exists()), None)


@cache
def known_words() -> frozenset[str]:
    texts = [ROOT / "pyproject.toml", ROOT / "Makefile"]
    for folder in CODE:
        texts += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".py", ".yaml", ".yml", ".json"} and "__pycache__" not in path.parts
        ]
    return frozenset(word for path in texts for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    paths = [name for name in named(page) if PATH.fullmatch(name) and name not in THEIRS]
    assert [name for name in paths if found(name, page) is None] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_symbol_that_a_page_names_stands_in_the_code(page: Path) -> None:
    """A symbol is what is written like one: with an underscore, or a capital."""
    symbols = [name for name in named(page) if SYMBOL.fullmatch(name) and re.search(r"_|[a-z][A-Z]|^[A-Z]", name)]
    gone = [name for name in symbols if not set(re.findall(r"\w+", name)) <= known_words()]
    assert gone == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_symbol_is_in_the_file_where_a_page_says_it_is(page: Path) -> None:
    for symbol, name in IN_FILE.findall(page.read_text(encoding="utf-8")):
        path = found(name, page)
        assert path is not None, name
        assert re.search(rf"^(?:(?:async )?def |class )?{symbol}\b", path.read_text(encoding="utf-8"), re.MULTILINE), (
            f"{symbol} is not in {name}"
        )


def test_a_page_that_names_what_is_not_there_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Look at `core/nowhere.py` and `core/decision/decide.py`, and at `decide` in `core/holds.py`.", encoding="utf-8"
    )
    assert [name for name in named(page) if PATH.fullmatch(name) and found(name, page) is None] == ["core/nowhere.py"]
    assert IN_FILE.findall(page.read_text(encoding="utf-8")) == [("decide", "core/holds.py")]
