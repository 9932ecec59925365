"""What can be checked of an answer by itself: each function is given what was said and the facts, and tells untruths.

A check reads claims (a count, a version, a state, a promise) and compares them with the API server's word; what is
neither a claim that it knows nor the absence of one that is needed stays for the person who marks. Tests:
tests/bench/test_night.py
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from bench.night.facts import Facts

from seatrial.cli.exit_codes import ExitCode

VERSION: Final = r"(\d{3}\.\d+(?:\.\d+)?)"
NODE: Final = r"\b([a-z]+-\d{3})\b"
NO_LEADER: Final = re.compile(r"no controller|nobody is in charge|none; ", re.IGNORECASE)
FOLLOWS: Final = re.compile(r"(?:follows|continues|begins) on its own|waits for nothing", re.IGNORECASE)
NOTHING: Final = re.compile(r"nothing to do\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command printed, and how it ended."""

    text: str
    code: int = 0
    node: str = ""
    """The node that was asked about."""

    @property
    def flat(self) -> str:
        """Without line breaks: what is folded is found, too."""
        return " ".join(self.text.split())


Check: TypeAlias = Callable[[Said, Facts], Iterator[str]]


def where(said: Said, facts: Facts) -> Iterator[str]:
    """Where are we?"""
    yield from _counted(said, facts)
    yield from _runs(said, facts)
    yield from _led(said, facts)
    yield from _promised(said, facts)
    yield from _failed_named(said, facts)
    yield from _asked_for(said, facts)
    yield from _left(said, facts)
    needs = facts.is_stopped or facts.failed or facts.broken
    if needs and re.match(r"OK\b", said.text.lstrip()):
        yield "it begins with OK, and a person is needed"
    if said.code == ExitCode.OK and (facts.awaits or not facts.is_led or facts.phase == "Reverted"):
        yield "exit code 0 says that it is done or moving, and it is not"


def doing(said: Said, facts: Facts) -> Iterator[str]:
    """What is it doing? One line for each node: name, state, and the driver with whether it is Ready."""
    lines = {found[1]: line for line in said.text.splitlines() if (found := re.match(NODE, line))}
    for each in facts.nodes:
        line = lines.get(each.name, "")
        driver = re.search(VERSION + r"( \(not Ready\))?", line)
        if not line:
            yield f"{each.name} is not listed"
        elif driver and not driver[2] and each.name not in facts.running(driver[1]):
            yield f"{each.name} is said to run {driver[1]}, and its driver pod is {each.pod} with {each.version}"
        elif driver and driver[2] and each.is_running:
            yield f"{each.name} is said not to be Ready, and its driver pod is"
        if "upgrade-done" in line and not each.is_running:
            yield f"{each.name} is said to be done, and its driver pod is {each.pod}"
    yield from _led(said, facts, has_to_say=False)


def why(said: Said, facts: Facts) -> Iterator[str]:
    """Why is this node not moving?"""
    node, seen = said.node, facts.node(said.node)
    wanted = facts.before if facts.is_back else facts.target
    is_well = node in facts.running(wanted) and node not in facts.broken
    yield from _promised(said, facts) if not is_well else ()
    if not is_well and NOTHING.search(said.flat):
        yield "“nothing to do” is said, and the node is not well"
    if driver := re.search(VERSION + r" \((not )?Ready\)", said.flat):
        is_ready = not driver[2]
        if is_ready != seen.is_running or driver[1] != seen.version:
            yield f"its driver is said to be {driver[0]}, and the pod is {seen.pod} with {seen.version}"
    by_person = node in facts.struck_by("cordon")
    if by_person and re.search(r"Cordoned\s+by seatrial", said.text):
        yield "the cordon is said to be seatrial's, and a person made it"
    if seen.is_cordoned and "ordon" not in said.text:
        yield "it is cordoned, and the answer does not say so"
    if not seen.is_ready and "NotReady" not in said.flat and "not Ready" not in said.flat:
        yield "it is NotReady, and the answer does not say so"
    if seen.is_skipped and "skip" not in said.flat:
        yield "it has a skip label, and the answer does not say so"
    if node in facts.failed and "fail" not in said.flat and "crash" not in said.flat:
        yield "its driver crashes, and the answer does not say so"
    if 0 < seen.gpus < seen.capacity and f"{seen.gpus} of {seen.capacity}" not in said.flat:
        yield f"it offers {seen.gpus} of {seen.capacity} GPUs, and the answer does not say so"
    if "Pull" in seen.pod and "pull" not in said.flat.lower():
        yield "its image cannot be pulled, and the answer does not say so"


