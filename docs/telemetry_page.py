"""The page about what is watched through Prometheus, from the two tables; written by docs/generate.py."""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.adapters.prometheus import dcgm, labels, looking
from seatrial.core.model.gates.signals import HELD_BACK, SIGNALS, Better, Kind

KINDS = {
    Kind.GAUGE: "its value counts",
    Kind.COUNTER: "its rise counts, from the samples themselves; a fall is a restart and counts from nought",
    Kind.CODE: "the last code that was told: that it changes counts",
    Kind.FLAGS: "a number whose bits each say something",
}
BETTER = {Better.HIGHER: "higher", Better.LOWER: "lower", Better.NEITHER: "–"}


def text() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# What is watched through Prometheus"
    yield ""
    yield (
        "Every signal, and the metric of DCGM exporter that tells it. How to connect a Prometheus, "
        "and why a signal may be"
    )
    yield "unknown: [watch with Prometheus](../how-to/watch-with-prometheus.md)."
    yield ""
    yield "| Signal | Metric | Unit | Kind | Better | By default | Meaning, and what to know |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for metric in dcgm.METRICS:
        signal = SIGNALS[metric.signal]
        told = " or ".join(f"`{name}`" for name in metric.names)
        usual = "yes" if metric.is_usual else "no"
        said = f"{signal.meaning}; {metric.note}" if metric.note else signal.meaning
        yield (
            f"| `{signal.name}` | {told} | {signal.unit or '–'} | {signal.kind.value} | {BETTER[signal.better]} "
            f"| {usual} | {said} |"
        )
    yield ""
    yield "*By default* is whether DCGM exporter 4.8 tells it where nobody gave it a list of their own."
    yield ""
    yield "| Kind | How it is read |"
    yield "| --- | --- |"
    yield from (f"| {kind.value} | {KINDS[kind]} |" for kind in Kind)
    yield ""
    bits = ", ".join(f"{bit:#x} `{word}`" for bit, word in HELD_BACK.items())
    yield f"The bits of `held-back`: {bits}."
    yield ""
    yield "## Labels"
    yield ""
    listed = ", ".join(f"`{label}`" for label in labels.NODE_LABELS)
    yield f"A node is found by its name in {listed}, each also with `{labels.EXPORTED}` before it;"
    listed = ", ".join(f"`{label}`" for label in labels.GPU_LABELS)
    yield f"a GPU by {listed}; a MIG slice by `{labels.SLICE}`, and is then a GPU of its own."
    yield ""
    yield "## Limits"
    yield ""
    yield "| What | Limit |"
    yield "| --- | --- |"
    yield f"| a gap: later than the sample before by | {looking.GAP_INTERVALS:g} scrape intervals |"
    yield f"| its clock and ours differ by | {looking.SKEW_SECONDS_MAX:g} s |"
    yield f"| samples of one look | {looking.POINTS_MAX:,} |"
    yield f"| a GPU is missed after it was last told of, for | {looking.BEFORE_SECONDS / 60:g} min |"
