"""What of an object may leave the cluster: which labels, annotations, variables and arguments, and how texts are told.

    labels          of the stack and of Kubernetes, by prefix; and those that somebody chooses nodes or pods by
    annotations     that our readers read
    variables       two switches and a digest; never what else is in an environment
    arguments       how many there are
    messages        word for word (words.py)
    web addresses   scheme and host

Law of this file: a list of what may stay, and everything else goes. An object comes here with the fields that some
reader reads; what else it has is gone already. Tests: tests/core/survey/test_portable_allowed.py,
tests/properties/test_portable.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from seatrial.core.model.selectors import Selector
from seatrial.core.survey.portable.words import LEFT_OUT, Words

LABEL_PREFIXES: Final = (
    "app.kubernetes.io/",
    "argocd.argoproj.io/",
    "batch.kubernetes.io/",
    "feature.node.kubernetes.io/",
    "helm.toolkit.fluxcd.io/",
    "kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "machineconfiguration.openshift.io/",
    "node-role.kubernetes.io/",
    "node.kubernetes.io/",
    "node.openshift.io/",
    "nvidia-dra-driver-gpu-",
    "nvidia.com/",
    "nvsentinel.dgxc.nvidia.com/",
    "resource.nvidia.com/",
    "seatrial.dev/",
    "topology.kubernetes.io/",
)
LABELS: Final = frozenset(
    {
        "app",
        "controller-revision-hash",
        "helm.sh/chart",
        "k8saas.nvidia.com/ManagedByNVSentinel",
        "karpenter.sh/registered",
        "kernel",
        "olm.copiedFrom",
        "openshift.driver-toolkit",
    }
)
COMPONENT: Final = re.compile(r"[a-z0-9.-]{1,63}-component")
"""The DRA charts put the plugin's component under a key made of the release's name."""
ANNOTATION_PREFIXES: Final = (
    "argocd.argoproj.io/",
    "helm.toolkit.fluxcd.io/",
    "kustomize.toolkit.fluxcd.io/",
    "meta.helm.sh/",
    "nvidia.com/gpu-driver-upgrade",
    "seatrial.dev/",
)
ANNOTATIONS: Final = frozenset(
    {
        "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        "karpenter.sh/do-not-disrupt",
        "kubernetes.io/config.mirror",
    }
)
RESOURCE_PREFIX: Final = "nvidia.com/"
VARIABLES: Final = frozenset({"DRIVER_CONFIG_DIGEST", "ENABLE_GPU_POD_EVICTION", "ENABLE_AUTO_DRAIN"})
FIELDS: Final = ("f:spec", "f:driver", "f:version", "f:unschedulable", "f:upgradePolicy", "f:autoUpgrade")
"""Of who wrote what, those that are asked about."""

_CHOOSERS: Final = frozenset({"nodeSelector", "selector", "matchLabels"})
_CHOOSING_TEXTS: Final = frozenset({"podSelector", "label"})
_MAPS: Final = frozenset({"labels", *_CHOOSERS})
AMOUNTS: Final = frozenset({"allocatable", "capacity", "limits", "requests"})
_ARGUMENTS: Final = frozenset({"command", "args"})
_ADDRESSES: Final = frozenset({"url", "webhook"})
TEXTS: Final = frozenset(
    {
        "abort",
        "asks",
        "because",
        "by",
        "detail",
        "instructions",
        "message",
        "next",
        "pausedBecause",
        "query",
        "rejected",
        "said",
        "setback",
        "trouble",
        "why",
    }
)
"""What somebody says, and who it was."""
_TITLES: Final = frozenset({"osImage", "string", "podSelector", "expression", "exclude", "confidence"})
"""Names with spaces in them, and what a rollout is asked in a language of its own."""
_RECORD: Final = "seatrial.dev/upgrade"
_TITLE_MAX: Final = 300
_NAME_MAX: Final = 253
_VALUE: Final = re.compile(r"[A-Za-z0-9._:-]{0,64}")


@dataclass(frozen=True, eq=False)
class Allowed:
    """What may stay in one cluster's file."""

    words: Words
    keys: frozenset[str] = frozenset()
    """Labels that somebody chooses nodes or pods by."""

    def label(self, key: str) -> bool:
        """Whether a label of this key is told."""
        return key in LABELS or key in self.keys or key.startswith(LABEL_PREFIXES) or bool(COMPONENT.fullmatch(key))

    def annotation(self, key: str) -> bool:
        """Whether an annotation of this key is told."""
        return key in ANNOTATIONS or key.startswith(ANNOTATION_PREFIXES)

    # ── an object ────────────────────────────────────────────────────────────────────────────────────────────────────

    def told(self, value: Any, key: str = "") -> Any:
        """What is left of a value that stands under this key."""
        match value:
            case dict():
                return self._mapping(value, key)
            case list() | tuple():
                return self._list(value, key)
            case str():
                return self._text(value, key)
            case _:
                return value

    def _mapping(self, found: Mapping[str, Any], key: str) -> dict[str, Any]:
        if key in _MAPS:
            return {name: self._value(value) for name, value in found.items() if self.label(name)}
        if key == "annotations":
            return {name: self._annotation(name, value) for name, value in found.items() if self.annotation(name)}
        if key in AMOUNTS:
            return {name: value for name, value in found.items() if name.startswith(RESOURCE_PREFIX)}
        if key == "fieldsV1" or key in FIELDS:
            return {name: self.told(value, name) for name, value in found.items() if name in FIELDS}
        return {name: self.told(value, name) for name, value in found.items()}

    def _list(self, found: Iterable[Any], key: str) -> list[Any]:
        if key == "env":
            return [_variable(each) for each in found if _is_allowed(each)]
        if key in _ARGUMENTS:
            return [LEFT_OUT for _ in found]
        return [self.told(each, key) for each in found]

    def _text(self, text: str, key: str) -> str:
        if key in _ADDRESSES:
            return _place(text)
        if key in _TITLES:
            return text[:_TITLE_MAX]
        return text if key not in TEXTS and _is_name(text) else self.words.told(text)

    def _value(self, value: Any) -> Any:
        return value if isinstance(value, str) and len(value) <= _NAME_MAX else LEFT_OUT

    def _annotation(self, key: str, value: Any) -> Any:
        """Our own record has texts in it that others wrote."""
        if not isinstance(value, str):
            return LEFT_OUT
        if key == _RECORD:
            return self._record(value)
        return (
            value if len(value) <= _NAME_MAX and not any(char.isspace() for char in value) else self.words.told(value)
        )

    def _record(self, text: str) -> str:
        try:
            found = json.loads(text)
        except ValueError:
            return self.words.told(text)
        return json.dumps(self.told(found), ensure_ascii=False, separators=(",", ":"))


