"""How many nodes start: NVIDIA's slot arithmetic by example, beside ours.

Twenty-two small fleets, A to V. `theirs` is how many nodes NVIDIA's controller starts in one pass over that fleet;
`ours` is how many we let into the ledger in one pass. Where the two differ there is a reason, and the line of
docs/deviations.md it stands on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_uppercase
from typing import NamedTuple, TypeAlias

import pytest

from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.decision.decide import decide
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import PolicyWish, Share, policy_of
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.node.phases import NOT_STARTED
from tests.builders import NOW, TARGET, a_ledger, a_node, a_snapshot, a_starting_driver, a_well_node
from tests.core.node.deviations import documented

Kind: TypeAlias = Callable[[str], NodeSeen]
Fleet: TypeAlias = tuple[tuple[int, Kind], ...]
"""How many of which kind; they get their names, and with them their turn, in this order."""


# ── kinds of nodes ───────────────────────────────────────────────────────────────────────────────────────────────────


def pending(name: str) -> NodeSeen:
    return a_node(name, NodePhase.UPGRADE_REQUIRED)


def pending_cordoned(name: str) -> NodeSeen:
    return a_node(name, NodePhase.UPGRADE_REQUIRED, is_cordoned=True)


def pending_skipped(name: str) -> NodeSeen:
    return a_node(name, NodePhase.UPGRADE_REQUIRED, is_skipped=True)


def pending_not_ready(name: str) -> NodeSeen:
    return a_node(name, NodePhase.UPGRADE_REQUIRED, is_ready=False)


def done(name: str) -> NodeSeen:
    return a_well_node(name, NodePhase.UPGRADE_DONE)


def done_cordoned(name: str) -> NodeSeen:
    return a_well_node(name, NodePhase.UPGRADE_DONE, is_cordoned=True)


def done_not_ready(name: str) -> NodeSeen:
    return a_well_node(name, NodePhase.UPGRADE_DONE, is_ready=False)


def failed(name: str) -> NodeSeen:
    return a_node(
        name,
        NodePhase.UPGRADE_FAILED,
        is_cordon_ours=True,
        driver=a_starting_driver(name),
        record={"failed_revision": "new", "reason": "driver-timeout"},
    )


def cordoning(name: str) -> NodeSeen:
    return a_node(name, NodePhase.CORDON_REQUIRED)


def cordoning_cordoned(name: str) -> NodeSeen:
    return a_node(name, NodePhase.CORDON_REQUIRED, is_cordoned=True)


def restarting(name: str) -> NodeSeen:
    return a_node(name, NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True)


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Otherwise:
    """Why we let in another number than NVIDIA's controller starts, and the documented line it stands on."""

    why: str
    line: str


class Example(NamedTuple):
    """One fleet, its limits, and how many of it start."""

    letter: str
    fleet: Fleet
    parallel_max: int
    unavailable_max: int | str | None
    theirs: int
    ours: int
    otherwise: Otherwise | None = None


ORDER_DECIDES = Otherwise(
    why="a cordoned node takes no room from the others, wherever it stands in the order",
    line="A cordoned node that starts while there is room takes room from the others, so the order of the list decides "
    "how many start.",
)
FAILED_HOLDS_NO_SLOT = Otherwise(
    why="one failure may be, and a failed node holds no slot",
    line="A failed node holds a parallel slot for ever. With the default of one, the fleet stops; with more, it rolls "
    "on past any number of failures.",
)
QUARTER_BY_DEFAULT = Otherwise(
    why="what nobody says is the default of both resources",
    line="No `maxUnavailable` in a ClusterPolicy means no limit; in an NVIDIADriver, 25%.",
)
COUNTED_ONCE = Otherwise(
    why="the node in cordon-required is unavailable once, so there is room for another",
    line="A cordon in place and a node in `cordon-required` are counted twice.",
)
NO_BYPASS = Otherwise(
    why="cordoned nodes wait for a slot like all others",
    line="Nodes that are cordoned already start regardless of both limits. Five cordoned nodes with a limit of one "
    "start at once.",
)


