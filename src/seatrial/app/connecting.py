"""Which cluster is meant, as whom, and how one speaks to it.

Law of this file: nothing is read before somebody connects, so that what was called wrongly is said first. Tests:
tests/app/test_connecting.py
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seatrial import __version__
from seatrial.core.base.values import dataclass, field

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.adapters.kube.api.config import Config

USER_AGENT: Final = f"seatrial/{__version__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster as somebody names it, and where in it the drivers run."""

    kubeconfig: str | None = None
    """The file that was named; else what the environment names, ~/.kube/config, or our own pod's account."""
    context: str | None = None
    namespace: str = "gpu-operator"
    lease_namespace: str = "seatrial"
    """Where the controller runs, and keeps its Lease."""
    snapshot: Path | None = None
    """A file that is read instead."""
    environ: Mapping[str, str] = field(repr=False)

    def config(self) -> Config:
        """Where it is, and who we are there."""
        from seatrial.adapters.kube.api.config import load_config

        return load_config(kubeconfig=self.kubeconfig, context=self.context, environ=self.environ)

    def client(self, part: str = "cli", *, is_brief: bool = False) -> Client:
        """A client that says which part of us asks; a brief one looks once, and watches nothing."""
        from seatrial.adapters.kube.api.client import Client

        if self.snapshot is not None:
            return _recorded(self.snapshot)
        return Client(self.config(), user_agent=f"{USER_AGENT} ({part})", is_brief=is_brief)


def _recorded(path: Path) -> Client:
    from seatrial.adapters.files.snapshot_file import load_snapshot
    from seatrial.adapters.kube.portable.answering import client_of

    return client_of(load_snapshot(path), str(path))
