"""Deep readiness: whether a node's driver is proven to work, so that its users may come back. Unknown is not proven.

A driver pod that is Ready is the beginning of the evidence. The loaded version, the validator, the GPUs the node
offers, the DRA plugin and the kernel each have their own way of being wrong while it is. What cannot be observed at all
on this cluster (no feature discovery, a kubelet that tells of no runtime handlers) is not asked for; what could be
observed before and is missing now, is. What the DRA plugin has to show is in fresh.py.

Tests: tests/core/node/test_readiness.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from seatrial.core.holds import HoldCode, Lack
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen import problems
from seatrial.core.model.seen.nodes import NodeFacts, NodeRecord, NodeSeen
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.node import fresh, operating
from seatrial.core.node.phases import RESUMING


def offered(facts: NodeFacts) -> GpuOffer:
    """What the node offers now, as we want to find it afterwards."""
    return replace(facts.offer, has_dra_plugin=facts.dra is not None, has_slices=bool(facts.published))


def why_doubted(facts: NodeFacts, before: GpuOffer | None) -> Lack | None:
    """What speaks against a node that others have called done; None when nothing does.

    Others have their own proof, so no more is asked than that what was there is still there.
    """
    return next(_doubts(facts, before), None)


def _doubts(facts: NodeFacts, before: GpuOffer | None) -> Iterator[Lack]:
    if not facts.is_ready:
        yield Lack(HoldCode.NODE_NOT_READY, {})
    if facts.driver is None:
        yield Lack(HoldCode.DRIVER_POD_MISSING, {})
    elif not is_running_wanted(facts):
        yield Lack(HoldCode.DRIVER_NOT_READY, {"pod": facts.driver.name, "trouble": facts.driver.trouble})
    if facts.validator is None or facts.validator.is_terminating:
        yield Lack(HoldCode.VALIDATOR_MISSING, {})
    elif not facts.validator.is_ready:
        yield Lack(HoldCode.VALIDATOR_NOT_READY, {"pod": facts.validator.name})
    yield from _offer_lacks(facts, before)


def why_unproven(facts: NodeFacts, record: NodeRecord | None, before: GpuOffer | None = None) -> Lack | None:
    """The first thing that is missing from the proof; None when nothing is.

    The record says what the node offered before we touched it, and which labels come back with our own next write;
    `before` says the former where there is no record.
    """
    before = record.before if record else before
    ours = dict(record.paused) if record and record.phase not in RESUMING else {}
    return next(_lacks(facts, before, [label for label in facts.paused_labels if label not in ours]), None)


def why_unproven_as_it_runs(facts: NodeFacts, record: NodeRecord | None) -> Lack | None:
    """The same about the driver that a node runs, whatever its DaemonSet wants by now."""
    if facts.driver is None:
        return why_unproven(facts, record)
    running = DriverRevision(hash=facts.driver.revision, version=facts.driver.version, digest=facts.driver.digest)
    return why_unproven(replace(facts, wanted=running), record)


def is_running_wanted(facts: NodeFacts) -> bool:
    """Whether the wanted revision runs and says it is Ready: the driver's own word, without proof."""
    driver = facts.driver
    if driver is None or driver.is_orphaned or driver.is_terminating:
        return False
    return facts.is_in_sync and driver.is_ready


def _lacks(facts: NodeFacts, before: GpuOffer | None, paused: list[str]) -> Iterator[Lack]:
    if not facts.is_ready:
        # Its kubelet is silent, so what is seen of its pods is from before.
        yield Lack(HoldCode.NODE_NOT_READY, {})
    if facts.driver is None:
        yield Lack(HoldCode.DRIVER_POD_MISSING, {})
        return
    if facts.driver.is_orphaned:
        yield Lack(HoldCode.DRIVER_ORPHANED, {"pod": facts.driver.name})
    if facts.wanted is None:
        yield Lack(HoldCode.REVISION_UNKNOWN, {"pod": facts.driver.name})
    loaded_at = facts.driver.loaded_at
    if not is_running_wanted(facts) or loaded_at is None:
        yield Lack(HoldCode.DRIVER_NOT_READY, {"pod": facts.driver.name, "trouble": facts.driver.trouble})
        return
    yield from _version_lacks(facts, facts.driver.version, loaded_at)
    if paused:
        yield Lack(HoldCode.OPERANDS_PAUSED, {"labels": ", ".join(paused)})
    yield from filter(None, map(operating.why_down, facts.operands))
    yield from _validator_lacks(facts, max(loaded_at, operating.proven_since(facts) or loaded_at))
    yield from _offer_lacks(facts, before)
    yield from fresh.why_not_fresh(facts, before, facts.driver.version, loaded_at)
    # Between its start and its being Ready a driver can do the worst; where nobody says when it started, since it was.
    yield from _problem_lacks(facts, loaded_at if facts.driver.started_at is None else facts.driver.started_at)


