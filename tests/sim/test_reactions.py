"""How the simulated cluster answers our acts, and what it then does by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import (
    AskCheckpoint,
    Cordon,
    EvictPods,
    PauseClients,
    ReleaseMaintenance,
    Request,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.budget.losses import COUNT_LABEL, GPU
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.policy import Policy
from seatrial.core.model.seen.nodes import Loaded, Maintenance, NodeFacts, NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import DraPlugin, Pod, PodOwner, ValidatorPod
from seatrial.core.model.troubles import Trouble, diagnose
from seatrial.core.node.readiness import why_unproven
from seatrial.core.node.writing import PAUSED
from seatrial.sim.acts import Refused, apply
from seatrial.sim.driver_pods import UNLOADABLE
from seatrial.sim.nodes import HEALTHY, JOB_LABEL, Fate, new_node, rebooted
from seatrial.sim.reactions import CORDON_NOTE, REACTIONS
from tests.builders import (
    NEW,
    OLD,
    a_dra_plugin,
    a_driver,
    a_gpu_pod,
    a_new_driver,
    a_node,
    a_starting_driver,
    a_validator,
    proving,
    written,
)

FAILING = Fate(driver_fails_on=NEW.version)


# ── our acts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("by", "before", "after"),
    [
        (WriteNodeRecord, False, False),
        (WriteNodeRecord, True, True),
        (Cordon, False, True),
        (Cordon, True, True),
        (Uncordon, True, False),
    ],
)
def test_a_record_and_its_cordon_are_written_at_once(by: type[WriteNodeRecord], before: bool, after: bool) -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED, is_cordoned=before, is_retry_asked=True, is_label_lost=True)
    act = written(node, NodePhase.WAIT_FOR_JOBS_REQUIRED, by)
    facts = replace(node.facts, is_cordoned=after, resource_version="8")
    assert apply(node, act) == NodeSeen(facts=facts, record=act.record)


def test_a_write_on_an_old_view_is_refused() -> None:
    act = written(a_node(phase=NodePhase.UPGRADE_REQUIRED), NodePhase.CORDON_REQUIRED)
    answer = apply(a_node(resource_version="9"), act)
    assert answer == Refused(is_stale=True, why="the node is at 9, not at 7")


def test_pods_asked_to_leave_are_on_their_way_out() -> None:
    node = a_node(pods=(a_gpu_pod(0), a_gpu_pod(1), a_gpu_pod(2, is_terminating=True)))
    pods = (a_gpu_pod(0, is_terminating=True), a_gpu_pod(1), a_gpu_pod(2, is_terminating=True))
    act = EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(0),))
    assert apply(node, act) == replace(node, facts=replace(node.facts, pods=pods))


def test_a_budget_that_allows_nothing_blocks_evictions() -> None:
    act = EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(),))
    answer = apply(a_node(pods=(a_gpu_pod(),)), act, Fate(is_eviction_blocked=True))
    assert answer == Refused(is_stale=False, why="the disruption budget needs every pod it has")


DEPLOY = "nvidia.com/gpu.deploy.dcgm"


def test_a_paused_label_is_a_change_of_the_node() -> None:
    """Labels are not compared, so the version has to tell the two nodes apart."""
    node = a_node(phase=NodePhase.POD_DELETION_REQUIRED, labels={DEPLOY: "true", "rack": "r1"})
    act = replace(written(node, NodePhase.POD_DELETION_REQUIRED, PauseClients), labels=((DEPLOY, PAUSED),))
    answer = apply(node, act)
    assert isinstance(answer, NodeSeen)
    assert answer.facts.labels == {DEPLOY: PAUSED, "rack": "r1"}
    assert answer.facts == replace(node.facts, resource_version="8", paused_labels=(DEPLOY,))


@pytest.mark.parametrize(
    ("answered", "asked"),
    [
        (Request.UPGRADE, "is_requested"),
        (Request.SAFE_LOAD, "awaits_safe_load"),
        (Request.ACCEPT_LOSS, "is_loss_accepted"),
    ],
)
def test_a_request_that_is_answered_is_gone_and_the_others_stay(answered: Request, asked: str) -> None:
    node = a_node(is_requested=True, awaits_safe_load=True, is_loss_accepted=True)
    act = replace(written(node, NodePhase.UPGRADE_REQUIRED), answers=(answered,))
    changes: dict[str, Any] = {"resource_version": "8", asked: False}
    assert apply(node, act) == NodeSeen(facts=replace(node.facts, **changes), record=act.record)


def a_restart(operand: Operand, uid: str) -> RestartPod:
    namespace = "dra" if operand is Operand.DRA_PLUGIN else "gpu-operator"
    pod = uid.rpartition("-")[0]
    return RestartPod(node="n1", attempt=1, operand=operand, namespace=namespace, pod=pod, uid=uid)


RESTARTS = [
    (a_restart(Operand.DRIVER, "driver-n1-0"), {"driver": a_driver(is_terminating=True)}),
    (a_restart(Operand.VALIDATOR, "validator-n1-0"), {"validator": a_validator(is_terminating=True)}),
    (a_restart(Operand.DRA_PLUGIN, "plugin-n1-0"), {"dra": a_dra_plugin(is_terminating=True)}),
]


@pytest.mark.parametrize(("act", "changes"), RESTARTS)
def test_a_pod_that_is_deleted_stops_and_deleting_twice_is_deleting_once(
    act: RestartPod, changes: dict[str, Any]
) -> None:
    node = a_node(dra=a_dra_plugin())
    stopping = replace(node, facts=replace(node.facts, **changes))
    assert (apply(node, act), apply(stopping, act)) == (stopping, stopping)


@pytest.mark.parametrize("operand", list(Operand))
@pytest.mark.parametrize("pods", [{"driver": None, "validator": None}, {"dra": a_dra_plugin()}])
def test_a_pod_that_is_another_one_by_now_is_left_alone(operand: Operand, pods: dict[str, Any]) -> None:
    answer = apply(a_node(**pods), a_restart(operand, "an-older-one"))
    assert answer == Refused(is_stale=True, why=f"the {operand} pod is another one by now")


@pytest.mark.parametrize("uid", ["8c0f1b1e-6c56-4a58-8f3c-ec0c82ba1b4c", "8c0f1b1e-6c56-4a58-8f3c-140082991142"])
def test_a_pod_as_a_real_cluster_names_it_has_a_successor(uid: str) -> None:
    node = a_node(driver=a_driver(uid=uid, is_terminating=True))
    after = REACTIONS["driver pod replaced"](node.facts, HEALTHY, 0.0)
    assert after is not None
    assert after.driver is not None
    assert after.driver.uid == f"{uid}-1"


SAVING = a_gpu_pod(0, offers_checkpoint=True)


def an_asking(webhook: str = "") -> AskCheckpoint:
    return AskCheckpoint(node="n1", attempt=1, pods=(SAVING,), token="spring.n1.1", webhook=webhook)


def test_jobs_are_asked_to_save_their_work() -> None:
    node = a_node(pods=(SAVING, a_gpu_pod(1)))
    asked = (replace(SAVING, checkpoint_asked="spring.n1.1"), a_gpu_pod(1))
    assert apply(node, an_asking()) == replace(node, facts=replace(node.facts, pods=asked))


def test_a_webhook_says_not_yet_until_the_work_is_saved() -> None:
    node, asking = a_node(pods=(SAVING,)), an_asking("https://save.example")
    answer = apply(node, asking, Fate(is_work_unsaved=True))
    assert answer == Refused(is_stale=False, why="the work is not saved yet")
    saved = a_node(pods=(replace(SAVING, checkpoint_saved="spring.n1.1"),))
    assert (apply(node, asking), apply(saved, asking)) == (saved, saved)


OURS = Maintenance(
    namespace="default", name="nvidia-operator-n1", uid="nvidia-operator-n1-1", resource_version="1", requestor="us"
)
THEIRS = replace(OURS, uid="m1", requestor="them")
"""Somebody else's, under the name that ours would have: such a one is joined."""
APART = replace(THEIRS, name="firmware")


