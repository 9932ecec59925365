"""The SR-IOV operator as a neighbour: what it says on a node while it changes the NICs there, and what it does then.

    Idle              nothing
    Drain_Required    it is about to empty the node
    Reboot_Required   and to reboot it as well
    Draining          it has cordoned the node and moves its pods away
    DrainComplete     the node is empty, and its NICs are being set up
    Idle again        it has uncordoned the node

Law of this file: one table, read by whoever decides, and played by World and by the testbed. A word that is not in it
counts as work: a later release may know more of them. Tests: tests/core/model/test_sriov.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass

STATE_ANNOTATION: Final = "sriovnetwork.openshift.io/state"
"""On a node: what its config daemon wants, and how far the drain is."""
ANNOTATIONS: Final = (
    STATE_ANNOTATION,
    "sriovnetwork.openshift.io/desired-state",
    "sriovnetwork.openshift.io/current-state",
)
"""Where it says so; later releases have the last two on their own object, and on the node as well."""
IDLE: Final = "Idle"


class Deed(StrEnum):
    """What it does to a node when it says so."""

    CORDON = "cordon"
    DRAIN = "drain"
    UNCORDON = "uncordon"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One of its states: what it means for people, and what it does on entering it."""

    state: str
    means: str
    deeds: tuple[Deed, ...] = ()


COURSE: Final = (
    Stage(state="Drain_Required", means="it is about to drain the node"),
    Stage(state="Draining", means="it drains the node", deeds=(Deed.CORDON, Deed.DRAIN)),
    Stage(state="DrainComplete", means="it sets up the NICs of the node"),
    Stage(state=IDLE, means="it has nothing to do there", deeds=(Deed.UNCORDON,)),
)
"""A change of the NICs from its beginning to its end."""
REBOOT: Final = Stage(state="Reboot_Required", means="it is about to drain and reboot the node")
"""How one begins that needs a reboot."""
_MEANS: Final = {stage.state: stage.means for stage in (*COURSE, REBOOT)}


def at_work(annotations: Mapping[str, str]) -> str:
    """The state of a node in which it is at work there, or is about to be; empty where it is not."""
    said = (annotations.get(key, "") for key in ANNOTATIONS)
    return next((state for state in said if state and state != IDLE), "")


def means(state: str) -> str:
    """What a state means, for people."""
    return _MEANS.get(state, "it is at work on the node")


def after(state: str) -> Stage | None:
    """What follows a state on its course; the first where it is idle, nothing after a word nobody knows."""
    states = [stage.state for stage in COURSE]
    if not state:
        return COURSE[0]
    known = COURSE[0].state if state == REBOOT.state else state
    place = states.index(known) + 1 if known in states else len(states)
    return COURSE[place] if place < len(states) else None
