"""What the simulated world and its API server do, as named data: how likely, how long it takes or lasts, what it is.

    reaction   what a healthy world does by itself; always, after its delay
    fate       what is in store for a node of a random fleet, by its chance per node
    verdict    what is in store for a gate of a campaign, by its chance per gate
    happening  what befalls nodes and people on the way, by its chance per node and schedule
    operand    what is in store for the operands of a node, or befalls them, where a rollout moves them
    fault      what the API server does to one act of ours, by its chance per act
    eclipse    what happens to the controller and its view, by its chance per schedule

Law of this file: a table and its printing, no behaviour. Fates, verdicts and reactions are played by world.py,
happenings by schedules.py, faults and eclipses by faults.py; each looks its name up here, so nothing is played that is
not listed.

Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from seatrial.sim.merging import MERGED
from seatrial.sim.neighbours import REMOVED
from seatrial.sim.nodes import Fate
from seatrial.sim.outside import FOLLOWED, PROBED, SYNCED, GateFate
from seatrial.sim.reactions import REACTIONS
from seatrial.sim.releases import INSTALLED
from seatrial.sim.upgrade_controller import STEERED
from seatrial.sim.world import DELAYS, OUTSIDE_DELAYS, Delay


class Kind(StrEnum):
    """Who is behind a behaviour."""

    REACTION = "reaction"
    FATE = "fate"
    VERDICT = "verdict"
    HAPPENING = "happening"
    OPERAND = "operand"
    FAULT = "fault"
    ECLIPSE = "eclipse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """One thing that can happen."""

    kind: Kind
    does: str
    chance: float
    delay: Delay
    """How long it takes; of a fate, a happening or an eclipse: how long it lasts, 0 being for good."""

    def seconds(self, chance: random.Random) -> float:
        """A duration, drawn."""
        return self.delay.seconds + chance.random() * self.delay.jitter_seconds


def _row(kind: Kind, does: str, chance: float, seconds: float = 0.0, jitter_seconds: float = 0.0) -> Behaviour:
    delay = Delay(seconds=seconds, jitter_seconds=jitter_seconds)
    return Behaviour(kind=kind, does=does, chance=chance, delay=delay)


_fate = partial(_row, Kind.FATE)
_verdict = partial(_row, Kind.VERDICT)
_happening = partial(_row, Kind.HAPPENING)
_operand = partial(_row, Kind.OPERAND)
_fault = partial(_row, Kind.FAULT)
_eclipse = partial(_row, Kind.ECLIPSE)

BEHAVIOURS: Final[Mapping[str, Behaviour]] = {
    **{
        name: Behaviour(
            kind=Kind.REACTION, does=(reaction.__doc__ or "").partition("\n")[0], chance=1.0, delay=DELAYS[name]
        )
        for name, reaction in REACTIONS.items()
    },
    **{
        name: Behaviour(kind=Kind.REACTION, does=does, chance=1.0, delay=OUTSIDE_DELAYS[name])
        for name, does in (
            (MERGED, "A person merges what was proposed on a protected branch."),
            (SYNCED, "The deployer brings what the repository says into the cluster."),
            (FOLLOWED, "The operator gives the DaemonSets of a resource the version that it carries."),
            (STEERED, "NVIDIA's controller marks a node, starts it, or ends its work."),
            (PROBED, "A gate's Job comes to its end, and says what it found."),
            (INSTALLED, "OLM installs a release whose plan somebody has approved."),
            (REMOVED, "An autoscaler removes a node that is cordoned, used by nobody and not spared."),
        )
    },
    # fates
    "module does not load": _fate("The new driver's module does not load, and its log says why.", 0.03),
    "module loads in the end": _fate("The same, until somebody mends the node.", 0.03, 900, 3000),
    "image cannot be pulled": _fate("The new driver's image is not there for this node.", 0.02),
    "image arrives late": _fate("The same, until it is pushed.", 0.03, 300, 2400),
    "CUDA does not work": _fate("The new driver is Ready, and the validator never passes.", 0.03),
    "pod stuck terminating": _fate("A pod that is asked to leave never does.", 0.02),
    "pod leaves late": _fate("The same, until somebody helps it.", 0.03, 200, 900),
    "budget allows nothing": _fate("A disruption budget turns every eviction down.", 0.02),
    "budget frees later": _fate("The same, until its other pods are back.", 0.05, 60, 900),
    "validator stays as it was": _fate("Nobody sends the validator through its checks again.", 0.08),
    "GPU is lost": _fate("One GPU does not survive the reload.", 0.02),
    "DRA plugin is deaf": _fate("A new DRA plugin goes on telling of the old driver.", 0.02),
    "job never ends": _fate("Jobs do not finish by themselves.", 0.05),
    "work is never saved": _fate("Jobs that offer to save their work never answer.", 0.05),
    "load is guarded": _fate("The driver waits for somebody to say that it is safe to load.", 0.05),
    "maintenance is stuck": _fate("The maintenance operator never gets the node empty.", 0.03),
    # verdicts
    "gate fails at once": _verdict("The new driver does not do what the gate asks for.", 0.1),
    "throughput is lost": _verdict("The new driver is slower; it shows in the bake, when noise has averaged out.", 0.1),
    "gate cannot be measured": _verdict("Nobody schedules the gate's pod, round after round.", 0.05),
    "gate is measured late": _verdict("The first tries of every round come to nothing.", 0.1),
    # happenings
    "node lost for a while": _happening("The kubelet falls silent, and comes back as it was.", 0.04, 30, 1500),
    "node lost for good": _happening("The kubelet falls silent for ever.", 0.01),
    "node reboots": _happening("NotReady, then every container starts anew.", 0.04, 120, 300),
    "admin cordons": _happening("An admin cordons the node, and keeps it so.", 0.03),
    "admin uncordons": _happening("An admin takes a cordon away, be it ours.", 0.03),
    "admin marks skip": _happening("An admin marks the node skip, and takes it back.", 0.03, 60, 3000),
    "admin marks skip for good": _happening("An admin marks the node skip.", 0.01),
    "admin asks for a retry": _happening("An admin sets the label of an ended node to upgrade-required.", 0.03),
    "admin asks for an upgrade": _happening("Somebody asks for an upgrade by annotation.", 0.02),
    "admin accepts a loss": _happening("Somebody accepts that the node offers less.", 0.02),
    "label removed": _happening("Somebody removes our label; the record stays.", 0.02),
    "version reverted": _happening("The old version is published again, and meant.", 0.004),
    "version reverted by mistake": _happening("The same, and the new one is published again.", 0.004, 20, 2000),
    "version published without us": _happening("The DaemonSets lose the target for a while.", 0.003, 20, 900),
    "third version published": _happening(
        "Somebody publishes what the rollout never wanted, for a while.", 0.003, 20, 900
    ),
    "limits lowered": _happening("Half as many nodes at once.", 0.005),
    "paused": _happening("The rollout is paused, and goes on.", 0.008, 20, 3000),
    "paused for good": _happening("The rollout is paused.", 0.001),
    # operands
    "operand does not start": _operand("The new device plugin never gets ready.", 0.03),
    "operand starts in the end": _operand("The same, until somebody mends the node.", 0.05, 300, 2400),
    "operand deleted by hand": _operand("Somebody deletes the pod of an operand, which comes back.", 0.08),
    # faults
    "conflict": _fault("409: somebody else wrote, or so it says; nothing is done.", 0.03),
    "throttled": _fault("429: nothing is done.", 0.02),
    "server error": _fault("500: nothing is done.", 0.02),
    "timeout, not done": _fault("No answer, and nothing is done.", 0.01, 10, 20),
    "timeout, done": _fault("No answer, and it is done.", 0.02, 10, 20),
    "timeout, done late": _fault("No answer, and it is done after we gave up.", 0.01, 5, 50),
    "slow": _fault("Done, and answered after a while.", 0.05, 1, 20),
    # eclipses
    "forbidden": _eclipse("RBAC refuses one kind of act.", 0.15, 60, 600),
    "view lags": _eclipse("Objects are seen late, each by itself, one stream before the other.", 0.5, 1, 60),
    "stream silent": _eclipse("Nothing is heard of one kind of object, and that can be told.", 0.5, 20, 600),
    "watch expired": _eclipse("410: a kind of object is listed anew, page by page.", 0.5, 1, 20),
    "leader lost": _eclipse("The controller dies, and another begins with a list that may be old.", 0.9, 1, 60),
    "two leaders": _eclipse("The one before does not know yet, and goes on with what it saw.", 0.3, 5, 55),
    "clock ahead": _eclipse("Our clock jumps forward, for good.", 0.2, 1, 4000),
    "clock behind": _eclipse("Our clock steps back, for good.", 0.2, 1, 10),
}
"""Chances are high on purpose: a schedule is a bad week in an afternoon."""


BAD_OPERAND: Final = "device-plugin v0.18.1"
"""The operand, and the version of it, that fails where one is to fail."""


def fate_of(name: str, new_version: str) -> Fate:
    """What a fate by its name means for a node on its way to a version."""
    match name:
        case "module does not load" | "module loads in the end":
            return Fate(driver_fails_on=new_version)
        case "image cannot be pulled" | "image arrives late":
            return Fate(image_missing_for=new_version)
        case "CUDA does not work":
            return Fate(cuda_fails_on=new_version)
        case "pod stuck terminating" | "pod leaves late":
            return Fate(is_pod_stuck=True)
        case "budget allows nothing" | "budget frees later":
            return Fate(is_eviction_blocked=True)
        case "validator stays as it was":
            return Fate(is_validator_lazy=True)
        case "GPU is lost":
            return Fate(is_gpu_lost=True)
        case "DRA plugin is deaf":
            return Fate(is_dra_deaf=True)
        case "job never ends":
            return Fate(is_job_endless=True)
        case "work is never saved":
            return Fate(is_work_unsaved=True)
        case "load is guarded":
            return Fate(is_load_guarded=True)
        case "maintenance is stuck":
            return Fate(is_maintenance_stuck=True)
        case "operand does not start" | "operand starts in the end":
            return Fate(operand_fails_on=BAD_OPERAND)
        case _:
            raise KeyError(name)


def gate_fate_of(name: str, new_version: str) -> GateFate:
    """What a verdict by its name means for a gate of a campaign towards a version."""
    match name:
        case "gate fails at once":
            return GateFate(fails_on=new_version)
        case "throughput is lost":
            return GateFate(fails_on=new_version, from_round=5, detail="3 % less throughput than the nodes beside it")
        case "gate cannot be measured":
            return GateFate(unknown_rounds=frozenset(range(2, 5)))
        case "gate is measured late":
            return GateFate(unknown_tries=2)
        case _:
            raise KeyError(name)


def named(kind: Kind) -> dict[str, Behaviour]:
    """All of one kind."""
    return {name: behaviour for name, behaviour in BEHAVIOURS.items() if behaviour.kind is kind}


def table(seed: int) -> str:
    """The table for people, with the seed that draws from it."""
    lines = [f"seed {seed}"]
    for name, behaviour in BEHAVIOURS.items():
        delay = behaviour.delay
        span = f"{delay.seconds:g} s" + (f" + 0…{delay.jitter_seconds:g} s" if delay.jitter_seconds else "")
        length = span if delay.seconds or delay.jitter_seconds else "-"
        lines.append(f"{behaviour.kind:<10} {name:<30} {behaviour.chance:>6.1%}  {length:<18} {behaviour.does}")
    return "\n".join(lines)
