"""Probes: what they answer, and that they are really served, by a server on a free port of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from seatrial.adapters.http import server
from seatrial.adapters.http.server import Address, Answer
from seatrial.controller import health as healths
from seatrial.controller.health import Health, PagesFailed, ProbeAnswer
from seatrial.controller.metrics import Metrics
from seatrial.core.errors import SeatrialError
from seatrial.run.loop import Report

ANYWHERE = "127.0.0.1:0"
NEXT = (
    "Health and metrics are served where --metrics-bind-address says: name another address there, or an empty one to "
    "serve neither."
)


class Patient:
    """Health with a clock in the hands of the test."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.health = Health(now=lambda: self.now, silent_seconds_max=120.0)
        self.metrics = Metrics(version="1.2.3", now=lambda: self.now, is_leader=lambda: False)


@pytest.fixture
def patient() -> Patient:
    return Patient()


# ── what is answered ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_whoever_has_not_passed_yet_lives_however_long_it_takes(patient: Patient) -> None:
    patient.health.synced()
    patient.now += 86_400
    assert patient.health.live().is_well


def test_a_loop_lives_as_long_as_it_passes(patient: Patient) -> None:
    for _ in range(5):
        patient.health.passed()
        patient.now += 120
        assert patient.health.live().is_well


def test_a_loop_that_does_not_pass_any_more_says_for_how_long(patient: Patient) -> None:
    patient.health.passed()
    patient.now += 121
    assert patient.health.live() == ProbeAnswer(is_well=False, text="the last pass was 2 min 1 s ago (limit: 2 min)")
    patient.health.passed()
    assert patient.health.live().is_well


def test_it_is_ready_once_everything_was_listed_and_a_standby_is_ready_too(patient: Patient) -> None:
    assert patient.health.ready() == ProbeAnswer(is_well=False, text="not everything to watch has been listed yet")
    patient.health.synced()
    assert patient.health.ready() == ProbeAnswer(is_well=True, text="everything is watched; this process stands by")
    patient.health.passed()
    assert patient.health.ready() == ProbeAnswer(is_well=True, text="passes are made")


# ── over HTTP ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def client(patient: Patient) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        healths.serve(ANYWHERE, patient.health, patient.metrics) as address,
        aiohttp.ClientSession(f"http://{address}", timeout=aiohttp.ClientTimeout(total=10)) as session,
    ):
        yield session


async def asked(client: aiohttp.ClientSession, path: str, method: str = "GET") -> tuple[int, str, str]:
    async with client.request(method, path) as response:
        return response.status, response.headers["Content-Type"], await response.text()


async def test_health_is_200_or_503_with_a_sentence(patient: Patient, client: aiohttp.ClientSession) -> None:
    patient.health.passed()
    patient.now += 7
    text = "the last pass was {} ago (limit: 2 min)\n"
    assert await asked(client, "/healthz") == (200, "text/plain; charset=utf-8", text.format("7 s"))
    patient.now += 600
    assert await asked(client, "/healthz") == (503, "text/plain; charset=utf-8", text.format("10 min 7 s"))


async def test_readiness_is_503_until_everything_was_listed(patient: Patient, client: aiohttp.ClientSession) -> None:
    status, kind, text = await asked(client, "/readyz")
    assert (status, kind) == (503, "text/plain; charset=utf-8")
    assert text == "not everything to watch has been listed yet\n"
    patient.health.synced()
    assert (await asked(client, "/readyz"))[0] == 200


