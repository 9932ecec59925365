"""Whatever an object has in it: of secrets planted in every field, only what stands under a name is in a snapshot.

Objects are drawn along the readers' own models, with fields besides that nobody knows; every text of them is a secret.
What may be told is written down here once more, by hand.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.adapters.files.facts import vocabulary
from seatrial.adapters.kube.portable.kept import Kept, Reader, kept
from seatrial.adapters.kube.portable.selecting import Selecting
from seatrial.adapters.kube.shapes import models
from seatrial.core.survey.portable import telling
from seatrial.core.survey.portable.recorded import LogOf, Recorded, Refused
from tests.properties.drawn import drawn


def greedy(reader: Reader) -> Reader:
    """As if everything were of interest to it."""
    return replace(reader, keeps=lambda found: found, selecting=Selecting.parse())


KINDS: Final = tuple(Kept(paths=kind.paths, readers=tuple(map(greedy, kind.readers))) for kind in kept("gpu-operator"))
VOCABULARY: Final = vocabulary.texts()
MARK: Final = "zqx"
# fmt: off
NAMES: Final = frozenset({
    "name", "namespace", "uid", "resourceVersion", "nodeName", "node", "host", "hostname", "image", "kind",
    "driver", "controller", "owner", "reportingInstance", "creationTimestamp", "deletionTimestamp",
    "lastTransitionTime", "lastTimestamp", "eventTime", "lastObservedTime", "startTime", "startedAt", "finishedAt",
    "time", "renewTime", "expiry", "manager", "operation", "subresource", "finalizers", "type", "status", "reason",
    "phase", "state", "osImage", "kernelVersion", "kubeletVersion", "containerRuntimeVersion", "bootID",
    "resourceClaimName", "runtimeClassName", "requestorID", "additionalRequestors", "version", "channel",
    "installPlanApproval", "firmwareVersion", "kernelModuleType", "string", "app", "component", "maxUnavailable",
    "updateStrategy",
})
# fmt: on
"""What objects are called, when something happened, and words of machines."""


CHOOSERS: Final = ("/gpurollouts", "/clusterpolicies", "/nvidiadrivers", "/controllerrevisions")
CHOSEN: Final = frozenset({"a key of nodeSelector", "a key of selector", "a key of labels", "podSelector"})
"""By which labels such an object chooses."""


# fmt: off
SAID: Final = frozenset({
    "abort", "args", "asks", "because", "by", "command", "detail", "env", "instructions", "message", "next",
    "pausedBecause", "query", "said", "trouble", "url", "webhook", "why", "a key of annotations", "annotations",
})
# fmt: on
"""A rollout is our own object and what it says are words of ours; but not these."""


def secret(rng: random.Random) -> str:
    return MARK + "".join(rng.choices("bcdfghjklmnpqrstvwxz0123456789", k=14))


def value(kind: Any, rng: random.Random) -> Any:
    """A value of a type, with secrets for texts."""
    if kind is Any or kind is object:
        return {secret(rng): secret(rng), "x": [secret(rng)]}
    if kind is msgspec.Raw:
        return {secret(rng): secret(rng)}
    origin, inner = get_origin(kind), get_args(kind)
    if origin is None and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return fields(kind, rng)
    if origin is tuple:
        return [value(inner[0], rng) for _ in range(rng.randint(1, 2))]
    if origin is dict:
        return {secret(rng) if rng.random() < 0.7 else "app": value(inner[1], rng)}
    if inner:  # a union
        return value(rng.choice([each for each in inner if each is not type(None)]), rng)
    if kind is str:
        return secret(rng) if rng.random() < 0.5 else f"the driver failed: {secret(rng)} is not {secret(rng)}"
    return {bool: True, int: 1, float: 1.5}[kind]


@cache
def hints_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(kind)


def fields(kind: type[msgspec.Struct], rng: random.Random) -> dict[str, Any]:
    hints = hints_of(kind)
    found = {each.encode_name: value(hints[each.name], rng) for each in msgspec.structs.fields(kind)}
    return {**found, secret(rng): secret(rng), "data": {secret(rng): secret(rng)}, "args": [secret(rng)]}


def an_object(kind: Kept, rng: random.Random) -> dict[str, Any]:
    """What all readers of a kind read of it, and more."""
    if kind.paths[0].endswith("/gpurollouts"):
        return fields(models.Rollout, rng)
    found: dict[str, Any] = {}
    for reader in kind.readers:
        for key, each in fields(reader.model, rng).items():
            found[key] = {**found[key], **each} if isinstance(found.get(key), dict) and isinstance(each, dict) else each
    found["metadata"] = {**found.get("metadata", {}), "annotations": {"vault.example/x": secret(rng)}}
    return found


def leaks(value: Any, key: str = "") -> Iterator[str]:
    """Under what secrets are told."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if MARK in name:
                yield f"a key of {key}"
            yield from leaks(inner, name)
    elif isinstance(value, list):
        for each in value:
            yield from leaks(each, key)
    elif isinstance(value, str) and MARK in value:
        yield key


