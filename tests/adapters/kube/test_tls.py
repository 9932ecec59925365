"""Trust and client certificates, with real ones."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors, tls
from tests.adapters.kube import standin
from tests.adapters.kube.models import Item

NODES = "/api/v1/nodes"
STARTS = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
ENDS = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Authority:
    """A certificate authority without a key identifier, as older installers make them."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def make(cls) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        made = a_certificate("authority", key, "authority", key, x509.BasicConstraints(ca=True, path_length=None))
        return cls(key=key, certificate=made)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def sign(self, name: str, *names: x509.GeneralName) -> configs.Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        extension = x509.SubjectAlternativeName(names or [x509.DNSName(name)])
        made = a_certificate(name, key, "authority", self.key, extension)
        return configs.Certificate(
            certificate=made.public_bytes(serialization.Encoding.PEM),
            key=key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )


def a_certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(STARTS)
        .not_valid_after(ENDS)
        .add_extension(extension, critical=False)
        .sign(issuer_key, hashes.SHA256())
    )


def serving(folder: Path, authority: Authority, pair: configs.Certificate) -> ssl.SSLContext:
    """A server that talks only to those who show a certificate of the authority."""
    (folder / "server.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    context.load_verify_locations(cadata=authority.pem.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def a_config(server: str = "https://k", **more: object) -> configs.Config:
    return replace(configs.Config(server=server, context="k", source="file"), **more)  # type: ignore[arg-type]


async def test_both_sides_show_a_certificate_of_the_same_authority(tmp_path: Path, is_brief: bool) -> None:
    authority = Authority.make()
    pair = authority.sign("server", x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    async with standin.running(serving(tmp_path, authority, pair)) as server:
        server.will(standin.lists("a", version="1"))
        config = a_config(server.url, authority=authority.pem, certificate=authority.sign("me"))
        async with clients.Client(config, user_agent="t", is_brief=is_brief) as client:
            assert len((await client.list(NODES, Item)).items) == 1


async def test_the_name_to_expect_may_differ_from_the_address(tmp_path: Path, is_brief: bool) -> None:
    authority = Authority.make()
    pair = authority.sign("inside.example")
    async with standin.running(serving(tmp_path, authority, pair)) as server:
        server.will(standin.lists("a", version="1"))
        wrong = a_config(server.url, authority=authority.pem, certificate=authority.sign("me"))
        async with clients.Client(wrong, user_agent="t", is_brief=is_brief) as client:
            with pytest.raises(errors.ClusterUnavailable, match="certificate we do not trust"):
                await client.list(NODES, Item)
        right = replace(wrong, tls_server_name="inside.example")
        async with clients.Client(right, user_agent="t", is_brief=is_brief) as client:
            assert len((await client.list(NODES, Item)).items) == 1


def test_without_an_authority_the_systems_is_trusted() -> None:
    context = tls.tls_context(a_config(), None)

    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_verification_is_switched_off_only_when_asked() -> None:
    context = tls.tls_context(a_config(is_verified=False), None)

    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_a_broken_authority_is_named() -> None:
    with pytest.raises(errors.ConfigInvalid, match="file: the certificate authority of context k"):
        tls.tls_context(a_config(authority=b"nonsense"), None)


def test_a_broken_client_certificate_is_named() -> None:
    with pytest.raises(errors.ConfigInvalid, match="file: the client certificate and key of context k do not work"):
        tls.tls_context(a_config(), configs.Certificate(certificate=b"nonsense", key=b"nonsense"))
