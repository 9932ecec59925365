"""What a rollout is to be, said without a command line; as words: tests/cli/test_rollout_spec.py."""

from __future__ import annotations

import pytest

from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout import options, resource
from seatrial.app.rollout.options import Care, Goal, Publishing, StartOptions


def test_what_was_said_makes_a_resource_and_what_was_not_is_left_to_its_defaults() -> None:
    asked = StartOptions(
        goal=Goal(git="https://git.example.com/gpu.git", selector=(("pool", "train"),)),
        publishing=Publishing(publish="git", publish_path="cluster/gpu.yaml"),
        care=Care(bake=7200, max_parallel=0),
    )
    options.check(asked)
    assert resource.resource_of("spring", resource.spec_of(asked, "580.105.08")) == {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": "spring"},
        "spec": {
            "target": {"driver": "580.105.08"},
            "publish": {"via": "git", "git": {"path": "cluster/gpu.yaml"}},
            "nodeSelector": {"pool": "train"},
            "canary": {"count": 1},
            "bake": {"durationSeconds": 7200},
            "limits": {"maxParallelUpgrades": 0},
        },
    }


@pytest.mark.parametrize(
    ("care", "bake"),
    [
        (Care(exclude="3%"), {"durationSeconds": 0, "until": {"exclude": "3%"}}),
        (
            Care(exclude="3%", confidence="95%", bake=7200),
            {"durationSeconds": 7200, "until": {"exclude": "3%", "confidence": "95%"}},
        ),
    ],
    ids=["until it is proven", "that, and two hours"],
)
def test_who_asks_for_a_proof_asks_for_no_hours_besides_unless_they_say_so(care: Care, bake: object) -> None:
    asked = StartOptions(goal=Goal(driver="580.105.08"), care=care)
    options.check(asked)
    assert resource.spec_of(asked, "580.105.08")["bake"] == bake


def test_how_sure_one_has_to_be_needs_something_to_be_sure_of() -> None:
    with pytest.raises(CalledWrongly, match="--confidence says something about --exclude"):
        options.check(StartOptions(goal=Goal(driver="580.105.08"), care=Care(confidence="95%")))


def test_what_was_given_is_named_as_it_is_typed() -> None:
    asked = StartOptions(goal=Goal(driver="580.105.08"), care=Care(canary_node=("gpu-1",), no_prepull=True))
    assert options.given(asked) == ["--driver", "--canary-node", "--no-prepull"]


@pytest.mark.parametrize(
    ("care", "option"),
    [
        (Care(max_parallel=0), "--max-parallel"),
        (Care(max_failed=0), "--max-failed"),
        (Care(bake=0), "--bake"),
        (Care(bake_every=0), "--bake-every"),
        (Care(wave_pause=0), "--wave-pause"),
    ],
)
def test_nought_was_said_and_a_file_leaves_no_room_for_it(care: Care, option: str) -> None:
    asked = StartOptions(file="rollout.yaml", care=care)
    assert options.given(asked) == [option]
    with pytest.raises(CalledWrongly, match=f"-f says it all, so {option} would say nothing"):
        options.check(asked)
