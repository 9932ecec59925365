"""What a diagnosis makes of what is seen: who is well gives no sign, and a cause stands before what follows from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.adapters.files.facts import failures as failures_file
from seatrial.core.survey.doctor import failures, logs
from seatrial.core.survey.doctor.diagnosing import Diagnosis, diagnose
from seatrial.core.survey.doctor.objects import (
    ConditionTold,
    ContainerTold,
    EventTold,
    LogAsked,
    LogTold,
    Metrics,
    NodeTold,
    PodTold,
    Sight,
    SliceTold,
    XidTold,
)
from seatrial.core.survey.doctor.parts import Part

NOW = 10_000.0
LONG_AGO = 100.0


def known(**more: Any) -> tuple[failures.Failure, ...]:
    """A cause, what follows from it, and one that only a look shows."""

    def one(name: str, *patterns: dict[str, Any], explains: tuple[str, ...] = ()) -> dict[str, Any]:
        words = dict.fromkeys(("title", "means", "blocks"), name)
        return {
            "name": name,
            **words,
            "next": "`kubectl -n {namespace} delete pod {pod}` on {node}",
            "explains": list(explains),
            "patterns": [{"source": "a test", **each} for each in patterns],
        }

    return failures.read(
        {
            "failures": [
                one(
                    "cause",
                    {"in": "log", "of": "driver", "text": "boom", "example": "boom", **more},
                    explains=("effect",),
                ),
                one("effect", {"in": "event", "of": "anybody", "reason": "Broken"}),
                one("nothing-offered", {"in": "node", "reason": "gpus-not-offered|slices-missing", "weak": "true"}),
                one("paused", {"in": "node", "reason": "labels-paused"}),
                one("silent", {"in": "node", "reason": "kubelet-silent"}),
                one("not-ready", {"in": "node", "reason": "kubelet-not-ready"}),
                one("lost", {"in": "node", "reason": "gpus-unhealthy|gpus-fewer"}),
                one("stuck", {"in": "node", "reason": "holder-stuck"}),
            ]
        }
    )


READY = (ConditionTold(type="Ready", status="True"),)


def a_node(name: str = "n1", **more: Any) -> NodeTold:
    return NodeTold(name=name, **{"has_gpu": True, "offered": 8, "capacity": 8, "conditions": READY, **more})


def a_pod(name: str, part: Part, node: str = "n1", *, is_well: bool = True, **more: Any) -> PodTold:
    up = ContainerTold(name=f"{name}-ctr", is_ready=is_well, is_running=True)
    words = {"phase": "Running", "is_ready": is_well, "created_at": LONG_AGO, "containers": (up,), **more}
    return PodTold(namespace="gpu-operator", name=name, node=node, part=part, **words)


def an_event(pod: str, reason: str = "Broken", **more: Any) -> EventTold:
    words = {"kind": "Pod", "namespace": "gpu-operator", "message": "it broke", "at": NOW - 60, **more}
    return EventTold(name=pod, reason=reason, **words)


def a_log(pod: str, *lines: str) -> LogTold:
    return LogTold(asked=LogAsked(namespace="gpu-operator", pod=pod, container=f"{pod}-ctr"), lines=lines)


def found(*, node: str = "", with_failures: tuple[failures.Failure, ...] = known(), **sight: Any) -> Diagnosis:
    return diagnose(Sight(at=NOW, **{"nodes": (a_node(),), **sight}), with_failures, node)


def named(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    return [(case.failure.name, case.node) for case in diagnosis.cases]


# ── signs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_line_of_a_log_is_evidence_with_its_place_and_fills_the_next_step_in() -> None:
    driver = a_pod("driver", Part.DRIVER, is_well=False)
    (case,) = found(pods=(driver,), logs=(a_log("driver", "well", "boom: it went", "after"),)).cases
    assert [(each.about, each.line) for each in case.evidence] == [
        ("log of gpu-operator/driver, container driver-ctr", "boom: it went")
    ]
    assert case.next_step == "`kubectl -n gpu-operator delete pod driver` on n1"


def test_the_same_line_of_another_part_says_nothing() -> None:
    plugin = a_pod("plugin", Part.DEVICE_PLUGIN, is_well=False)
    assert named(found(pods=(plugin,), logs=(a_log("plugin", "boom"),))) == []


def test_a_pattern_that_is_asked_for_often_is_counted_over_all_logs_of_the_node() -> None:
    pods = tuple(a_pod(f"driver-{number}", Part.DRIVER, is_well=False) for number in range(2))
    told = tuple(a_log(pod.name, "boom", "boom") for pod in pods)
    assert named(found(pods=pods, logs=told, with_failures=known(at_least=4))) == [("cause", "n1")]
    assert named(found(pods=pods, logs=told, with_failures=known(at_least=5))) == []


def test_an_event_about_a_pod_that_is_well_now_is_no_sign() -> None:
    ill, well = a_pod("plugin", Part.DEVICE_PLUGIN, is_well=False), a_pod("plugin", Part.DEVICE_PLUGIN)
    assert named(found(pods=(ill,), events=(an_event("plugin"),))) == [("effect", "n1")]
    assert named(found(pods=(well,), events=(an_event("plugin"),))) == []


@pytest.mark.parametrize("change", [{"at": NOW - 4000}, {"is_warning": False}, {"name": "somebody-else"}])
def test_an_event_that_is_old_or_no_warning_or_of_a_pod_that_is_gone_is_no_sign(change: dict[str, Any]) -> None:
    event = replace(an_event("plugin"), **change)
    assert named(found(pods=(a_pod("plugin", Part.DEVICE_PLUGIN, is_well=False),), events=(event,))) == []


# ── causes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_cause_explains_stands_behind_it() -> None:
    driver = a_pod("driver", Part.DRIVER, is_well=False)
    (case,) = found(pods=(driver,), logs=(a_log("driver", "boom"),), events=(an_event("driver"),)).cases
    assert (case.failure.name, case.behind) == ("cause", ("effect",))


def test_on_another_node_nothing_is_explained() -> None:
    pods = (a_pod("driver", Part.DRIVER, is_well=False), a_pod("plugin", Part.DEVICE_PLUGIN, "n2", is_well=False))
    both = found(
        nodes=(a_node(), a_node("n2")), pods=pods, logs=(a_log("driver", "boom"),), events=(an_event("plugin"),)
    )
    assert named(both) == [("cause", "n1"), ("effect", "n2")]


def test_a_weak_sign_counts_where_nothing_else_is_found() -> None:
    bare = a_node(offered=0, capacity=0)
    plugin = a_pod("plugin", Part.DEVICE_PLUGIN, is_well=False)
    assert named(found(nodes=(bare,), pods=(plugin,))) == [("nothing-offered", "n1")]
    (case,) = found(nodes=(bare,), pods=(plugin,), events=(an_event("plugin"),)).cases
    assert (case.failure.name, case.behind) == ("effect", ("nothing-offered",))


def test_a_failure_on_many_nodes_stands_first() -> None:
    pods = tuple(a_pod(f"plugin-{node}", Part.DEVICE_PLUGIN, node, is_well=False) for node in ("n1", "n2"))
    driver = a_pod("driver", Part.DRIVER, "n3", is_well=False)
    nodes = tuple(a_node(name) for name in ("n1", "n2", "n3"))
    events = tuple(an_event(pod.name) for pod in pods)
    diagnosis = found(nodes=nodes, pods=(*pods, driver), events=events, logs=(a_log("driver", "boom"),))
    assert named(diagnosis) == [("effect", "n1"), ("effect", "n2"), ("cause", "n3")]


def test_one_node_alone_is_looked_at_where_it_is_named() -> None:
    pods = tuple(a_pod(f"plugin-{node}", Part.DEVICE_PLUGIN, node, is_well=False) for node in ("n1", "n2"))
    events = tuple(an_event(pod.name) for pod in pods)
    assert named(found(nodes=(a_node(), a_node("n2")), pods=pods, events=events, node="n2")) == [("effect", "n2")]


# ── looks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


BARE: dict[str, Any] = {"offered": 0, "capacity": 0}


def test_gpus_that_nobody_offers_are_seen_though_no_word_was_written() -> None:
    (case,) = found(nodes=(a_node(**BARE), a_node("n2")), pods=(a_pod("plugin", Part.DEVICE_PLUGIN, "n2"),)).cases
    assert case.evidence[0].line == "it has GPUs and the kubelet offers none: no device plugin runs on it"


@pytest.mark.parametrize(
    ("node", "pods"),
    [
        ({"upgrade_state": "pod-restart-required"}, ()),
        ({"without_plugin": True}, ()),
        ({"has_gpu": False}, ()),
        ({}, (a_pod("driver", Part.DRIVER, is_well=False),)),
        ({}, (a_pod("plugin", Part.DEVICE_PLUGIN, is_well=False, created_at=NOW - 120),)),
    ],
    ids=["upgraded", "without a plugin", "without GPUs", "driver not up", "starting"],
)
def test_who_is_on_the_way_or_has_none_is_given_its_time(node: dict[str, Any], pods: tuple[PodTold, ...]) -> None:
    assert named(found(nodes=(a_node(**{**BARE, **node}),), pods=pods)) == []


def test_where_a_dra_driver_offers_gpus_a_node_without_a_slice_is_told_and_one_with_some_is_not() -> None:
    pods = tuple(a_pod(f"dra-{node}", Part.DRA, node) for node in ("n1", "n2"))
    nodes = (a_node(**BARE), a_node("n2", **BARE))
    diagnosis = found(nodes=nodes, pods=pods, slices=(SliceTold(node="n1", device_count=8),))
    assert named(diagnosis) == [("nothing-offered", "n2")]


def test_paused_labels_are_left_over_once_the_driver_is_up_and_nobody_upgrades() -> None:
    paused = a_node(paused=("nvidia.com/gpu.deploy.device-plugin",))
    assert named(found(nodes=(paused,), pods=(a_pod("driver", Part.DRIVER),))) == [("paused", "n1")]
    assert named(found(nodes=(paused,), pods=(a_pod("driver", Part.DRIVER, is_well=False),))) == []
    assert named(found(nodes=(replace(paused, upgrade_state="pod-deletion-required"),))) == []


def test_a_kubelet_that_is_silent_is_told_of_gpu_nodes_alone() -> None:
    silent = (ConditionTold(type="Ready", status="Unknown"),)
    nodes = (a_node(conditions=silent), a_node("cpu", has_gpu=False, offered=0, capacity=0, conditions=silent))
    assert named(found(nodes=nodes)) == [("silent", "n1")]


def test_gpus_that_are_unhealthy_or_fewer_than_most_nodes_have_are_lost() -> None:
    assert named(found(nodes=(a_node(offered=7),))) == [("lost", "n1")]
    counts = {"n1": 8, "n2": 8, "n3": 7}
    nodes = tuple(a_node(name, product="H100", gpu_count=count) for name, count in counts.items())
    assert named(found(nodes=nodes)) == [("lost", "n3")]
    assert named(found(nodes=nodes[1:])) == []  # one neighbour is no majority


@pytest.mark.parametrize("counts", [{"offered": 0}, {"product": "H100", "gpu_count": 7}])
@pytest.mark.parametrize("pods", [(a_pod("driver", Part.DRIVER, is_well=False),), ()])
def test_no_gpu_is_lost_where_no_driver_runs(counts: dict[str, Any], pods: tuple[PodTold, ...]) -> None:
    state = "" if pods else "pod-restart-required"
    others = tuple(a_node(name, product="H100", gpu_count=8) for name in ("n2", "n3"))
    assert named(found(nodes=(a_node(upgrade_state=state, **counts), *others), pods=pods)) == []
    assert named(found(nodes=(a_node(**counts), *others))) == [("lost", "n1")]


def test_a_node_that_is_not_ready_is_named_with_its_condition_and_since_when() -> None:
    down = ConditionTold(type="Ready", status="False", reason="KubeletNotReady", message="no runtime", since=NOW - 90)
    (case,) = found(nodes=(a_node(**BARE, conditions=(down,)),)).cases
    assert case.failure.name == "not-ready"
    assert case.evidence[0].line == "NotReady for 1 min 30 s: no runtime (KubeletNotReady)"


def test_a_node_with_a_finding_is_not_given_its_time() -> None:
    nodes = tuple(a_node(name, upgrade_state="pod-restart-required") for name in ("n1", "n2"))
    driver = a_pod("driver", Part.DRIVER, is_well=False)
    diagnosis = found(nodes=nodes, pods=(driver,), events=(an_event("driver"),))
    assert (named(diagnosis), diagnosis.under_way) == ([("effect", "n1")], ("n2",))


def test_a_pod_that_holds_a_claim_and_does_not_leave_is_told_after_a_while() -> None:
    holder = a_pod("train", Part.TENANT, claims=("gpu-0",), deleted_at=NOW - 400)
    assert named(found(pods=(holder,))) == [("stuck", "n1")]
    assert named(found(pods=(replace(holder, deleted_at=NOW - 30),))) == []


# ── what is left ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pod_of_the_stack_that_is_not_up_without_a_known_reason_is_told_as_it_is() -> None:
    ill = a_pod("toolkit", Part.TOOLKIT, is_well=False)
    assert [pod.name for pod in found(pods=(ill,)).unexplained] == ["toolkit"]
    assert found(pods=(replace(ill, created_at=NOW - 60),)).unexplained == ()
    assert found(nodes=(a_node(upgrade_state="drain-required"),), pods=(ill,)).unexplained == ()
    assert found(pods=(ill,), events=(an_event("toolkit"),)).unexplained == ()


# ── logs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def asked(*pods: PodTold) -> list[tuple[str, bool]]:
    return [(each.pod, each.is_previous) for each in logs.worth_reading(Sight(at=NOW, pods=pods))]


def crashed(name: str, part: Part, **more: Any) -> PodTold:
    down = ContainerTold(name="c", restarts=3, waiting="CrashLoopBackOff", exit_code=1, ended="Error")
    return a_pod(name, part, is_well=False, containers=(down,), **more)


def test_of_who_crashes_the_last_words_and_the_ones_before_are_read() -> None:
    assert asked(crashed("driver", Part.DRIVER)) == [("driver", True), ("driver", False)]


def test_who_is_well_is_read_where_it_tells_of_gpus_and_drivers_where_somebody_ails() -> None:
    plugin, driver, toolkit = (a_pod(part.value, part) for part in (Part.DEVICE_PLUGIN, Part.DRIVER, Part.TOOLKIT))
    assert asked(plugin, driver, toolkit) == [("device-plugin", False)]
    ill = crashed("validator", Part.VALIDATOR)
    assert asked(driver, ill) == [("validator", True), ("validator", False), ("driver", False)]


def test_tenants_are_read_where_they_ended_badly_and_others_never() -> None:
    assert asked(a_pod("train", Part.TENANT), a_pod("web", Part.OTHER)) == []
    assert asked(crashed("train", Part.TENANT)) == [("train", True), ("train", False)]


def test_who_never_ran_has_no_log() -> None:
    waiting = ContainerTold(name="c", waiting="ImagePullBackOff")
    assert asked(a_pod("driver", Part.DRIVER, is_well=False, containers=(waiting,))) == []


@pytest.mark.parametrize(("number", "name"), [(48, "xid-storm"), (79, "gpu-lost"), (31, "")])
def test_an_xid_in_the_metrics_is_told_unless_programs_cause_it(number: int, name: str) -> None:
    xid = XidTold(node="n1", gpu="GPU-1", number=number)
    sight = Sight(at=NOW, nodes=(NodeTold(name="n1", has_gpu=True),), metrics=Metrics(xids=(xid,)))
    found = diagnose(sight, failures_file.known())
    cases = [case for case in found.cases if any(each.about.startswith("metrics of") for each in case.evidence)]
    assert [case.failure.name for case in cases] == ([name] if name else [])
    assert all(case.evidence[0].line == f"Xid {number}" for case in cases)
