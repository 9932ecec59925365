"""The controller that is installed: by its Deployment, else by the usual name of its account, else nobody."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from aiohttp import web

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.surveying import installed
from seatrial.adapters.kube.surveying.installed import Controller, Mounted
from tests.adapters.kube import standin

FORBIDDEN = standin.refuses(403, "Forbidden")
MISSING = standin.refuses(404, "NotFound", name="it")


def items(*found: dict[str, Any]) -> standin.Reply:
    return standin.gives({"metadata": {"resourceVersion": "7"}, "items": list(found)})


def by_path(**replies: standin.Reply) -> standin.Reply:
    """Answer by the last word of the path that is known; whatever else is asked is forbidden."""

    async def reply(request: web.Request) -> web.StreamResponse:
        known: Callable[[web.Request], Any] = next(
            (made for word, made in replies.items() if word in request.path), FORBIDDEN
        )
        answer: web.StreamResponse = await known(request)
        return answer

    return reply


def a_deployment(namespace: str = "seatrial") -> dict[str, Any]:
    secret = {"name": "git-0", "secret": {"secretName": "seatrial-git"}}
    container = {
        "name": "controller",
        "args": ["controller", "--gates-namespace=seatrial-gates", "--git-allow", "https://a.example", "--git-allow=b"],
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, {"name": "git-0", "mountPath": "/var/run/git/0"}],
    }
    pod = {
        "serviceAccountName": "robot",
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}, secret],
    }
    return {"metadata": {"name": "x", "namespace": namespace}, "spec": {"template": {"spec": pod}}}


async def test_a_deployment_tells_the_account_the_arguments_and_what_is_mounted(
    server: standin.StandIn, to_server: Client
) -> None:
    leases = items({"metadata": {"name": "seatrial", "namespace": "ours"}})
    server.will(by_path(leases=leases, deployments=items(a_deployment("another"), a_deployment("ours"))))
    found = await installed.controller_of(to_server)
    assert found is not None
    assert (found.namespace, found.account) == ("ours", "robot")
    assert (found.said("--git-allow"), found.said("--gates-namespace")) == (
        ("b", "https://a.example"),
        ("seatrial-gates",),
    )
    assert found.mounts == (Mounted(path="/var/run/git/0", secret="seatrial-git"),)
    assert (found.secret_at("/var/run/git/0/"), found.secret_at("/tmp")) == ("seatrial-git", "")
    asked = next(each for each in server.seen if "deployments" in each.path)
    assert asked.query["labelSelector"] == installed.SELECTOR


async def test_without_a_deployment_the_usual_account_is_meant_where_its_lease_is(
    server: standin.StandIn, to_server: Client
) -> None:
    leases = items({"metadata": {"name": "seatrial", "namespace": "ours"}})
    account = standin.gives({"metadata": {"name": "seatrial-controller"}})
    server.will(by_path(leases=leases, serviceaccounts=account))
    assert await installed.controller_of(to_server) == Controller(namespace="ours", account="seatrial-controller")
    assert server.seen[-1].path == "/api/v1/namespaces/ours/serviceaccounts/seatrial-controller"


async def test_where_nothing_may_be_read_nobody_is_to_be_seen(server: standin.StandIn, to_server: Client) -> None:
    server.will(FORBIDDEN)
    assert await installed.controller_of(to_server) is None
    server.will(by_path(leases=items(), deployments=items(), serviceaccounts=MISSING))
    assert await installed.controller_of(to_server) is None


async def test_a_secret_is_what_it_holds_or_nothing(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives({"data": {"username": b64encode(b"robot").decode()}}))
    assert await installed.secret_of(to_server, "seatrial", "git") == {"username": b"robot"}
    for reply in (FORBIDDEN, MISSING, standin.gives({"data": {"username": "%"}})):
        server.will(reply)
        assert await installed.secret_of(to_server, "seatrial", "git") is None
