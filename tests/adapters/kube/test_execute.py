"""Each act as the API server gets it, and each answer as the Outcome it becomes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import keys, kinds, models, records, rollout_records
from seatrial.adapters.kube.writing.execute import KubeCluster
from seatrial.core.actions.on_nodes import (
    AskCheckpoint,
    Cordon,
    EvictPods,
    PauseClients,
    ReleaseMaintenance,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import GuardRollout, Keeping, ReleaseRollout
from seatrial.core.actions.on_rollouts import WriteRolloutRecord as WriteLedger
from seatrial.core.model.policy import Drain, Eviction, JobWait, Policy
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.rollouts import Admission, RolloutRecord, Summary
from seatrial.core.model.selectors import Selector, drain_selector
from seatrial.ports import ClusterAct, Outcome, Result
from tests.adapters.kube import objects, standin

RECORD = NodeRecord(phase=NodePhase.WAIT_FOR_JOBS_REQUIRED, attempt=1, entered_at=1000.0, is_cordon_ours=True)
CORDON = Cordon(node="n1", record=RECORD, expect="7")
RESTART = RestartPod(
    node="n1", attempt=1, operand=Operand.DRIVER, namespace="gpu-operator", pod="driver-n1", uid="uid-driver"
)
WEBHOOK = "https://saver.example/save"
REQUEST = RequestMaintenance(
    node="n1",
    attempt=1,
    namespace="ops",
    name="nvidia-operator-n1",
    requestor="seatrial.dev",
    policy=Policy(
        jobs=JobWait(selector=Selector.parse("kind=job"), timeout_seconds=30.0), eviction=Eviction(force=True)
    ),
)
JOIN = replace(REQUEST, joins="12")
RELEASE = ReleaseMaintenance(
    node="n1",
    attempt=1,
    namespace="ops",
    name="nvidia-operator-n1",
    requestor="seatrial.dev",
    uid="uid-nm",
    resource_version="13",
    is_ours=True,
)
LEAVE = replace(RELEASE, is_ours=False, stay=("nvidia.network.operator",))
MAINTENANCES = "/apis/maintenance.nvidia.com/v1alpha1/namespaces/ops/nodemaintenances"
LEDGER = WriteLedger(
    record=RolloutRecord(
        name="spring",
        resource_version="40",
        admitted=(Admission(node="n1", attempt=1),),
        summary=Summary(state="progressing"),
        summarised_at=1000.0,
    )
)
BUDGET = "The disruption budget service needs 8 healthy pods and has 8 currently"
NAMED = "PodDisruptionBudget jobs/service needs 8 healthy pods and has 8 currently"


@dataclass(slots=True)
class Reader:
    """Remembers what it was told."""

    has_operator: bool = False
    nodes: list[kinds.Node] = field(default_factory=list)
    rollouts: list[models.Rollout] = field(default_factory=list)
    records: dict[str, str] = field(default_factory=dict)

    def wrote_node(self, node: kinds.Node) -> None:
        self.nodes.append(node)

    def wrote_rollout(self, rollout: models.Rollout) -> None:
        self.rollouts.append(rollout)

    def stored_rollout(self, name: str) -> models.Rollout | None:
        return models.Rollout(metadata=models.ObjectMeta(name=name, resource_version="40", generation=3))

    def stored_record(self, node: str) -> str:
        return self.records.get(node, "")

    def is_operator_present(self) -> bool:
        return self.has_operator

    def is_network_operator_present(self) -> bool:
        return True


def a_pod(number: int = 0) -> Pod:
    return Pod(namespace="jobs", name=f"train-{number}", uid=f"uid-{number}")


def evicting(*numbers: int) -> EvictPods:
    return EvictPods(node="n1", attempt=1, pods=tuple(a_pod(number) for number in numbers))


def asking(*numbers: int, webhook: str = "") -> AskCheckpoint:
    pods = tuple(a_pod(number) for number in numbers)
    return AskCheckpoint(node="n1", attempt=1, pods=pods, token="spring.n1.1", webhook=webhook)


def blocked_by_budget() -> standin.Reply:
    """The API server's answer to an eviction that a PodDisruptionBudget forbids."""
    words = "Cannot evict pod as it would violate the pod's disruption budget."
    causes = [{"reason": "DisruptionBudget", "message": BUDGET}]
    return standin.refuses(429, "TooManyRequests", words, causes=causes)


