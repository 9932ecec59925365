"""The manifest that krew reads, filled in from archives that are there.

Tests: tests/krew/test_krew.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from string import Template
from typing import Final

from seatrial_lab.image.build import CHECKOUT
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.krew import archive

TEMPLATE: Final = CHECKOUT / "deploy" / "krew" / "seatrial.yaml.in"


def filled(version: str, archives: Mapping[str, bytes], *, release_url: str, homepage: str) -> str:
    """The manifest of a release; archives by architecture, lying under one address."""
    for what, url in (("RELEASE_URL", release_url), ("HOMEPAGE", homepage)):
        if not url.startswith("https://"):
            raise ImageFailure(f"{what} is {url!r}, and has to be an https address: krew takes no other.")
    words = {"version": version, "homepage": homepage}
    for architecture, content in archives.items():
        place = f"{archive.SYSTEM}_{architecture}"
        words[f"uri_{place}"] = f"{release_url.rstrip('/')}/{archive.file_name(version, architecture)}"
        words[f"sha256_{place}"] = hashlib.sha256(content).hexdigest()
    return Template(_without_head(TEMPLATE.read_text(encoding="utf-8"))).substitute(words)


def _without_head(text: str) -> str:
    """Without the comment that says what the template is for."""
    return text[text.index("apiVersion:") :]
