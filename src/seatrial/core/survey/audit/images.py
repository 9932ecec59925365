"""Versions from image references: a tag is read as it stands, a digest is looked up, and a guess is never made.

    nvcr.io/nvidia/driver:580.105.08-ubuntu22.04          the tag
    nvcr.io/nvidia/driver@sha256:5b1a…                    the digest, in the bundles of the releases we know
    nvcr.io/nvidia/driver:580.105.08@sha256:5b1a…         the digest too: where the two differ, it is what runs

Law of this file: OLM pins images by digest, and only a digest that a known release ships has a version. Tests:
tests/core/survey/test_audit_readings.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.facts import Facts
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import driver_version_of_image
from seatrial.core.survey.audit.readings import Cause, NotObservable, Reading, seen

CONTAINERS: Final[Mapping[str, Component]] = {
    "nvidia-driver-ctr": Component.GPU_DRIVER,
    "nvidia-device-plugin": Component.DEVICE_PLUGIN,
    "nvidia-device-plugin-ctr": Component.DEVICE_PLUGIN,
    "nvidia-container-toolkit-ctr": Component.CONTAINER_TOOLKIT,
    "nvidia-dcgm-exporter": Component.DCGM,
    "nvidia-mig-manager": Component.MIG_MANAGER,
    "gpu-feature-discovery": Component.GFD,
    "nvidia-operator-validator": Component.VALIDATOR,
    "nvidia-fs-ctr": Component.GDS,
    "nvidia-gdrcopy-ctr": Component.GDRCOPY,
    "mofed-container": Component.MOFED,
}
"""Which container brings which component; operators name them so in every release that we know."""
NFD_IMAGES: Final = frozenset(
    {"node-feature-discovery", "ose-node-feature-discovery", "ose-node-feature-discovery-rhel9"}
)
"""Feature discovery's containers are called differently by every installer, its images are not."""
PINNED: Final[Mapping[str, Component]] = {
    "driver-image": Component.GPU_DRIVER,
    "device-plugin-image": Component.DEVICE_PLUGIN,
    "container-toolkit-image": Component.CONTAINER_TOOLKIT,
    "dcgm-exporter-image": Component.DCGM,
}
"""What a bundle calls the images whose versions its release names; `driver-image-570` tells a branch alone."""

_OFED: Final = re.compile(r"(?:doca[0-9.]+-)?[0-9]+\.[0-9]+-[0-9]+(?:\.[0-9]+){2,3}")
"""The version at the head of a tag; what follows is the build, the system and the architecture, or some of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What a digest stands for."""

    text: str
    release: str


Digests = Mapping[tuple[Component, str], Pinned]


def digests_of(facts: Facts) -> Digests:
    """Every digest that a known release pins, and the version that it ships by it."""
    found: dict[tuple[Component, str], Pinned] = {}
    for version, release in facts.gpu_operators.items():
        for name, digest in release.images.items():
            part = PINNED.get(name)
            shipped = release.driver if part is Component.GPU_DRIVER else release.operands.get(part) if part else None
            if part is not None and shipped is not None:
                found.setdefault((part, digest), Pinned(text=shipped.text, release=version.text))
    return found


def component_of(container: str, image: str) -> Component | None:
    """What a container brings, None where it brings nothing of a stack."""
    return CONTAINERS.get(container) or (Component.NFD if name_of(image) in NFD_IMAGES else None)


def reading_of(part: Component, image: str, place: str, digests: Digests) -> Reading:
    """The version that an image has; `place` is the container whose image it is."""
    found = _read(part, image, place, digests)
    if part is Component.VALIDATOR and isinstance(found, NotObservable):
        # A validator has its operator's version: where its image shows none, only a matrix that names it misses it.
        return replace(found, cause=Cause.NATURE)
    return found


def _read(part: Component, image: str, place: str, digests: Digests) -> Reading:
    evidence = f"{place}, image {image}"
    _, _, digest = image.partition("@")
    if digest:
        known = digests.get((part, digest))
        if known is not None:
            return seen(part, known.text, f"{evidence}, which GPU Operator {known.release} ships")
        return NotObservable(
            cause=Cause.OBJECT, missing=f"{evidence} is pinned by a digest that no release we know ships"
        )
    tag = tag_of(image)
    if part is Component.GPU_DRIVER:
        driver = driver_version_of_image(image)
        if driver is None:
            return NotObservable(cause=Cause.OBJECT, missing=f"{evidence} does not name the driver's full version")
        tag = driver.text
    if part is Component.MOFED:
        found = _OFED.match(tag)
        tag = found[0] if found is not None else tag
    return seen(part, tag, evidence)


def tag_of(image: str) -> str:
    """The tag of a reference; empty where it has none."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def name_of(image: str) -> str:
    """The last part of a reference's repository."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
