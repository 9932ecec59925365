"""What GitOps engines say of themselves, read: as the real ones write it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.reading.followers import application_item, toolkit_item
from seatrial.adapters.kube.shapes.gitops_models import Application, ToolkitObject
from seatrial.core.model.deployers import Follower, Stop

OLD, NEW = "a" * 40, "b" * 40
APPLICATION = Follower(kind="Application", namespace="argocd", name="gpu", commit=OLD)
KUSTOMIZATION = Follower(kind="Kustomization", namespace="flux-system", name="gpu", commit=OLD)
DONE = {"sync": {"status": "Synced", "revision": OLD}, "operationState": {"phase": "Succeeded", "message": "well"}}
BEHIND = {"sync": {"status": "OutOfSync", "revision": NEW}, "history": [{"revision": NEW}, {"revision": OLD}]}
REFUSED = "one or more objects failed to apply, reason: the server refused"


def application(policy: dict[str, Any] | None, status: dict[str, Any], note: str = "") -> Follower:
    notes = {"argocd.argoproj.io/skip-reconcile": note} if note else {}
    body = {
        "metadata": {"name": "gpu", "namespace": "argocd", "annotations": notes},
        "spec": {"syncPolicy": policy},
        "status": status,
    }
    return application_item(msgspec.convert(body, Application)).facts


def kustomization(ready: dict[str, Any], **spec: Any) -> Follower:
    body = {
        "metadata": {"name": "gpu", "namespace": "flux-system"},
        "spec": spec,
        "status": {"conditions": [{"type": "Ready", **ready}], "lastAppliedRevision": f"main@sha1:{OLD}"},
    }
    return toolkit_item("Kustomization")(msgspec.convert(body, ToolkitObject)).facts


@pytest.mark.parametrize(
    ("status", "changes"),
    [
        (DONE, {}),
        ({**BEHIND, "operationState": {"phase": "Succeeded", "message": "well"}}, {}),
        ({**BEHIND, "operationState": {"phase": "Failed", "message": REFUSED}}, {"trouble": REFUSED}),
        (
            {**BEHIND, "operationState": {"phase": "Running", "message": REFUSED, "retryCount": 1}},
            {"trouble": REFUSED, "waits_for": REFUSED},
        ),
        ({**DONE, "operationState": {"phase": "Failed", "message": REFUSED}}, {}),
        ({**DONE, "conditions": [{"type": "ComparisonError", "message": "no such path"}]}, {"trouble": "no such path"}),
        ({**DONE, "conditions": [{"type": "OrphanedResourceWarning", "message": "three"}]}, {}),
        (
            {**BEHIND, "operationState": {"phase": "Running", "message": "waiting for completion of hook x"}},
            {"waits_for": "waiting for completion of hook x"},
        ),
        ({}, {"commit": ""}),
    ],
    ids=["done", "behind", "failed", "tried again", "mended", "not compared", "a warning", "a wave", "new"],
)
def test_an_application_says(status: dict[str, Any], changes: dict[str, Any]) -> None:
    assert application({"automated": {"selfHeal": True}}, status) == replace(APPLICATION, **changes)


@pytest.mark.parametrize(
    ("policy", "note", "stop"),
    [
        ({"automated": {}}, "", None),
        ({"automated": {"enabled": True}}, "false", None),
        ({"automated": {"enabled": False}}, "", Stop.BY_HAND),
        ({"automated": {"enabled": None}}, "", None),
        ({}, "", Stop.BY_HAND),
        (None, "", Stop.BY_HAND),
        ({"automated": {}}, "true", Stop.SKIPPED),
    ],
)
def test_an_application_is_stopped(policy: dict[str, Any] | None, note: str, stop: Stop | None) -> None:
    assert application(policy, DONE, note).stop is stop


@pytest.mark.parametrize(
    ("ready", "spec", "changes"),
    [
        ({"status": "True", "message": "Applied revision"}, {}, {}),
        ({"status": "True", "message": "Applied revision"}, {"suspend": True}, {"stop": Stop.SUSPENDED}),
        ({"status": "True", "message": "Applied revision"}, {"suspend": False}, {}),
        ({"status": "False", "message": "dry-run failed"}, {}, {"trouble": "dry-run failed"}),
        ({"status": "Unknown", "message": "Running health checks"}, {}, {"waits_for": "Running health checks"}),
    ],
    ids=["done", "suspended", "resumed", "failed", "at it"],
)
def test_a_kustomization_says(ready: dict[str, Any], spec: dict[str, Any], changes: dict[str, Any]) -> None:
    assert kustomization(ready, **spec) == replace(KUSTOMIZATION, **changes)
