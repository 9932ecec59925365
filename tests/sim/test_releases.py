"""A played cluster has the release that whoever holds it says; a campaign of a release moves one node at a time."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.actions.at_home import Publish
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import PublishStep, Via
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.releases import Holder, Release
from seatrial.sim import releases
from seatrial.sim.acts import Refused
from seatrial.sim.outside import CLUSTER_POLICY, Outside, apply, commit, is_synced

HOLDER = Holder(
    component=Component.GPU_OPERATOR, resource="HelmRelease/nvidia/gpu", version="v25.3.4", resource_version="7"
)
RELEASE = Release(component=Component.GPU_OPERATOR, version="v25.3.4")


def outside() -> Outside:
    from seatrial.sim.outside import cluster_policy

    facts = cluster_policy("570.124.06")
    carriers = tuple(replace(each, parts=(("gpu_operator", "v25.3.4"),)) for each in facts.carriers)
    return Outside(operator=replace(facts, carriers=carriers, releases=(RELEASE,), holders=(HOLDER,)))


def publish(expect: str, version: str = "v25.10.0") -> Publish:
    resource = HOLDER.resource
    return Publish(
        rollout="spring",
        step=PublishStep.CANARY,
        versions=((resource, version),),
        via=Via.DIRECT,
        expects=((resource, expect),),
        note="spring/canary",
    )


def seen(operator: OperatorFacts) -> tuple[str, str, str]:
    """What holds the release, what runs, and what the ClusterPolicy is beside."""
    (holder,), (release,) = operator.holders, operator.releases
    return holder.version, release.version, dict(operator.carriers[0].parts)["gpu_operator"]


def test_a_version_written_into_what_holds_a_release_is_deployed() -> None:
    after = apply(outside(), publish("7"))
    assert isinstance(after, Outside)
    assert seen(after.operator) == ("v25.10.0",) * 3
    (holder,) = after.operator.holders
    assert (holder.note, holder.resource_version) == ("spring/canary", "8")
    again = apply(after, publish("8"))
    assert again == after, "what changes nothing leaves its version"


def test_a_write_that_comes_too_late_or_to_nothing_is_refused() -> None:
    assert apply(outside(), publish("6")) == Refused(is_stale=True, why=f"{HOLDER.resource} is no longer at 6")
    gone = replace(outside(), operator=replace(outside().operator, holders=()))
    assert apply(gone, publish("7")) == Refused(is_stale=True, why=f"{HOLDER.resource} not found")


def test_a_commit_that_names_a_release_is_deployed_with_it() -> None:
    before = replace(outside(), files=((CLUSTER_POLICY, "570.124.06, gpu_operator v25.3.4"),))
    versions = ((CLUSTER_POLICY, "570.124.06, gpu_operator v25.10.0"),)
    after = is_synced(commit(before, PublishStep.CANARY, versions))
    assert after is not None
    assert seen(after.operator)[1:] == ("v25.10.0", "v25.10.0")
    assert releases.followed(before.operator, ["570.124.06"]) == before.operator
