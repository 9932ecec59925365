"""What we ship of others: bounds that end where the tests end, holes and licences of which unknown is never a pass."""

from __future__ import annotations

import json
import re
import tomllib
from email.message import Message
from pathlib import Path
from typing import Any, cast

import pytest

from seatrial_lab.dependencies import FINDINGS, INCONCLUSIVE, OK, Found, holes, licence_of, licences, shipped

ROOT = Path(__file__).parents[1]
WITHOUT_END = {"tzdata"}
"""Data that is only ever wanted newer."""


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def locked() -> dict[str, str]:
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    return {each["name"]: each.get("version", "") for each in lock["package"]}


def next_series(version: str) -> str:
    """The first series after this one that may break us: a major, before 1.0 a minor."""
    major, minor = (int(each) for each in version.split(".")[:2])
    return f"0.{minor + 1}" if major == 0 else str(major + 1)


WANTED = [*project()["dependencies"], *project()["optional-dependencies"]["probes"]]


@pytest.mark.parametrize("wanted", WANTED, ids=[re.split("[<>=]", each)[0] for each in WANTED])
def test_a_dependency_ends_before_the_first_series_that_the_tests_have_not_run_with(wanted: str) -> None:
    name, _, bounds = wanted.partition(">=")
    if name in WITHOUT_END:
        assert "<" not in bounds
        return
    least, _, end = bounds.partition(",<")
    assert end == next_series(locked()[name]), (
        "the tests run with the newest series that it lets in, and with none above"
    )
    assert least


# ── holes ────────────────────────────────────────────────────────────────────────────────────────────────────────────

PACKAGES = ("aiohttp==3.14.5", "pyyaml==6.0.3")
SOUND = {"name": "aiohttp", "version": "3.14.5", "vulns": []}
HOLE = {"id": "PYSEC-2027-1", "fix_versions": ["6.0.4"], "description": "no"}


def answer(*told: dict[str, Any]) -> str:
    return json.dumps({"dependencies": told, "fixes": []})


def test_packages_without_a_known_hole_pass() -> None:
    said = answer(SOUND, {"name": "PyYAML", "version": "6.0.3", "vulns": []})
    assert holes(PACKAGES, said) == Found()
    assert holes(PACKAGES, said).code == OK


def test_a_known_hole_is_told_with_where_it_is_mended() -> None:
    found = holes(PACKAGES, answer(SOUND, {"name": "pyyaml", "version": "6.0.3", "vulns": [HOLE]}))
    assert found == Found(bad=("pyyaml==6.0.3: PYSEC-2027-1, mended in 6.0.4",))
    assert found.code == FINDINGS


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "{}",
        "Traceback",
        answer(),
        answer(SOUND),
        answer(SOUND, {"name": "pyyaml", "skip_reason": "Dependency not found on PyPI and could not be audited"}),
        answer(SOUND, {"name": "pyyaml", "version": "6.0.2", "vulns": []}),
    ],
)
def test_whatever_could_not_be_asked_is_no_pass(said: str) -> None:
    """pip-audit ends with 0 where it could not reach anybody."""
    found = holes(PACKAGES, said)
    assert not found.bad
    assert found.code == INCONCLUSIVE


def test_a_hole_counts_more_than_what_is_not_known() -> None:
    assert Found(bad=("x",), unknown=("y",)).code == FINDINGS


# ── licences ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def said_by(**fields: str | list[str]) -> Any:
    message = Message()
    for name, values in fields.items():
        for value in [values] if isinstance(values, str) else values:
            message[name.replace("_", "-")] = value
    return cast(Any, message)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"License_Expression": "Apache-2.0 AND MIT"}, ("Apache-2.0", "MIT")),
        ({"License_Expression": "GPL-3.0-only OR MIT"}, ("MIT",)),
        ({"License_Expression": "GPL-3.0-only"}, ("GPL-3.0-only",)),
        ({"License": "Apache 2.0"}, ("Apache-2.0",)),
        ({"License": "a\nwhole\ntext", "Classifier": ["License :: OSI Approved :: MIT License"]}, ("MIT",)),
        ({"Classifier": ["Typing :: Typed"]}, ()),
    ],
)
def test_a_licence_is_read_however_it_is_said(fields: dict[str, Any], named: tuple[str, ...]) -> None:
    assert licence_of(said_by(**fields)) == named


def test_a_licence_that_we_do_not_take_is_found_and_one_that_nobody_tells_is_no_pass() -> None:
    told = {"aiohttp": ("Apache-2.0", "MIT"), "pyyaml": ("GPL-3.0-only",)}
    assert licences(PACKAGES, told).code == FINDINGS
    assert licences(PACKAGES, {"aiohttp": ("MIT",)}).code == INCONCLUSIVE
    assert licences(PACKAGES, told | {"pyyaml": ("MIT",)}).code == OK


def test_what_is_shipped_is_what_the_lock_names_for_this_machine() -> None:
    lock = "# by uv\naiohttp==3.14.5\n    # via seatrial\ncolorama==0.4.6 ; sys_platform == 'win32'\nyarl==1.25.1\n"
    assert shipped(lock) == ("aiohttp==3.14.5", "yarl==1.25.1")
