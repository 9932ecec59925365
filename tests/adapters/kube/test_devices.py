"""Which GPUs a node gives out through DRA, and which of them somebody has."""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.adapters.kube.reading.gates import devices


def a_slice(
    *names: str, driver: str = "gpu.nvidia.com", generation: int = 1, attributes: dict[str, Any] | None = None
) -> devices.Slice:
    body = {
        "spec": {
            "driver": driver,
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": generation, "resourceSliceCount": 1},
            "devices": [{"name": name, "attributes": attributes or {}} for name in names],
        }
    }
    return msgspec.convert(body, devices.Slice)


def a_claim(*results: dict[str, Any]) -> devices.Claim:
    allocation = {"devices": {"results": list(results)}} if results else None
    return msgspec.convert({"status": {"allocation": allocation}}, devices.Claim)


def test_gpus_are_those_of_the_gpu_driver_and_whole() -> None:
    found = devices.published(
        (
            a_slice("gpu-0", "gpu-1"),
            a_slice("gpu-2", attributes={"type": {"string": "gpu"}}),
            a_slice("gpu-2-mig-0", attributes={"type": {"string": "mig"}}),
            a_slice("gpu-2-mig-1", attributes={"gpu.nvidia.com/type": {"string": "mig"}}),
            a_slice("channel-0", driver="compute-domain.nvidia.com"),
        )
    )
    assert found == {("n1", "gpu-0"), ("n1", "gpu-1"), ("n1", "gpu-2")}


def test_a_pool_that_is_written_anew_is_what_its_newest_slices_say() -> None:
    assert devices.published((a_slice("gpu-0", "gpu-1"), a_slice("gpu-0", generation=2))) == {("n1", "gpu-0")}


def test_a_gpu_is_in_use_when_a_claim_was_given_it_and_monitoring_is_no_use() -> None:
    held = {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"}
    watched = held | {"device": "gpu-1", "adminAccess": True}
    channel = {"driver": "compute-domain.nvidia.com", "pool": "n1", "device": "channel-0"}
    assert devices.in_use((a_claim(held, watched), a_claim(), a_claim(channel))) == {("n1", "gpu-0")}
