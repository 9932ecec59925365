"""The testbed a person keeps running: up, down, status. It lives in the cache folder and outlives the command.

The commands only print; what they say is made here, so that it can be tested without a terminal.
"""

import contextlib
import shutil
from pathlib import Path
from typing import Final

from seatrial_lab.testbed.building import build, toolchain
from seatrial_lab.testbed.plane import control_plane

SETTINGS: Final = "env"
"""What a shell reads to talk to the testbed."""


def running_folder() -> Path:
    """Return the folder of the long-lived testbed."""
    return toolchain.cache_folder() / "running"


def find() -> control_plane.ControlPlane | None:
    """Return the long-lived testbed if it runs whole."""
    plane = control_plane.ControlPlane.attach(running_folder())
    return plane if plane is not None and plane.status().is_whole else None


def up(*, say: build.Say = build.say_on_stderr) -> control_plane.ControlPlane:
    """Return the long-lived testbed, starting it where it does not run."""
    plane = find()
    if plane is None:
        down()  # what is left of a broken one would be in the way
        plane = control_plane.ControlPlane.start(running_folder(), say=say, is_leashed=False)
        try:
            plane.load_nvidia_crds()
        except BaseException:
            down()
            raise
    seen = plane.status()
    settings = f"export KUBECONFIG='{seen.kubeconfig}'\nalias kubectl='{seen.kubectl}'\n"
    (running_folder() / SETTINGS).write_text(settings, encoding="utf-8")
    return plane


def down() -> bool:
    """End the long-lived testbed and remove its folder; tell whether there was one."""
    folder = running_folder()
    plane = control_plane.ControlPlane.attach(folder)
    if plane is not None:
        plane.stop()
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)
    return plane is not None


def status() -> control_plane.PlaneStatus | None:
    """Return what runs of the long-lived testbed, None where there is none."""
    plane = control_plane.ControlPlane.attach(running_folder())
    return plane.status() if plane is not None else None


def how_to_use(seen: control_plane.PlaneStatus) -> str:
    """Return the lines that tell a person how to talk to a testbed."""
    return "\n".join(
        [
            f"The testbed answers at {seen.url}, until `seatrial testbed down`.",
            "This line has your shell talk to it, and brings a kubectl:",
            f"  . {seen.kubeconfig.with_name(SETTINGS)}",
        ]
    )


def describe(seen: control_plane.PlaneStatus | None) -> str:
    """Return the state of a testbed in words."""
    if seen is None:
        return "No testbed runs. Start one with `seatrial testbed up`."
    versions = ", ".join(f"{name} {version}" for name, version in seen.versions.items())
    lines = [f"{seen.url}  {versions}  {seen.memory_bytes / 2**20:.0f} MiB"]
    width = max(24, *(len(program.name) for program in seen.programs))
    lines += [
        f"  {program.name:<{width}} pid {program.pid:<8} "
        + (f"{program.memory_bytes / 2**20:.0f} MiB" if program.is_alive else "ended")
        for program in seen.programs
    ]
    if not seen.is_whole:
        lines.append("Something ended that should run; `seatrial testbed up` starts it afresh.")
    return "\n".join(lines)
