"""Ask gates of one node by hand, and keep what came of each.

Law of this file: gates are asked one after the other, since each may want every GPU; what cannot be asked is told and
never counts as passed. Judging is core's. Tests: tests/cli/test_gates.py, tests/e2e/test_gates_by_hand.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from seatrial.app.errors import CalledWrongly
from seatrial.core.base.values import dataclass
from seatrial.core.judging import limits
from seatrial.core.model.gates import suite
from seatrial.core.model.gates.gate import GANG_MIN, Gate, GateVerdict, Measurement, worst
from seatrial.core.model.gates.suite import LeftOut
from seatrial.core.model.instants import Instant

if TYPE_CHECKING:
    from seatrial.adapters.kube.probing import Offer, Prober
    from seatrial.app.connecting import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class GatesAsked:
    """What somebody wants to know of a node."""

    node: str
    image: str = ""
    """Where the payloads are; needed for gates that come with seatrial."""
    names: tuple[str, ...] = ()
    """Which of them; none for the suite."""
    own: tuple[Gate, ...] = ()
    """Gates of somebody's own, as a rollout has them."""
    home: str = "default"
    level: str = "baseline"
    gpus: int | None = None
    """How many GPUs a gate is given; None for all that are free."""
    partners: tuple[str, ...] = ()
    """Other nodes, for a gate that runs on several at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRun:
    """One gate that was asked, or that could not be."""

    gate: Gate
    measured: Measurement
    begun_at: Instant
    seconds: float

    @property
    def verdict(self) -> GateVerdict:
        return self.measured.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """What a node has shown."""

    node: str
    gpu_count: int
    free_count: int
    runs: tuple[GateRun, ...]
    left_out: tuple[LeftOut, ...] = ()
    by_claim: bool = False
    """Whether its GPUs were asked for by a ResourceClaim."""

    @property
    def verdict(self) -> GateVerdict:
        return worst(each.verdict for each in self.runs)


OnGate = Callable[[Gate, int, int, str], None]
"""Hears which gate is asked, the how manieth of how many it is, and how it stands."""


async def ask_node(cluster: Cluster, asked: GatesAsked, on_gate: OnGate = lambda *_: None) -> NodeReport:
    """Ask a node."""
    from seatrial.adapters.kube.probing import Prober
    from seatrial.adapters.kube.reading.gates.probes import Level

    refuse(asked)
    async with cluster.client() as client:
        prober = Prober(client, home=asked.home, level=Level(asked.level))
        offer = await prober.offer(asked.node)
        gates, left_out = chosen(asked, offer)
        runs: list[GateRun] = []
        for number, gate in enumerate(gates, 1):
            partners = [await prober.offer(name) for name in asked.partners] if gate.is_gang else []
            gang, missing = gang_of(gate, offer, partners)
            left_out += missing
            if gang or not gate.is_gang:
                runs.append(await _ask(prober, gate, offer, partial(on_gate, gate, number, len(gates)), gang))
            offer = await prober.offer(asked.node)
    return NodeReport(
        node=asked.node,
        gpu_count=offer.gpu_count,
        free_count=offer.free_count,
        runs=tuple(runs),
        left_out=left_out,
        by_claim=offer.by_claim,
    )


def gang_of(gate: Gate, offer: Offer, partners: Iterable[Offer]) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """Who is asked together, the node itself first; and who is left out of it, or that all of it is."""
    if not gate.is_gang:
        return (), ()
    reasons = {each.node: why_apart(gate, offer, each) for each in partners if each.node != offer.node}
    found = (offer.node, *(node for node, why in reasons.items() if not why))
    left_out = tuple(LeftOut(gate=f"{gate.name} on {node}", node=node, why=why) for node, why in reasons.items() if why)
    if len(found) < GANG_MIN:
        others = "none of its partners has room" if reasons else "name others with --with NODE"
        why = f"a sum over nodes needs {GANG_MIN}, and {offer.node} is alone: {others}"
        return (), (*left_out, LeftOut(gate=gate.name, node=offer.node, why=why))
    return found, left_out


def why_apart(gate: Gate, offer: Offer, partner: Offer) -> str:
    """Why a partner cannot take part; empty where it can. Nobody is evicted for it."""
    if partner.by_claim is not offer.by_claim:
        return f"its GPUs are allocated differently from those of {offer.node}"
    return partner.why_not(gate)


def refuse(asked: GatesAsked) -> None:
    """Say what cannot be meant, before anybody connects."""
    unknown = [name for name in asked.names if name not in suite.BUILT_IN]
    if unknown:
        raise CalledWrongly(f"There is no gate {unknown[0]}; there are {', '.join(suite.BUILT_IN)}.")
    if not asked.image and (asked.names or not asked.own):
        raise CalledWrongly(
            "The gates that come with seatrial run from an image with seatrial-probe in it: name yours with --image. "
            "`make image-probes` builds one."
        )
    if asked.gpus is not None and asked.gpus < 1:
        raise CalledWrongly(
            "A gate that looks at GPUs needs at least one: --gpus 1, or leave it out for all that are free."
        )


def chosen(asked: GatesAsked, offer: Offer) -> tuple[tuple[Gate, ...], tuple[LeftOut, ...]]:
    """Which gates are asked, and which of the suite are not."""
    names: tuple[str, ...] = asked.names
    left_out: tuple[LeftOut, ...] = ()
    if not asked.names and not asked.own:
        has_partners = any(name != offer.node for name in asked.partners)
        names, left_out = suite.suite_of(
            offer.node, offer.gpu_count, has_links=offer.has_links, has_partners=has_partners
        )
    # Without a free one it still asks for one: that it cannot have it is the answer.
    count = asked.gpus if asked.gpus is not None else max(1, offer.free_count)
    return (
        *(suite.built_in(name, asked.image, count, is_expected=offer.has_links) for name in names),
        *asked.own,
    ), left_out


async def _ask(
    prober: Prober, gate: Gate, offer: Offer, on_state: Callable[[str], None], gang: tuple[str, ...] = ()
) -> GateRun:
    begun_at, began = time.time(), time.monotonic()
    on_state("")
    why_not = offer.why_not(gate) if gate.is_job else f"it is asked in a rollout only: {gate.means} answers it"
    if why_not:
        found = Measurement(
            gate=gate.name, node=offer.node, round=1, attempt=1, verdict=GateVerdict.UNKNOWN, detail=why_not
        )
    else:
        found = await prober.ask(gate, offer, on_state, gang)
    return GateRun(
        gate=gate,
        measured=limits.held_to(gate, found),
        begun_at=begun_at,
        seconds=round(time.monotonic() - began, 1),
    )


def gates_in(path: str) -> tuple[Gate, ...]:
    """The gates of a file, as a rollout would have them."""
    import msgspec

    from seatrial.adapters.kube.shapes import models
    from seatrial.app.rollout.starting import read_gates
    from seatrial.app.texts import FileUnusable

    said: list[dict[str, Any]] = read_gates(path)
    try:
        read = msgspec.convert(said, tuple[models.RolloutGate, ...])
    except msgspec.ValidationError as err:
        raise FileUnusable(
            f"{path}: {err}; each gate has a name and, as a rule, an image; see docs/reference/gpurollout.md."
        ) from err
    return tuple(msgspec.convert(each, Gate, from_attributes=True) for each in read)
