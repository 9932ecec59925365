"""Where a matrix lives, as the controller uses it: looked at from time to time, and written to when a campaign says so.

    GitHome        a branch of a repository: look is one fetch, every step is one commit, promotion brings a tag
    ConfigMapHome  an object of the cluster: look is one read, every step is one write that notes itself beside the text

Law of this file: a home tries once and says how it went; whether and when to try again is decided elsewhere. What a
look shows are facts: what they mean is decided elsewhere too. Blocking work runs in a thread. Tests:
tests/controller/test_homes.py, tests/e2e/
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from seatrial.adapters.files import matrix_edit, published
from seatrial.adapters.files.matrix_yaml import read_matrix
from seatrial.adapters.git.errors import RevertConflict
from seatrial.adapters.git.repository import Look, NewTag, Repository
from seatrial.adapters.kube import config_maps, errors
from seatrial.adapters.kube.client import Client
from seatrial.core.actions import HomeAct, MarkBad, Promote, Publish, RevertCommits
from seatrial.core.campaign import CampaignRecord, PublishStep, SourceFacts
from seatrial.core.commit_messages import message_of, tag_message
from seatrial.core.errors import SeatrialError
from seatrial.core.intent import Intent
from seatrial.core.matrix import Component, Role, role_of
from seatrial.core.snapshot import Instant

BAD_LENGTH_MAX: Final = 300
"""How much of the evidence goes into the matrix; the commit has all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What an act has to know of its campaign to say what it does, and why."""

    intent: Intent
    record: CampaignRecord


class Home(Protocol):
    """Where a matrix lives."""

    async def look(self, now: Instant) -> SourceFacts:
        """What is there; a SeatrialError when it cannot be looked at."""
        ...

    async def do(self, act: HomeAct, standing: Standing, /) -> None:
        """Write once; a SeatrialError says why not."""
        ...


class CannotPublish(SeatrialError):  # noqa: N818
    """A home that has no place for what is to be published."""


# ── a repository ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlaces:
    """Where things are in a repository."""

    matrix: str = ""
    """The matrix's path; empty where the target does not come from a matrix here."""
    entry: str = ""
    published: str = ""
    """The path of the file that is brought into the cluster; empty where nothing is published by commit."""
    pinned: str = ""
    is_by_request: bool = False
    """Whether the branch is protected, and changes are proposed for a person to merge."""


class GitHome:
    """A branch of a repository."""

    def __init__(self, repository: Repository, *, rollout: str, places: GitPlaces) -> None:
        self._repository = repository
        self._rollout = rollout
        self._places = places
        self._conflict = ""
        self._proposed: dict[PublishStep, str] = {}

    async def look(self, now: Instant) -> SourceFacts:
        return await asyncio.to_thread(self._look, now)

    def _look(self, now: Instant) -> SourceFacts:
        seen = self._repository.look(rollout=self._rollout, pinned=self._places.pinned)
        text = self._repository.text_at(seen.head, self._places.matrix) if self._places.matrix else None
        driver, bad, problem = _entry_of(text, self._places) if self._places.matrix else ("", "", "")
        steps = _steps(seen)
        return SourceFacts(
            since=now,
            head=seen.head,
            problem=problem,
            driver=driver,
            bad=bad,
            is_rewritten=seen.is_pinned_kept is False,
            steps=steps,
            proposals=tuple((step, text) for step, text in self._proposed.items() if step not in dict(steps)),
            conflict="" if any(step is PublishStep.REVERT for step, _ in steps) else self._conflict,
            tag=seen.tags[-1].name if seen.tags else "",
        )

    async def do(self, act: HomeAct, standing: Standing, /) -> None:
        try:
            await asyncio.to_thread(self._do, act, standing)
        except RevertConflict as err:
            self._conflict = str(err)
            raise

    def _do(self, act: HomeAct, standing: Standing) -> None:
        message = message_of(act, standing.intent, standing.record)
        tag = None
        if isinstance(act, Promote):
            tag = NewTag(base=act.tag_base, message=tag_message(standing.intent, standing.record))
        rollout, step, subject, body = self._rollout, act.step.value, message.subject, message.body
        # What a person has merged meanwhile is found below, and only what is missing beside it (a tag) is added.
        if self._places.is_by_request and not self._is_merged(act):
            commits = act.commits if isinstance(act, RevertCommits) else ()
            edits = None if commits else self._edits(act)
            asked = self._repository.propose(
                rollout=rollout, step=step, subject=subject, body=body, edits=edits, commits=commits
            )
            self._proposed[act.step] = asked.text
        elif isinstance(act, RevertCommits):
            self._repository.revert(rollout=rollout, step=step, commits=act.commits, subject=subject, body=body)
        else:
            self._repository.commit(
                rollout=rollout, step=step, edits=self._edits(act), subject=subject, body=body, tag=tag
            )

    def _is_merged(self, act: HomeAct) -> bool:
        seen = self._repository.look(rollout=self._rollout)
        return any(each.step == act.step.value for each in seen.commits)

    def _edits(self, act: HomeAct) -> Mapping[str, Callable[[str | None], str]]:
        path = self._places.matrix
        match act:
            case Publish(versions=versions):
                if not self._places.published:
                    raise CannotPublish("The rollout names no file to publish to: set spec.publish.git.path.")
                return {self._places.published: partial(_carrying, versions, self._places.published)}
            case Promote(date=date):
                return {path: lambda text: matrix_edit.promote(text or "", deployed=date, file=path)}
            case MarkBad(why=why):
                role = role_of(self._places.entry) or Role.CANARY
                return {path: lambda text: matrix_edit.mark_bad(text or "", role, _cut(why), file=path)}
        raise CannotPublish("A revert undoes commits, and edits nothing.")


