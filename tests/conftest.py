"""What every test may ask for: the one real control plane of this run.

SEATRIAL_GPU_OPERATOR=DIR points the whole run at another GPU Operator; a folder that will not do ends it at once.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import operator_parts
from seatrial_lab.testbed.plane import control_plane

# The same examples on every run, so that a red run is about the change; HYPOTHESIS_PROFILE=default draws new ones.
# A busy machine draws slowly, which says nothing about the code.
hypothesis.settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_configure() -> None:
    """Say once what is wrong with a given operator, and not in every test beside it."""
    if named := os.environ.get(operator_parts.VARIABLE):
        try:
            operator_parts.given(Path(named))
        except errors.PartMissing as err:
            raise pytest.UsageError(str(err)) from None


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[control_plane.ControlPlane]:
    """One control plane for the whole run, with NVIDIA's definitions. Tests keep apart by namespace and node prefix."""
    folder = tmp_path_factory.mktemp("control-plane")
    with control_plane.ControlPlane.start(folder) as started:
        started.load_nvidia_crds()
        yield started
