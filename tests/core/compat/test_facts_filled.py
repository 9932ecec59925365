"""What was missing from the knowledge, and is readable somewhere: each with the verdict it makes."""

from __future__ import annotations

import pytest

from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Confidence
from seatrial.core.compat.versions import OfedVersion
from tests.core.compat.knowledge import facts, judged
from tests.core.compat.test_rules_edges import said

KNOWN: Facts = facts()


@pytest.mark.parametrize(
    ("rule", "stack", "answer"),
    [
        ("exists", {"cuda": "13.4"}, "ok: CUDA 13.4 exists: 13.4.1 is the first release of 13.4."),
        ("exists", {"cuda": "13.4.0"}, "ok: CUDA 13.4.0 exists: 13.4.0 is the developer preview of 13.4."),
        ("exists", {"cuda": "13.4.2"}, "ok: CUDA 13.4.2 exists: 13.4.2 is update 1 of 13.4."),
        ("exists", {"cuda": "13.4.3"}, "unknown"),
        ("exists", {"network_operator": "v26.7.0"}, "ok"),
        ("exists", {"network_operator": "v26.7.1"}, "unknown"),
        ("netop-openshift", {"network_operator": "v24.1.0", "openshift": "4.14.3"}, "ok"),
        ("netop-openshift", {"network_operator": "v24.1.0", "openshift": "4.15.3"}, "fail"),
        ("netop-gpuop", {"network_operator": "v24.1.0", "gpu_operator": "v23.9.2"}, "ok"),
    ],
)
def test_a_gap_that_was_filled(rule: str, stack: dict[str, str], answer: str) -> None:
    assert said(judged(rule, stack)).startswith(answer)


def test_kubernetes_1_37_ends_on_a_day() -> None:
    row = KNOWN.kubernetes["1.37"]

    assert str(row.end_of_life) == "2027-10-28"
    assert row.cite.confidence is Confidence.VERIFIED


@pytest.mark.parametrize(("ofed", "firmware"), [("24.10-1.1.4.0", "28.43.2026"), ("24.10-4.1.4.0", "28.43.4100")])
def test_long_term_network_drivers_have_their_firmware(ofed: str, firmware: str) -> None:
    (pair,) = [pair for pair in KNOWN.firmware_pairs if pair.ofed == OfedVersion.parse(ofed)]

    assert str(pair.firmware["ConnectX-7"]) == firmware
    assert pair.cite.confidence is Confidence.SECONDARY, "the page names only the last two fields"


def test_what_a_quotation_says_of_a_release_is_secondary() -> None:
    (row,) = [row for version, row in KNOWN.network_operators.items() if str(version) == "v26.7.0"]

    assert row.documented is not None
    assert row.documented.cite.confidence is Confidence.SECONDARY
