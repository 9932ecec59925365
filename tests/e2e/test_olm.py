"""A release of the GPU Operator that OLM brings, on OLM's real definitions; OLM's own part is played by the testbed.

The controller has the rights of `manifests rbac --canary --olm`, and no more. What a new operator does to nodes is one
deed here: the validator's DaemonSet gets its version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed.nodes import olm
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import LONG_BAKE, LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX = "olm"
PACKAGE = "gpu-operator-certified"
FIRST, SECOND, THIRD = "v25.3.2", "v25.10.0", "v25.10.1"
"""The fleet's validators run the first."""
ONE_WAY = {"via": "direct", "oneWay": True}


def csv(version: str) -> str:
    return f"{PACKAGE}.{version}"


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """The stage of all stories: validators wait for their visit, as the ClusterPolicy's OnDelete has it."""
    with (
        olm.defined(cluster),
        light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX, has_olm=True) as made,
    ):
        made.keep_validators()
        yield made


@pytest.fixture
def stage(shared: LightStage) -> Iterator[LightStage]:
    """The stage, with nothing left of the story before."""
    shared.open()
    yield shared
    olm.unsubscribe(shared.plane)


def begin(stage: LightStage, name: str, version: str, **spec: Any) -> None:
    asked = {"target": {"driver": stage.target, "gpu_operator": version}, "publish": ONE_WAY}
    stage.begin(name, **(asked | spec))


def stored(stage: LightStage, plan: str) -> dict[str, Any]:
    return stage.plane.get("installplan", plan, "-n", olm.NAMESPACE)


def is_approved(stage: LightStage, plan: str) -> bool:
    return bool(stored(stage, plan)["spec"]["approved"])


# ── what is never approved ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("offered", "approval", "publish", "code"),
    [
        ((csv(SECOND),), "Manual", {"via": "direct"}, "release-one-way"),
        ((csv(SECOND),), "Automatic", ONE_WAY, "release-automatic"),
        ((csv(THIRD),), "Manual", ONE_WAY, "release-unplanned"),
        ((csv(SECOND), "cert-manager.v1.16.0"), "Manual", ONE_WAY, "release-unplanned"),
    ],
    ids=["not said to be one-way", "automatic", "a later release", "one operator more"],
)
def test_a_plan_that_is_not_exactly_what_is_wanted_waits_and_nothing_is_touched(
    stage: LightStage, offered: tuple[str, ...], approval: str, publish: dict[str, Any], code: str
) -> None:
    plan = olm.subscribe(stage.plane, PACKAGE, installed=csv(FIRST), offered=offered, approval=approval)
    begin(stage, f"held-{stage.story}", SECOND, publish=publish)
    stage.wait_held(code)
    assert stage.status()["phase"] == "Proposed"
    assert not is_approved(stage, plan)
    assert not stage.writes("installplans")
    assert not stage.touched()


# ── a release ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_wanted_plan_is_approved_once_and_the_canary_waits_until_it_has_succeeded(stage: LightStage) -> None:
    plan = olm.subscribe(stage.plane, PACKAGE, installed=csv(FIRST), offered=(csv(SECOND),))
    begin(stage, "release", SECOND, bake={"durationSeconds": 3, "everySeconds": 1}, approvals={"manual": ["waves"]})
    stage.wait(lambda: is_approved(stage, plan), "the plan to be approved")
    assert stored(stage, plan)["metadata"]["annotations"][keys.PUBLISHED_ANNOTATION] == "release/canary"
    stage.wait_held("publish-pending", saying=csv(SECOND))
    assert not stage.touched()
    assert not stage.writes("clusterpolicies"), "the driver waits for the release"

    olm.install(stage.plane, plan, before=csv(FIRST))
    stage.new_operator(SECOND)
    stage.wait_held("approval-pending", saying="before the fleet follows the canary")
    assert stage.validators() == {stage.canary: SECOND, **dict.fromkeys(stage.others, FIRST)}

    stage.do("rollout", "approve", "release", "waves")
    stage.wait_phase("Done")
    assert set(stage.validators().values()) == {SECOND}
    assert len(stage.writes("installplans")) == 1


def test_a_release_that_is_undone_stays_and_a_person_says_so(stage: LightStage) -> None:
    (now,) = set(stage.validators().values())
    plan = olm.subscribe(stage.plane, PACKAGE, installed=csv(now), offered=(csv(THIRD),))
    begin(stage, "undone", THIRD, **LONG_BAKE)
    stage.wait(lambda: is_approved(stage, plan), "the plan to be approved")
    olm.install(stage.plane, plan, before=csv(now))
    stage.new_operator(THIRD)
    stage.wait_phase("Baking")
    before, canary = stage.running, stage.canary

    stage.do("rollout", "abort", "undone", "--reason", "it is slower", "-y")
    stage.wait_held("release-stays", saying="OLM goes forward only")
    assert set(stage.fleet.driver_versions().values()) == {before}, "everything else is back"
    assert stage.validators() == {canary: THIRD, **dict.fromkeys(stage.others, now)}
    assert stage.run("status").returncode == 12

    stage.do("rollout", "approve", "undone", "rollback")
    stage.wait_phase("Reverted")
    assert len(stage.writes("installplans")) == 1
