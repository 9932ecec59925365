"""Which GPURollout the options of `seatrial rollout start` make, and which options cannot be meant."""

from __future__ import annotations

import argparse
from datetime import date

import pytest

from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout import options as start_options
from seatrial.app.rollout import resource
from seatrial.app.rollout.options import StartOptions
from seatrial.cli.rollout import rollout
from seatrial.cli.rollout import spec as rollout_spec
from seatrial.core.model.campaign import ASKED_BY_WORD, AUTO

TARGET = "580.105.08"


def options(*given: str) -> StartOptions:
    parser = argparse.ArgumentParser()
    rollout.add_arguments(parser)
    return rollout_spec.asked(parser.parse_args(["start", *given]))


def test_the_least_that_can_be_said_is_a_target_and_one_canary() -> None:
    assert resource.spec_of(options("--driver", TARGET), TARGET) == {
        "target": {"driver": TARGET},
        "canary": {"count": 1},
    }


def test_everything_that_is_said_is_in_the_spec_and_nothing_else() -> None:
    args = options(
        *("--git", "https://git.example.com/gpu.git", "--mode", "direct", "--selector", "pool=train"),
        *("--publish", "git", "--publish-path", "clusters/a/policy.yaml", "--publish-branch", "live"),
        *("--canary", "2", "--canary-selector", "zone=a", "--bake", "24h", "--bake-every", "30m"),
        *("--gate", "smoke=example.com/smoke:1", "--wave", "3", "--growth", "fixed", "--wave-pause", "10m"),
        *("--window", "Sat 22:00-04:00", "--time-zone", "Europe/Berlin", "--manual", "waves,promotion"),
        *("--max-unavailable", "10%", "--max-parallel", "0", "--max-failed", "0", "--max-idle-gpus", "5%"),
        *("--by-attrition", "1d12h", "--close-ahead", "50%", "--no-early-eviction"),
        *("--no-prepull", "--notify", "https://hooks.example.com/x", "--paused", "--pull-requests"),
    )
    start_options.check(args)
    matrix = {"git": {"url": "https://git.example.com/gpu.git"}, "entry": "canary"}
    more = [{"name": "nccl", "image": "example.com/nccl:1"}]
    assert resource.spec_of(args, TARGET, matrix=matrix, gates=more, canary_node="gpu-9") == {
        "target": {"driver": TARGET},
        "mode": "direct",
        "matrix": matrix,
        "publish": {
            "via": "git",
            "git": {"path": "clusters/a/policy.yaml", "branch": "live", "pullRequests": True},
        },
        "nodeSelector": {"pool": "train"},
        "canary": {"count": 2, "selector": {"zone": "a"}},
        "gates": [*more, {"name": "smoke", "image": "example.com/smoke:1"}],
        "bake": {"durationSeconds": 86_400, "everySeconds": 1_800},
        "waves": {"growth": "fixed", "first": "3", "pauseSeconds": 600},
        "windows": {"timeZone": "Europe/Berlin", "open": [{"days": ["Sat"], "start": "22:00", "minutes": 360}]},
        "approvals": {"manual": ["waves", "promotion"]},
        "limits": {"maxUnavailable": "10%", "maxParallelUpgrades": 0, "maxFailed": 0, "maxIdleGPUs": "5%"},
        "attrition": {"deadlineSeconds": 129_600, "closeAhead": "50%", "earlyEviction": False},
        "prepull": False,
        "notifications": {"webhook": "https://hooks.example.com/x"},
        "paused": True,
    }


def test_by_attrition_a_deadline_is_all_that_has_to_be_said() -> None:
    args = options("--driver", TARGET, "--by-attrition", "24h")
    start_options.check(args)
    assert resource.spec_of(args, TARGET)["attrition"] == {"deadlineSeconds": 86_400}


def test_operands_are_named_one_by_one_and_the_strategy_goes_with_what_is_published() -> None:
    args = options("--driver", TARGET, "--component", "container_toolkit=v1.18.1", "--component", "gfd=v0.18.0")
    start_options.check(args)
    beside = (("container_toolkit", "v1.18.1"), ("gfd", "v0.18.0"))
    assert args.goal.component == beside
    wanted = {"driver": TARGET, "container_toolkit": "v1.18.1", "gfd": "v0.18.0"}
    assert resource.spec_of(args, TARGET, beside=beside)["target"] == wanted
    quiet = options("--driver", TARGET, "--set-on-delete")
    assert resource.spec_of(quiet, TARGET)["publish"] == {"setOnDelete": True}
    forward = options("--driver", TARGET, "--one-way")
    assert resource.spec_of(forward, TARGET)["publish"] == {"oneWay": True}
    by_git = options("--driver", TARGET, "--set-on-delete", "--publish", "git", "--publish-path", "a.yaml")
    assert resource.spec_of(by_git, TARGET)["publish"] == {"via": "git", "setOnDelete": True, "git": {"path": "a.yaml"}}


