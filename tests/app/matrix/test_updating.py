"""Facts without a release of ours: who vouches for a bundle decides, and what nobody vouches for changes nothing."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

import pytest

from seatrial.adapters.files.facts.knowledge import FactsFileInvalid, FactsFileTooNew
from seatrial.adapters.files.facts.store import locked_in
from seatrial.app.errors import CalledWrongly
from seatrial.app.matrix import updating
from seatrial.app.matrix.updating import Updated, UpdateOptions
from seatrial.core.compat.facts.bundles import (
    Bundle,
    BundleTampered,
    BundleUnreadable,
    BundleUnsigned,
    NoSshKeygen,
    SignerNotAllowed,
)
from tests.adapters.files.layout import layout
from tests.adapters.git.remotes import bare, git
from tests.adapters.ssh.keys import Signer, signer

DAY = date(2026, 11, 16)
FACTS = b"gpu_operator:\n  releases:\n    v26.10.0: {source: release notes, confidence: verified-in-source}\n"


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    """A bundle in a folder, not signed."""
    folder = tmp_path / "acme-facts"
    folder.mkdir()
    (folder / "operators.yaml").write_bytes(FACTS)
    return folder


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "fleet"
    folder.mkdir()
    return folder


@pytest.fixture
def ada(tmp_path: Path) -> Signer:
    return signer(tmp_path)


def sign(bundle: Path, who: Signer) -> None:
    """What a publisher types."""
    files = sorted(each.name for each in bundle.glob("*.yaml"))
    sums = subprocess.run(["sha256sum", *files], cwd=bundle, capture_output=True, check=True).stdout
    (bundle / "SHA256SUMS").write_bytes(sums)
    who.sign(bundle / "SHA256SUMS")


def allow(here: Path, *who: Signer) -> None:
    (here / "seatrial-facts").mkdir(exist_ok=True)
    (here / "seatrial-facts" / "allowed-signers").write_text("".join(each.line() for each in who))


def update(
    source: Path | str,
    here: Path,
    *,
    digest: str = "",
    commit: str = "",
    path: str = "",
    name: str = "",
    on: date = DAY,
) -> Updated:
    return updating.update(
        UpdateOptions(source=str(source), folder=here, on=on, digest=digest, commit=commit, path=path, name=name)
    )


def everything(here: Path) -> dict[str, tuple[int, bytes]]:
    """Every file with its moment and its bytes."""
    files = [each for each in sorted(here.rglob("*")) if each.is_file()]
    return {str(each.relative_to(here)): (each.stat().st_mtime_ns, each.read_bytes()) for each in files}


def digest() -> str:
    return Bundle.of({"operators.yaml": FACTS}, "x").digest


# ── who vouches ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_signed_bundle_of_an_allowed_signer_is_taken_over(acme: Path, here: Path, ada: Signer) -> None:
    sign(acme, ada)
    allow(here, ada)
    done = update(acme, here)
    assert (done.name, done.is_changed, done.locked.signer, done.locked.pin) == ("acme-facts", True, ada.who, "")
    assert locked_in(here / "seatrial-facts") == {"acme-facts": done.locked}
    assert sorted(each.name for each in done.folder.iterdir()) == [
        ".gitattributes",
        "SHA256SUMS",
        "SHA256SUMS.sig",
        "operators.yaml",
    ]


def test_a_bundle_with_the_digest_that_was_named_is_taken_over(acme: Path, here: Path) -> None:
    done = update(acme, here, digest=digest())
    assert (done.locked.digest, done.locked.pin, done.locked.signer) == (digest(), digest(), "")


def test_a_bundle_that_nobody_vouches_for_says_its_digest(acme: Path, here: Path) -> None:
    with pytest.raises(BundleUnsigned, match=f"--digest {digest()}"):
        update(acme, here)
    assert everything(here) == {}


def test_a_bundle_of_somebody_who_is_not_allowed_is_told_apart(
    acme: Path, here: Path, ada: Signer, tmp_path: Path
) -> None:
    sign(acme, signer(tmp_path, "eve@example.com"))
    with pytest.raises(SignerNotAllowed, match="there is no"):
        update(acme, here)
    allow(here, ada)
    with pytest.raises(SignerNotAllowed, match="does not have it"):
        update(acme, here)
    assert list(everything(here)) == ["seatrial-facts/allowed-signers"]


@pytest.mark.parametrize("part", ["operators.yaml", "SHA256SUMS", "SHA256SUMS.sig"])
def test_a_bundle_that_was_changed_after_it_was_signed_is_tampered(
    acme: Path, here: Path, ada: Signer, part: str
) -> None:
    sign(acme, ada)
    allow(here, ada)
    if part == "SHA256SUMS":  # the facts were changed, and the checksums with them
        (acme / "operators.yaml").write_bytes(FACTS + b"# more\n")
        signature = (acme / "SHA256SUMS.sig").read_bytes()
        sign(acme, ada)
        (acme / "SHA256SUMS.sig").write_bytes(signature)
    else:
        (acme / part).write_bytes((acme / part).read_bytes().replace(b"v26.10.0", b"v26.11.0").replace(b"U1", b"V1"))
    with pytest.raises(BundleTampered):
        update(acme, here)
    assert list(everything(here)) == ["seatrial-facts/allowed-signers"]


def test_another_digest_than_the_one_named_is_tampered(acme: Path, here: Path) -> None:
    with pytest.raises(BundleTampered, match="was asked for"):
        update(acme, here, digest=f"sha256:{'0' * 64}")
    with pytest.raises(CalledWrongly, match="is none"):
        update(acme, here, digest="0" * 64)
    assert everything(here) == {}


def test_without_ssh_keygen_a_signature_cannot_be_checked_and_a_pin_can(
    acme: Path, here: Path, ada: Signer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign(acme, ada)
    allow(here, ada)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSshKeygen, match="or pin the bundle"):
        update(acme, here)
    assert update(acme, here, digest=digest()).is_changed


# ── what is in it ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_facts_of_a_later_schema_and_wrong_ones_are_told_apart(acme: Path, here: Path, ada: Signer) -> None:
    allow(here, ada)
    (acme / "operators.yaml").write_text("schema_version: 2\nnew_section: {}\n")
    sign(acme, ada)
    with pytest.raises(FactsFileTooNew, match=r"reads facts of version 1, and these are 2\. Update seatrial"):
        update(acme, here)
    (acme / "operators.yaml").write_text("gpu_operator: {relases: {}}\n")
    sign(acme, ada)
    with pytest.raises(FactsFileInvalid, match="Did you mean 'releases'"):
        update(acme, here)
    assert list(everything(here)) == ["seatrial-facts/allowed-signers"]


# ── again ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_second_run_that_finds_the_same_changes_nothing(acme: Path, here: Path) -> None:
    update(acme, here, digest=digest())
    before = everything(here)
    again = update(acme, here, on=date(2027, 1, 1))
    assert (again.is_changed, again.locked.on) == (False, DAY)
    assert everything(here) == before


def test_a_newer_edition_needs_a_word_of_its_own(acme: Path, here: Path, ada: Signer) -> None:
    update(acme, here, digest=digest())
    before = everything(here)
    (acme / "operators.yaml").write_bytes(FACTS + b"# newer\n")
    with pytest.raises(BundleUnsigned, match=r"taken over on 2026-11-16 was pinned"):
        update(acme, here)
    assert everything(here) == before
    sign(acme, ada)
    allow(here, ada)
    assert update(acme, here).locked.signer == ada.who
    assert len(list((here / "seatrial-facts" / "bundles").iterdir())) == 1


def test_what_was_tampered_with_here_is_put_back(acme: Path, here: Path) -> None:
    done = update(acme, here, digest=digest())
    (done.folder / "operators.yaml").write_text("driver: {}\n")
    assert update(acme, here).is_changed
    assert (done.folder / "operators.yaml").read_bytes() == FACTS


# ── from where ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_a_bundle_too(acme: Path, here: Path, ada: Signer) -> None:
    ada.sign(acme / "operators.yaml")
    allow(here, ada)
    done = update(acme / "operators.yaml", here)
    assert (done.name, done.locked.signer, done.locked.digest) == ("operators", ada.who, digest())


def test_a_git_repository_is_read_at_its_commit(here: Path, tmp_path: Path, ada: Signer) -> None:
    remote = bare(tmp_path)
    person = remote.person("publisher")
    (person.clone / "facts").mkdir()
    (person.clone / "facts" / "operators.yaml").write_bytes(FACTS)
    sign(person.clone / "facts", ada)
    git(person.clone, "add", ".")
    git(person.clone, "commit", "-q", "-m", "Facts")
    git(person.clone, "push", "-q", "origin", "HEAD:main")
    signed = remote.head()
    unsigned = person.write("bare/operators.yaml", FACTS)
    allow(here, ada)
    done = update(f"file://{remote.path}@{signed}", here, path="facts")
    assert (done.name, done.locked.commit, done.locked.signer) == ("fleet", signed, ada.who)
    assert done.locked.source == f"file://{remote.path}//facts"
    with pytest.raises(BundleUnsigned):
        update(remote.path, here, commit=unsigned, path="bare", name="other")
    pinned = update(remote.path, here, commit=unsigned, path="bare", name="other", digest=digest())
    assert (pinned.locked.pin, pinned.locked.commit) == (digest(), unsigned)


def test_an_artifact_is_pinned_by_the_digest_of_its_manifest(here: Path, tmp_path: Path) -> None:
    named = layout(tmp_path / "acme", {"operators.yaml": FACTS})
    done = update(f"oci:{tmp_path / 'acme'}@{named}", here)
    assert (done.name, done.locked.pin, done.locked.digest) == ("acme", named, digest())
    (blob,) = [each for each in (tmp_path / "acme/blobs/sha256").iterdir() if each.read_bytes() == FACTS]
    blob.write_bytes(FACTS + b"# more\n")
    with pytest.raises(BundleTampered, match="was changed"):
        update(f"oci:{tmp_path / 'acme'}@{named}", here)


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("https://git.example.com/facts.git", "without a commit"),
        ("git@git.example.com:facts.git", "without a commit"),
        ("oci:somewhere", "names no digest"),
    ],
)
def test_what_may_move_is_no_source(here: Path, source: str, word: str) -> None:
    with pytest.raises(CalledWrongly, match=word):
        update(source, here)


def test_a_name_must_fit_and_a_path_is_for_git(acme: Path, here: Path) -> None:
    with pytest.raises(CalledWrongly, match="--name"):
        update(acme, here, digest=digest(), name="../x")
    with pytest.raises(CalledWrongly, match="--path is for Git"):
        update(acme, here, path="x")
    with pytest.raises(BundleUnreadable, match="No such file"):
        update(acme / "none.yaml", here)
