"""What a schedule draws from its seed: the fleet and what is in store for it, limits, and ways.

Law of this file: all chance comes in by an argument. Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from seatrial.core.actions.on_nodes import (
    AskCheckpoint,
    Cordon,
    EvictPods,
    PauseClients,
    ReleaseMaintenance,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Checkpoint, Domain, Intent, Order, Requestor, Retries
from seatrial.core.model.policy import Drain, Eviction, JobWait, Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.pods import DriverRevision, Pod, PodOwner
from seatrial.core.model.selectors import Selector
from seatrial.core.model.target import Target
from seatrial.core.movers import driver_manager
from seatrial.sim.nodes import HEALTHY, JOB_LABEL, Fate, new_node
from seatrial_lab.schedules.behaviours import Kind, named

NODE_COUNT: Final = 30
BADNESSES: Final = (1.0, 1.0, 0.4, 0.1)
"""How bad a week is for nodes and people; the API server's own is always bad."""
OLD: Final = DriverRevision(hash="old", version="570.124.06", digest="same")
NEW: Final = DriverRevision(hash="new", version="580.105.08", digest="same")
THIRD: Final = DriverRevision(hash="third", version="590.44.01", digest="same")
"""A member whose running driver has the same digest needs a restart and no more."""
RACK, CLIQUE = "rack", "nvidia.com/gpu.clique"
_USER: Final = Pod(namespace="jobs", name="user", uid="user", gpu=GpuUse.RESOURCE)
PODS: Final[Mapping[str, Pod]] = {
    "plain": _USER,
    "bare": replace(_USER, keeper=PodOwner.NOBODY),
    "scratch": replace(_USER, has_empty_dir=True),
    "job": replace(_USER, labels=((JOB_LABEL, "train"),)),
    "saving": replace(_USER, offers_checkpoint=True),
    "claiming": replace(_USER, gpu=GpuUse.CLAIM, holds_claim=True),
    "agent": replace(_USER, keeper=PodOwner.DAEMON_SET),
    "web": replace(_USER, gpu=None),
}
_POD_WEIGHTS: Final = (12, 1, 1, 4, 3, 2, 1, 4)


def draw_intent(chance: random.Random) -> Intent:
    """Limits and ways."""
    requestor = Requestor(id="seatrial", timeout_seconds=1200) if chance.random() < 0.15 else None
    return Intent(
        rollout="r",
        target=Target.of(NEW.version),
        policy=_draw_policy(chance, chance.choice([3, 6, 10, 15, 0, 0]), ["10%", "25%", "34%", "50%", 8, 15]),
        pools=chance.choice([{}, {}, {"a100": _draw_policy(chance, 3, ["34%"]), "h100": _draw_policy(chance, 5, [5])}]),
        failed_max=chance.choice([0, 1, 3, NODE_COUNT, NODE_COUNT, NODE_COUNT]),
        domains=chance.choice(
            [
                (),
                (),
                (Domain(label=RACK, unavailable_max=Share(amount=2)),),
                (Domain(label=CLIQUE, is_unit=True),),
                (Domain(label=RACK, unavailable_max=Share.parse("50%")), Domain(label=CLIQUE, is_unit=True)),
            ]
        ),
        order=chance.choice(list(Order)),
        retries=Retries(count_max=chance.choice([0, 0, 1, 2])),
        checkpoint=Checkpoint(webhook=chance.choice(["", "", "https://saver"])),
        requestor=requestor,
    )


def _draw_policy(chance: random.Random, parallel_max: int, unavailable: list[int | str]) -> Policy:
    jobs = JobWait(selector=Selector.parse(JOB_LABEL), timeout_seconds=chance.choice([600, 3600]))
    return Policy(
        limits=Limits(parallel_max=parallel_max, unavailable_max=Share.parse(chance.choice(unavailable))),
        jobs=chance.choice([JobWait(), jobs]),
        eviction=Eviction(force=chance.choice([False, True]), delete_empty_dir=chance.choice([False, True])),
        drain=chance.choice([Drain(), Drain(is_enabled=True, rules=Eviction(force=True, delete_empty_dir=True))]),
    )


