"""Whose series it is: by the ways DCGM exporter is scraped, and unknown where labels contradict each other."""

from __future__ import annotations

import pytest

from seatrial.adapters.prometheus.labels import Owner, Unclear, owner_of

NODES = frozenset({"gpu-1", "gpu-2"})
UUID = "GPU-5ad0"


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        ({"Hostname": "gpu-1", "instance": "10.0.0.1:9400"}, "Hostname"),
        ({"hostname": "gpu-1", "instance": "10.0.0.1:9400"}, "hostname"),
        ({"node": "gpu-1", "Hostname": "nvidia-dcgm-exporter-x7k2p", "pod": "nvidia-dcgm-exporter-x7k2p"}, "node"),
        ({"node": "gpu-1", "Hostname": "gpu-1.example.com"}, "node"),
        ({"exported_Hostname": "gpu-1", "Hostname": "gpu-1"}, "Hostname"),
        ({"instance": "gpu-1:9400"}, "instance"),
        ({"instance": "gpu-1"}, "instance"),
    ],
)
def test_the_usual_ways_of_naming_a_node(labels: dict[str, str], label: str) -> None:
    assert owner_of({**labels, "UUID": UUID}, NODES) == Owner(node="gpu-1", label=label, gpu=UUID)


@pytest.mark.parametrize("label", ["UUID", "uuid", "gpu_uuid", "exported_UUID"])
def test_the_usual_ways_of_naming_a_gpu(label: str) -> None:
    assert owner_of({"node": "gpu-1", label: UUID}, NODES) == Owner(node="gpu-1", label="node", gpu=UUID)


def test_a_series_of_another_node_is_nobodys() -> None:
    assert owner_of({"Hostname": "gpu-3", "UUID": UUID}, NODES) is None


def test_labels_that_name_two_nodes_are_unclear_for_both() -> None:
    found = owner_of({"node": "gpu-1", "Hostname": "gpu-2", "UUID": UUID}, NODES)
    assert isinstance(found, Unclear)
    assert found.nodes == ("gpu-1", "gpu-2")
    assert found.why == "label node says gpu-1, and Hostname says gpu-2: say which label names the node"


def test_a_label_that_names_a_node_we_did_not_ask_for_is_a_contradiction_too() -> None:
    found = owner_of({"node": "gpu-1", "Hostname": "gpu-77", "UUID": UUID}, NODES)
    assert isinstance(found, Unclear)
    assert found.nodes == ("gpu-1",)


@pytest.mark.parametrize("pod", ["pod", "exported_pod"])
def test_an_exporter_that_gives_its_pods_name_as_the_host_names_no_node(pod: str) -> None:
    labels = {"node": "gpu-1", "exported_Hostname": "dcgm-exporter-x7", pod: "dcgm-exporter-x7", "UUID": UUID}
    assert owner_of(labels, NODES) == Owner(node="gpu-1", label="node", gpu=UUID)


def test_whoever_says_which_label_counts_is_believed() -> None:
    labels = {"node": "gpu-1", "Hostname": "gpu-2", "UUID": UUID}
    assert owner_of(labels, NODES, node_label="Hostname") == Owner(node="gpu-2", label="Hostname", gpu=UUID)


def test_the_label_that_counts_may_be_one_that_an_exporter_said() -> None:
    labels = {"node": "gpu-1", "exported_node": "gpu-2", "UUID": UUID}
    found = owner_of(labels, NODES, node_label="exported_node")
    assert found == Owner(node="gpu-2", label="exported_node", gpu=UUID)


def test_an_index_is_no_name_of_a_gpu() -> None:
    found = owner_of({"node": "gpu-1", "gpu": "3"}, NODES)
    assert isinstance(found, Unclear)
    assert "without a UUID" in found.why


def test_what_has_no_gpu_is_the_nodes_own() -> None:
    assert owner_of({"node": "gpu-1"}, NODES) == Owner(node="gpu-1", label="node")


def test_a_mig_slice_is_a_gpu_of_its_own() -> None:
    found = owner_of({"node": "gpu-1", "UUID": UUID, "GPU_I_ID": "2", "GPU_I_PROFILE": "1g.18gb"}, NODES)
    assert found == Owner(node="gpu-1", label="node", gpu=f"{UUID}/2")
