"""`seatrial bake explain`: what is proven, on one scale, with an exit code that scripts can use."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from seatrial.app.looking import Look
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.gates import bake, bake_html
from seatrial.cli.main import main
from seatrial.core.judging.evidence import exposed_of
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates.compared import Compared
from seatrial.core.model.gates.exposed import Exposure
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.words.proofs import Proven
from seatrial.core.words.speeds import Speed, Speeds
from tests.cli.test_rollout_tree import a_look
from tests.core.judging.upgrades import an_upgrade

HOUR = 3600.0


def a_baking_look(*, baked: float = 6.0, events: int = 0) -> Look:
    shown = exposed_of(["n1"], ("n2",), at=-9 * HOUR)
    canary = Exposure(node="n1", watched_seconds=8 * HOUR, watched_gpu_hours=64.0, loaded_gpu_hours=32.0)
    counted = shown.rare[0].counted(events=events, hours=64.0, loaded_hours=32.0)
    shown = replace(shown, canaries=(canary,), rare=(counted, *shown.rare[1:]))
    return a_look(RolloutPhase.BAKING, record={"baked_seconds": baked * HOUR, "exposed": shown})


@pytest.mark.parametrize(
    ("look", "code"),
    [
        (a_baking_look(), ExitCode.INCONCLUSIVE),
        (a_baking_look(baked=48.0), ExitCode.OK),
        (a_baking_look(events=9), ExitCode.GATE_FAILED),
    ],
)
def test_the_exit_code_says_whether_it_is_enough(look: Look, code: ExitCode) -> None:
    assert bake.page_of(look).code is code


def test_hours_are_drawn_to_one_scale_and_told_as_sentences() -> None:
    lines = bake.page_of(a_baking_look()).lines
    assert lines[0] == "spring: Baking, canary n1"
    widths = {line.split()[0]: line.count("█") for line in lines if "█" in line}
    assert widths["asked"] == bake.WIDTH
    assert 0 < widths["counts"] <= widths["with"] <= widths["on"] < bake.WIDTH
    assert "- 6 h of 2 d count as evidence: every gate passed before and after." in lines


def test_losses_are_drawn_beside_the_one_that_is_asked() -> None:
    measured = Compared(comparisons=an_upgrade(rounds=20).comparisons, is_measured=True)
    lines = bake.page_of(a_look(RolloutPhase.BAKING, record={"compared": measured})).lines
    (asked,) = (line for line in lines if line.split()[:2] == ["to", "rule"])
    (drawn,) = (line for line in lines if line.strip().startswith("matrix-fp32 of c "))
    assert asked.count("█") == bake.WIDTH // bake.LOSSES_SHOWN
    assert 0 < drawn.count("█") < asked.count("█")
    assert asked.endswith("3.0%")


def test_a_figure_that_excludes_nothing_yet_is_drawn_as_such() -> None:
    nothing = Speed(
        name="hbm-copy",
        node="n1",
        loss=0.0,
        excluded=None,
        rounds=1,
        control_count=0,
        needed_hours=None,
        is_asked=True,
        verdict=GateVerdict.PENDING,
    )
    speeds = Speeds(asked_loss=0.03, confidence=0.99, false_alarms=0.01, speeds=(nothing,))
    _, drawn = bake.loss_bars(Proven(hours=0.0, asked_hours=0.0, is_watched=False, speeds=speeds))
    assert drawn == f"hbm-copy of n1  {'░' * bake.WIDTH}  nothing yet"


def test_a_document_has_the_figures_and_the_sentences() -> None:
    data = bake.page_of(a_baking_look()).data
    assert data["proven"]["watched_hours"] == 8.0
    assert data["proven"]["events"][0]["name"] == "ecc-uncorrected-volatile"
    assert data["told"]


def test_a_page_has_the_same_figures_and_a_bar_for_each_of_them() -> None:
    found = bake.page_of(a_baking_look(events=2))
    written = bake_html.page(found.data)
    kept = written.split('id="data">')[1].split("</script>")[0]
    assert json.loads(kept)["proven"] == json.loads(json.dumps(found.data["proven"]))
    assert written.count("<rect") == len([line for line in found.lines if "█" in line])
    assert "6 h of 2 d" in written
    assert "2 in 64.0 GPU-hours" in written


def test_a_loss_that_is_excluded_is_a_shorter_bar_than_one_that_is_not() -> None:
    known = Speed(
        name="hbm-copy",
        node="n1",
        loss=0.0,
        excluded=0.006,
        rounds=3,
        control_count=2,
        needed_hours=0.0,
        is_asked=True,
        verdict=GateVerdict.PASSED,
    )
    speeds = Speeds(asked_loss=0.03, confidence=0.99, false_alarms=0.01, speeds=(known, replace(known, excluded=None)))
    told = asdict(Proven(hours=1.0, asked_hours=2.0, is_watched=False, speeds=speeds))
    data = {"rollout": "<spring>", "phase": "Baking", "canaries": ["n1"], "is_enough": False, "is_failed": False}
    written = bake_html.page({**data, "proven": told, "told": ["so far so good"]})
    short, whole = (
        float(each.split('"')[0]) for each in re.findall(r'width="([\d.]+" height="20" [^>]*)', written)[2:]
    )
    assert short == pytest.approx(bake_html.ROOM * 0.006 / (bake_html.SHOWN * 0.03), abs=0.1)
    assert whole == bake_html.ROOM
    assert "a loss of 3% has to be ruled out" in written
    assert "<spring>" not in written


def test_a_page_is_not_written_again_and_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bake", "explain", "-w", "--html", str(tmp_path / "bake.html")]) == ExitCode.USAGE
    assert "leave out --watch, or --html" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_rollout_without_a_canary_does_not_bake() -> None:
    plain = a_baking_look()
    assert plain.sight is not None
    without = replace(plain, sight=replace(plain.sight, intent=replace(plain.sight.intent, campaign=None)))
    with pytest.raises(bake.NoBake, match="only those bake"):
        bake.page_of(without)
