"""A recorded cluster as it may be told: every object, refusal and log of it.

Law of this file: nothing passes by here. Tests: tests/properties/test_portable.py, tests/core/test_portable_allowed.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from seatrial.core.survey.portable.allowed import Allowed, chosen_by
from seatrial.core.survey.portable.recorded import LogOf, Recorded, Refused
from seatrial.core.survey.portable.renaming import Renaming, renaming_of
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


def renamed(found: Recorded) -> Recorded:
    """Under other names."""
    names = renaming_of(found.lists, found.namespace)
    return replace(
        found,
        is_anonymous=True,
        namespace=names.text(found.namespace),
        lists={_path(path, names): [names.told(each) for each in listed] for path, listed in found.lists.items()},
        refused={_path(path, names): _refused(each, names) for path, each in found.refused.items()},
        logs={
            _log(whose, names): names.text(each) if isinstance(each, str) else _refused(each, names)
            for whose, each in found.logs.items()
        },
    )


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


def _refused(each: Refused, names: Renaming) -> Refused:
    return replace(each, said=names.text(each.said))


def _log(whose: LogOf, names: Renaming) -> LogOf:
    return replace(whose, namespace=names.text(whose.namespace), pod=names.text(whose.pod))
