"""One seed: a campaign with everybody writing beside it, and what is to be said of its controller afterwards.

Nothing is mended while the controller lives. Where it dies, or a callback never ends, that is written down with the
last writes before it, everything hostile is taken away, and it goes on. Tests: tests/bench/test_hostile.py
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from bench.hostile import kinds, people
from bench.hostile.kinds import KINDS, Account
from bench.hostile.rules import Object
from bench.hostile.writing import MERGE, Plan, Way, mend

from seatrial.adapters.kube.shapes import keys
from seatrial.core.model.campaign import ENDED
from seatrial.core.model.seen.operands import APPS
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.torture.callbacks import STACKS, Gauge
from seatrial_lab.torture.drawing import End, Schedule
from seatrial_lab.torture.seeds import BREACH, Keeper
from seatrial_lab.torture.stage import Play, Stage, rollout_of
from seatrial_lab.torture.table import Mode
from seatrial_lab.torture.way import BadWay

LEASE_SECONDS: Final = 15
LOOK_SECONDS: Final = 0.25
CALLBACK_MAX: Final = 1.0
FROZEN_SECONDS: Final = 10.0
"""A callback that has used so much CPU time does not end: its controller is killed."""
LAST: Final = 8
"""So many of the writes before a death are written down."""
TWINS_HOME: Final = "hostile-twin"
OWN_COUNT: Final = 2
STATUS_SECONDS: Final = 120.0
ARGUMENTS: Final = ("--kueue", "--debug")
CONTAINED: Final = re.compile(r'bug contained guard=(\S+) subject="?([^"\n]*?)"? why="?(.*)')
LOST: Final = "The lease was lost"


@dataclass(kw_only=True)
class Seen:
    """What was seen while one seed was played."""

    callback_seconds: float = 0.0
    deaths: list[Object] = field(default_factory=list)
    is_frozen: bool = False
    """Whether the last death was ours."""


def play(stage: Stage, accounts: Mapping[Account, Path], asked: Any, seed: int) -> tuple[Object, bool]:
    """Play one seed: the line that is kept, and whether the stage can be used again."""
    schedule = Schedule(seed=seed, mode=Mode.DIRECT, end=End.DONE, has_git=False, blows=(), only="hostile")
    nodes = sorted(stage.moved.nodes)
    before = {item["metadata"]["name"]: item for item in stage.node_items()}
    with (
        stage.opened(schedule, lease_seconds=LEASE_SECONDS, arguments=ARGUMENTS) as opened,
        _twin(stage, opened) as twin,
    ):
        seen, keeper = Seen(), Keeper(play=opened)
        keeper.look()
        _open_all(stage, keeper)
        stage.plane.apply([_campaign(opened, asked.seconds)])
        waiting.wait_for(
            lambda: opened.status().get("phase", "Proposed") != "Proposed",
            what="the campaign to begin",
            timeout_seconds=60.0,
            pause_seconds=LOOK_SECONDS,
            describe=lambda: opened.log()[-2000:],
        )
        plan = Plan(
            seed=seed,
            seconds=asked.seconds,
            pause_seconds=asked.pause,
            kubeconfigs={account.value: str(path) for account, path in accounts.items()},
            authority=str(stage.plane.authority),
            nodes=tuple(nodes),
            own=tuple(nodes[-OWN_COUNT:]),
            campaign=opened.rollout,
            kinds=asked.kinds,
            rules=asked.rules,
            count=asked.count,
        )
        sweep = Sweep(stage=stage, before={name: before[name] for name in plan.own})
        began = time.monotonic()
        _write(opened, plan, keeper, seen, sweep)
        phase = _settled(opened, keeper, seen, asked.settle)
        told, unsaid = _told(opened, phase)
        sweep.all()
        after = _settled(opened, keeper, seen, asked.settle)
        _end(opened, seen)
        line = _line(opened, plan, seen, twin.read_text(encoding="utf-8"))
        line |= {"names": [kinds.MARK, f"{kinds.TENANT}/", *plan.own, opened.rollout, "cannot be read"]}
        line |= {"end": phase, "after_sweep": after, "told": told, "unsaid": unsaid, "lives": keeper.lives}
        line |= {"seconds": round(time.monotonic() - began, 1)}
        line["problems"] = problems(line)
        return line, after in ENDED and len(set(stage.moved.versions().values())) == 1


def problems(line: Object) -> list[str]:
    """What is wrong with what was seen of one seed."""
    found = [f"it died: {each['said']}" for each in line["deaths"]]
    if line["callback_seconds"] > CALLBACK_MAX:
        found.append(f"a callback used {line['callback_seconds']:.1f} s of CPU")
    if line["leases"]["lost"] > line["leases"]["twin_lost"]:
        found.append(f"it lost its lease {line['leases']['lost']} times, its twin {line['leases']['twin_lost']} times")
    if line["end"] not in ENDED and not any(each in text for text in line["told"] for each in line["names"]):
        said = line["unsaid"] or " / ".join(line["told"][:3]) or "nothing"
        found.append(f"the campaign is {line['end'] or 'without a phase'}, and what is in its way is not named: {said}")
    return found


# ── playing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _campaign(opened: Play, seconds: float) -> Object:
    """A campaign that lasts about as long as the writers do."""
    body = rollout_of(opened)
    body["spec"] |= {
        "bake": {"durationSeconds": int(seconds / 3), "everySeconds": 5},
        "podDeletion": {"force": True, "deleteEmptyDir": True, "timeoutSeconds": 30},
        "drain": {"enable": True, "force": True, "deleteEmptyDir": True, "timeoutSeconds": 30},
    }
    body["spec"]["waves"] |= {"pauseSeconds": int(seconds / 12)}
    return body


def _open_all(stage: Stage, keeper: Keeper) -> None:
    """Have the controller watch every row: one rollout after the other that needs some, as long as it is looked at."""
    for body in people.openers():
        stage.plane.apply([body])
        name = body["metadata"]["name"]
        waiting.wait_for(
            lambda name=name: "state" in stage.plane.get("gpurollout", name).get("status", {}),  # type: ignore[misc]
            what=f"{name} to be looked at",
            timeout_seconds=60.0,
            pause_seconds=LOOK_SECONDS,
            describe=lambda: keeper.play.log()[-2000:],
        )
        controller_process.remove_rollouts(stage.plane, name)


@contextmanager
def _twin(stage: Stage, opened: Play) -> Iterator[Path]:
    """An idle candidate for a Lease of its own, on a way of its own; what it says, as a file."""
    rules = [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list", "create", "update"]}]
    account = stage.plane.service_account(TWINS_HOME, "twin", namespaced_rules={TWINS_HOME: rules})
    path = opened.folder / "twin.log"
    with BadWay(account, authority=stage.plane.authority) as way, path.open("ab") as log:
        command = [
            sys.executable,
            "-m",
            "seatrial_lab.torture.twin",
            str(way.kubeconfig),
            TWINS_HOME,
            str(LEASE_SECONDS),
        ]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield path
        finally:
            process.terminate()
            process.wait(10)


def _write(opened: Play, plan: Plan, keeper: Keeper, seen: Seen, sweep: Sweep) -> None:
    place = opened.folder / "plan.json"
    place.write_bytes(msgspec.json.encode(plan))
    with (opened.folder / "writing.log").open("ab") as log:
        writers = subprocess.Popen([sys.executable, "-m", "bench.hostile.writing", str(place)], stdout=log, stderr=log)
        try:
            while writers.poll() is None:
                _watch(opened, keeper, seen, sweep)
        finally:
            writers.terminate()
            writers.wait(30)


def _settled(opened: Play, keeper: Keeper, seen: Seen, seconds: float) -> str:
    """The campaign's phase, once it has ended or does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        _watch(opened, keeper, seen, None)
        phase = str(opened.status().get("phase", ""))
        if phase in ENDED:
            return phase
    return str(opened.status().get("phase", ""))


