"""Names for a prompt: asked of the server in one request, as a table, with a line about each."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube import names
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors
from seatrial_lab.testbed.plane.certificates import Authority, Pair
from tests.adapters.kube import standin

COLUMNS = ("Name", "Target", "Age", "Phase", "State")
TABLE = {
    "columnDefinitions": [{"name": name} for name in COLUMNS],
    "rows": [
        {"cells": ["spring", "580.105.08", "3d", "Waving", "progressing"]},
        {"cells": ["winter", "570.124.06", "90d", "", "done"]},
    ],
}


async def asked(config: configs.Config, kind: names.Kind = names.ROLLOUTS) -> list[tuple[str, str]]:
    return await asyncio.to_thread(names.names, config, kind, user_agent="seatrial/test")


async def test_each_has_its_name_and_what_the_columns_say_that_we_know(server: standin.StandIn) -> None:
    server.will(standin.gives(TABLE))
    assert await asked(server.config()) == [
        ("spring", "580.105.08 Waving progressing"),
        ("winter", "570.124.06 done"),
    ]
    (seen,) = server.seen
    assert (seen.path, seen.query["resourceVersion"]) == (names.ROLLOUTS.path, "0")
    assert "as=Table" in seen.headers["Accept"]
    assert "Authorization" not in seen.headers


@pytest.mark.parametrize("rows", [None, []])
async def test_a_kind_of_which_there_is_nothing_has_no_names(server: standin.StandIn, rows: Any) -> None:
    server.will(standin.gives({**TABLE, "rows": rows}))
    assert await asked(server.config()) == []


async def test_a_table_without_the_columns_we_know_gives_names_alone(server: standin.StandIn) -> None:
    server.will(standin.gives(TABLE))
    assert await asked(server.config(), names.NODES) == [("spring", ""), ("winter", "")]


async def test_whoever_asks_says_who_he_is_and_below_which_path_the_server_is(server: standin.StandIn) -> None:
    server.will(standin.gives(TABLE))
    config = server.config(configs.StaticToken(token="t0ken"))
    config = replace(config, server=f"{config.server}/clusters/a/", impersonation=(("Impersonate-User", "ada"),))
    await asked(config)
    (seen,) = server.seen
    assert seen.path == f"/clusters/a{names.ROLLOUTS.path}"
    assert (seen.headers["Authorization"], seen.headers["Impersonate-User"]) == ("Bearer t0ken", "ada")


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (standin.refuses(403, "Forbidden"), errors.ClusterUnavailable),
        (standin.says("busy", code=503), errors.ClusterUnavailable),
        (standin.cuts, errors.ClusterUnavailable),
        (standin.gives({"kind": "List"}), errors.AnswerUnreadable),
        (standin.gives([1]), errors.AnswerUnreadable),
        (standin.says("<html>", code=200), errors.AnswerUnreadable),
    ],
)
async def test_what_is_no_table_is_one_error_and_no_traceback(
    server: standin.StandIn, reply: standin.Reply, error: type[errors.ClusterError]
) -> None:
    server.will(reply)
    with pytest.raises(error, match="stand-in"):
        await asked(server.config())


async def test_a_server_behind_tls_is_known_by_its_authority_and_by_the_name_that_was_given(tmp_path: Path) -> None:
    authority = Authority.make("a test's own")
    pair = Pair(certificate=tmp_path / "server.pem", key=tmp_path / "server.key")
    authority.issue(pair, name="api", hosts=("api.example",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    async with standin.running(context) as server:
        server.will(standin.gives(TABLE))
        config = replace(server.config(), authority=authority.pem, tls_server_name="api.example")
        assert len(await asked(config)) == 2
        with pytest.raises(errors.ClusterUnavailable):
            await asked(replace(config, tls_server_name="other.example"))


async def test_a_proxy_is_asked_for_a_way_to_the_server() -> None:
    heard: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        writer.write(b"HTTP/1.1 502 no way\r\n\r\n")
        writer.close()

    proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    config = configs.Config(
        server="http://api.example:6443", context="", source="", proxy_url=f"http://127.0.0.1:{port}"
    )
    async with proxy:
        with pytest.raises(errors.ClusterUnavailable):
            await asked(config)
    assert heard == [b"CONNECT api.example:6443 HTTP/1.0\r\n"]
