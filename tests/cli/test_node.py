"""What `seatrial node` lists and shows of a look, and what it would write on a node."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from seatrial.adapters.kube.shapes import keys
from seatrial.app import looking
from seatrial.cli import main
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show import look, node
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import Loaded, NodePhase, NodeSeen
from tests import builders
from tests.cli.test_status import DELEGATED, a_look

Call = Callable[..., tuple[int, str]]
EIGHT = GpuOffer(resources=(("nvidia.com/gpu", 8),))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `seatrial node …` on a look; what is written is not sent."""

    def run(found: looking.Look, *arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(look, "look", lambda _: found)
        monkeypatch.setattr(node, "_write", lambda *_: None)
        code = main.main(["node", *arguments])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def test_nodes_that_are_done_and_take_no_work_are_among_those_that_need_a_person(
    call: Call,
) -> None:
    found = a_look(
        builders.a_snapshot(
            builders.a_done_node("n1"),
            builders.a_done_node("n2", is_ready=False),
            builders.a_done_node("n3", is_cordoned=True),
        )
    )
    _, held = call(found, "get", "--held")
    assert [line.split()[0] + " " + line.split()[-1] for line in held.splitlines()[1:3]] == [
        "n2 node-not-ready",
        "n3 foreign-cordon",
    ]
    assert "n1" not in held


def change(found: NodeSeen, what: str, operator: Any = None, **options: Any) -> node.Change:
    """What a command writes on this node."""
    args = argparse.Namespace(what=what, **({"again": False, "accept_loss": False} | options))
    seen = builders.a_snapshot(found) if operator is None else builders.a_snapshot(found, operator=operator)
    return node.change_of(a_look(seen), found, args)


def test_a_person_takes_over_the_skip_label_of_a_rollout_and_it_stays() -> None:
    kept_out = builders.a_node("n1", is_skipped=True, skipped_by="spring")
    made = change(kept_out, "skip")
    assert made.labels == {keys.SKIP_LABEL: "true"}
    assert made.annotations == {keys.SKIPPED_BY_ANNOTATION: None}
    with pytest.raises(node.NodeRefused, match="kept out by rollout spring until its wave"):
        change(kept_out, "unskip")


def test_a_dead_node_is_taken_out_of_the_way_back_and_the_command_says_so() -> None:
    dead = builders.a_node("n1", NodePhase.UPGRADE_REQUIRED, is_cordon_ours=True, is_ready=False, driver=None)
    back = builders.a_campaign_record(RolloutPhase.REVERTING, why="Xid 79")
    seen = builders.a_snapshot(dead, campaign=back, operator=builders.an_operator())
    found = a_look(seen, intent=builders.an_intent(campaign=builders.a_campaign()))
    made = node.change_of(found, dead, argparse.Namespace(what="skip"))
    assert made.labels == {keys.SKIP_LABEL: "true"}
    assert made.said == "n1 is left out; spring goes back without it and says so when it ends, and it stays as it is"


def some_nodes() -> looking.Look:
    return a_look(
        builders.a_snapshot(
            builders.a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=(builders.a_gpu_pod(),)),
            builders.a_node("n2", NodePhase.UPGRADE_REQUIRED, is_skipped=True),
            builders.a_well_node("n3", NodePhase.UPGRADE_DONE),
            builders.a_node("cpu-1", driver=None, validator=None, wanted=None),
            admitted=builders.a_ledger("n1"),
            rebuffs={"pod-0": builders.a_rebuff(detail="the budget needs 2 healthy pods")},
        )
    )


def test_the_list_says_who_is_where_and_waits_for_what(call: Call) -> None:
    code, text = call(some_nodes(), "get")
    assert code == ExitCode.OK
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["Node", "State", "For", "Driver", "Wanted", "Waits", "for"]
    rows = {line[0]: line[1:] for line in lines[1:]}
    assert rows["n1"][0] == "pod-deletion-required"
    assert "eviction-blocked (at most 5 s)" in text
    assert rows["n2"][-1] == "skipped"
    assert rows["n3"] == ["upgrade-done", "1", "min", "40", "s", "580.105.08", "580.105.08"]