async def try_out(client: Client, action: ClusterAct, reader: Reader | None = None, **options: Any) -> Outcome:
    """Do one act and wait for its answer."""
    cluster = KubeCluster(client, reader or Reader(), **{"is_leader": lambda: True, **options})
    return await cluster.do(action)


@dataclass(slots=True)
class Keeper(Reader):
    """Shows a rollout with these finalizers."""

    finalizers: tuple[str, ...] = ()

    def stored_rollout(self, name: str) -> models.Rollout | None:
        meta = models.ObjectMeta(name=name, resource_version="40", finalizers=self.finalizers)
        return models.Rollout(metadata=meta)


THEIRS = "example.com/backup"


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        (GuardRollout(rollout="spring", expect="40"), (THEIRS,), [THEIRS, keys.FINALIZER]),
        (GuardRollout(rollout="spring", expect="40"), (), [keys.FINALIZER]),
        (ReleaseRollout(rollout="spring", expect="40"), (keys.FINALIZER, THEIRS), [THEIRS]),
        (ReleaseRollout(rollout="spring", expect="40"), (keys.FINALIZER,), []),
    ],
)
async def test_our_finalizer_comes_and_goes_and_those_of_others_stay(
    server: standin.StandIn, to_server: Client, action: Keeping, before: tuple[str, ...], after: list[str]
) -> None:
    written = {"metadata": {"name": "spring", "uid": "u", "resourceVersion": "41", "finalizers": after}, "spec": {}}
    server.will(standin.gives(written))
    reader = Keeper(finalizers=before)
    assert await try_out(to_server, action, reader) == Outcome(action=action, result=Result.DONE)
    (request,) = server.seen
    assert (request.verb, request.path) == ("PATCH", "/apis/seatrial.dev/v1alpha1/gpurollouts/spring")
    assert json.loads(request.body) == {"metadata": {"resourceVersion": "40", "finalizers": after}}
    # Without a finalizer a deleted rollout is gone, and must not be shown again.
    assert len(reader.rollouts) == bool(after)


async def test_people_are_told_what_stays_before_the_rollout_goes(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives({"metadata": {"name": "spring"}, "spec": {}}))
    action, told = ReleaseRollout(rollout="spring", expect="40", left=("n1 stays cordoned",)), []

    async def farewell(act: ReleaseRollout) -> None:
        told.append((act.left, len(server.seen)))

    outcome = await try_out(to_server, action, Keeper(finalizers=(keys.FINALIZER,)), farewell=farewell)
    assert (outcome.result, told, len(server.seen)) == (Result.DONE, [(("n1 stays cordoned",), 0)], 1)


async def test_a_rollout_is_not_let_go_by_who_stopped_leading_while_people_were_told(
    server: standin.StandIn, to_server: Client
) -> None:
    action = ReleaseRollout(rollout="spring", expect="40")

    async def farewell(_: ReleaseRollout) -> None:
        pass

    outcome = await try_out(to_server, action, Keeper(), farewell=farewell, is_leader=lambda: False)
    assert (outcome.result, server.seen) == (Result.STALE, [])


# ── what is sent ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [WriteNodeRecord, Cordon, Uncordon, PauseClients])
@pytest.mark.parametrize("has_operator", [True, False])
async def test_a_record_is_one_patch_of_the_node(
    server: standin.StandIn, to_server: Client, kind: type[WriteNodeRecord], has_operator: bool
) -> None:
    server.will(standin.gives(objects.a_node("n1", version="8")))
    action = kind(node="n1", record=RECORD, expect="7")
    reader = Reader(has_operator=has_operator)

    outcome = await try_out(to_server, action, reader)

    assert outcome == Outcome(action=action, result=Result.DONE)
    (request,) = server.seen
    assert (request.verb, request.path) == ("PATCH", "/api/v1/nodes/n1")
    assert request.query == {"fieldValidation": "Strict", "fieldManager": "seatrial"}
    assert request.headers["Content-Type"] == "application/merge-patch+json"
    assert json.loads(request.body) == records.node_patch(action, mirror=not has_operator)
    assert json.loads(request.body)["metadata"]["resourceVersion"] == "7"
    assert [node.metadata.resource_version for node in reader.nodes] == ["8"]
    assert outcome.uid == "uid-n1"


