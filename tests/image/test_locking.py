"""Writing the lock: apt is asked in a folder of its own, and told that what is left out is there already."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seatrial_lab.image import lock, locking, recipe
from seatrial_lab.image.errors import ImageFailure

# An apt that has one package, which is newer where it is secure; it keeps what it was told and asked.
APT_GET = """#!/bin/sh
folder=$(dirname "$APT_CONFIG")
case "$1" in
update)
    printf 'Suite: x\\nDate: Sat, 14 Nov 2026 02:17:28 UTC\\n' > "$folder/state/lists/new_InRelease"
    printf 'Suite: x\\nDate: Sat, 11 Jul 2026 10:16:37 UTC\\n' > "$folder/state/lists/old_InRelease" ;;
install)
    cp "$folder/status" "$folder/etc/sources.list" "$folder/apt.conf" {kept}
    echo "$@" > {kept}/asked
    echo "'http://mirror/debian-security/pool/updates/main/g/git/git_1.0_all.deb' git_2%3a1.0_all.deb 12 SHA256:x" ;;
esac
"""
APT_CACHE = """#!/bin/sh
printf 'Package: x\\nVersion: 2:1.0\\nArchitecture: all\\nSource: gits\\n'
printf 'Filename: pool/updates/main/g/git/git_1.0_all.deb\\n'
printf 'Size: 12\\nSHA256: abc\\nDescription: a thing\\n  Version: 9\\n\\nPackage: x\\nVersion: 1\\n'
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the last apt was told, on a machine that has this apt and little else."""
    programs = tmp_path / "bin"
    kept = tmp_path / "kept"
    for folder in (programs, kept):
        folder.mkdir()
    for name in ("sh", "dirname", "cp", "printf"):
        (programs / name).symlink_to(str(shutil.which(name)))
    for name, script in {"apt-get": APT_GET.replace("{kept}", str(kept)), "apt-cache": APT_CACHE}.items():
        (programs / name).write_text(script, encoding="utf-8")
        (programs / name).chmod(0o755)
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    monkeypatch.setattr(locking, "KEYRING", keyring)
    monkeypatch.setenv("PATH", str(programs))
    return kept


def test_the_lock_is_what_apt_would_install(kept: Path) -> None:
    git = lock.Package(
        name="git",
        version="2:1.0",
        architecture="all",
        source="gits",
        archive="debian-security",
        path="pool/updates/main/g/git/git_1.0_all.deb",
        size=12,
        sha256="abc",
    )
    assert locking.resolve("http://mirror") == lock.Lock(
        as_of=datetime(2026, 11, 14, 2, 17, 28, tzinfo=UTC), packages={"amd64": (git,), "arm64": (git,)}
    )
    assert (kept / "asked").read_text().split()[3:] == sorted(recipe.PACKAGES)


def test_what_is_left_out_counts_as_installed_and_a_little_newer(kept: Path) -> None:
    locking.resolve("http://mirror")
    status = (kept / "status").read_text()
    assert status.count("Status: install ok installed") == len(recipe.LEFT_OUT)
    assert status.count("Version: 2:1.0+left.out") == len(recipe.LEFT_OUT)


def test_apt_believes_debians_keys_alone_and_knows_one_architecture(kept: Path) -> None:
    locking.resolve("http://mirror")
    sources = (kept / "sources.list").read_text().splitlines()
    assert all(f"[signed-by={locking.KEYRING}] http://mirror/debian" in line for line in sources)
    assert 'APT::Architectures { "arm64"; };' in (kept / "apt.conf").read_text()


def test_without_apt_it_says_where_to_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageFailure, match="run it on Debian"):
        locking.resolve()