def test_the_list_has_the_version_that_is_loaded_and_says_where_none_runs(call: Call) -> None:
    old, new = builders.OLD.version, builders.NEW.version
    found = a_look(
        builders.a_snapshot(
            builders.a_well_node("n1", NodePhase.VALIDATION_REQUIRED, loaded=Loaded(version=old, seen_at=builders.NOW)),
            builders.a_node("n2", NodePhase.POD_RESTART_REQUIRED, driver=builders.a_starting_driver("n2")),
        )
    )
    _, text = call(found, "get", "-o", "table")
    drivers = {line.split()[0]: line.split("   ")[3:] for line in text.splitlines()[1:3]}
    assert old in drivers["n1"][0]
    assert f"{new} (not Ready)" in drivers["n2"][0]


def test_the_list_can_be_cut_to_a_state_or_to_those_who_wait(call: Call) -> None:
    _, done = call(some_nodes(), "get", "--state", "upgrade-done", "-o", "name")
    _, held = call(some_nodes(), "get", "--held", "-o", "name")
    assert done.split() == ["node/n3"]
    assert held.split() == ["node/cpu-1", "node/n1", "node/n2"]


def test_the_list_can_be_cut_by_labels(call: Call) -> None:
    found = a_look(
        builders.a_snapshot(
            builders.a_node("n1", NodePhase.UPGRADE_REQUIRED, labels={"pool": "a"}),
            builders.a_node("n2", NodePhase.UPGRADE_REQUIRED, labels={"pool": "b"}),
            builders.a_node("n3", NodePhase.UPGRADE_REQUIRED),
        )
    )
    for selector, names in (("pool=a", "n1"), ("pool", "n1 n2"), ("pool notin (a)", "n2 n3"), ("!pool", "n3")):
        _, text = call(found, "get", "-l", selector, "-o", "name")
        assert text.split() == [f"node/{name}" for name in names.split()]


@pytest.mark.parametrize("words", [("skip",), ("skip", "n1", "-l", "pool=a")])
def test_nodes_to_change_are_named_or_chosen_by_label(words: tuple[str, ...], call: Call) -> None:
    assert call(some_nodes(), *words)[0] == ExitCode.USAGE


def test_what_would_be_written_can_be_read_by_scripts(call: Call) -> None:
    labelled = builders.a_node("n1", NodePhase.UPGRADE_REQUIRED, labels={"pool": "a"})
    other = builders.a_node("n2", NodePhase.UPGRADE_REQUIRED)
    found = a_look(builders.a_snapshot(labelled, other))
    _, text = call(found, "skip", "-l", "pool=a", "--dry-run", "-o", "yaml")
    assert yaml.safe_load(text) == [
        {
            "name": "n1",
            "labels": {keys.SKIP_LABEL: "true"},
            "annotations": {},
            "said": "n1 is left out",
            "isWritten": False,
        }
    ]
    _, names = call(found, "skip", "n2", "n1", "--dry-run", "-o", "name")
    assert names == "node/n2\nnode/n1\n"


def test_the_wide_list_says_whose_cordon_it_is(call: Call) -> None:
    _, text = call(some_nodes(), "get", "-o", "wide")
    assert "seatrial" in next(line for line in text.splitlines() if line.startswith("n1"))


def test_a_script_gets_everything(call: Call) -> None:
    _, text = call(some_nodes(), "get", "-o", "json")
    (found,) = (each for each in json.loads(text) if each["name"] == "n1")
    assert (found["state"], found["cordonedBy"], found["driver"]) == ("pod-deletion-required", "seatrial", "570.124.06")
    assert found["gpuPods"] == [{"namespace": "jobs", "name": "train-0", "holdsBy": "resource", "terminating": False}]
    assert found["hold"]["code"] == "eviction-blocked"
    assert "the budget needs 2 healthy pods" in found["hold"]["why"]


