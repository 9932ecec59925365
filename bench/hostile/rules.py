"""What is done to a sound object so that it means harm: one row for each way, drawn by a seed.

A row says at which places of an object it applies, and what stands there afterwards. What comes of it is still JSON
that an API server can be sent; whether it takes it is its own affair. No I/O, no clock. Tests:
tests/bench/test_hostile.py
"""

from __future__ import annotations

import copy
import json
import random
import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from seatrial.adapters.kube.shapes import keys
from seatrial.core.model.seen import jobs, marks

Object: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]


class Gone:
    """Stands for a value that is taken away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """All that a row may know: chance, and what else there is in the cluster."""

    chance: random.Random
    uids: Sequence[str] = ()
    nodes: Sequence[str] = ()

    def of(self, *values: Any) -> Any:
        """One of these."""
        return self.chance.choice(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One way to do harm."""

    name: str
    fits: Callable[[Path, Any], bool]
    change: Callable[[Draw, Path, Any], Any]


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────

DATES: Final = (
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "1969-12-31T23:59:59Z",
    "2200-01-01T00:00:01Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-05:00",
    "9999-12-31T23:59:59.999999999-12:00",
    "2026-02-30T00:00:00Z",
    "2026-06-30T23:59:60Z",
    "2026-01-01T00:00:00+99:99",
    "2026-01-01",
    "٢٠٢٦-01-01T00:00:00Z",
    "99999-01-01T00:00:00Z",
    f"2026-01-01T00:00:00.{'9' * 400}Z",
    "",
    "now",
)
NUMBERS: Final = (
    *(0, -1, 1, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 10**40),
    *(300_000_000_000, 1e308, -1e308, 5e-324, 0.1, 1e16),
)
QUANTITIES: Final = (
    *("1e308", "1e999", "-1", "9999999999999999999E", "0.000000001", "1n", "8Ki", "9E", "99999Ei", "+8"),
    *("NaN", "Inf", "8 ", "٨", "", "1e-999", f"1{'0' * 300}", "0x8", "1_0"),
)
VERSIONS: Final = (
    *("580.105.08", "999.999.999", "580", "580.", "580.105.08.1", "0.0.0", "v580.105.08", "-580.1.2"),
    *(f"580.{'9' * 3000}.1", f"{'9' * 5000}.0.0", "580.105.08\n570.1.1", "٥٨٠.105.08", "580.105.08-" * 200),
    *("latest", "sha256:" + "0" * 64, "580.105.08-ubuntu22.04" + "-x" * 500, ":", "@", "nvcr.io/nvidia/driver"),
)
WORDS: Final = (
    *("Sideways", "True", "true", "TRUE", "False", "Unknown", " ", "Ready ", "ready", "null", "None", "0"),
    *("upgrade-required", "upgrade-done", "pod-restart-required", "Paused", "Running", "Succeeded", "Failed"),
)
OF_EACH_TYPE: Final[tuple[Any, ...]] = (None, True, 7, 1.5, "x", [], {}, ["x"], {"x": "y"}, [[]])
CONTROLS: Final = ("\0", "\x1b[2J\x1b]0;pwned\x07", "\r\n", "\x07", "\x08" * 40, "\x7f", "\x9b31m", "\ufeff", "\u2028")
BIDI: Final = (
    "\u202e",
    "\u2066",
    "\u200f",
    "\u202a\u202b",
    "\u2069" * 50,
    "\u200b",
    "\U000e0041",
    "a" + "\u0301" * 400,
)
SHELL: Final = ("$(reboot)", "'; rm -rf / #", "`id`", "--help", "-rf", "../../etc/passwd", "https://u:p@h/x", "%s%n{0}")
PUMPS: Final = (
    ("a", "-22222222", ".x"),
    ("a", "-11111", "."),
    ("", "://", ""),
    ("https://", "a@", " "),
    ("https://", "a:" * 3, "@"),
    ("", "a=b,", "!"),
    ("", "(", ""),
    ("", "[", ""),
    ("", "1.", "x"),
    ("", " ", "x"),
    ("", "\\", ""),
    ("", "é", ""),
    ("Error creating: ", 'pods "', ""),
    ("", "nvidia.com/", ""),
    ("1", "0", "e"),
    ("", "-a", "-"),
)
"""Beginning, what is repeated, end: a pattern that can match the middle in many ways is made to try them all."""
PUMPED: Final = (27, 60, 300, 4000)
LONG: Final = (64, 254, 1025, 33_000, 180_000)
ANNOTATION_MAX: Final = 250_000
"""The API server takes 256 KiB of annotations in all."""

