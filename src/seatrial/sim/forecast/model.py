"""An inventory, worked out: nodes by their kind, scopes by their number, and who is away before anybody moves.

Law of this file: what is alike is worked out once; limits, seeds and time are somebody else's. Tests:
tests/sim/test_forecast.py
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from seatrial.core.budget import capacity, order, units
from seatrial.core.model.intent import Intent, Order
from seatrial.core.model.seen.nodes import NodeFacts, NodeSeen
from seatrial.sim.forecast import paths
from seatrial.sim.forecast.durations import Behaviours
from seatrial.sim.forecast.inventory import Inventory, NothingToForecast
from seatrial.sim.forecast.paths import Kind, Station
from seatrial.sim.forecast.schedule import Pace, pace_of, schedule_of
from seatrial.sim.forecast.walks import Walk


class Member(NamedTuple):
    """A node, as far as the fleet is concerned."""

    name: str
    gpus: int
    start: Station
    scopes: tuple[int, ...]
    """By number, the rollout's own first."""
    unit: str
    domain: str
    key: tuple[float | str, ...]
    """Where it stands among those who wait."""


class Model:
    """An inventory, worked out: nodes by their kind, scopes by their number."""

    def __init__(self, inventory: Inventory, intent: Intent, behaviours: Behaviours) -> None:
        if not inventory.nodes:
            raise NothingToForecast("There is no node to upgrade. See `seatrial node get`, or give --nodes.")
        self.inventory, self.intent, self.behaviours = inventory, intent, behaviours
        self._starts: dict[Kind, Station] = {}
        budget = capacity.budget_of(inventory.nodes, (), intent)
        numbers = {name: number for number, name in enumerate(budget.scopes)}
        self.scopes = tuple(budget.scopes.values())
        """The rollout's own first; its limits are those of a setting."""
        admitted = {admission.node: admission.attempt for admission in inventory.admitted}
        key = order.key_of({}, intent)
        label = intent.domains[0].label if intent.domains else ""
        is_by_domain = intent.order is Order.DOMAIN_BY_DOMAIN
        self.unfit = frozenset(
            unit
            for name, unit in budget.unit_of.items()
            if not capacity.has_failed(inventory.nodes[name].record) and units.why_unfit(inventory.nodes[name])
        )
        """Units with a member that cannot start, and never will here; who has failed may be tried again."""
        self.members = [
            Member(
                name=name,
                gpus=inventory.gpus.get(name, 1),
                start=self._start(node, node.record is not None and admitted.get(name) == node.record.attempt),
                scopes=tuple(numbers[scope] for scope in budget.around(name)),
                unit=budget.unit_of.get(name, ""),
                domain=capacity.domain_of(node.facts, label) if is_by_domain else "",
                key=(name,) if is_by_domain else key(node),
            )
            for name, node in sorted(inventory.nodes.items())
        ]
        self.schedule = schedule_of(inventory, intent)
        """The stages of a campaign; None where every node may go at once."""
        self._paces: dict[int, Pace] = {}

    def pace(self, seed: int) -> Pace | None:
        """How long a campaign waits besides moving nodes, under one seed; None where it is none."""
        if self.schedule is not None and seed not in self._paces:
            self._paces[seed] = pace_of(self.schedule, self.behaviours, seed)
        return self._paces.get(seed)

    def left_out(self) -> dict[str, tuple[str, ...]]:
        """Who never starts although not done, by the code of the hold that keeps it."""
        found: dict[str, list[str]] = defaultdict(list)
        for member in self.members:
            start = member.start
            if start.held is not None and not (start.standing.is_wishing or start.standing.is_held):
                found[start.held.code.value].append(member.name)
        return {code: tuple(names) for code, names in sorted(found.items())}

    @property
    def moving_count(self) -> int:
        """How many nodes an upgrade would move, or is moving."""
        return sum(each.start.standing.is_wishing or each.start.standing.is_held for each in self.members)

    def cordoned(self) -> tuple[str, ...]:
        """Who is cordoned by others: nobody is taken from users there, and each counts towards maxUnavailable."""
        return tuple(each.name for each in self.members if self._is_gone(each) and self._facts(each).is_cordoned)

    def not_ready(self) -> tuple[str, ...]:
        """Who is not Ready, and counts towards maxUnavailable in the same way."""
        return tuple(each.name for each in self.members if self._is_gone(each) and not self._facts(each).is_cordoned)

    def failed(self) -> tuple[str, ...]:
        """Nodes that have failed and stay cordoned: each counts towards maxUnavailable too."""
        return tuple(
            each.name
            for each in self.members
            if self._facts(each).is_unavailable and capacity.has_failed(self.inventory.nodes[each.name].record)
        )

    def _is_gone(self, member: Member) -> bool:
        record = self.inventory.nodes[member.name].record
        is_ours = member.start.standing.is_held or (record is not None and record.is_cordon_ours)
        return self._facts(member).is_unavailable and not is_ours

    def _facts(self, member: Member) -> NodeFacts:
        return self.inventory.nodes[member.name].facts

    def walks(self, seed: int) -> list[Walk]:
        """What every node meets under one seed; shared by all settings that are compared."""
        return [Walk(member.start, self.behaviours, f"{seed}/{member.name}") for member in self.members]

    def _start(self, node: NodeSeen, is_admitted: bool) -> Station:
        kind = paths.kind_of(node, self.intent, is_admitted=is_admitted)
        found = self._starts.get(kind)
        if found is None:
            found = self._starts[kind] = paths.start(kind.node, self.intent, is_admitted=is_admitted)
        return found
