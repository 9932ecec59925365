"""Whose signature a server's certificate has to have, where somebody names an authority of their own for it.

The file is read for every call, so a new one counts as soon as it lies there. It counts in the place of the machine's
own authorities: what the public trusts says nothing about a server inside.

Tests: tests/adapters/test_trust.py
"""

from __future__ import annotations

import ssl
from pathlib import Path

from seatrial.core.errors import SeatrialError


class AuthorityInvalid(SeatrialError):  # noqa: N818  a refusal about a file
    """The file cannot be used as an authority."""


def context_of(authority: Path) -> ssl.SSLContext:
    """Trust what an authority has signed, and nothing else; AuthorityInvalid where the file is none."""
    try:
        context = ssl.create_default_context(cafile=str(authority))
    except (OSError, ssl.SSLError) as err:
        why = err.strerror if isinstance(err, OSError) and not isinstance(err, ssl.SSLError) else "it is not PEM text"
        raise AuthorityInvalid(
            f"{authority} holds no certificates that can be read: {why}. "
            "Put the authority's certificate there, which begins with -----BEGIN CERTIFICATE-----."
        ) from None
    # Python 3.13 refuses authorities without a key identifier, which many home-made ones lack; git takes them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def distrust(whom: str, why: str) -> str:
    """What is said of a server whose certificate is not trusted."""
    return (
        f"{whom} shows a certificate that is not trusted here: {why}. If an authority of yours has signed it, name "
        "that authority for this server (--git-authority; git.authorities of the chart). If it has ended, or is for "
        "another name, renew it on the server."
    )
