"""What a rollout begins with, and what will happen, as values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatrial.app.rollout import starting
from seatrial.app.rollout.options import Care, StartOptions
from seatrial.app.texts import FileUnusable
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import ASKED_BY_WORD, ByHand, Canary, Mode, Point
from seatrial.core.model.policy import IDLE_BY_ATTRITION, Attrition
from seatrial.core.model.seen.subscriptions import Subscription
from seatrial.core.model.target import Target
from seatrial.core.movers.mover import mover_of
from tests import builders
from tests.app.rollout.test_rehearsing import TARGET, around, live

FIRMWARE = ByHand(component=Component.FIRMWARE_CX7)


def test_what_will_happen_is_told_in_the_order_in_which_it_does() -> None:
    rows = dict(starting.preview(around(manual=(Point.WAVES,), canary=Canary(nodes=("n2",))), TARGET))
    assert list(rows) == ["Rollout", "Source", "Canary", "Gates", "Bake", "Waves", "Publish", "Nodes", "Asks"]
    assert rows["Canary"] == "n2 (named)"
    assert rows["Source"] == "no matrix: the version was given directly"
    assert rows["Publish"] == f"by writing {builders.POLICY}"
    assert rows["Asks"] == "a person before waves"


@pytest.mark.parametrize(
    ("early", "says"),
    [(True, "is evicted, or before that where waiting costs more"), (False, "is evicted")],
)
def test_by_attrition_it_is_told_what_happens_to_who_is_at_work(early: bool, says: str) -> None:
    outset = around()
    limits = replace(outset.intent.limits, idle_gpus_max=IDLE_BY_ATTRITION)
    policy = replace(outset.intent.policy, limits=limits)
    way = Attrition(evicts_early=early)
    rows = dict(starting.preview(replace(outset, intent=replace(outset.intent, policy=policy, attrition=way)), TARGET))
    assert rows["Attrition"] == (
        "in the waves nodes are closed while their jobs run, and upgraded when these end; at most 10% of the GPUs "
        f"stand idle for it. Who still runs when 24 h of waves are nearly over {says}"
    )


def test_what_moves_with_the_driver_is_told_with_what_it_takes() -> None:
    outset = around(sets_on_delete=True)
    target = Target.of(builders.NEW.version, (Component.CONTAINER_TOOLKIT, "v1.18.1"), (Component.DCGM, "4.4.1-4.6.0"))
    (carrier,) = outset.operator.carriers
    operator = replace(outset.operator, carriers=(replace(carrier, parts=(("container_toolkit", "v1.17.8"),)),))
    outset = replace(outset, intent=replace(outset.intent, target=target), operator=operator)
    rows = list(starting.preview(outset, TARGET))
    toolkit = "is replaced under a cordon; restarts containerd or CRI-O. Containers keep running; none starts or stops"
    assert [text for head, text in rows if head == "Moves"] == [
        f"container_toolkit v1.18.1 (now v1.17.8): {toolkit} meanwhile",
        "dcgm 4.4.1-4.6.0: is replaced. No pod is touched; a gap in the GPU metrics",
    ]
    assert dict(rows)["Publish"] == f"by writing {builders.POLICY}; DaemonSets are set to OnDelete with it"


def test_a_release_that_olm_brings_is_said_to_have_no_way_back() -> None:
    outset = around(is_one_way=True)
    target = Target.of(builders.NEW.version, (Component.GPU_OPERATOR, "v25.10.0"))
    where = "Subscription/nvidia/gpu"
    followed = Subscription(component=Component.GPU_OPERATOR, resource=where, package="gpu-operator-certified")
    operator = replace(outset.operator, subscriptions=(followed,))
    outset = replace(outset, intent=replace(outset.intent, target=target), operator=operator)
    assert dict(starting.preview(outset, TARGET))["Publish"] == (
        f"by writing {builders.POLICY}; {where} brings the release, once its InstallPlan is approved, and no way back"
    )


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"mode": Mode.DIRECT}, "moved by seatrial (direct)"),
        ({"mode": Mode.DELEGATED}, "moved by NVIDIA's upgrade controller (delegated)"),
        ({"by_hand": FIRMWARE}, "moved by people (by-hand)"),
    ],
)
def test_who_moves_the_nodes_is_said_beforehand(asked: dict[str, Any], says: str) -> None:
    assert dict(starting.preview(around(**asked), TARGET))["Nodes"] == says


@pytest.mark.parametrize("mode", Mode)
def test_it_is_said_by_the_mover_itself(mode: Mode) -> None:
    asked: dict[str, Any] = {"by_hand": FIRMWARE} if mode not in ASKED_BY_WORD else {}
    rows = dict(starting.preview(around(mode=mode, **asked), TARGET))
    assert rows["Nodes"] == f"moved by {mover_of(mode).who} ({mode.value})"


def test_another_rollout_under_way_is_told_last() -> None:
    *_, last = starting.preview(around(live("n1"), others=("autumn",)), TARGET)
    assert last == ("Waits", "autumn has not ended: this one will be held until it has")


def test_a_file_that_is_no_rollout_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.yaml"
    for text, says in (("kind: Pod", "is not a GPURollout of"), ("a: [", "is not YAML")):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(FileUnusable, match=says):
            starting.read_rollout(str(file))
    with pytest.raises(FileUnusable, match="cannot be read"):
        starting.read_rollout(str(tmp_path / "nowhere.yaml"))


def test_gates_are_read_from_the_file_that_is_named(tmp_path: Path) -> None:
    file = tmp_path / "gates.yaml"
    file.write_text("gates:\n- {name: smoke, image: a}\n", encoding="utf-8")
    assert starting.gates_of(StartOptions(care=Care(gates_file=str(file)))) == [{"name": "smoke", "image": "a"}]
    assert starting.gates_of(StartOptions()) is None
    file.write_text("gates: []\n", encoding="utf-8")
    with pytest.raises(FileUnusable, match="has no list of gates"):
        starting.read_gates(str(file))
