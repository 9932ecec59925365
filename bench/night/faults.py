"""The table of what goes wrong in a night, and what a seed draws from it.

Each row says how it is done, what is true afterwards, and by what the API server shows that it has happened. All chance
comes from the seed. Tests: tests/bench/test_night.py
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed.nodes import consumers, faults, manifests

if TYPE_CHECKING:
    from bench.night.facts import Facts

    from tests.e2e.light_stage import LightStage

NODE_COUNT: Final = 12
FIRST_WAVE, LAST_WAVE = range(1, 8), range(8, 12)
"""The nodes of the two waves by number: node 0 is the canary."""
FAULTS_MIN, FAULTS_MAX = 3, 5
OTHER_DRIVER: Final = "575.57.08"


class Moment(StrEnum):
    """Where the rollout is when it is asked about."""

    ASKED = "the canary has baked, and the waves wait for approval"
    WAVING = "the first wave is under way"
    LAST = "the last wave is over"
    BACK = "a gate has failed, and the rollout goes back"


MOMENTS: Final = tuple(Moment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong. In its sentence, {node} is the node's name."""

    name: str
    truth: str
    moments: tuple[Moment, ...]
    do: Callable[[LightStage, str], object] = lambda *_: None
    seen: Callable[[Facts, str], bool] = lambda *_: True
    has_node: bool = True
    on_canary: bool = False
    """Whether it strikes the canary on the way back."""
    late: tuple[Moment, ...] = ()
    """At which of its moments it happens after the others have shown."""
    makes: Moment | None = None
    """The moment that is not itself without this fault, or another that makes it."""
    part: str = ""
    """Of one part there is one fault in a night."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """A fault with its node."""

    fault: Fault
    node: str = ""

    def __str__(self) -> str:
        return f"{self.fault.name}: {self.fault.truth.format(node=self.node)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What a seed says."""

    seed: int
    moment: Moment
    struck: tuple[Struck, ...]

    def has(self, name: str) -> bool:
        return any(each.fault.name == name for each in self.struck)


def draw(seed: int) -> Night:
    """The night of a seed; four seeds in a row have four moments."""
    chance = random.Random(f"night {seed}")  # noqa: S311  a story, not a secret
    moment = MOMENTS[seed % len(MOMENTS)]
    possible = [each for each in FAULTS if moment in each.moments]
    chance.shuffle(possible)
    chosen = [next(each for each in possible if each.makes is moment)]
    for each in possible:
        if each not in chosen and not (each.part and each.part in {other.part for other in chosen}):
            chosen.append(each)
    chosen = sorted(chosen[: chance.randint(FAULTS_MIN, FAULTS_MAX)], key=FAULTS.index)
    numbers = chance.sample(list(LAST_WAVE if moment is Moment.LAST else FIRST_WAVE), 4 if moment is Moment.LAST else 7)
    struck = []
    for each in chosen:
        number = 0 if moment is Moment.BACK and each.on_canary else numbers.pop() if each.has_node else -1
        struck.append(Struck(fault=each, node=manifests.node_name("gpu", number) if number >= 0 else ""))
    return Night(seed=seed, moment=moment, struck=tuple(struck))


# ── deeds ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _guard(stage: LightStage, node: str) -> None:
    service = consumers.add_pod(stage.fleet, node, name="service", gpus=8)
    stage.plane.apply([manifests.disruption_budget(service.name, service.namespace, min_available=1)])
    where = (f"pdb/{service.name}", "-n", service.namespace)
    stage.plane.kubectl("wait", "--for=jsonpath={.status.currentHealthy}=1", *where, "--timeout=60s")


def _lose_gpu(stage: LightStage, node: str) -> None:
    stage.fleet.lose_gpu(node)
    if stage.fleet.driver_versions()[node] == stage.target:  # its device plugin is not started again by an upgrade
        stage.fleet.show_gpus(node)


def _change_matrix(stage: LightStage, _: str) -> None:
    from tests.e2e.campaigns import MATRIX

    head, canary, rest = stage.shown(MATRIX).partition("canary:")
    stage.commit("Try another driver", **{MATRIX: head + canary + rest.replace(stage.target, OTHER_DRIVER)})


def _kill(stage: LightStage, _: str) -> None:
    stage.controller.kill()