def test_several_waves_are_how_much_is_upgraded_after_each() -> None:
    spec = resource.spec_of(options("--driver", TARGET, "--wave", "5%", "25%", "100%"), TARGET)
    assert spec["waves"] == {"growth": "percentages", "percentages": [5, 25, 100]}


def test_the_canary_of_the_matrix_goes_first_unless_a_person_says_otherwise() -> None:
    def canary(*given: str) -> object:
        return resource.spec_of(options("--driver", TARGET, *given), TARGET, canary_node="gpu-7")["canary"]

    assert canary() == {"count": 1, "nodes": ["gpu-7"]}
    assert canary("--canary-node", "gpu-1", "--canary-node", "gpu-2") == {"count": 2, "nodes": ["gpu-1", "gpu-2"]}
    assert canary("--canary", "3") == {"count": 3}
    assert canary("--canary-selector", "zone=a") == {"count": 1, "selector": {"zone": "a"}}


def test_a_name_says_what_it_is_for_and_is_numbered_where_it_is_taken() -> None:
    day = date(2026, 3, 1)
    assert resource.name_of(TARGET, day, frozenset()) == "driver-580-105-08-20260301"
    taken = frozenset({"driver-580-105-08-20260301", "driver-580-105-08-20260301-2"})
    assert resource.name_of(TARGET, day, taken) == "driver-580-105-08-20260301-3"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((), "not said what to upgrade to"),
        (("--driver", TARGET, "--matrix", "m.yaml"), "--matrix and --driver both"),
        (("--driver", TARGET, "--entry", "canary"), "--entry names an entry"),
        (("--matrix", "m.yaml", "--component", "gfd=v0.18.0"), "--component says something about --driver"),
        (("--driver", TARGET, "--component", "gfd=v0.18.0", "--component", "gfd=v0.17.0"), "names gfd twice"),
        (("--driver", TARGET, "--driver-only"), "--driver-only is for the entry of a matrix"),
        (("--to", "canary", "--driver-only"), "--to says what is upgraded to, and --driver-only"),
        (("--driver", TARGET, "--set-on-delete", "--publish", "none"), "with --publish none nothing is"),
        (("--driver", TARGET, "--branch", "main"), "--branch says something about --git"),
        (("-f", "r.yaml", "--bake", "1h"), "--bake would say nothing"),
        (("-f", "r.yaml", "--max-parallel", "0"), "--max-parallel would say nothing"),
        (("--driver", TARGET, "--publish", "git"), "needs --publish-path"),
        (("--driver", TARGET, "--publish", "git", "--publish-path", "x.yaml"), "needs a repository"),
        (("--driver", TARGET, "--publish-path", "x.yaml"), "add --publish git"),
        (("--driver", TARGET, "--pull-requests"), "add --publish git"),
        (("--driver", TARGET, "--wave", "5%", "3"), "several --wave"),
        (("--driver", TARGET, "--wave", "5%", "10%", "--growth", "fixed"), "several --wave"),
        (("--driver", TARGET, "--time-zone", "UTC"), "about --window"),
        (("--driver", TARGET, "--close-ahead", "50%"), "about --by-attrition"),
        (("--driver", TARGET, "--no-early-eviction"), "about --by-attrition"),
        (("--driver", TARGET, "--canary-node", "a", "--canary-selector", "k=v"), "give one of them"),
        (("--driver", TARGET, "Spring"), "is not a name"),
    ],
)
def test_options_that_cannot_be_meant_together_are_refused(given: tuple[str, ...], says: str) -> None:
    with pytest.raises(CalledWrongly, match=says):
        start_options.check(options(*given))


def test_a_point_that_nobody_asks_at_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options("--driver", TARGET, "--manual", "canary,lunch")
    assert "'lunch' is not a point to ask at" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kernel=6.8", "NAME one of gpu_operator, network_operator, container_toolkit"),
        ("container_toolkit", "'container_toolkit' is not a version of a component; write it as NAME=V"),
        ("dra_driver=soon", "dra_driver: "),
        ("container_toolkit=soon", "container_toolkit: "),
    ],
)
def test_an_operand_that_is_none_is_refused_with_those_that_are(
    text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options("--driver", TARGET, "--component", text)
    assert says in capsys.readouterr().err


def test_the_modes_are_those_that_a_campaign_knows() -> None:
    assert sorted(rollout_spec.MODES) == sorted([AUTO, *(mode.value for mode in ASKED_BY_WORD)])
