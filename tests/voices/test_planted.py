"""What compares can fail: an untruth that is planted into any voice is found, and is said of that voice."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

import pytest

from tests.voices import scenes
from tests.voices.comparing import contradictions
from tests.voices.voices import Voices, voices_of

Plant: TypeAlias = Callable[[Voices], Voices]

WAVING = ("the-first-of-a-wave-crashes", "Waving")
ASKED = ("the-first-approval-is-outstanding", "Proposed")
BAKING, DONE = ("an-approval-is-outstanding", "Baking"), ("everything-goes-well", "Done")


@cache
def moment(scene: str, phase: str) -> Voices:
    """The last moment of a story in a phase, in which all voices agree."""
    found = [voices_of(each.look) for each in scenes.of_story(scene, scenes.STORIES[scene])]
    voices = [each for each in found if each.columns and each.columns["PHASE"] == phase][-1]
    assert contradictions(voices) == []
    return voices


def column(head: str, text: str) -> Plant:
    return lambda voices: replace(voices, columns={**voices.columns, head: text})


def condition(kind: str, **changes: str) -> Plant:
    return lambda voices: replace(
        voices, conditions={**voices.conditions, kind: {**voices.conditions.get(kind, {}), **changes}}
    )


def line(field: str, pattern: str, instead: str) -> Plant:
    """Another text in the lines of a voice, where it stands for sure."""

    def plant(voices: Voices) -> Voices:
        before: tuple[str, ...] = getattr(voices, field)
        after: Any = tuple(re.sub(pattern, instead, each) for each in before)
        assert before != after, f"{pattern} stands nowhere in {field}"
        return replace(voices, **{field: after})

    return plant


def of_node(pattern: str, instead: str) -> Plant:
    def plant(voices: Voices) -> Voices:
        name, before = "n2", voices.nodes["n2"]
        after = tuple(re.sub(pattern, instead, each) for each in before)
        assert before != after, before
        return replace(voices, nodes={**voices.nodes, name: after})

    return plant


def data(field: str, *path: Any, value: Any) -> Plant:
    """Another value at a place of a document."""

    def plant(voices: Voices) -> Voices:
        document = deepcopy(getattr(voices, field))
        place = document
        for key in path[:-1]:
            place = place[key]
        assert place[path[-1]] != value
        place[path[-1]] = value
        return replace(voices, **{field: document})

    return plant


def metric(pattern: str, instead: str) -> Plant:
    def plant(voices: Voices) -> Voices:
        after, count = re.subn(pattern, instead, voices.metrics)
        assert count, pattern
        return replace(voices, metrics=after)

    return plant


PLANTED: Mapping[str, tuple[tuple[str, str], Plant, str]] = {
    "another target in a column": (WAVING, column("TARGET", "999.1"), "kubectl get, TARGET"),
    "Done in a column": (WAVING, column("PHASE", "Done"), "kubectl get, PHASE"),
    "another state in a column": (WAVING, column("STATE", "done"), "kubectl get, STATE"),
    "more done in a column": (WAVING, column("DONE", "6/6"), "kubectl get, DONE"),
    "a failed node in a column": (BAKING, column("FAILED", "1"), "kubectl get, FAILED"),
    "nobody failed in a column": (WAVING, column("FAILED", ""), "kubectl get, FAILED"),
    "another reason in a column": (WAVING, column("WHY", "the moon is full"), "kubectl get, WHY"),
    "another wave in a column": (WAVING, column("WAVE", "9"), "kubectl get, WAVE"),
    "another canary in a column": (WAVING, column("CANARY", '["n5"]'), "kubectl get, CANARY"),
    "another mode in a column": (WAVING, column("MODE", "delegated"), "kubectl get, MODE"),
    "no green end in a column": (DONE, column("FAILED", "1 (n1)"), "kubectl get, PHASE and FAILED"),
    "it goes on by itself in a condition": (ASKED, condition("Progressing", status="True"), "condition Progressing"),
    "a time that is left while a node has failed": (
        WAVING,
        lambda voices: replace(voices, why=(*voices.why, "Left      about 3 h (the pace)")),
        "why ROLLOUT",
    ),
    "another reason in a condition": (WAVING, condition("Progressing", reason="Baking"), "condition Progressing"),
    "nobody failed in a condition": (
        WAVING,
        condition("Healthy", status="True", reason="NothingFailed"),
        "condition Healthy",
    ),
    "a gate failed in a condition": (WAVING, condition("Healthy", reason="GateFailed"), "condition Healthy"),
    "it ended in a condition": (WAVING, condition("Ended", status="True", reason="Done"), "condition Ended"),
    "not Ready in a condition": (DONE, condition("Ready", status="False"), "condition Ready"),
    "under way in a condition": (
        DONE,
        condition("Reconciling", status="True", reason="Waving", message=""),
        "condition Reconciling",
    ),
    "other counts in the object": (WAVING, data("counts", "upgrade-done", value=1), "status.counts"),
    "more done in status": (WAVING, line("status", r"^Done      \d", "Done      6"), "status"),
    "another state in status": (WAVING, line("status", r"^(Rollout .*): \w+$", r"\1: done"), "status"),
    "nobody leads in status": (WAVING, line("status", r"^Leader    .*", "Leader    none; gone"), "status"),
    "nobody failed in status": (WAVING, line("status", r"^ +failed: .*", ""), "status"),
    "other states in status": (WAVING, line("status", r"^upgrade-done  .*", "upgrade-done      1"), "status"),
    "another phase in status": (WAVING, line("status", r"^Waving for", "Gating for"), "status"),
    "another wave in status": (WAVING, line("status", r": wave \d of", ": wave 7 of"), "status"),
    "another reason in status": (WAVING, line("status", r"^  [a-z-]+ \((n\d.*)", r"  baking (\1"), "status"),
    "another count in the tree": (WAVING, line("status", r"\d done", "6 done"), "status"),
    "not over in the path": (DONE, line("status", r"✔ Done", "▶ Done"), "status"),
    "no gate asked in the tree": (BAKING, line("status", r"round \d+.*passed.*", "smoke: not asked yet"), "status"),
    "a driver that does not run in the tree": (
        BAKING,
        line("status", r"runs (\S+), for", r"driver \1 is not Ready, for"),
        "status",
    ),
    "nothing waits in status": (
        ASKED,
        lambda voices: replace(
            voices, status=(*voices.status[: voices.status.index("Waiting:")], "Nothing is waiting.")
        ),
        "status",
    ),
    "more done at 80 columns": (WAVING, line("narrow", r"^Done      \d", "Done      6"), "status at 80"),
    "more done in the document": (WAVING, data("status_data", "rollout", "done", value=6), "status -o json"),
    "another reason in the document": (WAVING, data("status_data", "holds", 0, "code", value="x"), "status -o json"),
    "a dead leader in the document": (WAVING, data("status_data", "leader", "leading", value=False), "status -o json"),
    "another exit code in the document": (ASKED, data("status_data", "exitCode", value=0), "status -o json"),
    "a driver that is not Ready in the document": (
        WAVING,
        data("status_data", "nodes", 1, "driverReady", value=False),
        "status -o json",
    ),
    "another phase in the document": (
        WAVING,
        data("status_data", "campaign", "phase", value="Gating"),
        "status -o json, campaign",
    ),
    "a time that is left while a person is waited for": (
        ASKED,
        data("status_data", "campaign", "leftSeconds", value=60.0),
        "status -o json, campaign",
    ),
    "all is well in the first line": (
        ASKED,
        lambda voices: replace(
            voices, status_data={**voices.status_data, "headline": {"word": "OK", "why": "it moves", "command": ""}}
        ),
        "status -o json, headline",
    ),
    "no controller in the first line": (
        WAVING,
        lambda voices: replace(voices, status=("NO CONTROLLER  nothing moves", "", *voices.status)),
        "status",
    ),
    "another phase in why": (WAVING, line("why", r"^Phase     \w+", "Phase     Gating"), "why ROLLOUT"),
    "it moves in why": (
        ASKED,
        line("why", r"^Answer .*", "Answer    it waits for nothing: it is moving."),
        "why ROLLOUT",
    ),
    "it has ended in why": (BAKING, line("why", r"^Answer .*", "Answer    it has ended."), "why ROLLOUT"),
    "a time that is left in why": (ASKED, line("why", r"^Left .*", "Left      about 3 h (guessed)"), "why ROLLOUT"),
    "another exit code of why": (WAVING, lambda voices: replace(voices, why_code=13), "why ROLLOUT"),
    "more done in the document of why": (
        WAVING,
        data("why_data", "rollout", "campaign", "nodes", "done", value=6),
        "why ROLLOUT -o json",
    ),
    "a driver that does not run in why of a node": (WAVING, of_node(r"\(Ready\)", "(not Ready)"), "why n2"),
    "another state in why of a node": (WAVING, of_node(r"^State     \S+", "State     upgrade-failed"), "why n2"),
    "it follows on its own in why of a node": (
        ASKED,
        lambda voices: replace(
            voices, nodes={**voices.nodes, "n2": ("Answer    n1: no turn. Now follows on its own.",)}
        ),
        "why n2",
    ),
    "another state in the document of a node": (
        WAVING,
        data("nodes_data", "n2", "state", value="upgrade-failed"),
        "why n2 -o json",
    ),
    "another reason in the document of a node": (
        WAVING,
        data("nodes_data", "n1", "hold", "code", value="jobs-running"),
        "why n1",
    ),
    "nothing to do for a node that failed": (
        WAVING,
        lambda voices: replace(
            voices, nodes={**voices.nodes, "n1": ("Answer    it is done; there is nothing to do.",)}
        ),
        "why n1",
    ),
    "a done node without its driver": (
        DONE,
        lambda voices: replace(
            voices,
            nodes_data={**voices.nodes_data, "n2": {**voices.nodes_data["n2"], "driver": "570.1"}},
        ),
        "why",
    ),
    "over in the report": (WAVING, data("report", "isOver", value=True), "report"),
    "another phase in the report": (WAVING, data("report", "phase", value="Done"), "report"),
    "all done in the report": (WAVING, data("report", "nodes", "done", value=6), "report"),
    "nobody failed in the report": (WAVING, data("report", "nodes", "failedNodes", value=[]), "report"),
    "another verdict in the report": (
        WAVING,
        data("report", "verdict", value="Done: 6 of 6 nodes are upgraded to 580."),
        "report",
    ),
    "held in the report": (WAVING, data("report", "outcome", value="held"), "report"),
    "another phase in the metrics": (
        WAVING,
        metric(r'(phase\{phase="Gating"\}) 0.0', r"\1 1.0"),
        "metrics",
    ),
    "nobody failed in the metrics": (WAVING, metric(r"(\nseatrial_nodes\S+failed\S+) 1.0", r"\1 0.0"), "metrics"),
    "no failure counted": (WAVING, metric(r"(\ngpu_operator_nodes_upgrades_failed) 1.0", r"\1 0.0"), "metrics"),
    "no leader in the metrics": (WAVING, metric(r"\nseatrial_leader 1.0", "\nseatrial_leader 0.0"), "metrics"),
    "no bake in the metrics": (WAVING, metric(r"(\nseatrial_rollout_baked_seconds) \S+", r"\1 0.0"), "metrics"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_an_untruth_in_any_voice_is_found(planted: str) -> None:
    where, plant, voice = PLANTED[planted]
    found = contradictions(plant(moment(*where)))
    sides = [side for each in found for side in (each.one, each.other)]
    assert any(side.voice.startswith(voice) for side in sides), found


def test_what_is_found_names_both_voices_and_what_they_say() -> None:
    where, plant, _ = PLANTED["more done in a column"]
    text = "\n".join(map(str, contradictions(plant(moment(*where)))))
    assert "how many nodes are done\n    kubectl get, DONE: 6\n    " in text
