"""Who signed something, by the real ssh-keygen."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.adapters.ssh.signatures import signer_of
from seatrial.core.compat.facts.bundles import BundleTampered, NoSshKeygen, SignerNotAllowed
from tests.adapters.ssh.keys import Signer, signer


@pytest.fixture
def ada(tmp_path: Path) -> Signer:
    return signer(tmp_path)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "SHA256SUMS"
    file.write_text("some checksums\n")
    return file


def asked(text: Path, signature: bytes, allowed: str | None) -> str:
    file = text.with_name("allowed-signers")
    if allowed is not None:
        file.write_text(allowed)
    return signer_of(text.read_bytes(), signature, file, "the bundle")


def test_an_allowed_signer_is_named(ada: Signer, text: Path) -> None:
    assert asked(text, ada.sign(text), ada.line()) == "facts@acme.example"
    assert asked(text, ada.sign(text), f"# whose facts we take\n{ada.line('')}") == "facts@acme.example"


def test_a_text_that_was_changed_is_told_from_a_signer_who_is_not_allowed(ada: Signer, text: Path) -> None:
    signature = ada.sign(text)
    text.write_text("other checksums\n")
    with pytest.raises(BundleTampered, match="not about this content"):
        asked(text, signature, ada.line())


@pytest.mark.parametrize("signature", [b"", b"none\n", b"-----BEGIN SSH SIGNATURE-----\nAAAA\n"])
def test_what_is_no_signature_is_refused(ada: Signer, text: Path, signature: bytes) -> None:
    with pytest.raises(BundleTampered):
        asked(text, signature, ada.line())


def test_a_signature_made_for_something_else_does_not_count(ada: Signer, text: Path) -> None:
    with pytest.raises(BundleTampered, match=r"not signed for facts@seatrial.dev"):
        asked(text, ada.sign(text, "git"), ada.line(""))


def test_a_stranger_is_not_allowed_and_their_key_is_named(ada: Signer, text: Path, tmp_path: Path) -> None:
    eve = signer(tmp_path, "eve@example.com")
    with pytest.raises(SignerNotAllowed, match=r"ED25519 key SHA256:.* does not have it"):
        asked(text, eve.sign(text), ada.line())


def test_a_key_that_is_allowed_for_something_else_or_another_time_is_not_allowed(ada: Signer, text: Path) -> None:
    for options in ('namespaces="git"', 'valid-before="20200101"'):
        with pytest.raises(SignerNotAllowed, match=r"not for today|does not have it"):
            asked(text, ada.sign(text), ada.line(options))


def test_without_a_file_of_allowed_signers_nobody_is_allowed(ada: Signer, text: Path) -> None:
    with pytest.raises(SignerNotAllowed, match=r"there is no .*allowed-signers.*WHO namespaces="):
        asked(text, ada.sign(text), None)


def test_without_ssh_keygen_nobody_can_tell(
    ada: Signer, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature = ada.sign(text)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSshKeygen, match="Install OpenSSH's client"):
        asked(text, signature, ada.line())
