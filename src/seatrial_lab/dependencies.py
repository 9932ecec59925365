"""What we ship of others: whether holes in it are known (pip-audit), and whether its licences are among those we take.

    make audit-dependencies     exit 0 nothing found, 8 a hole or a licence, 11 not everything could be asked

What is looked at is what uv.lock installs with seatrial and its payloads, and nothing of what only the tests need.

Law of this file: unknown is never a pass. pip-audit ends with 0 where it was told nothing about a package, so its exit
code counts for nothing here: each package has to be in its answer, without a reason why it was skipped.

Tests: tests/test_dependencies.py
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
UV: Final = str(Path(sys.executable).parent / "uv")
ASK_SECONDS: Final = 300.0
OK, FINDINGS, INCONCLUSIVE = 0, 8, 11

TAKEN: Final = frozenset(
    {"Apache-2.0", "MIT", "BSD", "BSD-2-Clause", "BSD-3-Clause", "ISC", "PSF-2.0", "MPL-2.0", "Unlicense", "0BSD"}
)
"""Licences under which others may be shipped together with us, which is Apache-2.0."""
SPELLED: Final = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "ISC License": "ISC",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
}
"""How licences were written before packages had one way to say them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is to be said about packages, one line each."""

    bad: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        return FINDINGS if self.bad else INCONCLUSIVE if self.unknown else OK


def shipped(lock: str) -> tuple[str, ...]:
    """The packages of an exported lock that this machine would install, as name==version."""
    lines = (line.split("#")[0].strip() for line in lock.splitlines())
    pinned = (line.partition(";") for line in lines if "==" in line)
    return tuple(name.strip() for name, _, where in pinned if "win32" not in where)


def holes(packages: Iterable[str], answer: str) -> Found:
    """What pip-audit's answer in JSON says about each of these packages."""
    try:
        told: dict[str, Mapping[str, Any]] = {_plain(each["name"]): each for each in json.loads(answer)["dependencies"]}
    except (ValueError, KeyError, TypeError):
        return Found(unknown=("pip-audit said nothing that can be read",))
    bad, unknown = [], []
    for package in packages:
        name, _, version = package.partition("==")
        about = told.get(_plain(name), {})
        if about.get("version") != version or "vulns" not in about:
            unknown.append(f"{package}: {about.get('skip_reason', 'pip-audit says nothing about it')}")
            continue
        for hole in about["vulns"]:
            fixed = ", ".join(hole.get("fix_versions") or ()) or "nothing yet"
            bad.append(f"{package}: {hole['id']}, mended in {fixed}")
    return Found(bad=tuple(bad), unknown=tuple(unknown))


def licences(packages: Iterable[str], told: Mapping[str, Sequence[str]]) -> Found:
    """Whether the licences of each package are among those that we take; `told` has them by name."""
    bad, unknown = [], []
    for package in packages:
        name = package.partition("==")[0]
        words = told.get(name, ())
        if not words:
            unknown.append(f"{package}: says nothing about its licence, or is not installed")
        elif not all(word in TAKEN for word in words):
            bad.append(f"{package}: {' and '.join(words)} is not among the licences that we take")
    return Found(bad=tuple(bad), unknown=tuple(unknown))


def licence_of(told: metadata.PackageMetadata) -> tuple[str, ...]:
    """The licences that a package names, all of which count; of a choice the first that we take."""
    (expression,) = told.get_all("License-Expression") or ("",)
    if not expression:
        (stated,) = told.get_all("License") or ("",)
        classified = [each for each in told.get_all("Classifier") or () if each.startswith("License :: ")]
        is_short = bool(stated) and "\n" not in stated and len(stated) < 40
        named = [stated] if is_short else classified
        return tuple(SPELLED.get(each, each) for each in named)
    parts = [part.strip(" ()") for part in re.split(r"\bAND\b", expression)]
    return tuple(_chosen(part) for part in parts)


def _chosen(part: str) -> str:
    choices = [each.strip(" ()") for each in re.split(r"\bOR\b", part)]
    return next((each for each in choices if each in TAKEN), part)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _locked() -> tuple[str, ...]:
    asked = ["export", "--frozen", "--quiet", "--no-dev", "--no-emit-workspace", "--no-hashes", "--extra", "probes"]
    return shipped(subprocess.run([UV, *asked], cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def _audited(packages: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "requirements.txt"
        listed.write_text("\n".join(packages), encoding="utf-8")
        asked = [
            "--requirement",
            str(listed),
            "--no-deps",
            "--disable-pip",
            "--progress-spinner",
            "off",
            "--format",
            "json",
        ]
        command = [UV, "tool", "run", "--quiet", "--from", "pip-audit", "pip-audit", *asked]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return ""
    if not done.stdout:
        print(done.stderr.strip(), file=sys.stderr)
    return done.stdout


def _installed(packages: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found = {}
    for name in (package.partition("==")[0] for package in packages):
        try:
            found[name] = licence_of(metadata.metadata(name))
        except metadata.PackageNotFoundError:
            continue  # said as unknown
    return found


def main() -> int:
    packages = _locked()
    judged = {"holes": holes(packages, _audited(packages)), "licences": licences(packages, _installed(packages))}
    for about, found in judged.items():
        for line in (*found.bad, *found.unknown):
            print(f"{about}: {line}")
    said = {OK: "nothing found", FINDINGS: "something to mend", INCONCLUSIVE: "not everything could be asked"}
    print(f"{len(packages)} packages; " + "; ".join(f"{about}: {said[found.code]}" for about, found in judged.items()))
    return Found(
        bad=tuple(line for found in judged.values() for line in found.bad),
        unknown=tuple(line for found in judged.values() for line in found.unknown),
    ).code


if __name__ == "__main__":
    sys.exit(main())