def a_request(joins: str = "") -> RequestMaintenance:
    return RequestMaintenance(
        node="n1",
        attempt=1,
        namespace="default",
        name=OURS.name,
        requestor="us",
        policy=Policy(),
        joins=joins,
    )


def a_release(found: Maintenance, stay: tuple[str, ...] = ()) -> ReleaseMaintenance:
    return ReleaseMaintenance(
        node="n1",
        attempt=1,
        namespace=found.namespace,
        name=found.name,
        requestor="us",
        uid=found.uid,
        resource_version=found.resource_version,
        is_ours=found.requestor == "us",
        stay=stay,
    )


JOINED = replace(THEIRS, others=("us",), resource_version="2")
OTHER_ONE = Refused(is_stale=True, why="the NodeMaintenance is another one by now")


@pytest.mark.parametrize(
    ("before", "act", "after"),
    [
        (None, a_request(), OURS),
        (APART, a_request(), OURS),
        (THEIRS, a_request("1"), JOINED),
        (OURS, a_release(OURS), replace(OURS, is_deleting=True, resource_version="2")),
        (JOINED, a_release(JOINED), replace(THEIRS, resource_version="3")),
    ],
)
def test_a_maintenance_is_asked_for_joined_released_and_left(
    before: Maintenance | None, act: RequestMaintenance | ReleaseMaintenance, after: Maintenance
) -> None:
    node = a_node(maintenance=before)
    assert apply(node, act) == replace(node, facts=replace(node.facts, maintenance=after))


