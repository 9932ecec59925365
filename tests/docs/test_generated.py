"""The documentation is true: generated pages are current, links lead somewhere, and the README's commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything the generator writes, in a folder of its own."""
    folder = tmp_path_factory.mktemp("docs")
    subprocess.run([sys.executable, "-m", "docs.generate", "--to", folder], check=True, cwd=ROOT)
    return folder


def test_the_generated_pages_are_what_the_code_says_today(fresh: Path) -> None:
    written = [path.relative_to(fresh) for path in sorted(fresh.rglob("*")) if path.is_file()]
    old = [str(name) for name in written if not is_same(fresh / name, ROOT / name)]
    assert written, "the generator wrote nothing"
    assert old == [], f"{', '.join(old)}: not what the generator writes today. Run `make docs` and commit the result."


def test_nothing_is_left_of_pages_that_are_no_longer_generated(fresh: Path) -> None:
    for folder in ("docs/reference", "docs/pictures"):
        kept = {path.name for path in (ROOT / folder).iterdir()}
        assert kept == {path.name for path in (fresh / folder).iterdir()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = [link for link in links(page) if not leads_somewhere(page, link)]
    assert broken == [], f"{page.relative_to(ROOT)} links to what is not there: {', '.join(broken)}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/tutorial/first-upgrade.md"])
def test_every_command_of_the_pages_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:^\$ |`)make ([a-z-]+)", text, re.MULTILINE)) <= targets
    assert set(re.findall(r"(?:^\$ |`)seatrial ([a-z]+)", text, re.MULTILINE)) <= set(COMMANDS)


def test_the_readme_names_the_test_command_that_ci_runs() -> None:
    assert re.search(r"^\$ make test\b", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_decision_says_its_context_its_choice_and_what_was_refused() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [path.name[:4] for path in decisions] == [f"{number:04}" for number in range(1, len(decisions) + 1)]
    for path in decisions:
        assert {"## Context", "## Choice", "## What we refused"} <= set(path.read_text(encoding="utf-8").splitlines())


def is_same(one: Path, other: Path) -> bool:
    return other.exists() and one.read_bytes() == other.read_bytes()


def links(page: Path) -> list[str]:
    return LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))


def leads_somewhere(page: Path, link: str) -> bool:
    if link.startswith("https://"):
        return True  # the outside is not ours to test
    name, _, heading = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not heading or heading in headings(target))


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
