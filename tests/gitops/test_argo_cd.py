"""The real Argo CD does what every engine does."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from seatrial_lab.testbed.neighbours.argo_application import Application
from seatrial_lab.testbed.neighbours.argo_cd import ArgoCd
from seatrial_lab.testbed.neighbours.engines import Engine
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.gitops.contract import Contract, OpenEngine
from tests.gitops.yard import Yard

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

NAMES = itertools.count(1)


@pytest.fixture(scope="module")
def argo(plane: ControlPlane) -> Iterator[ArgoCd]:
    """As it is installed: it looks every two or three minutes, so whatever comes sooner came by a webhook."""
    with ArgoCd.start(plane) as started:
        yield started


class TestArgoCd(Contract):
    """The contract, by the real one."""

    @pytest.fixture
    def open_engine(self, argo: ArgoCd) -> OpenEngine:
        """One Application per story."""

        def opened(yard: Yard, *, is_healing: bool = False) -> Engine:
            return Application(argo, f"app-{next(NAMES)}", yard.place, is_healing=is_healing, namespace=yard.namespace)

        return opened
