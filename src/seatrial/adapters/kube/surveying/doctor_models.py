"""The fields that a diagnosis reads of nodes, events, slices and claims; of pods it reads those of kinds.py.

As in shapes/models.py, what is not named here is dropped while decoding. Tests: tests/adapters/kube/test_diagnosing.py
"""

from __future__ import annotations

from seatrial.adapters.kube.shapes import kinds
from seatrial.adapters.kube.shapes.model import Model
from seatrial.adapters.kube.shapes.models import BareMeta, Condition, ObjectMeta, Quantities


class NodeStatus(Model, frozen=True):
    allocatable: Quantities = {}
    capacity: Quantities = {}
    conditions: tuple[Condition, ...] = ()


class NodeSpec(Model, frozen=True):
    unschedulable: bool = False


class Node(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class EventSource(Model, frozen=True):
    component: str = ""
    host: str = ""


class EventSeries(Model, frozen=True):
    count: int = 0
    last_observed_time: str | None = None


class Event(Model, frozen=True):
    involved_object: kinds.ObjectReference = kinds.ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: EventSeries | None = None
    source: EventSource = EventSource()
    reporting_instance: str = ""


class Device(Model, frozen=True):
    """It is counted, and nothing of it is read."""


class SliceSpec(Model, frozen=True):
    driver: str = ""
    node_name: str | None = None
    devices: tuple[Device, ...] = ()


class Slice(Model, frozen=True):
    spec: SliceSpec = SliceSpec()


class Result(Model, frozen=True):
    driver: str = ""


class Devices(Model, frozen=True):
    results: tuple[Result, ...] = ()


class Allocation(Model, frozen=True):
    devices: Devices = Devices()


class ClaimStatus(Model, frozen=True):
    allocation: Allocation | None = None


class Claim(Model, frozen=True):
    metadata: BareMeta = BareMeta()
    status: ClaimStatus = ClaimStatus()