FORGED: Final = (
    keys.RECORD_ANNOTATION,
    keys.ACCEPT_LOSS_ANNOTATION,
    f"{keys.OBSERVED_PREFIX}firmware_cx7",
    keys.CHECKPOINT_ANNOTATION,
    keys.CHECKPOINT_REQUESTED_ANNOTATION,
    keys.CHECKPOINT_SAVED_ANNOTATION,
    keys.CHECKPOINT_SAVED_AT_ANNOTATION,
    keys.SUSPENDED_BY_ANNOTATION,
    keys.SUSPENDED_FOR_ANNOTATION,
    keys.MANAGER_CORDON_ANNOTATION,
    keys.SKIPPED_BY_ANNOTATION,
    keys.PAUSED_BY_ANNOTATION,
    keys.PUBLISHED_ANNOTATION,
    keys.GATE_KEY,
    keys.NODE_KEY,
    keys.ROUND_KEY,
    keys.ATTEMPT_KEY,
    keys.GANG_KEY,
    keys.SAFE_LOAD_ANNOTATION,
    keys.REQUESTED_ANNOTATION,
    keys.MIRROR_ANNOTATION,
    *jobs.ANNOTATIONS,
    *(key for key, row in marks.BY_KEY.items() if row.mark.place is marks.Place.ANNOTATION),
)
FORGED_LABELS: Final = (
    keys.STATE_LABEL,
    keys.NVIDIA_STATE_LABEL,
    keys.NETWORK_STATE_LABEL,
    keys.CANARY_LABEL,
    keys.ADOPTION_LABEL,
    keys.SKIP_LABEL,
    keys.ROLLOUT_LABEL,
    keys.GATE_KEY,
    keys.REVISION_LABEL,
    keys.DRIVER_VERSION_LABEL,
    keys.DISCOVERED_AT_LABEL,
    keys.MIG_CONFIG_LABEL,
    keys.JOB_LABEL,
    keys.INDEX_LABEL,
    keys.NAME_LABEL,
    "seatrial.dev/upgrade-priority",
    jobs.MAX_EXEC_TIME,
)


def record(draw: Draw) -> str:
    """A record of ours on a node, forged: sound but for one field."""
    said: Object = {
        "schema": 2,
        "phase": draw.of(
            "upgrade-required", "drain-required", "pod-restart-required", "upgrade-done", "upgrade-failed"
        ),
        "attempt": 1,
        "enteredAt": "2026-11-18T20:00:00Z",
        "cordon": "ours",
        "before": {"resources": {"nvidia.com/gpu": 8}},
        "marks": {"karpenter.sh/do-not-disrupt": "2026-11-18T20:00:00Z"},
        "taken": {"why": "idle", "waitingGpuHours": 1.0},
    }
    field = draw.chance.choice(sorted(said))
    match field:
        case "enteredAt":
            said[field] = draw.of(*DATES)
        case "marks":
            said[field] = {"karpenter.sh/do-not-disrupt": draw.of(*DATES)}
        case _:
            said[field] = draw.of(*NUMBERS, *WORDS, None, [], {}, "x" * 5000)
    if draw.chance.random() < 0.3:
        said[draw.of("closedAt", "returnedAt")] = draw.of(*DATES)
    return json.dumps(said)


def nested(draw: Draw) -> str:
    """JSON of the greatest depth: a reader that descends runs out of stack."""
    depth: int = draw.of(200, 1001, 20_000, 100_000)
    opens, closes = draw.chance.choice((("[", "]"), ('{"a":', "}")))
    text = opens * depth + "0" + closes * depth
    return text if len(text) < ANNOTATION_MAX else text[:ANNOTATION_MAX]


def pumped(draw: Draw) -> str:
    """A string that a pattern may match in very many ways, and does not in the end."""
    head, middle, tail = draw.of(*PUMPS)
    return f"{head}{middle * draw.of(*PUMPED)}{tail}"


def name_at_limit(draw: Draw, head: str) -> str:
    """A name that the API server takes, of the most difficult sort."""
    length: int = draw.of(63, 253)
    middle = draw.chance.choice(("-22222222", "-11111", "-bcdfg", ".a", "-0", "a", "-x.y", "-deadbeef00"))
    tail = draw.chance.choice(("", "x", ".x", "u"))
    return (head + middle * length)[: length - len(tail)].rstrip("-.") + tail


