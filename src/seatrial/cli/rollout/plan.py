"""Start a plan: one rollout for each of its steps, one after the other.

Law of this file: every rollout is shown and judged by the API server before the first is created. Names come from the
plan, so that a start that was cut short is completed by the same command; what stands there under such a name and says
something else is an error, never overwritten. Tests: tests/cli/test_rollout_plan.py, tests/e2e/test_plan_steps.py
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout import acts as rollout_acts
from seatrial.cli.rollout import pick as rollout_pick
from seatrial.cli.rollout import source as rollout_source
from seatrial.cli.rollout import spec as rollout_spec
from seatrial.cli.rollout import start as rollout_start
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.cli.rollout.pick import Rollout
    from seatrial.cli.rollout.source import Target
    from seatrial.core.compat.facts import Facts
    from seatrial.core.compat.matrix import Component
    from seatrial.core.compat.plan.rollouts import Leg, Move

NAME_MAX: Final = 63


class PlanUnusable(SeatrialError):  # noqa: N818  the message says what to do
    """What was given as a plan is none, or cannot be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The rollouts of a plan, in order."""

    moves: tuple[Move, ...]
    resources: tuple[dict[str, Any], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each["metadata"]["name"] for each in self.resources)


def run(args: argparse.Namespace) -> int:
    on = datetime.now().astimezone().date()
    target = _target(args, on)
    if target is not None:
        code = rollout_source.verdict(target, accepts_unknown=args.accept_unknown)
        if code is not ExitCode.OK:
            return code
    data = read_plan(args.plan) if args.plan else _planned(args, target, on)
    code = verdict(data, accepts_unknown=args.accept_unknown)
    if code is not ExitCode.OK:
        return code
    chain = chain_of(args, data, target, on)
    if not chain.moves:
        print("Nothing to do: what is wanted is what runs.")
        return ExitCode.OK
    missing = asyncio.run(_try(args, chain))
    print(
        "\n".join(preview(chain, data, frozenset(missing), has_source=_promoted(target) is not None)), file=sys.stderr
    )
    if args.dry_run or not missing:
        _tell(chain, args.output, "" if missing else "there already")
        return ExitCode.OK
    if not rollout_acts.confirmed(args, f"Create {len(missing)} rollouts?"):
        print("seatrial: nothing was written.", file=sys.stderr)
        return ExitCode.ERROR
    asyncio.run(_create(args, [each for each in chain.resources if each["metadata"]["name"] in missing]))
    _tell(chain, args.output, "created")
    print(f"Watch the first with `seatrial rollout status {chain.names[0]} -w`.", file=sys.stderr)
    return ExitCode.OK


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_plan(path: str) -> dict[str, Any]:
    """A plan as `seatrial plan -o json` has written it."""
    try:
        data = json.loads(sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise PlanUnusable(f"{path} cannot be read: {err}.") from err
    except json.JSONDecodeError as err:
        raise PlanUnusable(f"{path} is no JSON: {err}. `seatrial plan -o json` writes it.") from err
    if not isinstance(data, dict) or not ("steps" in data or "refusal" in data):
        raise PlanUnusable(f"{path} holds no plan. `seatrial plan -o json` writes one.")
    return data


def _planned(args: argparse.Namespace, target: Target | None, on: date) -> dict[str, Any]:
    """Plan the way to an entry, as `seatrial plan --to` does."""
    from seatrial.adapters.files import knowledge, matrix_file
    from seatrial.adapters.files.matrix_yaml import read_matrix
    from seatrial.cli.matrix import plan
    from seatrial.core.compat import plan as plans

    git = (_matrix(target) or {}).get("git")
    if git:
        text = _text_at(git)
        matrix = read_matrix(text, f"{git['path']}@{git['commit'][:12]}").matrix
    else:
        matrix = matrix_file.load_matrix(matrix_file.find_matrix(args.matrix, Path.cwd())).reading.matrix
    if matrix is None:
        raise PlanUnusable("the matrix cannot be read; `seatrial check` says why.")
    start, goal = plan.ends_of(matrix, None, args.to)
    facts = knowledge.load_knowledge(args.facts)
    answer = plans.make_plan(start.stack, goal.stack, facts, on, accept=(*start.accept, *goal.accept))
    return plan.as_data(answer, start, goal, on, has_impact=False)


def _text_at(git: Mapping[str, str]) -> str:
    import tempfile

    from seatrial.adapters.git.clone import Remote
    from seatrial.adapters.git.repository import Repository

    with tempfile.TemporaryDirectory(prefix="seatrial-") as folder:
        repository = Repository(Remote(url=git["url"], branch=git["branch"]), Path(folder) / "clone")
        repository.look(rollout="seatrial", pinned=git["commit"])
        text = repository.text_at(git["commit"], git["path"])
    if text is None:
        raise PlanUnusable(f"{git['url']} has no {git['path']} at {git['commit']}.")
    return text


def _target(args: argparse.Namespace, on: date) -> Target | None:
    """The entry behind the plan, judged; None where a plan was given and no repository behind it."""
    if args.plan and not args.git:
        return None
    asked = copy.copy(args)
    asked.entry = args.to or args.entry
    if not args.git:
        from seatrial.adapters.files.matrix_file import find_matrix

        asked.matrix = str(find_matrix(args.matrix, Path.cwd()))
    return rollout_source.read(asked, None, args.name or "seatrial", on)


def _matrix(target: Target | None) -> dict[str, Any] | None:
    return target.matrix if target is not None else None


def _promoted(target: Target | None) -> dict[str, Any] | None:
    """The matrix whose entry the last step promotes: that of a canary, and of no other."""
    return _matrix(target) if target is not None and target.role == rollout_source.CANARY else None


def verdict(data: Mapping[str, Any], *, accepts_unknown: bool) -> ExitCode:
    """OK when the plan may be started; what is in the way is printed."""
    if "refusal" in data:
        rules = ", ".join(data.get("conflict") or ())
        print(f"seatrial: there is no plan ({data['refusal']}: {rules}). {data.get('suggestion', '')}", file=sys.stderr)
        return ExitCode.FINDINGS
    found = [*data.get("findings", ()), *(each for step in data["steps"] for each in step.get("findings", ()))]
    unknown = [each for each in found if each["verdict"] == "unknown" and not each["accepted"]]
    for each in {each["message"]: each for each in unknown}.values():
        print(f"unknown  {each['rule']}: {each['message']}", file=sys.stderr)
    if unknown and not accepts_unknown:
        print(
            "seatrial: unknown is not ok. Add facts (`seatrial facts`), accept it in the matrix with a reason, "
            "or start with --accept-unknown.",
            file=sys.stderr,
        )
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK


def legs_of(data: Mapping[str, Any]) -> tuple[Leg, ...]:
    """The steps of a plan, as far as rollouts need them."""
    try:
        return tuple(_leg(step) for step in data["steps"])
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise PlanUnusable(
            f"a step of the plan cannot be read: {err!r}. `seatrial plan -o json` of this release writes what is read."
        ) from err


def _leg(step: Mapping[str, Any]) -> Leg:
    from seatrial.core.compat.matrix import Component
    from seatrial.core.compat.plan import WayBack
    from seatrial.core.compat.plan.rollouts import Leg
    from seatrial.core.compat.plan.values import Change

    way = WayBack(step["rollback"]["way"])
    return Leg(
        number=int(step["number"]),
        changes=tuple(
            Change(component=Component(each["component"]), before=each["before"], after=each["after"])
            for each in step["changes"]
        ),
        stack=_stack(step["stack"]),
        why=tuple(each["sentence"] for each in step["why"]),
        preparations=tuple(each["sentence"] for each in step["preparations"]),
        way_back="" if way is WayBack.OPEN else step["rollback"]["sentence"],
        is_one_way=way is WayBack.CLOSED,
    )


def _stack(data: Mapping[str, str]) -> dict[Component, str]:
    from seatrial.core.compat.matrix import Component

    return {Component(key): str(text) for key, text in data.items()}


# ── its rollouts ─────────────────────────────────────────────────────────────────────────────────────────────────────


def chain_of(args: argparse.Namespace, data: Mapping[str, Any], target: Target | None, on: date) -> Chain:
    """The rollouts of a plan: each waits for the one before it, and the last one promotes the entry."""
    from seatrial.cli.matrix import check
    from seatrial.core.compat.matrix import Component
    from seatrial.core.compat.plan.rollouts import moves_of

    legs = legs_of(data)
    running = _stack(data.get("running") or {})
    facts, _ = check.known(list(args.facts))
    moves = moves_of(legs, running, lambda stack: _failing(stack, facts, on))
    _check_moves(moves)
    wanted = legs[-1].stack.get(Component.GPU_DRIVER, "") if legs else ""
    if target is not None and legs and target.driver != wanted:
        raise PlanUnusable(
            f"the plan leads to driver {wanted or '(none)'}, and entry {target.entry} says {target.driver}. "
            "Plan anew: the matrix has changed since."
        )
    name = args.name or default_name(data)
    names = [_name_of(name, number, len(moves), move) for number, move in enumerate(moves, 1)]
    resources = tuple(
        rollout_spec.resource_of(
            names[number],
            spec_of(
                args,
                move,
                after=names[number - 1] if number else "",
                target=target,
                is_last=number == len(moves) - 1,
            ),
        )
        for number, move in enumerate(moves)
    )
    return Chain(moves=moves, resources=resources)


def _failing(stack: Mapping[Component, str], facts: Facts, on: date) -> frozenset[str]:
    """The rules that a stack fails."""
    from seatrial.core.compat.findings import Verdict
    from seatrial.core.compat.matrix import Stack
    from seatrial.core.compat.rules import check_stack

    found = check_stack(Stack.of({key.value: text for key, text in stack.items()}), facts, on)
    return frozenset(each.rule for each in found if each.verdict is Verdict.FAIL)


def _check_moves(moves: Sequence[Move]) -> None:
    for move in moves:
        if move.doubt:
            raise PlanUnusable(
                f"step {move.step} moves {move.change.component.value} and gpu_driver together, and one after the "
                f"other is forbidden both ways by {', '.join(move.doubt)}. Move them by hand together, then plan anew."
            )
        if not move.driver:
            raise PlanUnusable("the plan names no gpu_driver, and a rollout has to say which one nodes run. Name it.")


def default_name(data: Mapping[str, Any]) -> str:
    """A name that is the same for the same plan, and for no other."""
    said = json.dumps(
        [data.get("running"), data.get("wanted"), [step["changes"] for step in data["steps"]]], sort_keys=True
    )
    entry = "".join(letter if letter.isalnum() else "-" for letter in str(data.get("to") or "plan").lower()).strip("-")
    return f"{entry[:20] or 'plan'}-{hashlib.sha256(said.encode()).hexdigest()[:6]}"


def _name_of(name: str, number: int, count: int, move: Move) -> str:
    what = "driver" if move.is_ours else move.change.component.value.replace("_", "-")
    found = f"{name}-{number:0{len(str(count))}d}-{what}"
    if len(found) > NAME_MAX:
        raise rollout_spec.CalledWrongly(f"{found} is too long for a name, {NAME_MAX} at most; give a shorter --name.")
    return found


def spec_of(
    args: argparse.Namespace, move: Move, *, after: str, target: Target | None, is_last: bool
) -> dict[str, Any]:
    """The spec of one rollout; what is said of the start goes for every step."""
    gates = rollout_start.read_gates(args.gates_file) if args.gates_file else None
    spec = rollout_spec.spec_of(
        args,
        move.driver,
        matrix=_promoted(target) if is_last else None,
        gates=gates,
        canary_node=target.canary_node if target is not None else "",
    )
    if after:
        spec["after"] = after
        spec.pop("paused", None)  # it waits in any case
    if move.is_ours:
        return _with_repository(spec, args)
    for key in ("publish", "mode", "prepull"):
        spec.pop(key, None)
    by_hand: dict[str, Any] = {"component": move.change.component.value, "version": move.change.after}
    if move.change.before:
        by_hand["before"] = move.change.before
    if move.is_one_way:
        by_hand["oneWay"] = True
    return {**spec, "publish": {"via": "none"}, "byHand": {**by_hand, "instructions": move.instructions}}


def _with_repository(spec: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """Say where commits go, on a step that has no matrix to say it."""
    where = (spec.get("publish") or {}).get("git")
    if where is None or "matrix" in spec or "url" in where:
        return spec
    branch = where.get("branch") or args.branch
    told = {**where, "url": args.git, **({"branch": branch} if branch else {})}
    return {**spec, "publish": {"via": "git", "git": told}}


# ── creating ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _try(args: argparse.Namespace, chain: Chain) -> tuple[str, ...]:
    """The names that are not there yet, once the API server has judged them; one that says otherwise is an error."""
    from seatrial.adapters.kube.shapes import keys

    async with rollout_pick.connect(args) as client:
        taken = {each.name: each for each in await rollout_pick.all_of(client)}
        missing = []
        for resource in chain.resources:
            name = resource["metadata"]["name"]
            if name in taken:
                check_same(resource, taken[name])
            else:
                await client.create(keys.ROLLOUTS, resource, dict, is_trial=True)
                missing.append(name)
        return tuple(missing)


def check_same(resource: Mapping[str, Any], there: Rollout) -> None:
    """Refuse a rollout of the same name that says something else."""
    place = _difference(resource["spec"], there.spec, "spec")
    if place:
        raise PlanUnusable(
            f"rollout {there.name} is there already, and its {place} is another. "
            "Give the plan another name with --name, or delete the old rollouts once they have ended."
        )


def _difference(wanted: Any, found: Any, place: str) -> str:
    """The first place where what is there is not what is wanted; what was filled in or added since is no matter."""
    if place == "spec.paused":
        return ""  # whether it goes on is said later, and by others
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        parts = (_difference(wanted[key], found.get(key), f"{place}.{key}") for key in wanted)
        return next((each for each in parts if each), "")
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        parts = (_difference(one, other, f"{place}[{number}]") for number, (one, other) in pairs)
        return next((each for each in parts if each), "")
    return "" if wanted == found else place


async def _create(args: argparse.Namespace, resources: Sequence[dict[str, Any]]) -> None:
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.shapes import keys

    async with rollout_pick.connect(args) as client:
        for number, resource in enumerate(resources):
            try:
                await client.create(keys.ROLLOUTS, resource, dict)
            except errors.ClusterError as err:
                left = ", ".join(each["metadata"]["name"] for each in resources[number:])
                raise PlanUnusable(f"{err} Not created: {left}. The same command again completes it.") from err


# ── what is said ─────────────────────────────────────────────────────────────────────────────────────────────────────


def preview(chain: Chain, data: Mapping[str, Any], missing: frozenset[str], *, has_source: bool) -> Iterator[str]:
    """What would happen, step by step."""
    count = len(chain.moves)
    yield f"Plan      {data.get('from', '?')} to {data.get('to', '?')}: {count} rollouts, one after the other"
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
    if output == "json":
        print(json.dumps(list(chain.resources), indent=2, ensure_ascii=False))
        return
    for name in chain.names:
        told = f"gpurollout.seatrial.dev/{name}"
        print(told if output == "name" or not what else f"{told} {what}")
