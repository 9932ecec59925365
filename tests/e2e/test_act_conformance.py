"""Every act does on a real API server what World believes it does, field by field; and this suite would notice if not.

The cases are in tests/scenarios/acts.py, how two stages are compared in two_stages.py beside it. Each act is done
twice: the second time it believes what is no longer so, and both stages have to refuse it, or not, alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from seatrial.adapters.kube.reading import pools
from seatrial.adapters.kube.shapes import keys, marking, publishing, records, rollout_records
from seatrial.sim.nodes import Fate
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.controller.git_stage import a_machine_of_its_own
from tests.e2e.act_stage import ActStage, furnished, opened
from tests.scenarios.acts import CASES, FIRST, SECOND, Case, Setting
from tests.scenarios.two_stages import Twice, acted, play

pytestmark = pytest.mark.cluster

TRIES_MAX = 10
"""The cluster's own controllers write on nodes, too: an act that was overtaken by them is played anew."""


@pytest.fixture(scope="module")
def place(plane: ControlPlane) -> Iterator[ControlPlane]:
    with furnished(plane) as made:
        yield made


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_machine_of_its_own(tmp_path, monkeypatch)


def fates_of(setting: Setting) -> Mapping[str, Fate]:
    fate = Fate(is_eviction_blocked=setting.is_guarded, is_work_unsaved=setting.is_unsaved)
    return dict.fromkeys((FIRST, SECOND), fate)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a case ended: what its act came to in World, the first and the second time, and whatever differs."""

    world: Any
    told: tuple[str, ...]


async def played(stage: ActStage, case: Case, other: str = "") -> End:
    """Play a case, with one field said differently where one is named, and its act twice."""
    for _ in range(TRIES_MAX):
        await stage.lay_out(case.setting)
        twice = Twice(case.built(other))
        deeds = (*map(acted, case.setting.before), *twice.deeds[: 1 + case.is_repeated])
        ends = await play(stage, deeds, fates_of(case.setting))
        if not ends[-1].is_overtaken:
            break
    told = [f"{other or 'as it is'}: {line}" for end in ends for line in end.differences]
    for name, landing in case.lands.items():
        if not told and other in ("", name):
            found, says = await landing.found(stage, twice.on_cluster), landing.says(twice.on_cluster)
            told += [f"{name}: the act says {says!r}, and {found!r} is found"] if found != says else []
    return End(world=tuple(end.world for end in ends), told=tuple(told))


async def ends_of(place: ControlPlane, folder: Path, case: Case) -> dict[str, End]:
    """Play a case as it is, and with each of its fields said differently; what is in a repository needs a new one."""
    if not case.setting.has_repository:
        async with opened(place, folder) as stage:
            return {other: await played(stage, case, other) for other in ("", *case.varies)}
    ends = {}
    for other in ("", *case.varies):
        name = f"act-{(other or 'plain').replace('_', '-')}"
        async with opened(place, folder, rollout=name, has_repository=True) as stage:
            ends[other] = await played(stage, case, other)
    return ends


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
async def test_an_act_does_on_the_api_server_what_it_does_in_world_field_by_field(
    place: ControlPlane, tmp_path: Path, case: Case
) -> None:
    ends = await ends_of(place, tmp_path, case)
    told = [line for end in ends.values() for line in end.told]
    assert not told, "\n".join((case.name, *told))
    idle = [other for other in case.varies if ends[other].world == ends[""].world and other not in case.lands]
    assert not idle, f"{case.name}: what these fields say makes no difference: {idle}"


# ── would it be noticed? ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """Something of an act that an adapter forgets, and what the case that has it then tells."""

    name: str
    place: ModuleType
    function: str
    forgets: Callable[..., Any]
    """Gets what the real function gives."""
    case: str
    told: tuple[str, ...]


def _without(*path: str) -> Callable[[Any], Any]:
    """Takes one entry out of a patch, which has to be there."""

    def forgets(patch: Any) -> Any:
        inner = patch
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        return patch

    return forgets


MUTATIONS = (
    Mutation(
        name="a retry",
        place=marking,
        function="mark_patch",
        forgets=_without("metadata", "labels", keys.NVIDIA_STATE_LABEL),
        case="MarkNode takes away, and asks for another try",
        told=(f"nodes.{FIRST}.facts.nvidia_state: World shows 'upgrade-required', the cluster 'upgrade-failed'",),
    ),
    Mutation(
        name="whose skip label it is",
        place=marking,
        function="mark_patch",
        forgets=_without("metadata", "annotations", keys.SKIPPED_BY_ANNOTATION),
        case="MarkNode sets",
        told=(f"nodes.{FIRST}.facts.skipped_by: World shows 'act-conformance', the cluster ''",),
    ),
    Mutation(
        name="an answer",
        place=records,
        function="node_patch",
        forgets=_without("metadata", "annotations", keys.ACCEPT_LOSS_ANNOTATION),
        case="Cordon",
        told=(f"nodes.{FIRST}.facts.is_loss_accepted: World shows False, the cluster True",),
    ),
    Mutation(
        name="a field of the status",
        place=rollout_records,
        function="rollout_patch",
        forgets=_without("status", "lostGpuSeconds"),
        case="WriteRolloutRecord",
        told=("rollout.lost_gpu_seconds: World shows 12.5, the cluster 0.0",),
    ),
    Mutation(
        name="what a write believed",
        place=pools,
        function="pause_patch",
        forgets=_without("metadata", "resourceVersion"),
        case="PausePool",
        told=("result: World shows 'stale', the cluster 'done'",),
    ),
    Mutation(
        name="what the write of a release believed",
        place=publishing,
        function="_bound",
        forgets=lambda _: {},
        case="Publish a release into a HelmRelease",
        told=("result: World shows 'stale', the cluster 'done'",),
    ),
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name.replace(" ", "-"))
async def test_a_patch_that_forgets_something_is_told_by_the_case_that_has_it(
    place: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutation: Mutation
) -> None:
    real = getattr(mutation.place, mutation.function)
    monkeypatch.setattr(mutation.place, mutation.function, lambda *args, **kw: mutation.forgets(real(*args, **kw)))
    (case,) = (case for case in CASES if case.name == mutation.case)
    async with opened(place, tmp_path) as stage:
        end = await played(stage, case)
    assert end.told == tuple(f"as it is: {line}" for line in mutation.told)
