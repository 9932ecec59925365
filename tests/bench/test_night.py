"""A seed draws the same night each time, and a planted lie in an answer is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from bench.night import checks
from bench.night.checks import Said
from bench.night.facts import Facts, Node
from bench.night.faults import FAULTS, FAULTS_MAX, FAULTS_MIN, MOMENTS, Moment, Struck, draw
from bench.night.questions import QUESTIONS

OLD, NEW = "570.124.06", "570.172.08"
BY_NAME = {each.name: each for each in FAULTS}


def facts(*nodes: Node, struck: tuple[tuple[str, str], ...] = (), **changes: Any) -> Facts:
    """Three nodes in the first wave: one done, one whose driver crashes, one to come."""
    known = nodes or (
        Node(name="gpu-000", version=NEW),
        Node(name="gpu-001", version=NEW, is_running=False, pod="CrashLoopBackOff", is_cordoned=True),
        Node(name="gpu-002", version=OLD),
    )
    return replace(
        Facts(nodes=known, before=OLD, target=NEW, phase="Waving", holder="vm-1-abc", approved=("waves",)),
        struck=tuple(Struck(fault=BY_NAME[fault], node=node) for fault, node in struck),
        **changes,
    )


ONE_FAILED = facts()
UNAPPROVED = facts(
    Node(name="gpu-000", version=NEW), Node(name="gpu-001", version=OLD), phase="Baking", awaits="waves", approved=()
)
LEADERLESS = facts(lease_age_seconds=90.0)
PULLING = facts(
    Node(name="gpu-000", version=NEW),
    Node(name="gpu-001", version=NEW, is_running=False, pod="ImagePullBackOff", is_cordoned=True),
)


@pytest.mark.parametrize(
    ("check", "known", "text", "lie", "found"),
    [
        (
            checks.where,
            ONE_FAILED,
            "└─ nodes  1 done, 1 to come, 1 failed of 3\nDone  1/3\n  failed: gpu-001\n✔ gpu-000 runs 570.172.08",
            ("1 done", "2 done"),
            "2 are said to be done, and 1 run 570.172.08 (1 of them unharmed)",
        ),
        (
            checks.where,
            ONE_FAILED,
            "Done  1/3\nfailed: gpu-001",
            ("failed: gpu-001", ""),
            "gpu-001 failed, and is not named",
        ),
        (
            checks.where,
            ONE_FAILED,
            "failed: gpu-001\n✔ gpu-000 upgrade-done, runs 570.172.08",
            ("gpu-000", "gpu-002"),
            "gpu-002 is said to run 570.172.08, and its driver pod is Running with 570.124.06",
        ),
        (
            checks.where,
            ONE_FAILED,
            "failed: gpu-001\nWaving for 9 s, time left: unknown",
            ("time left: unknown", "at least 2 min left"),
            "a remaining time is named, and it is unknown: Waving for 9 s, at least 2 min left",
        ),
        (
            checks.where,
            UNAPPROVED,
            "NEEDS YOU  seatrial rollout approve spring waves",
            ("NEEDS YOU", "OK"),
            "it begins with OK, and a person is needed",
        ),
        (
            checks.where,
            LEADERLESS,
            "NO CONTROLLER\nfailed: gpu-001",
            ("NO CONTROLLER", "Leader vm-1-abc"),
            "no controller leads since 90 s, and the answer does not say so",
        ),
        (
            checks.where,
            ONE_FAILED,
            "Leader vm-1-abc\nfailed: gpu-001",
            ("Leader vm-1-abc", "NO CONTROLLER"),
            "no controller is said to lead, and one does",
        ),
        (
            checks.doing,
            PULLING,
            "gpu-000   upgrade-done   570.172.08\ngpu-001   pod-restart   570.172.08 (not Ready)   570.172.08",
            (" (not Ready)", ""),
            "gpu-001 is said to run 570.172.08, and its driver pod is ImagePullBackOff with 570.172.08",
        ),
        (
            checks.what_next,
            UNAPPROVED,
            "Answer  give it: `seatrial rollout approve spring waves`.",
            ("give it: `seatrial rollout approve spring waves`", "wait"),
            "it waits for approval of waves, and the command for that is not named",
        ),
        (
            checks.cost,
            ONE_FAILED,
            "Under way, at Waving: 1 of 3 nodes are upgraded to 570.172.08, 1 failed.",
            (", 1 failed", ""),
            "1 failed, and the answer says nothing of that",
        ),
        (
            checks.undo,
            facts(commits=("Driver 570.172.08 for the canary gpu-000",)),
            "its commits are reverted by one commit; nodes that were touched go back (1 are done now)",
            ("reverted", "kept"),
            "it has committed, and the answer does not say that this is reverted",
        ),
        (
            checks.approved,
            facts(approvers=("testbed-admin",)),
            "testbed-admin approved waves",
            ("waves", "promotion"),
            "approved are ['waves'], and the answer names ['promotion']",
        ),
        (
            checks.versions,
            PULLING,
            "gpu_driver   mixed   570.172.08 (1), starting (1)",
            ("570.172.08 (1)", "570.172.08 (2)"),
            "570.172.08 is said to run on 2, and 1 driver pods are Ready with it",
        ),
        (checks.broken, PULLING, "gpu-001: image-pull", ("gpu-001", "gpu-000"), "gpu-001 is broken, and is not named"),
        (
            checks.kubectl,
            facts(phase="Done"),
            "spring   570.172.08   Done   1/3   1 FAILED: gpu-001",
            ("1 FAILED: gpu-001", ""),
            "gpu-001 failed, and no word of that",
        ),
        (
            checks.kubectl,
            UNAPPROVED,
            "spring   570.172.08   Baking   1/2   waits for approval of the waves",
            ("waits for approval of the waves", "waiting for gates: smoke on gpu-000"),
            "it waits for approval of waves, and no word of that",
        ),
        (
            checks.what_next,
            LEADERLESS,
            "no controller is in charge; looks again when a controller runs",
            ("looks again when a controller runs", "looks again or gives up within 28 min 58 s"),
            "“gives up within 28 min 58 s” is said, and no controller keeps a deadline",
        ),
        (
            checks.what_next,
            facts(is_pause_asked=True),
            "Phase     Waving for 30 s (direct); a pause is requested",
            ("; a pause is requested", ""),
            "a pause is requested and has not begun, and the answer does not say so",
        ),
        (
            checks.what_next,
            ONE_FAILED,
            "its turn has not come yet: the rollout is at Waving.",
            ("Waving", "Paused"),
            "its phase is said to be Paused, and it is Waving",
        ),
        (
            checks.stop,
            ONE_FAILED,
            "A pause of spring is requested.",
            ("A pause of spring is requested.", "spring is paused: every node keeps its place."),
            "it is said to be paused, and its phase is Waving",
        ),
    ],
)
def test_a_true_answer_passes_and_a_planted_lie_is_found(
    check: checks.Check, known: Facts, text: str, lie: tuple[str, str], found: str
) -> None:
    assert list(check(Said(text=text, code=12), known)) == []
    assert list(check(Said(text=text.replace(*lie), code=12), known)) == [found]


@pytest.mark.parametrize(
    ("known", "node", "text", "lie", "found"),
    [
        (
            UNAPPROVED,
            "gpu-001",
            "the rollout waits for approval of its waves",
            ("the rollout waits for approval of its waves", "its turn has not come. It follows on its own"),
            "“follows on its own” is said, and it needs a person",
        ),
        (
            PULLING,
            "gpu-001",
            "Driver  570.172.08 (not Ready); cordoned by seatrial; its image cannot be pulled",
            ("(not Ready)", "(Ready)"),
            "its driver is said to be 570.172.08 (Ready), and the pod is ImagePullBackOff with 570.172.08",
        ),
        (
            facts(Node(name="gpu-002", version=OLD, is_cordoned=True), struck=(("cordon", "gpu-002"),)),
            "gpu-002",
            "Cordoned  by a person",
            ("a person", "seatrial"),
            "the cordon is said to be seatrial's, and a person made it",
        ),
        (
            facts(Node(name="gpu-002", version=NEW, gpus=7)),
            "gpu-002",
            "nvidia.com/gpu 7 of 8",
            ("nvidia.com/gpu 7 of 8", "it is done"),
            "it offers 7 of 8 GPUs, and the answer does not say so",
        ),
    ],
)
def test_an_untrue_reason_of_a_node_is_found(
    known: Facts, node: str, text: str, lie: tuple[str, str], found: str
) -> None:
    assert list(checks.why(Said(text=text, node=node), known)) == []
    assert list(checks.why(Said(text=text.replace(*lie), node=node), known)) == [found]


def test_success_is_no_exit_code_while_an_approval_is_outstanding() -> None:
    said = Said(text="seatrial rollout approve spring waves", code=0)
    assert list(checks.where(said, UNAPPROVED)) == ["exit code 0 says that it is done or moving, and it is not"]


def test_what_was_true_before_or_after_the_answer_is_no_untruth() -> None:
    assert checks.untrue_in_both(["no controller leads since 90 s"], []) == []
    assert checks.untrue_in_both(["silent for 90 s"], ["silent for 88 s"]) == ["silent for 90 s"]


def test_a_night_comes_again_from_its_seed_and_four_in_a_row_have_four_moments() -> None:
    assert draw(7) == draw(7)
    assert {draw(seed).moment for seed in range(5, 9)} == set(MOMENTS)


@pytest.mark.parametrize("seed", range(40))
def test_a_night_has_three_to_five_faults_that_can_be_there_together(seed: int) -> None:
    night = draw(seed)
    assert FAULTS_MIN <= len(night.struck) <= FAULTS_MAX
    assert any(each.fault.makes is night.moment for each in night.struck)
    assert all(night.moment in each.fault.moments for each in night.struck)
    assert not (night.has("killed") and night.has("pause-unheard"))
    fleet = [each.node for each in night.struck if each.node and not each.fault.on_canary]
    assert len(fleet) == len(set(fleet)), "one fault for each node"


def test_every_fault_is_drawn_within_forty_nights() -> None:
    assert {each.fault.name for seed in range(40) for each in draw(seed).struck} == set(BY_NAME)
    assert {each.makes for each in FAULTS} >= set(Moment)


def test_only_the_last_question_writes() -> None:
    assert [each.writes for each in QUESTIONS] == [*[False] * (len(QUESTIONS) - 1), True]
