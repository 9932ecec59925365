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
