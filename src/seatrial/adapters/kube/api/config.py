"""Finds out which cluster to speak to, and as whom: kubeconfig files, or the service account of our own pod.

Order: the file named on the command line, then $KUBECONFIG, then ~/.kube/config, then the pod's service account.
A place that was named and is not there is an error, never a reason to go on with the next: the next is another cluster.
Reading files happens here, once, at the start. Tokens and plugins are only described here; auth.py uses them.
Tests: tests/adapters/kube/test_config.py.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec
import yaml

from seatrial.adapters.kube.api import errors
from seatrial.core.base.values import dataclass, field

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
# The extension of a cluster entry that is handed to the plugin as `spec.cluster.config`.
_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A client certificate with its key, both as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymous:
    """Nobody in particular; a client certificate may still speak for us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticToken:
    """A bearer token written into the kubeconfig."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFile:
    """A bearer token in a file that somebody else renews."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """A program that prints a credential."""

    command: str
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = field(repr=False)
    api_version: str
    install_hint: str
    # What the plugin may know about the cluster, in the shape of its API; None when it did not ask.
    cluster: Mapping[str, Any] | None = field(repr=False)


Identity = Anonymous | StaticToken | TokenFile | ExecPlugin


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One cluster, one identity, one namespace."""

    server: str
    context: str
    source: str
    namespace: str = "default"
    identity: Identity = field(default_factory=Anonymous)
    certificate: Certificate | None = None
    authority: bytes | None = None
    is_verified: bool = True
    tls_server_name: str = ""
    proxy_url: str = ""
    is_compressed: bool = True
    impersonation: tuple[tuple[str, str], ...] = ()

    def where(self) -> str:
        """Name the cluster the way error messages do."""
        return f"{self.server} (context {self.context}, from {self.source})"


def load_config(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    environ: Mapping[str, str],
    service_account: Path = SERVICE_ACCOUNT,
) -> Config:
    """Find the cluster that the command line, the environment or the pod points to."""
    files = _find_files(kubeconfig, environ)
    if files:
        return _from_files(files, context, environ)
    if context is not None:
        raise errors.ConfigInvalid(
            f"context {context} was asked for, but there is no kubeconfig",
            "name the file with --kubeconfig or in $KUBECONFIG",
        )
    return _from_pod(service_account, environ)


def contexts(*, kubeconfig: str | None = None, environ: Mapping[str, str]) -> dict[str, str]:
    """Every context that the files name, and the cluster behind it."""
    found: dict[str, str] = {}
    for path in _find_files(kubeconfig, environ):
        for named in _read_file(path).contexts or ():
            found.setdefault(named.name, named.context.cluster if named.context else "")
    return found


# --- the files, as they are written ------------------------------------------------------------------------------


class _Extension(msgspec.Struct, frozen=True):
    name: str = ""
    extension: Any = None


class _Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: tuple[_Extension, ...] | None = None


class _Variable(msgspec.Struct, frozen=True):
    name: str
    value: str


class _Exec(msgspec.Struct, frozen=True, rename="camel"):
    command: str = ""
    args: tuple[str, ...] | None = None
    env: tuple[_Variable, ...] | None = None
    api_version: str = ""
    install_hint: str = ""
    interactive_mode: str = ""
    provide_cluster_info: bool = False


class _User(msgspec.Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: _Exec | None = None
    auth_provider: Any = None
    impersonate: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] | None = None
    as_user_extra: dict[str, tuple[str, ...]] | None = None


class _Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: _Cluster | None = None


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: _User | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: _Context | None = None


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] | None = None
    users: tuple[_NamedUser, ...] | None = None
    contexts: tuple[_NamedContext, ...] | None = None


# --- finding and merging -----------------------------------------------------------------------------------------


def _find_files(kubeconfig: str | None, environ: Mapping[str, str]) -> tuple[Path, ...]:
    if kubeconfig is not None:
        path = Path(kubeconfig)
        if not path.is_file():
            raise errors.ConfigInvalid(f"{path}: there is no such kubeconfig", "check the path given to --kubeconfig")
        return (path,)
    listed = environ.get("KUBECONFIG", "")
    if listed:
        named = [Path(entry) for entry in listed.split(":") if entry]
        found = tuple(path for path in named if path.is_file())
        if not found:
            raise errors.ConfigInvalid(f"$KUBECONFIG is {listed}, but no such file is there", "correct or unset it")
        return found
    usual = Path(environ.get("HOME", "~")) / ".kube" / "config"
    return (usual,) if usual.is_file() else ()


