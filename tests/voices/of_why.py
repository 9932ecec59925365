"""What `seatrial why` claims of a rollout and of a node."""

from __future__ import annotations

import re
from collections.abc import Iterator

from seatrial.core.model.seen.nodes import NOT_BEGUN
from tests.voices import of_status
from tests.voices.said import OVER, Claim, Said
from tests.voices.voices import Voices

TEXT, JSON = "why ROLLOUT", "why ROLLOUT -o json"


def rollout(voices: Voices) -> Iterator[Said]:
    """Of the rollout, in lines and as a document."""
    campaign = voices.why_data["rollout"]["campaign"]
    if campaign is not None:
        yield from of_status.of_campaign(JSON, campaign)
    is_over = campaign["phase"] in OVER if campaign is not None else None
    yield Said(voice=TEXT, claim=Claim.EXIT, value=voices.why_code)
    if is_over is not None:
        yield from of_status.by_exit_code(TEXT, voices.why_code, is_over=is_over, failed=campaign["nodes"]["failed"])
    for line in voices.why:
        yield from _line(line)


def _line(line: str) -> Iterator[Said]:
    word, _, text = line.partition(" ")
    text = text.strip()
    if word == "Phase":
        found = re.match(r"(\w+) for .*\((\w+)\)", text)
        assert found is not None, line
        yield Said(voice=TEXT, claim=Claim.PHASE, value=found[1], words=line)
        yield Said(voice=TEXT, claim=Claim.MODE, value=found[2], words=line)
    if word == "Answer" and text == "it has ended.":
        yield Said(voice=TEXT, claim=Claim.OVER, value=True, words=line)
    if word == "Answer" and "it is moving" in text:
        yield Said(voice=TEXT, claim=Claim.OVER, value=False, words=line)
        yield Said(voice=TEXT, claim=Claim.PERSON, value=False, words=line)
    if word == "Left" and not text.startswith(("not known", "unknown")):
        yield Said(voice=TEXT, claim=Claim.LEFT, value=text.partition(" (")[0], words=line)
        yield Said(voice=TEXT, claim=Claim.LEFT_KNOWN, value=True, words=line)
        yield Said(voice=TEXT, claim=Claim.PERSON, value=False, words=line)
    if word == "Failed":
        yield Said(voice=TEXT, claim=Claim.GATE_FAILED, value=True, words=line)


def nodes(voices: Voices) -> Iterator[Said]:
    """Of every node, in lines and as a document."""
    for name, data in voices.nodes_data.items():
        voice = f"why {name} -o json"
        yield Said(voice=voice, claim=Claim.NODE_STATE, of=name, value=data["state"] or data["nvidiaState"])
        yield Said(voice=voice, claim=Claim.NODE_DRIVER, of=name, value=(data["driver"], data["driverReady"]))
        yield from _node(name, voices.nodes[name])


def _node(name: str, lines: tuple[str, ...]) -> Iterator[Said]:
    voice = f"why {name}"
    for line in lines:
        word, _, text = line.partition(" ")
        text = text.strip()
        if word == "State":
            state = text.partition(" for ")[0]
            state = state.removesuffix(" (by NVIDIA's controller)")
            yield Said(voice=voice, claim=Claim.NODE_STATE, of=name, value=_state(state), words=line)
        if word == "Driver":
            found = re.match(r"(\S+) (\(Ready\)|\(not Ready\)|not running)", text)
            driver = (found[1], found[2] == "(Ready)") if found is not None else ("", False)
            if driver[0] != "unknown":
                yield Said(voice=voice, claim=Claim.NODE_DRIVER, of=name, value=driver, words=line)
        if word == "Answer" and "follows on its own" in text:
            yield Said(voice=voice, claim=Claim.PERSON, value=False, words=line)


def _state(text: str) -> str:
    return "" if text == NOT_BEGUN else text
