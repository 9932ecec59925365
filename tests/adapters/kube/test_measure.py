"""Jobs for gates: of which images they may be is the administrator's to say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.gates.probes import Level
from seatrial.adapters.kube.shapes import keys, models
from seatrial.adapters.kube.writing.measure import JobMeasurer
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import PREPULL, Gate
from seatrial.ports import Result
from tests.adapters.kube import standin

PROBE = StartProbe(
    rollout="spring", gate=Gate(name="nccl", image="registry.example.com/gates/nccl:1"), node="n1", round=1, attempt=1
)


class Rollouts:
    """Knows every rollout."""

    def stored_rollout(self, name: str) -> models.Rollout | None:
        return models.Rollout(metadata=models.ObjectMeta(name=name, uid="uid-1"))


def measurer(client: Client, images: tuple[str, ...] = ()) -> JobMeasurer:
    return JobMeasurer(client, Rollouts(), home=keys.HOME, level=Level.BASELINE, images=images)


@pytest.mark.parametrize(
    ("images", "is_run"),
    [
        ((), True),
        (("registry.example.com/gates/",), True),
        (("example.com/other/", "registry.example.com/"), True),
        (("registry.example.com",), True),
        (("registry.example.com/gates",), True),
        (("registry.example.com/gates/nccl",), True),
        (("registry.example.com/gates/nccl:1",), True),
        (("registry.example.com/gat",), False),
        (("registry.example.co",), False),
        (("registry.example.com/gates/nc",), False),
        (("example.com/gates/",), False),
        (("registry.example.com/gates/nccl:1-but-longer",), False),
    ],
)
async def test_a_gate_runs_an_image_that_the_administrator_allows_and_no_other(
    server: standin.StandIn, to_server: Client, images: tuple[str, ...], is_run: bool
) -> None:
    server.will(standin.gives({}, code=201))
    outcome = await measurer(to_server, images=images).measure(PROBE)
    assert outcome.result is (Result.DONE if is_run else Result.FAILED)
    assert bool(server.seen) is is_run
    if not is_run:
        assert "names the image registry.example.com/gates/nccl:1, and gates may run " in outcome.detail
        assert "an administrator allows more (--gate-image-allow)" in outcome.detail


async def test_a_gate_that_names_one_of_our_payloads_runs_no_image_that_is_not_allowed(
    server: standin.StandIn, to_server: Client
) -> None:
    payload = replace(PROBE, gate=replace(PROBE.gate, probe="readiness"))
    outcome = await measurer(to_server, images=("example.com/gates/",)).measure(payload)
    assert (outcome.result, list(server.seen)) == (Result.FAILED, [])


async def test_the_image_of_a_driver_is_pulled_wherever_it_comes_from(
    server: standin.StandIn, to_server: Client
) -> None:
    """The definition lets no gate of a rollout have that name."""
    server.will(standin.gives({}, code=201))
    pull = replace(PROBE, gate=Gate(name=PREPULL, image="nvcr.io/nvidia/driver:580", command=("true",), gpus=0))
    outcome = await measurer(to_server, images=("example.com/gates/",)).measure(pull)
    assert outcome.result is Result.DONE


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        (standin.refuses(404, "NotFound", 'namespaces "seatrial" not found'), Result.FAILED),
        (standin.refuses(409, "AlreadyExists", "it is there"), Result.DONE),
        (standin.refuses(409, "Conflict", "the namespace is being terminated"), Result.STALE),
        (standin.refuses(403, "Forbidden", "exceeded quota"), Result.FAILED),
    ],
)
async def test_how_making_a_job_ended_is_told(
    server: standin.StandIn, to_server: Client, reply: standin.Reply, result: Result
) -> None:
    """Whoever made one of the same name asked the same; a namespace that is missing is not there a moment later."""
    server.will(reply)
    assert (await measurer(to_server).measure(PROBE)).result is result


async def test_what_a_job_needs_is_there_before_it(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives({}, code=201))
    await measurer(to_server).measure(replace(PROBE, by_claim=True, gang=("n1", "n2")))
    assert [seen.path.rpartition("/")[2] for seen in server.seen] == ["resourceclaimtemplates", "services", "jobs"]


async def test_of_a_rollout_that_is_gone_nothing_is_measured(server: standin.StandIn, to_server: Client) -> None:
    class Nobody:
        def stored_rollout(self, name: str) -> models.Rollout | None: ...

    outcome = await JobMeasurer(to_server, Nobody(), home=keys.HOME, level=Level.BASELINE, images=()).measure(PROBE)
    assert (outcome.result, outcome.detail, server.seen) == (Result.STALE, "GPURollout spring is gone", [])


async def test_a_gate_may_take_as_much_of_its_node_as_the_administrator_says(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(standin.gives({}, code=201))
    limits = {"memory": "128Gi"}
    asking = JobMeasurer(to_server, Rollouts(), home=keys.HOME, level=Level.BASELINE, images=(), limits=limits)
    await asking.measure(PROBE)
    (container,) = json.loads(server.seen[-1].body)["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"memory": "128Gi", "nvidia.com/gpu": "1"}
