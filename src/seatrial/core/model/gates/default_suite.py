"""The suite of a campaign that says no word about gates: what comes with seatrial, from the controller's image.

    before a canary is touched    what it can show is looked up, and written down with what is left out and why
    from then on                  the campaign has these gates, as if somebody had named them

Law of this file: what was there before is asked for afterwards. What a node has shown is therefore read once, from the
node as it was; a link that is gone after the upgrade is a failure, and no reason to leave the gate out.

Tests: tests/core/model/test_default_suite.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from seatrial.core.model.campaign import Campaign, CampaignRecord
from seatrial.core.model.gates.gate import GPU_RESOURCE
from seatrial.core.model.gates.suite import BUILT_IN, WHOLE, LeftOut, Needs, Suite, has_links, suite_of
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodeFacts

SLICE_PREFIX: Final = "nvidia.com/mig-"


def gpu_count(offer: GpuOffer) -> int:
    """How many whole GPUs a node offers."""
    return dict(offer.resources).get(GPU_RESOURCE, 0)


def chosen(image: str, canaries: Iterable[NodeFacts], before: Suite | None = None) -> Suite | None:
    """The suite for these canaries, none where there is no image; who was looked at before is not looked at again."""
    if before is None and not image:
        return None
    known = before or Suite(image=image)
    found = {(each.node, each.gate): each for each in known.left_out}
    for facts in canaries:
        found |= {(each.node, each.gate): each for each in _left_out(facts)}
    return replace(known, left_out=tuple(found[key] for key in sorted(found)))


def _left_out(facts: NodeFacts) -> Iterable[LeftOut]:
    resources = [name for name, _ in facts.offer.resources]
    count = gpu_count(facts.offer)
    _, left_out = suite_of(facts.name, count, has_links=has_links(facts.labels, resources))
    yield from left_out
    if not count and any(name.startswith(SLICE_PREFIX) for name in resources):
        # A slice is no GPU to the payloads, and asking for one that is not there would wait for ever.
        why = f"{facts.name} offers MIG slices, and no whole GPU"
        names = (name for name in WHOLE if BUILT_IN[name].gpus is Needs.ALL)
        yield from (LeftOut(gate=name, node=facts.name, why=why) for name in names)


def with_suite(campaign: Campaign, record: CampaignRecord | None) -> Campaign:
    """A campaign with the gates that it is asked: its own, or those that were chosen for it."""
    if campaign.suite_image is None or record is None or record.suite is None:
        return campaign
    canaries = set(record.canaries)
    asked = (gate for gate in record.suite.gates if not set(gate.not_on) >= canaries)
    # A sum over nodes is one of all canaries, or none.
    asked = (gate for gate in asked if not gate.is_gang or (len(canaries) > 1 and not set(gate.not_on) & canaries))
    return replace(campaign, gates=tuple(asked))
