"""Where bundles are written, and which charts they are of."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.cli import main
from seatrial_lab.testbed.building import operator_parts
from tests.bundles.parity import DEPLOYERS, PATH, Rendered, assert_parity
from tests.bundles.rendering import Finder
from tests.chart.charts import helm

STAND_INS = Path(__file__).parent / "charts"
MATRIX = """\
versions:
  current:
    kubernetes: "1.34.2"
    gpu_operator: "{operator}"
    gpu_driver: "{driver}"
    dra_driver: "{dra}"
    network_operator: "v25.4.0"
"""

Write = Callable[..., dict[str, Path]]


OPERATORS_OWN = "the operator's own"


@pytest.fixture(scope="session", params=["stand-ins", pytest.param(OPERATORS_OWN, marks=pytest.mark.cluster)])
def charts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packed charts of two releases of the operator, and one of the DRA driver, as vendors publish them."""
    folder = tmp_path_factory.mktemp("charts")
    is_real = request.param == OPERATORS_OWN
    return _packed(folder, operator_parts.find().chart if is_real else STAND_INS / "gpu-operator")


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, all of them stand-ins."""
    return _packed(tmp_path_factory.mktemp("stand-ins"), STAND_INS / "gpu-operator")


def _packed(folder: Path, operator: Path) -> Path:
    for version in ("v25.3.2", "v25.3.4"):
        helm("package", operator, "--version", version, "--app-version", version, "--destination", folder)
    for name in ("nvidia-dra-driver-gpu", "network-operator"):
        helm("package", STAND_INS / name, "--destination", folder)
    return folder


@pytest.fixture
def far(charts: Path) -> Finder:
    """What a repository would answer."""
    return lambda name, version: charts / f"{name}-{version}.tgz"


@pytest.fixture
def far_stand_ins(stand_ins: Path) -> Finder:
    """The same, of stand-ins."""
    return lambda name, version: stand_ins / f"{name}-{version}.tgz"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write the bundle of every deployer, each into a repository of its own; the repositories by deployer."""
    return _writer(tmp_path)


@pytest.fixture(scope="session")
def as_it_comes(charts: Path, tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    """What all deployers bring alike where nobody wishes anything: rendered once for all who look into it."""
    folder = tmp_path_factory.mktemp("as-it-comes")
    return assert_parity(_writer(folder)(), lambda name, version: charts / f"{name}-{version}.tgz", folder)


def _writer(tmp_path: Path) -> Write:
    def write(
        name: str = "one",
        *words: str,
        operator: str = "v25.3.2",
        driver: str = "580.105.08",
        dra: str = "25.12.0",
        only: tuple[str, ...] = DEPLOYERS,
    ) -> dict[str, Path]:
        matrix = tmp_path / f"{name}.yaml"
        matrix.write_text(MATRIX.format(operator=operator, driver=driver, dra=dra))
        roots = {deployer: tmp_path / name / deployer for deployer in only}
        for deployer, root in roots.items():
            folder = root / PATH
            folder.parent.mkdir(parents=True, exist_ok=True)
            git = ("--repo", "https://git.example.com/fleet.git", "--path", PATH)
            call = ["bundle", "--entry", "current", "--file", str(matrix), "--unchecked", "--deployer", deployer]
            assert main.main([*call, *git, "-o", str(folder), *words]) == 0
        return roots

    return write


@pytest.fixture
def folder_of_charts(charts: Path, tmp_path: Path) -> Path:
    """The charts of one release each, for an air gap."""
    folder = tmp_path / "air-gap"
    folder.mkdir()
    for name in ("gpu-operator-v25.3.2", "nvidia-dra-driver-gpu-25.12.0", "network-operator-25.4.0"):
        shutil.copy(charts / f"{name}.tgz", folder)
    return folder