# ── where ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\dT")
_LABEL_LIKE: Final = frozenset({"labels", "matchLabels", "nodeSelector", "selector"})
_ENUMS: Final = frozenset(
    {"phase", "status", "type", "reason", "state", "operator", "verdict", "mode", "order", "via", "growth", "kind"}
    | {"onDelete", "format", "installPlanApproval", "approval", "updateStrategy", "restartPolicy", "action", "entry"}
)


def _is_kept(path: Path) -> bool:
    """Whether it stays as it is: without it nothing is written at all."""
    return path[:1] in ((), ("apiVersion",), ("kind",)) or path in (
        ("metadata",),
        ("metadata", "name"),
        ("metadata", "namespace"),
    )


def _free(path: Path, _value: Any) -> bool:
    return not _is_kept(path)


def _is_text(path: Path, value: Any) -> bool:
    return isinstance(value, str) and not _is_kept(path)


def _is_list(path: Path, value: Any) -> bool:
    return isinstance(value, list) and bool(value) and not _is_kept(path)


def _is_number(_path: Path, value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_meta(*ends: str) -> Callable[[Path, Any], bool]:
    return lambda path, value: (
        len(path) >= 2 and path[-2] == "metadata" and path[-1] in ends and isinstance(value, dict)
    )


def _in(*names: str) -> Callable[[Path, Any], bool]:
    return lambda path, value: isinstance(value, str) and any(each in names for each in path) and not _is_kept(path)


def _is_uid(path: Path, value: Any) -> bool:
    return isinstance(value, str) and path[-1:] == ("uid",)


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _other_type(draw: Draw, _path: Path, value: Any) -> Any:
    return draw.chance.choice([each for each in OF_EACH_TYPE if type(each) is not type(value)])


def _number_like(draw: Draw, _path: Path, value: Any) -> Any:
    return draw.chance.choice([each for each in NUMBERS if isinstance(value, float) or isinstance(each, int)])


def _long(draw: Draw, path: Path, _value: Any) -> str:
    length: int = min(draw.of(*LONG), 63) if any(each in _LABEL_LIKE for each in path) else draw.of(*LONG)
    return draw.chance.choice(("x", "9", "é", "-", "A ")) * length


def _amid(*parts: str) -> Callable[[Draw, Path, Any], str]:
    def change(draw: Draw, _path: Path, value: Any) -> str:
        at = draw.chance.randint(0, len(value))
        return f"{value[:at]}{draw.chance.choice(parts)}{value[at:]}"

    return change


def _annotated(draw: Draw, _path: Path, value: Object) -> Object:
    said = draw.of(
        *("true", "false", "", "{}", "null", "[]", "{", "0", "-1", "1e999", "NaN"),
        *(draw.of(*DATES), draw.of(*SHELL), draw.of(*BIDI), pumped(draw), nested(draw), "x" * 60_000),
    )
    found = dict.fromkeys(draw.chance.sample(FORGED, draw.chance.randint(1, 4)), said)
    if keys.RECORD_ANNOTATION in found or draw.chance.random() < 0.3:
        found[keys.RECORD_ANNOTATION] = record(draw) if draw.chance.random() < 0.7 else said
    return {**value, **found}


def _labelled(draw: Draw, _path: Path, value: Object) -> Object:
    said = draw.of("true", "", "upgrade-required", "9" * 63, "9999999999", "-1", "a" + "-22222222" * 6, *draw.nodes)
    return {**value, **dict.fromkeys(draw.chance.sample(FORGED_LABELS, draw.chance.randint(1, 5)), said)}


def _deep(draw: Draw, _path: Path, value: Object) -> Object:
    return {**value, draw.of(keys.RECORD_ANNOTATION, "example.org/note", *FORGED): nested(draw)}


def _huge(draw: Draw, _path: Path, value: Object) -> Object:
    many = {f"example.org/{number}": "y" * 200 for number in range(1000)}
    one = {draw.of(*FORGED, "example.org/note"): draw.of("x", "é" * 4, '"', "\\u0000") * 30_000}
    return {**value, **draw.of(many, {key: text[:ANNOTATION_MAX] for key, text in one.items()})}


def _crowded(draw: Draw, _path: Path, value: Object) -> Object:
    return {
        **value,
        **{f"{draw.chance.choice(string.ascii_lowercase)}{number}.example.org/k": "v" for number in range(400)},
    }


def _same_owners(draw: Draw, _path: Path, value: Object) -> Object:
    uid = draw.of(*draw.uids, "", "00000000-0000-0000-0000-000000000000")
    kind, group = draw.of(
        ("Node", "v1"), ("Job", "batch/v1"), ("GPURollout", keys.API_VERSION), ("ReplicaSet", "apps/v1")
    )
    owner = {"apiVersion": group, "kind": kind, "name": draw.of("x", *draw.nodes), "uid": uid}
    return {**value, "ownerReferences": [dict(owner) for _ in range(draw.of(1, 2, 50))]}


RULES: Final = (
    Rule(name="other-type", fits=_free, change=_other_type),
    Rule(
        name="missing",
        fits=lambda path, value: _free(path, value) and isinstance(path[-1], str),
        change=lambda *_: Gone,
    ),
    Rule(name="null", fits=_free, change=lambda *_: None),
    Rule(
        name="empty",
        fits=lambda path, value: _free(path, value) and value,
        change=lambda _draw, _path, value: type(value)(),
    ),
    Rule(name="number", fits=_is_number, change=_number_like),
    Rule(
        name="date",
        fits=lambda path, value: _is_text(path, value) and _DATE.match(value) is not None,
        change=lambda draw, *_: draw.of(*DATES),
    ),
    Rule(
        name="quantity",
        fits=_in("limits", "requests", "allocatable", "capacity"),
        change=lambda draw, *_: draw.of(*QUANTITIES),
    ),
    Rule(
        name="version",
        fits=_in("image", "version", "driver", "target", "value"),
        change=lambda draw, *_: draw.of(*VERSIONS),
    ),
    Rule(name="long", fits=_is_text, change=_long),
    Rule(name="pumped", fits=_is_text, change=lambda draw, *_: pumped(draw)),
    Rule(name="control", fits=_is_text, change=_amid(*CONTROLS)),
    Rule(name="bidi", fits=_is_text, change=_amid(*BIDI)),
    Rule(name="shell", fits=_is_text, change=lambda draw, *_: draw.of(*SHELL)),
    Rule(name="word", fits=_in(*_ENUMS), change=lambda draw, *_: draw.of(*WORDS)),
    Rule(name="forged-notes", fits=_is_meta("annotations"), change=_annotated),
    Rule(name="forged-labels", fits=_is_meta("labels"), change=_labelled),
    Rule(name="deep", fits=_is_meta("annotations"), change=_deep),
    Rule(name="huge", fits=_is_meta("annotations"), change=_huge),
    Rule(name="crowded", fits=_is_meta("annotations", "labels"), change=_crowded),
    Rule(name="owners", fits=lambda path, _: path == ("metadata",), change=_same_owners),
    Rule(name="uid", fits=_is_uid, change=lambda draw, *_: draw.of(*draw.uids, "", "x" * 300)),
    Rule(name="twice", fits=_is_list, change=lambda _draw, _path, value: [*value, *copy.deepcopy(value)]),
    Rule(
        name="very-many",
        fits=_is_list,
        change=lambda draw, _path, value: [copy.deepcopy(value[0]) for _ in range(draw.of(100, 1000))],
    ),
    Rule(
        name="name",
        fits=lambda path, _: path == ("metadata", "name"),
        change=lambda draw, _path, value: name_at_limit(draw, value),
    ),
)
BY_NAME: Final = {rule.name: rule for rule in RULES}


# ── applying ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place of an object, itself first."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


def mutated(body: Object, draw: Draw, count: int, only: Sequence[str] = ()) -> tuple[Object, tuple[str, ...]]:
    """A copy of an object with so many rows applied to it, and which ones; `only` names those to draw from."""
    changed, applied = copy.deepcopy(body), []
    for _ in range(count):
        rules = [BY_NAME[name] for name in only] or list(RULES)
        rule = draw.chance.choice(rules)
        fitting = [(path, value) for path, value in places(changed) if rule.fits(path, value)]
        if not fitting:
            continue
        path, value = draw.chance.choice(fitting)
        _put(changed, path, rule.change(draw, path, value))
        applied.append(f"{rule.name} at {'.'.join(map(str, path))}")
    return changed, tuple(applied)


def _put(body: Any, path: Path, value: Any) -> None:
    for key in path[:-1]:
        body = body[key]
    if value is Gone:
        del body[path[-1]]
    else:
        body[path[-1]] = value
