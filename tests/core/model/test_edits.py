"""Every edit of a rollout that the API server accepts has a meaning, and breaks no promise in any phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from seatrial import manifests
from seatrial.core.decision.decide import decide
from seatrial.core.model.campaign import Mode, RolloutPhase
from seatrial.core.model.edits import EDITS, Effect
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.promises.invariants import broken
from tests.builders import (
    NEW,
    NOW,
    OLD,
    SMOKE,
    a_campaign_record,
    a_done_node,
    a_gpu_pod,
    a_ledger,
    a_measurement,
    a_node,
    a_snapshot,
    a_source,
    an_operator,
)
from tests.edit_cases import BASES, CASES, WAVES_BY_SHARE, Case, intent_of

SPEC: Mapping[str, Any] = yaml.safe_load(manifests.crd())["spec"]["versions"][0]["schema"]["openAPIV3Schema"][
    "properties"
]["spec"]
RULES = str(yaml.safe_load(manifests.crd()))


def fields_of(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Every field that says something by itself, and every list."""
    for name, field in schema.get("properties", {}).items():
        here = f"{path}{name}"
        if field.get("properties"):
            yield from fields_of(field, f"{here}.")
            continue
        yield here
        yield from fields_of(field.get("items", {}), f"{here}[].")


def test_every_field_of_the_definition_has_a_row_and_every_row_is_of_a_field() -> None:
    assert set(EDITS) == set(fields_of(SPEC))


@pytest.mark.parametrize("field", EDITS)
def test_every_row_says_in_a_sentence_what_an_edit_means(field: str) -> None:
    means = EDITS[field].means
    assert means[0].isupper()
    assert means.endswith(".")
    assert len(means) > 20


@pytest.mark.parametrize("field", [field for field, edit in EDITS.items() if edit.effect is Effect.REFUSED_BEGUN])
def test_what_is_refused_once_begun_is_named_in_the_definitions_rules(field: str) -> None:
    top = field.partition(".")[0]
    assert f"oldSelf.spec.{top}" in RULES


def test_every_field_is_edited_by_a_case() -> None:
    assert {case.field for case in CASES} == set(EDITS) - {"waves.percentages"}


# ── no edit breaks a promise ─────────────────────────────────────────────────────────────────────────────────────────

ALLOWED = [
    case
    for case in (*CASES, WAVES_BY_SHARE)
    if case is WAVES_BY_SHARE or EDITS[case.field].effect not in (Effect.REFUSED, Effect.REFUSED_BEGUN)
]
PASSED = tuple(
    GateResult(gate=gate, node="n1", round=3, verdict=GateVerdict.PASSED, at=900.0, asked=mark)
    for gate, mark in (("readiness", ""), (SMOKE.name, SMOKE.mark))
)
BAKED: dict[str, Any] = {
    "round": 3,
    "round_at": 890.0,
    "baked_until": 900.0,
    "baked_seconds": 7200.0,
    "gates": PASSED,
    "well_since": 0.0,
}
PROMOTION: dict[str, Any] = BAKED | {"bake_asked_seconds": 7200.0, "date": "2026-11-15", "tag_base": "v2026-11-stable"}
CANARY, AT_WORK = (
    a_done_node(canary_of="spring"),
    a_node("n2", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=(a_gpu_pod(),)),
)
REST = (a_node("n3", NodePhase.UPGRADE_REQUIRED), a_node("n4"))
UNDER_WAY: dict[RolloutPhase, tuple[dict[str, Any], tuple[NodeSeen, ...]]] = {
    RolloutPhase.CANARY: ({}, (a_node("n1", NodePhase.CORDON_REQUIRED, canary_of="spring"), a_node("n2"))),
    RolloutPhase.GATING: (BAKED | {"baked_seconds": 0.0, "gates": ()}, (CANARY, a_node("n2"))),
    RolloutPhase.BAKING: (BAKED, (CANARY, a_node("n2"))),
    RolloutPhase.WAVING: (BAKED | {"bake_asked_seconds": 7200.0}, (CANARY, AT_WORK, *REST)),
    RolloutPhase.PROMOTING: (PROMOTION, (CANARY, a_done_node("n2"))),
    RolloutPhase.DONE: (PROMOTION, (a_done_node(), a_done_node("n2"), a_node("n3"))),
    RolloutPhase.PAUSED: (BAKED | {"paused_in": RolloutPhase.WAVING}, (CANARY, AT_WORK, *REST)),
    RolloutPhase.REVERTING: (BAKED | {"why": "Xid 79"}, (CANARY, a_node("n2"))),
}
MODES = {"by hand": Mode.BY_HAND}


@pytest.mark.parametrize("phase", UNDER_WAY)
@pytest.mark.parametrize("case", ALLOWED, ids=str)
def test_an_edit_that_is_accepted_breaks_no_promise(case: Case, phase: RolloutPhase) -> None:
    record, nodes = UNDER_WAY[phase]
    written = a_campaign_record(phase, **(record | {"mode": MODES.get(case.base, Mode.DIRECT)}))
    admitted = a_ledger(*(node.name for node in nodes if node.record is not None))
    operator = an_operator(OLD.version if phase is RolloutPhase.REVERTING else NEW.version)
    measured = (a_measurement(round=3),)
    source = a_source() if "matrix" in BASES[case.base] else None
    seen = a_snapshot(
        *nodes, campaign=written, admitted=admitted, operator=operator, measurements=measured, source=source
    )
    for after_seconds in (0.0, 1.0, 4000.0, 100_000.0):
        now = NOW + after_seconds
        intent = intent_of(case.spec, now)
        assert broken(seen, intent, decide(seen, intent, now)) == ()