def _carrying(versions: tuple[tuple[str, str], ...], path: str, text: str | None) -> str:
    """The published file with these versions in it. A values file has one place for all."""
    edited = text or ""
    for resource, version in versions:
        named = resource if published.driver_version(edited, resource) is not None else "values"
        edited = published.set_driver_version(edited, named, version, file=path)
    return edited


def _steps(seen: Look) -> tuple[tuple[PublishStep, str], ...]:
    known = frozenset(PublishStep)
    return tuple((PublishStep(each.step), each.sha) for each in seen.commits if each.step in known)


def _entry_of(text: str | None, places: GitPlaces) -> tuple[str, str, str]:
    """The entry's driver, why it is bad if it is, and what keeps it from being read."""
    if text is None:
        return "", "", f"{places.matrix} is not there any more"
    reading = read_matrix(text, places.matrix)
    role = role_of(places.entry)
    if reading.matrix is None:
        first = reading.findings[0] if reading.findings else None
        return "", "", f"{places.matrix} cannot be read: {first.message if first else 'it is empty'}"
    entry = reading.matrix.entries.get(role) if role is not None else None
    if entry is None:
        return "", "", f"{places.matrix} has no entry {places.entry!r} any more"
    driver = entry.stack[Component.GPU_DRIVER]
    return (driver.text if driver is not None else ""), entry.bad, ""


def _cut(text: str) -> str:
    return text if len(text) <= BAD_LENGTH_MAX else f"{text[: BAD_LENGTH_MAX - 1]}…"


# ── a ConfigMap ──────────────────────────────────────────────────────────────────────────────────────────────────────

STEPS_ANNOTATION: Final = "seatrial.dev/steps"
"""What was done to the matrix of this ConfigMap, by rollout: there is no history to look it up in."""


BEFORE_ANNOTATION: Final = "seatrial.dev/before-promotion"
"""The whole text as it was before its promotion: there is nothing else to go back to."""
DATE_NOTE: Final = "date"


class ConfigMapHome:
    """An object of the cluster."""

    def __init__(self, client: Client, *, rollout: str, namespace: str, name: str, key: str, entry: str) -> None:
        self._client = client
        self._rollout = rollout
        self._namespace, self._name, self._key = namespace, name, key
        self._places = GitPlaces(matrix=f"ConfigMap {namespace}/{name}, {key}", entry=entry)

    async def look(self, now: Instant) -> SourceFacts:
        try:
            found = await config_maps.read(self._client, self._namespace, self._name)
        except errors.NotFound:
            return SourceFacts(since=now, problem=f"{self._places.matrix} is not there any more")
        driver, bad, problem = _entry_of(found.data.get(self._key), self._places)
        notes = _notes(found, self._rollout)
        known = frozenset(PublishStep)
        return SourceFacts(
            since=now,
            head=found.metadata.resource_version,
            driver=driver,
            bad=bad,
            problem=problem,
            steps=tuple((PublishStep(step), text) for step, text in notes.items() if step in known),
            tag=notes.get(PublishStep.PROMOTION, ""),
        )

    async def do(self, act: HomeAct, _standing: Standing, /) -> None:
        found = await config_maps.read(self._client, self._namespace, self._name)
        text = found.data.get(self._key, "")
        kept = found.metadata.annotations.get(BEFORE_ANNOTATION, "")
        match act:
            case Promote(date=date, tag_base=tag):
                kept, edited, note = text, matrix_edit.promote(text, deployed=date, file=self._places.matrix), tag
            case RevertCommits():
                edited, note, kept = self._before_promotion(text, kept, found), "reverted", ""
            case MarkBad(why=why):
                role = role_of(self._places.entry) or Role.CANARY
                edited, note = matrix_edit.mark_bad(text, role, _cut(why), file=self._places.matrix), "marked"
            case Publish():
                raise CannotPublish("A ConfigMap has no commits: publish directly, or keep the matrix in Git.")
        notes = {**_notes(found, self._rollout), act.step.value: note}
        notes |= {DATE_NOTE: act.date} if isinstance(act, Promote) else {}
        noted = {STEPS_ANNOTATION: json.dumps({self._rollout: notes}), BEFORE_ANNOTATION: kept}
        await config_maps.write(self._client, found, {self._key: edited}, noted)

    def _before_promotion(self, text: str, kept: str, found: config_maps.ConfigMap) -> str:
        """The text to go back to, if nobody has changed the matrix since it was promoted."""
        date = _notes(found, self._rollout).get(DATE_NOTE, "")
        if not kept or matrix_edit.promote(kept, deployed=date, file=self._places.matrix) != text:
            raise CannotPublish(
                f"{self._places.matrix} was changed after its promotion, so it cannot be taken back by a machine. "
                "Put the entries right by hand, then go on."
            )
        return kept


def _notes(found: config_maps.ConfigMap, rollout: str) -> dict[str, str]:
    """What this rollout has done here; an annotation that somebody else wrote says nothing."""
    try:
        notes = json.loads(found.metadata.annotations.get(STEPS_ANNOTATION, "{}")).get(rollout, {})
        return {str(step): str(text) for step, text in notes.items()}
    except (ValueError, AttributeError):
        return {}
