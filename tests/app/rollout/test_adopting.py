"""What becomes of nodes that somebody left half-way, which rollout takes them up, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout import adopting
from seatrial.app.rollout.adopting import AdoptionPlan, AdoptOptions, Scene
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.survey.adoption.fleet import Refusal
from seatrial.core.survey.adoption.traces import Traces, Treatment
from tests import builders
from tests.app.rollout.rollouts import a_rollout
from tests.builders import NEW, NOW

GPU = {"nvidia.com/gpu.present": "true"}
HALF_DONE = builders.a_node("n1", nvidia_state="pod-deletion-required", is_cordoned=True, labels=GPU)
LEFT_ALONE = builders.a_node("n2", is_skipped=True, labels=GPU)


def plan(*nodes: NodeSeen, rollouts: tuple[Any, ...] = (), **options: Any) -> AdoptionPlan | Refusal:
    scene = Scene(
        at=NOW,
        nodes={node.name: node for node in nodes},
        traces={node.name: Traces(cordoned_by="gpu-operator") for node in nodes},
        operator=builders.an_operator(),
        rollouts=rollouts,
    )
    return adopting.plan_of(AdoptOptions(**options), scene)


def planned(*nodes: NodeSeen, **options: Any) -> AdoptionPlan:
    found = plan(*nodes, **options)
    assert isinstance(found, AdoptionPlan)
    return found


def test_a_node_left_half_way_is_finished_by_a_rollout_of_the_nodes_alone() -> None:
    found = planned(HALF_DONE, to=NEW.version, max_parallel=2)
    assert {name: each.fate for name, each in found.adoptions.items()} == {"n1": Treatment.FINISH}
    assert found.rollout == f"adopt-{NEW.version}"
    assert found.body is not None
    assert found.body["spec"] == {
        "target": {"driver": NEW.version},
        "nodeSelector": GPU,
        "limits": {"maxParallelUpgrades": 2},
    }
    assert found.body["metadata"]["labels"] == {"seatrial.dev/adoption": "to"}


def test_a_node_that_waits_for_a_person_is_told_by_the_plan() -> None:
    assert planned(HALF_DONE, LEFT_ALONE, to=NEW.version).has_left
    assert not planned(HALF_DONE, to=NEW.version).has_left


def test_a_name_that_is_taken_is_numbered() -> None:
    done = a_rollout(f"adopt-{NEW.version}", "Done")
    assert planned(HALF_DONE, to=NEW.version, rollouts=(done,)).rollout == f"adopt-{NEW.version}-2"


def test_a_campaign_under_way_is_not_mixed_with() -> None:
    assert isinstance(plan(HALF_DONE, to=NEW.version, rollouts=(a_rollout("spring", "Waving"),)), Refusal)


def test_the_cordon_of_a_node_that_is_not_meant_is_not_released() -> None:
    with pytest.raises(CalledWrongly, match="--release n9: it is not among the chosen nodes"):
        plan(HALF_DONE, to=NEW.version, release=("n9",))


@pytest.mark.parametrize(("way", "says"), [({"to": "newest"}, "--to: "), ({"back": "580"}, "--back: ")])
def test_a_version_that_is_none_is_refused_before_anything_is_read(way: dict[str, str], says: str) -> None:
    with pytest.raises(CalledWrongly, match=says):
        adopting.check(AdoptOptions(**way))  # type: ignore[arg-type]


def test_nodes_are_named_one_way() -> None:
    with pytest.raises(CalledWrongly, match="give one"):
        adopting.check(AdoptOptions(rollout="spring", selector=(("rack", "r1"),)))
