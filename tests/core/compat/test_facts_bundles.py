"""A bundle: its digest is what standard tools say, and what does not fit its checksums is refused by name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from seatrial.core.compat.facts.bundles import Bundle, BundleTampered, BundleUnreadable

FILES = {"a.yaml": b"driver: {}\n", "b.yaml": b"cuda: {}\n"}


def sums(tmp_path: Path, files: dict[str, bytes]) -> bytes:
    """What `sha256sum` prints of these files."""
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    done = subprocess.run(["sha256sum", *sorted(files)], cwd=tmp_path, capture_output=True, check=True)
    return done.stdout


def test_the_digest_is_what_sha256sum_says_of_the_checksums(tmp_path: Path) -> None:
    listed = sums(tmp_path, FILES)
    shown = subprocess.run(["sha256sum"], input=listed, capture_output=True, check=True).stdout.split()[0].decode()
    for raw in (FILES, {**FILES, "SHA256SUMS": listed}, {**FILES, "README.md": b"x"}):
        assert Bundle.of(raw, "here").digest == f"sha256:{shown}"


def test_checksums_and_signature_are_kept_with_the_facts(tmp_path: Path) -> None:
    listed = sums(tmp_path, FILES)
    found = Bundle.of({**FILES, "SHA256SUMS": listed, "SHA256SUMS.sig": b"sig"}, "here")
    assert (found.signed, found.signature) == (listed, b"sig")
    assert dict(found.beside) == {"SHA256SUMS": listed, "SHA256SUMS.sig": b"sig"}


def test_one_file_may_be_signed_by_itself() -> None:
    found = Bundle.of({"a.yaml": b"x: y\n", "a.yaml.sig": b"sig"}, "here")
    assert (found.signed, found.signature, dict(found.files)) == (b"x: y\n", b"sig", {"a.yaml": b"x: y\n"})


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"a.yaml": b"driver: {x: 1}\n"}, "a.yaml was changed"),
        ({"c.yaml": b""}, "c.yaml is not in SHA256SUMS"),
        ({"b.yaml": None}, "b.yaml is missing"),
    ],
)
def test_a_file_that_is_not_what_the_checksums_say_is_named(
    tmp_path: Path, change: dict[str, bytes | None], word: str
) -> None:
    changed = {name: content for name, content in {**FILES, **change}.items() if content is not None}
    with pytest.raises(BundleTampered, match=word):
        Bundle.of({**changed, "SHA256SUMS": sums(tmp_path, FILES)}, "here")


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ({}, "no facts"),
        ({"README.md": b""}, "no facts"),
        ({"../a.yaml": b""}, "Names are letters"),
        ({".a.yaml": b""}, "Names are letters"),
        ({"a.yaml": b"", "SHA256SUMS": b"no sums\n"}, "sha256sum"),
        ({"a.yaml": b"", "SHA256SUMS.sig": b"x"}, "no SHA256SUMS"),
        ({f"{number}.yaml": b"" for number in range(201)}, "at most 200"),
    ],
)
def test_what_is_no_bundle_says_why(raw: dict[str, bytes], word: str) -> None:
    with pytest.raises(BundleUnreadable, match=word):
        Bundle.of(raw, "here")
