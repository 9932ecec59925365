"""What `kubectl` shows claims: the columns of `get -o wide`, and the conditions of the object."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator

from tests.voices.said import CODES, OVER, PHASES, Claim, Said
from tests.voices.voices import Voices


def columns(voices: Voices) -> Iterator[Said]:
    """The row of `kubectl get -o wide`."""
    row = voices.columns
    if not row:
        return
    phase = row["PHASE"]
    yield _column("TARGET", Claim.TARGET, row["TARGET"])
    yield _column("STATE", Claim.STATE, row["STATE"])
    if phase in PHASES:
        is_campaign = bool(row["MODE"])
        if is_campaign:
            yield _column("PHASE", Claim.PHASE, phase)
    if phase != "Waiting":
        yield _column("PHASE", Claim.OVER, phase in OVER)
    failed, _, names = row["FAILED"].partition(" ")
    yield _column("FAILED", Claim.FAILED, int(failed or 0))
    if names and " more" not in names:
        yield _column("FAILED", Claim.FAILED_NAMES, frozenset(names.strip("()").split(", ")))
    if phase not in OVER and int(failed or 0):
        yield _column("FAILED", Claim.LEFT_KNOWN, value=False)  # it waits for a person, and nobody knows how long
    if phase in OVER:
        yield _column("PHASE and FAILED", Claim.GREEN, phase == "Done" and failed in ("", "0"))
    done, _, total = row["DONE"].partition("/")
    yield _column("DONE", Claim.DONE, int(done))
    yield _column("DONE", Claim.TOTAL, int(total))
    if row["WHY"]:
        yield _column("WHY", Claim.CAUSE, _code_of(voices, row["WHY"]), row["WHY"])
    if row["WAVE"]:
        yield _column("WAVE", Claim.WAVE, int(row["WAVE"]))
    if row["CANARY"]:
        yield _column("CANARY", Claim.CANARIES, frozenset(re.findall(r"[\w.-]+", row["CANARY"])))
    if row["MODE"]:
        yield _column("MODE", Claim.MODE, row["MODE"])


def _column(head: str, claim: Claim, value: Hashable, words: str = "") -> Said:
    return Said(voice=f"kubectl get, {head}", claim=claim, value=value, words=words)


def _code_of(voices: Voices, text: str) -> str:
    """The reason that a cut sentence is of, by the words that `status` has for each; a node's begins with its name."""
    words = re.sub(r"^\S+( and \d+ more)?: (?=\S)", "", text.rstrip("…"))
    texts = ((each, each["why"].replace("\n", " ")) for each in voices.status_data["holds"])
    held = [each for each, why in texts if why.startswith((words, text.rstrip("…")))]
    return held[0]["code"] if held else f"none that `status` knows: {text}"


def conditions(voices: Voices) -> Iterator[Said]:
    """The conditions, for `kubectl wait`, dashboards and tools that know kstatus."""
    found = voices.conditions
    if not found:
        return
    for kind, claims in (("Progressing", _progressing), ("Healthy", _healthy), ("Ended", _ended), ("Ready", _ready)):
        condition = found[kind]
        for claim, value in claims(voices, condition["status"], condition["reason"], condition["message"]):
            yield Said(voice=f"condition {kind}", claim=claim, value=value, words=condition["message"])
    is_over = found["Ended"]["status"] == "True"
    is_stalled = found.get("Stalled", {}).get("status") == "True"
    if is_stalled and not is_over:
        yield Said(voice="condition Stalled", claim=Claim.PERSON, value=True, words=found["Stalled"]["message"])
    elif "Reconciling" in found:
        yield Said(voice="condition Reconciling", claim=Claim.OVER, value=False, words=found["Reconciling"]["message"])


def _progressing(voices: Voices, status: str, reason: str, _: str) -> Iterator[tuple[Claim, Hashable]]:
    is_over = voices.conditions["Ended"]["status"] == "True"
    if not is_over:
        yield Claim.PERSON, status == "False"
        if reason in CODES:
            yield Claim.CAUSE, CODES[reason]


def _healthy(_: Voices, status: str, reason: str, message: str) -> Iterator[tuple[Claim, Hashable]]:
    counted = re.search(r"[\d,]+", message)
    if reason == "NodesFailed" and counted is not None:
        yield Claim.FAILED, int(counted[0].replace(",", ""))
    elif status != "False":
        yield Claim.FAILED, 0
        yield Claim.GATE_FAILED, False
    if reason == "GateFailed":
        yield Claim.GATE_FAILED, True


def _ended(_: Voices, status: str, reason: str, message: str) -> Iterator[tuple[Claim, Hashable]]:
    yield Claim.OVER, status == "True"
    if reason in PHASES and reason != "Done":
        yield Claim.PHASE, reason
    counted = re.match(r"([\d,]+) of ([\d,]+) nodes? runs?", message)
    if counted:
        yield Claim.DONE, int(counted[1].replace(",", ""))
        yield Claim.TOTAL, int(counted[2].replace(",", ""))


def _ready(voices: Voices, status: str, reason: str, _: str) -> Iterator[tuple[Claim, Hashable]]:
    if voices.conditions["Ended"]["status"] == "True":
        yield Claim.GREEN, status == "True"
    elif status == "True":
        yield Claim.OVER, True
    if reason == "NodesFailed":
        yield Claim.GREEN, False


def counts(voices: Voices) -> Iterator[Said]:
    """The counts of the object, for dashboards that read it."""
    if voices.columns:
        yield Said(voice="status.counts", claim=Claim.STATES, value=tuple(sorted(voices.counts.items())))
        yield Said(
            voice="status.counts", claim=Claim.TOTAL, value=sum(voices.counts.values()), words=str(voices.counts)
        )
