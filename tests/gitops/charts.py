"""A Helm repository on loopback with a small chart of ours, in the name and in two releases of the GPU Operator's.

The chart has the operator's Deployment, with the labels by which a release is known, and nothing that would run. What a
new operator does to nodes is the stage's (`LightStage.new_operator`).
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

NAME = "gpu-operator"
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: gpu-operator
  labels:
    app.kubernetes.io/name: gpu-operator
    helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
spec:
  replicas: 0
  selector:
    matchLabels: {app: gpu-operator}
  template:
    metadata:
      labels: {app: gpu-operator}
    spec:
      containers:
        - name: operator
          image: example.invalid/gpu-operator:{{ .Chart.AppVersion }}
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  its name in the class above
        """Say nothing."""


@contextmanager
def served(folder: Path, *versions: str) -> Iterator[str]:
    """The address of a repository with these releases of the chart."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [_packed(folder, version) for version in versions]
    index = {"apiVersion": "v1", "entries": {NAME: entries}, "generated": "2026-01-20T08:00:00Z"}
    (folder / "index.yaml").write_text(yaml.safe_dump(index), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, name="charts", daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def _packed(folder: Path, version: str) -> dict[str, Any]:
    """Pack a release as `helm package` does; what the index says of it."""
    chart = {"apiVersion": "v2", "name": NAME, "version": version, "appVersion": version}
    files = {"Chart.yaml": yaml.safe_dump(chart), "values.yaml": "{}\n", "templates/deployment.yaml": DEPLOYMENT}
    path = folder / f"{NAME}-{version}.tgz"
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            body = text.encode()
            member = tarfile.TarInfo(f"{NAME}/{name}")
            member.size = len(body)
            packed.addfile(member, io.BytesIO(body))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {**chart, "urls": [path.name], "digest": digest, "created": "2026-01-20T08:00:00Z"}
