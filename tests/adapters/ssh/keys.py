"""Real SSH keys, signatures and files of allowed signers to test with."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from seatrial.core.compat.facts.bundles import NAMESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Somebody with a key."""

    who: str
    key: Path

    def sign(self, file: Path, namespace: str = NAMESPACE) -> bytes:
        """Write the signature of a file beside it, as a publisher does."""
        signature = file.with_name(f"{file.name}.sig")
        signature.unlink(missing_ok=True)
        command = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", str(self.key), str(file)]
        subprocess.run(command, check=True, capture_output=True)
        return signature.read_bytes()

    def line(self, options: str = f'namespaces="{NAMESPACE}"') -> str:
        """The line that allows them."""
        kind, key, *_ = self.key.with_name(f"{self.key.name}.pub").read_text().split()
        return f"{self.who} {options} {kind} {key}\n"


def signer(folder: Path, who: str = "facts@acme.example") -> Signer:
    """Somebody with a new key."""
    key = folder / f"key-of-{who}"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", str(key)], check=True)
    return Signer(who=who, key=key)