def _is_name(text: str) -> bool:
    """What is longer, or has spaces, is something that somebody says."""
    return len(text) <= _NAME_MAX and not any(char.isspace() for char in text)


def _is_allowed(variable: Any) -> bool:
    return isinstance(variable, dict) and variable.get("name") in VARIABLES


def _variable(found: Mapping[str, Any]) -> dict[str, str]:
    value = str(found.get("value", ""))
    return {"name": str(found["name"]), "value": value if _VALUE.fullmatch(value) else LEFT_OUT}


def _place(address: str) -> str:
    """Where an address leads, without who goes there and what for."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return LEFT_OUT
    return f"{parts.scheme}://{host}/{LEFT_OUT}" if parts.scheme and host else LEFT_OUT


# ── which labels somebody chooses by ─────────────────────────────────────────────────────────────────────────────────


def chosen_by(objects: Iterable[Any]) -> frozenset[str]:
    """The keys of labels that selectors in these objects name."""
    return frozenset(key for each in objects for key, _ in _terms_of(each))


def chosen_values(objects: Iterable[Any]) -> frozenset[str]:
    """The values of labels that they name."""
    return frozenset(value for each in objects for _, values in _terms_of(each) for value in values)


def _terms_of(value: Any) -> Iterator[tuple[str, Iterable[str]]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in _CHOOSERS and isinstance(inner, dict):
                yield from ((key, (wanted,) if isinstance(wanted, str) else ()) for key, wanted in inner.items())
            elif name in _CHOOSING_TEXTS and isinstance(inner, str):
                yield from _named(inner)
            yield from _terms_of(inner)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _terms_of(each)


def _named(text: str) -> Iterator[tuple[str, Iterable[str]]]:
    try:
        yield from ((term.key, term.values) for term in Selector.parse(text).terms)
    except ValueError:
        return