EXAMPLES = (
    # letter, fleet, parallel, unavailable, theirs, ours
    Example("A", ((8, pending),), 1, "25%", 1, 1),
    Example("B", ((10, pending),), 0, "25%", 3, 3),
    Example("C", ((10, pending),), 5, "25%", 3, 3),
    Example("D", ((1, pending),), 1, "25%", 1, 1),
    Example("E", ((3, pending), (2, pending_cordoned)), 0, "50%", 3, 3),
    Example("F", ((2, pending_cordoned), (3, pending)), 0, "50%", 2, 3, ORDER_DECIDES),
    Example("G", ((3, pending), (2, done_cordoned)), 0, "50%", 1, 1),
    Example("H", ((3, pending), (1, done_cordoned)), 1, "25%", 0, 0),
    Example("I", ((3, pending), (1, done_not_ready)), 1, "25%", 0, 0),
    Example("J", ((9, pending), (1, failed)), 1, "25%", 0, 1, FAILED_HOLDS_NO_SLOT),
    Example("K", ((9, pending), (1, failed)), 4, "25%", 2, 2),
    Example("L", ((4, pending),), 1, 0, 0, 0),
    Example("L", ((4, pending),), 1, "0%", 0, 0),
    Example("M", ((4, pending),), 0, None, 4, 1, QUARTER_BY_DEFAULT),
    Example("N", ((2, pending), (2, pending_cordoned)), 0, 8, 4, 4),
    Example("O", ((2, pending), (3, cordoning)), 4, 4, 1, 1),
    Example("P", ((3, pending), (1, cordoning_cordoned), (4, done)), 2, "25%", 0, 1, COUNTED_ONCE),
    Example("Q", ((7, pending), (3, restarting)), 1, "50%", 0, 0),
    Example("R", ((2, pending_skipped), (3, pending)), 2, "100%", 2, 2),
    Example("S", ((5, pending_cordoned),), 1, 1, 5, 1, NO_BYPASS),
    Example("T", ((3, pending),), 3, "25%", 1, 1),
    Example("U", ((80, pending), (20, done_not_ready)), 0, "25%", 5, 5),
    Example("V", ((2, pending), (2, done_cordoned)), 0, "100%", 2, 2),
)


# ── the test ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def nodes_of(fleet: Fleet) -> list[NodeSeen]:
    kinds = [kind for count, kind in fleet for _ in range(count)]
    return [kind(f"n{number:03}") for number, kind in enumerate(kinds, start=1)]


def intent_of(example: Example) -> Intent:
    share = None if example.unavailable_max is None else Share.parse(example.unavailable_max)
    wish = PolicyWish(parallel_max=example.parallel_max, unavailable_max=share)
    return Intent(rollout="spring", target=TARGET, policy=policy_of([wish]))


def newly_admitted(example: Example) -> set[str]:
    """Whom one pass lets into the ledger that was not in it."""
    nodes = nodes_of(example.fleet)
    ledger = a_ledger(*(node.name for node in nodes if node.record and node.record.phase not in NOT_STARTED))
    decision = decide(a_snapshot(*nodes, admitted=ledger), intent_of(example), NOW)
    written = [action.record.admitted for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    return {entry.node for admitted in written for entry in admitted} - {entry.node for entry in ledger}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.letter}-{example.unavailable_max}")
def test_as_many_nodes_start_as_the_example_says(example: Example) -> None:
    assert len(newly_admitted(example)) == example.ours


def test_every_example_is_there() -> None:
    assert {example.letter for example in EXAMPLES} == set(ascii_uppercase[: ascii_uppercase.index("V") + 1])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.letter}-{example.unavailable_max}")
def test_where_another_number_starts_the_documentation_says_why(example: Example) -> None:
    assert (example.otherwise is not None) == (example.ours != example.theirs)
    assert example.otherwise is None or example.otherwise.line in documented()


def test_a_node_that_is_not_ready_does_not_start_and_counts_as_unavailable() -> None:
    assert any(line.startswith("One NotReady node with a driver pod stops the whole fleet") for line in documented())
    fleet = ((1, pending_not_ready), (3, pending))
    assert newly_admitted(Example("-", fleet, 2, "50%", theirs=1, ours=1)) == {"n002"}


def test_who_starts_is_decided_by_name_whoever_is_cordoned() -> None:
    by_letter = {example.letter: newly_admitted(example) for example in EXAMPLES}
    assert by_letter["J"] == {"n001"}
    assert by_letter["S"] == {"n001"}
    assert by_letter["F"] == {"n001", "n002", "n003"}
