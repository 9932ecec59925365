"""Addresses that are written into a bundle: of the Git repository it will be in, and of one that has all charts.

Law of this file: whatever is written here is read by everybody who can read the repository, and by a shell. So no login
goes in, and nothing that a shell would take for more than a word. Tests: tests/core/compat/test_bundles.py
"""

from __future__ import annotations

import re
from typing import Final

from seatrial.core.compat.bundles.values import Asked, BundleRefused

_WORD: Final = re.compile(r"[A-Za-z0-9._~:/@%+=-]+")
_LOGIN: Final = re.compile(r"(?:https?|oci)://[^/]*@|[a-z+]+://[^/@:]*:[^/@]*@")


def check(asked: Asked) -> None:
    """BundleRefused where an address cannot be written down."""
    for option, text in (
        ("--repo", asked.repository),
        ("--repo-secret", asked.repository_secret),
        ("--revision", asked.revision),
        ("--path", asked.path),
        ("--charts", asked.charts),
        ("--image", asked.image),
    ):
        if not text:
            continue
        if _LOGIN.match(text):
            raise BundleRefused(
                f"{option} has a login in it, which everybody could read in the bundle. Leave it out, and give it "
                "to the deployer."
            )
        if not _WORD.fullmatch(text):
            raise BundleRefused(f"{option} {text!r} has characters in it that no address needs. Write it without them.")
