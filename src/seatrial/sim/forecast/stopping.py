"""Why a forecast rollout comes to a stand, and what to do about it: by its cause, in words.

Law of this file: a cause is what the live engine would hold nodes by (core/budget/capacity.py), never a guess. What
others cordoned is named, since it is theirs to undo. Tests: tests/sim/test_forecast_advice.py
"""

from __future__ import annotations

from collections.abc import Sequence

from seatrial.core.base.values import dataclass
from seatrial.core.budget.capacity import Why
from seatrial.core.holds import HoldCode
from seatrial.core.text.names import a_few, number_of
from seatrial.core.words.explain import FAILURES


@dataclass(frozen=True, slots=True, kw_only=True)
class Outset:
    """How a fleet stands before anybody moves, as far as it can stop a rollout."""

    moving_count: int
    """How many nodes would be moved."""
    cordoned: tuple[str, ...] = ()
    """By others."""
    not_ready: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """They stay cordoned until they work."""
    left_out: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Who cannot be moved, by the code of the hold."""
    failed_max: int = 1
    is_under_way: bool = False
    """Whether the rollout has begun."""

    @property
    def gone_count(self) -> int:
        return len({*self.cordoned, *self.not_ready, *self.failed})


def why(stop: Why, outset: Outset, failure: str = "") -> str:
    """What a rollout stops by, as a sentence without its full stop; `failure` is why most nodes fail that do."""
    reason = f" ({FAILURES.get(failure, failure).partition(';')[0]})" if failure else ""
    of = f" of {stop.scope}" if stop.scope else ""
    match stop.code:
        case HoldCode.FAILURE_BUDGET:
            return f"More nodes fail than maxFailed {outset.failed_max} allows{reason}"
        case HoldCode.UNAVAILABLE_LIMIT if outset.gone_count:
            besides = f"; so does every node that fails{reason}" if failure else ""
            return f"{_gone(outset)}, and that uses up maxUnavailable{of}{besides}"
        case HoldCode.UNAVAILABLE_LIMIT:
            return f"A node that fails stays cordoned, and that uses up maxUnavailable{of}{reason}"
        case HoldCode.UNIT_UNFIT:
            return f"The nodes{of} move together or not at all, and one of them cannot be moved"
        case HoldCode.UNIT_TOO_LARGE:
            return f"{stop.size} nodes move together or not at all, and the limits{of} are smaller"
        case HoldCode.NO_CANARY:
            return (
                "Too few nodes will do as canaries: Ready, not cordoned, not marked skip, with a driver that is Ready"
            )
        case HoldCode.CANARY_CLOSED:
            return "Canaries stay closed until their gates have passed, and the limits let in fewer than there are"
        case HoldCode.FAILED:
            return f"The canary fails, and the rollout is undone{reason}"
        case HoldCode.OUTSIDE_WINDOW:
            return "The windows of the next two weeks end before every node has started"
        case _:
            return f"Nodes under way do not finish, and use up maxParallelUpgrades{of}"


def what_next(stop: Why, outset: Outset, failure: str = "") -> str:
    """What somebody can do about it, in whole sentences."""
    match stop.code:
        case HoldCode.FAILURE_BUDGET:
            return "Find out why they fail; then allow retries, or raise maxFailed."
        case HoldCode.UNAVAILABLE_LIMIT if outset.gone_count:
            cures = [f"uncordon {_it(outset.cordoned)}"] if outset.cordoned else []
            cures += [f"make {_it(outset.not_ready)} Ready"] if outset.not_ready else []
            cures += [f"fix {_it(outset.failed)}"] if outset.failed else []
            gone = tuple(dict.fromkeys((*outset.cordoned, *outset.not_ready, *outset.failed)))
            cures.append(f"take {_it(gone)} out of the rollout by its nodeSelector")
            # Nodes that fail use the limit up as well, and how many will is not known.
            least = "raise maxUnavailable" if failure else f"allow maxUnavailable {outset.gone_count + 1} or more"
            cures.append("raise that limit" if stop.scope else least)
            return f"{_either(cures)}. To mark a node skip does not help: it counts as unavailable all the same."
        case HoldCode.UNAVAILABLE_LIMIT:
            return "Find out why they fail; then allow retries, or raise maxUnavailable."
        case HoldCode.UNIT_UNFIT:
            return "`seatrial node get` shows who cannot be moved, `seatrial why NODE` what it needs."
        case HoldCode.UNIT_TOO_LARGE:
            return f"Allow {stop.size} at a time and {stop.size} unavailable."
        case HoldCode.NO_CANARY:
            return "Make one so, or name others in spec.canary."
        case HoldCode.CANARY_CLOSED:
            return f"Allow {stop.size} at a time and {stop.size} unavailable, or take fewer canaries."
        case HoldCode.FAILED:
            return "Find out why it fails; then allow retries."
        case HoldCode.OUTSIDE_WINDOW:
            return "Widen the windows, or let more nodes start at a time."
        case _:
            return "`seatrial node get` shows who is under way, `seatrial why NODE` what it waits for."


def why_nothing_moves(outset: Outset) -> str:
    """Why no node would be moved at all, in a sentence."""
    held = "; ".join(f"{number_of(len(names), 'node')} by {code} ({a_few(names)})" for code, names in outset.left_out)
    return f"Held are {held}. `seatrial why NODE` says what each needs." if held else "Every node is done."


def _gone(outset: Outset) -> str:
    parts = [_are(outset.cordoned, "cordoned by somebody else")] if outset.cordoned else []
    parts += [_are(outset.not_ready, "not Ready")] if outset.not_ready else []
    parts += (
        [_are(outset.failed, "cordoned after it failed" if len(outset.failed) == 1 else "cordoned after they failed")]
        if outset.failed
        else []
    )
    return " and ".join(parts)


def _are(names: Sequence[str], what: str) -> str:
    return f"{names[0]} is {what}" if len(names) == 1 else f"{len(names)} nodes are {what} ({a_few(names)})"


def _it(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "them"


def _either(cures: Sequence[str]) -> str:
    told = f"{', '.join(cures[:-1])}, or {cures[-1]}" if len(cures) > 1 else cures[0]
    return told[0].upper() + told[1:]
