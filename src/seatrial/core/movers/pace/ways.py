"""What NVIDIA's upgrade controller watches, release by release, and so how it can be woken without writing a state.

                 it looks anew when …                        so we …
    ≤ v25.10     any label of any node changes               flip the skip label of one node
    v26.3        its own state label changes                 cannot, unless asked to remove the state of a done node
    v26.7 on     its state label or the skip label changes   flip the skip label of one node

To flip is to put the skip label where there is none, or to take it away again; each of the two is one wake. The label
skips a node when its value is exactly `true`; ours has a value that nobody else writes. So a trace of ours is known by
its value alone, whoever left it and however they died, and a person's `true` or `false` is never taken for one.

Tests: tests/core/movers/test_pace.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.compat.versions import OperatorVersion

WAKE_LABEL: Final = "nvidia.com/gpu-driver-upgrade.skip"
WAKE_VALUE: Final = "false.seatrial-pace"
"""Begins with what it means to its controller and to people; the rest says whose it is."""
STATE_LABEL: Final = "nvidia.com/gpu-driver-upgrade-state"
"""Its controller's own; read, and with Way.RESET taken from a done node, never written."""


class Watched(StrEnum):
    """Which changes of a node its controller looks at."""

    ANY_LABEL = "any label"
    STATE_LABEL = "its state label"
    STATE_OR_SKIP_LABEL = "its state label and the skip label"


class Way(StrEnum):
    """How it is woken."""

    FLIP = "flip"
    """The skip label of one node, there and back."""
    RESET = "reset"
    """The state label of a done node is taken away; its controller writes it again. Only when asked for."""
    NONE = "none"
    """It hears nothing that we may do."""


WATCHED_SINCE: Final[tuple[tuple[str, Watched], ...]] = (
    ("v26.7.0", Watched.STATE_OR_SKIP_LABEL),
    ("v26.3.0", Watched.STATE_LABEL),
)
"""The first release of each habit, newest first; before the last of them it was ANY_LABEL."""

_RELEASE: Final = re.compile(
    r"(?<![0-9])(?<![0-9]\.)v?[0-9]{2}\.[0-9]{1,2}\.[0-9]+(?:-(?:rc|alpha|beta)\.?[0-9]+)?(?![0-9.])"
)


def release_in(texts: Iterable[str]) -> OperatorVersion | None:
    """The first release of the GPU Operator that these image tags and labels name; None when none does."""
    for text in texts:
        found = _RELEASE.search(text.rsplit("/", 1)[-1])
        if found is not None:
            return OperatorVersion.parse(found[0])
    return None


def watched_by(release: OperatorVersion) -> Watched:
    """Which changes of a node this release looks at."""
    for since, watched in WATCHED_SINCE:
        if release >= OperatorVersion.parse(since):
            return watched
    return Watched.ANY_LABEL


def way_of(release: OperatorVersion | None, *, may_reset: bool) -> Way:
    """How to wake this release; one that is not known is taken to hear the skip label, as all but v26.3 do."""
    if release is None or watched_by(release) is not Watched.STATE_LABEL:
        return Way.FLIP
    return Way.RESET if may_reset else Way.NONE


def is_trace(labels: Mapping[str, str]) -> bool:
    """Whether a wake of ours stands on a node with these labels."""
    return labels.get(WAKE_LABEL) == WAKE_VALUE
