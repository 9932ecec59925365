"""Which cluster, and as whom: from files as people have them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors


def a_kubeconfig(
    path: Path, *, name: str = "k", user: dict[str, Any] | None = None, current: str | None = None, **cluster: Any
) -> Path:
    content = {
        "current-context": name if current is None else current,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "gpu"}}],
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443/", **cluster}}],
        "users": [{"name": name, "user": user if user is not None else {"token": "t"}}],
        "preferences": {},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return path


def load(path: Path, context: str | None = None, **environ: str) -> configs.Config:
    return configs.load_config(kubeconfig=str(path), context=context, environ=environ)


def test_a_plain_file_is_read_whole(tmp_path: Path) -> None:
    cluster: dict[str, Any] = {"tls-server-name": "inside", "proxy-url": "http://proxy:3128"}
    path = a_kubeconfig(tmp_path / "config", **cluster)

    assert load(path) == configs.Config(
        server="https://k:6443",
        context="k",
        source=str(path),
        namespace="gpu",
        identity=configs.StaticToken(token="t"),
        tls_server_name="inside",
        proxy_url="http://proxy:3128",
    )


def test_the_file_on_the_command_line_wins_then_the_environment_then_home(tmp_path: Path) -> None:
    flag = a_kubeconfig(tmp_path / "flag", name="flag")
    named = a_kubeconfig(tmp_path / "named", name="named")
    a_kubeconfig(tmp_path / "home" / ".kube" / "config", name="home")
    environ = {"KUBECONFIG": str(named), "HOME": str(tmp_path / "home")}

    assert configs.load_config(kubeconfig=str(flag), environ=environ).context == "flag"
    assert configs.load_config(environ=environ).context == "named"
    assert configs.load_config(environ={"HOME": environ["HOME"]}).context == "home"


def test_several_files_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first = a_kubeconfig(tmp_path / "1" / "config", name="a", current="", user={"tokenFile": "token"})
    second = a_kubeconfig(tmp_path / "2" / "config", name="b")
    third = a_kubeconfig(tmp_path / "3" / "config", name="a", user={"token": "later"})
    environ = {"KUBECONFIG": f"{first}:{tmp_path / 'missing'}:{second}:{third}"}

    assert configs.load_config(environ=environ).context == "b"
    # A path is relative to the file it is written in.
    chosen = configs.load_config(context="a", environ=environ)
    assert chosen.identity == configs.TokenFile(path=tmp_path / "1" / "token")


def test_a_list_without_any_file_is_an_error_and_not_a_reason_to_go_on(tmp_path: Path) -> None:
    a_kubeconfig(tmp_path / ".kube" / "config")

    with pytest.raises(errors.ConfigInvalid, match="no such file"):
        configs.load_config(environ={"KUBECONFIG": str(tmp_path / "missing"), "HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: b: c", r"config:1: not a kubeconfig"),
        ("- 1", "not a kubeconfig: Expected `object`"),
        ("users: [{name: a, user: {token: 123}}]", r"Expected `str`, got `int` - at `\$.users\[0\].user.token`"),
        ("contexts: null", "no current-context is set"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)

    with pytest.raises(errors.ConfigInvalid, match=sentence) as caught:
        load(path)

    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigInvalid, match="there is no such kubeconfig"):
        load(tmp_path / "nothing")


def test_an_unknown_context_lists_the_known_ones(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path / "config")

    with pytest.raises(errors.ConfigInvalid, match="there is no context x; choose one with --context: k"):
        load(path, context="x")


def test_certificates_are_read_from_data_or_from_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("authority")
    (tmp_path / "me.key").write_text("key")
    user = {"client-certificate-data": base64.b64encode(b"certificate").decode(), "client-key": "me.key"}
    path = a_kubeconfig(tmp_path / "config", user=user, **{"certificate-authority": "ca.crt"})

    loaded = load(path)

    assert loaded.authority == b"authority"
    assert loaded.certificate == configs.Certificate(certificate=b"certificate", key=b"key")
    assert loaded.identity == configs.Anonymous()


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        ({"username": "a", "password": "b"}, "user name and password"),
        ({"auth-provider": {"name": "oidc"}}, "auth-provider"),
        ({"client-certificate-data": "YQ=="}, "has no client key"),
        ({"client-key": "missing.key", "client-certificate-data": "YQ=="}, "missing.key, which cannot be read"),
        ({"client-key-data": "a", "client-certificate-data": "YQ=="}, "not base64"),
        ({"exec": {"command": "x"}}, "speaks no apiVersion"),
        ({"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "v1alpha1"),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, "has no command"),
        (
            {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Always"}},
            "needs a terminal",
        ),
    ],
)
def test_a_user_we_cannot_be_is_refused_with_a_sentence(tmp_path: Path, user: dict[str, Any], sentence: str) -> None:
    with pytest.raises(errors.ConfigInvalid, match=sentence):
        load(a_kubeconfig(tmp_path / "config", user=user))


@pytest.mark.parametrize(
    ("cluster", "sentence"),
    [({"server": "k:6443"}, "not an http"), ({"proxy-url": "socks5://p:1080"}, "http.s. proxies only")],
)
def test_an_address_we_cannot_reach_is_refused_with_a_sentence(
    tmp_path: Path, cluster: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(errors.ConfigInvalid, match=sentence):
        load(a_kubeconfig(tmp_path / "config", **cluster))


def test_a_plugin_is_described_with_its_surroundings(tmp_path: Path) -> None:
    plugin = {
        "command": "./login",
        "args": ["--quiet"],
        "env": [{"name": "REGION", "value": "north"}],
        "apiVersion": "client.authentication.k8s.io/v1",
        "provideClusterInfo": True,
        "installHint": "get it",
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    path = a_kubeconfig(tmp_path / "config", user={"exec": plugin}, extensions=[extension])

    assert load(path, PATH="/bin").identity == configs.ExecPlugin(
        command=str(tmp_path / "login"),
        arguments=("--quiet",),
        environment=(("PATH", "/bin"), ("REGION", "north")),
        api_version="client.authentication.k8s.io/v1",
        install_hint="get it",
        cluster={"server": "https://k:6443/", "config": {"audience": "x"}},
    )


def test_impersonation_becomes_headers(tmp_path: Path) -> None:
    user = {"token": "t", "as": "jane", "as-groups": ["a", "b"], "as-user-extra": {"Dept/Of": ["x"]}}

    assert load(a_kubeconfig(tmp_path / "config", user=user)).impersonation == (
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-dept%2Fof", "x"),
        ("Impersonate-User", "jane"),
    )


@pytest.mark.parametrize(
    ("exceptions", "proxy"),
    [
        ("", "http://p:1"),
        ("other, k", ""),
        (".example", "http://p:1"),
        ("*", ""),
        ("10.0.0.0/8", "http://p:1"),
    ],
)
def test_the_proxy_of_the_environment_is_used_with_its_exceptions(tmp_path: Path, exceptions: str, proxy: str) -> None:
    path = a_kubeconfig(tmp_path / "config")

    assert load(path, HTTPS_PROXY="http://p:1", NO_PROXY=exceptions).proxy_url == proxy


def test_an_exception_may_be_a_network(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path / "config", server="https://10.1.2.3")

    assert load(path, HTTPS_PROXY="http://p:1", NO_PROXY="10.0.0.0/8").proxy_url == ""


def test_secrets_are_not_printed(tmp_path: Path) -> None:
    assert "hush" not in repr(load(a_kubeconfig(tmp_path / "config", user={"token": "hush"})))


def a_service_account(folder: Path) -> Path:
    folder.mkdir()
    for name, content in {"token": "t", "ca.crt": "authority", "namespace": "seatrial\n"}.items():
        (folder / name).write_text(content)
    return folder


@pytest.mark.parametrize(("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd::1", "https://[fd::1]:443")])
def test_inside_a_pod_the_service_account_is_used(tmp_path: Path, host: str, server: str) -> None:
    folder = a_service_account(tmp_path / "account")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}

    assert configs.load_config(environ=environ, service_account=folder) == configs.Config(
        server=server,
        context="in-cluster",
        source=str(folder),
        namespace="seatrial",
        identity=configs.TokenFile(path=folder / "token"),
        authority=b"authority",
    )


def test_without_anything_we_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigInvalid, match="name a kubeconfig with --kubeconfig"):
        configs.load_config(environ={"HOME": str(tmp_path)}, service_account=tmp_path)
    with pytest.raises(errors.ConfigInvalid, match="context x was asked for"):
        configs.load_config(environ={"HOME": str(tmp_path)}, context="x", service_account=tmp_path)
