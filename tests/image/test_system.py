"""What no package brings: users, certificates, links."""

from __future__ import annotations

import pytest

from seatrial_lab.image import system
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.image.files import File, Folder, Link

MOZILLA = "usr/share/ca-certificates/mozilla"
TREE = {
    "usr/bin/x": File(content=b""),
    f"{MOZILLA}/B.crt": File(content=b"second"),
    f"{MOZILLA}/A.crt": File(content=b"first\n"),
    f"{MOZILLA}/README": File(content=b"no certificate"),
}


def test_the_user_has_a_number_and_no_shell() -> None:
    made = system.made_from(TREE)
    assert made["etc/passwd"] == File(
        content=b"root:x:0:0::/root:/usr/sbin/nologin\nseatrial:x:65532:65532::/tmp:/usr/sbin/nologin\n"
    )
    assert made["tmp"] == Folder(mode=0o1777)


def test_certificates_are_one_file_that_python_finds_too() -> None:
    made = system.made_from(TREE)
    assert made["etc/ssl/certs/ca-certificates.crt"] == File(content=b"first\nsecond\n")
    assert made["usr/lib/ssl/cert.pem"] == Link(target="/etc/ssl/certs/ca-certificates.crt")


def test_only_folders_that_are_there_get_their_old_names() -> None:
    made = system.made_from(TREE)
    assert made["bin"] == Link(target="usr/bin")
    assert "lib64" not in made


def test_an_image_that_would_trust_nobody_is_refused() -> None:
    with pytest.raises(ImageFailure, match="trust nobody"):
        system.made_from({"usr/bin/x": File(content=b"")})
