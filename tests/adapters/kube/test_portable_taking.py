"""What is taken of a cluster for a snapshot: every list once, whole, and of a rollout what we can read."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.portable import taking
from seatrial.adapters.kube.shapes import keys
from tests.adapters.kube import objects, standin


def serves(path: str, *answers: standin.Reply) -> standin.Reply:
    """These answers to whoever asks for one path, the last of them for ever; nothing is installed beside it."""
    due = list(answers)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path != path:
            return await standin.refuses(404, "NotFound", "the server could not find it")(request)
        return await (due.pop(0) if len(due) > 1 else due[0])(request)

    return answer


def a_list(*things: dict[str, Any], more: str = "") -> standin.Reply:
    return standin.gives({"metadata": {"resourceVersion": "100", "continue": more}, "items": list(things)})


async def test_a_list_that_outlived_its_version_is_read_once_more_from_the_beginning(
    server: standin.StandIn, to_server: Client
) -> None:
    n1, n2 = objects.a_node("n1"), objects.a_node("n2")
    server.will(serves(keys.NODES, a_list(n1, more="n1"), standin.refuses(410, "Expired"), a_list(n1, n2)))
    taken = await taking.take(to_server, namespace=objects.NAMESPACE, with_logs=False)
    assert [each["metadata"]["name"] for each in taken.lists[keys.NODES]] == ["n1", "n2"]


async def test_how_far_it_is_is_told_by_what_was_read_so_far(
    server: standin.StandIn, to_server: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "TOLD_EVERY", 2)
    server.will(serves(keys.NODES, a_list(*(objects.a_node(f"n{number}") for number in range(5)))))
    told: list[tuple[str, int]] = []
    await taking.take(
        to_server, namespace=objects.NAMESPACE, with_logs=False, on_read=lambda what, count: told.append((what, count))
    )
    assert told == [("nodes", 2), ("nodes", 4)]


async def test_of_a_rollout_that_another_release_wrote_what_cannot_be_read_is_left_out(
    server: standin.StandIn, to_server: Client
) -> None:
    ours = objects.a_rollout("spring", order="name", later={"secret": "x"})
    theirs = objects.a_rollout("autumn", order=7, status={"state": "progressing", "later": "x"})
    server.will(serves(keys.ROLLOUTS, a_list(ours, theirs)))
    taken = await taking.take(to_server, namespace=objects.NAMESPACE, with_logs=False)
    spring, autumn = taken.lists[keys.ROLLOUTS]
    assert "later" not in spring["spec"]
    assert spring["spec"]["target"] == ours["spec"]["target"]
    assert (autumn["metadata"]["name"], autumn["spec"]) == ("autumn", {})
    assert autumn["status"] == {"state": "progressing"}
