"""The sentences: what, where, why, what next."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seatrial.adapters.kube.api import errors


def refused(code: int, **content: Any) -> errors.ServerRefused:
    status = errors.read_status(code, json.dumps({"kind": "Status", **content}).encode())
    return errors.refusal(status, request="GET /x", where="https://c (context k)", renewal="log in again")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (307, errors.Invalid),
        (400, errors.Invalid),
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (405, errors.Invalid),
        (409, errors.Conflict),
        (410, errors.Gone),
        (415, errors.Invalid),
        (422, errors.Invalid),
        (429, errors.TooManyRequests),
        (500, errors.ServerFault),
        (503, errors.ServerFault),
        (504, errors.ServerFault),
    ],
)
def test_every_refusal_has_its_type(code: int, kind: type[errors.ServerRefused]) -> None:
    error = refused(code, reason="Because", message="no")

    assert type(error) is kind
    assert (error.code, error.reason, error.message) == (code, "Because", "no")
    assert "https://c (context k)" in str(error)
    assert str(error).endswith(error.next_step)


def test_a_missing_right_in_a_namespace_names_the_role_and_the_rule() -> None:
    error = refused(
        403,
        reason="Forbidden",
        message='pods "a" is forbidden: User "jane" cannot create resource "pods/eviction" in API group "" '
        'in the namespace "gpu"',
    )

    assert error.next_step == (
        'grant jane the missing rule in a Role in namespace gpu (apiGroups: [""], resources: ["pods/eviction"], '
        'verbs: ["create"])'
    )


def test_a_right_missing_in_an_api_group_names_the_group() -> None:
    error = refused(
        403,
        message='clusterpolicies.nvidia.com is forbidden: User "jane" cannot list resource "clusterpolicies" '
        'in API group "nvidia.com" at the cluster scope',
    )

    assert error.next_step == (
        'grant jane the missing rule in a ClusterRole (apiGroups: ["nvidia.com"], resources: ["clusterpolicies"], '
        'verbs: ["list"])'
    )


def test_a_refusal_by_admission_does_not_pretend_that_a_right_is_missing() -> None:
    error = refused(403, message="exceeded quota: pods")

    assert isinstance(error, errors.Forbidden)
    assert error.denial is None
    assert "admission policy or a quota" in error.next_step


def test_a_budget_that_blocks_an_eviction_is_quoted() -> None:
    error = refused(
        429,
        reason="TooManyRequests",
        message="Cannot evict pod as it would violate the pod's disruption budget.",
        details={
            "causes": [{"reason": "DisruptionBudget", "message": "The disruption budget web needs 3 healthy pods"}]
        },
    )

    assert isinstance(error, errors.TooManyRequests)
    assert error.is_blocked_by_budget
    assert error.causes == (
        errors.Cause(reason="DisruptionBudget", message="The disruption budget web needs 3 healthy pods"),
    )
    assert "The disruption budget web needs 3 healthy pods" in str(error)


def test_an_overloaded_server_says_how_long_to_wait() -> None:
    error = refused(429, details={"retryAfterSeconds": 7})

    assert isinstance(error, errors.TooManyRequests)
    assert (error.retry_after_seconds, error.is_blocked_by_budget) == (7, False)
    assert error.next_step == "try again in 7 s"


@pytest.mark.parametrize(
    "body", [b"", b"<html>Bad Gateway</html>", b"[1]", b'{"details": 3}', b'{"details": {"causes": 1}}']
)
def test_a_body_that_is_no_status_is_still_read(body: bytes) -> None:
    assert errors.read_status(502, body).code == 502


def test_the_text_of_a_proxy_becomes_the_message() -> None:
    assert errors.read_status(502, b" upstream down ").message == "upstream down"


def test_an_error_event_without_a_code_counts_as_a_fault_of_the_server() -> None:
    assert errors.status_of_event(b"{}").code == 500