def without_overlap(found: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Windows of which none begins before the one before it is over."""
    kept: list[tuple[float, float]] = []
    for opens, closes in found:
        if not kept or opens > kept[-1][1]:
            kept.append((opens, closes))
    return tuple(kept)


def draw_manager(seed: int) -> Fate:
    """What all driver managers of a fleet are told: there are none, they are as shipped, or both switches are off.

    In every second fleet it is they who fail where a driver fails.
    By a chance of its own, so that the schedules that were played before there were any stay as they are.
    """
    chance = random.Random(f"driver manager {seed}")  # noqa: S311  a simulation, not a secret
    off = tuple((name, driver_manager.OFF) for name in driver_manager.SWITCHES)
    env = chance.choice([None, (), (), off])
    is_work_waiting = env is not None and chance.random() < 0.5
    is_in_use = env is not None and chance.random() < 0.5
    return Fate(manager_env=env, is_work_waiting=is_work_waiting, is_driver_in_use=is_in_use)


def draw_fleet(chance: random.Random, node_count: int, badness: float) -> tuple[list[NodeSeen], dict[str, list[str]]]:
    """Nodes, and the names of what is in store for each."""
    has_dra, has_features, gpu_count = chance.random() < 0.3, chance.random() < 0.5, chance.choice([0, 8])
    clients = chance.choice([(), ("dcgm",), ("dcgm", "device-plugin")])
    digest = chance.choice(["", "", "", "", "same"])
    nodes, fates = [], {}
    for number in range(node_count):
        name = f"n{number:02}"
        kinds = chance.choices(list(PODS), _POD_WEIGHTS, k=chance.choice([0, 1, 1, 2]))
        node = new_node(
            name,
            running=replace(OLD, digest=digest),
            wanted=NEW,
            is_cordoned=chance.random() < 0.02,
            pods=[replace(PODS[kind], name=f"{kind}-{n}", uid=f"{kind}-{name}-{n}") for n, kind in enumerate(kinds)],
            clients=clients,
            gpu_count=gpu_count,
            has_features=has_features,
            has_dra=has_dra or any(PODS[kind].holds_claim for kind in kinds),
            labels={RACK: f"r{number % 5}", CLIQUE: f"c{number // 2}"},
        )
        nodes.append(replace(node, facts=replace(node.facts, owner=chance.choice(["", "a100", "h100"]))))
        drawn = [what for what, behaviour in named(Kind.FATE).items() if chance.random() < behaviour.chance * badness]
        if drawn:
            fates[name] = drawn
    return nodes, fates


KINDS: Final = (
    WriteNodeRecord,
    Cordon,
    Uncordon,
    PauseClients,
    AskCheckpoint,
    EvictPods,
    RestartPod,
    RequestMaintenance,
    ReleaseMaintenance,
    WriteRolloutRecord,
)


def merged(fates: Iterator[Fate]) -> Fate:
    """All that is in store for one node, in one."""
    merged = HEALTHY
    for fate in fates:
        changes = {name: getattr(fate, name) for name in Fate.__slots__ if getattr(fate, name)}
        merged = replace(merged, **changes)
    return merged


def instead(after: Fate, _before: Fate) -> Fate:
    """What comes takes the place of what was."""
    return after


def lowered(intent: Intent) -> Intent:
    """The same wish, with half of everything."""
    limits = intent.limits
    lower = replace(
        limits,
        parallel_max=max(limits.parallel_max // 2, 1),
        unavailable_max=replace(limits.unavailable_max, amount=max(limits.unavailable_max.amount // 2, 1)),
    )
    return replace(intent, policy=replace(intent.policy, limits=lower))
