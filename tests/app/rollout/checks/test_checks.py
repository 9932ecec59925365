"""What is checked before a start, as values: the images that are meant, the rights that are needed, who is asked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.surveying.installed import Controller
from seatrial.app.rollout import fields, images, rights
from seatrial.app.rollout.check import Check, Verdict, failed
from seatrial.app.rollout.outset import Outset
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import ByHand, Via
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.releases import Holder
from seatrial.core.model.target import Target
from tests import builders
from tests.adapters.http.test_registry import DRIVER, Registry, serving
from tests.adapters.kube import standin
from tests.app.rollout.test_rehearsing import around, live

CONTROLLER = Controller(namespace="ours", account="robot", arguments=("--gates-namespace=gates", "--namespace", "gpu"))
FORBIDDEN = standin.refuses(403, "Forbidden", "you may not")


def running(image: str, version: str = builders.OLD.version) -> NodeSeen:
    node = live("n1")
    assert node.facts.wanted is not None
    return replace(node, facts=replace(node.facts, wanted=replace(node.facts.wanted, image=image, version=version)))


# ── images ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("tag", "verdict"), [("", Verdict.FAILS), ("-ubuntu22.04", Verdict.OK)])
async def test_the_image_of_the_new_version_is_looked_for_where_the_old_one_is(
    client: Client, tag: str, verdict: Verdict
) -> None:
    served = Registry()
    async with serving(served):
        node = running(f"{served.host}/{DRIVER}:{builders.OLD.version}{tag}")
        (found,) = await images.checks(client, around(node))
    assert served.seen == [("HEAD", f"/v2/{DRIVER}/manifests/{builders.NEW.version}{tag}", "")]
    assert found.verdict is verdict, found.why


async def test_an_image_that_does_not_tell_its_version_is_not_known_and_nobody_is_asked(client: Client) -> None:
    (found,) = await images.checks(client, around(running("nvcr.io/nvidia/driver@sha256:" + "0" * 64, version="")))
    assert (found.verdict, "only known when the version is published" in found.why) == (Verdict.UNKNOWN, True)


async def test_what_people_move_by_hand_has_no_image(client: Client) -> None:
    assert await images.checks(client, around(by_hand=ByHand(component=Component.FIRMWARE_CX7))) == ()


def moving(outset: Outset, *beside: tuple[Component, str]) -> Outset:
    """The same rollout with operands that move with the driver."""
    return replace(outset, intent=replace(outset.intent, target=Target.of(builders.NEW.version, *beside)))


TOOLKIT = (Component.CONTAINER_TOOLKIT, builders.NEW.version)  # the registry that is served knows this tag
PLUGIN = (Component.DEVICE_PLUGIN, "v0.18.0")


async def test_the_image_of_an_operand_is_put_together_from_what_the_policy_says(
    cluster: standin.StandIn, client: Client
) -> None:
    served = Registry()
    repository, _, image = DRIVER.rpartition("/")
    async with serving(served):
        named = {"repository": f"{served.host}/{repository}", "image": image, "version": "v1.17.8"}
        cluster.will(standin.gives({"spec": {"toolkit": named, "devicePlugin": {"version": "v0.17.0"}}}))
        found = await images.checks(client, moving(around(running("", version="")), TOOLKIT, PLUGIN))
    assert served.seen == [("HEAD", f"/v2/{DRIVER}/manifests/{builders.NEW.version}", "")]
    assert [each.verdict for each in found] == [Verdict.UNKNOWN, Verdict.FAILS, Verdict.FAILS]
    assert "does not exist" in found[1].why
    assert "names no spec.devicePlugin.repository" in found[2].why


async def test_a_policy_that_cannot_be_read_names_no_image(cluster: standin.StandIn, client: Client) -> None:
    cluster.will(FORBIDDEN)
    found = await images.checks(client, moving(around(running("", version="")), TOOLKIT))
    assert [each.verdict for each in found] == [Verdict.UNKNOWN, Verdict.UNKNOWN]


async def test_every_version_and_the_strategy_are_tried_on_the_policy(cluster: standin.StandIn, client: Client) -> None:
    cluster.will(standin.gives({}))
    await fields.check(client, moving(around(sets_on_delete=True), PLUGIN))
    (asked,) = cluster.seen
    spec = json.loads(asked.body)["spec"]
    assert spec == {
        "driver": {"version": builders.NEW.version},
        "devicePlugin": {"version": "v0.18.0"},
        "daemonsets": {"updateStrategy": "OnDelete"},
    }


# ── rights ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def allows(*, is_allowed: bool) -> standin.Reply:
    return standin.gives({"status": {"allowed": is_allowed}}, code=201)


async def test_every_right_is_asked_about_the_controllers_account(cluster: standin.StandIn, client: Client) -> None:
    cluster.will(allows(is_allowed=True))
    found = await rights.check(client, around(gates=(Gate(name="a", image="a:1"),)), CONTROLLER, "gpu-operator")
    assert found.verdict is Verdict.OK, found.why
    bodies = [each.body.decode() for each in cluster.seen]
    assert all('"user":"system:serviceaccount:ours:robot"' in body for body in bodies)
    assert all('"system:serviceaccounts:ours"' in body for body in bodies)
    assert any('"jobs"' in body and '"namespace":"gates"' in body for body in bodies)
    assert any('"verb":"delete"' in body and '"namespace":"gpu"' in body for body in bodies)


async def test_a_missing_right_is_named_with_its_verb_its_kind_and_its_namespace(
    cluster: standin.StandIn, client: Client
) -> None:
    cluster.will(allows(is_allowed=False))
    found = await rights.check(client, around(publish=Via.NOBODY), CONTROLLER, "gpu-operator")
    assert found.verdict is Verdict.FAILS
    assert "ours/robot may not " in found.why
    for right in ("patch nodes", "create pods/eviction", "delete pods in namespace gpu"):
        assert right in found.why


async def test_a_release_that_we_write_needs_the_right_on_what_holds_it(
    cluster: standin.StandIn, client: Client
) -> None:
    cluster.will(allows(is_allowed=False))
    holder = Holder(component=Component.GPU_OPERATOR, resource="HelmRelease/gpu/stack", version="v25.3.4")
    outset = around(operator=replace(builders.an_operator(), holders=(holder,)), publish=Via.DIRECT)
    found = await rights.check(client, moving(outset, (Component.GPU_OPERATOR, "v25.10.0")), CONTROLLER, "gpu")
    assert "patch helmreleases.helm.toolkit.fluxcd.io stack in namespace gpu" in found.why


@pytest.mark.parametrize("reply", [FORBIDDEN, standin.refuses(500, "InternalError")])
async def test_who_may_not_ask_or_gets_no_answer_does_not_know(
    cluster: standin.StandIn, client: Client, reply: standin.Reply
) -> None:
    cluster.will(reply)
    assert (await rights.check(client, around(), CONTROLLER, "gpu-operator")).verdict is Verdict.UNKNOWN
    assert (await rights.check(client, around(), None, "gpu-operator")).why == rights.NOBODY


# ── fields ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_version_is_tried_on_what_carries_it_and_not_kept(cluster: standin.StandIn, client: Client) -> None:
    cluster.will(standin.gives({}))
    found = await fields.check(client, around())
    assert (found.verdict, found.why.endswith(f"and the version in {builders.POLICY}")) == (Verdict.OK, True)
    (asked,) = cluster.seen
    assert (asked.verb, asked.query["dryRun"], asked.query["fieldValidation"]) == ("PATCH", "All", "Strict")
    assert builders.NEW.version in asked.body.decode()


@pytest.mark.parametrize(
    ("reply", "verdict", "says"),
    [
        (standin.refuses(422, "Invalid", "spec.driver.version: no"), Verdict.FAILS, "spec.driver.version: no"),
        (FORBIDDEN, Verdict.UNKNOWN, "which you may not"),
        (standin.refuses(500, "InternalError", "etcd is gone"), Verdict.UNKNOWN, "etcd is gone"),
    ],
)
async def test_what_carries_the_version_may_not_take_it(
    cluster: standin.StandIn, client: Client, reply: standin.Reply, verdict: Verdict, says: str
) -> None:
    cluster.will(reply)
    found = await fields.check(client, around())
    assert found.verdict is verdict
    assert says in found.why


async def test_what_is_published_by_commits_is_tried_nowhere_else(cluster: standin.StandIn, client: Client) -> None:
    found = await fields.check(client, around(publish=Via.GIT))
    assert (found.verdict, cluster.seen) == (Verdict.OK, [])


async def test_a_rollout_that_the_server_does_not_take_is_told_in_its_words(
    cluster: standin.StandIn, client: Client
) -> None:
    cluster.will(standin.refuses(400, "BadRequest", 'strict decoding error: unknown field "spec.canray"'))
    with pytest.raises(fields.FieldsRefused, match=r"unknown field \"spec.canray\"\. Correct it, or bring the CRD"):
        await fields.made_of(client, {})


def test_only_what_fails_speaks_against_a_start() -> None:
    made = {each: Check(about="a", verdict=each, why="b") for each in Verdict}
    assert failed(tuple(made.values())) == (made[Verdict.FAILS],)
    assert [each.line for each in made.values()] == ["ok         a: b", "fails      a: b", "not known  a: b"]
