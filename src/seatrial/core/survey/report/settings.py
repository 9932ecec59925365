"""The settings that a rollout used, for people who read of it later: what each is about, and what was set.

Law of this file: what counts is told, whoever said it: the rollout, the operator's policy, or a default.
Tests: tests/core/survey/test_report_settings.py
"""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.core.model.campaign import Campaign, Growth, Waves
from seatrial.core.model.intent import Intent, Order
from seatrial.core.model.policy import Limits
from seatrial.core.text.names import a_few, number_of
from seatrial.core.text.spans import span
from seatrial.core.words.accounts import DRIVER


def settings(intent: Intent) -> tuple[tuple[str, str], ...]:
    """What was set, row by row."""
    return tuple(_rows(intent))


def _rows(intent: Intent) -> Iterator[tuple[str, str]]:
    yield "limits", f"{_limits(intent.limits)}, {number_of(intent.failed_max, 'failure')} tolerated"
    for name, policy in sorted(intent.pools.items()):
        yield f"limits of {name}", _limits(policy.limits)
    for domain in intent.domains:
        share = f"{domain.unavailable_max} unavailable in each" if domain.unavailable_max is not None else "no limit"
        yield domain.label, f"{share}{', upgraded as one unit' if domain.is_unit else ''}"
    if intent.order is not Order.NAME:
        yield "order", intent.order.value
    if intent.retries.count_max:
        yield "retries", f"{intent.retries.count_max}, the first after {span(intent.retries.pause_seconds)}"
    if intent.attrition is not None:
        yield "attrition", f"nodes are taken when their jobs end, within {span(intent.attrition.deadline_seconds)}"
    if intent.selector:
        yield "nodes", ",".join(f"{key}={value}" for key, value in sorted(intent.selector.items()))
    if intent.campaign is not None:
        yield from _of_campaign(intent.campaign, is_driver=intent.goal.startswith(DRIVER))


def _limits(limits: Limits) -> str:
    idle = f", {limits.idle_gpus_max} of the GPUs idle" if limits.idle_gpus_max is not None else ""
    return f"{limits.parallel_max or 'any number'} at once, {limits.unavailable_max} unavailable{idle}"


def _of_campaign(campaign: Campaign, *, is_driver: bool) -> Iterator[tuple[str, str]]:
    canary = campaign.canary
    chosen = a_few(canary.nodes) or number_of(canary.count, "node")
    labels = ",".join(f"{key}={value}" for key, value in sorted(canary.selector.items()))
    yield "canary", f"{chosen}{f' among {labels}' if labels else ''}"
    yield "gates", a_few((gate.name for gate in campaign.gates), 12, none="readiness alone")
    yield "bake", _bake(campaign)
    yield "waves", _waves(campaign.waves)
    if campaign.openings is not None:
        yield "windows", "work begins in its windows only"
    yield "a person says yes to", ", ".join(campaign.manual) or "nothing"
    if not is_driver:
        yield "moved by", "people, by hand"
        return
    yield (
        "published by",
        {"git": "a commit", "direct": "writing the resource", "none": "somebody else"}[campaign.publish],
    )


def _bake(campaign: Campaign) -> str:
    bake = campaign.bake
    if not bake.seconds:
        return "none"
    told = f"{span(bake.seconds)} with evidence, gates every {span(bake.every_seconds)}"
    told += f", at work for {bake.load_min:.0%} of it" if bake.load_min else ""
    return told + (f", until a loss of {100 * bake.exclude:g}% is excluded" if bake.exclude else "")


def _waves(waves: Waves) -> str:
    match waves.growth:
        case Growth.SHARES:
            told = f"up to {', '.join(str(share) for share in waves.shares)} of the fleet"
        case Growth.LINEAR:
            told = f"first {waves.first}, each larger by {waves.step}"
        case Growth.EXPONENTIAL:
            told = f"first {waves.first}, each {waves.factor} times as large"
        case Growth.FIXED:
            told = f"{waves.first} each"
    return f"{told}, {span(waves.pause_seconds)} between them" if waves.pause_seconds else told
