"""Gates that are expressions, worked out by a real process: what it answers, and what becomes of one that does not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.adapters.expressions import measurer
from seatrial.adapters.expressions.measurer import ExpressionMeasurer, variables
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.figures import Figure, Given
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement

GIVEN = Given(
    verdicts=(("speed", "passed"),),
    figures=(
        ("speed", Figure(name="matrix-bf16", value=660.0, unit="TFLOP/s", node="n1", gpu="GPU-1", at=5.0, low=650.0)),
    ),
    facts=(("name", "n1"), ("driver", "580.105.08"), ("product", "NVIDIA-H200")),
)
HUNGRY = "[1,2,3,4,5,6,7,8,9,10]"


async def said(expression: str, seconds_max: float = measurer.SECONDS_MAX) -> Measurement:
    worker = ExpressionMeasurer(uid_of=lambda _name: "uid-1", seconds_max=seconds_max)
    gate = Gate(name="all", expression=expression)
    await worker.measure(StartProbe(rollout="spring", gate=gate, node="n1", round=1, attempt=1, given=GIVEN))
    (found,) = worker.measurements("uid-1")
    return found


def test_an_expression_sees_figures_by_gate_and_name_verdicts_and_the_node() -> None:
    assert variables(GIVEN) == {
        "figures": {"speed": {"matrix-bf16": [{"value": 660.0, "unit": "TFLOP/s", "gpu": "GPU-1", "low": 650.0}]}},
        "verdicts": {"speed": "passed"},
        "node": {"name": "n1", "driver": "580.105.08", "product": "NVIDIA-H200"},
    }


@pytest.mark.parametrize(
    ("expression", "verdict", "detail"),
    [
        ("node.name == 'n1'", GateVerdict.PASSED, "node.name == 'n1' is true"),
        ("figures.speed['matrix-bf16'][0].value > 700.0", GateVerdict.FAILED, "[0].value > 700.0 is false"),
        ("figures.speed.other[0].value > 1.0", GateVerdict.UNKNOWN, "there is no 'other'"),
        ("1 +", GateVerdict.UNKNOWN, "1 +: Failed to parse"),
    ],
)
async def test_true_passes_false_fails_and_everything_else_is_unknown(
    expression: str, verdict: GateVerdict, detail: str
) -> None:
    found = await said(expression)
    assert found.verdict is verdict
    assert detail in found.detail


async def test_an_expression_that_does_not_end_is_ended_and_unknown() -> None:
    endless = HUNGRY
    for name in "abcdefghijkl":
        endless = f"{HUNGRY}.map({name}, {endless})"
    begun = time.monotonic()
    found = await said(f"{endless} == []")
    assert found.verdict is GateVerdict.UNKNOWN
    assert "it takes more than seatrial gives it" in found.detail
    assert time.monotonic() - begun < measurer.SECONDS_MAX


async def test_a_process_that_is_not_done_in_time_is_ended_and_unknown() -> None:
    found = await said("true", seconds_max=0.001)
    assert found.verdict is GateVerdict.UNKNOWN
    assert "was not worked out within 0.001 s" in found.detail


async def test_a_process_that_is_ended_does_not_run_on() -> None:
    endless = HUNGRY
    for name in "abcdefghijkl":
        endless = f"{HUNGRY}.map({name}, {endless})"
    before = children()
    await said(f"{endless} == []", seconds_max=0.01)
    assert children() == before


def children() -> set[str]:
    """The processes that this one has started, and that are still there."""
    while True:
        tasks = Path(f"/proc/{os.getpid()}/task").iterdir()
        try:
            return {pid for task in tasks for pid in (task / "children").read_text().split()}
        except (FileNotFoundError, ProcessLookupError):
            # A thread ended between being listed and being read; its children are another thread's now.
            continue


async def test_the_process_knows_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("KUBECONFIG", "/secret")
    assert (await said("true")).verdict is GateVerdict.PASSED
    listing = "import json, os, sys; json.dump({'trouble': 'it knows ' + ' '.join(os.environ)}, sys.stdout)"
    monkeypatch.setattr(sys, "executable", an_interpreter(tmp_path, listing))
    found = await said("true")
    assert "it knows" in found.detail
    assert "KUBECONFIG" not in found.detail


async def test_an_answer_of_a_process_that_then_failed_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        sys, "executable", an_interpreter(tmp_path, """print('{"answer": true}'); raise SystemExit(3)""")
    )
    found = await said("true")
    assert found.verdict is GateVerdict.UNKNOWN
    assert "its process ended with 3" in found.detail


def an_interpreter(folder: Path, work: str) -> str:
    """What does this instead of what it was started for."""
    script = folder / "python"
    script.write_text(f"#!{sys.executable} -I\n{work}\n", encoding="utf-8")
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize(
    "work",
    [
        "import seatrial.controller.main",
        "import asyncio; from tests.adapters.expressions.test_measurer import said; asyncio.run(said('true'))",
    ],
    ids=["who is put together", "who has asked"],
)
def test_whoever_holds_the_credentials_never_loads_the_library(work: str) -> None:
    """Nor what comes with it: pydantic, typer and prompt-toolkit."""
    code = f"{work}; import sys; print({{'cel', 'pydantic', 'typer', 'prompt_toolkit'}} & {{*sys.modules}})"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert answer.stdout.strip() == "set()"
