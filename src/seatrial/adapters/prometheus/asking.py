"""A query of somebody's own: the name of a node put into it, and what is answered read as figures. No I/O.

    max by (UUID) (errors{node="$node"})       the name, as it is
    up{instance=~"$node:.*"}                   the name, as a pattern that means nothing else

Law of this file: a name gets into quoted texts only, and cannot end one. An answer of no series, or of one that is no
number, is told as a figure that was not measured. Every series counts, whatever its labels say: whoever wrote the query
chose them. Tests: tests/adapters/prometheus/test_asking.py
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

from seatrial.adapters.prometheus import labels as labelling
from seatrial.adapters.prometheus.answers import BLANKS, Labels, Sample
from seatrial.adapters.prometheus.errors import PrometheusRefused, PrometheusTooMuch
from seatrial.core.model.gates.figures import Figure, Unmeasured
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.instants import Instant

NODE: Final = "$node"
SERIES_MAX: Final = 512
"""So many series are held to a limit; a node has fewer GPUs and links than that."""
_TEXT: Final = re.compile(
    r"""(?P<pattern>[=!]~\s*)?(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)|\#[^\n]*""", re.DOTALL
)
_SPECIAL: Final = re.compile(r"[.+*?()|\[\]{}^$\\]")


def put_in(query: str, node: str) -> str:
    """The query about one node; refused where the name would not stand in a quoted text."""
    bare = _TEXT.sub("", query)
    if NODE in bare:
        raise PrometheusRefused(f'{NODE} stands outside of a quoted text; write it as {{node="{NODE}"}}')
    return _TEXT.sub(lambda found: _filled(found, node), query)


def _filled(found: re.Match[str], node: str) -> str:
    text = found["text"]
    if text is None or NODE not in text:
        return found.group()
    name = _SPECIAL.sub(r"\\\g<0>", node) if found["pattern"] else node
    if text[0] == "`":  # nothing can be escaped there
        if "`" in name:
            raise PrometheusRefused(f"the name {node!r} cannot stand between backticks; use quotes")
    else:
        name = name.replace("\\", "\\\\").replace(text[0], f"\\{text[0]}").replace("\n", "\\n")
    return f"{found['pattern'] or ''}{text.replace(NODE, name)}"


def figures_of(gate: Gate, node: str, samples: tuple[Sample, ...], at: Instant) -> tuple[Figure | Unmeasured, ...]:
    """What was answered, each series a figure under the gate's name."""
    if len(samples) > SERIES_MAX:
        raise PrometheusTooMuch(f"it answers with {len(samples)} series, and {SERIES_MAX} are taken: sum them up")
    if not samples:
        why = "there is no series: nothing reports it, or no longer, or the query looks elsewhere"
        return (Unmeasured(name=gate.name, node=node, why=why),)
    return tuple(_figures(gate, node, samples, at))


def _figures(gate: Gate, node: str, samples: tuple[Sample, ...], at: Instant) -> Iterator[Figure | Unmeasured]:
    unit = gate.prometheus.unit if gate.prometheus is not None else ""
    for each in samples:
        gpu = gpu_of(each.labels)
        if not math.isfinite(each.value) or each.value in BLANKS:
            yield Unmeasured(name=gate.name, node=node, gpu=gpu, why=f"it is answered with {each.value}, no number")
        else:
            yield Figure(name=gate.name, value=each.value, unit=unit, node=node, gpu=gpu, at=at)


def gpu_of(labels: Labels) -> str:
    """The GPU that a series is of; empty where its labels name none."""
    found = labelling.gpu_of(labels)
    index = labels.get(labelling.INDEX, "")
    return found or (f"index {index}" if index else "")
