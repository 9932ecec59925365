"""What `seatrial status` claims: its document, its lines, and its first line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from seatrial.cli.exit_codes import ExitCode
from seatrial.core.model.seen.nodes import NOT_BEGUN
from tests.voices.said import OVER, Claim, Said
from tests.voices.voices import Voices

JSON = "status -o json"
TEXT = "status"


# ── the document ─────────────────────────────────────────────────────────────────────────────────────────────────────


def document(voices: Voices) -> Iterator[Said]:
    """What scripts get."""
    data = voices.status_data
    rollout, campaign, holds = data["rollout"], data.get("campaign"), data["holds"]
    is_over = campaign["phase"] in OVER if campaign is not None else rollout["state"] in OVER
    claims = {
        Claim.TARGET: rollout["target"],
        Claim.STATE: rollout["state"],
        Claim.DONE: rollout["done"],
        Claim.TOTAL: rollout["total"],
        Claim.EXIT: data["exitCode"],
    }
    if campaign is not None or rollout["state"] != "waiting":
        yield _of(JSON, Claim.OVER, is_over)
    yield from (_of(JSON, claim, value) for claim, value in claims.items())
    failed = campaign["nodes"]["failed"] if campaign is not None else None
    yield from by_exit_code(JSON, data["exitCode"], is_over=is_over, failed=failed)
    if data["leader"] is not None and not data["leader"]["doubtful"]:
        yield _of(JSON, Claim.LEADS, data["leader"]["leading"])
    if holds and not is_over:
        yield _of(JSON, Claim.CAUSE, holds[0]["code"], holds[0]["why"])
    for node in data["nodes"]:
        yield Said(voice=JSON, claim=Claim.NODE_STATE, of=node["name"], value=node["state"] or node["nvidiaState"])
        driver = (node["driver"], node["driverReady"])
        yield Said(voice=JSON, claim=Claim.NODE_DRIVER, of=node["name"], value=driver)
    if campaign is not None:
        yield from of_campaign(f"{JSON}, campaign", campaign)
    headline = data.get("headline")
    if headline is not None:
        yield from _headline(f"{JSON}, headline", f"{headline['word']}  {headline['why']}", is_over=is_over)


def by_exit_code(voice: str, code: int, *, is_over: bool, failed: int | None) -> Iterator[Said]:
    """What a script takes from an exit code; one that tells of nodes that people left out says nothing of failures."""
    words = f"exit code {code}"
    if is_over and (code != ExitCode.FINDINGS or failed):
        yield _of(voice, Claim.GREEN, code == ExitCode.OK, words)
    elif not is_over and code in (ExitCode.OK, ExitCode.HELD):
        yield _of(voice, Claim.PERSON, code == ExitCode.HELD, words)


def of_campaign(voice: str, campaign: Mapping[str, Any]) -> Iterator[Said]:
    """What the document of a campaign claims; `why ROLLOUT` has the same."""
    nodes, bake = campaign["nodes"], campaign["bake"]
    claims = {
        Claim.TARGET: campaign["target"].partition(",")[0],
        Claim.PHASE: campaign["phase"],
        Claim.MODE: campaign["mode"],
        Claim.DONE: nodes["done"],
        Claim.TOTAL: nodes["total"],
        Claim.FAILED: nodes["failed"],
        Claim.FAILED_NAMES: frozenset(each["name"] for each in nodes["nodesFailed"]),
        Claim.BAKED: round(bake["bakedSeconds"] / 3600, 3),
        Claim.EXIT: campaign["exitCode"],
        Claim.GATE_FAILED: any(each["verdict"] == "failed" for each in campaign["gates"]),
    }
    yield from (_of(voice, claim, value) for claim, value in claims.items())
    if campaign["lostGpuHours"] is not None:
        yield _of(voice, Claim.LOST, round(campaign["lostGpuHours"], 3))
    if any(turn["phase"] == "Canary" for turn in campaign["history"]) and campaign["canaries"]:
        yield _of(voice, Claim.CANARIES, frozenset(each["name"] for each in campaign["canaries"]))
    if campaign["phase"] == "Waving":
        yield _of(voice, Claim.WAVE, campaign["waves"]["current"])
    if campaign["holds"] and campaign["phase"] not in OVER:
        yield _of(voice, Claim.CAUSE, campaign["holds"][0]["code"], campaign["holds"][0]["why"])
    if campaign["leftSeconds"] is not None:
        yield _of(voice, Claim.PERSON, value=False, words=f"leftSeconds {campaign['leftSeconds']}")
        yield _of(voice, Claim.LEFT_KNOWN, value=True, words=f"leftSeconds {campaign['leftSeconds']}")
    if bake["bakedSeconds"]:
        yield _of(voice, Claim.ASKED, value=True, words=f"bakedSeconds {bake['bakedSeconds']}")
    for each in (*campaign["canaries"], *nodes["nodesMoving"], *nodes["nodesFailed"]):
        driver = (each["driver"], each["driverReady"])
        yield Said(voice=voice, claim=Claim.NODE_DRIVER, of=each["name"], value=driver)
        yield Said(voice=voice, claim=Claim.NODE_STATE, of=each["name"], value=_state(each["state"]))


def _of(voice: str, claim: Claim, value: Any, words: str = "") -> Said:
    return Said(voice=voice, claim=claim, value=value, words=words)


def _state(text: str) -> str:
    return "" if text == "not begun" else text


# ── the lines ────────────────────────────────────────────────────────────────────────────────────────────────────────

_PHASE = re.compile(
    r"^(?:(Paused) in )?([A-Z][a-z]+) for (?:\d+ \w+ ?)+(?:, (?:(.+?) left|time left unknown) \((.+)\))?$"
)
_NODE = re.compile(
    r"[✔✖▶◌] (\S+) (would be )?([\w-]+|not begun), (runs (\S+?)|no driver|driver (\S+) is not Ready)(?:,|$)"
)
_TOLD = re.compile(r"([\d,]+) (done|failed|left out|moving|to come)")


def lines(voices: Voices) -> Iterator[Said]:
    """What people read."""
    yield from page(TEXT, voices.status, rollout=voices.rollout)
    if voices.narrow:
        yield from page(f"{TEXT} at 80 columns", voices.narrow, rollout=voices.rollout)


def page(voice: str, page: Sequence[str], *, rollout: str) -> Iterator[Said]:
    """Line by line."""
    margin: dict[str, str] = {}
    for line in page:
        if re.match(r"[A-Z][a-z]+( [a-z]+)? {2,}\S", line):
            margin.setdefault(line[:10].strip(), line[10:].strip())
    state = margin["Rollout"].rpartition(": ")[2]
    wrapped = takewhile(lambda line: line.startswith(" "), page[1:])
    yield from _headline(voice, " ".join((page[0], *map(str.strip, wrapped))), is_over=state in OVER)
    yield _of(voice, Claim.STATE, state, margin["Rollout"])
    if state != "waiting":  # without a canary, nodes that failed or were left out keep it waiting
        yield _of(voice, Claim.OVER, state in OVER, margin["Rollout"])
    if not margin["Leader"].startswith(("not known", "doubtful")):
        yield _of(voice, Claim.LEADS, not margin["Leader"].startswith("none"), margin["Leader"])
    counted = re.match(r"([\d,]+)/([\d,]+)", margin["Done"])
    assert counted is not None, margin["Done"]
    yield _of(voice, Claim.DONE, int(counted[1].replace(",", "")), f"Done {margin['Done']}")
    yield _of(voice, Claim.TOTAL, int(counted[2].replace(",", "")), f"Done {margin['Done']}")
    yield from _left_behind(voice, page)
    yield from _states(voice, page)
    yield from _waits(voice, page, is_over=state in OVER)
    yield from _tree(voice, page)


def _headline(voice: str, line: str, *, is_over: bool) -> Iterator[Said]:
    """The first line, where it begins with a word; what it says of the other nodes asks for no person yet."""
    word = next((each for each in ("NO CONTROLLER", "NEEDS YOU", "STUCK", "OK") if line.startswith(f"{each}  ")), None)
    if word is None:
        return
    if not is_over:
        yield _of(voice, Claim.LEADS, word != "NO CONTROLLER", line)
    if is_over and "left out" not in line:
        yield _of(voice, Claim.GREEN, word == "OK", line)
    elif not is_over and (
        word == "OK" or (word == "NEEDS YOU" and not re.search("others continue|the rest waits", line))
    ):
        yield _of(voice, Claim.PERSON, word != "OK", line)


def _left_behind(voice: str, page: Sequence[str]) -> Iterator[Said]:
    """The names under `Done`."""
    for word, claim in (("failed", Claim.FAILED_NAMES), ("left out", Claim.LEFT_OUT)):
        text = next((line for line in page if line.strip().startswith(f"{word}: ")), "")
        names = text.partition(": ")[2]
        if " more" not in names:
            yield _of(voice, claim, frozenset(filter(None, names.split(", "))), text)


def _states(voice: str, page: Sequence[str]) -> Iterator[Said]:
    """The table of states."""
    start = next(place for place, line in enumerate(page) if re.match(r"State +Nodes", line))
    rows = {}
    for line in page[start + 1 :]:
        found = re.match(r"(.+?) {2,}([\d,]+)", line)
        if found is None:
            break
        rows["unknown" if found[1] == NOT_BEGUN else found[1]] = int(found[2].replace(",", ""))
    yield _of(voice, Claim.STATES, tuple(sorted(rows.items())))


def _waits(voice: str, page: Sequence[str], *, is_over: bool) -> Iterator[Said]:
    """What stands under `Waiting`."""
    if "Nothing is waiting." in page:
        yield _of(voice, Claim.PERSON, value=False, words="Nothing is waiting.")
        return
    start = page.index("Waiting:")
    found = re.match(r"  ([a-z-]+) \((.+?)\)", page[start + 1])
    assert found is not None, page[start + 1]
    if not is_over:
        yield _of(voice, Claim.CAUSE, found[1], page[start + 1])


def _tree(voice: str, page: Sequence[str]) -> Iterator[Said]:
    """The campaign's tree, which stands before everything else."""
    path = next((line for line in page if " ▸ " in line), "")
    if not path:
        return
    now = re.search(r"▶ ([A-Z][a-z]+)", path)
    last = re.search(r"[✔✖] (Done|Reverted)$", path)
    if now is not None or last is not None:
        yield _of(voice, Claim.OVER, last is not None, path)
    phase = next((found for line in page if (found := _PHASE.match(line))), None)
    if phase is not None:
        yield _of(voice, Claim.PHASE, phase[1] or phase[2], phase[0])
        if phase[3]:
            yield _of(voice, Claim.PERSON, value=False, words=phase[0])
            yield _of(voice, Claim.LEFT, phase[3], phase[0])
            yield _of(voice, Claim.LEFT_KNOWN, value=True, words=phase[0])
    for line in page:
        node = _NODE.search(line)
        if node is not None:
            driver = (node[5] or node[6] or "", bool(node[5]))
            yield Said(voice=voice, claim=Claim.NODE_DRIVER, of=node[1], value=driver, words=line)
        if "not asked yet" in line:
            yield _of(voice, Claim.ASKED, value=False, words=line)
        wave = re.search(r": wave (\d+) of \d+,", line)
        if wave is not None:
            yield _of(voice, Claim.WAVE, int(wave[1]), line)
        if re.search(r"✖ \S+ on \S+ failed", line):
            yield _of(voice, Claim.GATE_FAILED, value=True, words=line)
        if re.match(r"[├└]─ nodes ", line) and " back" not in line:
            counts = {word: int(count.replace(",", "")) for count, word in _TOLD.findall(line)}
            yield _of(voice, Claim.DONE, counts.get("done", 0), line)
            yield _of(voice, Claim.FAILED, counts.get("failed", 0), line)