@pytest.mark.parametrize("operand", Operand)
async def test_an_operands_pod_is_deleted_only_if_it_is_the_one_we_looked_at(
    server: standin.StandIn, to_server: Client, operand: Operand
) -> None:
    server.will(standin.gives({}))
    action = replace(RESTART, operand=operand)
    assert await try_out(to_server, action) == Outcome(action=action, result=Result.DONE)
    (request,) = server.seen
    assert (request.verb, request.path) == ("DELETE", "/api/v1/namespaces/gpu-operator/pods/driver-n1")
    assert json.loads(request.body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "uid-driver"},
    }


async def test_each_pod_is_asked_to_leave_by_its_own_eviction(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives({}, code=201))
    assert await try_out(to_server, evicting(0, 1)) == Outcome(action=evicting(0, 1), result=Result.DONE)
    asked = sorted((request.verb, request.path, json.loads(request.body)["deleteOptions"]) for request in server.seen)
    assert [(verb, path, options["preconditions"]) for verb, path, options in asked] == [
        ("POST", "/api/v1/namespaces/jobs/pods/train-0/eviction", {"uid": "uid-0"}),
        ("POST", "/api/v1/namespaces/jobs/pods/train-1/eviction", {"uid": "uid-1"}),
    ]


async def test_a_record_keeps_what_a_later_release_wrote_into_it(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives(objects.a_node("n1")))
    reader = Reader(records={"n1": '{"schema":2,"phase":"upgrade-done","attempt":1,"enteredAt":"x","moon":"full"}'})
    await try_out(to_server, CORDON, reader)
    (request,) = server.seen
    written = json.loads(json.loads(request.body)["metadata"]["annotations"][keys.RECORD_ANNOTATION])
    assert (written["moon"], written["phase"]) == ("full", CORDON.record.phase)


async def test_the_ledger_is_replaced_at_the_version_we_looked_at(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives(objects.a_rollout(version="41")))
    reader = Reader()
    assert await try_out(to_server, LEDGER, reader) == Outcome(action=LEDGER, result=Result.DONE)
    (request,) = server.seen
    assert (request.verb, request.path) == ("PATCH", f"{keys.ROLLOUTS}/spring/status")
    assert request.headers["Content-Type"] == "application/merge-patch+json"
    assert json.loads(request.body) == rollout_records.rollout_patch(LEDGER.record, reader.stored_rollout("spring"))
    assert [rollout.metadata.resource_version for rollout in reader.rollouts] == ["41"]


