"""What a voice claims: about what, of which node, and which value; and the words it took for it.

Law of this file: two voices that make the same claim of the same subject at one moment have to give the same value. A
voice that does not speak of something makes no claim.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import RolloutPhase


class Claim(StrEnum):
    """What can be claimed."""

    TARGET = "the target"
    PHASE = "the phase of the campaign"
    STATE = "the state in one word"
    OVER = "whether it is over"
    GREEN = "whether it ended with nothing left to look after"
    PERSON = "whether it waits for a person"
    CAUSE = "the first reason to wait"
    DONE = "how many nodes are done"
    TOTAL = "how many nodes there are"
    FAILED = "how many nodes failed"
    FAILED_NAMES = "which nodes failed"
    LEFT_OUT = "which nodes are left out"
    STATES = "how many nodes are in which state"
    NODE_STATE = "the state of a node"
    NODE_DRIVER = "the driver of a node, and whether it is Ready"
    NODE_WAITS = "why a node waits"
    LEADS = "whether a controller leads"
    WAVE = "the wave"
    CANARIES = "the canaries"
    MODE = "what moves the nodes"
    BAKED = "how many hours it has baked"
    LOST = "how many GPU-hours it has cost"
    LEFT = "how long it takes yet"
    LEFT_KNOWN = "whether it can be said how long it takes yet"
    EXIT = "the exit code"
    GATE_FAILED = "whether a gate has failed"
    ASKED = "whether a gate was asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One claim of one voice."""

    voice: str
    claim: Claim
    value: Hashable
    of: str = ""
    """The node, where it is about one."""
    words: str = ""
    """Where it stands, for whoever reads a failure."""

    def __str__(self) -> str:
        return f"{self.voice}: {self.value!r}{f'   [{self.words.strip()}]' if self.words else ''}"


PHASES: Final = frozenset(phase.value for phase in RolloutPhase)
OVER: Final = frozenset({RolloutPhase.DONE.value, RolloutPhase.REVERTED.value, "done", "reverted"})
CODES: Final = {"".join(part[:1].upper() + part[1:] for part in code.value.split("-")): code.value for code in HoldCode}
"""By the reason that a condition makes of a code."""