def what_next(said: Said, facts: Facts) -> Iterator[str]:
    """What happens next, and when?"""
    yield from _promised(said, facts)
    yield from _asked_for(said, facts)
    yield from _led(said, facts)
    yield from _left(said, facts)
    if facts.struck_by("matrix-changed") and "matrix" not in said.flat:
        yield "the matrix has changed, and the answer does not say so"


def cost(said: Said, facts: Facts) -> Iterator[str]:
    """What does it cost?"""
    yield from _counted(said, facts)
    found = re.search(r"(\d+) failed", said.flat)
    if not facts.is_back and facts.failed and int(found[1] if found else 0) != len(facts.failed):
        yield f"{len(facts.failed)} failed, and the answer says {found[1] if found else 'nothing of that'}"


def undo(said: Said, facts: Facts) -> Iterator[str]:
    """How is it undone? Asked as a dry run."""
    yield from _counted(said, facts)
    if facts.commits and not facts.is_back and "revert" not in said.flat:
        yield "it has committed, and the answer does not say that this is reverted"


def approved(said: Said, facts: Facts) -> Iterator[str]:
    """Who approved?"""
    told = set(re.findall(r"approved (canary|waves|promotion|rollback)", said.flat))
    if told != set(facts.approved):
        yield f"approved are {sorted(facts.approved)}, and the answer names {sorted(told)}"
    for each in facts.approvers:
        if each not in said.flat:
            yield f"{each} approved, and is not named"


def versions(said: Said, facts: Facts) -> Iterator[str]:
    """Which version runs where? Of drivers it counts those that are Ready."""
    line = next((each for each in said.text.splitlines() if each.startswith("gpu_driver")), "")
    told = {version: int(count) for version, count in re.findall(VERSION + r" \((\d+)\)", line)}
    for version, count in told.items():
        if count != (found := len(facts.running(version))):
            yield f"{version} is said to run on {count}, and {found} driver pods are Ready with it"
    for version in sorted({each.version for each in facts.nodes if each.is_running} - set(told)):
        yield f"{version} runs on {len(facts.running(version))}, and is not named"


def broken(said: Said, facts: Facts) -> Iterator[str]:
    """What is broken?"""
    for each in sorted(facts.broken):
        if each not in said.text:
            yield f"{each} is broken, and is not named"
    for each in sorted(facts.failed):
        if each in said.text and not re.search("crash|modprobe|module|fail", said.flat):
            yield f"{each} has a driver that crashes, and no word of that"


def kubectl(said: Said, facts: Facts) -> Iterator[str]:
    """What does somebody see who has only kubectl?"""
    yield from _counted(said, facts)
    if facts.failed and facts.phase in ("Promoting", "Done") and "fail" not in said.flat.lower():
        yield f"{', '.join(sorted(facts.failed))} failed, and no word of that"
    if facts.awaits and "approv" not in said.flat:
        yield f"it waits for approval of {facts.awaits}, and no word of that"


def stop(said: Said, facts: Facts) -> Iterator[str]:
    """Can I stop it? Asked by a pause; the facts are of right after it."""
    if re.search(r"\bis (already )?paused\b", said.flat) and facts.phase != "Paused":
        yield f"it is said to be paused, and its phase is {facts.phase}"
    yield from _led(said, facts)


