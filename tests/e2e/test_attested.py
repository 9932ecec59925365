"""A word for a gate on a real API server: who says it is whom the server knows, and a gate is of one kind."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.reading.rollout_intent import read_intent
from seatrial.adapters.kube.shapes import models
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.e2e.test_admission import a_rollout

pytestmark = pytest.mark.cluster

NAME = "attested"
SIGNED = {"name": "signed", "attest": {"asks": "the tenants are content"}}


@pytest.fixture
def rollout(cluster: ControlPlane) -> Iterator[dict[str, Any]]:
    """A rollout that asks for a word, as it is stored."""
    asked = a_rollout(NAME, {"canary": {}, "gates": [SIGNED, {"name": "smoke", "image": "s:1"}]})
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(asked))
    yield cluster.get("gpurollout", NAME)
    cluster.kubectl("delete", "gpurollout", NAME, "--ignore-not-found")


def attest(cluster: ControlPlane, *arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run("gates", "attest", NAME, *arguments, "--kubeconfig", str(cluster.kubeconfig))


def words(cluster: ControlPlane) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.get("gpurollout", NAME)["spec"]["approvals"]["attested"]
    return found


def test_a_word_is_kept_with_the_name_under_which_the_server_knows_whoever_says_it(
    cluster: ControlPlane, rollout: dict[str, Any]
) -> None:
    assert rollout["spec"]["gates"][0] == SIGNED | {"gpus": 1, "timeoutSeconds": 600}
    who = json.loads(cluster.kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]["username"]
    said = attest(cluster, "signed", "--pass", "--because", "the nightly ran", "--for", "2h")
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith(f"{NAME}: {who} says pass for signed on every canary.")
    (word,) = words(cluster)
    assert (word["by"], word["verdict"], word["because"]) == (who, "pass", "the nightly ran")
    stored = msgspec.convert(cluster.get("gpurollout", NAME), models.Rollout)
    read = read_intent(stored, OperatorFacts(), 0.0).campaign
    assert read is not None
    (meant,) = read.attested
    assert (meant.is_pass, meant.until - meant.at) == (True, 7200.0)


def test_a_second_word_takes_the_place_of_the_first(cluster: ControlPlane, rollout: dict[str, Any]) -> None:
    assert rollout
    attest(cluster, "signed", "--pass", "--because", "the nightly ran")
    attest(cluster, "signed", "--fail", "--because", "its results are wrong")
    assert [(word["verdict"], word["because"]) for word in words(cluster)] == [("fail", "its results are wrong")]


def test_a_gate_that_is_measured_asks_nobody(cluster: ControlPlane, rollout: dict[str, Any]) -> None:
    assert rollout
    said = attest(cluster, "smoke", "--pass", "--because", "x")
    assert said.returncode == 1
    assert "smoke is measured, and asks nobody; those that do are signed." in said.stderr


@pytest.mark.parametrize(
    ("gate", "why"),
    [
        ({"name": "none"}, "a gate has exactly one of image"),
        (SIGNED | {"image": "s:1"}, "a gate has exactly one of image"),
        (SIGNED | {"command": ["true"]}, "probe, command and figures are for gates with an image"),
    ],
    ids=["no kind", "two kinds", "a command for nobody"],
)
def test_a_gate_is_of_one_kind(cluster: ControlPlane, gate: dict[str, Any], why: str) -> None:
    asked = a_rollout("unclear", {"canary": {}, "gates": [gate]})
    with pytest.raises(errors.KubectlFailed, match=why):
        cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(asked))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"query": "up"}, "a query without atLeast or atMost could not fail"),
        ({"query": "up", "atLeast": 2, "atMost": 1}, "atLeast is more than atMost"),
    ],
)
def test_a_query_that_could_not_fail_or_not_pass_is_refused(
    cluster: ControlPlane, said: dict[str, Any], why: str
) -> None:
    asked = a_rollout("unclear", {"canary": {}, "gates": [{"name": "rate", "prometheus": said}]})
    with pytest.raises(errors.KubectlFailed, match=why):
        cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(asked))
