"""All that is said of a rollout at one moment, as people and scripts get it: lines, documents, columns, metrics.

Law of this file: it shows and reads nothing. What each of them claims is read out of it in of_*.py; on the testbed the
same value is filled by the real commands (tests/e2e/test_voices.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

from seatrial.adapters.kube.shapes.rollout_records import rollout_patch
from seatrial.app.looking import Look
from seatrial.app.picking import Rollout
from seatrial.app.survey import reporting
from seatrial.cli.show import ending, node_data, standing, why
from seatrial.cli.show.tree import Ink
from seatrial.controller.metrics import Metrics
from seatrial.core.decision.decide import decide
from seatrial.core.text.moments import moment
from seatrial.run.loop import Report

WIDTHS: Final = (0, 80)
"""Widths of `status`: piped, and the narrowest terminal that people use."""
_STEP: Final = re.compile(r'\.([\w-]+)(?:\[\?\(@\.(\w+)=="(\w+)"\)\])?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Voices:
    """What is said at one moment; None and nothing where that voice is silent."""

    rollout: str
    status: tuple[str, ...]
    """The lines of `status`."""
    narrow: tuple[str, ...] = ()
    """The same at 80 columns."""
    status_data: Mapping[str, Any]
    why: tuple[str, ...]
    why_data: Mapping[str, Any]
    why_code: int
    nodes: Mapping[str, tuple[str, ...]]
    """The lines of `why NODE`."""
    nodes_data: Mapping[str, Mapping[str, Any]]
    columns: Mapping[str, str]
    """The row of `kubectl get -o wide`, by the head of the column in capitals; empty where it is not compared."""
    conditions: Mapping[str, Mapping[str, Any]]
    """By type."""
    counts: Mapping[str, int]
    """`status.counts` of the object."""
    report: Mapping[str, Any]
    metrics: str


def voices_of(found: Look) -> Voices:
    """What is said of a rollout where the controller's status is of this very moment."""
    sight = found.sight
    assert sight is not None
    raw = resource_of(found)
    page, document = why.rollout_page(found), reporting.document(found, Rollout(raw=raw))
    holds = node_data.holds_of(found)
    narrow = standing.lines_of(found, named_max=standing.NAMED_MAX, ink=Ink(), width=WIDTHS[1])
    status = raw["status"]
    # What a controller wrote that is gone is old, and says so itself; nothing serves its metrics.
    is_led = found.leader is not None and found.leader.is_leading(found.at)
    return Voices(
        rollout=sight.intent.rollout,
        status=tuple(standing.lines_of(found, named_max=None, ink=Ink())),
        narrow=tuple(narrow),
        status_data=standing.as_data(found),
        why=tuple(page.lines),
        why_data=page.data,
        why_code=int(ending.exit_of(found)),
        nodes={name: tuple(why.node_page(found, name).lines) for name in sorted(sight.seen.nodes)},
        nodes_data={name: node_data.as_data(node, holds) for name, node in sorted(sight.seen.nodes.items())},
        columns=columns_of(raw) if is_led else {},
        conditions={each["type"]: each for each in status["conditions"]} if is_led else {},
        counts=status["counts"],
        report=document,
        metrics=metrics_of(found) if is_led else "",
    )


def resource_of(found: Look) -> dict[str, Any]:
    """The GPURollout as the controller writes it, with as much of its spec as anybody shows."""
    assert found.sight is not None
    intent, record = found.sight.intent, found.sight.seen.rollout
    campaign = intent.campaign
    spec: dict[str, Any] = {"target": {"driver": str(intent.target.driver)}, "paused": intent.is_paused}
    if campaign is not None:
        spec["canary"] = {}
        spec |= {"byHand": {"component": campaign.by_hand.component.value}} if campaign.by_hand else {}
    patch = rollout_patch(record)
    status = {name: value for name, value in patch["status"].items() if value is not None}
    # A kubelet's world begins at the epoch, where nothing was ever made.
    return {"metadata": {"name": intent.rollout, "creationTimestamp": moment(0.0)}, "spec": spec, "status": status}


# ── kubectl get ──────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def _printed() -> tuple[tuple[str, str], ...]:
    """The columns of our definition: the head, and where it comes from."""
    crd = yaml.safe_load((files("seatrial.manifests") / "crd.yaml").read_text(encoding="utf-8"))
    (version,) = crd["spec"]["versions"]
    return tuple((each["name"].upper(), each["jsonPath"]) for each in version["additionalPrinterColumns"])


def columns_of(raw: Mapping[str, Any]) -> dict[str, str]:
    """What `kubectl get -o wide` prints of an object."""
    return {head: _text(_at(raw, path)) for head, path in _printed()}


def _at(raw: Any, path: str) -> Any:
    """What a JSONPath of our columns finds."""
    for name, key, wanted in _STEP.findall(path):
        raw = raw.get(name) if isinstance(raw, Mapping) else None
        if key:
            raw = next((each for each in raw or () if each.get(key) == wanted), None)
    return raw


def _text(value: Any) -> str:
    """A cell, as the API server writes it."""
    if isinstance(value, list | tuple):
        return "[" + ",".join(f'"{each}"' for each in value) + "]"
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


# ── metrics ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def metrics_of(found: Look) -> str:
    """The controller's page after a pass that saw just this."""
    assert found.sight is not None
    made = Metrics(version="0", now=lambda: found.at, is_leader=lambda: True)
    decision = decide(found.sight.seen, found.sight.intent, found.at)
    made.take(Report(at=found.at, sight=found.sight, decision=decision))
    return made.page().decode()
