"""Files that stories commit: a Deployment that keeps an engine waiting, nothing much, and a GPURollout."""

from __future__ import annotations

from typing import Any

import yaml

from seatrial_lab.testbed.nodes import manifests
from tests.e2e.light_stage import AT_ONCE, LightStage

SYNC_WAVE = "argocd.argoproj.io/sync-wave"


def deployment(name: str, *, wave: int | None = None, replica_count: int = 1) -> str:
    """One whose pod nobody can place, so that it is ready only when scaled down; in a sync wave where one is said."""
    labels = {"app": name}
    pod = {
        "nodeSelector": {"no": "where"},
        "containers": [{"name": "main", "image": f"example.invalid/{name}:1"}],
    }
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", **_in_wave(wave)},
        "spec": {
            "replicas": replica_count,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    return yaml.safe_dump(made, sort_keys=False)


def config_map(name: str, *, wave: int | None = None) -> str:
    """One that says nothing."""
    meta = {"name": name, "namespace": "default", **_in_wave(wave)}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    return yaml.safe_dump(made, sort_keys=False)


def rollout(stage: LightStage, name: str, **spec: Any) -> str:
    """The story's GPURollout, for an engine to bring in."""
    stage.rollout = name
    stage.made.append(name)
    selector = {manifests.FLEET_LABEL: stage.fleet.spec.prefix}
    body = {"target": {"driver": stage.target}, "nodeSelector": selector, **AT_ONCE, **stage.by_git(), **spec}
    made = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout", "metadata": {"name": name}, "spec": body}
    return yaml.safe_dump(made, sort_keys=False)


def _in_wave(wave: int | None) -> dict[str, Any]:
    return {} if wave is None else {"annotations": {SYNC_WAVE: str(wave)}}