def test_one_node_is_shown_with_what_it_offers_and_what_holds_its_gpus(call: Call) -> None:
    shown = builders.a_node(
        "n1",
        NodePhase.VALIDATION_REQUIRED,
        entered_at=builders.NOW - 10,
        is_cordon_ours=True,
        driver=builders.a_new_driver(),
        dra=builders.a_dra_plugin(),
        loaded=Loaded(version="580.105.08"),
        offer=GpuOffer(resources=(("nvidia.com/gpu", 7),)),
        record={"before": EIGHT},
        pods=(builders.a_gpu_pod(),),
    )
    code, text = call(a_look(builders.a_snapshot(shown, admitted=builders.a_ledger("n1"))), "get", "n1")
    assert code == ExitCode.HELD
    for line in (
        "  holds     jobs/train-0 (resource)",
        "Offers    nvidia.com/gpu 7",
        "Before    nvidia.com/gpu 8",
        "Loaded    580.105.08",
        "DRA       plugin-n1 (Ready)",
    ):
        assert line in text.splitlines()
    assert text.splitlines()[-2].startswith("Answer    n1: the validator became Ready before the new driver")


def test_a_node_that_is_done_is_shown_without_a_complaint(call: Call) -> None:
    code, text = call(some_nodes(), "get", "n3")
    assert code == ExitCode.OK
    assert text.splitlines()[-1] == "Answer    it is done; there is nothing to do."


def test_a_misspelt_node_is_an_error_that_names_its_neighbours(call: Call) -> None:
    code, text = call(some_nodes(), "get", "n")
    assert code == ExitCode.ERROR
    assert text == "seatrial: there is no node n. Did you mean n1, n2, n3?\n"


def test_nothing_is_written_when_one_of_several_nodes_is_unknown(call: Call) -> None:
    code, text = call(some_nodes(), "skip", "n1", "n99")
    assert code == ExitCode.ERROR
    assert "left out" not in text


def test_skipping_marks_the_node_as_nvidias_controller_does() -> None:
    assert change(builders.a_node(), "skip").labels == {keys.SKIP_LABEL: "true"}
    assert change(builders.a_node(), "unskip").labels == {keys.SKIP_LABEL: None}


def test_skipping_a_node_that_has_begun_says_that_it_still_finishes() -> None:
    begun = builders.a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True)
    assert "still finishes" in change(begun, "skip").said


def test_a_failed_node_is_retried_by_its_label() -> None:
    failed = builders.a_node(phase=NodePhase.UPGRADE_FAILED)
    assert change(failed, "retry") == node.Change(
        labels={keys.STATE_LABEL: "upgrade-required"}, annotations={}, said="n1 is tried again"
    )


def test_a_node_that_a_person_left_out_is_not_tried_again_before_it_is_let_in() -> None:
    failed = builders.a_node(phase=NodePhase.UPGRADE_FAILED, is_skipped=True)
    with pytest.raises(node.NodeRefused, match=r"no upgrade of it starts\. First: `seatrial node unskip n1`"):
        change(failed, "retry")


def test_a_loss_is_accepted_with_the_retry() -> None:
    failed = builders.a_node(phase=NodePhase.UPGRADE_FAILED)
    assert change(failed, "retry", accept_loss=True).annotations == {keys.ACCEPT_LOSS_ANNOTATION: "true"}
    waiting = builders.a_node(phase=NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True)
    assert change(waiting, "retry", accept_loss=True).labels == {}


def test_a_node_that_has_not_failed_is_upgraded_again_only_when_told_so() -> None:
    done = builders.a_well_node(phase=NodePhase.UPGRADE_DONE)
    with pytest.raises(node.NodeRefused, match=r"n1 has not failed, it is upgrade-done\. .*--again"):
        change(done, "retry")
    assert change(done, "retry", again=True).annotations == {keys.REQUESTED_ANNOTATION: "true"}


def test_a_node_under_way_cannot_be_retried() -> None:
    begun = builders.a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True)
    with pytest.raises(node.NodeRefused, match="n1 is under way; `seatrial why n1`"):
        change(begun, "retry", again=True)


def test_where_nvidias_controller_moves_the_nodes_it_is_asked_in_its_own_words() -> None:
    failed = builders.a_node(nvidia_state="upgrade-failed")
    assert change(failed, "retry", operator=DELEGATED).labels == {keys.NVIDIA_STATE_LABEL: "upgrade-required"}


def test_a_dry_run_says_what_would_be_done(call: Call) -> None:
    code, text = call(some_nodes(), "skip", "n3", "--dry-run")
    assert (code, text) == (ExitCode.OK, "n3 is left out (not written: --dry-run)\n")
