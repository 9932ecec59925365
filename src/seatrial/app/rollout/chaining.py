"""A plan as rollouts: one for each of its steps, one after the other.

Law of this file: every rollout is judged by the API server before the first is created. Names come from the plan, so
that a start that was cut short is completed by the same wish; what stands there under such a name and says something
else is an error, never overwritten. Tests: tests/cli/test_rollout_plan.py, tests/e2e/test_plan_steps.py
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from seatrial.app import picking
from seatrial.app.errors import CalledWrongly
from seatrial.app.matrix import knowing, plan_document, planning
from seatrial.app.matrix.plan_document import PlanUnusable
from seatrial.app.rollout import resource, starting, targeting
from seatrial.core.base.values import dataclass, replace

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.picking import Rollout
    from seatrial.app.rollout.options import Goal, StartOptions
    from seatrial.app.rollout.targeting import RolloutTarget
    from seatrial.core.compat.facts import Facts
    from seatrial.core.compat.matrix import Component
    from seatrial.core.compat.plan.rollouts import Move

NAME_MAX: Final = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The rollouts of a plan, in order."""

    moves: tuple[Move, ...]
    resources: tuple[dict[str, Any], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each["metadata"]["name"] for each in self.resources)


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def target_of(asked: StartOptions, on: date) -> RolloutTarget | None:
    """The entry behind the plan, judged; None where a plan was given and no repository behind it."""
    goal = asked.goal
    if goal.plan and not goal.git:
        return None
    wanted = replace(goal, entry=goal.to or goal.entry)
    if not goal.git:
        from seatrial.adapters.files.matrix_file import find_matrix

        wanted = replace(wanted, matrix=str(find_matrix(goal.matrix, Path.cwd())))
    return targeting.read(wanted, None, asked.name or "seatrial", on, asked.facts)


def plan_of(asked: StartOptions, target: RolloutTarget | None, on: date) -> dict[str, Any]:
    """The plan that was given, or else the way to the entry, as `seatrial plan --to` finds it."""
    if asked.goal.plan:
        return plan_document.read_plan(asked.goal.plan)
    from seatrial.adapters.files import matrix_file
    from seatrial.adapters.files.matrix_yaml import read_matrix

    git = (_matrix(target) or {}).get("git")
    way = planning.PlanOptions(goal=asked.goal.to, on=on, facts=asked.facts)
    if git:
        matrix = read_matrix(_text_at(git), f"{git['path']}@{git['commit'][:12]}").matrix
    else:
        path = matrix_file.find_matrix(asked.goal.matrix, Path.cwd())
        matrix, way = matrix_file.load_matrix(path).reading.matrix, planning.with_beside(path, way)
    if matrix is None:
        raise PlanUnusable("the matrix cannot be read; `seatrial check` says why.")
    planned = planning.plan(matrix, way)
    if isinstance(planned, planning.Unreadable):
        raise PlanUnusable("your own rules cannot be read; `seatrial check` says why.")
    return plan_document.as_data(planned)


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


def _matrix(target: RolloutTarget | None) -> dict[str, Any] | None:
    return target.matrix if target is not None else None


def promoted(target: RolloutTarget | None) -> dict[str, Any] | None:
    """The matrix whose entry the last step promotes: that of a canary, and of no other."""
    return _matrix(target) if target is not None and target.role == targeting.CANARY else None


# ── its rollouts ─────────────────────────────────────────────────────────────────────────────────────────────────────