@pytest.mark.parametrize(
    ("before", "act"),
    [(THEIRS, a_request()), (None, a_request("1")), (JOINED, a_request("1")), (None, a_release(OURS))],
)
def test_a_maintenance_that_is_another_one_by_now_is_left_alone(
    before: Maintenance | None, act: RequestMaintenance | ReleaseMaintenance
) -> None:
    assert apply(a_node(maintenance=before), act) == OTHER_ONE


# ── the world by itself ──────────────────────────────────────────────────────────────────────────────────────────────

CRASHED = a_starting_driver(restart_count=11, trouble="CrashLoopBackOff", symptoms=(UNLOADABLE,))
FRESH = a_starting_driver(uid="driver-n1-1")
FRESH_VALIDATOR = ValidatorPod(namespace="gpu-operator", name="validator-n1", uid="validator-n1-1")
FRESH_PLUGIN = DraPlugin(namespace="dra", name="plugin-n1", uid="plugin-n1-1")
JOB = a_gpu_pod(1, labels=((JOB_LABEL, "train"),))
CLAIMING = a_gpu_pod(2, holds_claim=True, is_terminating=True)
CLIENT = Pod(
    namespace="gpu-operator",
    name="dcgm-n1",
    uid="dcgm-n1-400",
    gpu=GpuUse.RESOURCE,
    keeper=PodOwner.DAEMON_SET,
    deploy_label=DEPLOY,
)
SAME = replace(NEW, digest="same")
EIGHT, NONE, SEVEN = (GpuOffer(resources=((GPU, count),)) for count in (8, 0, 7))
COUNTED = {COUNT_LABEL: "8"}
SUSPENDED = a_gpu_pod(3, workload="job-train", suspended_for="t")
ASKED = replace(SAVING, checkpoint_asked="t")
READY = replace(OURS, is_ready=True, resource_version="2")
LEAVING: dict[str, Any] = {"maintenance": replace(OURS, is_deleting=True), "is_cordoned": True}