def _from_files(files: tuple[Path, ...], wanted: str | None, environ: Mapping[str, str]) -> Config:
    clusters: dict[str, tuple[Path, _Cluster]] = {}
    users: dict[str, tuple[Path, _User]] = {}
    contexts: dict[str, _Context] = {}
    current = wanted or ""
    for path in files:  # as kubectl merges: the first file that says something wins, entry by entry
        content = _read_file(path)
        current = current or content.current_context
        for named_cluster in content.clusters or ():
            clusters.setdefault(named_cluster.name, (path, named_cluster.cluster or _Cluster()))
        for named_user in content.users or ():
            users.setdefault(named_user.name, (path, named_user.user or _User()))
        for named_context in content.contexts or ():
            contexts.setdefault(named_context.name, named_context.context or _Context())

    source = ":".join(str(path) for path in files)
    if not current:
        raise errors.ConfigInvalid(f"{source}: no current-context is set", _choose(contexts))
    chosen = contexts.get(current)
    if chosen is None:
        raise errors.ConfigInvalid(f"{source}: there is no context {current}", _choose(contexts))
    if chosen.cluster not in clusters:
        raise errors.ConfigInvalid(
            f"{source}: context {current} names cluster {chosen.cluster or '(none)'}, which is not defined",
            "add the cluster to the kubeconfig or choose another context",
        )
    if chosen.user and chosen.user not in users:
        raise errors.ConfigInvalid(
            f"{source}: context {current} names user {chosen.user}, who is not defined",
            "add the user to the kubeconfig or choose another context",
        )
    cluster_path, cluster = clusters[chosen.cluster]
    user_path, user = users.get(chosen.user, (files[0], _User()))
    return _build(source, current, chosen, cluster_path, cluster, user_path, user, environ)


def _choose(contexts: Mapping[str, object]) -> str:
    names = ", ".join(sorted(contexts))
    return f"choose one with --context: {names}" if names else "write one, or ask who runs the cluster for a kubeconfig"


