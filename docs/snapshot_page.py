"""The page that says what a snapshot has in it, kind by kind and field by field, from the readers' own models.

Whoever has to allow a file to leave a cluster reads this instead of our code. Tests: tests/docs/test_generated.py
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from seatrial.adapters.kube.portable import kept
from seatrial.adapters.kube.shapes import models
from seatrial.core.survey.portable import allowed, renaming

_WORDS = ("failures.yaml", "vocabulary.txt")
_HEAD = """# What a snapshot has in it

`seatrial snapshot` writes one JSON document a line: a head, one line for each object, refusal and log, and an end. An
object is there if `audit`, `doctor`, `forecast` or `rollout adopt` would look at it, with the fields that they read.
Everything else of it is dropped while it is read.

What these fields say is told by lists of what may be told:

"""


def text() -> str:
    """The page."""
    rows = [
        ("labels, selectors", "the keys", [f"{each}*" for each in allowed.LABEL_PREFIXES]),
        ("labels, selectors", "the keys", sorted(allowed.LABELS)),
        ("labels, selectors", "and", ("keys that a rollout, a policy or a DaemonSet chooses nodes or pods by",)),
        ("annotations", "the keys", [f"{each}*" for each in allowed.ANNOTATION_PREFIXES]),
        ("annotations", "the keys", sorted(allowed.ANNOTATIONS)),
        ("variables", "the names", sorted(allowed.VARIABLES)),
        ("command, args", "as many", ("`…` as there are arguments",)),
        ("allocatable, capacity, requests, limits", "the names", (f"{allowed.RESOURCE_PREFIX}*",)),
        (
            "messages and logs",
            "words that are in",
            [f"src/seatrial/knowledge/{each}" for each in _WORDS],
        ),
        ("messages and logs", "and", ("names of objects in the file", "numbers of up to seven digits")),
        ("web addresses", "of them", ("the scheme and the host",)),
    ]
    table = "".join(f"| {what} | {how} {', '.join(map(_quoted, which))} |\n" for what, how, which in rows)
    return "\n".join(
        (
            _HEAD + "| where | what is told |\n|---|---|\n" + table,
            _ANONYMOUS.format(public=", ".join(f"`{each}`" for each in sorted(renaming.PUBLIC))),
            "## Fields\n",
            "\n".join(_kind(each) for each in kept.kept("gpu-operator")),
        )
    )


_ANONYMOUS = """## Under other names

With `--anonymise` nodes become `node-01` and so on in the order of their names, namespaces of tenants `namespace-01`,
what is in them `tenant-01`, their images `image-1`, and registries `registry-1.example`. These registries stay:
{public}. Zones, racks and the labels that a rollout chooses by stay as they are.

What is in any other namespace than the operator's and those of Kubernetes, OpenShift and NVIDIA's charts is a tenant's.
Of it, times, uids, amounts and phases, reasons and types that are words of the trade stay; images lose their tags and
digests, messages every other word, labels and annotations those keys that are neither words of the trade nor chosen by.
Every other text, such as a container's name or a label's value, is a number: `name-7`.
"""


def _quoted(text: str) -> str:
    return text if " " in text or "`" in text else f"`{text}`"


def _kind(each: kept.Kept) -> str:
    paths = dict.fromkeys(path for reader in each.readers for path in _paths(_shown(reader.model)))
    listed = "".join(f"- `{path}`\n" for path in sorted(paths))
    return f"### {each.paths[0]}\n\n{listed}"


def _shown(model: type[Any]) -> type[Any]:
    return models.Rollout if model is kept.RolloutAsKept else model


def _paths(kind: Any, before: str = "") -> Iterator[str]:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        for each in inner:
            if each is not type(None):
                yield from _paths(each, before)
    elif origin is tuple:
        yield from _paths(inner[0], f"{before}[]")
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct) and msgspec.structs.fields(kind):
        hints = get_type_hints(kind)
        for each in msgspec.structs.fields(kind):
            name = each.encode_name if "." not in each.encode_name else f'"{each.encode_name}"'
            yield from _paths(hints[each.name], f"{before}.{name}" if before else name)
    else:
        yield before
