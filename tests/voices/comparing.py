"""Whether voices contradict each other: each claim of each subject has one value, and a few claims rule others out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from seatrial.core.node.progress import is_same
from tests.voices import of_kubectl, of_others, of_status, of_why
from tests.voices.said import Claim, Said
from tests.voices.voices import Voices

SPEAKING = (
    of_kubectl.columns,
    of_kubectl.conditions,
    of_kubectl.counts,
    of_status.document,
    of_status.lines,
    of_why.rollout,
    of_why.nodes,
    of_others.report,
    of_others.metrics,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two voices that cannot both be right."""

    claim: Claim
    one: Said
    other: Said

    def __str__(self) -> str:
        of = f" {self.one.of}" if self.one.of else ""
        return f"{self.claim}{of}\n    {self.one}\n    {self.other}"


def said(voices: Voices) -> Iterator[Said]:
    """Everything that is claimed."""
    return chain.from_iterable(speak(voices) for speak in SPEAKING)


def contradictions(voices: Voices, *, without: Collection[Claim] = ()) -> list[Contradiction]:
    """The first other value of each claim; nothing where all agree."""
    claims = (each for each in said(voices) if each.claim not in without)
    return [*_unequal(claims), *_more_done_than_run(voices), *_waiting_otherwise(voices)]


def _unequal(claims: Iterable[Said]) -> Iterator[Contradiction]:
    by_subject: dict[tuple[Claim, str], list[Said]] = defaultdict(list)
    for each in claims:
        by_subject[each.claim, each.of].append(each)
    for (claim, _), told in by_subject.items():
        values: dict[object, Said] = {}
        for each in told:
            values.setdefault(each.value, each)
        first, *others = values.values()
        yield from (Contradiction(claim=claim, one=first, other=other) for other in others)


def _more_done_than_run(voices: Voices) -> Iterator[Contradiction]:
    """A node that is done runs the target: its driver pod is Ready, and of that version."""
    target, done = voices.status_data["rollout"]["target"], voices.status_data["rollout"]["done"]
    running = [
        name
        for name, data in voices.nodes_data.items()
        if data["driverReady"] and is_same(data["driver"], target.partition(",")[0])
    ]
    if target and done > len(running):
        one = Said(voice="status -o json", claim=Claim.DONE, value=done)
        other = Said(voice="why NODE -o json of every node", claim=Claim.DONE, value=len(running), words=f"{running}")
        yield Contradiction(claim=Claim.DONE, one=one, other=other)


def _waiting_otherwise(voices: Voices) -> Iterator[Contradiction]:
    """Where `status` names a node among those that wait for a reason, `why NODE` gives one of these reasons."""
    named: dict[str, set[str]] = defaultdict(set)
    for each in voices.status_data["holds"]:
        for name in each["nodes"]:
            named[name].add(each["code"])
    for name, data in voices.nodes_data.items():
        code = data["hold"]["code"] if data["hold"] else ""
        is_nothing = any("there is nothing to do" in line for line in voices.nodes[name])
        if name in named and (code not in named[name] or is_nothing):
            one = Said(voice="status -o json", claim=Claim.NODE_WAITS, of=name, value=frozenset(named[name]))
            words = next((line for line in voices.nodes[name] if line.startswith("Answer")), "")
            other = Said(voice=f"why {name}", claim=Claim.NODE_WAITS, of=name, value=code, words=words)
            yield Contradiction(claim=Claim.NODE_WAITS, one=one, other=other)
