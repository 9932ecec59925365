"""Start a plan: show one rollout for each of its steps, ask, create them.

Law of this file: every rollout is shown before the first is created. Tests: tests/cli/test_rollout_plan.py,
tests/e2e/test_plan_steps.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Any

from seatrial.app.awaiting import finished
from seatrial.app.matrix import plan_document
from seatrial.app.rollout import chaining
from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout import acts as rollout_acts
from seatrial.cli.rollout import objecting
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.rollout.chaining import Chain
    from seatrial.app.rollout.options import StartOptions
    from seatrial.cli.rollout.acts import Showing
    from seatrial.core.compat.plan.rollouts import Move


def start(cluster: Cluster, asked: StartOptions, showing: Showing) -> int:
    """Start one rollout for each step."""
    on = datetime.now().astimezone().date()
    target = chaining.target_of(asked, on)
    if target is not None:
        code = objecting.verdict(target, accepts_unknown=asked.accept_unknown)
        if code is not ExitCode.OK:
            return code
    data = chaining.plan_of(asked, target, on)
    code = verdict(data, accepts_unknown=asked.accept_unknown)
    if code is not ExitCode.OK:
        return code
    chain = chaining.chain_of(asked, data, target, on)
    if not chain.moves:
        print("Nothing to do: what is wanted is what runs.")
        return ExitCode.OK
    missing = finished(chaining.missing_of(cluster, chain))
    lines = preview(chain, data, frozenset(missing), has_source=chaining.promoted(target) is not None)
    print("\n".join(lines), file=sys.stderr)
    return _create(cluster, chain, missing, showing)


def _create(cluster: Cluster, chain: Chain, missing: tuple[str, ...], showing: Showing) -> int:
    if showing.is_dry_run or not missing:
        _tell(chain, showing.output, "" if missing else "there already")
        return ExitCode.OK
    if not rollout_acts.confirmed(f"Create {number_of(len(missing), 'rollout')}?", says_yes=showing.says_yes):
        print("seatrial: nothing was written.", file=sys.stderr)
        return ExitCode.ERROR
    finished(chaining.create(cluster, chain, missing))
    _tell(chain, showing.output, "created")
    print(f"Watch the first with `seatrial status {quote(chain.names[0])} -w`.", file=sys.stderr)
    return ExitCode.OK


def verdict(data: Mapping[str, Any], *, accepts_unknown: bool) -> ExitCode:
    """OK when the plan may be started; what is in the way is printed."""
    for rule, message in plan_document.unknowns(data) if "refusal" not in data else ():
        print(f"unknown  {rule}: {message}", file=sys.stderr)
    return objecting.object_to(plan_document.objection(data, accepts_unknown=accepts_unknown))


def preview(chain: Chain, data: Mapping[str, Any], missing: frozenset[str], *, has_source: bool) -> Iterator[str]:
    """What would happen, step by step."""
    count = number_of(len(chain.moves), "rollout")
    yield f"Plan      {data.get('from', '?')} to {data.get('to', '?')}: {count}, one after the other"
    yield "Each      has its own canary, gates, bake and waves; it begins when the one before it is Done"
    for move, resource in zip(chain.moves, chain.resources, strict=True):
        name, spec = resource["metadata"]["name"], resource["spec"]
        is_there = "" if name in missing else "  (there already)"
        yield ""
        yield f"{name}{is_there}"
        how = (
            f"by seatrial, published: {(spec.get('publish') or {}).get('via', 'direct')}" if move.is_ours else "by hand"
        )
        yield f"  moves   {_told(move)}, {how}{'; ONE-WAY' if move.is_one_way else ''}"
        for each in move.along:
            yield f"  along   {each.component.value} {each.before or '?'} to {each.after}"
        for sentence in move.preparations if move.is_ours else ():
            yield f"  before  {sentence}"
        if move.instructions:
            yield f"  people  {move.instructions}"
    yield ""
    if has_source:
        yield f"Promotes  the entry, when {chain.names[-1]} is through"
    else:
        yield "Promotes  nothing: no canary entry of a repository stands behind the plan (--git, --to canary)"


def _told(move: Move) -> str:
    change = move.change
    return f"{change.component.value} {change.before or '?'} to {change.after}"


def _tell(chain: Chain, output: str, what: str) -> None:
    if formats.is_document(output):
        formats.print_document(list(chain.resources), output)
    elif output == formats.NAME or not what:
        formats.print_names(formats.ROLLOUT, chain.names)
    else:
        print("\n".join(f"{formats.ROLLOUT}/{name} {what}" for name in chain.names))
