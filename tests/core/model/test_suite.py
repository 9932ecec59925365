"""Which gates a node is asked when nobody names any."""

from __future__ import annotations

import pytest

from seatrial.core.model.gates import suite
from seatrial.core.model.gates.suite import BUILT_IN, SUITE, built_in, suite_of
from seatrial.probes.payloads.catalogue import PAYLOADS


def test_every_gate_is_a_payload_and_every_payload_a_gate() -> None:
    assert set(BUILT_IN) == set(PAYLOADS)


def test_with_partners_the_sum_over_several_nodes_is_asked_as_well() -> None:
    names, _ = suite_of("gpu-1", 8, has_links=True, has_partners=True)
    assert names == (*SUITE, "multi-gpu", "distributed")


def test_a_node_with_links_and_many_gpus_is_asked_everything() -> None:
    assert suite_of("gpu-1", 8, has_links=True) == ((*SUITE, "multi-gpu"), ())


def test_what_a_node_cannot_show_is_left_out_and_told() -> None:
    names, left_out = suite_of("gpu-1", 1, has_links=False)
    assert names == ("smoke-train", "smoke-infer", "gpu-errors")
    assert {each.gate: each.why for each in left_out} == {
        "rdma": "gpu-1 shows no InfiniBand or RoCE device, neither by a label nor by a resource",
        "multi-gpu": "gpu-1 has one GPU",
    }


def test_a_node_that_should_have_gpus_and_shows_none_is_asked_all_the_same() -> None:
    names, _ = suite_of("gpu-1", 0, has_links=False)
    assert "smoke-train" in names
    assert "gpu-errors" in names


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_gate_that_looks_at_gpus_is_given_them(name: str) -> None:
    assert built_in(name, "probes:1", 4).gpus == (0 if name == "rdma" else 4)
    assert built_in(name, "probes:1", 4).probe == name


@pytest.mark.parametrize(
    ("labels", "resources", "has_links"),
    [
        ({}, ("nvidia.com/gpu", "cpu"), False),
        ({"feature.node.kubernetes.io/pci-15b3.present": "true"}, (), True),
        ({}, ("rdma/rdma_shared_device_a",), True),
        ({"kubernetes.io/hostname": "rdma"}, (), False),
    ],
)
def test_a_node_shows_its_links_by_labels_or_resources(
    labels: dict[str, str], resources: tuple[str, ...], has_links: bool
) -> None:
    assert suite.has_links(labels, resources) is has_links
