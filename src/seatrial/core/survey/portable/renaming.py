"""Other names for what a file tells of a cluster: its nodes, namespaces, registries, and what tenants run.

    gpu-a17.corp.example              ─▶  node-0017                      in order, so that who comes first stays first
    llm-training                      ─▶  namespace-02                   those of the stack and of Kubernetes stay
    registry.corp:5000/team/llm:rc1   ─▶  registry-1.example/image-3     of the stack's images last name and tag stay
    llama-worker-0                    ─▶  tenant-00017                   and the claims and owners of such pods

Law of this file: one name becomes one name, wherever it stands: two objects that named each other still do. Tests:
tests/core/survey/test_portable_renaming.py, tests/properties/test_portable.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from seatrial.core.base.values import dataclass
from seatrial.core.survey.portable.words import LEFT_OUT

PUBLIC: Final = frozenset(
    {
        "docker.io",
        "gcr.io",
        "ghcr.io",
        "mcr.microsoft.com",
        "nvcr.io",
        "public.ecr.aws",
        "quay.io",
        "registry.k8s.io",
        "registry.redhat.io",
    }
)
"""Registries that everybody has."""
STACK: Final = re.compile(
    r"kube-(?:system|public|node-lease)|openshift-.*|gpu-operator(?:-resources)?|network-operator|node-feature-discovery"
    r"|nvidia-(?:gpu-operator|network-operator|dra-driver(?:-gpu)?|device-plugin)|dra-driver-nvidia-gpu|seatrial(?:-gates)?"
)
"""Namespaces that no tenant writes into; objects in any other are taken for a tenant's."""
SHARED: Final = re.compile(rf"{STACK.pattern}|argocd|cert-manager|default|flux-system|monitoring|openshift")
"""Namespaces that everybody has: who reads the file looks for them."""
OPERATORS: Final = "gpu-operator"
"""What the operator's namespace is called where it has a name of its own."""

NODES: Final = "/nodes"
_IMAGE: Final = "image"
MAPS: Final = frozenset({"labels", "nodeSelector", "selector", "matchLabels", "annotations"})
_PIECE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]*")
_TOKEN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_HAS_PLACE: Final = re.compile(r"[-.0-9]")
"""A node called `driver` is renamed where it is named whole, and not inside of other words."""

Lists = Mapping[str, Sequence[Mapping[str, Any]]]
"""The objects of a file, by the path that lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """The new name of everything that gets one."""

    nodes: Mapping[str, str]
    names: Mapping[str, str]
    """Namespaces, and what is in them."""
    registries: Mapping[str, str]
    repositories: Mapping[str, str]
    """Images of tenants."""

    @property
    def new(self) -> tuple[str, ...]:
        """All new names."""
        return tuple(
            name for each in (self.nodes, self.names, self.registries, self.repositories) for name in each.values()
        )

    # ── an object ────────────────────────────────────────────────────────────────────────────────────────────────────

    def told(self, value: Any, key: str = "") -> Any:
        """A value under the new names; `key` is what it stands under."""
        match value:
            case dict():
                inside = key if key in MAPS else ""
                return {self._key(name, key): self.told(each, inside or name) for name, each in value.items()}
            case list() | tuple():
                return [self.told(each, key) for each in value]
            case str():
                return self.image(value) if key == _IMAGE else self.text(value, is_label=key in MAPS)
            case _:
                return value

    def _key(self, name: str, inside: str) -> str:
        return name if inside in MAPS else self.nodes.get(name, name)

    def text(self, text: str, *, is_label: bool = False) -> str:
        """A text under the new names. A label's value names nodes; it is no namespace, whatever it says."""
        return _PIECE.sub(lambda found: self._piece(found[0], is_label), text)

    def _piece(self, piece: str, is_label: bool) -> str:
        """An image, or whatever else is written in one go, name by name."""
        path = _path_of(piece)
        host, _, inner = path.partition("/")
        if path in self.repositories or (inner and host in self.registries):
            return self.image(piece)
        return _TOKEN.sub(lambda found: self._token(found[0], is_label), piece)

    def image(self, image: str) -> str:
        """An image under the new names of its registry and its path."""
        path, mark, rest = _parted(image)
        host, _, inner = path.partition("/")
        if not _is_registry(host) or not inner:
            return self.repositories.get(path, path) + mark + rest
        inner = self.repositories.get(path, inner)
        return f"{self.registries.get(host, host)}/{inner}{mark}{rest}"

    def bare(self, image: str) -> str:
        """The same of a tenant's image, whose tag is the tenant's word too."""
        path, _, _ = _parted(self.image(image))
        return path if _path_of(image) in self.repositories else LEFT_OUT

    def _token(self, token: str, is_label: bool) -> str:
        if token in self.nodes:
            return self.nodes[token]
        if token in self.names and not is_label:
            return self.names[token]
        if token in self.registries:
            return self.registries[token]
        return self._inside(token)

    def _inside(self, token: str) -> str:
        """A node's name as a part of another, as in the names of its static pods."""
        places = [at for at, char in enumerate(token) if char in "-."]
        for at in places:
            if (name := token[at + 1 :]) in self.nodes and _HAS_PLACE.search(name):
                return token[: at + 1] + self.nodes[name]
        for at in reversed(places):
            if (name := token[:at]) in self.nodes and _HAS_PLACE.search(name):
                return self.nodes[name] + token[at:]
        return token