@pytest.mark.parametrize(
    ("what", "before", "fate", "after"),
    [
        ("pods leave", {"pods": (a_gpu_pod(0, is_terminating=True), JOB)}, HEALTHY, {"pods": (JOB,)}),
        ("pods leave", {"pods": (a_gpu_pod(0),)}, HEALTHY, None),
        ("pods leave", {"pods": (CLAIMING,), "dra": a_dra_plugin()}, HEALTHY, {"pods": ()}),
        ("pods leave", {"pods": (CLAIMING,), "dra": FRESH_PLUGIN}, HEALTHY, None),
        ("job finishes", {"pods": (a_gpu_pod(0), JOB)}, HEALTHY, {"pods": (a_gpu_pod(0),)}),
        ("job finishes", {"pods": (a_gpu_pod(0),)}, HEALTHY, None),
        ("job finishes", {"pods": (JOB,)}, Fate(is_job_endless=True), None),
        ("work is saved", {"pods": (ASKED,)}, HEALTHY, {"pods": (replace(ASKED, checkpoint_saved="t"),)}),
        ("work is saved", {"pods": (ASKED,)}, Fate(is_work_unsaved=True), None),
        ("work is saved", {"pods": (SAVING,)}, HEALTHY, None),
        (
            "Kueue ends pods",
            {"pods": (SUSPENDED, JOB)},
            HEALTHY,
            {"pods": (replace(SUSPENDED, is_terminating=True), JOB)},
        ),
        ("Kueue ends pods", {"pods": (SUSPENDED,)}, Fate(is_work_unsaved=True), None),
        ("Kueue ends pods", {"pods": (JOB,)}, HEALTHY, None),
        ("paused clients leave", {"pods": (CLIENT,), "labels": {DEPLOY: PAUSED}}, HEALTHY, {"pods": ()}),
        ("paused clients leave", {"pods": (CLIENT, JOB), "labels": {DEPLOY: "true"}}, HEALTHY, None),
        ("clients come back", {"labels": {DEPLOY: "true"}}, HEALTHY, {"pods": (CLIENT,)}),
        ("clients come back", {"labels": {DEPLOY: "true"}, "pods": (CLIENT,)}, HEALTHY, None),
        ("clients come back", {"labels": {DEPLOY: PAUSED}}, HEALTHY, None),
        ("clients come back", {"labels": {DEPLOY: "true"}, "driver": a_starting_driver()}, HEALTHY, None),
        ("driver pod replaced", {"driver": a_driver(is_terminating=True)}, HEALTHY, {"driver": FRESH}),
        ("driver pod replaced", {"driver": a_driver()}, HEALTHY, None),
        ("driver pod replaced", {"driver": a_driver(is_terminating=True), "wanted": None}, HEALTHY, None),
        (
            "driver pod replaced",
            {"driver": a_driver(is_terminating=True), "offer": EIGHT},
            HEALTHY,
            {"driver": FRESH, "offer": NONE, "resource_version": "8"},
        ),
        (
            "driver pod replaced",
            {"driver": a_driver(is_terminating=True, digest="same"), "wanted": SAME, "offer": EIGHT},
            HEALTHY,
            {"driver": replace(FRESH, digest="same")},
        ),
        (
            "driver pod replaced",
            {"driver": a_driver(is_terminating=True)},
            Fate(is_load_guarded=True),
            {"driver": FRESH, "awaits_safe_load": True, "resource_version": "8"},
        ),
        (
            "driver gets ready",
            {"driver": a_starting_driver()},
            HEALTHY,
            {"driver": a_new_driver(ready_since=400.0)},
        ),
        ("driver gets ready", {"driver": a_starting_driver()}, FAILING, None),
        ("driver gets ready", {"driver": a_starting_driver(), "awaits_safe_load": True}, HEALTHY, None),
        ("driver gets ready", {"driver": a_new_driver()}, HEALTHY, None),
        ("driver gets ready", {"driver": a_starting_driver(is_terminating=True)}, HEALTHY, None),
        ("driver gets ready", {"driver": None}, HEALTHY, None),
        ("driver crash loops", {"driver": a_starting_driver()}, FAILING, {"driver": CRASHED}),
        ("driver crash loops", {"driver": CRASHED}, FAILING, None),
        ("driver crash loops", {"driver": a_starting_driver()}, HEALTHY, None),
        ("driver crash loops", {"driver": a_starting_driver(), "awaits_safe_load": True}, FAILING, None),
        ("GPUs offered", {"offer": NONE, "labels": COUNTED}, HEALTHY, {"offer": EIGHT, "resource_version": "8"}),
        (
            "GPUs offered",
            {"offer": NONE, "labels": COUNTED},
            Fate(is_gpu_lost=True),
            {"offer": SEVEN, "resource_version": "8"},
        ),
        ("GPUs offered", {"offer": SEVEN, "labels": COUNTED}, HEALTHY, None),
        ("GPUs offered", {"offer": NONE, "labels": COUNTED, "driver": a_starting_driver()}, HEALTHY, None),
        ("GPUs offered", {}, HEALTHY, None),
        (
            "features discovered",
            {"driver": a_new_driver(), "loaded": Loaded(version=OLD.version, seen_at=150.0)},
            HEALTHY,
            {"loaded": Loaded(version=NEW.version, seen_at=400.0), "resource_version": "8"},
        ),
        (
            "features discovered",
            {"driver": a_new_driver(), "loaded": Loaded(version=NEW.version, seen_at=300.0)},
            HEALTHY,
            None,
        ),
        ("features discovered", {"driver": a_new_driver()}, HEALTHY, None),
        (
            "features discovered",
            {"driver": a_starting_driver(), "loaded": Loaded(version=OLD.version)},
            HEALTHY,
            None,
        ),
        ("validator restarts", {"driver": a_new_driver()}, HEALTHY, {"validator": FRESH_VALIDATOR}),
        ("validator restarts", {"driver": a_new_driver()}, Fate(is_validator_lazy=True), None),
        ("validator restarts", {"driver": a_new_driver(), "validator": proving()}, HEALTHY, None),
        ("validator restarts", {"driver": a_starting_driver()}, HEALTHY, None),
        (
            "validator replaced",
            {"validator": a_validator(is_terminating=True)},
            Fate(is_validator_lazy=True),
            {"validator": FRESH_VALIDATOR},
        ),
        ("validator replaced", {}, HEALTHY, None),
        (
            "validator passes",
            {"driver": a_new_driver(), "validator": FRESH_VALIDATOR},
            HEALTHY,
            {"validator": replace(FRESH_VALIDATOR, is_ready=True, ready_since=400.0)},
        ),
        ("validator passes", {"driver": a_starting_driver(), "validator": FRESH_VALIDATOR}, HEALTHY, None),
        ("validator passes", {"driver": a_new_driver(), "validator": proving()}, HEALTHY, None),
        ("DRA plugin replaced", {"dra": a_dra_plugin(is_terminating=True)}, HEALTHY, {"dra": FRESH_PLUGIN}),
        ("DRA plugin replaced", {"dra": a_dra_plugin(), "driver": a_new_driver()}, HEALTHY, None),
        (
            "DRA plugin starts",
            {"dra": FRESH_PLUGIN, "driver": a_new_driver(), "published": (OLD.version,)},
            HEALTHY,
            {"dra": replace(FRESH_PLUGIN, is_ready=True, started_at=400.0), "published": (NEW.version,)},
        ),
        ("DRA plugin starts", {"dra": FRESH_PLUGIN, "driver": a_starting_driver()}, HEALTHY, None),
        ("DRA plugin starts", {"dra": a_dra_plugin(), "driver": a_new_driver()}, HEALTHY, None),
        (
            "maintenance begins",
            {"maintenance": OURS, "pods": (JOB, CLIENT)},
            HEALTHY,
            {"is_cordoned": True, "resource_version": "8", "pods": (replace(JOB, is_terminating=True), CLIENT)},
        ),
        (
            "maintenance begins",
            {"maintenance": OURS, "pods": (JOB,), "is_cordoned": True},
            HEALTHY,
            {"pods": (replace(JOB, is_terminating=True),)},
        ),
        ("maintenance begins", {"maintenance": OURS, "is_cordoned": True}, HEALTHY, None),
        ("maintenance begins", {}, HEALTHY, None),
        ("maintenance gets ready", {"maintenance": OURS, "is_cordoned": True}, HEALTHY, {"maintenance": READY}),
        ("maintenance gets ready", {"maintenance": OURS}, HEALTHY, None),
        ("maintenance gets ready", {"maintenance": OURS, "is_cordoned": True, "pods": (JOB,)}, HEALTHY, None),
        ("maintenance gets ready", {"maintenance": READY, "is_cordoned": True}, HEALTHY, None),
        (
            "maintenance gets ready",
            {"maintenance": OURS, "is_cordoned": True},
            Fate(is_maintenance_stuck=True),
            None,
        ),
        (
            "maintenance ends",
            LEAVING | {"labels": {CORDON_NOTE: "true"}},
            HEALTHY,
            {"maintenance": None, "is_cordoned": False, "resource_version": "8"},
        ),
        ("maintenance ends", LEAVING, HEALTHY, {"maintenance": None}),
        (
            "maintenance ends",
            {"maintenance": replace(OURS, is_deleting=True, others=("them",)), "is_cordoned": True},
            HEALTHY,
            None,
        ),
        ("maintenance ends", {"maintenance": READY, "is_cordoned": True}, HEALTHY, None),
    ],
)
def test_the_world_reacts_where_it_has_reason_to(
    what: str, before: dict[str, Any], fate: Fate, after: dict[str, Any] | None
) -> None:
    facts = a_node(**before).facts
    assert REACTIONS[what](facts, fate, 400.0) == (None if after is None else replace(facts, **after))