def _version_lacks(facts: NodeFacts, wanted: str, loaded_at: ApiInstant) -> Iterator[Lack]:
    """The version that is loaded, where feature discovery tells: its labels outlive the driver they tell of."""
    loaded = facts.loaded
    if loaded is None or not wanted or fresh.is_same_version(loaded.version, wanted):
        return
    is_recent = loaded.seen_at is not None and loaded.seen_at >= loaded_at
    code = HoldCode.LOADED_VERSION_WRONG if is_recent else HoldCode.LOADED_VERSION_UNKNOWN
    yield Lack(code, {"loaded": loaded.version, "wanted": wanted})


def _validator_lacks(facts: NodeFacts, loaded_at: ApiInstant) -> Iterator[Lack]:
    """The validator's checks run when its pod starts: one that was Ready before the driver proves nothing about it."""
    validator = facts.validator
    if validator is None or validator.is_terminating:
        yield Lack(HoldCode.VALIDATOR_MISSING, {})
    elif not validator.is_ready:
        yield Lack(HoldCode.VALIDATOR_NOT_READY, {"pod": validator.name})
    elif validator.ready_since is None or validator.ready_since < loaded_at:
        yield Lack(HoldCode.VALIDATOR_STALE, {"pod": validator.name})


def _problem_lacks(facts: NodeFacts, started_at: ApiInstant) -> Iterator[Lack]:
    """What a detector reports since this driver was started; what was there before is not its doing."""
    if facts.is_loss_accepted:
        return
    for found in problems.since_driver(facts.problems, started_at):
        yield Lack(HoldCode.NODE_PROBLEM, {"type": found.type, "said": found.message or found.reason or "no reason"})


def lacks_since(node: NodeSeen) -> Iterator[Lack]:
    """What a node offers less of than before its upgrade, as far as that was written down."""
    before = node.record.before if node.record is not None else None
    return _offer_lacks(node.facts, before) if before is not None else iter(())


def waived_of(node: NodeSeen) -> str:
    """What a node offers less of than before a loss that a person accepted; empty where it is back."""
    waived = node.record.waived if node.record is not None else None
    return next((str(lack.params["less"]) for lack in _offer_lacks(node.facts, waived) if "less" in lack.params), "")


def _offer_lacks(facts: NodeFacts, before: GpuOffer | None) -> Iterator[Lack]:
    if facts.mig_state in ("pending", "rebooting", "failed"):
        yield Lack(HoldCode.MIG_NOT_SETTLED, {"state": facts.mig_state, "config": facts.offer.mig_config})
    if before is None or facts.is_loss_accepted:
        return
    now = dict(facts.offer.resources)
    less = [f"{name} {now.get(name, 0)} of {count}" for name, count in before.resources if now.get(name, 0) < count]
    if less:
        yield Lack(HoldCode.OFFER_REDUCED, {"less": ", ".join(less)})
    if before.mig_config and facts.offer.mig_config != before.mig_config:
        yield Lack(
            HoldCode.OFFER_REDUCED, {"less": f"MIG layout {facts.offer.mig_config or 'none'}, was {before.mig_config}"}
        )
    gone = [name for name in before.runtime_handlers if name not in facts.offer.runtime_handlers]
    if gone:
        yield Lack(HoldCode.RUNTIME_HANDLER_MISSING, {"handlers": ", ".join(gone)})
