"""What a real API server makes of a GPURollout: what cannot be meant is refused in a sentence, what is left out is
filled in, and what would strand a campaign under way cannot be changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.shapes import models, rollout_records
from seatrial.core.model.campaign import CampaignRecord, Mode, RolloutPhase, Turn, Watched
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.rollouts import Admission, RolloutRecord, Summary, Told
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.plane.control_plane import ControlPlane

pytestmark = pytest.mark.cluster

NAME = "admitted"
DEFAULTS: dict[str, Any] = {
    "target": {"driver": "580.105.08"},
    "nodeSelector": {"nvidia.com/gpu.present": "true"},
    "order": "name",
    "retries": {"max": 0, "pauseSeconds": 300},
    "checkpoint": {"timeoutSeconds": 600},
    "driverTimeoutSeconds": 1800,
    "validationTimeoutSeconds": 600,
    "paused": False,
    "mode": "auto",
    "prepull": True,
    "onDelete": "leave",
}
"""What the API server fills in where a rollout names its target alone."""
GIT = {"url": "https://git.example/gpu.git"}
STILL = {"pausePools": ["worker", "gpu-worker"]}
GATE = {"name": "nccl", "image": "registry.example/nccl-tests:2.27"}
FIRMWARE = {"component": "firmware_cx7", "version": "28.43.2026"}
NIGHT = {"start": "22:00", "minutes": 360}

Submit = Callable[..., dict[str, Any]]


@pytest.fixture
def submit(cluster: ControlPlane) -> Iterator[Submit]:
    """Create a rollout and give back its spec as it is stored; removed after the test."""

    def create(**spec: Any) -> dict[str, Any]:
        rollout = a_rollout(NAME, spec)
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(rollout))
        return stored(cluster)

    yield create
    cluster.kubectl("delete", "gpurollout", NAME, "--ignore-not-found")


def a_rollout(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": name},
        "spec": {"target": {"driver": "580.105.08"}, **spec},
    }


def stored(cluster: ControlPlane) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get("gpurollout", NAME)["spec"]
    return found


def patch(cluster: ControlPlane, **spec: Any) -> None:
    cluster.kubectl("patch", "gpurollout", NAME, "--type=merge", "-p", json.dumps({"spec": spec}))


# ── what is accepted, and filled in ──────────────────────────────────────────────────────────────────────────────────


def test_a_rollout_that_names_its_target_alone_is_no_campaign(submit: Submit) -> None:
    assert submit() == DEFAULTS


def test_a_canary_alone_makes_a_campaign(submit: Submit) -> None:
    assert submit(canary={}) == DEFAULTS | {"canary": {"count": 1}}


def test_every_default_of_a_campaign_is_filled_in(submit: Submit) -> None:
    asked: dict[str, Any] = {
        "canary": {},
        "matrix": {"git": GIT},
        "publish": {},
        "gates": [GATE],
        "bake": {},
        "waves": {},
        "windows": {"open": [NIGHT]},
        "approvals": {},
        "notifications": {"webhook": "https://chat.example/hook"},
    }
    assert submit(**asked) == DEFAULTS | {
        "canary": {"count": 1},
        "matrix": {"git": GIT | {"branch": "main", "path": "gpu-version-matrix.yaml"}, "entry": "canary"},
        "publish": {"via": "direct"},
        "gates": [GATE | {"gpus": 1, "timeoutSeconds": 600}],
        "bake": {"durationSeconds": 172800, "everySeconds": 3600},
        "waves": {"growth": "exponential", "first": "5%", "step": "5%", "factor": 2, "pauseSeconds": 0},
        "windows": {"timeZone": "UTC", "open": [NIGHT]},
        "approvals": {},
        "notifications": {"webhook": "https://chat.example/hook", "format": "plain"},
    }


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(
            {
                "canary": {"count": 2, "selector": {"pool": "spare"}, "machineConfigPool": "gpu"} | STILL,
                "mode": "direct",
                "matrix": {
                    "git": GIT | {"branch": "release/gpu", "path": "a/b.yaml", "commit": "0" * 40},
                    "entry": "production",
                },
                "publish": {"via": "git", "git": {"path": "clusters/gpu/values.yaml", "pullRequests": True}},
                "gates": [
                    GATE | {"command": ["all_reduce_perf", "-g", "8"], "gpus": 8, "timeoutSeconds": 1200},
                    {"name": "dcgm-3", "image": "registry.example/dcgm", "gpus": 0, "timeoutSeconds": 60},
                ],
                "bake": {"durationSeconds": 0, "everySeconds": 60},
                "waves": {
                    "growth": "percentages",
                    "percentages": [5, 25, 100],
                    "first": 1,
                    "step": "10%",
                    "factor": 3,
                    "pauseSeconds": 600,
                },
                "windows": {
                    "timeZone": "Europe/Berlin",
                    "open": [{"days": ["Sat", "Sun"], "start": "00:00", "minutes": 10080}, NIGHT],
                },
                "approvals": {"manual": ["canary", "waves", "promotion", "rollback"], "approved": ["canary"]},
                "prepull": False,
                "notifications": {"webhook": "https://chat.example/hook", "format": "slack"},
                "maintenance": {"requestorID": "seatrial.dev", "namespace": "ops", "prefix": "p", "timeoutSeconds": 9},
            },
            id="git",
        ),
        pytest.param(
            {
                "canary": {"count": 1, "nodes": ["gpu-01", "gpu-02"]},
                "matrix": {
                    "configMap": {"namespace": "seatrial", "name": "matrix", "key": "gpu.yaml"},
                    "entry": "canary",
                },
                "publish": {
                    "via": "git",
                    "git": {
                        "path": "values.yaml",
                        "url": "git@git.example:gpu.git",
                        "branch": "main",
                        "pullRequests": False,
                    },
                },
                "waves": {"growth": "linear", "first": "3", "step": 2, "factor": 2, "pauseSeconds": 0},
            },
            id="configmap",
        ),
        pytest.param(
            {
                "canary": {"count": 1},
                "publish": {"via": "none"},
                "byHand": FIRMWARE | {"before": "28.39.1002", "instructions": "By the BMC.", "oneWay": True},
                "after": "winter",
            },
            id="by-hand",
        ),
        pytest.param(
            {"canary": {"count": 1}, "mode": "delegated", "publish": {"via": "none"}, "abort": ""}, id="delegated"
        ),
    ],
)
def test_everything_a_campaign_says_is_kept_as_it_was_said(submit: Submit, said: dict[str, Any]) -> None:
    assert submit(**said) == DEFAULTS | said


def test_a_rollout_with_a_canary_may_have_a_name_as_long_as_a_label(cluster: ControlPlane) -> None:
    cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(a_rollout("n" * 63, {"canary": {}})))
    with pytest.raises(errors.KubectlFailed, match="at most 63 characters long, since nodes are labelled with it"):
        cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(a_rollout("n" * 64, {"canary": {}})))
    cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(a_rollout("n" * 64, {})))


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


def a_campaign(**spec: Any) -> dict[str, Any]:
    return {"canary": {}, **spec}


def by_hand(**spec: Any) -> dict[str, Any]:
    said = {"publish": {"via": "none"}, "byHand": FIRMWARE} | spec
    return a_campaign(**{key: value for key, value in said.items() if value is not None})


def to_git(**git: Any) -> dict[str, Any]:
    return a_campaign(matrix={"git": GIT}, publish={"via": "git", "git": git})


def with_window(**window: Any) -> dict[str, Any]:
    return a_campaign(windows={"open": [NIGHT | window]})


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        # without a canary there is no campaign
        ({"matrix": {"git": GIT}}, "matrix needs canary"),
        ({"publish": {}}, "publish needs canary"),
        ({"gates": []}, "gates needs canary"),
        ({"bake": {}}, "bake needs canary"),
        ({"waves": {}}, "waves needs canary"),
        ({"windows": {"open": [NIGHT]}}, "windows needs canary"),
        ({"approvals": {}}, "approvals needs canary"),
        ({"abort": "it smokes"}, "abort needs canary"),
        ({"markBad": True}, "markBad needs abort"),
        ({"canary": {"count": 1}, "abort": "", "markBad": True}, "markBad needs abort"),
        ({"notifications": {"webhook": "https://chat.example/hook"}}, "notifications needs canary"),
        ({"mode": "delegated"}, "mode needs canary"),
        ({"prepull": False}, "prepull: false needs canary"),
        ({"byHand": FIRMWARE}, "byHand needs canary"),
        ({"after": "winter"}, "after needs canary"),
        # steps that people take, and what they come after
        (by_hand(publish={"via": "direct"}), "byHand needs publish.via: none"),
        (by_hand(publish=None), "byHand needs publish.via: none"),
        (by_hand(mode="direct"), "byHand needs mode auto, since people move the nodes"),
        (by_hand(byHand={"component": "bios", "version": "1"}), "spec.byHand.component: Unsupported value"),
        (by_hand(byHand={"component": "gpu_driver", "version": "1"}), "spec.byHand.component: Unsupported value"),
        (by_hand(byHand={"component": "nccl"}), "spec.byHand.version: Required value"),
        (by_hand(byHand=FIRMWARE | {"instructions": "x" * 4097}), "spec.byHand.instructions: Too long"),
        (a_campaign(after=NAME), "a rollout cannot come after itself"),
        # the target
        ({"target": {"driver": "580"}}, "spec.target.driver"),
        ({"target": {}}, "spec.target.driver: Required value"),
        # who moves
        (a_campaign(mode="both"), "spec.mode: Unsupported value"),
        (a_campaign(mode="delegated", maintenance={"requestorID": "seatrial.dev"}), "so leave maintenance out"),
        # the matrix
        (a_campaign(matrix={}), "matrix is in exactly one place, git or configMap"),
        (
            a_campaign(matrix={"git": GIT, "configMap": {"namespace": "a", "name": "b"}}),
            "matrix is in exactly one place, git or configMap",
        ),
        (a_campaign(matrix={"git": {}}), "spec.matrix.git.url: Required value"),
        (a_campaign(matrix={"git": {"url": ""}}), "spec.matrix.git.url"),
        (a_campaign(matrix={"git": {"url": "https://me:secret@git.example/gpu"}}), "url has no user or password"),
        (a_campaign(matrix={"git": {"url": "--upload-pack=touch"}}), "url does not begin with a dash"),
        (a_campaign(matrix={"git": GIT | {"branch": "--force"}}), "spec.matrix.git.branch"),
        (a_campaign(matrix={"git": GIT | {"path": "/etc/passwd"}}), "path leads from the top of the repository"),
        (a_campaign(matrix={"git": GIT | {"path": "a/../../b"}}), "path leads from the top of the repository"),
        (a_campaign(matrix={"git": GIT | {"commit": "main"}}), "spec.matrix.git.commit"),
        (a_campaign(matrix={"configMap": {"name": "b"}}), "spec.matrix.configMap.namespace: Required value"),
        (a_campaign(matrix={"configMap": {"namespace": "a", "name": "b", "key": "a/b"}}), "spec.matrix.configMap.key"),
        (a_campaign(matrix={"git": GIT, "entry": "latest"}), "spec.matrix.entry: Unsupported value"),
        # publishing
        (a_campaign(publish={"via": "mail"}), "spec.publish.via: Unsupported value"),
        (a_campaign(publish={"via": "git"}), "publish.via git needs publish.git.path"),
        (to_git(), "spec.publish.git.path: Required value"),
        (to_git(path="../values.yaml"), "path leads from the top of the repository"),
        (to_git(path="v.yaml", branch="-x"), "spec.publish.git.branch"),
        (to_git(path="v.yaml", url="http://token@git.example/gpu"), "url has no user or password"),
        (
            a_campaign(publish={"via": "git", "git": {"path": "v.yaml"}}),
            "publish.via git needs a repository, in publish.git.url or in matrix.git",
        ),
        (
            a_campaign(
                matrix={"configMap": {"namespace": "a", "name": "b"}}, publish={"via": "git", "git": {"path": "v.yaml"}}
            ),
            "publish.via git needs a repository, in publish.git.url or in matrix.git",
        ),
        (a_campaign(matrix={"git": GIT}, publish={"git": {"path": "v.yaml"}}), "publish.git is for publish.via: git"),
        # the canary
        ({"canary": {"count": 0}}, "spec.canary.count"),
        ({"canary": {"nodes": ["a"], "selector": {"b": "c"}}}, "canary has nodes or a selector, not both"),
        ({"canary": {"nodes": ["a", "a"]}}, "Duplicate value"),
        ({"canary": {"machineConfigPool": "GPU_canary"}}, "spec.canary.machineConfigPool"),
        ({"canary": {"pausePools": ["GPU_worker"]}}, "spec.canary.pausePools[0]"),
        ({"canary": {"pausePools": ["worker", "worker"]}}, "Duplicate value"),
        (
            {"canary": {"pausePools": ["worker"], "machineConfigPool": "worker"}},
            "the pool of the canary cannot be one of canary.pausePools",
        ),
        (
            by_hand(canary={"pausePools": ["worker"]}),
            "canary.pausePools needs canary.machineConfigPool where people move the nodes",
        ),
        # gates
        (a_campaign(gates=[GATE, GATE]), "Duplicate value"),
        (a_campaign(gates=[GATE | {"name": "NCCL test"}]), "a gate's name is a DNS label such as nccl-all-reduce"),
        (a_campaign(gates=[GATE | {"name": "readiness"}]), "readiness is the gate that every canary has"),
        (a_campaign(gates=[GATE | {"name": "prepull"}]), "prepull is a Job of seatrial's own"),
        (
            a_campaign(gates=[{"name": "nccl"}]),
            "a gate has exactly one of image, attest, prometheus, expression, tenant and webhook",
        ),
        (a_campaign(gates=[{"image": "nccl"}]), "spec.gates[0].name: Required value"),
        (a_campaign(gates=[GATE | {"gpus": -1}]), "spec.gates[0].gpus"),
        (a_campaign(gates=[GATE | {"timeoutSeconds": 0}]), "spec.gates[0].timeoutSeconds"),
        (a_campaign(gates=[GATE | {"name": f"g{number}"} for number in range(17)]), "spec.gates: Too many"),
        # the bake
        (a_campaign(bake={"durationSeconds": -1}), "spec.bake.durationSeconds"),
        (a_campaign(bake={"everySeconds": 0}), "spec.bake.everySeconds"),
        # waves
        (a_campaign(waves={"growth": "wild"}), "spec.waves.growth: Unsupported value"),
        (a_campaign(waves={"first": "many"}), "a wave is a count such as 3 or a percentage up to 100%"),
        (a_campaign(waves={"first": 0}), "a wave is a count such as 3 or a percentage up to 100%"),
        (a_campaign(waves={"first": "101%"}), "a wave is a count such as 3 or a percentage up to 100%"),
        (a_campaign(waves={"step": "0%"}), "a wave is a count such as 3 or a percentage up to 100%"),
        (a_campaign(waves={"factor": 1}), "spec.waves.factor"),
        (a_campaign(waves={"growth": "percentages"}), "growth: percentages needs percentages, such as [5, 25, 100]"),
        (a_campaign(waves={"percentages": [5, 100]}), "percentages are for growth: percentages"),
        (a_campaign(waves={"growth": "percentages", "percentages": [25, 5]}), "percentages ascend"),
        (a_campaign(waves={"growth": "percentages", "percentages": [5, 5]}), "Duplicate value"),
        (a_campaign(waves={"growth": "percentages", "percentages": [0]}), "spec.waves.percentages[0]"),
        (a_campaign(waves={"growth": "percentages", "percentages": [101]}), "spec.waves.percentages[0]"),
        (a_campaign(waves={"growth": "percentages", "percentages": []}), "spec.waves.percentages"),
        (a_campaign(waves={"pauseSeconds": -1}), "spec.waves.pauseSeconds"),
        # windows
        (a_campaign(windows={}), "spec.windows.open: Required value"),
        (a_campaign(windows={"open": []}), "spec.windows.open"),
        (a_campaign(windows={"timeZone": "../UTC", "open": [NIGHT]}), "spec.windows.timeZone"),
        (with_window(start="24:00"), "start is a time of day from 00:00 to 23:59"),
        (with_window(start="9:00"), "start is a time of day from 00:00 to 23:59"),
        (with_window(minutes=0), "spec.windows.open[0].minutes"),
        (with_window(minutes=10081), "spec.windows.open[0].minutes"),
        (with_window(days=["Saturday"]), "spec.windows.open[0].days[0]: Unsupported value"),
        (with_window(days=["Sat", "Sat"]), "Duplicate value"),
        # people
        (a_campaign(approvals={"manual": ["lunch"]}), "spec.approvals.manual[0]: Unsupported value"),
        (a_campaign(approvals={"approved": ["waves", "waves"]}), "Duplicate value"),
        (a_campaign(abort="x" * 1025), "spec.abort: Too long"),
        (a_campaign(notifications={}), "spec.notifications.webhook: Required value"),
        (a_campaign(notifications={"webhook": "mailto:ops"}), "webhook is an address that begins with http"),
        (
            a_campaign(notifications={"webhook": "https://chat.example", "format": "pigeon"}),
            "spec.notifications.format: Unsupported value",
        ),
        (a_campaign(canaries=1), "unknown field"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(submit: Submit, spec: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.KubectlFailed) as caught:
        submit(**spec)
    assert words in re.sub(r"\s+", " ", str(caught.value))


# ── what may change ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("spec", "change", "words"),
    [
        (
            a_campaign(),
            {"target": {"driver": "570.124.06"}},
            "target cannot change once there is a canary; abort this rollout and make another one",
        ),
        (a_campaign(), {"canary": None}, "canary cannot be taken away, since all nodes would go at once"),
        (a_campaign(), {"publish": {"via": "none"}}, "publish.via cannot change"),
        (a_campaign(publish={"via": "none"}), {"publish": None}, "publish.via cannot change"),
        (by_hand(), {"byHand": None}, "byHand cannot change to another component or version"),
        (by_hand(), {"byHand": {"version": "28.44.1036"}}, "byHand cannot change to another component or version"),
        (a_campaign(publish={"via": "none"}), {"byHand": FIRMWARE}, "byHand cannot change to another component"),
        (a_campaign(abort="it smokes"), {"abort": None}, "abort cannot be withdrawn"),
        (a_campaign(abort="it smokes"), {"abort": ""}, "abort cannot be withdrawn"),
    ],
)
def test_a_change_that_would_strand_a_campaign_is_refused(
    cluster: ControlPlane, submit: Submit, spec: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    before = submit(**spec)
    with pytest.raises(errors.KubectlFailed) as caught:
        patch(cluster, **change)
    assert words in str(caught.value)
    assert stored(cluster) == before


def test_what_people_decide_under_way_can_be_changed(cluster: ControlPlane, submit: Submit) -> None:
    before = submit(canary={}, approvals={"manual": ["waves"]}, publish={"via": "direct"}, abort="")
    changes: dict[str, Any] = {
        "paused": True,
        "approvals": {"manual": ["waves"], "approved": ["waves"]},
        "bake": {"durationSeconds": 60, "everySeconds": 3600},
        "abort": "gpu-03 smokes",
    }
    patch(cluster, **changes)
    assert stored(cluster) == before | changes
    patch(cluster, publish=None, abort="gpu-03 and gpu-04 smoke")
    assert stored(cluster)["abort"] == "gpu-03 and gpu-04 smoke"


def test_a_step_may_be_let_go_without_the_one_before_it(cluster: ControlPlane, submit: Submit) -> None:
    submit(**by_hand(after="winter"))
    patch(cluster, after=None, byHand={"instructions": "By the BMC, rack by rack."})
    assert stored(cluster)["byHand"]["instructions"] == "By the BMC, rack by rack."
    assert "after" not in stored(cluster)


def test_the_target_of_a_rollout_without_a_canary_can_be_taken_back(cluster: ControlPlane, submit: Submit) -> None:
    submit()
    patch(cluster, target={"driver": "570.124.06"})
    patch(cluster, canary={}, target={"driver": "580.105.08"})
    assert stored(cluster) == DEFAULTS | {"canary": {"count": 1}}


# ── the status ───────────────────────────────────────────────────────────────────────────────────────────────────────


def seen(cluster: ControlPlane) -> models.Rollout:
    return msgspec.convert(cluster.get("gpurollout", NAME), models.Rollout)


def write(cluster: ControlPlane, record: RolloutRecord, before: models.Rollout) -> None:
    body = json.dumps(rollout_records.rollout_patch(record, before))
    cluster.kubectl("patch", "gpurollout", NAME, "--subresource=status", "--type=merge", "-p", body)


def a_record(**fields: Any) -> CampaignRecord:
    said: dict[str, Any] = {"phase": RolloutPhase.BAKING, "entered_at": 1767323045.25} | fields
    return CampaignRecord(
        paused_in=None,
        mode=Mode.DIRECT,
        canaries=("gpu-01", "gpu-02"),
        baseline=(("ClusterPolicy/cluster-policy", "570.124.06"), ("*", "570.124.06")),
        wave=1,
        settled_at=1767323045.5,
        waved_seconds=12.5,
        waving_since=1767323044.5,
        pull_round=2,
        unpulled_at=1767323046.5,
        is_forgetting=True,
        gates=(
            GateResult(
                gate="nccl",
                node="gpu-01",
                round=3,
                verdict=GateVerdict.PASSED,
                detail="ok",
                at=1767323045.0,
                asked="0f",
            ),
        ),
        round=3,
        round_at=1767323040.001,
        baked_seconds=3599.9990000724792,
        baked_until=1767323041.999,
        watched=(
            Watched(
                node="gpu-01",
                before=GpuOffer(
                    resources=(("nvidia.com/gpu", 8),),
                    mig_config="all-1g.5gb",
                    runtime_handlers=("nvidia",),
                    has_dra_plugin=True,
                    has_slices=True,
                ),
                boot_id="b0",
                ready_at=1767323000.0,
                driver="uid-1",
                started_at=1767323001.0,
                loaded_at=1767323002.0,
                lack="node-not-ready",
            ),
        ),
        well_since=1767323003.5,
        unwell_since=1767323004.5,
        setback="canary gpu-01 rebooted",
        bake_asked_seconds=7200.0,
        tag_base="v2026-01-stable",
        date="2026-01-02",
        why="it smokes",
        history=(Turn(phase=RolloutPhase.PROPOSED, at=1767323000.0), Turn(phase=RolloutPhase.BAKING, at=1.5, why="x")),
        **said,
    )


def test_a_record_is_read_back_as_it_was_written_and_a_smaller_one_leaves_nothing_behind(
    cluster: ControlPlane, submit: Submit
) -> None:
    submit(canary={})
    for campaign in (a_record(), CampaignRecord(phase=RolloutPhase.REVERTED, entered_at=1767323050.0), None):
        before = seen(cluster)
        record = RolloutRecord(
            name=NAME,
            resource_version=before.metadata.resource_version,
            admitted=(Admission(node="gpu-01", attempt=1),),
            summary=Summary(state="waiting", counts=(("upgrade-done", 2),), holds=(("baking", 1),)),
            summarised_at=1767323045.25,
            campaign=campaign,
        )
        write(cluster, record, before)
        after = seen(cluster)
        found = rollout_records.read_rollout(after)
        assert found.campaign == campaign
        assert (found.admitted, found.summary) == (record.admitted, record.summary)
        assert {each["observedGeneration"] for each in after.status["conditions"]} == {before.metadata.generation}


def test_what_a_later_release_wrote_survives_our_writes(cluster: ControlPlane, submit: Submit) -> None:
    submit(canary={})
    before = seen(cluster)
    write(cluster, replace(rollout_records.read_rollout(before), campaign=a_record()), before)
    theirs = {"status": {"tide": "high", "campaign": {"moon": {"is": "full"}}}}
    cluster.kubectl("patch", "gpurollout", NAME, "--subresource=status", "--type=merge", "-p", json.dumps(theirs))

    before = seen(cluster)
    write(cluster, replace(rollout_records.read_rollout(before), campaign=CampaignRecord()), before)

    status = cluster.get("gpurollout", NAME)["status"]
    assert (status["tide"], status["campaign"]["moon"]) == ("high", {"is": "full"})
    assert rollout_records.read_rollout(seen(cluster)).campaign == CampaignRecord()


def test_a_record_of_an_older_version_is_turned_down(cluster: ControlPlane, submit: Submit) -> None:
    submit(canary={})
    before = seen(cluster)
    patch(cluster, paused=True)
    record = rollout_records.read_rollout(before)
    with pytest.raises(errors.KubectlFailed, match="the object has been modified"):
        write(cluster, record, before)


def test_people_see_where_a_campaign_stands(cluster: ControlPlane, submit: Submit) -> None:
    submit(canary={})
    before = seen(cluster)
    record = RolloutRecord(
        name=NAME,
        resource_version=before.metadata.resource_version,
        summary=Summary(
            state="progressing",
            counts=(("upgrade-done", 2),),
            holds=(("wave-at-work", 1),),
            told=(Told(code="wave-at-work", why="wave-2-works", next_step="Nothing to do."),),
            done=2,
            total=8,
            failed="1(gpu-03)",
        ),
        summarised_at=1767323045.25,
        campaign=a_record(phase=RolloutPhase.WAVING),
    )
    write(cluster, record, before)
    headings, row = cluster.kubectl("get", "gpur", NAME, "-o", "wide").splitlines()
    assert headings.split() == [
        *("NAME", "TARGET", "PHASE", "DONE", "FAILED", "WHY", "LOOKED", "STATE", "HEALTHY", "WAVE"),
        *("CANARY", "MODE", "BY-HAND", "AFTER", "PAUSED", "AGE"),
    ]
    told = row.split()
    assert [*told[:6], *told[7:-1]] == [
        *(NAME, "580.105.08", "Waving", "2/8", "1(gpu-03)", "wave-2-works", "progressing", "False", "2"),
        *('["gpu-01","gpu-02"]', "direct", "false"),
    ]
    narrow = cluster.kubectl("get", "gpur", NAME).splitlines()[0].split()
    assert narrow == ["NAME", "TARGET", "PHASE", "DONE", "FAILED", "WHY", "LOOKED", "AGE"]