@pytest.mark.parametrize("what", REACTIONS)
def test_whatever_changes_a_label_changes_the_version(what: str) -> None:
    """Labels are not compared: without another version the explorer would take two states for one."""
    started: dict[str, Any] = {"maintenance": OURS, "labels": {DEPLOY: "true"} | COUNTED, "offer": NONE}
    ending = LEAVING | {"labels": {CORDON_NOTE: "true"}}
    for before in (started, ending):
        facts = a_node(**before).facts
        after = REACTIONS[what](facts, HEALTHY, 400.0)
        assert after is None or after.labels == facts.labels or after.resource_version != facts.resource_version


def test_a_driver_that_fails_says_why() -> None:
    diagnosis = diagnose([UNLOADABLE])
    assert diagnosis is not None
    assert diagnosis.trouble is Trouble.MODULE_LOAD


def settle(facts: NodeFacts, fate: Fate) -> NodeFacts:
    """Let every reaction happen until none applies, one second after the other."""
    for second in range(30):
        following = (reaction(facts, fate, 500.0 + second) for reaction in REACTIONS.values())
        facts = next((after for after in following if after is not None), facts)
    return facts


def remembering(node: NodeSeen) -> NodeRecord:
    """A record of what the node offered before it was touched."""
    offer = replace(node.facts.offer, has_dra_plugin=node.facts.dra is not None, has_slices=bool(node.facts.published))
    return NodeRecord(phase=NodePhase.VALIDATION_REQUIRED, attempt=1, entered_at=0.0, before=offer)