def recorded(rng: random.Random) -> Recorded:
    lists: dict[str, list[dict[str, Any]]] = {}
    for kind in KINDS:
        try:
            slim = kind.slim(json.dumps(an_object(kind, rng)).encode())
        except msgspec.MsgspecError:
            continue  # two readers read a field differently, and this is fit for one of them
        lists[kind.paths[0]] = [slim] if slim is not None else []
    return Recorded(
        taken_at=0.0,
        namespace="gpu-operator",
        lists=lists,
        refused={"/api/v1/x": Refused(code=403, said=f"User {secret(rng)} cannot list")},
        logs={LogOf(namespace="a", pod="b", container="c"): f"token={secret(rng)}\nfailed {secret(rng)}"},
    )


@settings(max_examples=drawn(100), deadline=None)
@given(st.integers(0, 2**32))
def test_secrets_in_any_field_are_told_only_where_a_name_stands(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  the same object for the same seed
    told = telling.told(recorded(rng), VOCABULARY)
    for path, listed in told.lists.items():
        if path.endswith("/gpurollouts"):
            assert not set(leaks(listed)) & SAID
        elif not path.endswith(CHOOSERS):
            assert set(leaks(listed)) <= NAMES, (path, set(leaks(listed)) - NAMES)
        else:
            found = {each for each in leaks(listed) if MARK not in each}
            assert found <= NAMES | CHOSEN, (path, found - NAMES - CHOSEN)
    assert MARK not in json.dumps([each.said for each in told.refused.values()])
    assert MARK not in json.dumps(list(map(str, told.logs.values())))


@settings(max_examples=drawn(100), deadline=None)
@given(st.integers(0, 2**32))
def test_under_other_names_no_secret_is_told_in_any_field_of_a_tenants_object(seed: int) -> None:
    found = recorded(random.Random(seed))  # noqa: S311  the same object for the same seed
    theirs = {"namespace": f"{MARK}team"}
    lists = {
        path: [{**each, "metadata": {**each.get("metadata", {}), **theirs}} for each in listed]
        for path, listed in found.lists.items()
    }
    found = replace(found, lists=lists)
    told = telling.renamed(telling.told(found, VOCABULARY), VOCABULARY)
    for path, listed in told.lists.items():
        if not path.endswith(("/nodes", *CHOOSERS)):
            assert set(leaks(listed)) == set(), path
    assert MARK not in json.dumps(list(map(str, told.logs.values())))


@settings(max_examples=drawn(100), deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=200), st.integers(0, 2**32))
def test_of_any_text_no_secret_in_it_is_told(text: str, seed: int) -> None:
    hidden = secret(random.Random(seed))  # noqa: S311
    whose = LogOf(namespace="a", pod="b", container="c")
    found = Recorded(taken_at=0.0, namespace="x", logs={whose: f"{text} {hidden}"})
    (log,) = telling.told(found, VOCABULARY).logs.values()
    assert isinstance(log, str)
    assert not re.search(MARK, log)
