"""What `seatrial why NODE` answers, from looks made by hand."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from seatrial.adapters.kube.surveying.gate_pods import GatePod, State
from seatrial.app.picking import Rollout
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.show import look, why
from seatrial.cli.show import node as node_pages
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.marks import NEIGHBOURS
from seatrial.core.model.seen.nodes import Loaded, NodePhase, NodeSeen
from seatrial.core.model.seen.problems import Problem
from seatrial.ports import Sight
from tests import builders
from tests.cli.test_status import DELEGATED, a_look


def answer(node: NodeSeen, **changes: object) -> list[str]:
    """The lines about one node."""
    found = a_look(builders.a_snapshot(node, admitted=builders.a_ledger(node.name)), **changes)  # type: ignore[arg-type]
    return why.describe(found, node)


def test_a_failed_node_is_explained_with_what_to_do() -> None:
    node = builders.a_node(
        "n1",
        NodePhase.UPGRADE_FAILED,
        is_cordon_ours=True,
        record={"reason": "driver-crash-loop", "failed_revision": "new"},
    )
    retry = (
        "Then: `seatrial node retry n1` (or set its label seatrial.dev/gpu-driver-upgrade-state to upgrade-required)"
    )
    why_failed = "the upgrade of this node failed: a container of the driver pod keeps crashing (for 1 min 40 s)"
    assert answer(node) == [
        "Node      n1",
        "State     upgrade-failed for 1 min 40 s, attempt 1",
        "Driver    570.124.06 (Ready), wanted 580.105.08",
        "Cordoned  by seatrial",
        "GPU pods  0",
        f"Answer    n1: {why_failed}. Fix the cause. {retry}.",
        "Said      now, computed here: no controller has written a status yet",
    ]


def test_a_node_that_is_about_to_move_says_how() -> None:
    pods = (builders.a_gpu_pod(),)
    node = builders.a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=pods)
    assert answer(node)[-2].startswith(
        "Next      the controller is about to write to pods of node/n1: evict jobs/train-0 (n1/evict/1/"
    )


def test_what_the_controller_was_answered_is_passed_on() -> None:
    node = builders.a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=(builders.a_gpu_pod(),))
    rebuffs = {"pod-0": builders.a_rebuff(at=builders.NOW - 60, detail="the budget service needs 2 healthy pods")}
    found = a_look(builders.a_snapshot(node, admitted=builders.a_ledger("n1"), rebuffs=rebuffs))
    assert "Refused   jobs/train-0, 1 min ago: the budget service needs 2 healthy pods" in why.describe(found, node)


def test_a_cordon_of_somebody_else_is_called_so() -> None:
    assert "Cordoned  by somebody else" in answer(builders.a_well_node("n1", NodePhase.UPGRADE_DONE, is_cordoned=True))


def test_a_node_that_is_done_and_cordoned_by_a_person_is_not_said_to_need_nothing() -> None:
    assert answer(builders.a_done_node("n1", is_cordoned=True))[-1] == (
        "Answer    n1: its upgrade is done, and somebody else keeps it cordoned; "
        "`kubectl uncordon n1` opens it once that is no longer wanted."
    )


NOT_READY = "Problem   NotReady: `kubectl describe node n1` shows why, under Conditions"


def test_a_node_that_is_done_and_not_ready_is_not_in_order() -> None:
    lines = answer(builders.a_done_node("n1", is_ready=False))
    assert NOT_READY in lines
    assert lines[-1] == "Answer    n1: its upgrade is done, but the node is NotReady. Bring it back."
    assert answer(builders.a_done_node("n1"))[-1] == "Answer    it is done; there is nothing to do."


def test_nothing_that_was_never_upgraded_is_said_to_be_done() -> None:
    from tests.cli.test_rollout_tree import a_look as a_campaign_look

    def last(**facts: Any) -> str:
        node = replace(builders.a_well_node("n1", **facts), record=None)
        return why.describe(a_campaign_look(RolloutPhase.REVERTED, nodes=(node,)), node)[-1]

    assert last(is_ready=False) == "Answer    n1: there is nothing to upgrade, but the node is NotReady. Bring it back."
    assert last(is_cordoned=True).startswith("Answer    n1: there is nothing to upgrade, and somebody else keeps it")
    assert last() == "Answer    there is nothing to do."


@pytest.mark.parametrize("phase", [NodePhase.UPGRADE_REQUIRED, NodePhase.POD_RESTART_REQUIRED])
def test_a_node_that_is_not_ready_says_so_whatever_else_it_waits_for(phase: NodePhase) -> None:
    assert NOT_READY in answer(builders.a_node("n1", phase, is_ready=False))
    assert NOT_READY not in answer(builders.a_node("n1", phase))


def test_a_skip_label_is_named_with_its_owner_beside_another_reason() -> None:
    label = "nvidia.com/gpu-driver-upgrade.skip=true"
    skipped = builders.a_node("n1", NodePhase.UPGRADE_REQUIRED, is_skipped=True)
    paused = answer(skipped, sight=Sight(seen=builders.a_snapshot(skipped), intent=builders.an_intent(is_paused=True)))
    assert f"Skipped   by a person ({label})" in paused
    kept = builders.a_node("n1", NodePhase.UPGRADE_REQUIRED, is_skipped=True, skipped_by="spring")
    assert f"Skipped   by rollout spring, until its turn comes ({label})" in answer(kept)


def test_who_is_kept_off_the_node_is_told_with_owner_and_end() -> None:
    autoscaler, karpenter, nvsentinel = (each.mark for each in NEIGHBOURS)
    at = builders.NOW - 3600
    node = builders.a_node(
        "n1",
        NodePhase.VALIDATION_REQUIRED,
        is_cordon_ours=True,
        marks=((autoscaler.key, "false"), (karpenter.key, "true"), (nvsentinel.key, "false")),
        record={"marks": ((nvsentinel.key, at),), "marked_by": "spring"},
    )
    told = [line for line in answer(node) if line.startswith("Kept off")]
    assert told == [
        "Kept off  Karpenter, by somebody else (karpenter.sh/do-not-disrupt=true)",
        f"Kept off  NVSentinel, by rollout spring, until its upgrade ends, for 23 h at most ({nvsentinel.key}=false)",
    ]


def test_what_is_reported_on_the_node_is_told_with_its_time() -> None:
    found = (
        Problem(type="FrequentKubeletRestart", reason="FrequentKubeletRestart", since=builders.NOW - 300),
        Problem(type="KernelDeadlock", message="task nvidia-modprobe blocked"),
    )
    told = [line for line in answer(builders.a_well_node("n1", problems=found)) if line.startswith("Problem")]
    assert told == [
        "Problem   FrequentKubeletRestart, for 5 min: FrequentKubeletRestart",
        "Problem   KernelDeadlock: task nvidia-modprobe blocked",
    ]


def test_a_node_nobody_has_looked_at_yet_says_what_comes_first() -> None:
    lines = answer(builders.a_well_node("n1"))
    assert "State     not begun" in lines
    assert lines[-2].startswith(
        "Next      the controller is about to write to node/n1: state upgrade-done (n1/upgrade-done/"
    )


def test_a_node_without_a_driver_pod_says_so() -> None:
    assert "Driver    no driver pod, wanted unknown" in answer(builders.a_node("n1", driver=None, wanted=None))


def test_a_driver_that_never_came_up_is_not_said_to_run_and_its_label_is_called_old() -> None:
    driver = builders.a_starting_driver(trouble="ImagePullBackOff")
    node = builders.a_node("n1", driver=driver, loaded=Loaded(version=builders.OLD.version))
    found = a_look(builders.a_snapshot(node))
    version = builders.NEW.version
    assert f"Driver    {version} not running (ImagePullBackOff), wanted {version}" in why.describe(found, node)
    assert (
        f"Loaded    {builders.OLD.version} (an old label: no driver runs)"
        in node_pages.shown(found, Namespace(node="n1")).lines
    )


def test_while_nvidias_controller_is_on_the_contradiction_is_the_answer() -> None:
    node = builders.a_node("n1", NodePhase.UPGRADE_REQUIRED)
    found = a_look(builders.a_snapshot(node, operator=DELEGATED))
    assert "NVIDIA's own upgrade controller is on (ClusterPolicy/cluster-policy has autoUpgrade: true)" in "".join(
        why.describe(found, node)
    )


def test_where_we_keep_no_record_the_state_is_by_the_word_of_nvidias_controller() -> None:
    node = builders.a_node("n1", nvidia_state="upgrade-done")
    found = a_look(builders.a_snapshot(node, operator=DELEGATED))
    assert "State     upgrade-done (by NVIDIA's controller)" in why.describe(found, node)


def test_a_node_that_is_no_member_is_told_so() -> None:
    stranger = builders.a_node("cpu-1")
    found = a_look(builders.a_snapshot(builders.a_node("n1")))
    assert why.describe(found, stranger)[-1] == (
        "Answer    it is not a member of rollout spring: its labels do not match nodeSelector."
    )


@pytest.mark.parametrize(
    ("faults", "said"), [((), "there is no rollout"), (("it is broken",), "the rollout cannot be read")]
)
def test_without_a_rollout_nothing_moves_a_node(faults: tuple[str, ...], said: str) -> None:
    lines = answer(builders.a_node("n1"), sight=None, faults=faults)
    assert lines[-1] == f"Answer    {said}, so nothing moves this node."


@pytest.mark.parametrize(
    ("name", "hint"), [("gpu-0", "Did you mean gpu-01?"), ("web", "`kubectl get nodes` lists them.")]
)
def test_an_unknown_node_is_answered_with_one_that_is_alike(
    name: str, hint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = a_look(builders.a_snapshot(builders.a_node("gpu-01")))
    monkeypatch.setattr(look, "look", lambda *_, **__: found)
    assert main(["why", name]) == ExitCode.ERROR
    assert capsys.readouterr().err == f"seatrial: there is no node or rollout {name}. {hint}\n"


@pytest.mark.parametrize("read", [("json", json.loads), ("yaml", yaml.safe_load)])
def test_a_script_gets_the_node_and_the_answers(
    read: tuple[str, Callable[[str], Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output, decode = read
    skipped = builders.a_node("gpu-01", NodePhase.UPGRADE_REQUIRED, is_skipped=True)
    monkeypatch.setattr(look, "look", lambda *_, **__: a_look(builders.a_snapshot(skipped)))
    assert main(["why", "gpu-01", "-o", output]) == ExitCode.OK
    told = decode(capsys.readouterr().out)
    assert (told["node"]["name"], told["node"]["hold"]["code"]) == ("gpu-01", "skipped")
    assert [each["kind"] for each in told["answers"]] == ["answer"]
    assert "`seatrial node unskip gpu-01`" in told["answers"][0]["text"]


def test_a_node_that_is_done_and_lost_a_gpu_is_not_said_to_be_in_order() -> None:
    eight, seven = (GpuOffer(resources=(("nvidia.com/gpu", count),)) for count in (8, 7))
    whole = builders.a_well_node("n1", NodePhase.UPGRADE_DONE, record={"before": eight}, offer=eight)
    assert answer(whole)[-1] == "Answer    it is done; there is nothing to do."
    waived = builders.a_well_node("n1", NodePhase.UPGRADE_DONE, record={"waived": eight}, offer=seven)
    assert answer(waived)[-1] == (
        "Answer    n1: its upgrade is done, with less than before (nvidia.com/gpu 7 of 8), accepted by a person. "
        "`seatrial doctor n1` looks for the cause."
    )
    lost = builders.a_well_node("n1", NodePhase.UPGRADE_DONE, record={"before": eight}, offer=seven)
    assert answer(lost)[-1] == (
        "Answer    n1: it is done, but the node offers less than before the upgrade: nvidia.com/gpu 7 of 8. "
        "Look for the cause with `seatrial doctor n1`."
    )


def a_rollout(name: str, phase: str) -> Rollout:
    return Rollout(raw={"metadata": {"name": name}, "spec": {"canary": {}}, "status": {"phase": phase}})


def test_without_a_name_the_open_rollout_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.cli.test_rollout_tree import a_look as a_campaign_look

    found = replace(
        a_campaign_look(RolloutPhase.WAVING), rollouts=(a_rollout("spring", "Waving"), a_rollout("old", "Done"))
    )
    monkeypatch.setattr(look, "look", lambda *_, **__: found)
    monkeypatch.setattr(why, "_look_at", lambda _, name: found if name == "spring" else None)
    assert main(["why"]) == ExitCode.INCONCLUSIVE
    assert capsys.readouterr().out.startswith("Rollout   spring to driver 580.105.08\n")
    two = replace(found, rollouts=(a_rollout("spring", "Waving"), a_rollout("autumn", "Waving")))
    monkeypatch.setattr(look, "look", lambda *_, **__: two)
    assert main(["why"]) == ExitCode.USAGE
    assert "say which one you mean" in capsys.readouterr().err


def test_a_rollout_is_answered_for_as_a_node_is() -> None:
    from tests.cli.test_rollout_tree import a_look as a_campaign_look

    found = a_campaign_look(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.BAKING}, is_paused=True)
    lines = why.describe_rollout(found)
    assert [lines[0], lines[2]] == ["Rollout   spring to driver 580.105.08", "Phase     Paused for 1 min 40 s (direct)"]
    assert lines[1] == "Leader    not known: its Lease cannot be read"
    assert any(line.startswith("Answer    spring: the rollout is paused") for line in lines)


def test_a_rollout_that_has_ended_waits_for_nothing() -> None:
    from tests.cli.test_rollout_tree import a_look as a_campaign_look

    done = (builders.a_done_node("n1"),)
    assert why.describe_rollout(a_campaign_look(RolloutPhase.DONE, nodes=done))[-1] == "Answer    it has ended."


def test_a_gate_that_runs_or_does_not_start_is_told_with_its_last_line_and_the_command() -> None:
    from tests.cli.test_rollout_tree import a_look as a_campaign_look

    runs = GatePod(
        gate="smoke", node="n1", namespace="gates", job="j", pod="p", state=State.RUNNING, has_run=True, last="step 4"
    )
    shown = (
        (runs, 'runs (Job gates/j, pod p); its log ends with "step 4". `kubectl -n gates logs p` shows more.'),
        (
            replace(runs, last=""),
            "runs (Job gates/j, pod p); it has logged nothing. `kubectl -n gates logs p` shows more.",
        ),
        (
            replace(runs, last="", unread="you may not read its log"),
            "runs (Job gates/j, pod p); you may not read its log. `kubectl -n gates describe pod p` shows more.",
        ),
        (
            replace(runs, state=State.STUCK, has_run=False, why="ImagePullBackOff"),
            "does not start: ImagePullBackOff (Job gates/j, pod p). `kubectl -n gates describe pod p` shows more.",
        ),
    )
    found = a_campaign_look(RolloutPhase.GATING)
    assert not [line for line in why.describe_rollout(found) if line.startswith("Gate")]
    for pod, line in shown:
        told = why.rollout_page(replace(found, gate_pods=(pod,)))
        assert f"Gate      smoke on n1 {line}" in told.lines
        assert {"kind": "gate", "text": f"smoke on n1 {line}"} in told.data["answers"]


def test_a_node_is_told_of_its_own_gates_alone() -> None:

    node = builders.a_node("n1", NodePhase.UPGRADE_REQUIRED)
    pods = tuple(
        GatePod(gate="smoke", node=name, namespace="gates", job="j", pod=f"p-{name}", state=State.WAITING)
        for name in ("n1", "n2")
    )
    told = [line for line in answer(node, gate_pods=pods) if line.startswith("Gate")]
    assert told == [
        "Gate      smoke on n1 waits (Job gates/j, pod p-n1). `kubectl -n gates describe pod p-n1` shows more."
    ]
