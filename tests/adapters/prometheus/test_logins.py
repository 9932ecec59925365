"""A real Prometheus behind a certificate and a password: who is let in, and what the others are told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from seatrial.adapters.prometheus.places import Place
from seatrial.adapters.prometheus.watcher import PrometheusWatcher
from seatrial_lab.testbed.monitoring.prometheus import Prometheus
from seatrial_lab.testbed.plane import credentials
from tests.adapters.prometheus.stage import ASKED, OurClock

PASSWORD = "open-sesame"
HASHED = "$2b$04$abcdefghijklmnopqrstuuXcjcm5avyCiJoD2uS24xa2lb6fjMB3G"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Where it is, with everything that it takes to be let in."""
    folder = tmp_path_factory.mktemp("behind-a-login")
    made = credentials.make(folder / "certificates")
    tls = {"cert_file": str(made.serving_certificate), "key_file": str(made.serving_key)}
    web = {"tls_server_config": tls, "basic_auth_users": {"seatrial": HASHED}}
    (folder / "username").write_text("seatrial\n")
    (folder / "password").write_text(f"{PASSWORD}\n")
    with Prometheus(folder=folder / "prometheus", jobs=[], web=web) as prometheus:
        yield Place.read(prometheus.url, secret=folder, authority=made.authority)


async def why(place: Place) -> str:
    """Why nothing is known of a node that nobody tells of."""
    clock = OurClock()
    told = await PrometheusWatcher(place=place, clock=clock, queries=ASKED).watch(
        {"gpu-1"}, clock.now() - 60, clock.now()
    )
    assert PASSWORD not in repr(told)
    return told.unmeasured[0].why


async def test_who_has_the_password_and_trusts_the_certificate_is_answered(place: Place) -> None:
    assert "there is no series of DCGM_FI_DEV_GPU_UTIL" in await why(place)


async def test_a_certificate_of_somebody_else_is_not_spoken_to(place: Place) -> None:
    said = await why(replace(place, authority=None))
    assert "was not reached" in said
    assert "certificate" in said


async def test_a_password_that_counts_no_more_is_told(place: Place, tmp_path: Path) -> None:
    (tmp_path / "username").write_text("seatrial")
    (tmp_path / "password").write_text("yesterday")
    said = await why(replace(place, secret=tmp_path))
    assert "refuses with 401" in said
    assert "put a new one into the secret" in said


async def test_who_does_not_say_who_he_is_is_refused(place: Place) -> None:
    assert "refuses with 401" in await why(replace(place, secret=None))
