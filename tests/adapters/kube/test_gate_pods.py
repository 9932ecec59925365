"""The pods of gates that run, do not start or have failed: which are told, and the last line of their logs."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.surveying import gate_pods
from seatrial.adapters.kube.surveying.gate_pods import GatePod, State
from tests.adapters.kube import standin

RUNNING: dict[str, Any] = {"running": {}}
ENDED = {"terminated": {"exitCode": 3, "reason": "Error", "message": "the ring is open"}}
STUCK = {"waiting": {"reason": "ImagePullBackOff", "message": "no such tag"}}


def a_pod(gate: str, state: dict[str, Any], *, phase: str = "Running", attempt: int = 1) -> dict[str, Any]:
    labels = {
        keys.GATE_KEY: gate,
        keys.NODE_KEY: "n1",
        keys.ROUND_KEY: "1",
        keys.ATTEMPT_KEY: str(attempt),
        keys.JOB_LABEL: f"gate-{gate}-{attempt}",
    }
    return {
        "metadata": {"name": f"{gate}-{attempt}-x", "namespace": "gates", "labels": labels},
        "spec": {"nodeName": "n1", "containers": [{"name": "probe"}]},
        "status": {"phase": phase, "containerStatuses": [{"name": "probe", "state": state}]},
    }


def serves(*pods: dict[str, Any], log: standin.Reply) -> standin.Reply:
    listing = standin.gives({"metadata": {"resourceVersion": "7"}, "items": list(pods)})

    async def reply(request: web.Request) -> web.StreamResponse:
        return await (log if request.path.endswith("/log") else listing)(request)

    return reply


async def test_a_gate_that_runs_is_told_with_its_last_line_made_harmless(
    server: standin.StandIn, to_server: Client
) -> None:
    long = "x" * 300
    for text, last in (("one\n\x1b[31mtwo\x1b[0m\n\n", "two"), (long, long[:199] + "…"), ("", "")):
        server.will(serves(a_pod("smoke", RUNNING), log=standin.says(text, code=200)))
        assert await gate_pods.gate_pods(to_server, "spring") == (
            GatePod(
                gate="smoke",
                node="n1",
                namespace="gates",
                job="gate-smoke-1",
                pod="smoke-1-x",
                state=State.RUNNING,
                has_run=True,
                last=last,
            ),
        )
    listed, read, *_ = server.seen
    assert listed.query["labelSelector"] == f"{keys.GATE_KEY},{keys.ROLLOUT_LABEL}=spring"
    assert (read.path, read.query["container"], read.query["tailLines"]) == (
        "/api/v1/namespaces/gates/pods/smoke-1-x/log",
        "probe",
        str(gate_pods.LINES),
    )


async def test_one_that_has_failed_says_how_and_of_its_tries_the_last_is_told(
    server: standin.StandIn, to_server: Client
) -> None:
    pods = (a_pod("smoke", ENDED, phase="Failed", attempt=10), a_pod("smoke", ENDED, phase="Failed", attempt=9))
    server.will(serves(*pods, a_pod("nccl", ENDED, phase="Succeeded"), log=standin.says("late", code=200)))
    (found,) = await gate_pods.gate_pods(to_server, "spring")
    assert (found.pod, found.state, found.why) == ("smoke-10-x", State.FAILED, "exit code 3: the ring is open")
    assert found.last == "late"


async def test_one_that_does_not_start_has_no_log_to_read(server: standin.StandIn, to_server: Client) -> None:
    server.will(serves(a_pod("smoke", STUCK, phase="Pending"), log=standin.says("never", code=200)))
    (found,) = await gate_pods.gate_pods(to_server, "spring")
    assert (found.state, found.why, found.last) == (State.STUCK, "ImagePullBackOff: no such tag", "")
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (standin.refuses(403, "Forbidden", "no"), "you may not read its log"),
        (
            standin.refuses(500, "InternalError", "the kubelet is gone"),
            "its log could not be read: the kubelet is gone",
        ),
        (standin.cuts, "its log could not be read: GET "),
    ],
)
async def test_a_log_that_cannot_be_read_is_said_and_is_no_error(
    server: standin.StandIn, to_server: Client, log: standin.Reply, says: str
) -> None:
    server.will(serves(a_pod("smoke", RUNNING), log=log))
    (found,) = await gate_pods.gate_pods(to_server, "spring")
    assert found.unread.startswith(says)
    assert len(found.unread) <= gate_pods.LINE_MAX


async def test_who_may_not_list_pods_and_a_rollout_without_any_are_told_nothing(
    server: standin.StandIn, to_server: Client
) -> None:
    for reply in (standin.refuses(403, "Forbidden"), serves(log=standin.cuts)):
        server.will(reply)
        assert await gate_pods.gate_pods(to_server, "spring") == ()


async def test_there_is_an_end_to_it_and_who_has_not_ended_comes_first(
    server: standin.StandIn, to_server: Client
) -> None:
    failed = [a_pod(f"a{number}", ENDED, phase="Failed") for number in range(gate_pods.SHOWN_MAX)]
    server.will(serves(*failed, a_pod("z", RUNNING), log=standin.says("so", code=200)))
    found = await gate_pods.gate_pods(to_server, "spring")
    assert [each.gate for each in found] == ["z", "a0", "a1", "a2"]
