"""Which pods kwok is shown once more when it takes up nodes with pods on them."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial_lab.testbed.nodes import kubelet

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
STARTING = {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]}


def a_pod(status: dict[str, Any], *, node: str = "n1", **meta: str) -> dict[str, Any]:
    return {"metadata": {"name": "p", **meta}, "spec": {"nodeName": node}, "status": status}


@pytest.mark.parametrize(
    ("pod", "is_half_way"),
    [
        pytest.param(a_pod(STARTING), True, id="starts"),
        pytest.param(a_pod({}), True, id="is-placed"),
        pytest.param(a_pod(READY, deletionTimestamp="2026-11-18T09:31:49Z"), True, id="leaves"),
        pytest.param(a_pod(READY), False, id="is-ready"),
        pytest.param(a_pod({"phase": "Succeeded"}), False, id="is-over"),
        pytest.param(a_pod({"phase": "Pending"}, node=""), False, id="waits-for-a-node"),
    ],
)
def test_a_pod_is_half_way_while_a_kubelet_has_something_to_do(pod: dict[str, Any], *, is_half_way: bool) -> None:
    assert kubelet.is_half_way(pod) is is_half_way
