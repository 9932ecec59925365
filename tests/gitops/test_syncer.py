"""The stand-in for GitOps engines does what the real ones do."""

from __future__ import annotations

import pytest

from seatrial_lab.testbed.neighbours.engines import Engine
from seatrial_lab.testbed.neighbours.syncer import Syncer
from tests.gitops.contract import Contract, OpenEngine
from tests.gitops.yard import Yard

pytestmark = pytest.mark.cluster


class TestSyncer(Contract):
    """The contract, by the stand-in."""

    @pytest.fixture
    def open_engine(self) -> OpenEngine:
        """One per story: it is a thread of ours."""

        def opened(yard: Yard, *, is_healing: bool = False) -> Engine:
            place = yard.place
            return Syncer(
                yard.plane,
                remote=place.url_with_login,
                folder=yard.folder / "synced",
                path=place.path,
                branch=place.branch,
                is_healing=is_healing,
            )

        return opened
