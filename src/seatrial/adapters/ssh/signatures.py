"""Who signed something, by ssh-keygen: the same program, keys and file of allowed signers as for commits in Git.

    ssh-keygen -Y check-novalidate    is the signature about this text, and made for this?    else BundleTampered
    ssh-keygen -Y find-principals     whose key is it, by the file of allowed signers?        else SignerNotAllowed
    ssh-keygen -Y verify              may they sign this, today?                              else SignerNotAllowed

Law of this file: a yes comes from ssh-keygen alone, never from reading what it prints about something else.
Tests: tests/adapters/ssh/test_signatures.py
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from seatrial.core.compat.facts.bundles import NAMESPACE, BundleTampered, NoSshKeygen, SignerNotAllowed
from seatrial.core.text import foreign

PROGRAM: Final = "ssh-keygen"
TIMEOUT_SECONDS: Final = 20.0
REASON_MAX: Final = 300


def signer_of(signed: bytes, signature: bytes, allowed: Path, place: str) -> str:
    """The principal who signed these bytes and may; `place` is how they are called in errors."""
    with tempfile.TemporaryDirectory(prefix="seatrial-") as folder:
        file = Path(folder) / "signature"
        file.write_bytes(signature)
        checked = _run(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(file)], signed, place)
        if checked.returncode != 0:
            raise BundleTampered(
                f"{place}: its signature is not about this content ({_reason(checked)}). It was changed after it was "
                f"signed, or was not signed for {NAMESPACE}. Nothing was taken over. Ask its publisher.",
                place,
            )
        key = foreign.line(checked.stdout.decode(errors="replace"), REASON_MAX).rpartition(" with ")[2].strip()
        if not allowed.is_file():
            raise SignerNotAllowed(
                f"{place} is signed with {key}, and there is no {allowed}, so no key is allowed. Ask its publisher "
                f'for the public key, and write a line into it: WHO namespaces="{NAMESPACE}" KEY',
                str(allowed),
            )
        found = _run(["-Y", "find-principals", "-s", str(file), "-f", str(allowed)], b"", place)
        names = found.stdout.decode(errors="replace").splitlines() if found.returncode == 0 else []
        for name in names:
            verified = _run(
                ["-Y", "verify", "-f", str(allowed), "-I", name, "-n", NAMESPACE, "-s", str(file)], signed, place
            )
            if verified.returncode == 0:
                return name
    known = f"has it for {', '.join(names)}, but not for {NAMESPACE} or not for today" if names else "does not have it"
    raise SignerNotAllowed(
        f"{place} is signed with {key}, and {allowed} {known}. Nothing was taken over. Ask its publisher which key "
        "they sign with; if it is this one, allow it there.",
        str(allowed),
    )


def _run(arguments: Sequence[str], stdin: bytes, place: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [PROGRAM, *arguments],
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as err:
        raise NoSshKeygen(
            f"{place} is signed, and there is no {PROGRAM} here to say by whom. Install OpenSSH's client (Debian: "
            "openssh-client), or pin the bundle with --digest.",
            place,
        ) from err
    except subprocess.TimeoutExpired as err:
        raise NoSshKeygen(f"{PROGRAM} did not answer within {TIMEOUT_SECONDS:g} s. Try again.", place) from err


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    said = done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()
    return foreign.line(said, REASON_MAX).rstrip(".") or f"{PROGRAM} gave no reason"
