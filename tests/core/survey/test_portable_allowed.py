"""What of an object may leave a cluster: each allow-list, and that everything else goes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seatrial.core.survey.portable.allowed import Allowed, chosen_by
from seatrial.core.survey.portable.words import Words

WORDS = Words(["the driver failed to load token module in use"])
ALLOWED = Allowed(words=WORDS, keys=frozenset({"pool"}))


@pytest.mark.parametrize(
    ("key", "is_told"),
    [
        ("nvidia.com/gpu.product", True),
        ("feature.node.kubernetes.io/system-os_release.ID", True),
        ("topology.kubernetes.io/zone", True),
        ("app", True),
        ("my-release-component", True),
        ("pool", True),
        ("team", False),
        ("example.com/nvidia.com/gpu", False),
        ("vault.hashicorp.com/role", False),
    ],
)
def test_labels_are_told_by_their_key(key: str, is_told: bool) -> None:
    found = ALLOWED.told({"metadata": {"labels": {key: "x"}}})
    assert found == {"metadata": {"labels": {key: "x"} if is_told else {}}}


@pytest.mark.parametrize(
    ("key", "is_told"),
    [
        ("seatrial.dev/observed-firmware_cx7", True),
        ("nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load", True),
        ("kubernetes.io/config.mirror", True),
        ("kubectl.kubernetes.io/last-applied-configuration", False),
        ("nvidia.com/other", False),
    ],
)
def test_annotations_are_told_by_their_key(key: str, is_told: bool) -> None:
    found = ALLOWED.told({"metadata": {"annotations": {key: "x"}}})
    assert found == {"metadata": {"annotations": {key: "x"} if is_told else {}}}


def test_of_an_environment_two_switches_and_a_digest_are_told() -> None:
    env = [
        {"name": "TOKEN", "value": "hunter2"},
        {"name": "DRIVER_CONFIG_DIGEST", "value": "4f1c"},
        {"name": "ENABLE_AUTO_DRAIN", "value": "-----BEGIN KEY-----"},
        {"name": "FROM", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        "nonsense",
    ]
    assert ALLOWED.told({"env": env})["env"] == [
        {"name": "DRIVER_CONFIG_DIGEST", "value": "4f1c"},
        {"name": "ENABLE_AUTO_DRAIN", "value": "…"},
    ]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"args": ["--token=x", "y"]}, {"args": ["…", "…"]}),
        ({"command": ["sh", "-c", "x"]}, {"command": ["…", "…", "…"]}),
        ({"message": "driver hunter2 failed"}, {"message": "driver … failed"}),
        ({"message": "hunter2"}, {"message": "…"}),
        ({"why": "hunter2"}, {"why": "…"}),
        ({"whatever": "two words"}, {"whatever": "… …"}),
        ({"whatever": "x" * 254}, {"whatever": "…"}),
        ({"url": "https://me:pw@git.example/team/repo?x=1"}, {"url": "https://git.example/…"}),
        ({"webhook": "https://hooks.example/T0/B0/XXX"}, {"webhook": "https://hooks.example/…"}),
        ({"url": "git@github.com:me/repo"}, {"url": "…"}),
        ({"url": "https://[bad/"}, {"url": "…"}),
        ({"osImage": "Ubuntu 22.04.5 LTS"}, {"osImage": "Ubuntu 22.04.5 LTS"}),
        ({"allocatable": {"nvidia.com/gpu": "8", "corp.example/key": "1"}}, {"allocatable": {"nvidia.com/gpu": "8"}}),
        ({"fieldsV1": {"f:spec": {"f:unschedulable": {}, "f:x": {}}, "f:metadata": {}}},
         {"fieldsV1": {"f:spec": {"f:unschedulable": {}}}}),
        ({"count": 7, "is": None}, {"count": 7, "is": None}),
    ],
)  # fmt: skip
def test_a_value_is_told_by_what_it_stands_under(found: dict[str, Any], told: dict[str, Any]) -> None:
    assert ALLOWED.told(found) == told


def test_our_own_record_is_told_without_what_others_said_in_it() -> None:
    record = {"schema": 2, "phase": "upgrade-failed", "reason": "driver hunter2 failed", "trouble": "hunter2"}
    found = ALLOWED.told({"annotations": {"seatrial.dev/upgrade": json.dumps(record)}})
    assert json.loads(found["annotations"]["seatrial.dev/upgrade"]) == {
        "schema": 2,
        "phase": "upgrade-failed",
        "reason": "driver … failed",
        "trouble": "…",
    }
    broken = ALLOWED.told({"annotations": {"seatrial.dev/upgrade": "{hunter2"}})
    assert broken["annotations"]["seatrial.dev/upgrade"] == "{…"


def test_labels_by_which_somebody_chooses_are_known_from_the_objects() -> None:
    objects: list[Any] = [
        {"spec": {"nodeSelector": {"pool": "a"}, "domains": [{"label": "rack"}]}},
        {"spec": {"driver": {"upgradePolicy": {"drain": {"podSelector": "team!=red,!keep"}}}}},
        {"spec": {"podSelector": "((", "nodeSelector": "nonsense"}},
    ]
    assert chosen_by(objects) == {"pool", "rack", "team", "keep"}
