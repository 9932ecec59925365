"""What gates have said, on paper: for people, for scripts, and as JUnit and CTRF for whoever collects test results.

Law of this file: unknown is never a pass in any of them: an error in JUnit, `other` in CTRF. What was left out is
skipped, with the reason. Tests: tests/cli/test_gates.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from seatrial import __version__
from seatrial.cli import formats
from seatrial.cli.formats import Case, Outcome
from seatrial.cli.terminal import columns
from seatrial.core.model.gates.gate import READINESS, Gate, GateVerdict
from seatrial.core.model.gates.suite import LeftOut
from seatrial.core.text import spans
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from seatrial.app.picture import Picture
    from seatrial.app.rollout.gating import GateRun, NodeReport
    from seatrial.core.model.gates.figures import Figure

CTRF_STATUS: Final = {
    GateVerdict.PASSED: "passed",
    GateVerdict.FAILED: "failed",
    GateVerdict.UNKNOWN: "other",
    GateVerdict.PENDING: "pending",
}

OUTCOMES: Final = {
    GateVerdict.PASSED: Outcome.PASSED,
    GateVerdict.FAILED: Outcome.FAILED,
    GateVerdict.UNKNOWN: Outcome.UNKNOWN,
    GateVerdict.PENDING: Outcome.UNKNOWN,
}


# ── one node, asked by hand ──────────────────────────────────────────────────────────────────────────────────────────


def lines(found: NodeReport, *, is_wide: bool = False) -> Iterator[str]:
    """A line for each gate with why, and the figures below it where they are wanted or something is wrong."""
    rows = [("GATE", "VERDICT", "SECONDS", "WHY")]
    rows += [(run.gate.name, run.verdict.value, f"{run.seconds:.0f}", why(run)) for run in found.runs]
    rows += [(each.gate, "left out", "", each.why) for each in found.left_out]
    yield columns(rows)
    for run in found.runs:
        if run.measured.figures and (is_wide or run.verdict is not GateVerdict.PASSED):
            yield ""
            yield f"{run.gate.name}:"
            yield columns(
                ("", each.name, _value(each), each.gpu, _circumstances(each)) for each in run.measured.figures
            )
    yield ""
    yield _summary(found)


def why(run: GateRun) -> str:
    """Why a gate said what it said."""
    if run.measured.detail:
        return run.measured.detail
    if run.measured.figures:
        shown = run.measured.figures[:3]
        more = len(run.measured.figures) - len(shown)
        return ", ".join(f"{each.name} {_value(each)}" for each in shown) + (f" and {more} more" if more else "")
    return "its container succeeded" if run.verdict is GateVerdict.PASSED else ""


def _summary(found: NodeReport) -> str:
    counts = {each: sum(run.verdict is each for run in found.runs) for each in GateVerdict}
    told = [f"{counts[each]} {each.value}" for each in GateVerdict if counts[each]]
    left = f", {len(found.left_out)} left out" if found.left_out else ""
    asked = ", ".join(told) or "nothing was asked"
    way = ", had by ResourceClaims" if found.by_claim else ""
    return f"{found.node}: {asked}{left}; {number_of(found.gpu_count, 'GPU')}, {found.free_count} free{way}."


def _value(figure: Figure) -> str:
    return f"{figure.value:,.6g} {figure.unit}".strip()


def _circumstances(figure: Figure) -> str:
    held = [f"held back: {figure.held_back}"] if figure.held_back else []
    return ", ".join([*(f"{key} {value:g}" for key, value in figure.under.items()), *held])


def as_data(found: NodeReport) -> dict[str, Any]:
    """For scripts."""
    return {
        "node": found.node,
        "verdict": found.verdict.value,
        "gpus": found.gpu_count,
        "free": found.free_count,
        "byClaim": found.by_claim,
        "gates": [
            {
                "gate": run.gate.name,
                "verdict": run.verdict.value,
                "why": why(run),
                "seconds": run.seconds,
                "image": run.gate.image,
                "figures": [_figure(each) for each in run.measured.figures],
                "unmeasured": [
                    {"name": each.name, "gpu": each.gpu, "why": each.why} for each in run.measured.unmeasured
                ],
            }
            for run in found.runs
        ],
        "leftOut": [{"gate": each.gate, "why": each.why} for each in found.left_out],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    told: dict[str, Any] = {"name": figure.name, "value": figure.value, "unit": figure.unit, "gpu": figure.gpu}
    more = {"spread": figure.spread, "low": figure.low, "high": figure.high, "heldBack": figure.held_back}
    told |= {key: value for key, value in more.items() if value is not None}
    return told | ({"under": dict(figure.under)} if figure.under else {})


def as_junit(found: NodeReport) -> str:
    """One suite, one case per gate."""
    name, place = f"seatrial gates on {found.node}", f"gates.{found.node}"
    asked = [
        Case(
            place=place,
            name=run.gate.name,
            outcome=OUTCOMES[run.verdict],
            kind=run.verdict.value,
            message=why(run),
            text="\n".join(_told(run)),
            more={"time": f"{run.seconds:.1f}"},
        )
        for run in found.runs
    ]
    left = [Case(place=place, name=each.gate, outcome=Outcome.SKIPPED, message=each.why) for each in found.left_out]
    return formats.junit(name, {name: [*asked, *left]})


def _told(run: GateRun) -> Iterator[str]:
    yield why(run)
    yield from (f"{each.name} {_value(each)} {each.gpu}".rstrip() for each in run.measured.figures)


def as_ctrf(found: NodeReport) -> dict[str, Any]:
    """The Common Test Report Format."""
    statuses = [CTRF_STATUS[run.verdict] for run in found.runs]
    begun = [run.begun_at for run in found.runs]
    ended = [run.begun_at + run.seconds for run in found.runs]
    return {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "results": {
            "tool": {"name": "seatrial", "version": __version__},
            "summary": {
                "tests": len(statuses) + len(found.left_out),
                "passed": statuses.count("passed"),
                "failed": statuses.count("failed"),
                "pending": statuses.count("pending"),
                "skipped": len(found.left_out),
                "other": statuses.count("other"),
                "start": round(min(begun, default=0.0) * 1000),
                "stop": round(max(ended, default=0.0) * 1000),
            },
            "tests": [
                *(
                    {
                        "name": run.gate.name,
                        "status": CTRF_STATUS[run.verdict],
                        "duration": round(run.seconds * 1000),
                        "message": why(run),
                        "suite": ["seatrial gates", found.node],
                        "extra": {"figures": [_figure(each) for each in run.measured.figures]},
                    }
                    for run in found.runs
                ),
                *(
                    {"name": each.gate, "status": "skipped", "duration": 0, "message": each.why}
                    for each in found.left_out
                ),
            ],
        },
    }


# ── the gates of a rollout ───────────────────────────────────────────────────────────────────────────────────────────


def shown_lines(picture: Picture, *, is_wide: bool = False) -> list[str]:
    """What is asked, and below it what was said."""
    asked = [("GATE", "ASKS", *(("IMAGE",) if is_wide else ()))]
    asked += [(READINESS, "it runs the new driver, and is proven as any node", *(("",) if is_wide else ()))]
    asked += [(gate.name, wants(gate), *((gate.means,) if is_wide else ())) for gate in picture.campaign.gates]
    told = picture.record.gates
    left_out = [f"Left out: {each.gate}; {each.why}." for each in _left_out(picture)]
    if not told:
        return [columns(asked), *left_out, "", f"{picture.name}: no gate was asked yet."]
    said = [("GATE", "NODE", "VERDICT", "WHY")]
    said += [(each.gate, each.node, each.said, each.detail) for each in told]
    return [columns(asked), *left_out, "", f"Round {picture.record.round} of {picture.name}:", columns(said)]


def _left_out(picture: Picture) -> tuple[LeftOut, ...]:
    """What a canary is not asked, where nobody named the gates."""
    suite = picture.record.suite
    return suite.left_out if suite is not None else ()


def wants(gate: Gate) -> str:
    """What a gate asks for, in a few words."""
    if gate.attest is not None:
        return f"somebody says: {gate.attest.asks}"
    if gate.expression or gate.webhook:
        return gate.expression or f"{gate.webhook} says 200"
    if gate.prometheus is not None:
        return "; ".join([gate.prometheus.query, *_limits(gate)])
    if gate.tenant is not None:
        work = gate.tenant
        return f"{number_of(work.pods, 'pod')} of {work.pod_selector} running there for {spans.span(work.seconds)}"
    what = f"{gate.probe} of seatrial-probe" if gate.probe else "its container succeeds"
    return "; ".join([what, *_limits(gate)])


def _limits(gate: Gate) -> Iterable[str]:
    for limit in gate.limits:
        bounds = [f"at least {limit.at_least:g}"] if limit.at_least is not None else []
        bounds += [f"at most {limit.at_most:g}"] if limit.at_most is not None else []
        yield f"{limit.name} {' and '.join(bounds) or 'measured'}"


def shown_data(picture: Picture) -> dict[str, Any]:
    """For scripts."""
    return {
        "rollout": picture.name,
        "round": picture.record.round,
        "asked": [
            {
                "gate": gate.name,
                "image": gate.image,
                "probe": gate.probe,
                "attest": gate.attest.asks if gate.attest is not None else None,
                "prometheus": gate.prometheus.query if gate.prometheus is not None else None,
                "expression": gate.expression or None,
                "webhook": gate.webhook or None,
                "tenant": gate.tenant.pod_selector if gate.tenant is not None else None,
                "figures": [
                    {"name": each.name, "atLeast": each.at_least, "atMost": each.at_most} for each in gate.limits
                ],
            }
            for gate in picture.campaign.gates
        ],
        "said": [
            {"gate": each.gate, "node": each.node, "verdict": each.said, "why": each.detail}
            for each in picture.record.gates
        ],
        "leftOut": [{"gate": each.gate, "node": each.node, "why": each.why} for each in _left_out(picture)],
    }
