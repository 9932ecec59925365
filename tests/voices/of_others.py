"""What the report and the metrics claim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.voices.said import PHASES, Claim, Said
from tests.voices.voices import Voices

REPORT, METRICS = "report", "metrics"


def report(voices: Voices) -> Iterator[Said]:
    """The document of the report, and its verdict."""
    data = voices.report
    nodes, outcome, is_over = data["nodes"], data["outcome"], data["isOver"]
    yield _of(Claim.OVER, value=is_over)
    if is_over and (outcome != "left" or nodes["failed"]):
        yield _of(Claim.GREEN, outcome == "well", data["means"])
    elif not is_over and outcome in ("well", "held"):
        yield _of(Claim.PERSON, outcome == "held", data["means"])
    if data["phase"] in PHASES:
        yield _of(Claim.PHASE, data["phase"])
    if not nodes["hasMovedOn"]:
        yield _of(Claim.DONE, nodes["done"])
        yield _of(Claim.FAILED, nodes["failed"])
        yield _of(Claim.FAILED_NAMES, frozenset(each["name"] for each in nodes["failedNodes"]))
        yield _of(Claim.LEFT_OUT, frozenset(nodes["skippedNodes"]))
    yield _of(Claim.TOTAL, nodes["total"])
    counted = re.search(r"([\d,]+) of ([\d,]+) nodes? (?:is|are) upgraded to", data["verdict"])
    if counted is not None and not nodes["hasMovedOn"]:
        yield _of(Claim.DONE, int(counted[1].replace(",", "")), data["verdict"])
        yield _of(Claim.TOTAL, int(counted[2].replace(",", "")), data["verdict"])
    if data["canaries"]:
        yield _of(Claim.CANARIES, frozenset(data["canaries"]))
    if data["bake"] is not None:
        yield _of(Claim.BAKED, data["bake"]["hours"])
    if data["cost"]["gpuHours"] is not None:
        yield _of(Claim.LOST, data["cost"]["gpuHours"])


def _of(claim: Claim, value: Any, words: str = "") -> Said:
    return Said(voice=REPORT, claim=claim, value=value, words=words)


def metrics(voices: Voices) -> Iterator[Said]:
    """The page that Prometheus reads."""
    families = text_string_to_metric_families(voices.metrics)
    samples = (sample for family in families for sample in family.samples if len(sample.labels) < 2)
    said = {(each.name, next(iter(each.labels.values()), "")): each.value for each in samples}
    if ("seatrial_leader", "") in said:
        leads = bool(said["seatrial_leader", ""])
        yield Said(voice=METRICS, claim=Claim.LEADS, value=leads, words="seatrial_leader")
    if ("gpu_operator_nodes_upgrades_failed", "") not in said:
        return
    states = {state: int(count) for (name, state), count in said.items() if name == "seatrial_nodes" and count}
    yield Said(voice=METRICS, claim=Claim.STATES, value=tuple(sorted(states.items())), words="seatrial_nodes")
    if not any(said.get(("seatrial_rollout_phase", phase)) for phase in ("Reverting", "Reverted")):
        # On the way back a node that has failed on the way there is one that has still to go back.
        failed = int(said["gpu_operator_nodes_upgrades_failed", ""])
        yield Said(voice=METRICS, claim=Claim.FAILED, value=failed, words="gpu_operator_nodes_upgrades_failed")
    for (name, label), value in said.items():
        if name == "seatrial_rollout_phase" and value:
            yield Said(voice=METRICS, claim=Claim.PHASE, value=label, words=name)
    if ("seatrial_rollout_baked_seconds", "") in said:
        baked = round(said["seatrial_rollout_baked_seconds", ""] / 3600, 3)
        yield Said(voice=METRICS, claim=Claim.BAKED, value=baked, words="seatrial_rollout_baked_seconds")
