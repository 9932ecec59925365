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
    return toolkit("Kustomization", ready, {"lastAppliedRevision": f"main@sha1:{OLD}"}, **spec)


def toolkit(kind: str, ready: dict[str, Any], status: dict[str, Any], **spec: Any) -> Follower:
    body = {
        "metadata": {"name": "gpu", "namespace": "flux-system"},
        "spec": spec,
        "status": {"conditions": [{"type": "Ready", **ready}], **status},
    }
    return toolkit_item(kind)(msgspec.convert(body, ToolkitObject)).facts


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
        (
            {
                **BEHIND,
                "operationState": {"phase": "Failed", "message": REFUSED},
                "conditions": [{"type": "SyncError", "message": "a"}, {"type": "ComparisonError", "message": "b"}],
            },
            {"trouble": f"{REFUSED} a b"},
        ),
        ({**DONE, "conditions": [{"type": "OrphanedResourceWarning", "message": "three"}]}, {}),
        (
            {**BEHIND, "operationState": {"phase": "Running", "message": "waiting for completion of hook x"}},
            {"waits_for": "waiting for completion of hook x"},
        ),
        ({}, {"commit": ""}),
    ],
    ids=[
        "done",
        "behind",
        "failed",
        "tried again",
        "mended",
        "not compared",
        "all of it",
        "a warning",
        "a wave",
        "new",
    ],
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
        (
            {"status": "False", "reason": "DependencyNotReady", "message": "dependency 'a/b' is not ready"},
            {},
            {"waits_for": "dependency 'a/b' is not ready"},
        ),
    ],
    ids=["done", "suspended", "resumed", "failed", "at it", "after another"],
)
def test_a_kustomization_says(ready: dict[str, Any], spec: dict[str, Any], changes: dict[str, Any]) -> None:
    assert kustomization(ready, **spec) == replace(KUSTOMIZATION, **changes)


def test_a_kustomization_that_is_at_it_says_what_it_does() -> None:
    ready = {"type": "Ready", "status": "Unknown", "message": "Reconciliation in progress"}
    work = {"type": "Reconciling", "status": "True", "message": "Running health checks with a timeout of 5m0s"}
    status = {"conditions": [ready, work], "lastAppliedRevision": f"main@sha1:{OLD}"}
    body = {"metadata": {"name": "gpu", "namespace": "flux-system"}, "status": status}
    found = toolkit_item("Kustomization")(msgspec.convert(body, ToolkitObject)).facts
    assert found == replace(KUSTOMIZATION, waits_for="Running health checks with a timeout of 5m0s")


@pytest.mark.parametrize(
    ("version", "status", "commit"),
    [
        (f"0.1.0+{OLD[:12]}", "deployed", OLD[:12]),
        (f"0.1.0+{OLD[:12]}.3", "deployed", OLD[:12]),
        (f"0.1.0+{OLD[:12]}", "failed", ""),
        ("v25.3.2", "deployed", ""),
        ("1.0.0+build5", "deployed", ""),
    ],
    ids=["in the repository", "with files of values", "not through", "of a registry", "with a word of its own"],
)
def test_a_helm_release_says_its_commit_by_the_version_of_its_chart(version: str, status: str, commit: str) -> None:
    said = {"history": [{"chartVersion": version, "status": status}, {"chartVersion": "0.1.0", "status": "superseded"}]}
    found = toolkit("HelmRelease", {"status": "True", "message": "Helm upgrade succeeded"}, said)
    assert found == replace(KUSTOMIZATION, kind="HelmRelease", commit=commit)


def test_a_helm_release_that_released_nothing_yet_is_not_said_to_have_anything() -> None:
    assert toolkit("HelmRelease", {"status": "True"}, {}).commit == ""


def test_what_an_engine_does_is_news_and_another_version_of_its_object_is_none() -> None:
    def told(version: str, chart: str) -> object:
        source = {"repoURL": "https://helm.ngc.nvidia.com/nvidia", "chart": "gpu-operator", "targetRevision": chart}
        metadata = {"name": "gpu", "namespace": "argocd", "resourceVersion": version}
        body = {"metadata": metadata, "spec": {"source": source}, "status": DONE}
        item = application_item(msgspec.convert(body, Application))
        assert item.holder is not None
        return item.tells

    assert told("1", "v25.3.4") == told("2", "v25.3.4")
    assert told("1", "v25.3.4") != told("1", "v25.10.0")
