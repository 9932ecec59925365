"""Where a bundle is deployed for real: a control plane of its own, one simulated node, and what ends Jobs there.

The GPU Operator's chart is its own, from its Go module; the charts of the DRA driver and of the Network Operator are
the stand-ins of tests/bundles. Images are never pulled: kwok plays the node, so the hook's Job ends without having run.
That the hook does what it should is shown elsewhere (tests/chart, tests/e2e); here it is shown when it runs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatrial.cli import main
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import operator_parts
from seatrial_lab.testbed.nodes import stages
from seatrial_lab.testbed.nodes.fleet import make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.bundles.conftest import MATRIX, STAND_INS
from tests.bundles.parity import JOB
from tests.chart.charts import helm

OPERATOR = "v25.3.2"
BEFORE, AFTER = "580.105.08", "580.126.20"
NAMESPACE = "gpu-operator"
DEPLOY_SECONDS = 300.0


@dataclass(kw_only=True)
class BundleStage:
    """A control plane, and the charts of an air gap."""

    plane: ControlPlane
    charts: Path
    folder: Path

    def write(self, deployer: str, target: Path, *words: str, driver: str = BEFORE) -> Path:
        """Write the bundle for a deployer, with every chart in it."""
        matrix = self.folder / "matrix.yaml"
        matrix.write_text(MATRIX.format(operator=OPERATOR, driver=driver, dra="25.12.0"), encoding="utf-8")
        call = ["bundle", "--entry", "current", "--file", str(matrix), "--unchecked", "--charts", str(self.charts)]
        assert main.main([*call, "--deployer", deployer, "-o", str(target), *words]) == 0
        return target

    def hook_runs(self) -> int:
        """How often the hook's Job was made; it is gone when it has succeeded, and what is told of it stays."""
        found = self.plane.get("events", "-n", NAMESPACE)["items"]
        about = [each["involvedObject"] for each in found if each["reason"] == "SuccessfulCreate"]
        return len({each["uid"] for each in about if (each["kind"], each["name"]) == ("Job", JOB)})

    def driver(self) -> str:
        """What the ClusterPolicy says."""
        return str(self.plane.get("clusterpolicy", "cluster-policy")["spec"]["driver"]["version"])

    def target(self) -> dict[str, Any]:
        """What the hook was told to wait for."""
        found: dict[str, Any] = self.plane.get("configmap", "dra-reroll-target", "-n", NAMESPACE)["data"]
        return found

    def releases(self) -> dict[str, str]:
        """The releases that Helm knows of, and how each stands."""
        secrets = self.plane.get("secrets", "-A", "-l", "owner=helm")["items"]
        newest = sorted(secrets, key=lambda each: int(each["metadata"]["labels"]["version"]))
        return {each["metadata"]["labels"]["name"]: each["metadata"]["labels"]["status"] for each in newest}


@contextmanager
def opened(folder: Path) -> Iterator[BundleStage]:
    """A control plane of its own: releases have the namespaces that they have everywhere."""
    charts = folder / "charts"
    charts.mkdir()
    operator = operator_parts.find().chart
    helm("package", operator, "--version", OPERATOR, "--app-version", OPERATOR, "--destination", charts)
    for name in ("nvidia-dra-driver-gpu", "network-operator"):
        helm("package", STAND_INS / name, "--destination", charts)
    with ControlPlane.start(folder / "plane") as plane:
        make_fleet(plane, FleetSpec(prefix="bundled", node_count=1, namespace="drivers"))
        with _jobs_end(plane):
            yield BundleStage(plane=plane, charts=charts, folder=folder)


@contextmanager
def _jobs_end(plane: ControlPlane) -> Iterator[None]:
    """Every pod of a Job ends well, as kwok lets one that says so."""
    is_over = threading.Event()

    def look() -> None:
        words = ("annotate", "pods", "-A", "-l", "batch.kubernetes.io/job-name", f"{stages.DONE_AFTER}=0s")
        while not is_over.wait(0.5):
            with contextlib.suppress(errors.KubectlFailed):  # there is none, or it is gone
                plane.kubectl(*words, "--overwrite")

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