def _read_file(path: Path) -> _File:
    # The C loader is several times faster, but a PyYAML built without libyaml does not have it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(path.read_bytes(), Loader=loader)  # noqa: S506 — both loaders are safe ones
    except OSError as err:
        raise errors.ConfigInvalid(f"{path}: cannot be read: {err.strerror}", "check its permissions") from err
    except yaml.YAMLError as err:
        mark = getattr(err, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(err, "problem", None) or "it is not YAML"
        raise errors.ConfigInvalid(f"{path}{line}: not a kubeconfig: {problem}", "correct the file") from err
    try:
        return msgspec.convert(content or {}, type=_File)
    except msgspec.ValidationError as err:
        raise errors.ConfigInvalid(f"{path}: not a kubeconfig: {err}", "correct the file") from err


# --- one context, made whole -------------------------------------------------------------------------------------


def _build(
    source: str,
    name: str,
    context: _Context,
    cluster_path: Path,
    cluster: _Cluster,
    user_path: Path,
    user: _User,
    environ: Mapping[str, str],
) -> Config:
    _check_server(cluster_path, context.cluster, cluster)
    authority = _pem(
        cluster_path, "certificate-authority", cluster.certificate_authority, cluster.certificate_authority_data
    )
    return Config(
        server=cluster.server.rstrip("/"),
        context=name,
        source=source,
        namespace=context.namespace or "default",
        identity=_identity(user_path, context.user, user, cluster, authority, environ),
        certificate=_certificate(user_path, context.user, user),
        authority=authority,
        is_verified=not cluster.insecure_skip_tls_verify,
        tls_server_name=cluster.tls_server_name,
        proxy_url=cluster.proxy_url or _proxy_of(environ, cluster.server),
        is_compressed=not cluster.disable_compression,
        impersonation=_impersonation(user),
    )


def _check_server(path: Path, name: str, cluster: _Cluster) -> None:
    if urlsplit(cluster.server).scheme not in {"http", "https"}:
        raise errors.ConfigInvalid(
            f"{path}: the server of cluster {name} is {cluster.server or 'missing'}, not an http(s) address",
            "write it as https://host:port",
        )
    if cluster.proxy_url and urlsplit(cluster.proxy_url).scheme not in {"http", "https"}:
        raise errors.ConfigInvalid(
            f"{path}: cluster {name} is behind proxy {cluster.proxy_url}, and we speak to http(s) proxies only",
            "use an http(s) proxy for this cluster",
        )


def _identity(
    path: Path, name: str, user: _User, cluster: _Cluster, authority: bytes | None, environ: Mapping[str, str]
) -> Identity:
    if user.username or user.password:
        raise errors.ConfigInvalid(
            f"{path}: user {name} has a user name and password, which Kubernetes has not accepted since 1.19",
            "use a token, a client certificate or an exec plugin",
        )
    if user.auth_provider is not None:
        raise errors.ConfigInvalid(
            f"{path}: user {name} uses an auth-provider, which kubectl dropped in 1.26",
            "replace it by the exec plugin of your provider (kubelogin, gke-gcloud-auth-plugin, aws eks get-token)",
        )
    if user.token_file:
        return TokenFile(path=_beside(path, user.token_file))
    if user.token:
        return StaticToken(token=user.token)
    if user.exec is not None:
        return _plugin(path, name, user.exec, cluster, authority, environ)
    return Anonymous()


def _plugin(
    path: Path, name: str, plugin: _Exec, cluster: _Cluster, authority: bytes | None, environ: Mapping[str, str]
) -> ExecPlugin:
    if plugin.api_version not in _EXEC_VERSIONS:
        raise errors.ConfigInvalid(
            f"{path}: the exec plugin of user {name} speaks {plugin.api_version or 'no apiVersion'}",
            f"let it speak {' or '.join(_EXEC_VERSIONS)}",
        )
    if not plugin.command:
        raise errors.ConfigInvalid(f"{path}: the exec plugin of user {name} has no command", "write one")
    if plugin.interactive_mode == "Always":
        raise errors.ConfigInvalid(
            f"{path}: the exec plugin of user {name} has interactiveMode: Always, which needs a terminal",
            "use a plugin that works without a terminal",
        )
    # A command with a slash is looked up beside its file, one without in $PATH, as kubectl does.
    command = str(_beside(path, plugin.command)) if "/" in plugin.command else plugin.command
    extra = {variable.name: variable.value for variable in plugin.env or ()}
    return ExecPlugin(
        command=command,
        arguments=plugin.args or (),
        environment=tuple({**environ, **extra}.items()),
        api_version=plugin.api_version,
        install_hint=plugin.install_hint,
        cluster=_cluster_for_plugin(cluster, authority) if plugin.provide_cluster_info else None,
    )


def _cluster_for_plugin(cluster: _Cluster, authority: bytes | None) -> Mapping[str, Any]:
    told: dict[str, Any] = {"server": cluster.server}
    if authority is not None:
        told["certificate-authority-data"] = base64.b64encode(authority).decode()
    if cluster.tls_server_name:
        told["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        told["insecure-skip-tls-verify"] = True
    if cluster.proxy_url:
        told["proxy-url"] = cluster.proxy_url
    for entry in cluster.extensions or ():
        if entry.name == _EXEC_EXTENSION:
            told["config"] = entry.extension
    return told


def _certificate(path: Path, name: str, user: _User) -> Certificate | None:
    certificate = _pem(path, "client-certificate", user.client_certificate, user.client_certificate_data)
    key = _pem(path, "client-key", user.client_key, user.client_key_data)
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        missing = "certificate" if certificate is None else "key"
        raise errors.ConfigInvalid(f"{path}: user {name} has no client {missing}", "give both or neither")
    return Certificate(certificate=certificate, key=key)


def _impersonation(user: _User) -> tuple[tuple[str, str], ...]:
    headers = [("Impersonate-Group", group) for group in user.as_groups or ()]
    for key, values in (user.as_user_extra or {}).items():
        headers += [(f"Impersonate-Extra-{quote(key.lower(), safe='')}", value) for value in values]
    if user.impersonate:
        headers.append(("Impersonate-User", user.impersonate))
    if user.as_uid:
        headers.append(("Impersonate-Uid", user.as_uid))
    return tuple(headers)


def _pem(path: Path, what: str, named: str, encoded: str) -> bytes | None:
    if encoded:
        try:
            return base64.b64decode(encoded)
        except binascii.Error as err:
            raise errors.ConfigInvalid(f"{path}: {what}-data is not base64: {err}", "write it again") from err
    if not named:
        return None
    return _read_beside(path, what, named)


def _read_beside(path: Path, what: str, named: str) -> bytes:
    file = _beside(path, named)
    try:
        return file.read_bytes()
    except OSError as err:
        raise errors.ConfigInvalid(
            f"{path}: {what} names {file}, which cannot be read: {err.strerror}", "restore the file or correct its path"
        ) from err


def _beside(path: Path, named: str) -> Path:
    return path.parent / named  # an absolute path stays itself


# --- proxies -----------------------------------------------------------------------------------------------------


def _proxy_of(environ: Mapping[str, str], server: str) -> str:
    """Find the proxy the environment asks for, with the exceptions that $NO_PROXY makes."""
    address = urlsplit(server)
    host = address.hostname or ""
    names = ("HTTPS_PROXY", "https_proxy") if address.scheme == "https" else ("HTTP_PROXY", "http_proxy")
    proxy = next((environ[name] for name in names if environ.get(name)), "")
    if not proxy or urlsplit(proxy).scheme not in {"http", "https"} or host in {"localhost", "127.0.0.1", "::1"}:
        return ""
    exceptions = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    return "" if any(_is_covered(host, entry.strip()) for entry in exceptions.split(",")) else proxy


def _is_covered(host: str, entry: str) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:  # one of the two is a name
        bare = entry.lstrip(".")
        return host == bare or host.endswith(f".{bare}")


# --- inside a pod ------------------------------------------------------------------------------------------------


def _from_pod(folder: Path, environ: Mapping[str, str]) -> Config:
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    token = folder / "token"
    if not host or not token.is_file():
        raise errors.ConfigInvalid(
            "there is no kubeconfig, and this is not a pod with a service account",
            "name a kubeconfig with --kubeconfig or in $KUBECONFIG",
        )
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    namespace = folder / "namespace"
    return Config(
        server=server,
        context="in-cluster",
        source=str(folder),
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        identity=TokenFile(path=token),
        authority=_read_beside(token, "the service account", "ca.crt"),
        proxy_url=_proxy_of(environ, server),
    )
