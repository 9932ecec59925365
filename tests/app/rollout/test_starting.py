"""What a rollout begins with, and what will happen, as values."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.app.rollout import starting
from seatrial.app.rollout.options import Care, StartOptions
from seatrial.app.texts import FileUnusable
from seatrial.core.model.campaign import Canary, Point
from tests import builders
from tests.app.rollout.test_rehearsing import TARGET, around, live


def test_what_will_happen_is_told_in_the_order_in_which_it_does() -> None:
    rows = dict(starting.preview(around(manual=(Point.WAVES,), canary=Canary(nodes=("n2",))), TARGET))
    assert list(rows) == ["Rollout", "Source", "Canary", "Gates", "Bake", "Waves", "Publish", "Nodes", "Asks"]
    assert rows["Canary"] == "n2 (named)"
    assert rows["Source"] == "no matrix: the version was given by hand"
    assert rows["Publish"] == f"by writing {builders.POLICY}"
    assert rows["Asks"] == "a person before waves"


def test_another_rollout_under_way_is_told_last() -> None:
    *_, last = starting.preview(around(live("n1"), others=("autumn",)), TARGET)
    assert last == ("Waits", "autumn has not ended: this one will be held until it has")


def test_a_file_that_is_no_rollout_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.yaml"
    for text, says in (("kind: Pod", "is no GPURollout of"), ("a: [", "is no YAML")):
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
    with pytest.raises(FileUnusable, match="holds no list of gates"):
        starting.read_gates(str(file))