async def test_each_pod_is_asked_to_save_its_work_if_it_is_the_one_we_looked_at(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(standin.gives({}))
    assert await try_out(to_server, asking(0, 1)) == Outcome(action=asking(0, 1), result=Result.DONE)
    assert sorted(
        (request.verb, request.path, json.loads(request.body)["metadata"]["uid"]) for request in server.seen
    ) == [
        ("PATCH", "/api/v1/namespaces/jobs/pods/train-0", "uid-0"),
        ("PATCH", "/api/v1/namespaces/jobs/pods/train-1", "uid-1"),
    ]
    for request in server.seen:
        assert request.headers["Content-Type"] == "application/merge-patch+json"
        annotations = json.loads(request.body)["metadata"]["annotations"]
        assert annotations == {"seatrial.dev/checkpoint-requested": "spring.n1.1"}


async def test_a_webhooks_yes_is_written_on_the_pods(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives({}))
    action = asking(0, webhook=WEBHOOK)
    assert await try_out(to_server, action) == Outcome(action=action, result=Result.DONE)
    (request,) = server.seen
    assert (request.verb, request.path) == ("PATCH", "/api/v1/namespaces/jobs/pods/train-0")
    assert json.loads(request.body) == {
        "metadata": {"uid": "uid-0", "annotations": {"seatrial.dev/checkpoint-saved": "spring.n1.1"}}
    }


async def test_who_may_not_patch_the_pods_of_a_namespace_is_told_how_that_is_granted(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(standin.refuses(403, "Forbidden", 'pods "train-0" is forbidden'))
    outcome = await try_out(to_server, asking(0))
    assert outcome.result is Result.FAILED
    assert outcome.detail.startswith("jobs in jobs may not be asked to save their work; grant it with ")
    assert "`seatrial manifests rbac --checkpoint-namespace jobs`" in outcome.detail
    assert 'pods "train-0" is forbidden' in outcome.detail


async def test_a_maintenance_of_our_own_says_what_our_policy_says(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives({}, code=201))
    assert await try_out(to_server, REQUEST) == Outcome(action=REQUEST, result=Result.DONE)
    (request,) = server.seen
    assert (request.verb, request.path) == ("POST", MAINTENANCES)
    assert json.loads(request.body) == {
        "apiVersion": "maintenance.nvidia.com/v1alpha1",
        "kind": "NodeMaintenance",
        "metadata": {"name": "nvidia-operator-n1", "namespace": "ops"},
        "spec": {
            "requestorID": "seatrial.dev",
            "nodeName": "n1",
            "cordon": True,
            "waitForPodCompletion": {"podSelector": "kind=job", "timeoutSeconds": 30},
            "drainSpec": {
                "force": True,
                "deleteEmptyDir": False,
                "timeoutSeconds": 300,
                "podEvictionFilters": [
                    {"byResourceNameRegex": r"^nvidia\.com/gpu(\..+)?$"},
                    {"byResourceNameRegex": r"^nvidia\.com/mig-.+$"},
                ],
            },
        },
    }


async def test_where_a_drain_is_allowed_the_maintenance_is_one(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives({}, code=201))
    drain = Drain(is_enabled=True, selector=drain_selector("tier=web"), rules=Eviction(timeout_seconds=60.0))
    await try_out(to_server, replace(REQUEST, policy=Policy(drain=drain)))
    assert json.loads(server.seen[0].body)["spec"] == {
        "requestorID": "seatrial.dev",
        "nodeName": "n1",
        "cordon": True,
        "drainSpec": {
            "force": False,
            "deleteEmptyDir": False,
            "timeoutSeconds": 60,
            "podSelector": str(drain_selector("tier=web")),
        },
    }


@pytest.mark.parametrize(("code", "kind"), [(404, ""), (404, "namespaces")])
async def test_a_maintenance_nobody_could_make_is_a_failure(
    server: standin.StandIn, to_server: Client, code: int, kind: str
) -> None:
    server.will(standin.refuses(code, "NotFound", "there is no such thing", kind=kind))
    outcome = await try_out(to_server, REQUEST)
    assert outcome.result is Result.FAILED
    assert "there is no such thing" in outcome.detail


async def test_our_own_maintenance_is_deleted_only_if_it_is_the_one_we_looked_at(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(standin.gives({}))
    assert await try_out(to_server, RELEASE) == Outcome(action=RELEASE, result=Result.DONE)
    (request,) = server.seen
    assert (request.verb, request.path) == ("DELETE", f"{MAINTENANCES}/nvidia-operator-n1")
    assert json.loads(request.body)["preconditions"] == {"uid": "uid-nm"}


async def test_our_name_is_added_to_a_maintenance_of_somebody_else_whoever_has_joined_before(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(standin.refuses(422, "Invalid", "the test of a value failed"), standin.gives({}))
    assert await try_out(to_server, JOIN) == Outcome(action=JOIN, result=Result.DONE)
    seen = {"op": "replace", "path": "/metadata/resourceVersion", "value": "12"}
    joined = "/spec/additionalRequestors"
    assert {(each.verb, each.path) for each in server.seen} == {("PATCH", f"{MAINTENANCES}/nvidia-operator-n1")}
    assert [json.loads(each.body) for each in server.seen] == [
        [
            seen,
            {"op": "test", "path": joined, "value": None},
            {"op": "add", "path": joined, "value": ["seatrial.dev"]},
        ],
        [seen, {"op": "add", "path": f"{joined}/-", "value": "seatrial.dev"}],
    ]


async def test_of_somebody_elses_maintenance_only_our_name_goes(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives({}))
    assert await try_out(to_server, LEAVE) == Outcome(action=LEAVE, result=Result.DONE)
    (request,) = server.seen
    assert (request.verb, request.path) == ("PATCH", f"{MAINTENANCES}/nvidia-operator-n1")
    assert json.loads(request.body) == [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "13"},
        {"op": "add", "path": "/spec/additionalRequestors", "value": ["nvidia.network.operator"]},
    ]


# ── what comes back ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("action", [CORDON, RESTART, LEDGER, JOIN, RELEASE, LEAVE])
@pytest.mark.parametrize(("code", "reason"), [(409, "Conflict"), (404, "NotFound")])
async def test_a_world_that_moved_on_makes_an_act_stale(
    server: standin.StandIn, to_server: Client, action: ClusterAct, code: int, reason: str
) -> None:
    server.will(standin.refuses(code, reason, "it is another one by now"))
    outcome = await try_out(to_server, action)
    assert outcome == Outcome(action=action, result=Result.STALE, detail="it is another one by now")
    assert len(server.seen) == 1


async def test_a_maintenance_somebody_made_meanwhile_makes_our_request_stale(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(standin.refuses(409, "AlreadyExists", "it is there already"))
    assert await try_out(to_server, REQUEST) == Outcome(
        action=REQUEST, result=Result.STALE, detail="it is there already"
    )


@pytest.mark.parametrize("action", [CORDON, RESTART, LEDGER, evicting(0), asking(0), REQUEST, JOIN, RELEASE, LEAVE])
@pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (429, "TooManyRequests"), (500, ""), (503, "")])
async def test_a_refusal_is_reported_with_its_words_and_not_tried_again(
    server: standin.StandIn, to_server: Client, action: ClusterAct, code: int, reason: str
) -> None:
    server.will(standin.refuses(code, reason, "not now"))
    outcome = await try_out(to_server, action)
    assert (outcome.result, outcome.blocked) == (Result.FAILED, ())
    assert "not now" in outcome.detail
    assert str(code) in outcome.detail
    assert len(server.seen) == 1


@pytest.mark.parametrize("action", [CORDON, RESTART, LEDGER, evicting(0), asking(0), REQUEST])
async def test_an_answer_that_does_not_come_in_time_is_a_failure(server: standin.StandIn, action: ClusterAct) -> None:
    server.will(standin.waits(server))
    async with Client(server.config(), user_agent="seatrial/test", request_timeout_seconds=0.2) as impatient:
        outcome = await try_out(impatient, action)
    assert outcome.result is Result.FAILED
    assert "within 0.2 s" in outcome.detail


async def test_a_cut_connection_is_a_failure(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.cuts)
    assert (await try_out(to_server, RESTART)).result is Result.FAILED
    assert len(server.seen) == 1


async def test_an_eviction_a_budget_forbids_is_blocked_in_the_budgets_words(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(blocked_by_budget())
    assert await try_out(to_server, evicting(0)) == Outcome(
        action=evicting(0), result=Result.BLOCKED, detail=NAMED, blocked=(("uid-0", NAMED),)
    )


@pytest.mark.parametrize(("code", "reason"), [(404, "NotFound"), (409, "Conflict")])
async def test_a_pod_that_is_gone_needs_no_eviction(
    server: standin.StandIn, to_server: Client, code: int, reason: str
) -> None:
    server.will(standin.refuses(code, reason, "pods not found"))
    assert (await try_out(to_server, evicting(0))).result is Result.DONE


@pytest.mark.parametrize(
    ("code", "reason", "details"),
    [
        (404, "NotFound", {}),
        (409, "Conflict", {}),
        (422, "Invalid", {"causes": [{"reason": "FieldValueInvalid", "field": "metadata.uid"}]}),
    ],
)
async def test_a_pod_that_is_gone_has_nothing_left_to_save(
    server: standin.StandIn, to_server: Client, code: int, reason: str, details: dict[str, Any]
) -> None:
    server.will(standin.refuses(code, reason, "it is another one by now", **details))
    assert (await try_out(to_server, asking(0))).result is Result.DONE


async def test_a_question_the_server_calls_invalid_for_another_reason_is_a_failure(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(standin.refuses(422, "Invalid", "no", causes=[{"field": "metadata.annotations"}]))
    assert (await try_out(to_server, asking(0))).result is Result.FAILED


async def test_each_pod_of_a_node_gets_its_own_answer(server: standin.StandIn, to_server: Client) -> None:
    async def answer(request: Any) -> Any:
        reply = blocked_by_budget() if "train-1" in request.path else standin.gives({}, code=201)
        return await reply(request)

    server.will(answer)
    outcome = await try_out(to_server, evicting(0, 1, 2))
    assert (outcome.result, outcome.blocked) == (Result.BLOCKED, (("uid-1", NAMED),))


async def test_a_failure_among_evictions_hides_no_budget(server: standin.StandIn, to_server: Client) -> None:
    async def answer(request: Any) -> Any:
        reply = blocked_by_budget() if "train-1" in request.path else standin.refuses(500, "", "etcd is slow")
        return await reply(request)

    server.will(answer)
    outcome = await try_out(to_server, evicting(0, 1))
    assert (outcome.result, outcome.blocked) == (Result.FAILED, (("uid-1", NAMED),))
    assert "etcd is slow" in outcome.detail
