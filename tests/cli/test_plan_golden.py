"""The plans that people ask for most, word for word: each matrix of golden/plans with the text its reader sees.

To write the texts anew after a change that was meant: `SEATRIAL_GOLDEN=write pytest tests/cli/test_plan_golden.py`.
Then read every one that changed, as somebody would who is called at three in the morning.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main

HERE = Path(__file__).parent / "golden" / "plans"
MATRICES = sorted(HERE.glob("*.yaml"))
EXPECTED = {
    "operator-patch": ["GPU Operator"],
    "driver-and-cuda": ["GPU driver", "CUDA in the images"],
    "driver-and-cuda-back": ["CUDA in the images", "GPU driver"],
    "operator-and-driver-branch": ["GPU Operator", "GPU Operator", "GPU driver", "GPU Operator"],
    "openshift-everything": [
        *("GPU Operator", "GPU driver", "Network Operator and MOFED", "Network Operator and MOFED", "NIC firmware"),
        *("OpenShift", "SR-IOV operator", "OpenShift", "SR-IOV operator"),
    ],
    "kubernetes-minor": ["Kubernetes"],
    "mofed-to-doca": ["Network Operator", "Network Operator", "Network Operator and MOFED"],
    "openshift-back": [],
    "v100-595": [],
}
"""The order an expert takes; nothing where the way is refused."""


def told(matrix: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """What the command in the first line of a matrix prints, without the day on which our knowledge was built."""
    command = matrix.read_text(encoding="utf-8").splitlines()[0]
    words = shlex.split(command.removeprefix("# $ seatrial "))
    code = main([words[0], str(matrix), *words[1:]])
    return code, re.sub(r"(by the knowledge base of) .*", r"\1 its day.", capsys.readouterr().out)


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda path: path.stem)
def test_a_plan_reads_as_its_text_was_approved(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = told(matrix, capsys)
    golden = matrix.with_suffix(".txt")
    if os.environ.get("SEATRIAL_GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda path: path.stem)
def test_the_order_is_the_one_an_expert_takes(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = told(matrix, capsys)
    steps = re.findall(r"^ ?\d+\. (.*?)(?:  \(.*)?$", text, flags=re.MULTILINE)
    assert steps == EXPECTED[matrix.stem]
    assert code == (ExitCode.INCONCLUSIVE if steps else ExitCode.FINDINGS)


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda path: path.stem)
def test_every_step_says_why_and_what_comes_between(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = told(matrix, capsys)
    steps = re.split(r"^ ?\d+\. ", text, flags=re.MULTILINE)[1:] if EXPECTED[matrix.stem] else []
    assert all("    why  " in step and "    way back " in step for step in steps)
    assert all("    then          let it bake" in step for step in steps[:-1])
    if len({title.split(" and ")[0] for title in EXPECTED[matrix.stem]}) > 1:
        assert all("    why here " in step for step in steps)


def test_every_matrix_has_its_text_and_its_order() -> None:
    assert {path.stem for path in MATRICES} == {path.stem for path in HERE.glob("*.txt")} == set(EXPECTED)
