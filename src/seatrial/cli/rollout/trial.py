"""A rollout on trial, as a person reads it: every write up to the first verdict, and what follows. Tests:
tests/cli/test_rollout_start.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from seatrial.app.rollout import committing, rehearsing
from seatrial.app.rollout.check import failed
from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.text import spans
from seatrial.core.words import explain

if TYPE_CHECKING:
    from seatrial.app.rollout.outset import Outset
    from seatrial.app.rollout.rehearsing import Trial
    from seatrial.app.rollout.targeting import RolloutTarget


def show(outset: Outset, target: RolloutTarget, *, output: str) -> int:
    """Print what would be written; exit code 8 where a check fails, 12 where it would wait for somebody."""
    trial = rehearsing.rehearse(outset, target)
    if formats.is_document(output):
        formats.print_document(_as_data(outset, trial), output)
    elif output == formats.NAME:
        formats.print_names(formats.ROLLOUT, [outset.intent.rollout])
    else:
        print("\n".join(_lines(outset, trial)))
    if failed(outset.checks):
        return ExitCode.FINDINGS
    return ExitCode.HELD if trial.is_held else ExitCode.OK


def _lines(outset: Outset, trial: Trial) -> Iterator[str]:
    from seatrial.cli import terminal

    name = outset.intent.rollout
    rows = [("After", "Object", "Content"), ("0 s", f"gpurollout/{name}", "create")]
    rows += [(spans.span(each.after_seconds), each.what, each.content) for each in trial.writes]
    yield terminal.columns(rows)
    yield ""
    if trial.holds:
        yield f"It would wait in {trial.record.phase.value}:"
        for held in trial.holds:
            yield f"  {held.code.value}: {explain.why(held)}. {explain.next_step(held)}"
    yield from _commit(outset, trial)
    if outset.checks:
        yield "Checked before the start:"
        yield from (f"  {each.line}" for each in outset.checks)
        yield ""
    campaign = outset.intent.campaign
    if campaign is not None:
        yield rehearsing.then(campaign, trial, len(outset.members))
    yield "Times are those of a simulated cluster. Nothing was written."


def _commit(outset: Outset, trial: Trial) -> Iterator[str]:
    """The first commit, as it would change the file that is there."""
    if outset.file is None or trial.published is None:
        return
    yield f"The first commit would change {outset.file.where}:"
    yield from (f"  {line}" for line in committing.diff_of(outset.file, trial.published))
    yield ""


def _as_data(outset: Outset, trial: Trial) -> dict[str, object]:
    campaign = outset.intent.campaign
    return {
        "resource": {key: outset.made[key] for key in ("apiVersion", "kind", "spec")}
        | {"metadata": {"name": outset.intent.rollout}},
        "writes": [
            {"afterSeconds": round(each.after_seconds, 1), "object": each.what, "content": each.content}
            for each in trial.writes
        ],
        "commit": _commit_data(outset, trial),
        "checks": [{"about": each.about, "verdict": each.verdict.value, "why": each.why} for each in outset.checks],
        "phase": trial.record.phase.value,
        "holds": [
            {"code": held.code.value, "why": explain.why(held), "next": explain.next_step(held)} for held in trial.holds
        ],
        "then": rehearsing.then(campaign, trial, len(outset.members)) if campaign is not None else "",
    }


def _commit_data(outset: Outset, trial: Trial) -> dict[str, object] | None:
    file = outset.file
    if file is None or trial.published is None:
        return None
    diff = "\n".join(committing.diff_of(file, trial.published))
    return {"url": file.url, "branch": file.branch, "path": file.path, "head": file.head, "diff": diff}
