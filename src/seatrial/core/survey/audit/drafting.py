"""The matrix of what runs: one entry from what was observed, for people to look over and commit.

Law of this file: what was seen is written with its key, so that an audit against it finds no drift; what differs
between nodes, what OpenShift or the GPU Operator brings, what nobody can say and what a matrix has no key for are
comments beside it. Tests: tests/cli/test_init_from_cluster.py
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

from seatrial.core.compat.matrix import COMPONENTS, Component
from seatrial.core.survey.audit.comparing import groups_of
from seatrial.core.survey.audit.observing import ONCE, UNKNOWN, NodeStack, Observed
from seatrial.core.survey.audit.readings import Cause, NotObservable, NotRunning, Reading, Seen
from seatrial.core.survey.audit.settings import told
from seatrial.core.text.names import a_few, number_of

BROUGHT: Final = frozenset({Component.KUBERNETES, Component.KERNEL, Component.OS, Component.CRI_O})
"""What comes with OpenShift, and cannot be chosen beside it."""
INDENT: Final = "    "
ALL: Final = 60


def draft(observed: Observed, on: date) -> str:
    """The text of a matrix with one entry: the kind of node that there is most of."""
    groups = sorted(groups_of(observed.nodes).values(), key=len, reverse=True)
    nodes = groups[0] if groups else ()
    lines = [*_head(observed, on), "", "versions:", "  current:"]
    lines += [line for part in COMPONENTS for line in _component(observed, nodes, part)]
    lines += [*_hardware(observed, nodes), f'{INDENT}status: "production"', "", *_besides(observed, groups[1:], nodes)]
    return "\n".join(lines).rstrip() + "\n"


def _head(observed: Observed, on: date) -> Iterator[str]:
    yield "# yaml-language-server: $schema=matrix.schema.json"
    yield "#"
    yield f"# What ran on {on}, read from the cluster: {number_of(len(observed.nodes), 'node')} with GPUs."
    yield "# Look it over, run `seatrial check`, commit; `seatrial audit --file` then compares the cluster with it."


# ── components ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _component(observed: Observed, nodes: Sequence[NodeStack], part: Component) -> Iterator[str]:
    readings = [("", observed.cluster[part])] if part in ONCE else [(each.name, each.readings[part]) for each in nodes]
    shown = [(name, each) for name, each in readings if isinstance(each, Seen)]
    if not shown:
        yield from _unseen(part, [each for _, each in readings])
        return
    (text, _), *others = Counter(each.text for _, each in shown).most_common()
    written = f"{part.value}: {json.dumps(text)}"
    if isinstance(observed.cluster[Component.OPENSHIFT], Seen) and part in BROUGHT:
        yield f"{INDENT}# {written} comes with OpenShift"
        return
    if part is Component.VALIDATOR:  # named in a matrix, it would stay behind when the operator's release moves
        yield f"{INDENT}# {written} comes with the GPU Operator"
        return
    if any(each.more for _, each in shown if each.text == text):
        yield f"{INDENT}# {part.value} has several versions on one node: {text}"
        return
    yield f"{INDENT}{written}{_others(shown, [each for each, _ in others])}"


def _others(shown: Sequence[tuple[str, Seen]], texts: Sequence[str]) -> str:
    told_of = [f"{text} on {a_few(name for name, each in shown if each.text == text)}" for text in texts]
    return f" # and {'; '.join(told_of)}" if told_of else ""


def _unseen(part: Component, readings: Sequence[Reading]) -> Iterator[str]:
    """Somebody may have it, and nobody may look."""
    missing = dict.fromkeys(
        each.missing for each in readings if isinstance(each, NotObservable) and each.cause is not Cause.NATURE
    )
    if missing:
        yield f"{INDENT}# {part.value}: not observable: {a_few(missing, 2)}"
    down = dict.fromkeys(f"{each.brings}: {each.why}" for each in readings if isinstance(each, NotRunning))
    if down:
        yield f"{INDENT}# {part.value}: not running: {a_few(down, 2)}"


def _hardware(observed: Observed, nodes: Sequence[NodeStack]) -> Iterator[str]:
    product = nodes[0].like.product if nodes else UNKNOWN
    said = {"product": "" if product == UNKNOWN else product, "kernel_module": observed.modules}
    written = [f"{INDENT}  {key}: {json.dumps(text)}" for key, text in said.items() if text]
    if written:
        yield f"{INDENT}hardware:"
        yield from written


# ── what has no key ──────────────────────────────────────────────────────────────────────────────────────────────────


def _besides(observed: Observed, others: Sequence[Sequence[NodeStack]], nodes: Sequence[NodeStack]) -> Iterator[str]:
    hidden = [part.value for part in COMPONENTS if nodes and _is_hidden(observed, nodes, part)]
    if hidden:
        yield f"  # No object of the cluster shows these; add those you know: {a_few(hidden, ALL)}."
    for group in others:
        differing = [f"{part.value} {text}" for part, text in _differing(group, nodes)]
        stack = f"; there {', '.join(differing)}" if differing else ", with the same versions"
        yield f"  # {number_of(len(group), 'node')} with {group[0].like} ({a_few(each.name for each in group)}){stack}."
    yield from (f"  # {told(each)}." for each in observed.objects.subscriptions)
    yield from (
        f"  # MachineConfigPool {pool.name}: {number_of(pool.machine_count, 'node')}"
        f"{', paused' if pool.is_paused else ''}."
        for pool in observed.objects.pools
        if pool.machine_count
    )


def _is_hidden(observed: Observed, nodes: Sequence[NodeStack], part: Component) -> bool:
    readings = [observed.reading(each, part) for each in nodes]
    return all(isinstance(each, NotObservable) and each.cause is Cause.NATURE for each in readings)


def _differing(group: Sequence[NodeStack], nodes: Sequence[NodeStack]) -> Iterator[tuple[Component, str]]:
    for part, reading in group[0].readings.items():
        other = nodes[0].readings[part]
        if isinstance(reading, Seen) and not (isinstance(other, Seen) and other.text == reading.text):
            yield part, reading.text
