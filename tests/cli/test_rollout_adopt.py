"""What `seatrial rollout adopt` says, asks and refuses. What it does to a cluster: tests/e2e/test_adopt.py."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from seatrial.app.rollout.adopting import AdoptionPlan, AdoptOptions
from seatrial.cli import terminal
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.rollout import adopt as rollout_adopt
from seatrial.cli.rollout.adopt import as_data, told
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.survey.adoption.node import classify
from seatrial.core.survey.adoption.traces import Traces, Wish
from tests import builders
from tests.builders import NEW, NOW, OLD


def parsed(*words: str) -> AdoptOptions:
    parser = argparse.ArgumentParser()
    rollout_adopt.add_arguments(parser)
    return rollout_adopt.asked(parser.parse_args(list(words)))


def a_plan(*nodes: NodeSeen, **changes: Any) -> AdoptionPlan:
    """A plan for nodes whose cordons are of NVIDIA's operator."""
    wish = Wish(target=NEW.version, now=NOW)
    by_nvidia = Traces(cordoned_by="gpu-operator")
    fields: dict[str, Any] = {
        "wish": wish,
        "adoptions": {node.name: classify(node, by_nvidia, wish) for node in nodes},
        "rollout": f"adopt-{NEW.version}",
        "body": {"kind": "GPURollout"},
    }
    return AdoptionPlan(**(fields | changes))


HALF_DONE = builders.a_node("n1", nvidia_state="pod-deletion-required", is_cordoned=True)


def test_the_plan_shows_every_node_and_every_write() -> None:
    rows = [
        ("NODE", "FATE", "FOUND", "THEN"),
        (
            "n1",
            "finish",
            f"NVIDIA's: pod-deletion-required, cordoned by gpu-operator, driver {OLD.version} (Ready)",
            "NVIDIA's controller left it at pod-deletion-required: it continues from pod-deletion-required",
        ),
        ("n3", "nothing", f"driver {NEW.version} (Ready)", "it runs the target"),
    ]
    assert list(told(a_plan(HALF_DONE, builders.a_well_node("n3")))) == [
        f"To driver {NEW.version}: 2 nodes (1 finish, 1 nothing)",
        "",
        terminal.columns(rows),
        "",
        "Writes:",
        "  node n1: record pod-deletion-required, attempt 1, the cordon is ours",
        f"  GPURollout adopt-{NEW.version}: created; driver {NEW.version}, moves nodes only",
    ]


def test_where_everything_is_written_already_that_is_said() -> None:
    lines = list(told(a_plan(builders.a_well_node("n3"), body=None)))
    assert lines[-2:] == [
        "Nothing has to be written.",
        f"GPURollout adopt-{NEW.version} already exists, and takes them over.",
    ]


def test_a_version_that_is_not_published_is_said_with_what_to_do() -> None:
    lines = list(told(a_plan(HALF_DONE, unpublished=("n1", "n2", "n3", "n4", "n5"))))
    assert lines[-1] == (
        "The driver DaemonSets of n1, n2, n3, n4 and 1 more have another version. "
        f"Publish {NEW.version} where you publish it, or use --publish direct; the rollout waits for that."
    )
    published = list(told(a_plan(HALF_DONE, unpublished=("n1",), resources=("ClusterPolicy/cluster-policy",))))
    assert published[-1] == f"  ClusterPolicy/cluster-policy: driver version {NEW.version}"


def test_the_plan_for_scripts_has_the_same() -> None:
    assert as_data(a_plan(HALF_DONE), None) == {
        "target": NEW.version,
        "direction": "to",
        "rollout": {"name": f"adopt-{NEW.version}", "isNew": True},
        "publishes": [],
        "unpublished": [],
        "nodes": [
            {
                "name": "n1",
                "fate": "finish",
                "phase": "pod-deletion-required",
                "found": f"NVIDIA's: pod-deletion-required, cordoned by gpu-operator, driver {OLD.version} (Ready)",
                "why": "NVIDIA's controller left it at pod-deletion-required: it continues from pod-deletion-required",
                "writes": ["record pod-deletion-required, attempt 1, the cordon is ours"],
            }
        ],
        "isDryRun": True,
        "written": [],
        "changed": [],
    }


def test_forth_and_back_are_not_said_together(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["rollout", "adopt", "--to", NEW.version, "--back"])
    assert ended.value.code == ExitCode.USAGE
    assert "not allowed with argument" in capsys.readouterr().err


def test_back_may_stand_alone() -> None:
    assert (parsed("--back").back, parsed("--back", OLD.version).back, parsed().back) == ("", OLD.version, None)
