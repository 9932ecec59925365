"""A recorded cluster as it may be told: every object, refusal and log of it.

Law of this file: nothing passes by here.
Tests: tests/properties/test_portable.py, tests/core/survey/test_portable_allowed.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from seatrial.core.survey.portable.allowed import TEXTS, Allowed, chosen_by, chosen_values
from seatrial.core.survey.portable.recorded import LogOf, Recorded
from seatrial.core.survey.portable.renaming import NODES, Renaming, is_tenants, renaming_of
from seatrial.core.survey.portable.tenants import Tenants, node_labels
from seatrial.core.survey.portable.words import Words

CHOOSERS: Final = ("/gpurollouts", "/clusterpolicies", "/nvidiadrivers", "/controllerrevisions")
"""Lists of those who choose nodes and pods by labels, and whose choice is read; what a tenant chooses by is not."""


def told(found: Recorded, vocabulary: Iterable[str]) -> Recorded:
    """Without what may not leave the cluster; `vocabulary` are texts of the trade."""
    objects = [each for listed in found.lists.values() for each in listed]
    choosing = (each for path, listed in found.lists.items() if path.endswith(CHOOSERS) for each in listed)
    allowed = Allowed(words=Words(vocabulary, _names(objects)), keys=chosen_by(choosing))
    words = allowed.words
    return replace(
        found,
        lists={path: [allowed.told(each) for each in listed] for path, listed in found.lists.items()},
        refused={path: replace(each, said=words.told(each.said)) for path, each in found.refused.items()},
        logs={
            whose: words.told(each) if isinstance(each, str) else replace(each, said=words.told(each.said))
            for whose, each in found.logs.items()
        },
    )


def renamed(found: Recorded, vocabulary: Iterable[str]) -> Recorded:
    """Under other names, and of tenants nothing that they chose."""
    names = renaming_of(found.lists, found.namespace)
    objects = [each for listed in found.lists.values() for each in listed]
    stacks = [each for each in objects if not is_tenants(each, found.namespace)]
    words = Words(vocabulary, (*_names(stacks), *names.new))
    choosing = [each for path, listed in found.lists.items() if path.endswith(CHOOSERS) for each in listed]
    keys, values = node_labels(each for path, listed in found.lists.items() if path.endswith(NODES) for each in listed)
    tenants = Tenants(
        names=names, words=words, keys=keys | chosen_by(choosing), values=values | chosen_values(choosing)
    )

    def anew(each: Mapping[str, Any]) -> Mapping[str, Any]:
        found_anew: Mapping[str, Any] = (
            tenants.told(each) if is_tenants(each, found.namespace) else _again(names.told(each), words)
        )
        return found_anew

    def said(each: str) -> str:
        return words.told(names.text(each))

    return replace(
        found,
        is_anonymous=True,
        namespace=names.text(found.namespace),
        lists={_path(path, names): [anew(each) for each in listed] for path, listed in found.lists.items()},
        refused={_path(path, names): replace(each, said=said(each.said)) for path, each in found.refused.items()},
        logs={
            _log(whose, tenants, found.namespace): said(each)
            if isinstance(each, str)
            else replace(each, said=said(each.said))
            for whose, each in found.logs.items()
        },
    )


def _again(value: Any, words: Words, key: str = "") -> Any:
    """What the stack says, without the words that were known only as those of tenants."""
    match value:
        case dict():
            return {name: _again(each, words, name) for name, each in value.items()}
        case list() | tuple():
            return [_again(each, words, key) for each in value]
        case str() if key in TEXTS:
            return words.told(value)
        case _:
            return value


def _names(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What objects are called: it is in the file anyway."""
    for each in objects:
        meta, spec = each.get("metadata") or {}, each.get("spec") or {}
        yield str(meta.get("name", ""))
        yield str(meta.get("namespace", ""))
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            yield str(container.get("name", ""))
            yield str(container.get("image", ""))


def _path(path: str, names: Renaming) -> str:
    """A list of one namespace has its name in it."""
    before, inside, after = path.partition("/namespaces/")
    namespace, _, resource = after.partition("/")
    return f"{before}{inside}{names.text(namespace)}/{resource}" if inside else path


def _log(whose: LogOf, tenants: Tenants, operators_namespace: str) -> LogOf:
    is_theirs = is_tenants({"metadata": {"namespace": whose.namespace}}, operators_namespace)
    namespace = tenants.names.text(whose.namespace)
    if not is_theirs:
        return replace(whose, namespace=namespace, pod=tenants.names.text(whose.pod))
    return replace(whose, namespace=namespace, pod=tenants.name(whose.pod), container=tenants.name(whose.container))
