"""Credentials that expire, rotate and fail, with real files and real programs."""

from __future__ import annotations

import asyncio
import base64
import json
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.api import auth, errors
from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config as configs
from tests.adapters.kube import standin
from tests.adapters.kube.models import Item

NODES = "/api/v1/nodes"
V1 = "client.authentication.k8s.io/v1"


@dataclass
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def a_jwt(expires: float) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": int(expires)}).encode()).decode().rstrip("=")
    return f"header.{claims}.signature"


def a_plugin(folder: Path, script: str, *, api_version: str = V1, **more: Any) -> configs.ExecPlugin:
    """A plugin that also counts how often it was started."""
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\necho run >> {folder}/runs\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return configs.ExecPlugin(
        command=str(path),
        arguments=(),
        environment=(("PATH", "/usr/bin:/bin"),),
        api_version=api_version,
        install_hint=more.get("install_hint", ""),
        cluster=more.get("cluster"),
    )


def prints(folder: Path, api_version: str = V1, **status: str) -> str:
    """A script whose output may be changed between runs."""
    answer = {"apiVersion": api_version, "kind": "ExecCredential", "status": status}
    (folder / "answer").write_text(json.dumps(answer))
    return f"cat {folder}/answer"


def run_count(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


def credentials_of(identity: configs.Identity, clock: Clock | None = None) -> auth.Credentials:
    config = configs.Config(server="http://k", context="k", source="f", identity=identity)
    return auth.credentials(config, clock=clock or Clock())


def sent_tokens(server: standin.StandIn) -> list[str]:
    return [seen.headers.get("Authorization", "") for seen in server.seen]


async def test_a_token_file_is_read_again_after_a_minute_and_not_before(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", Clock()
    file.write_text("first\n")
    credentials = credentials_of(configs.TokenFile(path=file), clock)
    assert (await credentials.current()).token == "first"

    file.write_text("second")
    clock.now += 59
    assert (await credentials.current()).token == "first"
    clock.now += 1
    assert (await credentials.current()).token == "second"


async def test_a_token_file_that_vanishes_for_a_moment_leaves_us_the_token_we_have(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", Clock()
    file.write_text("first")
    credentials = credentials_of(configs.TokenFile(path=file), clock)
    await credentials.current()

    file.unlink()
    clock.now += 60

    assert (await credentials.current()).token == "first"


async def test_a_token_file_that_was_never_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigInvalid, match="the token cannot be read"):
        await credentials_of(configs.TokenFile(path=tmp_path / "token")).current()


async def test_after_a_401_the_rotated_token_is_sent(server: standin.StandIn, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    server.will(standin.lists(version="1"), standin.refuses(401), standin.lists(version="2"))
    async with clients.Client(server.config(configs.TokenFile(path=file)), user_agent="t") as client:
        await client.list(NODES, Item)
        file.write_text("new")
        await client.list(NODES, Item)

    assert sent_tokens(server) == ["Bearer old", "Bearer old", "Bearer new"]


async def test_a_401_with_nothing_new_to_show_is_reported_after_one_attempt(
    server: standin.StandIn, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    server.will(standin.refuses(401))
    async with clients.Client(server.config(configs.TokenFile(path=file)), user_agent="t") as client:
        with pytest.raises(errors.Unauthorized, match=f"check that {file} is being renewed"):
            await client.list(NODES, Item)

    assert len(server.seen) == 1


async def test_an_expired_token_says_when_it_expired(server: standin.StandIn) -> None:
    server.will(standin.refuses(401))
    identity = configs.StaticToken(token=a_jwt(1_799_999_999))
    config = server.config(identity)
    async with clients.Client(config, user_agent="t", wall_clock=Clock()) as client:
        with pytest.raises(errors.Unauthorized, match=r"the token expired at 2027-01-15 07:59:59 UTC: log in again"):
            await client.list(NODES, Item)


@pytest.mark.parametrize(
    ("certificate", "advice"),
    [
        (None, "it has none"),
        (configs.Certificate(certificate=b"c", key=b"k"), "renew the client certificate of this kubeconfig"),
    ],
)
def test_who_has_no_token_is_told_what_else_may_be_wrong(certificate: configs.Certificate | None, advice: str) -> None:
    config = configs.Config(server="http://k", context="k", source="f", certificate=certificate)
    assert advice in auth.credentials(config, clock=Clock()).renewal()


async def test_a_token_that_is_still_good_is_not_called_expired() -> None:
    identity = configs.StaticToken(token=a_jwt(1_900_000_000))

    assert credentials_of(identity).renewal() == "log in again to get a new one"


async def test_a_plugin_is_told_that_nobody_is_there_and_what_it_asked_to_know(tmp_path: Path) -> None:
    script = f'echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info\n' + prints(tmp_path, token="t")
    plugin = a_plugin(tmp_path, script, cluster={"server": "https://k"})

    assert (await credentials_of(plugin).current()).token == "t"

    assert json.loads((tmp_path / "info").read_text()) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://k"}},
    }


async def test_the_older_plugin_version_works_as_well(tmp_path: Path) -> None:
    older = "client.authentication.k8s.io/v1beta1"
    plugin = a_plugin(tmp_path, prints(tmp_path, older, token="t"), api_version=older)

    assert (await credentials_of(plugin).current()).token == "t"


async def test_a_plugin_runs_once_until_shortly_before_its_credential_expires(tmp_path: Path) -> None:
    clock = Clock()  # 2027-01-15T08:00:00Z
    plugin = a_plugin(tmp_path, prints(tmp_path, token="a", expirationTimestamp="2027-01-15T08:10:00Z"))
    credentials = credentials_of(plugin, clock)

    await asyncio.gather(*[credentials.current() for _ in range(5)])
    clock.now += 539
    await credentials.current()
    assert run_count(tmp_path) == 1

    clock.now += 1
    await credentials.current()
    assert run_count(tmp_path) == 2


async def test_a_credential_that_lasts_a_moment_is_renewed_in_its_last_fifth(tmp_path: Path) -> None:
    clock = Clock()  # 2027-01-15T08:00:00Z
    plugin = a_plugin(tmp_path, prints(tmp_path, token="a", expirationTimestamp="2027-01-15T08:01:40Z"))
    credentials = credentials_of(plugin, clock)
    await credentials.current()
    clock.now += 79
    await credentials.current()
    assert run_count(tmp_path) == 1
    clock.now += 1
    await credentials.current()
    assert run_count(tmp_path) == 2


async def test_a_plugin_that_gives_no_end_date_runs_once(tmp_path: Path) -> None:
    clock = Clock()
    credentials = credentials_of(a_plugin(tmp_path, prints(tmp_path, token="a")), clock)

    await credentials.current()
    clock.now += 100_000
    await credentials.current()

    assert run_count(tmp_path) == 1


async def test_a_plugin_that_fails_early_leaves_us_the_credential_we_have_until_its_end(tmp_path: Path) -> None:
    clock = Clock()
    script = f"test -e {tmp_path}/broken && exit 1\n" + prints(
        tmp_path, token="a", expirationTimestamp="2027-01-15T08:10:00Z"
    )
    credentials = credentials_of(a_plugin(tmp_path, script), clock)
    await credentials.current()
    (tmp_path / "broken").touch()

    clock.now += 550
    assert (await credentials.current()).token == "a"
    clock.now += 50
    with pytest.raises(errors.ConfigInvalid, match="ended with 1"):
        await credentials.current()


async def test_after_a_401_the_plugin_runs_again(server: standin.StandIn, tmp_path: Path) -> None:
    plugin = a_plugin(tmp_path, prints(tmp_path, token="old"))
    server.will(standin.lists(version="1"), standin.refuses(401), standin.lists(version="2"))
    async with clients.Client(server.config(plugin), user_agent="t") as client:
        await client.list(NODES, Item)
        prints(tmp_path, token="new")
        await client.list(NODES, Item)

    assert sent_tokens(server) == ["Bearer old", "Bearer old", "Bearer new"]


async def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    plugin = a_plugin(tmp_path, prints(tmp_path, clientCertificateData="cert", clientKeyData="key"))

    given = await credentials_of(plugin).current()

    assert given.certificate == configs.Certificate(certificate=b"cert", key=b"key")


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo please log in >&2; exit 3", "ended with 3: please log in"),
        (f"echo old{'x' * 299}end >&2; exit 3", f"ended with 3: {'x' * 297}end"),
        ("echo hello", "something else than an ExecCredential"),
        ("echo '{}'", "answered in no apiVersion"),
        (f'echo \'{{"apiVersion": "{V1}", "status": {{}}}}\'', "neither a token nor a certificate"),
    ],
)
async def test_a_failing_plugin_is_one_sentence(tmp_path: Path, script: str, sentence: str) -> None:
    plugin = a_plugin(tmp_path, script)

    with pytest.raises(errors.ConfigInvalid, match=sentence) as caught:
        await credentials_of(plugin).current()

    assert str(caught.value).startswith(f"exec plugin {plugin.command} ")
    assert "\n" not in str(caught.value)


async def test_a_plugin_that_is_not_installed_passes_its_hint_on(tmp_path: Path) -> None:
    plugin = configs.ExecPlugin(
        command="no-such-plugin",
        arguments=(),
        environment=(),
        api_version=V1,
        install_hint="get it\nfrom the shop",
        cluster=None,
    )

    with pytest.raises(
        errors.ConfigInvalid, match="cannot be started: No such file or directory; get it from the shop"
    ):
        await credentials_of(plugin).current()


async def test_a_plugin_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "_PLUGIN_TIMEOUT_SECONDS", 0.2)

    with pytest.raises(errors.ConfigInvalid, match="did not answer within"):
        await credentials_of(a_plugin(tmp_path, "exec tail -f /dev/null")).current()
