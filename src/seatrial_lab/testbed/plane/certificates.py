"""A certificate authority of the testbed's own, and the certificates of servers that it signs.

Nobody trusts it who was not told to, and its key is kept nowhere. Tests: tests/testbed/test_certificates.py
"""

import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from seatrial_lab.testbed import errors

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

VALID_DAYS: Final = 365
EARLIER: Final = datetime.timedelta(minutes=5)
"""How long before now a certificate begins: clocks differ a little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Where the certificate of a server lies, and its key."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Signs certificates of servers."""

    pem: bytes
    """Its own certificate: what others are given who are to trust it."""
    _name: "x509.Name"
    _key: "ec.EllipticCurvePrivateKey"

    @classmethod
    def make(cls, name: str) -> Self:
        """Make a new one."""
        _require_cryptography()
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key, subject = ec.generate_private_key(ec.SECP256R1()), _named(name)
        usage = x509.KeyUsage(
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
        made = (
            _unsigned(subject, key.public_key(), issuer=subject, valid_days=VALID_DAYS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(pem=made.public_bytes(serialization.Encoding.PEM), _name=subject, _key=key)

    def issue(self, pair: Pair, *, name: str, hosts: Iterable[str], valid_days: int = VALID_DAYS) -> Pair:
        """Write a certificate for a server that is reached by these names and addresses, and its key.

        One that is valid for less than no days has ended.
        """
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key = ec.generate_private_key(ec.SECP256R1())
        by = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        made = (
            _unsigned(_named(name), key.public_key(), issuer=self._name, valid_days=valid_days)
            .add_extension(x509.SubjectAlternativeName([_host(each) for each in hosts]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(by), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        pair.certificate.parent.mkdir(parents=True, exist_ok=True)
        pair.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        write_private(pair.key, key)
        return pair


def write_private(path: Path, key: "ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey") -> None:
    """Write a key that only its owner may read."""
    from cryptography.hazmat.primitives import serialization

    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )


def _named(name: str) -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(text: str) -> "x509.GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _unsigned(
    subject: "x509.Name", key: "ec.EllipticCurvePublicKey", *, issuer: "x509.Name", valid_days: int
) -> "x509.CertificateBuilder":
    from cryptography import x509

    now = datetime.datetime.now(datetime.UTC)
    ends = now + datetime.timedelta(days=valid_days)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, ends) - EARLIER)
        .not_valid_after(ends)
    )


def _require_cryptography() -> None:
    try:
        import cryptography  # noqa: F401  only to say it plainly
    except ModuleNotFoundError as err:
        raise errors.PartMissing(
            "The testbed needs the Python package cryptography: `pip install 'seatrial[testbed]'`."
        ) from err
