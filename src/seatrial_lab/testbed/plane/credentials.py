"""Keys, certificates, tokens and kubeconfigs of one control plane. Nothing here outlives its folder.

Tests: tests/testbed/test_control_plane.py.
"""

import base64
import datetime
import ipaddress
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from seatrial_lab.testbed import errors

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

VALID_DAYS: Final = 365
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
    _write_serving_pair(made)
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


def _write_serving_pair(made: Credentials) -> None:
    _require_cryptography()
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "seatrial-testbed-ca")])
    now = datetime.datetime.now(datetime.UTC)

    def certificate(subject: x509.Name, public_key: "ec.EllipticCurvePublicKey") -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(authority_name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        )

    authority_usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    authority_id = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    authority = (
        certificate(authority_name, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(authority_usage, critical=True)
        .add_extension(authority_id, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.IPAddress(ipaddress.ip_address(API_SERVICE)),
        x509.DNSName("localhost"),
        x509.DNSName("kubernetes.default.svc"),
    ]
    serving = (
        certificate(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]), key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority_id), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    made.serving_certificate.write_bytes(serving.public_bytes(serialization.Encoding.PEM))
    _write_private(made.serving_key, key)


def _write_account_pair(made: Credentials) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    _write_private(made.account_key, key)
    made.account_public_key.write_bytes(public)


def _write_private(path: Path, key: "ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey") -> None:
    from cryptography.hazmat.primitives import serialization

    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )


def _require_cryptography() -> None:
    try:
        import cryptography  # noqa: F401  only to say it plainly
    except ModuleNotFoundError as err:
        raise errors.PartMissing(
            "The testbed needs the Python package cryptography: `pip install 'seatrial[testbed]'`."
        ) from err
