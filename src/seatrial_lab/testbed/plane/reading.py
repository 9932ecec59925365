"""Reads from the API server without a process for each: tests look every few milliseconds, and kubectl costs CPU.

What is not understood here is left to kubectl, which also words every error about resources that do not exist.
Tests: tests/testbed/test_reading.py.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from seatrial_lab.testbed import errors

Object = dict[str, Any]

TIMEOUT_SECONDS: Final = 60.0
SHOW_MANAGED: Final = "--show-managed-fields"
DISCOVERY: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SELECTORS: Final = {"-l": "labelSelector", "--field-selector": "fieldSelector"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource that the API server serves."""

    group_version: str
    plural: str
    kind: str
    is_namespaced: bool

    def path(self, namespace: str, name: str = "") -> str:
        """Where it is read; an empty namespace stands for all of them."""
        root = f"/apis/{self.group_version}" if "/" in self.group_version else f"/api/{self.group_version}"
        within = f"/namespaces/{namespace}" if self.is_namespaced and namespace else ""
        return f"{root}{within}/{self.plural}" + (f"/{name}" if name else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What `kubectl get` is asked for, as far as it is understood here."""

    resources: tuple[str, ...]
    name: str
    namespace: str
    selectors: tuple[tuple[str, str], ...]
    has_managed_fields: bool


def understood(arguments: Sequence[str]) -> Question | None:
    """The question that these arguments of `kubectl get` ask, None for one that is better left to kubectl."""
    words: list[str] = []
    selectors: list[tuple[str, str]] = []
    namespace, has_managed_fields = "default", False
    rest = iter(arguments)
    for each in rest:
        if each in ("-n", "--namespace"):
            namespace = next(rest, "")
        elif each in SELECTORS:
            selectors.append((SELECTORS[each], next(rest, "")))
        elif each in ("-A", "--all-namespaces"):
            namespace = ""
        elif each == SHOW_MANAGED:
            has_managed_fields = True
        elif each.startswith("-"):
            return None
        else:
            words.append(each)
    kinds = tuple(words[0].split(",")) if words else ()
    name = words[1] if len(words) > 1 else ""
    is_plain = len(words) in (1, 2) and "/" not in words[0] and not (name and (selectors or len(kinds) > 1))
    if not is_plain or (name and not namespace):
        return None
    return Question(
        resources=kinds,
        name=name,
        namespace=namespace,
        selectors=tuple(selectors),
        has_managed_fields=has_managed_fields,
    )


class Reader:
    """Whoever reads as one user; connections are not kept, so that any thread may ask."""

    def __init__(self, url: str, *, authority: Path, token: str) -> None:
        self._url = url
        self._authority = authority
        self._token = token
        self._resources: dict[str, Resource] = {}

    def get(self, question: Question) -> Object | None:
        """What `kubectl get -o json` would print; None where a resource is not served."""
        resources = [self._resource(name) for name in question.resources]
        if None in resources:
            return None
        known = [each for each in resources if each is not None]
        if question.name:
            found = self._read(known[0].path(question.namespace, question.name))
            return _shown(found, question)
        query = "?" + urllib.parse.urlencode(question.selectors) if question.selectors else ""
        items: list[Object] = []
        for each in known:
            listed = self._read(each.path(question.namespace) + query)["items"]
            # Members of a list do not say what they are, and kubectl does.
            items += [_shown({"apiVersion": each.group_version, "kind": each.kind} | item, question) for item in listed]
        return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}

    def _resource(self, name: str) -> Resource | None:
        if name not in self._resources:
            self._resources = self._discovered()  # a definition may have come since
        return self._resources.get(name)

    def _discovered(self) -> dict[str, Resource]:
        """Every resource by all of its names. Of two with the same name the first is meant, as kubectl has it."""
        found: dict[str, Resource] = {}
        for path in ("/api", "/apis"):
            for group in self._read(path, accept=DISCOVERY)["items"]:
                group_name = group["metadata"].get("name", "")
                for version in group["versions"]:
                    for each in version.get("resources", ()):
                        group_version = f"{group_name}/{version['version']}" if group_name else version["version"]
                        resource = Resource(
                            group_version=group_version,
                            plural=each["resource"],
                            kind=each["responseKind"]["kind"],
                            is_namespaced=each["scope"] == "Namespaced",
                        )
                        names = (each["resource"], each.get("singularResource", ""), *each.get("shortNames", ()))
                        for name in (*names, f"{each['resource']}.{group_name}"):
                            found.setdefault(name, resource)
        return found

    def _read(self, path: str, accept: str = "application/json") -> Object:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept, "User-Agent": "testbed"}
        request = urllib.request.Request(self._url + path, headers=headers)  # noqa: S310  our own API server
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS, context=self._trust) as answer:  # noqa: S310
                found: Object = json.load(answer)
        except urllib.error.HTTPError as err:
            with err:
                raise errors.KubectlFailed(f"get {path}: {_refusal(err)}") from None
        except OSError as err:
            raise errors.KubectlFailed(f"get {path}: {err}") from None
        return found

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self._authority))


def _shown(found: Object, question: Question) -> Object:
    if not question.has_managed_fields:
        found["metadata"].pop("managedFields", None)
    return found


def _refusal(err: urllib.error.HTTPError) -> str:
    """In kubectl's words."""
    said = err.read()
    try:
        status = json.loads(said)
        return f"Error from server ({status.get('reason', err.code)}): {status.get('message', err.reason)}"
    except ValueError:
        return f"Error from server ({err.code}): {said.decode(errors='replace')[:200]}"
