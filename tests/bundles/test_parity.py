"""Whoever deploys a bundle, the same objects come, in the right order, with the hook: shown with the real helm."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.bundles.conftest import Write
from tests.bundles.extracting import extracted
from tests.bundles.parity import DEPLOYERS, DRA, PATH, POST, Rendered, assert_parity
from tests.bundles.rendering import Finder, text_of
from tests.chart.charts import helm, one

# Each of these is played twice: with stand-ins, and as a pytest.mark.cluster with the operator's own chart (`charts`).
WISHES = {
    "as it comes": (),
    "moved by a controller": ("--on-delete", "--image", "r.io/seatrial@sha256:" + "a" * 64),
    "with GPUs by DRA": ("--dra-gpus", "--nodes", "40", "--parallel", "2"),
}


@pytest.mark.parametrize("wishes", WISHES)
def test_every_deployer_brings_the_same_objects(wishes: str, write: Write, far: Finder, tmp_path: Path) -> None:
    assert_parity(write("one", *WISHES[wishes]), far, tmp_path)


def test_without_the_internet_every_deployer_brings_the_same_from_the_bundle_alone(
    write: Write, folder_of_charts: Path, far: Finder, tmp_path: Path
) -> None:
    def nothing(name: str, version: str) -> Path:
        raise AssertionError(f"{name} {version} would be fetched")

    alone = assert_parity(write("one", "--charts", str(folder_of_charts)), nothing, tmp_path)
    assert alone == assert_parity(write("two"), far, tmp_path)


def test_rendered_twice_it_is_the_same_byte_by_byte(write: Write, far: Finder, tmp_path: Path) -> None:
    for deployer, root in write().items():
        for release in extracted(deployer, root, PATH).values():
            assert text_of(release, far, tmp_path) == text_of(release, far, tmp_path)


def test_the_hook_waits_for_the_label_that_the_operators_chart_puts_on_drivers(as_it_comes: Rendered) -> None:
    (policy,) = [each for each in as_it_comes["gpu-operator"] if each["kind"] == "ClusterPolicy"]
    target = one(as_it_comes[POST], "ConfigMap", "dra-reroll-target")["data"]
    assert target["chart"] == policy["spec"]["daemonsets"]["labels"]["helm.sh/chart"] == "gpu-operator-v25.3.2"
    assert target["driver"] == policy["spec"]["driver"]["version"] == "580.105.08"


def test_moved_by_a_controller_neither_drivers_nor_operands_nor_plugins_restart_by_themselves(
    write: Write, far: Finder, tmp_path: Path
) -> None:
    made = assert_parity(write("one", "--on-delete"), far, tmp_path)
    (policy,) = [each for each in made["gpu-operator"] if each["kind"] == "ClusterPolicy"]
    assert policy["spec"]["driver"]["upgradePolicy"]["autoUpgrade"] is False
    assert policy["spec"]["daemonsets"]["updateStrategy"] == "OnDelete"
    manager = {each["name"]: each["value"] for each in policy["spec"]["driver"]["manager"]["env"]}
    assert manager == {"ENABLE_GPU_POD_EVICTION": "false", "ENABLE_AUTO_DRAIN": "false"}
    plugin = one(made[DRA], "DaemonSet", "nvidia-dra-driver-gpu-kubelet-plugin")["spec"]
    assert plugin["updateStrategy"] == {"type": "OnDelete"}  # the chart's own rollingUpdate is gone
    assert plugin["template"]["metadata"]["annotations"] == {"seatrial.dev/target": "v25.3.2_580.105.08"}


def test_the_plugins_that_the_hook_looks_for_are_those_of_the_dra_chart(as_it_comes: Rendered) -> None:
    (plugin,) = [each for each in as_it_comes[DRA] if each["kind"] == "DaemonSet"]
    assert plugin["spec"]["template"]["metadata"]["labels"] == {"nvidia-dra-driver-gpu-component": "kubelet-plugin"}
    roles = [
        each for each in as_it_comes[POST] if each["kind"] == "Role" and each["metadata"]["name"] == "dra-reroll-plugin"
    ]
    assert [each["metadata"]["namespace"] for each in roles] == [plugin["metadata"]["namespace"]]


def test_the_chart_of_every_bundle_passes_the_strict_linter(write: Write) -> None:
    roots = write()
    helm("lint", "--strict", roots["helm"] / PATH / "004-gpu-operator-post" / "chart")
    helm("lint", "--strict", roots["argocd-helm"] / PATH)


LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")


def test_every_label_of_the_hook_is_one_that_an_api_server_takes(as_it_comes: Rendered) -> None:
    """The version of the chart is in one of them; a version with a commit behind a plus would not do."""
    labels = [each["metadata"].get("labels", {}) for each in as_it_comes[POST]]
    assert labels
    assert [text for each in labels for text in each.values() if not LABEL.fullmatch(text)] == []


@pytest.mark.parametrize("deployer", DEPLOYERS)
def test_the_folders_say_the_order_whoever_deploys(deployer: str, write: Write) -> None:
    root = write(only=(deployer,))[deployer] / PATH
    assert sorted(each.name for each in root.iterdir() if each.is_dir() and each.name[:3].isdigit()) == [
        "001-network-operator",
        "002-gpu-operator",
        "003-nvidia-dra-driver-gpu",
        "004-gpu-operator-post",
    ]


def test_every_script_is_one_that_a_shell_can_read_and_run(write: Write) -> None:
    scripts = sorted((write(only=("helm",))["helm"] / PATH).rglob("*.sh"))
    assert len(scripts) == 5
    for each in scripts:
        assert os.access(each, os.X_OK)
        done = subprocess.run(["sh", "-n", each], capture_output=True, text=True, timeout=10)
        assert (done.returncode, done.stderr) == (0, "")
