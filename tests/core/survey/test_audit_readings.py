"""Which version runs, whom to believe about it, and when nobody can say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.compat.matrix import COMPONENTS, Component
from seatrial.core.compat.versions import DriverVersion
from seatrial.core.model.seen.nodes import Loaded
from seatrial.core.survey.audit.drafting import draft
from seatrial.core.survey.audit.findings import FindingKind
from seatrial.core.survey.audit.images import component_of, digests_of, name_of, tag_of
from seatrial.core.survey.audit.objects import (
    CsvObject,
    DeploymentObject,
    DriverResource,
    NicObject,
    OpenShiftObject,
    ReleaseObject,
    SliceObject,
)
from seatrial.core.survey.audit.observing import ONCE, PER_NODE
from seatrial.core.survey.audit.of_operators import untold
from seatrial.core.survey.audit.readings import Absent, Cause, NotObservable, NotRunning, Seen
from seatrial.core.survey.sources import KINDS, Gap, Source, Why
from tests.core.compat.knowledge import facts
from tests.core.survey.surveyed import (
    DRIVER,
    NOT_SERVED,
    ON,
    STARTED_AT,
    a_cluster,
    a_node,
    a_pod,
    an_entry,
    audited,
    forbidden,
    found,
    pods_of,
    reading,
)

OLD = "570.172.08"
DIGEST = f"sha256:{'a' * 64}"


def test_every_component_of_the_matrix_has_a_reading_once_or_on_every_node() -> None:
    observed = audited(a_cluster()).observed
    assert set(ONCE) | set(PER_NODE) == set(COMPONENTS)
    assert all(set(node.readings) == set(PER_NODE) for node in observed.nodes)
    assert set(observed.cluster) == set(ONCE)


def test_every_reading_says_where_it_comes_from_or_what_is_missing() -> None:
    for part in COMPONENTS:
        found = reading(a_cluster(), part)
        match found:
            case Seen():
                assert found.evidence
            case Absent():
                assert found.why
            case NotObservable():
                assert found.missing


def test_a_right_is_told_as_kubectl_takes_it() -> None:
    assert KINDS[Source.PODS].right == "list pods"
    assert KINDS[Source.CSVS].right == "list clusterserviceversions.operators.coreos.com"


# ── the driver ───────────────────────────────────────────────────────────────────────────────────────────────────────


def driver(loaded: Loaded | None, image: str = DRIVER, **more: object) -> object:
    node = a_node(loaded=loaded)
    pods = pods_of("gpu-1", driver=f"nvcr.io/nvidia/driver:{image}-ubuntu22.04" if image else "")
    return reading(a_cluster(node, pods=pods, **more), Component.GPU_DRIVER)


def test_a_label_that_is_younger_than_the_driver_is_believed() -> None:
    found = driver(Loaded(version=DRIVER, seen_at=STARTED_AT + 1))
    assert isinstance(found, Seen)
    assert (found.text, found.evidence, found.caution) == (
        DRIVER,
        "Node label nvidia.com/cuda.driver-version.full",
        "",
    )


@pytest.mark.parametrize("at", [STARTED_AT, STARTED_AT - 1, None])
def test_a_label_that_may_be_older_than_the_driver_is_not_believed_against_the_pod(at: float | None) -> None:
    found = driver(Loaded(version=OLD, seen_at=at))
    assert isinstance(found, Seen)
    assert found.text == DRIVER
    assert "container nvidia-driver-ctr" in found.evidence
    assert "older than the driver" in found.caution


def test_a_label_that_is_older_and_agrees_with_the_pod_is_believed_with_a_caution() -> None:
    found = driver(Loaded(version=DRIVER, seen_at=STARTED_AT - 1))
    assert isinstance(found, Seen)
    assert (found.text, found.caution) == (DRIVER, "the label is older than the driver, and its pod agrees")


def test_the_driver_of_a_host_is_what_the_label_says() -> None:
    found = driver(Loaded(version="580.142", seen_at=None), image="")
    assert isinstance(found, Seen)
    assert (found.text, found.caution) == ("580.142", "")


def test_a_driver_whose_image_cannot_be_pulled_runs_nowhere() -> None:
    image = f"nvcr.io/nvidia/driver:{DRIVER}-ubuntu22.04"
    stuck = a_pod("nvidia-driver-ctr", image=image, started_at=None, is_ready=False, trouble="ImagePullBackOff")
    found = reading(
        a_cluster(a_node(loaded=Loaded(version=OLD, seen_at=STARTED_AT)), pods=(stuck,)), Component.GPU_DRIVER
    )
    assert isinstance(found, NotRunning)
    assert (found.brings, found.why) == (DRIVER, "the image of its pod cannot be pulled (ImagePullBackOff)")
    assert found.evidence.endswith(f"container nvidia-driver-ctr, image {image}")


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        ("", "its pod is not Ready"),
        ("PodInitializing", "its pod is not Ready (PodInitializing)"),
        ("CrashLoopBackOff", "a container of its pod keeps crashing (CrashLoopBackOff)"),
    ],
)
def test_a_driver_whose_pod_is_not_ready_does_not_run_whatever_labels_and_slices_say(trouble: str, why: str) -> None:
    stuck = a_pod("nvidia-driver-ctr", is_ready=False, trouble=trouble)
    published = (SliceObject(node="gpu-1", drivers=(OLD,)),)
    found = reading(a_cluster(a_node(), pods=(stuck,), slices=published), Component.GPU_DRIVER)
    assert isinstance(found, NotRunning)
    assert (found.brings, found.why) == (DRIVER, why)


def test_beside_a_pod_that_never_became_ready_the_one_that_did_is_what_runs() -> None:
    stuck = a_pod("nvidia-device-plugin", image="k8s-device-plugin:v0.18.0", started_at=None, is_ready=False)
    ready = a_pod("nvidia-device-plugin", image="k8s-device-plugin:v0.17.1")
    found = reading(a_cluster(a_node(), pods=(stuck, ready)), Component.DEVICE_PLUGIN)
    assert isinstance(found, Seen)
    assert found.text == "v0.17.1"


def test_while_a_driver_pod_has_not_started_its_nodes_label_is_not_believed() -> None:
    pods = (a_pod("nvidia-driver-ctr", started_at=None, image=f"nvcr.io/nvidia/driver:580-{OLD}-rhcos4.18"),)
    found = reading(a_cluster(a_node(), pods=pods), Component.GPU_DRIVER)
    assert isinstance(found, NotObservable)
    assert "does not name the driver's full version" in found.missing


def test_without_label_and_pod_the_slices_tell_and_leading_zeros_do_not_matter() -> None:
    objects = a_cluster(a_node(loaded=None), pods=(), slices=(SliceObject(node="gpu-1", drivers=("580.105.8",)),))
    found = reading(objects, Component.GPU_DRIVER)
    assert isinstance(found, Seen)
    assert (found.value.version, found.evidence) == (
        DriverVersion.parse(DRIVER),
        "ResourceSlice, attribute driverVersion",
    )


def test_slices_of_one_node_with_two_drivers_tell_both() -> None:
    slices = (SliceObject(node="gpu-1", drivers=("570.172.8", "580.105.8")),)
    found = reading(a_cluster(a_node(loaded=None), pods=(), slices=slices), Component.GPU_DRIVER)
    assert isinstance(found, Seen)
    assert found.text == "570.172.8 and 580.105.8"


def test_without_any_witness_the_driver_is_not_observable_and_not_absent() -> None:
    found = reading(a_cluster(a_node(loaded=None), pods=()), Component.GPU_DRIVER)
    assert isinstance(found, NotObservable)
    assert found.cause is Cause.OBJECT


def test_where_pods_cannot_be_read_the_label_is_told_with_a_caution() -> None:
    found = reading(a_cluster(pods=(), gaps=forbidden(Source.PODS)), Component.GPU_DRIVER)
    assert isinstance(found, Seen)
    assert "may be older" in found.caution


def test_where_pods_cannot_be_read_and_no_label_tells_the_right_is_named_and_not_the_label() -> None:
    found = reading(a_cluster(a_node(loaded=None), pods=(), gaps=forbidden(Source.PODS)), Component.GPU_DRIVER)
    assert isinstance(found, NotObservable)
    assert (found.cause, found.missing) == (Cause.RIGHT, "the right to list pods")


def test_slices_that_tell_no_version_tell_nothing() -> None:
    objects = a_cluster(a_node(loaded=None), pods=(), slices=(SliceObject(node="gpu-1", drivers=("unknown",)),))
    assert isinstance(reading(objects, Component.GPU_DRIVER), NotObservable)


def test_a_label_that_is_no_version_is_not_taken_for_one() -> None:
    found = reading(a_cluster(a_node(loaded=Loaded(version="latest", seen_at=None)), pods=()), Component.GPU_DRIVER)
    assert isinstance(found, NotObservable)


# ── images ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("image", "name", "tag"),
    [
        ("nvcr.io/nvidia/driver:580.105.08-ubuntu22.04", "driver", "580.105.08-ubuntu22.04"),
        ("registry:5000/nvidia/driver", "driver", ""),
        ("registry:5000/nvidia/driver:580.105.08", "driver", "580.105.08"),
        (f"nvcr.io/nvidia/driver@{DIGEST}", "driver", ""),
        (f"nvcr.io/nvidia/driver:580.105.08@{DIGEST}", "driver", "580.105.08"),
        ("driver", "driver", ""),
        ("", "", ""),
    ],
)
def test_a_reference_is_taken_apart(image: str, name: str, tag: str) -> None:
    assert (name_of(image), tag_of(image)) == (name, tag)


def test_a_digest_is_the_version_of_the_release_that_ships_it() -> None:
    release = next(each for version, each in facts().gpu_operators.items() if version.text == "v25.3.4")
    image = f"nvcr.io/nvidia/k8s-device-plugin@{release.images['device-plugin-image']}"
    found = reading(a_cluster(a_node(), pods=pods_of("gpu-1", plugin=image)), Component.DEVICE_PLUGIN)
    assert isinstance(found, Seen)
    assert found.text == "v0.17.4"
    assert found.evidence.endswith("which GPU Operator v25.3.3 ships")  # the first that did


def test_every_digest_stands_for_one_version() -> None:
    for (part, digest), pinned in digests_of(facts()).items():
        shipping = [each for each in facts().gpu_operators.values() if digest in each.images.values()]
        said = {each.driver if part is Component.GPU_DRIVER else each.operands[part] for each in shipping}
        if part is not Component.GPU_DRIVER:  # a digest can be the default of one release and an extra of the next
            assert {each.text.partition("-")[0] for each in said if each} == {pinned.text.partition("-")[0]}


@pytest.mark.parametrize("tag", ["", ":v0.18.1"])
def test_a_digest_that_no_release_ships_is_not_observable_whatever_its_tag_says(tag: str) -> None:
    image = f"nvcr.io/nvidia/k8s-device-plugin{tag}@{DIGEST}"
    found = reading(a_cluster(a_node(), pods=pods_of("gpu-1", plugin=image)), Component.DEVICE_PLUGIN)
    assert isinstance(found, NotObservable)
    assert image in found.missing


def test_what_people_noted_counts_where_the_image_does_not_tell() -> None:
    image = f"nvcr.io/nvidia/k8s-device-plugin@{DIGEST}"
    node = a_node(told={Component.DEVICE_PLUGIN: "v0.18.1"})
    found = reading(a_cluster(node, pods=pods_of("gpu-1", plugin=image)), Component.DEVICE_PLUGIN)
    assert isinstance(found, Seen)
    assert found.caution == "people noted it; nothing has checked it"


def test_what_people_noted_does_not_count_against_what_an_object_shows() -> None:
    found = reading(a_cluster(a_node(told={Component.GPU_DRIVER: OLD})), Component.GPU_DRIVER)
    assert isinstance(found, Seen)
    assert found.text == DRIVER


def test_a_branch_of_the_driver_alone_is_no_version() -> None:
    release = next(each for version, each in facts().gpu_operators.items() if version.text == "v26.7.0")
    image = f"nvcr.io/nvidia/driver@{release.images['driver-image-580']}"
    found = reading(a_cluster(a_node(loaded=None), pods=pods_of("gpu-1", driver=image)), Component.GPU_DRIVER)
    assert isinstance(found, NotObservable)


def test_an_image_without_a_tag_tells_nothing() -> None:
    found = reading(a_cluster(a_node(), pods=pods_of("gpu-1", dcgm="registry:5000/dcgm-exporter")), Component.DCGM)
    assert isinstance(found, NotObservable)


def test_the_validator_is_read_and_a_drafted_matrix_leaves_it_to_the_operator() -> None:
    image = "nvcr.io/nvidia/cloud-native/gpu-operator-validator:v25.3.2"
    objects = a_cluster(a_node(), pods=(*pods_of("gpu-1"), a_pod("nvidia-operator-validator", image=image)))
    assert found(objects) == ()
    assert '    # validator: "v25.3.2" comes with the GPU Operator\n' in draft(audited(objects).observed, ON)


@pytest.mark.parametrize("named", [f"@sha256:{'5b' * 32}", ":devel-ubi8"])
def test_a_validator_whose_image_shows_no_version_is_a_finding_only_where_a_matrix_names_it(named: str) -> None:
    image = f"nvcr.io/nvidia/cloud-native/gpu-operator-validator{named}"
    objects = a_cluster(a_node(), pods=(*pods_of("gpu-1"), a_pod("nvidia-operator-validator", image=image)))
    assert isinstance(reading(objects, Component.VALIDATOR), NotObservable)
    assert Component.VALIDATOR not in {each.component for each in found(objects)}
    asked = {each.kind for each in found(objects, an_entry(validator="v25.3.2")) if each.component == "validator"}
    assert asked == {FindingKind.NOT_OBSERVABLE}


def test_feature_discovery_is_known_by_its_image_and_the_gpu_ones_is_not_the_device_plugin() -> None:
    assert component_of("worker", "registry.k8s.io/nfd/node-feature-discovery:v0.18.2") is Component.NFD
    assert component_of("gpu-feature-discovery", "nvcr.io/nvidia/k8s-device-plugin:v0.18.1") is Component.GFD


@pytest.mark.parametrize(
    ("container", "tag", "part", "text"),
    [
        ("nvidia-operator-validator", "v25.3.2", "validator", "v25.3.2"),
        ("nvidia-fs-ctr", "2.26.6-ubuntu22.04", "gds", "2.26.6-ubuntu22.04"),
        ("nvidia-gdrcopy-ctr", "v2.5.1-ubuntu22.04", "gdrcopy", "v2.5.1-ubuntu22.04"),
        ("mofed-container", "doca3.1.0-25.07-0.9.7.0-0-ubuntu22.04-amd64", "mofed", "doca3.1.0-25.07-0.9.7.0"),
        ("mofed-container", "23.10-0.5.5.0-rhel8.6-amd64", "mofed", "23.10-0.5.5.0"),
        ("mofed-container", "24.07-0.6.1.0-0", "mofed", "24.07-0.6.1.0"),
    ],
)
def test_tags_with_a_system_behind_the_version_are_read(container: str, tag: str, part: str, text: str) -> None:
    objects = a_cluster(a_node(), pods=(a_pod(container, image=f"nvcr.io/nvidia/some:{tag}"),))
    found = reading(objects, Component(part))
    assert isinstance(found, Seen)
    assert found.text == text


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("image", "text"),
    [
        ("Ubuntu 22.04.5 LTS", "ubuntu22.04.5"),
        ("Red Hat Enterprise Linux CoreOS 418.94.202511011200-0", "rhcos"),
        ("Red Hat Enterprise Linux 9.4 (Plow)", "rhel9.4"),
        ("Rocky Linux 9.4 (Blue Onyx)", "rocky9.4"),
        ("SUSE Linux Enterprise Server 15 SP6", "sles15.6"),
        ("Debian GNU/Linux 12 (bookworm)", "debian12"),
        ("Amazon Linux 2023.6.20250115", "amzn2023"),
        ("Container-Optimized OS from Google", "cos"),
        ("Flatcar Container Linux by Kinvolk 4081.2.0 (Oklo)", "flatcar"),
        ("Talos (v1.9.1)", "talos"),
        ("Bottlerocket OS 1.26.2 (aws-k8s-1.31-nvidia)", "bottlerocket"),
    ],
)
def test_a_system_is_known_by_what_its_kubelet_calls_it(image: str, text: str) -> None:
    found = reading(a_cluster(a_node(os_id="", os_version="", os_image=image)), Component.OS)
    assert isinstance(found, Seen)
    assert found.text == text


def test_a_system_that_nobody_knows_is_not_guessed() -> None:
    found = reading(a_cluster(a_node(os_id="", os_image="Hannah Montana Linux")), Component.OS)
    assert isinstance(found, NotObservable)
    assert "Hannah Montana Linux" in found.missing


def test_a_node_has_one_container_runtime_and_not_the_other() -> None:
    objects = a_cluster(a_node(runtime="cri-o://1.31.13-3.rhaos4.18"))
    assert isinstance(reading(objects, Component.CRI_O), Seen)
    assert isinstance(reading(objects, Component.CONTAINERD), Absent)
    assert isinstance(reading(a_cluster(a_node(runtime="")), Component.CONTAINERD), NotObservable)


@pytest.mark.parametrize("product", ["NVIDIA-H100-80GB-HBM3-SHARED", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"])
def test_how_a_gpu_is_shared_or_cut_makes_no_other_kind_of_node(product: str) -> None:
    observed = audited(a_cluster(a_node(product=product))).observed
    assert observed.nodes[0].like.product == "NVIDIA-H100-80GB-HBM3"


def test_a_node_without_a_gpu_is_not_audited_and_one_with_a_driver_pod_is() -> None:
    bare = {"shows_gpu": False, "product": "", "loaded": None}
    nodes = (a_node("cpu-1", **bare), a_node("gpu-1", **bare), a_node("dra-1", **bare))
    objects = a_cluster(*nodes, pods=pods_of("gpu-1"), slices=(SliceObject(node="dra-1", drivers=(DRIVER,)),))
    assert [node.name for node in audited(objects).observed.nodes] == ["dra-1", "gpu-1"]


@pytest.mark.parametrize("part", [Component.CUDA, Component.NCCL, Component.FABRIC_MANAGER, Component.FIRMWARE_CX7])
def test_what_people_noted_counts_where_no_object_shows_it(part: Component) -> None:
    text = {Component.CUDA: "13.0", Component.NCCL: "2.27.3", Component.FIRMWARE_CX7: "28.45.1020"}.get(part, DRIVER)
    assert isinstance(reading(a_cluster(), part), NotObservable)
    found = reading(a_cluster(a_node(told={part: text})), part)
    assert isinstance(found, Seen)
    assert (found.text, found.evidence) == (text, f"Node annotation seatrial.dev/observed-{part.value}")


def test_the_cuda_level_of_the_driver_is_not_the_cuda_of_the_matrix() -> None:
    found = reading(a_cluster(a_node(cuda_level="13.0")), Component.CUDA)
    assert isinstance(found, NotObservable)
    assert found.cause is Cause.NATURE


# ── network ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_network_driver_pod_the_driver_is_inbox_and_not_unknown() -> None:
    found = reading(a_cluster(), Component.MOFED)
    assert isinstance(found, Absent)
    assert "inbox" in found.why


def test_firmware_is_told_by_family_and_every_adapter_counts() -> None:
    nics = tuple(NicObject(node="gpu-1", firmware=text) for text in ("28.45.1020", "28.43.1014", "22.45.1020"))
    objects = a_cluster(a_node(), nics=nics, gaps={})
    found = reading(objects, Component.FIRMWARE_CX7)
    assert _text(found) == "28.43.1014 and 28.45.1020"
    assert isinstance(found, Seen)
    assert found.evidence == "NicDevice status.firmwareVersion"
    assert _text(reading(objects, Component.FIRMWARE_CX6)) == "22.45.1020"
    assert isinstance(reading(objects, Component.FIRMWARE_BF3), Absent)


def test_an_adapter_whose_firmware_nobody_has_read_may_be_of_any_family() -> None:
    nics = tuple(NicObject(node="gpu-1", firmware=text) for text in ("28.45.1020", ""))
    for part in (Component.FIRMWARE_CX7, Component.FIRMWARE_BF3):
        assert isinstance(reading(a_cluster(a_node(), nics=nics, gaps={}), part), NotObservable)


def test_a_node_without_nic_devices_has_firmware_that_nobody_can_tell() -> None:
    for gaps, missing in (
        ({}, "a NicDevice of the node"),
        (NOT_SERVED, "NicDevices, which the NIC configuration operator makes"),
    ):
        found = reading(a_cluster(gaps=gaps), Component.FIRMWARE_CX7)
        assert found == NotObservable(cause=Cause.NATURE, missing=missing)
    found = reading(a_cluster(gaps=forbidden(Source.NIC_DEVICES)), Component.FIRMWARE_CX7)
    assert isinstance(found, NotObservable)
    assert found.missing == "the right to list nicdevices.configuration.net.nvidia.com"


def _text(found: object) -> str:
    assert isinstance(found, Seen)
    return found.text


# ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────────


def csv(name: str, version: str, phase: str = "Succeeded") -> CsvObject:
    return CsvObject(namespace="x", name=name, version=version, phase=phase)


def test_a_csv_that_succeeded_goes_before_a_deployment() -> None:
    csvs = (
        csv("gpu-operator-certified.v25.3.3", "25.3.3", "Replacing"),
        csv("gpu-operator-certified.v25.3.4", "25.3.4"),
    )
    assert _text(reading(a_cluster(csvs=csvs), Component.GPU_OPERATOR)) == "25.3.4"


def test_a_csv_that_has_not_succeeded_is_no_evidence() -> None:
    found = reading(
        a_cluster(csvs=(csv("gpu-operator-certified.v25.3.4", "25.3.4", "Failed"),)), Component.GPU_OPERATOR
    )
    assert isinstance(found, NotObservable)
    assert "it is Failed" in found.missing


@pytest.mark.parametrize(
    "told",
    [
        {"version": "v25.10.1"},
        {"chart": "gpu-operator-v25.10.1"},
        {},
    ],
)
def test_an_operator_of_helm_is_known_by_its_labels_or_its_tag(told: dict[str, str]) -> None:
    found = DeploymentObject(
        namespace="x", name="gpu-operator", images=(("gpu-operator", "r/nvidia/gpu-operator:v25.10.1"),), **told
    )
    assert _text(reading(a_cluster(deployments=(found,)), Component.GPU_OPERATOR)) == "v25.10.1"


PINNED = DeploymentObject(
    namespace="gpus", name="gpu-operator", images=(("gpu-operator", f"r/nvidia/gpu-operator@{DIGEST}"),)
)


def test_an_operator_that_tells_no_version_is_known_by_the_helm_release_beside_it() -> None:
    assert untold(a_cluster(deployments=(PINNED,))) == ("gpus",)
    others = (
        ReleaseObject(namespace="gpus", name="nfd", chart="node-feature-discovery", version="0.18.2"),
        ReleaseObject(namespace="elsewhere", name="gpu", chart="gpu-operator", version="v24.9.2"),
    )
    release = ReleaseObject(namespace="gpus", name="gpu", chart="gpu-operator", version="v25.10.1")
    found = reading(a_cluster(deployments=(PINNED,), releases=(*others, release)), Component.GPU_OPERATOR)
    assert isinstance(found, Seen)
    assert (found.text, found.evidence) == ("v25.10.1", "Helm release gpus/gpu, version of its chart")
    unknown = reading(a_cluster(deployments=(PINNED,), releases=others), Component.GPU_OPERATOR)
    assert isinstance(unknown, NotObservable)
    assert "--helm-secrets reads them" in unknown.missing


def test_releases_are_looked_for_only_beside_an_operator_that_tells_nothing_else() -> None:
    assert untold(a_cluster()) == ()
    assert untold(a_cluster(deployments=())) == ()
    csvs = (csv("gpu-operator-certified.v25.3.4", "25.3.4"),)
    assert untold(a_cluster(deployments=(PINNED,), csvs=csvs)) == ()


def test_an_operator_that_is_not_there_is_absent_only_where_both_lists_were_read() -> None:
    assert isinstance(reading(a_cluster(deployments=()), Component.GPU_OPERATOR), Absent)
    for source in (Source.CSVS, Source.DEPLOYMENTS):
        found = reading(a_cluster(deployments=(), gaps=forbidden(source)), Component.GPU_OPERATOR)
        assert isinstance(found, NotObservable)
        assert found.cause is Cause.RIGHT


def test_two_operators_of_different_versions_are_both_told() -> None:
    csvs = (csv("gpu-operator-certified.v25.3.4", "25.3.4"), csv("gpu-operator-certified.v24.9.2", "24.9.2"))
    assert _text(reading(a_cluster(csvs=csvs), Component.GPU_OPERATOR)) == "25.3.4 and 24.9.2"
    same = (csv("gpu-operator-certified.v25.3.4", "25.3.4"), csv("gpu-operator-certified.v25.3.4", "v25.3.4"))
    assert _text(reading(a_cluster(csvs=same), Component.GPU_OPERATOR)) == "25.3.4"


def test_nvidias_build_of_the_sriov_operator_is_not_red_hats() -> None:
    def of(tag: str) -> DeploymentObject:
        image = f"nvcr.io/nvidia/mellanox/sriov-network-operator:{tag}"
        return DeploymentObject(namespace="x", name="sriov", images=(("sriov-network-operator", image),))

    found = reading(a_cluster(deployments=(of("network-operator-25.4.0"),)), Component.SRIOV_OPERATOR)
    assert isinstance(found, Absent)
    assert "another product" in found.why
    csvs = (csv("sriov-network-operator.v4.18.0-202511010000", "4.18.0-202511010000"),)
    both = a_cluster(deployments=(of("network-operator-25.4.0"),), csvs=csvs)
    assert _text(reading(both, Component.SRIOV_OPERATOR)) == "4.18.0-202511010000"


def test_openshift_is_what_was_completed_and_an_update_is_a_caution() -> None:
    found = reading(
        a_cluster(openshift=(OpenShiftObject(completed="4.18.36", desired="4.18.37"),)), Component.OPENSHIFT
    )
    assert isinstance(found, Seen)
    assert (found.text, found.caution) == ("4.18.36", "an update to 4.18.37 is under way")
    unread = reading(a_cluster(gaps=forbidden(Source.CLUSTER_VERSIONS)), Component.OPENSHIFT)
    assert isinstance(unread, NotObservable)
    assert unread.cause is Cause.RIGHT
    begun = reading(a_cluster(openshift=(OpenShiftObject(completed="", desired="4.18.36"),)), Component.OPENSHIFT)
    assert isinstance(begun, NotObservable)


def test_which_modules_are_asked_for_is_told_only_where_that_is_one_answer() -> None:
    def modules(*asked: str, **more: object) -> str:
        resources = tuple(DriverResource(name=text, modules=text) for text in asked)
        return audited(a_cluster(driver_resources=resources, **more)).observed.modules

    assert modules("open") == "open"
    assert (modules("auto"), modules("open", "proprietary"), modules(), modules("")) == ("", "", "", "")
    assert modules("open", gaps=forbidden(Source.DRIVERS)) == ""


def test_the_dra_driver_of_the_operator_is_managed_and_a_chart_has_its_version() -> None:
    def of(**plugin: Any) -> object:
        pod = a_pod("gpus", image="nvcr.io/nvidia/k8s-dra-driver-gpu:v25.12.0", is_dra=True, **plugin)
        return reading(a_cluster(a_node(), pods=(*pods_of("gpu-1"), pod)), Component.DRA_DRIVER)

    assert _text(of(is_operators=True)) == "managed"
    assert _text(of(chart="dra-driver-nvidia-gpu-25.8.0")) == "25.8.0"
    assert _text(of()) == "v25.12.0"


def test_an_answer_that_did_not_come_is_told_with_what_the_server_said() -> None:
    gap = Gap(source=Source.PODS, why=Why.FAILED, said="etcd is slow")
    found = reading(a_cluster(pods=(), gaps={Source.PODS: gap}), Component.DCGM)
    assert isinstance(found, NotObservable)
    assert found.missing == "an answer to list pods (etcd is slow)"


def test_a_reading_of_several_versions_keeps_them_all() -> None:
    found = reading(a_cluster(), Component.KERNEL)
    assert isinstance(found, Seen)
    assert replace(found, more=(found.value,)).values == (found.value, found.value)
