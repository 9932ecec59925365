"""What a driver manager says while it works, one line for each thing.

Law of this file: a line says what is done, to whom. Tests: tests/core/node/driver_manager/test_words.py
"""

from __future__ import annotations

from typing import assert_never

from seatrial.core.node.driver_manager import labels
from seatrial.core.node.driver_manager.plan import Route, Run
from seatrial.core.node.driver_manager.values import (
    Await,
    Cordon,
    End,
    Evict,
    ForgetDigest,
    Relabel,
    RemovePidFile,
    Step,
    Unbind,
    Uncordon,
    Unload,
    Unmount,
)
from seatrial.core.text.names import a_few


def begun(run: Run, host_driver: str = "") -> str:
    """Which route it is, and what that means."""
    match run.route:
        case Route.HOST_DRIVER:
            return f"the host brings driver {host_driver}: no container is to load one here"
        case Route.BARE:
            return "no driver is loaded: nobody is evicted, only what an old one left is removed"
        case Route.SAME:
            return "the driver that is wanted is loaded: its modules stay, and workloads run on"
        case Route.RELOAD:
            return "another driver is loaded: it is taken out"


def doing(step: Step) -> str:
    """What is done next."""
    match step:
        case Relabel(values=values):
            return _relabelling(values)
        case Cordon():
            return "cordoning the node"
        case Uncordon():
            return "taking our cordon away"
        case Evict(namespace=namespace, name=name):
            return f"evicting {namespace}/{name}"
        case ForgetDigest():
            return "removing what says which driver is loaded"
        case Unload(module=module):
            return f"unloading {module}"
        case Unmount(path=path):
            return f"unmounting {path}"
        case RemovePidFile():
            return "removing the pid file of the last driver container"
        case Unbind(devices=devices):
            return f"taking devices from their drivers: {a_few(devices)}"
        case Await(why=why) | End(why=why):
            return why
        case _:
            assert_never(step)


def _relabelling(values: labels.Labels) -> str:
    names = a_few((key.removeprefix(labels.PREFIX) for key, _ in values), 20)
    if any(labels.MARK in value for _, value in values):
        return f"pausing {names}"
    if (labels.DRIVER, labels.PREINSTALLED) in values:
        return f"labelling the node: {labels.DRIVER}={labels.PREINSTALLED}"
    return f"giving back {names}"