def is_tenants(found: Mapping[str, Any], operators_namespace: str) -> bool:
    """Whether an object is a tenant's, as far as its namespace tells."""
    namespace = str(_meta(found).get("namespace") or "")
    return bool(namespace) and namespace != operators_namespace and not STACK.fullmatch(namespace)


# ── which names there are ────────────────────────────────────────────────────────────────────────────────────────────


def renaming_of(lists: Lists, operators_namespace: str) -> Renaming:
    """New names for the objects of one file."""
    nodes = sorted({_meta(each).get("name", "") for path, found in lists.items() if _is_nodes(path) for each in found})
    inside = [each for path, found in lists.items() if not _is_nodes(path) for each in found]
    namespaces = sorted({_meta(each).get("namespace", "") for each in inside} - {"", operators_namespace})
    renamed = _numbered([each for each in namespaces if not SHARED.fullmatch(each)], "namespace")
    tenants = [each for each in inside if is_tenants(each, operators_namespace)]
    stacks = [each for each in inside if not is_tenants(each, operators_namespace)]
    if not SHARED.fullmatch(operators_namespace):
        renamed[operators_namespace] = OPERATORS
    found = [*_images(stacks), *_images(tenants)]
    hosts = sorted({host for each in found if _is_registry(host := _path_of(each).partition("/")[0])} - PUBLIC)
    return Renaming(
        nodes=_numbered(nodes, "node"),
        names={**_numbered(sorted({name for each in tenants for name in _names(each)}), "tenant"), **renamed},
        registries=_registries(hosts),
        repositories=_repositories(sorted(set(_images(stacks))), sorted(set(_images(tenants)))),
    )


def _numbered(names: Iterable[str], what: str) -> dict[str, str]:
    found = list(dict.fromkeys(filter(None, names)))
    width = max(2, len(str(len(found))))
    return {name: f"{what}-{number:0{width}}" for number, name in enumerate(found, 1)}


def _registries(hosts: Iterable[str]) -> dict[str, str]:
    """A host is told of with its port and without."""
    plain = dict.fromkeys(host.partition(":")[0] for host in hosts)
    named = {host: f"registry-{number}.example" for number, host in enumerate(plain, 1)}
    return named | {host: named[host.partition(":")[0]] for host in hosts}


def _repositories(stacks: Iterable[str], tenants: Iterable[str]) -> dict[str, str]:
    """By its path: of an image of the stack that is not from a public place its last name, of a tenant's a number."""
    ours = {path: path.rpartition("/")[2] for path in map(_path_of, stacks) if path.partition("/")[0] not in PUBLIC}
    theirs = dict.fromkeys(path for path in map(_path_of, tenants) if path not in set(map(_path_of, stacks)))
    return {**{path: f"image-{number}" for number, path in enumerate(theirs, 1)}, **ours}


def _meta(found: Mapping[str, Any]) -> Mapping[str, Any]:
    meta: Mapping[str, Any] = found.get("metadata") or {}
    return meta


def _is_nodes(path: str) -> bool:
    return path.endswith(NODES)


def _names(found: Mapping[str, Any]) -> Iterator[str]:
    """The names of an object, and of whoever made it."""
    meta = _meta(found)
    yield str(meta.get("name", ""))
    for owner in meta.get("ownerReferences") or ():
        yield str(owner.get("name", ""))


def _images(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == _IMAGE and isinstance(inner, str):
                yield inner
            else:
                yield from _images(inner)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _images(each)


def _parted(image: str) -> tuple[str, str, str]:
    """The path of an image, and what follows it: a tag, or a digest."""
    path, mark, digest = image.partition("@")
    if mark:
        return path, mark, digest
    last = image.rfind("/")
    at = image.find(":", last + 1)
    return (image[:at], ":", image[at + 1 :]) if at >= 0 else (image, "", "")


def _path_of(image: str) -> str:
    return _parted(image)[0]


def _is_registry(host: str) -> bool:
    return "." in host or ":" in host or host == "localhost"
