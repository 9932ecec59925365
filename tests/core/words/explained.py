"""What the sentence of a hold needs, whether the hold says it, and the whole answer as one text."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Final

from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.instants import Instant
from seatrial.core.words.explain import EXPLANATIONS, next_step, times, why

MADE_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "subject": (),
    "idle_text": ("idle",),
    "evicted_text": (),
    "cure": (),
    "again_step": (),
    "why_text": (),
    "reason_text": (),
    "trouble_text": (),
    "setback_text": (),
    "silent_text": (),
    "by_text": (),
    "scope_text": (),
    "gpus_text": (),
    "closed_text": (),
    "namespace_text": (),
    "job_step": (),
    "otherwise_step": (),
    "undo_step": (),
    "pods_text": ("count", "pod"),
    "point_text": ("point",),
    "carrier_text": ("resource",),
    "publish_step": ("via", "version", "resource"),
    "resume_step": ("pool",),
    "hand_step": ("component", "version", "names"),
    "back_step": ("component", "before", "names"),
}
"""Gaps that explain.py fills, each with the parameters that it cannot do without. Any other gap is a parameter."""


def needs(code: HoldCode) -> frozenset[str]:
    """The parameters without which the sentences of a hold have a hole."""
    said = EXPLANATIONS[code]
    gaps = {gap for text in (said.why, said.next_step) for _, gap, _, _ in Formatter().parse(text) if gap}
    return frozenset(name for gap in gaps for name in MADE_OF.get(gap, (gap,)))


def unsaid(held: Hold) -> tuple[str, ...]:
    """What the sentences of this hold need and it does not say; a bug of what made it."""
    return tuple(sorted(needs(held.code) - dict(held.params).keys()))


def sentence(held: Hold, now: Instant) -> str:
    """The whole answer: who, why, how long yet, and what next."""
    return f"{held.subject}: {why(held)}{times(held, now)}. {next_step(held)}"
