"""What becomes of nodes that somebody left half-way."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.adopt import Adoption, Clearing, Fate, Left, adopt
from seatrial.core.campaign import Mode
from seatrial.core.snapshot import NodePhase, NodeSeen, RecordFault
from seatrial.core.steps import PAUSED
from tests import builders

MIDDLE = [
    NodePhase.CORDON_REQUIRED,
    NodePhase.WAIT_FOR_JOBS_REQUIRED,
    NodePhase.POD_DELETION_REQUIRED,
    NodePhase.DRAIN_REQUIRED,
    NodePhase.POD_RESTART_REQUIRED,
    NodePhase.VALIDATION_REQUIRED,
    NodePhase.UNCORDON_REQUIRED,
    NodePhase.UPGRADE_FAILED,
]


def judged(node: NodeSeen, *, was_cordoned: bool = False, **changes: Any) -> Adoption:
    plain: dict[str, Any] = {"mode": Mode.DIRECT, "mover": "", "known": frozenset()}
    return adopt(Left(node=node, was_cordoned=was_cordoned), **(plain | changes))


@pytest.mark.parametrize("phase", MIDDLE)
def test_our_own_work_is_finished_where_the_wanted_driver_is_proven(phase: NodePhase) -> None:
    found = judged(builders.a_well_node("n1", phase, is_cordon_ours=True))
    assert found.fate is Fate.FINISH
    assert found.clearing == Clearing(uncordon=True, forget_record=True)


@pytest.mark.parametrize("phase", MIDDLE)
def test_our_own_work_is_undone_where_the_old_driver_still_runs(phase: NodePhase) -> None:
    found = judged(builders.a_node("n1", phase, is_cordon_ours=True))
    assert found.fate is Fate.UNDO
    assert found.clearing == Clearing(uncordon=True, forget_record=True)


@pytest.mark.parametrize("state", MIDDLE)
@pytest.mark.parametrize("driver", ["missing", "crashing", "going"])
def test_a_node_without_a_driver_that_runs_is_never_given_back(state: NodePhase, driver: str) -> None:
    pods = {
        "missing": None,
        "crashing": builders.a_starting_driver(trouble="CrashLoopBackOff"),
        "going": builders.a_driver(is_terminating=True),
    }
    for node in (
        builders.a_node("n1", state, is_cordon_ours=True, driver=pods[driver]),
        builders.a_node("n1", driver=pods[driver], nvidia_state=state.value, is_cordoned=True),
    ):
        found = judged(node)
        assert found.fate is Fate.PERSON
        assert found.clearing.is_empty


def test_a_cordon_that_was_there_before_us_stays() -> None:
    node = builders.a_well_node("n1", NodePhase.VALIDATION_REQUIRED, is_cordoned=True)
    assert judged(node).clearing == Clearing(forget_record=True)


@pytest.mark.parametrize("state", MIDDLE[1:])
def test_what_nvidias_controller_left_is_cleared_with_its_cordon(state: NodePhase) -> None:
    node = builders.a_node("n1", nvidia_state=state.value, is_cordoned=True)
    found = judged(node)
    assert found.fate is Fate.UNDO
    assert found.clearing == Clearing(uncordon=True, forget_state=True)
    assert judged(node, was_cordoned=True).clearing == Clearing(forget_state=True)


def test_nvidias_controller_has_not_cordoned_a_node_that_it_was_about_to() -> None:
    node = builders.a_node("n1", nvidia_state="cordon-required", is_cordoned=True)
    assert judged(node).clearing == Clearing(forget_state=True)


@pytest.mark.parametrize("state", MIDDLE[:-1])
def test_where_nvidias_controller_is_on_it_goes_on_by_itself(state: NodePhase) -> None:
    node = builders.a_node("n1", nvidia_state=state.value, is_cordoned=True)
    assert judged(node, mode=Mode.DELEGATED).fate is Fate.NOTHING


def test_what_nvidias_controller_gave_up_needs_a_person_until_the_driver_runs() -> None:
    crashing = builders.a_node("n1", nvidia_state="upgrade-failed", driver=builders.a_starting_driver())
    running = builders.a_well_node("n1", nvidia_state="upgrade-failed")
    assert judged(crashing, mode=Mode.DELEGATED).fate is Fate.PERSON
    assert judged(running, mode=Mode.DELEGATED).fate is Fate.NOTHING


def test_what_a_rollout_moves_is_its_own_business() -> None:
    node = builders.a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True)
    assert judged(node, mover="spring").fate is Fate.NOTHING


def test_an_unproven_driver_is_not_finished() -> None:
    node = builders.a_node("n1", NodePhase.VALIDATION_REQUIRED, driver=builders.a_new_driver(), is_cordon_ours=True)
    assert judged(node).fate is Fate.PERSON


def test_marks_of_a_rollout_that_is_no_more_are_taken_away() -> None:
    node = builders.a_done_node("n1", canary_of="gone", skipped_by="gone", is_skipped=True)
    found = judged(node, known=frozenset({"spring"}))
    assert found.fate is Fate.UNDO
    assert found.clearing == Clearing(unmark=True, unskip=True)
    assert judged(node, known=frozenset({"gone"})).clearing.is_empty


def test_a_skip_label_of_a_person_stays() -> None:
    found = judged(builders.a_node("n1", is_skipped=True))
    assert (found.fate, found.clearing.is_empty) == (Fate.NOTHING, True)


def test_a_cordon_without_an_owner_is_left_to_a_person() -> None:
    found = judged(builders.a_done_node("n1", is_cordoned=True))
    assert (found.fate, found.clearing.is_empty) == (Fate.PERSON, True)


def test_operands_that_were_left_paused_get_back_what_they_had() -> None:
    plugin, client = "nvidia.com/gpu.deploy.device-plugin", "nvidia.com/gpu.deploy.client"
    labels = {plugin: PAUSED, client: f"special_{PAUSED}"}
    found = judged(builders.a_well_node("n1", labels=labels, paused_labels=(plugin, client)))
    assert found.fate is Fate.FINISH
    assert found.clearing == Clearing(give_back=((plugin, "true"), (client, "special")))


def test_a_record_that_cannot_be_trusted_is_left_to_a_person() -> None:
    node = builders.a_node("n1", fault=RecordFault.UNREADABLE, fault_text="no JSON")
    found = judged(node)
    assert found.fate is Fate.PERSON
    assert "no JSON" in found.why


@pytest.mark.parametrize("node", [builders.an_old_node("n1"), builders.a_done_node("n1"), builders.a_node("n1")])
def test_a_node_at_rest_is_left_alone(node: NodeSeen) -> None:
    assert judged(node).fate is Fate.NOTHING
