"""Builds the TLS context for one cluster and one client certificate.

Blocking (it reads and checks certificates): call it in a thread. Tests: tests/adapters/kube/test_tls.py.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors


def tls_context(config: configs.Config, certificate: configs.Certificate | None) -> ssl.SSLContext:
    """Trust what the configuration trusts, and show the certificate where there is one."""
    if config.authority is None:
        context = ssl.create_default_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the cluster's own authority instead of the system's
        try:
            context.load_verify_locations(cadata=config.authority.decode("ascii", "replace"))
        except ssl.SSLError as err:
            raise errors.ConfigInvalid(
                f"{config.source}: the certificate authority of context {config.context} is not a PEM certificate",
                "write it again, or ask who runs the cluster for it",
            ) from err
    # Python 3.13 refuses authorities without a key identifier; older kubeadm and many home-made ones have none, and
    # every other Kubernetes client accepts them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not config.is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _load_certificate(context, config, certificate)
    return context


def _load_certificate(context: ssl.SSLContext, config: configs.Config, certificate: configs.Certificate) -> None:
    # OpenSSL takes a key from a file only, so it lies for a moment in a folder that nobody else may enter.
    with tempfile.TemporaryDirectory(prefix="seatrial-") as folder:
        pem, key = Path(folder) / "certificate.pem", Path(folder) / "key.pem"
        pem.write_bytes(certificate.certificate)
        key.write_bytes(certificate.key)
        try:
            # An encrypted key would otherwise ask at the terminal, and wait for ever.
            context.load_cert_chain(pem, key, password="")
        except (ssl.SSLError, ValueError) as err:
            raise errors.ConfigInvalid(
                f"{config.source}: the client certificate and key of context {config.context} do not work: {err}",
                "check that they are PEM, belong together and are not encrypted",
            ) from err