def _watch(opened: Play, keeper: Keeper, seen: Seen, sweep: Sweep | None) -> None:
    """Look once: a controller that has died, or does not come back, is written down and begins anew."""
    lives, controller = len(keeper.ends), opened.controller
    gauge = Gauge(pid=controller.pid, folder=opened.folder)
    seen.callback_seconds = max(seen.callback_seconds, gauge.most())
    if controller.is_running and gauge.running() > CALLBACK_MAX / 2:
        gauge.stacks()
    if controller.is_running and gauge.running() > FROZEN_SECONDS:
        seen.is_frozen = True
        controller.kill()
    keeper.look()
    if len(keeper.ends) > lives:
        _note_death(opened, keeper.ends[-1], seen)
        if sweep is not None:
            sweep.all()
    time.sleep(LOOK_SECONDS)


def _end(opened: Play, seen: Seen) -> None:
    """A controller whose callback does not end does not end itself when it is asked to."""
    gauge = Gauge(pid=opened.controller.pid, folder=opened.folder)
    seen.callback_seconds = max(seen.callback_seconds, gauge.most())
    if opened.controller.is_running and gauge.running() > CALLBACK_MAX:
        seen.is_frozen = True
        opened.controller.kill()
        _note_death(opened, "", seen)


def _note_death(opened: Play, said: str, seen: Seen) -> None:
    taken = [each for each in attempts(opened.folder) if 200 <= each["code"] < 300 and each["rules"]][-LAST:]
    last = [
        f"{each['account']} {each['number']}: {each['verb']} {each['kind']}: {'; '.join(each['rules'])}"
        for each in taken
    ]
    told = _tail(opened.folder / STACKS, 60) if seen.is_frozen else opened.log().splitlines()
    frames = [line for line in told if line.lstrip().startswith('File "') and "seatrial/" in line]
    where = [line[line.rindex("seatrial/") :] for line in frames]
    said, where = ("a callback did not end", where[:3]) if seen.is_frozen else (said, where[-3:])
    seen.deaths.append({"said": said, "where": where, "last": last})
    seen.is_frozen = False


