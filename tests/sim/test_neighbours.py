"""The neighbours' rows, and that World plays them: a row taken away makes a story here fail."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import Cordon
from seatrial.core.decision import neighbours as marking
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Eviction, Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.target import Target
from seatrial.core.movers.driver_manager import DRAIN, EVICTION
from seatrial.core.promises.invariants import broken
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import driver_pods, neighbours
from seatrial.sim.driver_pods import driver_manager_acts
from seatrial.sim.neighbours import Deed, Neighbour, Start, deeds_of, remover_of
from seatrial.sim.nodes import Fate, new_node, rebooted
from seatrial.sim.world import World
from tests.builders import NEW, OLD

ON, OFF = ((EVICTION, "true"), (DRAIN, "false")), ((EVICTION, "false"), (DRAIN, "false"))
INTENT = Intent(
    rollout="spring",
    target=Target.of(NEW.version),
    policy=Policy(limits=Limits(parallel_max=1, unavailable_max=Share(amount=1)), eviction=Eviction()),
)

# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("start", "env", "deeds"),
    [
        (Start.LOADED, (), (Deed.CORDON, Deed.EVICT, Deed.UNCORDON)),
        (Start.LOADED, ON, (Deed.CORDON, Deed.EVICT, Deed.UNCORDON)),
        (Start.BARE, ON, (Deed.UNCORDON,)),
        (Start.FAILED, ON, (Deed.CORDON, Deed.EVICT, Deed.UNCORDON)),
        (Start.LOADED, ((EVICTION, "false"), (DRAIN, "true")), (Deed.UNCORDON,)),
        *((start, OFF, ()) for start in Start),
    ],
)
def test_a_driver_manager_does(start: Start, env: tuple[tuple[str, str], ...], deeds: tuple[Deed, ...]) -> None:
    assert deeds_of(start, env) == deeds
    assert deeds_of(start, env, is_superseded=True) == ()


# ── World plays it ───────────────────────────────────────────────────────────────────────────────────────────────────


def a_starting_node(**changes: Any) -> NodeSeen:
    """A node whose old driver was deleted and whose new one starts, cordoned."""
    node = new_node("n1", running=OLD, wanted=NEW, is_cordoned=True)
    assert node.facts.driver is not None
    driver = replace(node.facts.driver, uid="driver-n1-1", is_ready=False, ready_since=None, **changes)
    return replace(node, facts=replace(node.facts, driver=driver))


def test_world_uncordons_before_the_new_driver_loads_and_once_for_each_start() -> None:
    fate, facts = Fate(manager_env=ON), a_starting_node().facts
    assert driver_pods.driver_gets_ready(facts, fate, 5.0) is None
    after = driver_manager_acts(facts, fate, 5.0)
    assert after is not None
    assert not after.is_cordoned
    assert driver_manager_acts(after, fate, 6.0) is None
    assert driver_pods.driver_gets_ready(after, fate, 6.0) is not None
    again = driver_manager_acts(replace(rebooted(after, 7.0), is_cordoned=True), fate, 7.0)
    assert again is not None
    assert not again.is_cordoned


def test_world_leaves_a_node_alone_whose_driver_manager_is_switched_off() -> None:
    assert driver_manager_acts(a_starting_node().facts, Fate(manager_env=OFF), 5.0) is None
    assert driver_manager_acts(a_starting_node().facts, Fate(), 5.0) is None


class Story:
    """A world of one node, played to its end by the real loop; what happened to it is kept."""

    def __init__(self, node: NodeSeen, fate: Fate, seed: int = 0) -> None:
        self.world = World([node], INTENT, fates={"n1": fate}, seed=seed)
        self.acts: list[Action] = []
        self.open_seconds = 0.0
        self._open_since: float | None = None
        self.slipped: set[str] = set()
        self.world.watchers.append(self._on_change)

    def _on_change(self, _before: NodeSeen, after: NodeSeen) -> None:
        driver = after.facts.driver
        is_bare = driver is None or not driver.is_ready
        is_open = is_bare and not after.facts.is_cordoned
        if is_open and self._open_since is None:
            self._open_since = self.world.time
        elif not is_open and self._open_since is not None:
            self.open_seconds += self.world.time - self._open_since
            self._open_since = None
        if after.facts.is_cordoned is False and driver is not None and driver.is_ready:
            self.slipped |= {pod.uid for pod in after.facts.pods if pod.uid.startswith("late-")}

    def play(self) -> NodeSeen:
        def note(report: Report) -> None:
            assert (
                report.sight is None
                or report.decision is None
                or not broken(report.sight.seen, report.sight.intent, report.decision)
            )
            self.acts += report.decision.actions if report.decision is not None else ()

        ports = self.world.ports(_Silent())
        asyncio.run(run_forever(ports, Memory(0.0), on_report=note, is_over=lambda _: False))
        return self.world.nodes["n1"]

    @property
    def closings(self) -> list[Cordon]:
        return [act for act in self.acts if isinstance(act, Cordon) and act.record.reopened_count]


class _Silent:
    def append(self, at: float, kind: str, fields: object) -> None:
        """Forget."""


def a_node(**changes: Any) -> NodeSeen:
    return new_node("n1", running=OLD, wanted=NEW, gpu_pod_count=1, **changes)


def test_a_node_opened_by_its_driver_manager_is_closed_again_and_who_slipped_in_leaves_first() -> None:
    story = Story(a_node(), Fate(manager_env=ON, is_work_waiting=True))
    end = story.play()
    assert end.record is not None
    assert (end.record.phase, end.facts.is_cordoned, end.facts.pods) == (NodePhase.UPGRADE_DONE, False, ())
    assert len(story.closings) == 1
    assert story.slipped == set(), "the node was given back with a pod on it that came before the proof"


def test_with_the_two_values_false_nobody_opens_the_node() -> None:
    story = Story(a_node(), Fate(manager_env=OFF, is_work_waiting=True))
    assert story.play().record is not None
    assert (story.closings, story.open_seconds) == ([], 0.0)


def test_a_node_whose_driver_manager_fails_is_opened_again_and_stays_closed() -> None:
    story = Story(a_node(), Fate(manager_env=ON, driver_fails_on=NEW.version, is_driver_in_use=True))
    end = story.play()
    assert end.record is not None
    assert (end.record.phase, end.facts.is_cordoned) == (NodePhase.UPGRADE_FAILED, True)
    assert [act.record.reopened_count for act in story.closings] == [1, 2], "at its start, and when it failed"


def test_a_driver_that_crashes_is_started_again_without_its_driver_manager() -> None:
    """As a kubelet does: init containers that are through run again when the pod does, not when a container does."""
    story = Story(a_node(), Fate(manager_env=ON, driver_fails_on=NEW.version))
    end = story.play()
    assert end.record is not None
    assert (end.record.phase, end.facts.is_cordoned) == (NodePhase.UPGRADE_FAILED, True)
    assert [act.record.reopened_count for act in story.closings] == [1], "at its start alone"
    facts = replace(end.facts, is_cordoned=True)
    assert driver_manager_acts(facts, Fate(manager_env=ON), 9_000.0) is None
    assert driver_manager_acts(rebooted(facts, 9_000.0), Fate(manager_env=ON), 9_000.0) is not None


def test_an_admins_cordon_stands_at_the_end() -> None:
    story = Story(a_node(is_cordoned=True), Fate(manager_env=ON))
    end = story.play()
    assert end.record is not None
    assert (end.record.phase, end.facts.is_cordoned) == (NodePhase.UPGRADE_DONE, True)
    assert len(story.closings) == 1


def test_a_row_taken_from_the_table_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "DRIVER_MANAGER", ())
    story = Story(a_node(), Fate(manager_env=ON))
    story.play()
    assert story.closings == [], "without its rows nobody would know that nodes are opened"


# ── autoscalers ──────────────────────────────────────────────────────────────────────────────────────────────────────

SLOW = Fate(is_scaled_down=True, cuda_fails_on=NEW.version)
"""Its validation takes longer than an autoscaler waits, and fails in the end."""
KARPENTERS = {"karpenter.sh/nodepool": "gpus"}


@pytest.mark.parametrize(
    ("labels", "annotations", "who"),
    [
        ({}, {}, Neighbour.AUTOSCALER),
        ({}, {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "false"}, Neighbour.AUTOSCALER),
        ({}, {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}, None),
        (KARPENTERS, {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}, Neighbour.KARPENTER),
        (
            KARPENTERS,
            {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true", "karpenter.sh/do-not-disrupt": "true"},
            None,
        ),
    ],
)
def test_an_autoscaler_spares_whom_it_is_told_to(
    labels: dict[str, str], annotations: dict[str, str], who: Neighbour | None
) -> None:
    assert remover_of(labels, annotations) is who


@pytest.mark.parametrize("labels", [{}, KARPENTERS], ids=["any node", "a node of Karpenter's"])
def test_a_node_that_we_visit_is_not_removed_however_long_it_takes(labels: dict[str, str]) -> None:
    node = a_node()
    story = Story(replace(node, facts=replace(node.facts, labels=labels)), SLOW)
    end = story.play()
    assert end.record is not None
    assert end.record.phase is NodePhase.UPGRADE_FAILED
    assert end.facts.marks, "and it stays spared while it waits for a retry"


def test_without_our_marks_it_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marking, "NEIGHBOURS", ())
    story = Story(a_node(), SLOW)
    with pytest.raises(KeyError, match="n1"):
        story.play()


def test_a_node_that_a_person_cordons_and_empties_is_removed_as_ever() -> None:
    world = World([new_node("n1", running=NEW, wanted=NEW)], INTENT, everybody=Fate(is_scaled_down=True))
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, is_cordoned=True)))
    world.tick_to(599.0)
    assert "n1" in world.nodes
    world.tick_to(700.0)
    assert "n1" not in world.nodes


# ── the SR-IOV operator ──────────────────────────────────────────────────────────────────────────────────────────────


def drains(story: Story) -> list[tuple[str, bool]]:
    """The states of the SR-IOV operator on the node, and whether it was closed then."""
    found: list[tuple[str, bool]] = []
    story.world.watchers.append(lambda _before, after: found.append((after.facts.sriov, after.facts.is_cordoned)))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_visit_never_meets_the_drain_of_the_sriov_operator(seed: int) -> None:
    """Whenever it begins: the promise `aside` is looked at in every pass."""
    story = Story(a_node(), Fate(is_sriov_due=True), seed)
    seen = drains(story)
    end = story.play()
    assert end.record is not None
    assert (end.record.phase, end.facts.is_cordoned, end.facts.sriov) == (NodePhase.UPGRADE_DONE, False, "")
    assert ("Draining", True) in seen


def test_some_of_these_visits_had_to_step_aside() -> None:
    attempts = set()
    for seed in range(20):
        record = Story(a_node(), Fate(is_sriov_due=True), seed).play().record
        assert record is not None
        attempts.add(record.attempt)
    assert max(attempts) > 1