FULL: dict[str, Any] = {"gpu_count": 8, "has_features": True, "has_dra": True, "clients": ("dcgm",)}


@pytest.mark.parametrize("changes", [{}, {key: FULL[key] for key in ("gpu_count", "has_features", "clients")}])
def test_a_deleted_driver_comes_back_new_and_is_proven(changes: dict[str, Any]) -> None:
    node = new_node("n1", running=OLD, wanted=NEW, at=100.0, **changes)
    assert node.facts.driver is not None
    stopping = replace(node.facts, driver=replace(node.facts.driver, is_terminating=True))
    settled = settle(stopping, HEALTHY)
    assert (settled.is_in_sync, why_unproven(settled, remembering(node))) == (True, None)


def test_a_driver_that_fails_never_gets_ready() -> None:
    settled = settle(a_node(driver=a_driver(is_terminating=True)).facts, FAILING)
    assert settled.driver == replace(CRASHED, uid="driver-n1-1")


def test_a_new_node_is_healthy_and_wants_another_driver() -> None:
    node = new_node("n1", running=OLD, wanted=NEW, gpu_pod_count=2, at=100.0)
    pods = tuple(a_gpu_pod(number, name=f"train-n1-{number}", uid=f"pod-n1-{number}") for number in range(2))
    assert node == a_node(resource_version="1", pods=pods, ready_at=100.0, boot_id="n1-boot-0")