def _told(opened: Play, phase: str) -> tuple[list[str], str]:
    """What `seatrial status` says is in the way of a campaign that has not ended, and where it said nothing, why."""
    if phase in ENDED:
        return [], ""
    command = [sys.executable, "-m", "seatrial", "status", opened.rollout, "-o", "json"]
    command += ["--kubeconfig", str(opened.stage.plane.kubeconfig)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=STATUS_SECONDS)
    except subprocess.TimeoutExpired:
        return [], f"seatrial status said nothing within {STATUS_SECONDS:g} s"
    (opened.folder / "status.json").write_text(done.stdout, encoding="utf-8")
    try:
        return sentences(json.loads(done.stdout)), ""
    except ValueError:
        return [], f"seatrial status ended with {done.returncode}: {done.stderr.strip()[-300:]}"


def sentences(status: Any) -> list[str]:
    """Every `why` of a status, each once."""
    found: dict[str, None] = {}

    def descend(value: Any) -> None:
        if isinstance(value, dict):
            why = value.get("why")
            if isinstance(why, str) and why:
                found[why[:300]] = None
            for each in value.values():
                descend(each)
        elif isinstance(value, list):
            for each in value:
                descend(each)

    descend(status)
    return list(found)[:20]


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────────────────────────


def attempts(folder: Path) -> list[Object]:
    """Every write that was tried."""
    path = folder / "said.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def _line(opened: Play, plan: Plan, seen: Seen, twin: str) -> Object:
    tried, log = attempts(opened.folder), opened.log()
    counts: dict[str, Counter[str]] = {}
    for each in tried:
        code = each["code"]
        answer = "taken" if 200 <= code < 300 else "refused" if 400 <= code < 500 else "unanswered"
        counts.setdefault(f"{each['account']} {each['kind']}", Counter())[answer] += 1
    rules = Counter(rule.partition(" ")[0] for each in tried if 200 <= each["code"] < 300 for rule in each["rules"])
    return {
        "seed": plan.seed,
        "kinds": list(plan.kinds),
        "rules": list(plan.rules),
        "nodes": len(plan.nodes),
        "attempts": len(tried),
        "taken": sum(each["taken"] for each in counts.values()),
        "refused": sum(each["refused"] for each in counts.values()),
        "counts": {name: dict(each) for name, each in sorted(counts.items())},
        "rules_taken": dict(rules.most_common()),
        "callback_seconds": round(seen.callback_seconds, 3),
        "callbacks": _busy(opened.folder),
        "leases": {"lost": log.count(LOST), "twin_lost": twin.count(" lost")},
        "deaths": seen.deaths,
        "contained_count": len(CONTAINED.findall(log)),
        "contained": dict(Counter(_contained(log)).most_common(20)),
        "breaches": log.count(BREACH),
    }