async def test_the_page_for_prometheus_is_as_it_is_now(patient: Patient, client: aiohttp.ClientSession) -> None:
    status, kind, text = await asked(client, "/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert text.encode() == patient.metrics.page()
    assert "seatrial_pass_duration_seconds_count 0.0\n" in text
    patient.metrics.take(Report(at=patient.now, sight=None, decision=None))
    assert "seatrial_pass_duration_seconds_count 1.0\n" in (await asked(client, "/metrics"))[2]


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz"])
async def test_head_answers_as_get_does_without_the_body(
    patient: Patient, client: aiohttp.ClientSession, path: str
) -> None:
    status, kind, text = await asked(client, path)
    async with client.head(path) as response:
        assert (response.status, response.headers["Content-Type"]) == (status, kind)
        assert response.headers["Content-Length"] == str(len(text.encode()))
        assert await response.read() == b""


@pytest.mark.parametrize("path", ["/", "/metrics/", "/healthz/x", "/debug"])
async def test_any_other_path_is_not_found(client: aiohttp.ClientSession, path: str) -> None:
    assert (await asked(client, path))[0] == 404


async def test_nothing_can_be_written(client: aiohttp.ClientSession) -> None:
    assert (await asked(client, "/metrics", "POST"))[0] == 405


async def test_afterwards_the_port_is_free_again(patient: Patient) -> None:
    async with healths.serve(ANYWHERE, patient.health, patient.metrics) as first:
        pass
    async with healths.serve(str(first), patient.health, patient.metrics) as second:
        assert second == first


async def test_an_ipv6_address_is_served_and_written_in_brackets() -> None:
    pages = {"/": lambda: Answer(body=b"ahoy")}
    async with server.serve(Address.parse("[::1]:0"), pages) as address, aiohttp.ClientSession() as session:
        assert str(address).startswith("[::1]:")
        assert await asked(session, f"http://{address}/") == (200, "text/plain; charset=utf-8", "ahoy")


# ── where it listens ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("10.0.0.1:8480", "10.0.0.1", 8480),
        (":8480", "", 8480),
        ("[::1]:0", "::1", 0),
        ("localhost:65535", "localhost", 65535),
    ],
)
def test_an_address_is_host_and_port(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host=host, port=port)
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("8480", "it has no port"),
        ("localhost", "it has no port"),
        ("localhost:", "the port '' is not a number from 0 to 65535"),
        ("localhost:http", "the port 'http' is not a number from 0 to 65535"),
        ("localhost:65536", "the port '65536' is not a number from 0 to 65535"),
        ("localhost:-1", "the port '-1' is not a number from 0 to 65535"),
        ("localhost:٣", "the port '٣' is not a number from 0 to 65535"),
        ("::1:8480", "an IPv6 address stands in brackets, as in [::1]:8480"),
    ],
)
def test_another_text_is_refused_with_the_reason_and_an_example(text: str, why: str) -> None:
    with pytest.raises(SeatrialError) as caught:
        Address.parse(text)
    expected = f"{text!r} is not an address to listen on: {why}. Write HOST:PORT, such as 0.0.0.0:8480."
    assert str(caught.value) == expected


async def test_a_port_that_is_taken_is_said_with_what_to_do(patient: Patient) -> None:
    async with healths.serve(ANYWHERE, patient.health, patient.metrics) as taken:
        with pytest.raises(PagesFailed) as caught:
            async with healths.serve(str(taken), patient.health, patient.metrics):
                pass
    assert str(caught.value) == f"Cannot listen on {taken}: Address already in use. {NEXT}"


async def test_a_text_that_is_no_address_is_said_with_what_to_do(patient: Patient) -> None:
    with pytest.raises(PagesFailed) as caught:
        async with healths.serve("8480", patient.health, patient.metrics):
            pass
    why = "'8480' is not an address to listen on: it has no port. Write HOST:PORT, such as 0.0.0.0:8480."
    assert str(caught.value) == f"{why} {NEXT}"


@pytest.mark.parametrize(
    ("host", "why"),
    [("192.0.2.1", "Cannot assign requested address"), ("no-such-host.invalid", "."), ("a..b", ".")],
)
async def test_an_address_this_machine_does_not_have_is_said(patient: Patient, host: str, why: str) -> None:
    with pytest.raises(PagesFailed) as caught:
        async with healths.serve(f"{host}:0", patient.health, patient.metrics):
            pass
    assert str(caught.value).startswith(f"Cannot listen on {host}:0: ")
    assert why in str(caught.value)
    assert "None" not in str(caught.value)
