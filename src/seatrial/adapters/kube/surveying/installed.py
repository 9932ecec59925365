"""The controller that is installed here, as whoever looks at the cluster may read it: its account, and how it was told.

    its Deployment (the chart's labels)      its account, its arguments, which Secret is mounted where
    else its Lease and the usual name        its account alone

Law of this file: the caller's own rights, and no more; what may not be read is not known, and nothing is guessed from
it. Tests: tests/adapters/kube/test_installed.py
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

import msgspec

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, api_path
from seatrial.adapters.kube.reading.leader import LEASE
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.models import ObjectMeta
from seatrial.core.base.values import dataclass

SELECTOR: Final = "app.kubernetes.io/name=seatrial,app.kubernetes.io/component=controller"
ACCOUNT: Final = "seatrial-controller"
"""What the chart and the manifests call the controller's ServiceAccount."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """A Secret that the controller has as a folder."""

    path: str
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """Who the controller is, and what it was told when it was started."""

    namespace: str
    account: str
    arguments: tuple[str, ...] | None = None
    """None where its Deployment is not there, or may not be read."""
    mounts: tuple[Mounted, ...] = ()

    def said(self, option: str) -> tuple[str, ...]:
        """Every value of an option, as `--x=y` or as `--x y`."""
        words = self.arguments or ()
        joined = (word.removeprefix(f"{option}=") for word in words if word.startswith(f"{option}="))
        apart = (value for word, value in pairwise(words) if word == option)
        return (*joined, *apart)

    def secret_at(self, path: str) -> str:
        """The Secret that is mounted as this folder; empty where it is another thing."""
        return next((each.secret for each in self.mounts if each.path.rstrip("/") == path.rstrip("/")), "")


class _Mount(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    mount_path: str


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    volume_mounts: tuple[_Mount, ...] = ()


class _SecretSource(msgspec.Struct, frozen=True, rename="camel"):
    secret_name: str = ""


class _Volume(msgspec.Struct, frozen=True):
    name: str
    secret: _SecretSource | None = None


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    service_account_name: str = "default"
    containers: tuple[_Container, ...] = ()
    volumes: tuple[_Volume, ...] = ()


class _Template(msgspec.Struct, frozen=True):
    spec: _PodSpec = _PodSpec()


class _DeploymentSpec(msgspec.Struct, frozen=True):
    template: _Template = _Template()


class _Deployment(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _DeploymentSpec = _DeploymentSpec()


class _Named(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Secret(msgspec.Struct, frozen=True):
    data: dict[str, str] | None = None


async def controller_of(client: Client) -> Controller | None:
    """The controller of this cluster; None where none is to be seen."""
    homes = await _lease_namespaces(client)
    found = await _deployments(client)
    if found:
        return min(found, key=lambda each: (each.namespace not in homes, each.namespace))
    for namespace in homes or (keys.HOME,):
        if await _has_account(client, namespace):
            return Controller(namespace=namespace, account=ACCOUNT)
    return None


async def secret_of(client: Client, namespace: str, name: str) -> Mapping[str, bytes] | None:
    """What a Secret holds; None where it is not there, may not be read, or is not readable."""
    try:
        found = await client.get(api_path("v1", "secrets", namespace=namespace, name=name), _Secret)
        return {key: base64.b64decode(value, validate=True) for key, value in (found.data or {}).items()}
    except (errors.ClusterError, binascii.Error):
        return None  # that the login is not known here is an answer


async def _lease_namespaces(client: Client) -> tuple[str, ...]:
    path = api_path("coordination.k8s.io/v1", "leases")
    try:
        listing = await client.list(path, _Named, field_selector=f"metadata.name={LEASE}")
    except errors.ClusterError:
        return ()  # whoever may not list leases may still see the Deployment
    return tuple(sorted(each.metadata.namespace for each in listing.items))


async def _deployments(client: Client) -> tuple[Controller, ...]:
    try:
        listing = await client.list(api_path("apps/v1", "deployments"), _Deployment, label_selector=SELECTOR)
    except errors.ClusterError:
        return ()  # the usual name of its account is tried instead
    return tuple(_controller(each) for each in listing.items)


def _controller(found: _Deployment) -> Controller:
    pod = found.spec.template.spec
    secrets = {each.name: each.secret.secret_name for each in pod.volumes if each.secret is not None}
    return Controller(
        namespace=found.metadata.namespace,
        account=pod.service_account_name,
        arguments=tuple(word for each in pod.containers for word in (*each.command, *each.args)),
        mounts=tuple(
            Mounted(path=mount.mount_path, secret=secrets[mount.name])
            for each in pod.containers
            for mount in each.volume_mounts
            if mount.name in secrets
        ),
    )


async def _has_account(client: Client, namespace: str) -> bool:
    try:
        await client.get(api_path("v1", "serviceaccounts", namespace=namespace, name=ACCOUNT), _Named)
    except errors.ClusterError:
        return False
    return True