def chain_of(asked: StartOptions, data: Mapping[str, Any], target: RolloutTarget | None, on: date) -> Chain:
    """The rollouts of a plan: each waits for the one before it, and the last one promotes the entry."""
    from seatrial.core.compat.matrix import Component
    from seatrial.core.compat.plan.rollouts import moves_of

    legs = plan_document.legs_of(data)
    running = plan_document.stack_of(data.get("running") or {})
    facts, _ = knowing.known(asked.facts)
    moves = moves_of(legs, running, lambda stack: _failing(stack, facts, on))
    _check_moves(moves)
    wanted = legs[-1].stack.get(Component.GPU_DRIVER, "") if legs else ""
    if target is not None and legs and target.driver != wanted:
        raise PlanUnusable(
            f"the plan leads to driver {wanted or '(none)'}, and entry {target.entry} says {target.driver}. "
            "Plan again: the matrix has changed since."
        )
    name = asked.name or default_name(data)
    names = [_name_of(name, number, len(moves), move) for number, move in enumerate(moves, 1)]
    resources = tuple(
        resource.resource_of(
            names[number],
            spec_of(
                asked,
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
                f"other is forbidden both ways by {', '.join(move.doubt)}. Move them together yourself, then "
                "plan again."
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
    what = "driver" if move.change.component.value == "gpu_driver" else move.change.component.value.replace("_", "-")
    found = f"{name}-{number:0{len(str(count))}d}-{what}"
    if len(found) > NAME_MAX:
        raise CalledWrongly(f"{found} is too long for a name, {NAME_MAX} at most; give a shorter --name.")
    return found


def spec_of(
    asked: StartOptions, move: Move, *, after: str, target: RolloutTarget | None, is_last: bool
) -> dict[str, Any]:
    """The spec of one rollout; what is said of the start goes for every step."""
    spec = resource.spec_of(
        asked,
        move.driver,
        beside=move.beside,
        matrix=promoted(target) if is_last else None,
        gates=starting.gates_of(asked),
        canary_node=target.canary_node if target is not None else "",
    )
    if after:
        spec["after"] = after
        spec.pop("paused", None)  # it waits in any case
    if move.is_ours:
        return _with_repository(spec if move.beside else _without_strategy(spec), asked.goal)
    for key in ("publish", "mode", "prepull"):
        spec.pop(key, None)
    by_hand: dict[str, Any] = {"component": move.change.component.value, "version": move.change.after}
    if move.change.before:
        by_hand["before"] = move.change.before
    if move.is_one_way:
        by_hand["oneWay"] = True
    return {**spec, "publish": {"via": "none"}, "byHand": {**by_hand, "instructions": move.instructions}}


def _without_strategy(spec: dict[str, Any]) -> dict[str, Any]:
    """A step that moves no operand leaves their DaemonSets as they are."""
    publish = {key: value for key, value in (spec.get("publish") or {}).items() if key != "setOnDelete"}
    return {**spec, "publish": publish} if publish else {key: value for key, value in spec.items() if key != "publish"}


def _with_repository(spec: dict[str, Any], goal: Goal) -> dict[str, Any]:
    """Say where commits go, on a step that has no matrix to say it."""
    where = (spec.get("publish") or {}).get("git")
    if where is None or "matrix" in spec or "url" in where:
        return spec
    branch = where.get("branch") or goal.branch
    told = {**where, "url": goal.git, **({"branch": branch} if branch else {})}
    return {**spec, "publish": {**spec["publish"], "git": told}}


# ── creating ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def missing_of(cluster: Cluster, chain: Chain) -> tuple[str, ...]:
    """The names that are not there yet, once the API server has judged them; one that says otherwise is an error."""
    from seatrial.adapters.kube.shapes import keys

    async with cluster.client() as client:
        taken = {each.name: each for each in await picking.all_of(client)}
        missing = []
        for each in chain.resources:
            name = each["metadata"]["name"]
            if name in taken:
                check_same(each, taken[name])
            else:
                await client.create(keys.ROLLOUTS, each, dict, is_trial=True)
                missing.append(name)
        return tuple(missing)


def check_same(wanted: Mapping[str, Any], there: Rollout) -> None:
    """Refuse a rollout of the same name that says something else."""
    place = _difference(wanted["spec"], there.spec, "spec")
    if place:
        raise PlanUnusable(
            f"rollout {there.name} already exists, and its {place} differs. "
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


async def create(cluster: Cluster, chain: Chain, missing: Sequence[str]) -> None:
    """Create what is not there yet, in order."""
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.shapes import keys

    wanted = [each for each in chain.resources if each["metadata"]["name"] in missing]
    async with cluster.client() as client:
        for number, each in enumerate(wanted):
            try:
                await client.create(keys.ROLLOUTS, each, dict)
            except errors.ClusterError as err:
                left = ", ".join(other["metadata"]["name"] for other in wanted[number:])
                raise PlanUnusable(f"{err} Not created: {left}. The same command again completes it.") from err
