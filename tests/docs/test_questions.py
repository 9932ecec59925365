"""What an operator asks at three in the morning, in the middle of a rollout with five faults at once: one command each.

The page has the commands; the cluster, the controller and the answers are real, and the kubelets are kwok's.
SEATRIAL_WRITE_PAGES=1 writes the page anew.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from docs import terminal_picture
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.nodes import consumers, manifests
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.core.compat.knowledge import ROOT
from tests.docs import console
from tests.docs.terminal import on_terminal
from tests.e2e.light_stage import LightStage, light_stage

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

PAGE = ROOT / "docs" / "how-to" / "questions-at-three-in-the-morning.md"
ROLLOUT = "spring"
CRASHES, UNPULLED, BUDGETED, REBOOTED, LOST = "gpu-001", "gpu-002", "gpu-003", "gpu-004", "gpu-005"
CODES = {"failed", "driver-starting", "eviction-blocked", "node-not-ready", "offer-reduced"}
WORD = "seatrial-word"
"""The policy that holds people to their own names."""
PAGE_COLUMNS = 110
ADDRESS = "https://git.example/gpu-cluster.git"
"""Stands in the page for the folder that the repository is here."""
PICTURES = ROOT / "docs" / "looks"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """Twelve nodes of an own cluster, with what the chart brings against words in somebody else's name."""
    folder = tmp_path_factory.mktemp("night")
    with ControlPlane.start(folder / "plane") as plane:
        plane.load_nvidia_crds()
        controller_process.install(plane)
        plane.apply([each for each in shipped() if each["metadata"]["name"] == WORD])
        with light_stage(
            plane, folder, "gpu", node_count=12, has_device_plugin=True, has_feature_discovery=True
        ) as made:
            made.open()
            yield made


def shipped() -> Iterator[dict[str, Any]]:
    """What `kubectl apply` installs."""
    yield from filter(None, yaml.safe_load_all((ROOT / "deploy" / "seatrial.yaml").read_text(encoding="utf-8")))


def test_ten_questions_have_one_command_each(stage: LightStage) -> None:
    stage.lay_out()
    stage.begin(
        ROLLOUT,
        **stage.by_git(),
        waves={"growth": "percentages", "percentages": [60, 100]},
        approvals={"manual": ["waves", "promotion"]},
        limits={"maxParallelUpgrades": 6, "maxUnavailable": "100%", "maxFailed": 3},
    )
    with stage.synced():
        stage.wait_held("approval-pending")
        break_five(stage)
        stage.do("rollout", "approve", ROLLOUT, "waves")
        stage.wait(lambda: is_broken(stage.status()), "five faults to be told, and the others to be done")
        # A fast machine gets here before there is a cost worth telling, and the page tells one.
        stage.wait(lambda: "GPU-hours so far" in shown(stage, "status", ROLLOUT, columns=PAGE_COLUMNS)[0], "a cost")
        if is_written := bool(os.environ.get(console.VARIABLE)):
            draw(stage)
        ask(stage, is_written=is_written)


def break_five(stage: LightStage) -> None:
    """Everything at once, before the fleet follows the canary."""
    stage.fleet.break_driver(CRASHES, "module-load", restart_count=11)
    stage.fleet.break_driver(UNPULLED, "image-pull")
    stage.fleet.lose_gpu(LOST)
    stage.fleet.set_node_ready(REBOOTED, is_ready=False)
    service = consumers.add_pod(stage.fleet, BUDGETED, name="service", gpus=8)
    budget = manifests.disruption_budget(service.name, service.namespace, min_available=1)
    stage.plane.apply([budget])
    where = (f"pdb/{service.name}", "-n", service.namespace)
    stage.plane.kubectl("wait", "--for=jsonpath={.status.currentHealthy}=1", *where, "--timeout=30s")


def is_broken(status: dict[str, Any]) -> bool:
    told = {each["code"] for each in status.get("nodesWaiting", ())}
    return told >= CODES and status["done"] == "3/12"


def ask(stage: LightStage, *, is_written: bool) -> None:
    """Ask what the page asks, in its order, and compare; or put the answers there."""
    text, differs = PAGE.read_text(encoding="utf-8"), dict[int, str]()
    for number, entry in enumerate(console.entries_of(text)):
        said = answer(stage, entry.command)
        if not console.is_as_shown(*(" ".join(each.split()) for each in (entry.shown, said))):
            differs[number] = said
    if is_written:
        PAGE.write_text(console.rewritten(text, differs), encoding="utf-8")
    else:
        assert differs == {}, "\n".join(differs.values())


def answer(stage: LightStage, command: str) -> str:
    """What a person sees who types this."""
    line, is_asked, _ = command.partition("; echo $?")
    words = shlex.split(line)
    if words[0] == "kubectl":
        return stage.plane.kubectl(*words[1:])
    assert words[0] == "seatrial", command
    said, code = shown(stage, *words[1:], columns=PAGE_COLUMNS, NO_COLOR="1")
    # How long the folder's name is says where that line is cut.
    said = re.sub(r"(?<=moves the nodes \(direct\); ).*", f"{ADDRESS} …", said.replace(str(stage.remote), ADDRESS))
    return f"{said}{code if is_asked else ''}"


def shown(stage: LightStage, *words: str, columns: int, **environment: str) -> tuple[str, int]:
    command, where = (sys.executable, "-m", "seatrial", *words), {"KUBECONFIG": str(stage.plane.kubeconfig)}
    return on_terminal(command, columns=columns, environment=where | environment)


def draw(stage: LightStage) -> None:
    """The pictures of the same moment, as terminals of three widths show it."""
    for columns in (80, 120, 200):
        text, _ = shown(stage, "status", ROLLOUT, columns=columns)
        text = text.replace(str(stage.remote.parent), ADDRESS.rpartition("/")[0])  # its name may be cut
        picture = terminal_picture.shown(
            text, columns=columns, label=f"seatrial status in {columns} columns", name=f"status-{columns}"
        )
        (PICTURES / f"status-{columns}.svg").write_text(picture, encoding="utf-8")
