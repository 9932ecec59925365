"""The GPUs that a node gives out through DRA, and which of them somebody has.

Law of this file: a GPU counts when the device class of whole GPUs would choose it, and is in use when a claim was given
it other than for monitoring. It is asked by hand only; a controller has what it needs from its own streams.

Tests: tests/adapters/kube/test_devices.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.models import Model

WHOLE: Final = "gpu"
"""What the driver calls the type of a device that is no part of one."""


class _Text(Model, frozen=True):
    string: str = ""


class _Attributes(msgspec.Struct, frozen=True, kw_only=True):
    plain: _Text | None = msgspec.field(default=None, name="type")
    full: _Text | None = msgspec.field(default=None, name=f"{keys.GPU_DRIVER}/type")


class _Basic(Model, frozen=True):
    attributes: _Attributes = _Attributes()


class _Device(Model, frozen=True):
    name: str = ""
    attributes: _Attributes = _Attributes()
    basic: _Basic | None = None
    """Where v1beta1 has the attributes."""


class _Pool(Model, frozen=True):
    name: str = ""
    generation: int = 0


class _SliceSpec(Model, frozen=True):
    driver: str = ""
    pool: _Pool = _Pool()
    devices: tuple[_Device, ...] = ()


class Slice(Model, frozen=True):
    """A ResourceSlice, as far as its devices can be claimed."""

    spec: _SliceSpec = _SliceSpec()


class _Result(Model, frozen=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None


class _Devices(Model, frozen=True):
    results: tuple[_Result, ...] = ()


class _Allocation(Model, frozen=True):
    devices: _Devices = _Devices()


class _ClaimStatus(Model, frozen=True):
    allocation: _Allocation | None = None


class Claim(Model, frozen=True):
    """A ResourceClaim, with the devices that it was given."""

    status: _ClaimStatus = _ClaimStatus()


def published(slices: Iterable[Slice]) -> frozenset[tuple[str, str]]:
    """The whole GPUs of these slices, by pool and name; of a pool only what its newest generation has."""
    ours = [each.spec for each in slices if each.spec.driver == keys.GPU_DRIVER]
    newest: dict[str, int] = {}
    for spec in ours:
        newest[spec.pool.name] = max(spec.pool.generation, newest.get(spec.pool.name, 0))
    return frozenset(
        (spec.pool.name, device.name)
        for spec in ours
        if spec.pool.generation == newest[spec.pool.name]
        for device in spec.devices
        if _is_whole(device)
    )


def _is_whole(device: _Device) -> bool:
    attributes = device.attributes if device.basic is None else device.basic.attributes
    told = attributes.plain or attributes.full
    return told is None or told.string == WHOLE


def in_use(claims: Iterable[Claim]) -> frozenset[tuple[str, str]]:
    """The devices of the driver that claims were given, by pool and name."""
    given = (each.status.allocation for each in claims)
    return frozenset(
        (result.pool, result.device)
        for allocation in given
        if allocation is not None
        for result in allocation.devices.results
        if result.driver == keys.GPU_DRIVER and not result.admin_access
    )
