"""What a campaign writes is bound to what was looked at: whoever was there first is not overwritten.

Without a cluster: the stand-in refuses, as an API server does, a write that names another version than it has. Which
writes there are, and that a real server takes them, is in test_execute_campaign.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import keys, kinds, models
from seatrial.adapters.kube.writing import config_maps
from seatrial.adapters.kube.writing.execute import KubeCluster
from seatrial.core.actions.at_home import Publish
from seatrial.core.actions.of_campaigns import MakePool, MarkNode, PausePool, RemovePool, SetAutoUpgrade
from seatrial.core.model.campaign import PublishStep, Switch, Via
from seatrial.ports import ClusterAct, Outcome, Result
from tests.adapters.kube import standin
from tests.adapters.kube.versioned import Objects

OLD, NEW, THEIRS = "570.124.06", "580.105.08", "590.44.01"
POLICY, DRIVER, NODE = "ClusterPolicy/gpu", "NVIDIADriver/a100", "n1"
PATHS = {
    POLICY: f"{keys.CLUSTER_POLICIES}/gpu",
    DRIVER: f"{keys.NVIDIA_DRIVERS}/a100",
    NODE: f"{keys.NODES}/n1",
    "pool": f"{keys.MACHINE_POOLS}/gpu-canary",
}
PUBLISH = Publish(
    rollout="spring", step=PublishStep.CANARY, versions=((POLICY, NEW),), via=Via.DIRECT, note="spring/canary"
)


class Reader:
    """Is told what was written, and knows nothing else."""

    def __init__(self) -> None:
        self.nodes: list[kinds.Node] = []

    def wrote_node(self, node: kinds.Node) -> None:
        self.nodes.append(node)

    def wrote_rollout(self, rollout: models.Rollout) -> None: ...

    def stored_rollout(self, name: str) -> models.Rollout | None: ...

    def stored_record(self, node: str) -> str:  # noqa: ARG002  the port has it
        return ""

    def is_operator_present(self) -> bool:
        return True

    def is_network_operator_present(self) -> bool:
        return True


@pytest.fixture
def cluster(server: standin.StandIn) -> Objects:
    """Owners of drivers, a node and a pool, as they were looked at."""
    there = Objects()
    env = [{"name": "DRAIN_USE_FORCE", "value": "true"}]
    there.put(PATHS[POLICY], {"spec": {"driver": {"version": OLD, "image": "driver", "manager": {"env": env}}}})
    there.put(PATHS[DRIVER], {"spec": {"version": OLD, "image": "driver"}})
    there.put(PATHS[NODE], {"metadata": {"labels": {"kept": "yes"}, "annotations": {"kept": "too"}}})
    there.put(PATHS["pool"], {"spec": {"paused": False}})
    server.will(there.answer)
    return there


def seen(cluster: Objects, name: str) -> str:
    version: str = cluster.get(PATHS[name])["metadata"]["resourceVersion"]
    return version


async def try_out(client: Client, act: ClusterAct, reader: Reader | None = None, **options: Any) -> Outcome:
    return await KubeCluster(client, reader or Reader(), **{"is_leader": lambda: True, **options}).do(act)


# ── who was there first ──────────────────────────────────────────────────────────────────────────────────────────────

SWITCH = Switch(resource=POLICY, name="ENABLE_AUTO_DRAIN", value="false")
BOUND: dict[str, tuple[str, ClusterAct]] = {
    "a version of a ClusterPolicy": (POLICY, PUBLISH),
    "a version of an NVIDIADriver": (DRIVER, replace(PUBLISH, versions=((DRIVER, NEW),))),
    "a version and what the driver manager is told": (POLICY, replace(PUBLISH, switches=(SWITCH,))),
    "NVIDIA's own upgrading": (POLICY, SetAutoUpgrade(rollout="spring", resource=POLICY, value=True)),
    "the canary's mark": (NODE, MarkNode(node=NODE, rollout="spring", expect="", canary=True)),
    "our skip label": (NODE, MarkNode(node=NODE, rollout="spring", expect="", skip=True)),
    "a pause of a pool": ("pool", PausePool(rollout="spring", name="gpu-canary", value=True, expect="")),
    "the end of a pool": ("pool", RemovePool(rollout="spring", name="gpu-canary", expect="")),
}


def looked_at(act: ClusterAct, name: str, version: str) -> ClusterAct:
    if isinstance(act, Publish):
        return replace(act, expects=((name, version),))
    assert isinstance(act, SetAutoUpgrade | MarkNode | PausePool | RemovePool)
    return replace(act, expect=version)


@pytest.mark.parametrize("what", BOUND)
async def test_what_somebody_changed_since_it_was_looked_at_is_not_written(
    cluster: Objects, to_server: Client, what: str
) -> None:
    name, act = BOUND[what]
    before = seen(cluster, name)
    cluster.put(PATHS[name], {"spec": {"driver": {"version": THEIRS}, "version": THEIRS}, "metadata": {"labels": {}}})
    theirs = cluster.get(PATHS[name])
    assert (await try_out(to_server, looked_at(act, name, before))).result is Result.STALE
    assert cluster.get(PATHS[name]) == theirs


@pytest.mark.parametrize("what", BOUND)
async def test_what_is_as_it_was_looked_at_is_written(cluster: Objects, to_server: Client, what: str) -> None:
    name, act = BOUND[what]
    bound = looked_at(act, name, before := seen(cluster, name))
    outcome = await try_out(to_server, bound)
    assert outcome.result is Result.DONE
    assert not cluster.has(PATHS[name]) or seen(cluster, name) != before


async def test_a_list_that_is_written_as_a_whole_is_the_one_that_was_read(
    cluster: Objects, server: standin.StandIn, to_server: Client
) -> None:
    """Also for whoever does not say which version was looked at: an entry added meanwhile would be lost."""

    async def answer(request: Any) -> Any:
        reply = await cluster.answer(request)
        if request.method == "GET":  # and then somebody adds an entry
            env = [{"name": "THEIRS", "value": "1"}]
            cluster.put(PATHS[POLICY], {"spec": {"driver": {"version": OLD, "manager": {"env": env}}}})
        return reply

    server.will(answer)
    assert (await try_out(to_server, replace(PUBLISH, switches=(SWITCH,)))).result is Result.STALE
    assert cluster.get(PATHS[POLICY])["spec"]["driver"]["manager"]["env"] == [{"name": "THEIRS", "value": "1"}]


async def test_a_config_map_is_written_as_it_was_read_and_no_successor_of_its_name(
    cluster: Objects, to_server: Client
) -> None:
    path = "/api/v1/namespaces/gpu/configmaps/matrix"
    cluster.put(path, {"data": {"matrix.yaml": "old"}})
    read = await config_maps.read(to_server, "gpu", "matrix")
    cluster.put(path, {"data": {"matrix.yaml": "theirs"}})
    with pytest.raises(errors.Conflict):
        await config_maps.write(to_server, read, {"matrix.yaml": "ours"}, {})
    read = await config_maps.read(to_server, "gpu", "matrix")
    await config_maps.write(to_server, read, {"matrix.yaml": "ours"}, {"note": "1"})
    written = cluster.get(path)
    assert (written["data"], written["metadata"]["annotations"]) == ({"matrix.yaml": "ours"}, {"note": "1"})

    read = await config_maps.read(to_server, "gpu", "matrix")
    cluster.remove(path)
    cluster.put(path, {"data": {"matrix.yaml": "of another one"}})
    with pytest.raises(errors.Conflict):
        await config_maps.write(to_server, read, {"matrix.yaml": "ours"}, {})


# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_version_its_note_and_the_driver_managers_switch_are_one_write_and_all_else_stays(
    cluster: Objects, server: standin.StandIn, to_server: Client
) -> None:
    assert (await try_out(to_server, replace(PUBLISH, switches=(SWITCH,)))).result is Result.DONE
    written = cluster.get(PATHS[POLICY])
    env = [{"name": "DRAIN_USE_FORCE", "value": "true"}, {"name": "ENABLE_AUTO_DRAIN", "value": "false"}]
    assert written["spec"] == {"driver": {"version": NEW, "image": "driver", "manager": {"env": env}}}
    assert written["metadata"]["annotations"] == {keys.PUBLISHED_ANNOTATION: "spring/canary"}
    assert [request.verb for request in server.seen] == ["GET", "PATCH"]
    assert server.seen[-1].query["fieldValidation"] == "Strict"


async def test_a_server_that_stores_something_else_is_told_and_nothing_further_is_written(
    cluster: Objects, server: standin.StandIn, to_server: Client
) -> None:
    async def answer(request: Any) -> Any:
        if request.path == PATHS[DRIVER]:
            pytest.fail("the second one was not to be written")
        return await standin.gives({"spec": {"driver": {"version": THEIRS}}})(request)

    server.will(answer)
    outcome = await try_out(to_server, replace(PUBLISH, versions=((POLICY, NEW), (DRIVER, NEW))))
    assert outcome.result is Result.FAILED
    assert outcome.detail == f"{POLICY} should have {NEW}, but the server stored {THEIRS}"


async def test_who_stopped_leading_publishes_no_further_version(cluster: Objects, to_server: Client) -> None:
    answers = iter([True, False])
    both = replace(PUBLISH, versions=((POLICY, NEW), (DRIVER, NEW)))
    outcome = await try_out(to_server, both, is_leader=lambda: next(answers))
    assert (outcome.result, outcome.detail) == (Result.STALE, "another controller leads by now")
    assert cluster.get(PATHS[POLICY])["spec"]["driver"]["version"] == NEW
    assert cluster.get(PATHS[DRIVER])["spec"]["version"] == OLD


async def test_what_owns_no_drivers_is_not_written(
    cluster: Objects, server: standin.StandIn, to_server: Client
) -> None:
    for odd in ("DaemonSet/driver", "ClusterPolicy", "ClusterPolicy/"):
        acts = (
            replace(PUBLISH, versions=((odd, NEW),)),
            SetAutoUpgrade(rollout="spring", resource=odd, value=False),
        )
        for act in acts:
            assert (await try_out(to_server, act)).result is Result.FAILED
    assert server.seen == []


@pytest.mark.parametrize("value", [True, False])
async def test_nvidias_own_upgrading_is_what_it_was_to_be_or_that_is_said(
    cluster: Objects, server: standin.StandIn, to_server: Client, value: bool
) -> None:
    act = SetAutoUpgrade(rollout="spring", resource=POLICY, value=value)
    assert (await try_out(to_server, act)).result is Result.DONE
    assert cluster.get(PATHS[POLICY])["spec"]["driver"]["upgradePolicy"] == {"autoUpgrade": value}
    act = replace(act, resource=DRIVER)
    assert (await try_out(to_server, act)).result is Result.DONE
    assert cluster.get(PATHS[DRIVER])["spec"]["upgradePolicy"] == {"autoUpgrade": value}

    server.will(standin.gives({"spec": {"upgradePolicy": {"autoUpgrade": not value}}}))
    outcome = await try_out(to_server, act)
    assert (outcome.result, f"was to be {value}, and is {not value}" in outcome.detail) == (Result.FAILED, True)


async def test_a_node_gets_its_marks_in_one_write_and_loses_them_without_a_trace(
    cluster: Objects, server: standin.StandIn, to_server: Client
) -> None:
    reader = Reader()
    for marked in (True, False):
        act = MarkNode(node=NODE, rollout="spring", expect=seen(cluster, NODE), canary=marked, skip=marked)
        outcome = await try_out(to_server, act, reader)
        node = cluster.get(PATHS[NODE])["metadata"]
        assert outcome == Outcome(action=act, result=Result.DONE, uid=node["uid"])
        ours = {keys.CANARY_LABEL: "spring", keys.SKIP_LABEL: "true"} if marked else {}
        note = {keys.SKIPPED_BY_ANNOTATION: "spring"} if marked else {}
        assert (node["labels"], node["annotations"]) == ({"kept": "yes", **ours}, {"kept": "too", **note})
        assert reader.nodes[-1].metadata.resource_version == node["resourceVersion"], "the next look knows of it"
    assert len(server.seen) == 2


async def test_a_skip_label_that_is_handed_over_stays_without_our_name(cluster: Objects, to_server: Client) -> None:
    await try_out(to_server, MarkNode(node=NODE, rollout="spring", expect=seen(cluster, NODE), skip=True))
    over = MarkNode(node=NODE, rollout="spring", expect=seen(cluster, NODE), is_handed_over=True)
    await try_out(to_server, over)
    node = cluster.get(PATHS[NODE])["metadata"]
    assert (node["labels"][keys.SKIP_LABEL], node["annotations"]) == ("true", {"kept": "too"})


async def test_a_pool_is_paused_in_our_name_and_let_go_without_it(cluster: Objects, to_server: Client) -> None:
    for paused in (True, False):
        act = PausePool(rollout="spring", name="gpu-canary", value=paused, expect=seen(cluster, "pool"))
        assert (await try_out(to_server, act)).result is Result.DONE
        pool = cluster.get(PATHS["pool"])
        assert pool["spec"]["paused"] is paused
        assert pool["metadata"]["annotations"] == ({keys.PAUSED_BY_ANNOTATION: "spring"} if paused else {})


async def test_a_pause_that_was_not_stored_is_said(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives({"spec": {"paused": False}}))
    outcome = await try_out(to_server, PausePool(rollout="spring", name="gpu-canary", value=True, expect="1"))
    assert (outcome.result, outcome.detail) == (Result.FAILED, "paused of gpu-canary was to be True, and is False")


async def test_the_pool_of_a_canary_is_made_once_and_never_where_there_is_no_openshift(
    cluster: Objects, server: standin.StandIn, to_server: Client
) -> None:
    pool = MakePool(rollout="spring", name="new-canary")
    assert (await try_out(to_server, pool)).result is Result.DONE
    assert cluster.get(f"{keys.MACHINE_POOLS}/new-canary")["metadata"]["labels"] == {keys.ROLLOUT_LABEL: "spring"}
    assert (await try_out(to_server, pool)).result is Result.STALE
    server.will(standin.refuses(404, "NotFound", "the server could not find the requested resource"))
    outcome = await try_out(to_server, pool)
    assert (outcome.result, "could not find" in outcome.detail) == (Result.FAILED, True)
