"""Controls: the nodes like a canary that stay as they are while it is judged.

Law of this file: one choice. Who is measured beside the canary is also who its events are held against, as far as there
are others to fill up with. A control is of the same product and pool (judging/matching.py), Ready, and not upgraded.

Tests: tests/core/campaign/test_comparing.py, tests/core/campaign/test_exposing.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.judging import matching
from seatrial.core.judging.matching import CONTROLS_MAX, Peer
from seatrial.core.model.gates.default_suite import gpu_count
from seatrial.core.model.gates.gate import GPU_RESOURCE
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.pods import Pod
from seatrial.core.movers.view import View
from seatrial.core.node.clearing import users
from seatrial.core.node.progress import Progress

PRODUCT: Final = "nvidia.com/gpu.product"


def alike(view: View, canary: str, *, first: Iterable[str] = ()) -> tuple[str, ...]:
    """Who matches a canary and has not been upgraded yet, by name; those of `first` before anybody else."""
    peers = _peers(view)
    wanted = set(first)
    known = matching.controls_for(_peer(view, canary), [each for each in peers if each.node in wanted])
    others = [each for each in peers if each.node not in known]
    rest = matching.controls_for(_peer(view, canary), others, CONTROLS_MAX - len(known))
    return tuple(sorted((*known, *rest)))


def free(view: View, canary: str, gpu_count: int) -> tuple[str, ...]:
    """Who of them can be measured now: it has so many GPUs, and nobody uses them."""
    peers = [each for each in _peers(view) if not why_unfit(view, each.node, gpu_count)]
    return matching.controls_for(_peer(view, canary), peers)


def why_unfit(view: View, name: str, gpu_count: int = 0) -> str:
    """Why a node that is not upgraded cannot be measured now, on so many GPUs; empty where it can."""
    node = view.nodes.get(name)
    if node is None:
        return "it is gone"
    if view.progress(name) is not Progress.AWAY:
        return "it has changed since"
    if not node.facts.is_ready:
        return "it is not Ready"
    if node.facts.is_cordoned:
        return "it is cordoned"
    offered = dict(node.facts.offer.resources).get(GPU_RESOURCE)
    if offered is not None and offered < gpu_count:
        return f"it offers {offered} of {gpu_count} GPUs"
    found = tenants(node.facts)
    return f"its GPUs are in use by {found[0].full_name}" if found else ""


def gpus_of(view: View, name: str) -> int:
    """How many GPUs a node has: a canary as many as it had before anything was done to it."""
    known = next((each.before for each in view.record.watched if each.node == name), None)
    if known is not None and known.resources:
        return gpu_count(known)
    return gpu_count(view.nodes[name].facts.offer) if name in view.nodes else 0


def why_busy(view: View, name: str, gpu_count: int) -> str:
    """Who is at work on a node, where less than so many of its GPUs are free; empty where they are."""
    count, found = gpus_of(view, name), tenants(view.nodes[name].facts)
    # Who holds GPUs in another way than by asking for a number of them may hold all.
    in_use = sum(pod.gpu_count or count for pod in found)
    if not count or not found or count - in_use >= gpu_count:
        return ""  # where nobody knows how many there are, whoever schedules the probe does
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"its GPUs are in use by {found[0].full_name}{more}; only telemetry covers it"


def tenants(facts: NodeFacts) -> tuple[Pod, ...]:
    """Who uses the GPUs of a node, besides probes of ours, and besides operands: they watch or share GPUs, and stay."""
    return tuple(pod for pod in users(facts) if not pod.is_probe and not pod.deploy_label)


def _peers(view: View) -> list[Peer]:
    canaries = set(view.record.canaries)
    return [
        _peer(view, name)
        for name in view.nodes
        if name not in canaries and view.progress(name) is Progress.AWAY and view.nodes[name].facts.is_ready
    ]


def _peer(view: View, name: str) -> Peer:
    facts = view.nodes[name].facts
    return Peer(node=name, product=facts.labels.get(PRODUCT, ""), pool=facts.owner)
