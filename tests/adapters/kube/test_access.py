"""Which rights a campaign needs, and the API server's own word on whether we have them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import access
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import Campaign, Mode, Via
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.seen.operators import Carrier, OperatorFacts
from seatrial.core.model.seen.releases import Holder
from seatrial.core.model.seen.subscriptions import Subscription
from seatrial.core.movers.mover import mover_of
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.adapters.kube import standin

POLICY = OperatorFacts(
    kind="ClusterPolicy/cluster-policy", carriers=(Carrier(name="ClusterPolicy/cluster-policy", version="580.105.08"),)
)
POOLS = OperatorFacts(
    kind="ClusterPolicy/cluster-policy", carriers=(Carrier(name="NVIDIADriver/a"), Carrier(name="NVIDIADriver/b"))
)
ALWAYS = {"patch nodes", "patch gpurollouts.seatrial.dev", "patch gpurollouts/status.seatrial.dev"}
MOVING = {"create pods/eviction", "delete pods in namespace gpu-operator"}
WRITING = {"patch clusterpolicies.nvidia.com"}


def texts(campaign: Campaign, mode: Mode, operator: OperatorFacts = POLICY) -> set[str]:
    needed = access.rights_of(campaign, mover_of(mode), operator, home="seatrial", namespace="gpu-operator")
    return {str(right) for right in needed}


@pytest.mark.parametrize(
    ("campaign", "mode", "more"),
    [
        (Campaign(), Mode.DIRECT, MOVING | WRITING | {"get clusterpolicies.nvidia.com"}),
        (Campaign(publish=Via.GIT), Mode.DIRECT, MOVING),
        (Campaign(publish=Via.NOBODY), Mode.DELEGATED, WRITING),
        (Campaign(), Mode.DELEGATED, WRITING),
        (Campaign(publish=Via.NOBODY), Mode.BY_HAND, set()),
        (
            Campaign(publish=Via.GIT, gates=(Gate(name="nccl", image="nccl:1"),)),
            Mode.DIRECT,
            MOVING | {"create jobs.batch in namespace seatrial"},
        ),
        (
            Campaign(publish=Via.GIT, gates=(Gate(name="ring", image="probes:1", probe="distributed"),)),
            Mode.DIRECT,
            MOVING | {"create jobs.batch in namespace seatrial", "create services in namespace seatrial"},
        ),
        (
            Campaign(publish=Via.GIT, pool="gpu-canary"),
            Mode.DIRECT,
            MOVING
            | {
                "create machineconfigpools.machineconfiguration.openshift.io",
                "delete machineconfigpools.machineconfiguration.openshift.io",
            },
        ),
        (
            Campaign(publish=Via.NOBODY, still=("worker",)),
            Mode.BY_HAND,
            {"patch machineconfigpools.machineconfiguration.openshift.io"},
        ),
    ],
)
def test_a_campaign_needs_what_it_will_do_and_no_more(campaign: Campaign, mode: Mode, more: set[str]) -> None:
    assert texts(campaign, mode) == ALWAYS | more


def test_drivers_by_pool_are_published_there_and_switched_where_the_policy_is() -> None:
    assert texts(Campaign(), Mode.DELEGATED, POOLS) == ALWAYS | WRITING | {"patch nvidiadrivers.nvidia.com"}


@pytest.mark.parametrize("gpus", [0, 8])
def test_where_gpus_are_claimed_a_gate_that_wants_some_needs_the_right_to_make_templates(gpus: int) -> None:
    campaign = Campaign(publish=Via.NOBODY, gates=(Gate(name="nccl", image="nccl:1", gpus=gpus),))
    needed = access.rights_of(
        campaign, mover_of(Mode.BY_HAND), POLICY, home="seatrial-gates", namespace="gpu-operator", by_claim=True
    )
    claims = {"create resourceclaimtemplates.resource.k8s.io in namespace seatrial-gates"}
    jobs = {"create jobs.batch in namespace seatrial-gates"}
    assert {str(right) for right in needed} == ALWAYS | jobs | (claims if gpus else set())


@pytest.mark.parametrize("released", [(), (Component.NETWORK_OPERATOR,), (Component.GPU_OPERATOR,)])
def test_a_release_that_we_write_ourselves_needs_the_right_on_what_holds_it(released: tuple[Component, ...]) -> None:
    holder = Holder(component=Component.GPU_OPERATOR, resource="HelmRelease/gpu/gpu", version="v25.3.4")
    needed = access.rights_of(
        Campaign(publish=Via.DIRECT),
        mover_of(Mode.DELEGATED),
        replace(POLICY, holders=(holder,)),
        home="seatrial",
        namespace="gpu-operator",
        released=released,
    )
    found = {str(right) for right in needed if right.group == "helm.toolkit.fluxcd.io"}
    wanted = {f"{verb} helmreleases.helm.toolkit.fluxcd.io gpu in namespace gpu" for verb in ("get", "patch")}
    assert found == (wanted if released == (Component.GPU_OPERATOR,) else set())


@pytest.mark.parametrize("released", [(), (Component.NETWORK_OPERATOR,), (Component.GPU_OPERATOR,)])
def test_a_release_that_olm_brings_needs_the_right_to_approve_its_plan(released: tuple[Component, ...]) -> None:
    subscription = Subscription(component=Component.GPU_OPERATOR, resource="Subscription/gpu/gpu", package="gpu")
    needed = access.rights_of(
        Campaign(publish=Via.DIRECT),
        mover_of(Mode.DELEGATED),
        replace(POLICY, subscriptions=(subscription,)),
        home="seatrial",
        namespace="gpu-operator",
        released=released,
    )
    found = {str(right) for right in needed if right.group == "operators.coreos.com"}
    wanted = {f"{verb} installplans.operators.coreos.com" for verb in ("get", "patch")}
    assert found == (wanted if released == (Component.GPU_OPERATOR,) else set())


@asynccontextmanager
async def asking(rights: access.Access) -> AsyncIterator[asyncio.Event]:
    """Let it ask until the block ends; the event is set with each answer."""
    answered = asyncio.Event()
    task = asyncio.create_task(rights.run(answered.set))
    try:
        yield answered
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_what_was_not_answered_is_not_known(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.refuses(500, "InternalError"))
    rights = access.Access(to_server, home="seatrial", namespace="gpu-operator")
    assert rights.is_known, "nothing is wanted yet"
    async with asking(rights):
        rights.want([access.Right(verb="patch", resource="nodes")])
        await server.until(1)
        assert (rights.is_known, rights.denied) == (False, ())


@pytest.mark.cluster
async def test_the_server_says_what_we_may_not_do(plane: ControlPlane) -> None:
    controller_process.install(plane)
    gates = (Gate(name="nccl", image="nccl:1"), Gate(name="ring", image="probes:1", probe="distributed"))
    campaign = Campaign(gates=gates, pool="gpu-canary", still=("worker",))
    needed = access.rights_of(
        campaign, mover_of(Mode.DIRECT), POOLS, home="seatrial", namespace="gpu-operator", by_claim=True
    )
    denied = {}
    for has_campaigns in (False, True):
        account = controller_process.identity(plane, f"asks-{has_campaigns}".lower(), has_campaigns=has_campaigns)
        config = configs.load_config(kubeconfig=str(account), environ={})
        async with Client(config, user_agent="test-access") as client:
            rights = access.Access(client, home="seatrial", namespace="gpu-operator")
            rights.want(needed)
            async with asking(rights) as answered, asyncio.timeout(20):
                await answered.wait()
                denied[has_campaigns] = rights.denied
                assert rights.is_known
    assert denied == {
        False: (
            "create jobs.batch in namespace seatrial",
            "create machineconfigpools.machineconfiguration.openshift.io",
            "create resourceclaimtemplates.resource.k8s.io in namespace seatrial",
            "create services in namespace seatrial",
            "delete machineconfigpools.machineconfiguration.openshift.io",
            "get clusterpolicies.nvidia.com",
            "get nvidiadrivers.nvidia.com",
            "patch clusterpolicies.nvidia.com",
            "patch machineconfigpools.machineconfiguration.openshift.io",
            "patch nvidiadrivers.nvidia.com",
        ),
        True: (),
    }
