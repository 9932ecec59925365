"""Keys, certificates, tokens and kubeconfigs of one control plane. Nothing here outlives its folder.

Tests: tests/testbed/test_control_plane.py.
"""

import base64
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.plane import certificates

TOKEN_FILE: Final = "tokens.csv"  # noqa: S105  a name, no secret
ADMIN: Final = "testbed-admin"
# Everyone here may do everything; the rights under test are those of real ServiceAccounts.
USERS: Final = (ADMIN, "kube-controller-manager", "kube-scheduler", "kwok", "operands", "kubelet")
SERVICES: Final = "10.96.0.0/16"
# The first address of the services, which is that of `kubernetes`: where pods look for the API server.
API_SERVICE: Final = "10.96.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The files one control plane is started with."""

    authority: Path
    serving_certificate: Path
    serving_key: Path
    account_key: Path
    account_public_key: Path
    token_file: Path
    tokens: dict[str, str]


def make(folder: Path) -> Credentials:
    """Write fresh credentials into a folder."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Credentials(
        authority=folder / "ca.crt",
        serving_certificate=folder / "server.crt",
        serving_key=folder / "server.key",
        account_key=folder / "service-accounts.key",
        account_public_key=folder / "service-accounts.pub",
        token_file=folder / TOKEN_FILE,
        tokens={user: secrets.token_urlsafe(24) for user in USERS},
    )
    authority = certificates.Authority.make("seatrial-testbed-ca")
    made.authority.write_bytes(authority.pem)
    authority.issue(
        certificates.Pair(certificate=made.serving_certificate, key=made.serving_key),
        name="kube-apiserver",
        hosts=("127.0.0.1", API_SERVICE, "localhost", "kubernetes.default.svc"),
    )
    _write_account_pair(made)
    rows = [f'{token},{user},{user},"system:masters"' for user, token in made.tokens.items()]
    made.token_file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return made


def read_token(folder: Path, user: str) -> str:
    """Return the token of a user whose credentials were made earlier."""
    for row in (folder / TOKEN_FILE).read_text(encoding="utf-8").splitlines():
        token, name, *_ = row.split(",")
        if name == user:
            return token
    raise errors.TestbedFailure(f"{folder / TOKEN_FILE} holds no token of {user}.")


def write_kubeconfig(path: Path, *, url: str, authority: Path, user: str, token: str) -> Path:
    """Write a kubeconfig that logs in with a bearer token."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "testbed",
                "cluster": {
                    "server": url,
                    "certificate-authority-data": base64.b64encode(authority.read_bytes()).decode(),
                },
            }
        ],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": user}}],
        "current-context": "testbed",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return path


def _write_account_pair(made: Credentials) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    certificates.write_private(made.account_key, key)
    made.account_public_key.write_bytes(public)