def _kill_and_pause(stage: LightStage, _: str) -> None:
    stage.controller.kill()
    stage.patch(paused=True)


def _is_half_way(facts: Facts, node: str) -> bool:
    seen = facts.node(node)
    return seen.is_cordoned and seen.version == facts.before and seen.is_running


def _waits_for_image(facts: Facts, node: str) -> bool:
    return facts.node(node).pod in ("ErrImagePull", "ImagePullBackOff")


FAULTS: Final = (
    Fault(
        name="waves-unapproved",
        truth="no person has approved the waves: nothing but the canary moves",
        moments=(Moment.ASKED,),
        makes=Moment.ASKED,
        has_node=False,
    ),
    Fault(
        name="gate-failed",
        truth="gate smoke fails on the canary {node}: the rollout goes back",
        moments=(Moment.BACK,),
        makes=Moment.BACK,
        on_canary=True,
    ),
    Fault(
        name="crash",
        truth="the new driver does not load on {node}; its pod crashes again and again",
        moments=(Moment.WAVING, Moment.LAST),
        makes=Moment.LAST,
        do=lambda stage, node: stage.fleet.break_driver(node, "module-load", restart_count=faults.RESTARTS),
        seen=lambda facts, node: facts.node(node).pod == "CrashLoopBackOff",
    ),
    Fault(
        name="image-pull",
        truth="the image of the driver that {node} is to have cannot be pulled there",
        moments=(Moment.WAVING, Moment.BACK),
        on_canary=True,
        makes=Moment.WAVING,
        do=lambda stage, node: stage.fleet.break_driver(node, "image-pull"),
        seen=_waits_for_image,
    ),
    Fault(
        name="budget",
        truth="a disruption budget allows no eviction on {node}: the old driver stays",
        moments=(Moment.WAVING,),
        do=_guard,
        seen=_is_half_way,
    ),
    Fault(
        name="gpu-lost",
        truth="{node} has the new driver and offers one GPU less than before",
        moments=(Moment.WAVING, Moment.LAST),
        late=(Moment.LAST,),
        makes=Moment.WAVING,
        do=_lose_gpu,
        seen=lambda facts, node: 0 < facts.node(node).gpus < facts.node(node).capacity,
    ),
    Fault(
        name="down",
        truth="{node} is NotReady",
        moments=MOMENTS,
        late=(Moment.LAST,),
        makes=Moment.WAVING,
        do=lambda stage, node: stage.fleet.set_node_ready(node, is_ready=False),
        seen=lambda facts, node: not facts.node(node).is_ready,
    ),
    Fault(
        name="cordon",
        truth="a person has cordoned {node}; seatrial has not",
        moments=MOMENTS,
        do=lambda stage, node: stage.fleet.cordon(node),
        seen=lambda facts, node: facts.node(node).is_cordoned,
    ),
    Fault(
        name="skip",
        truth="a person has put the skip label on {node}: it is left out",
        moments=(Moment.ASKED, Moment.WAVING, Moment.LAST),
        do=lambda stage, node: stage.label(node, f"{keys.SKIP_LABEL}=true"),
        seen=lambda facts, node: facts.node(node).is_skipped,
    ),
    Fault(
        name="promotion-unapproved",
        truth="no person has approved the promotion",
        moments=(Moment.LAST,),
        has_node=False,
    ),
    Fault(
        name="matrix-changed",
        truth=f"the matrix now wants {OTHER_DRIVER}; the rollout was made for another driver",
        moments=(Moment.ASKED, Moment.WAVING),
        late=MOMENTS,
        has_node=False,
        do=_change_matrix,
        seen=lambda facts, _: "Try another driver" in facts.commits,
    ),
    Fault(
        name="killed",
        truth="the controller was killed, and its lease has run out",
        moments=MOMENTS,
        late=MOMENTS,
        has_node=False,
        part="controller",
        do=_kill,
        seen=lambda facts, _: not facts.is_led,
    ),
    Fault(
        name="pause-unheard",
        truth="the controller was killed, its lease has run out, and a pause was asked for after that",
        moments=MOMENTS,
        late=MOMENTS,
        has_node=False,
        part="controller",
        do=_kill_and_pause,
        seen=lambda facts, _: not facts.is_led and facts.is_pause_asked,
    ),
)
