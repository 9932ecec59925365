"""Writes the journals of this folder anew: `python -m tests.traces.record`, and `--fields` for the list of fields only.

The journals are those of simulated rollouts, written and chained like any other, then compressed. They are recorded
anew only when a decision is meant to change; the change of this folder then says so to whoever reads the commit.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import sys
import tempfile
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Final

from seatrial import codec
from seatrial.adapters.journal.jsonl import JsonlJournal
from seatrial.core.compat.versions import Version
from seatrial.core.decision.decide import Decision
from seatrial.core.model.intent import Checkpoint, Domain, Intent, Order
from seatrial.core.model.policy import Drain, Eviction, JobWait, Share
from seatrial.core.model.seen.pods import Pod, PodOwner
from seatrial.core.model.selectors import Selector
from seatrial.core.model.target import Target
from seatrial.passes import Pass
from seatrial.run.loop import run_forever
from seatrial.run.memory import Memory
from seatrial.run.recording import Recorder
from seatrial.sim.nodes import HEALTHY, JOB_LABEL, Fate, new_node
from seatrial.sim.world import World
from tests.builders import NEW, OLD, a_gpu_pod, a_pod, an_intent

FOLDER: Final = Path(__file__).parent
FIELDS: Final = FOLDER / "fields.json"
STARTED_AT: Final = 1_750_000_000.0


# ── the rollouts ─────────────────────────────────────────────────────────────────────────────────────────────────────


def a_plain_upgrade() -> World:
    """Eight nodes in two racks, two at a time, one of them cordoned by an admin."""
    nodes = [
        new_node(
            f"gpu-{number}",
            running=OLD,
            wanted=NEW,
            gpu_pod_count=number % 3,
            is_cordoned=number == 5,
            gpu_count=8,
            has_features=True,
            labels={"rack": str(number % 2)},
        )
        for number in range(8)
    ]
    domains = (Domain(label="rack", unavailable_max=Share(amount=2)),)
    intent = an_intent(parallel_max=2, unavailable_max="50%", domains=domains, order=Order.IDLE_FIRST)
    return World(nodes, intent, seed=1, started_at=STARTED_AT)


def failures_and_a_revert() -> World:
    """A driver that does not load on two of six nodes, more than the one failure allowed; then the way back."""
    nodes = [new_node(f"gpu-{number}", running=OLD, wanted=NEW, gpu_pod_count=1) for number in range(6)]
    fates = {name: Fate(driver_fails_on=NEW.version) for name in ("gpu-1", "gpu-3")}
    world = World(nodes, an_intent(parallel_max=2, unavailable_max="100%"), fates=fates, seed=2, started_at=STARTED_AT)

    def revert(world: World) -> None:
        world.intent = replace(world.intent, target=Target.of(OLD.version), failed_max=6)
        world.publish(OLD)

    world.at(STARTED_AT + 7200, revert)
    return world


def drain_and_dra() -> World:
    """Nodes with DRA plugins and DaemonSets that hold GPUs, jobs that finish or save their work, a budget, a drain."""
    job = {"labels": ((JOB_LABEL, "train"), ("kind", "job"))}
    pods: Mapping[str, tuple[Pod, ...]] = {
        "gpu-0": (a_gpu_pod(0, **job), a_pod(0)),
        "gpu-1": (a_gpu_pod(1, offers_checkpoint=True), a_pod(1, keeper=PodOwner.DAEMON_SET)),
        "gpu-2": (a_gpu_pod(2, has_empty_dir=True), a_pod(2)),
        "gpu-3": (a_gpu_pod(3),),
    }
    nodes = [
        new_node(
            name,
            running=OLD,
            wanted=NEW,
            pods=some,
            clients=("dcgm-exporter",),
            gpu_count=4,
            has_features=True,
            has_dra=True,
        )
        for name, some in pods.items()
    ]
    fates = {"gpu-3": Fate(is_eviction_blocked=True), "gpu-1": Fate(is_validator_lazy=True)}
    intent = an_intent(
        parallel_max=2,
        unavailable_max=2,
        jobs=JobWait(selector=Selector.parse("kind=job"), timeout_seconds=3600.0),
        eviction=Eviction(timeout_seconds=120.0),
        drain=Drain(is_enabled=True, rules=Eviction(delete_empty_dir=True, timeout_seconds=600.0)),
        checkpoint=Checkpoint(timeout_seconds=300.0),
    )
    world = World(nodes, intent, fates=fates, seed=3, started_at=STARTED_AT)
    world.at(STARTED_AT + 400, lambda world: world.befall("gpu-3", lambda _: HEALTHY))
    return world


def a_fleet(size: int) -> World:
    """Many nodes that have everything, four at a time; too large to be kept."""
    nodes = [
        new_node(
            f"gpu-{number:05}",
            running=OLD,
            wanted=NEW,
            gpu_pod_count=number % 3,
            gpu_count=8,
            has_features=True,
            has_dra=True,
        )
        for number in range(size)
    ]
    return World(nodes, an_intent(parallel_max=4), seed=4, started_at=STARTED_AT)


WORLDS: Final[Mapping[str, Callable[[], World]]] = {
    "a-plain-upgrade": a_plain_upgrade,
    "failures-and-a-revert": failures_and_a_revert,
    "drain-and-dra": drain_and_dra,
}


def roll(world: World, path: Path, **limits: int) -> None:
    """Let a world run to its end, and record it."""
    with JsonlJournal(path, **limits) as journal:
        asyncio.run(
            run_forever(
                world.ports(journal),
                Memory(world.time),
                on_report=lambda _: None,
                is_over=lambda _: False,
                recorder=Recorder(journal),
            )
        )


def write(folder: Path = FOLDER) -> None:
    """Write every journal."""
    for name, world in WORLDS.items():
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "journal.jsonl"
            roll(world(), path)
            packed = gzip.compress(path.read_bytes(), mtime=0)
        (folder / f"{name}.jsonl.gz").write_bytes(packed)


# ── the fields ───────────────────────────────────────────────────────────────────────────────────────────────────────


def recorded_fields() -> dict[str, dict[str, str]]:
    """Every dataclass that a journal or a saved snapshot holds: its fields, each with its type and its default."""
    found: dict[str, dict[str, str]] = {}
    for kind in (Pass, Intent, Decision):
        _walk(kind, found)
    return dict(sorted(found.items()))


def _walk(annotation: Any, found: dict[str, dict[str, str]]) -> None:
    for inner in typing.get_args(annotation):
        _walk(inner, found)
    if not (isinstance(annotation, type) and is_dataclass(annotation)) or annotation.__name__ in found:
        return
    if issubclass(annotation, Version | Selector | Target):
        return  # kept as the text it is parsed from
    hints = typing.get_type_hints(annotation)
    found[annotation.__name__] = {each.name: _text(hints[each.name], each) for each in fields(annotation)}
    for each in fields(annotation):
        _walk(hints[each.name], found)


def _text(annotation: Any, each: Field[Any]) -> str:
    is_plain = isinstance(annotation, type) and not typing.get_args(annotation)
    text = annotation.__name__ if is_plain else re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(annotation))
    text = re.sub(r"Optional\[(\w+)\]", r"\1 | None", text)  # of an alias, which one release of Python shows so
    default = each.default_factory() if each.default_factory is not MISSING else each.default
    if default is MISSING:
        return text
    return f"{text} = {json.dumps(codec.encode(default) if is_dataclass(default) else default, sort_keys=True)}"


def main(arguments: list[str]) -> None:
    FIELDS.write_text(json.dumps(recorded_fields(), indent=1) + "\n", encoding="utf-8")
    if "--fields" not in arguments:
        write()


if __name__ == "__main__":
    main(sys.argv[1:])
