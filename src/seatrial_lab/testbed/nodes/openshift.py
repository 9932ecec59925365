"""OpenShift's and OLM's real definitions: what an OLM-installed stack is made of, without OpenShift.

ClusterVersion and MachineConfigPool come with the modules of the GPU Operator, OLM's from olm.py. Nobody acts on such
objects here; a test writes what their operators would. Tests: tests/adapters/kube/test_auditing_shapes_real.py.
"""

from pathlib import Path
from typing import Any, Final

import yaml

from seatrial_lab.testbed.building import toolchain
from seatrial_lab.testbed.nodes import machine_pools, olm

Object = dict[str, Any]

_OPENSHIFT: Final = (toolchain.MODULES / "gpu-operator", "github.com/openshift/api")
_FILES: Final = (
    (
        _OPENSHIFT,
        "config/v1/zz_generated.crd-manifests/0000_00_cluster-version-operator_01_clusterversions-Default.crd.yaml",
    ),
)


def definitions() -> list[Object]:
    """Return the real definitions of ClusterVersion, MachineConfigPool, and OLM's kinds."""
    found = [machine_pools.definition(), *olm.definitions()]
    for (folder, module), file in _FILES:
        path: Path = toolchain.module_folder(folder, module) / file
        found.append(yaml.safe_load(path.read_text(encoding="utf-8")))
    return found
