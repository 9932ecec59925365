"""What the containers of a real node play, under which image names, and by which rows.

Law of this file: what k8s-driver-manager does to a node is said in seatrial/sim/neighbours.py; here it is only written
down for a shell. Tests: tests/testbed/test_images.py, tests/testbed/test_real_node.py
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from seatrial.sim import neighbours
from seatrial_lab.testbed.nodes import consumers, dra, manifests
from seatrial_lab.testbed.real_node import images, settings

SHELL: Final = ("/bin/sh",)


def all_images(programs: settings.Programs, *, driver_versions: Iterable[str]) -> list[images.Image]:
    """Return every image that a fleet's pods on a real node name."""
    common = _common_layer(programs.busybox)
    manager = images.layer(
        [
            images.File(path="play/kubectl", content=programs.kubectl.read_bytes()),
            images.File(path="play/rows", content=rows().encode(), mode=0o644),
            images.File(path="play/shipped", content=shipped().encode(), mode=0o644),
        ]
    )
    plain = {
        settings.PAUSE_IMAGE: "forever",
        consumers.IMAGE: "forever",
        manifests.OPERAND_IMAGE: "forever",
        manifests.VALIDATOR_IMAGE: "validator",
        f"{dra.IMAGE}:{dra.VERSION}": "dra-plugin",
    }
    return [
        *(images.Image(name=name, layers=(common,), entrypoint=_entry(script)) for name, script in plain.items()),
        images.Image(name=manifests.MANAGER_IMAGE, layers=(common, manager), entrypoint=_entry("driver-manager")),
        *driver_images(programs, driver_versions),
    ]


def driver_images(programs: settings.Programs, versions: Iterable[str]) -> list[images.Image]:
    """Return an image for each driver version."""
    common = _common_layer(programs.busybox)
    return [
        images.Image(
            name=manifests.driver_image(version),
            layers=(common,),
            entrypoint=_entry("driver"),
            environment=(("DRIVER_VERSION", version),),
        )
        for version in versions
    ]


def rows() -> str:
    """Return the rows of the driver manager: when, what, and the switches of which one must be true."""
    table = neighbours.DRIVER_MANAGER
    return "".join(f"{row.when.name} {row.does.name} {' '.join(row.needs)}\n" for row in table)


def shipped() -> str:
    """Return what the operator's DaemonSets tell a driver manager where nobody said otherwise."""
    return "".join(f"{name}={value}\n" for name, value in neighbours.SHIPPED.items())


def _common_layer(busybox: Path) -> images.Layer:
    scripts = [
        images.File(path=f"play/{each.name}", content=each.read_bytes()) for each in sorted(images.PLAY.iterdir())
    ]
    shell = images.File(path="bin/busybox", content=busybox.read_bytes())
    return images.layer([shell, *scripts], {"bin/sh": "busybox"})


def _entry(script: str) -> tuple[str, ...]:
    return (*SHELL, f"/play/{script}")
