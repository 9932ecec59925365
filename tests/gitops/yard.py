"""Where a GitOps engine is tried: a repository over HTTP, a person's clone of it, and a namespace that it says."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.neighbours.engines import Place
from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import make_remote

FOLDER = "cluster"
FILE = f"{FOLDER}/colours.yaml"
TIMEOUT_SECONDS = 60.0


@dataclass(kw_only=True)
class Yard:
    """One repository with one ConfigMap in it, and the namespace it goes to."""

    plane: ControlPlane
    namespace: str
    work: Path
    folder: Path
    place: Place

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.work), *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def push(self, subject: str, text: str, path: str = FILE) -> str:
        """Commit one file; the commit."""
        (self.work / path).parent.mkdir(parents=True, exist_ok=True)
        (self.work / path).write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self._pushed()

    def paint(self, colour: str) -> str:
        """Commit that the ConfigMap says this; the commit."""
        return self.push(f"Paint it {colour}", colours(self.namespace, colour))

    def revert(self) -> str:
        """Take the newest commit back by another; that one."""
        self.git("revert", "--no-edit", "HEAD")
        return self._pushed()

    def _pushed(self) -> str:
        self.git("push", "--quiet", "origin", "HEAD:main")
        return self.git("rev-parse", "HEAD").strip()

    def colour(self) -> str:
        """What the ConfigMap says in the cluster."""
        try:
            found: dict[str, Any] = self.plane.get("configmap", "colours", "-n", self.namespace)
        except errors.KubectlFailed:
            return ""
        return str(found["data"]["colour"])

    def wait_colour(self, colour: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        waiting.wait_for(
            lambda: self.colour() == colour,
            what=f"the ConfigMap to say {colour}",
            timeout_seconds=timeout_seconds,
            pause_seconds=0.1,
            describe=self.colour,
        )

    def write(self, colour: str) -> None:
        """Write into the ConfigMap behind the engine's back."""
        body = f'{{"data": {{"colour": "{colour}"}}}}'
        self.plane.kubectl("patch", "configmap", "colours", "-n", self.namespace, "--type=merge", "-p", body)


def colours(namespace: str, colour: str) -> str:
    return f"""apiVersion: v1
kind: ConfigMap
metadata:
  name: colours
  namespace: {namespace}
data:
  colour: {colour}
"""


@contextmanager
def opened(plane: ControlPlane, folder: Path, namespace: str) -> Iterator[Yard]:
    """A yard whose ConfigMap is to be red."""
    make_remote(folder / "cluster.git", folder / "work")
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}])
    with GitServer(root=folder) as server:
        place = Place(url=f"{server.url}/cluster.git", path=FOLDER, username=server.username, password=server.password)
        yard = Yard(plane=plane, namespace=namespace, work=folder / "work", folder=folder, place=place)
        yard.paint("red")
        yield yard
