"""A matrix in an object of the cluster. It has no history, so what was done, and what was there before, is noted there.

    annotation                     what it says
    seatrial.dev/steps             {rollout: {step: note, ...}, ...} of the last few rollouts
    seatrial.dev/before-promotion  the lines that the last promotion changed, as they were, until that is taken back

Not the whole text: all annotations of an object have room for 256 KiB, and its data for four times as much.

Law of this file: a step and its note are one write, bound to the version that was read; so a crash or a second
controller never does a step twice. Nothing is published from here. A long text is worked on beside the loop.

Tests: tests/controller/test_homes.py
"""

from __future__ import annotations

import asyncio
import json
from typing import Final, assert_never

from seatrial.adapters.files.matrix_edit import EditRefused
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.writing import config_maps
from seatrial.controller import matrix_text
from seatrial.controller.homes import CannotWrite
from seatrial.controller.matrix_text import MatrixPlace
from seatrial.core.actions.at_home import HomeAct, MarkBad, Promote, Publish, RequestAct, RevertCommits
from seatrial.core.model.campaign import PublishStep, SourceFacts
from seatrial.core.model.instants import Instant

STEPS_ANNOTATION: Final = "seatrial.dev/steps"
BEFORE_ANNOTATION: Final = "seatrial.dev/before-promotion"
ROLLOUTS_MAX: Final = 5
"""How many rollouts are remembered; of older ones nothing can be taken back by us."""

_DATE: Final = "date"
_STEPS: Final = frozenset(PublishStep)


class ConfigMapHome:
    """An object of the cluster."""

    def __init__(self, client: Client, *, rollout: str, namespace: str, name: str, key: str, entry: str) -> None:
        self._client = client
        self._rollout = rollout
        self._namespace, self._name, self._key = namespace, name, key
        self._place = MatrixPlace(file=f"ConfigMap {namespace}/{name}, {key}", entry=entry)
        self._is_gone_for_good = False
        """There was nothing to mark as bad, because the object is not there."""

    async def look(self, now: Instant) -> SourceFacts:
        try:
            found = await config_maps.read(self._client, self._namespace, self._name)
        except errors.NotFound:
            steps = ((PublishStep.BAD, "gone"),) if self._is_gone_for_good else ()
            return SourceFacts(since=now, problem=f"{self._place.file} is gone", steps=steps)
        self._is_gone_for_good = False
        entry = await asyncio.to_thread(matrix_text.look_at, found.data.get(self._key), self._place)
        notes = _all_notes(found).get(self._rollout, {})
        return SourceFacts(
            since=now,
            head=found.metadata.resource_version,
            driver=entry.driver,
            parts=entry.parts,
            bad=entry.bad,
            problem=entry.problem,
            steps=tuple((PublishStep(step), note) for step, note in notes.items() if step in _STEPS),
            tag=notes.get(PublishStep.PROMOTION, ""),
        )

    async def do(self, act: HomeAct, /) -> None:
        if isinstance(act, Publish | RequestAct):
            raise CannotWrite("A ConfigMap has no commits. Publish directly, or name a repository in publish.git.url.")
        try:
            found = await config_maps.read(self._client, self._namespace, self._name)
        except errors.NotFound:
            if isinstance(act, Promote):
                raise
            self._is_gone_for_good = True  # nothing is left that could be marked or taken back
            return
        changed = await asyncio.to_thread(self._changed, act, found)
        if changed is not None:
            await config_maps.write(self._client, found, *changed)

    def _changed(
        self, act: Promote | RevertCommits | MarkBad, found: config_maps.ConfigMap
    ) -> tuple[dict[str, str], dict[str, str | None]] | None:
        """The data and the annotations that an act writes; None where it was done already."""
        notes = _all_notes(found)
        mine = notes.get(self._rollout, {})
        if act.step.value in mine:
            return None
        text = found.data.get(self._key, "")
        before: dict[str, str | None] = {}
        match act:
            case Promote(date=date, tag_base=tag):
                edited = text if matrix_text.is_promoted(text, self._place) else self._promoted(text, date)
                before = {BEFORE_ANNOTATION: matrix_text.undo_of(text, edited) if edited != text else None}
                mine = {**mine, act.step.value: tag, _DATE: date}
            case RevertCommits(driver=driver):
                edited = self._before_promotion(found, text, mine, driver)
                before = {BEFORE_ANNOTATION: None} if PublishStep.PROMOTION in mine else {}
                mine = {**mine, act.step.value: "reverted"}
            case MarkBad(why=why, driver=driver):
                edited = matrix_text.marked_bad(text, why, driver, self._place) if text else text
                mine = {**mine, act.step.value: "marked" if edited != text else "nothing to mark"}
            case _:
                assert_never(act)
        others = [each for each in notes.items() if each[0] != self._rollout][-(ROLLOUTS_MAX - 1) :]
        noted = {STEPS_ANNOTATION: json.dumps({**dict(others), self._rollout: mine}), **before}
        return {self._key: edited} if edited != text else {}, noted

    def _promoted(self, text: str, date: str) -> str:
        return matrix_text.promoted(text, date, self._place)

    def _before_promotion(self, found: config_maps.ConfigMap, text: str, mine: dict[str, str], target: str) -> str:
        """The text to go back to: as it is, where production does not name our driver or never did through us."""
        note = found.metadata.annotations.get(BEFORE_ANNOTATION, "")
        is_ours = PublishStep.PROMOTION in mine and bool(note)
        if not is_ours or not matrix_text.is_in_production(text, target, self._place.file):
            return text
        kept = matrix_text.undone(text, note)
        try:
            if kept is not None and self._promoted(kept, mine.get(_DATE, "")) == text:
                return kept
        except EditRefused:  # the note was edited; then nobody can say that the text is as we left it
            pass
        raise CannotWrite(
            f"{self._place.file} was changed after its promotion, so we cannot revert that. Give production its "
            f"old versions yourself, in place of {target}; it continues from there."
        )


def _all_notes(found: config_maps.ConfigMap) -> dict[str, dict[str, str]]:
    """What rollouts have done here; an annotation that somebody else wrote says nothing."""
    try:
        notes = json.loads(found.metadata.annotations.get(STEPS_ANNOTATION, "{}"))
        return {
            str(rollout): {str(step): str(note) for step, note in steps.items()} for rollout, steps in notes.items()
        }
    except (ValueError, AttributeError):
        return {}