# ── claims that several answers make ─────────────────────────────────────────────────────────────────────────────────


def _counted(said: Said, facts: Facts) -> Iterator[str]:
    """Nodes that are counted as done: at least those that run the target unharmed, at most all that run it."""
    if facts.is_back:
        return
    running = facts.running(facts.target)
    harmed = {each.name for each in facts.nodes if each.is_cordoned or each.name in facts.broken}
    total = len(facts.nodes)
    claims = [
        rf"(?<!\S)(\d+)/{total}(?!\S)",
        r"(\d+) done,",
        rf"(\d+) of {total} nodes are upgraded",
        r"\((\d+) are done",
    ]
    least, most = len(running - harmed), len(running)
    for count in {int(found[1]) for claim in claims for found in re.finditer(claim, said.flat)}:
        if not least <= count <= most:
            yield f"{count} are said to be done, and {most} run {facts.target} ({least} of them unharmed)"


def _runs(said: Said, facts: Facts) -> Iterator[str]:
    for found in re.finditer(NODE + rf"[^\n]*?\bruns {VERSION}", said.text):
        if found[1] not in facts.running(found[2]):
            seen = facts.node(found[1])
            yield f"{seen.name} is said to run {found[2]}, and its driver pod is {seen.pod} with {seen.version}"


def _led(said: Said, facts: Facts, *, has_to_say: bool = True) -> Iterator[str]:
    if has_to_say and not facts.is_led and not NO_LEADER.search(said.flat):
        yield f"no controller leads since {facts.lease_age_seconds:.0f} s, and the answer does not say so"
    if facts.is_led and re.search("no controller is in charge|NO CONTROLLER", said.flat):
        yield "no controller is said to lead, and one does"


def _promised(said: Said, facts: Facts) -> Iterator[str]:
    """What is to come by itself, by when, and in which phase."""
    if facts.is_stopped and (found := FOLLOWS.search(said.flat)):
        yield f"“{found[0]}” is said, and it needs a person"
    if not facts.is_led and (late := re.search(r"gives up within [\d a-z]*\d+ (?:s|min|h)", said.flat)):
        yield f"“{late[0]}” is said, and no controller keeps a deadline"
    for told in re.findall(r"\bis at ([A-Z][a-z]+)\b|^Phase\s+([A-Z][a-z]+)", said.text, re.MULTILINE):
        if "".join(told) != facts.phase:
            yield f"its phase is said to be {''.join(told)}, and it is {facts.phase}"
    if not said.node and facts.is_pause_asked and facts.phase != "Paused" and "pause" not in said.flat.lower():
        yield "a pause is requested and has not begun, and the answer does not say so"


def _failed_named(said: Said, facts: Facts) -> Iterator[str]:
    for each in sorted(facts.failed):
        if each not in said.text:
            yield f"{each} failed, and is not named"


def _asked_for(said: Said, facts: Facts) -> Iterator[str]:
    if facts.awaits and not re.search(rf"approve \S+ {facts.awaits}|rollout promote", said.flat):
        yield f"it waits for approval of {facts.awaits}, and the command for that is not named"


def _left(said: Said, facts: Facts) -> Iterator[str]:
    """A time that remains cannot be known while something is stopped, failed or broken."""
    if not (facts.is_stopped or facts.failed or facts.broken):
        return
    claims = [line for line in said.text.splitlines() if re.search(r"^Left\b.*\d|\d (?:s|min|h|d) left\b", line)]
    for line in claims:
        if "unknown" not in line:
            yield f"a remaining time is named, and it is unknown: {line.strip()}"


def untrue_in_both(first: list[str], second: list[str]) -> list[str]:
    """What contradicts the facts before the answer and those after it: the cluster moves while it is asked."""
    heads = Counter(re.sub(r"\d+", "", each) for each in second)
    return [each for each in first if heads[re.sub(r"\d+", "", each)]]
