"""An authority that somebody named: it counts in the place of the machine's own, and a file that is none is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.adapters import trust
from seatrial_lab.testbed.plane.certificates import Authority


def test_only_the_authority_that_was_named_counts(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(Authority.make("ours").pem)
    (found,) = trust.context_of(file).get_ca_certs()
    assert found["subject"] == ((("commonName", "ours"),),)


def test_both_authorities_of_a_file_count(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(Authority.make("last year's").pem + Authority.make("this year's").pem)
    assert len(trust.context_of(file).get_ca_certs()) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file or directory"),
        ("", "it is not PEM text"),
        ("a note to myself\n", "it is not PEM text"),
        ("-----BEGIN CERTIFICATE-----\nMIIB\n", "it is not PEM text"),
    ],
)
def test_a_file_that_holds_no_certificate_is_told_with_what_belongs_there(
    tmp_path: Path, text: str | None, why: str
) -> None:
    file = tmp_path / "ca.crt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(trust.AuthorityInvalid) as caught:
        trust.context_of(file)
    assert f"{file} holds no certificates that can be read: {why}." in str(caught.value)
    assert "-----BEGIN CERTIFICATE-----" in str(caught.value)
