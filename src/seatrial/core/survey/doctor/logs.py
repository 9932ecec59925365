"""Whose logs are worth reading: of those that are not up, and of those that tell of others.

    first    containers of the stack that are not up: what they said before they ended, and what they say now
    then     drivers that are up on a node where somebody is not: they start more than they vouch for
    then     containers of tenants that ended badly with GPUs
    last     device plugins and DRA plugins that run: they tell of broken GPUs

Law of this file: it only chooses. Reading is the caller's right, and there is an end to it: LOGS_MAX, the first first.
Tests: tests/core/survey/test_doctor_diagnosing.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.survey.doctor.objects import ContainerTold, LogAsked, PodTold, Sight
from seatrial.core.survey.doctor.parts import Part

LOGS_MAX: Final = 80
TELLING: Final = (Part.DEVICE_PLUGIN, Part.DRA)
WAITERS: Final = frozenset({Part.DRIVER, Part.VALIDATOR, Part.MOFED, Part.DRA})
"""Whose init containers say something while they run; those of the others wait for these."""
NEVER_RAN: Final = frozenset(
    {"PodInitializing", "ContainerCreating", "ErrImagePull", "ImagePullBackOff", "InvalidImageName"}
)


def worth_reading(sight: Sight, node: str = "") -> tuple[LogAsked, ...]:
    """All logs that may tell something, the likeliest first; of one node where it is named."""
    pods = [each for each in sight.pods if each.node and (not node or each.node == node) and each.phase != "Succeeded"]
    ailing = {each.node for each in pods if not each.is_well and (each.is_stack or each.part is Part.TENANT)}
    drivers = [each for each in pods if each.part is Part.DRIVER and each.is_well and each.node in ailing]
    found = [
        *(asked for pod in pods if pod.is_stack and not pod.is_well for asked in _of_failing(pod)),
        *(asked for pod in drivers for asked in _of_running(pod)),
        *(asked for pod in pods if pod.part is Part.TENANT for asked in _of_tenant(pod)),
        *(asked for pod in pods if pod.part in TELLING and pod.is_well for asked in _of_running(pod)),
    ]
    return tuple(dict.fromkeys(found))


def _of_failing(pod: PodTold) -> Iterator[LogAsked]:
    for container in pod.containers:
        if container.is_init and container.is_running and pod.part not in WAITERS:
            continue
        if not container.is_failing and not (container.is_init and container.is_running):
            continue
        yield from _both(pod, container)


def _of_tenant(pod: PodTold) -> Iterator[LogAsked]:
    for container in pod.containers:
        if container.is_failing and (container.restarts or container.exit_code not in (None, 0)):
            yield from _both(pod, container)


def _of_running(pod: PodTold) -> Iterator[LogAsked]:
    for container in pod.containers:
        if not container.is_init and container.is_running:
            yield LogAsked(namespace=pod.namespace, pod=pod.name, container=container.name)


def _both(pod: PodTold, container: ContainerTold) -> Iterator[LogAsked]:
    if container.restarts:
        yield LogAsked(namespace=pod.namespace, pod=pod.name, container=container.name, is_previous=True)
    if container.waiting not in NEVER_RAN or container.exit_code is not None:
        yield LogAsked(namespace=pod.namespace, pod=pod.name, container=container.name)