def test_a_new_node_with_everything_is_proven_and_does_nothing_by_itself() -> None:
    node = new_node("n1", running=NEW, wanted=NEW, gpu_pod_count=1, **FULL)
    assert node.facts.labels == {DEPLOY: "true", COUNT_LABEL: "8"}
    assert why_unproven(node.facts, remembering(node)) is None
    assert {what: reaction(node.facts, HEALTHY, 400.0) for what, reaction in REACTIONS.items()} == dict.fromkeys(
        REACTIONS
    )


# ── fates that were added from incidents ─────────────────────────────────────────────────────────────────────────────

STARTING: dict[str, Any] = {"driver": a_starting_driver()}


@pytest.mark.parametrize(
    ("what", "before", "fate"),
    [
        ("pods leave", {"pods": (replace(JOB, is_terminating=True),)}, Fate(is_pod_stuck=True)),
        ("driver gets ready", STARTING, Fate(image_missing_for=NEW.version)),
        (
            "validator passes",
            {"driver": a_new_driver(), "validator": a_validator(is_ready=False)},
            Fate(cuda_fails_on=NEW.version),
        ),
    ],
)
def test_what_is_in_store_for_a_node_keeps_a_reaction_from_happening(
    what: str, before: dict[str, Any], fate: Fate
) -> None:
    facts = a_node(**before).facts
    assert REACTIONS[what](facts, HEALTHY, 500.0) is not None
    assert REACTIONS[what](facts, fate, 500.0) is None


def test_an_image_that_cannot_be_pulled_is_told_once() -> None:
    facts = a_node(**STARTING).facts
    fate = Fate(image_missing_for=NEW.version)
    told = REACTIONS["image pull fails"](facts, fate, 500.0)
    assert told is not None
    assert told.driver is not None
    assert (told.driver.trouble, told.driver.is_ready) == ("ImagePullBackOff", False)
    assert REACTIONS["image pull fails"](told, fate, 500.0) is None
    assert REACTIONS["image pull fails"](facts, HEALTHY, 500.0) is None


def test_a_deaf_dra_plugin_goes_on_telling_of_the_old_driver() -> None:
    fresh = replace(a_dra_plugin(), started_at=None, is_ready=False)
    facts = replace(a_node(driver=a_new_driver(), dra=fresh).facts, published=(OLD.version,))
    deaf = REACTIONS["DRA plugin starts"](facts, Fate(is_dra_deaf=True), 500.0)
    hearing = REACTIONS["DRA plugin starts"](facts, HEALTHY, 500.0)
    assert deaf is not None
    assert hearing is not None
    assert (deaf.published, hearing.published) == ((OLD.version,), (NEW.version,))


def test_after_a_reboot_the_same_pods_start_anew_and_nothing_is_proven() -> None:
    node = new_node("n1", running=OLD, wanted=OLD, gpu_count=8, has_dra=True, gpu_pod_count=1)
    facts = replace(node.facts, is_ready=False)
    after = rebooted(facts, 500.0)
    assert after.driver is not None
    assert facts.driver is not None
    assert (after.is_ready, after.driver.uid, after.driver.is_ready) == (True, facts.driver.uid, False)
    assert (after.boot_id, after.ready_at) == ("n1-boot-1", 500.0)
    assert after.driver.restart_count == 1
    assert why_unproven(after, None) is not None
    assert dict(after.offer.resources) == {GPU: 0}
    assert after.pods == facts.pods
    assert after.resource_version != facts.resource_version


def test_a_driver_without_a_version_is_in_store_for_no_trouble() -> None:
    facts = a_node(driver=a_starting_driver(version="")).facts
    assert REACTIONS["driver gets ready"](facts, HEALTHY, 500.0) is not None
    assert REACTIONS["driver crash loops"](facts, HEALTHY, 500.0) is None