def _contained(log: str) -> Iterator[str]:
    """Each exception that did not end the controller: where it was contained, of what kind of object, and its words."""
    for found in CONTAINED.finditer(log):
        guard, subject, why = found.groups()
        yield f"{guard}: {subject.partition(' ')[0]}: {why}"[:200]


def _busy(folder: Path) -> dict[str, int]:
    """Where callbacks were that used half of what they may, and how often they were seen there."""
    path = folder / STACKS
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found: Counter[str] = Counter()
    for dump in text.split("Current thread ")[1:]:
        ours = [line.strip() for line in dump.splitlines() if "/seatrial/" in line]
        found[" < ".join(line.rpartition("/seatrial/")[2] for line in ours[:2])] += 1
    return dict(found.most_common(6))


def _tail(path: Path, count: int) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()[-count:] if path.exists() else []


# ── taking it away ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(kw_only=True)
class Sweep:
    """Takes everything hostile away, as an administrator would."""

    stage: Stage
    before: dict[str, Object]
    """The nodes of the kubelet as they were."""

    def all(self) -> None:
        """Until the cluster is as it was, but for what the campaign did."""
        way = Way(self.stage.plane.kubeconfig, self.stage.plane.authority)
        for path in dict.fromkeys(kind.path for kind in KINDS):
            self._of(way, path)
        for name, node in self.before.items():
            self._restore(way, name, node)

    def _of(self, way: Way, path: str) -> None:
        code, said = way.send("GET", path)
        for each in said.get("items", ()) if code == 200 else ():
            name = each["metadata"]["name"]
            is_operand = path.endswith("/daemonsets") and name in APPS
            if not (name.startswith(kinds.MARK) or is_operand):
                continue
            if each["metadata"].get("finalizers"):
                way.send("PATCH", f"{path}/{name}", {"metadata": {"finalizers": None}}, MERGE)
            way.send("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0})

    def _restore(self, way: Way, name: str, node: Object) -> None:
        code, now = way.send("GET", f"{keys.NODES}/{name}")
        if code != 200:
            return
        meta = {
            part: _back(node["metadata"].get(part, {}), now["metadata"].get(part, {}))
            for part in ("labels", "annotations")
        }
        way.send("PATCH", f"{keys.NODES}/{name}", {"metadata": meta, "spec": {"unschedulable": None}}, MERGE)
        status = {
            part: _back(node["status"].get(part, {}), now["status"].get(part, {}))
            for part in ("allocatable", "capacity", "nodeInfo")
        } | {"conditions": node["status"]["conditions"], "runtimeHandlers": node["status"].get("runtimeHandlers")}
        code, _ = way.send("PATCH", f"{keys.NODES}/{name}/status", {"status": status}, MERGE)
        if code != 200:
            mend(way, f"{keys.NODES}/{name}", node["status"])


def _back(before: Object, now: Object) -> Object:
    """The merge patch from one to the other, as far as they differ."""
    return {key: None for key in now if key not in before} | before


def worst(lines: Sequence[Object]) -> Object:
    """All seeds in one."""
    return {
        "seeds": len(lines),
        "minutes": round(sum(line["seconds"] for line in lines) / 60, 1),
        "attempts": sum(line["attempts"] for line in lines),
        "taken": sum(line["taken"] for line in lines),
        "refused": sum(line["refused"] for line in lines),
        "deaths": sum(len(line["deaths"]) for line in lines),
        "callback_seconds": max((line["callback_seconds"] for line in lines), default=0.0),
        "leases_lost": sum(line["leases"]["lost"] for line in lines),
        "twin_lost": sum(line["leases"]["twin_lost"] for line in lines),
        "ends": dict(Counter(line["end"] for line in lines)),
        "problems": [f"seed {line['seed']}: {each}" for line in lines for each in line["problems"]],
    }
