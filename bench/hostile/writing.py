"""Everybody writes, each in a thread, what a seed draws; a process of its own, so that nobody else waits for it.

    python -m bench.hostile.writing PLAN.json

PLAN says who writes how long; PLAN's folder gets `said.jsonl`, a line for each attempt: which kind and rules, by whom,
what the server answered. What is refused is counted as much as what is taken. Tests: tests/bench/test_hostile.py
"""

from __future__ import annotations

import http.client
import json
import random
import ssl
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec
import yaml
from bench.hostile import kinds
from bench.hostile.kinds import KINDS, TENANT, Account, Kind, World
from bench.hostile.rules import Draw, Object, mutated

from seatrial.adapters.kube.shapes import keys

MERGE: Final = "application/merge-patch+json"
KEPT_MAX: Final = 25
"""So many objects of a kind there are at once: the oldest goes when a further one comes."""
ABROAD_SHARE: Final = 0.05
"""How often somebody writes what only others may."""
SOUND_SHARE: Final = 0.1
RULES_MAX: Final = 3
LOOK_SECONDS: Final = 5.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a process of writers is asked."""

    seed: int
    seconds: float
    pause_seconds: float
    kubeconfigs: dict[str, str]
    authority: str
    nodes: tuple[str, ...]
    own: tuple[str, ...]
    campaign: str
    kinds: tuple[str, ...] = ()
    """Of all, where it is not empty."""
    rules: tuple[str, ...] = ()
    count: int = 0
    """After so many attempts of each account it is over; 0 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One write, before it is made."""

    kind: Kind
    verb: str
    path: str
    body: Object
    rules: tuple[str, ...]


def attempt(
    account: Account, world: World, chance: random.Random, only: Sequence[str], rules: Sequence[str]
) -> Attempt:
    """What an account tries next."""
    possible = [each for each in KINDS if not only or each.name in only]
    own = [each for each in possible if each.account is account]
    abroad = not own or (not only and chance.random() < ABROAD_SHARE)
    drawn = possible if abroad else own
    (kind,) = chance.choices(drawn, weights=[each.weight for each in drawn])
    count = 0 if chance.random() < SOUND_SHARE else chance.randint(1, RULES_MAX)
    draw = Draw(chance=chance, uids=world.uids, nodes=world.nodes)
    body, applied = mutated(kind.sound(world, chance), draw, count, rules)
    if kind.target is None:
        return Attempt(kind=kind, verb="POST", path=kind.path, body=body, rules=applied)
    return Attempt(kind=kind, verb="PATCH", path=kind.target(world, chance), body=body, rules=applied)


UNPATCHABLE: Final = "patch: Invalid value"
"""Of an object with a time that the API server took and cannot read again: from then on it refuses every patch."""


def mend(way: Way, path: str, status: Object) -> None:
    """Write a status that can be read over one that cannot, whole, since a patch would begin with what is there."""
    code, now = way.send("GET", path)
    if code == 200:
        way.send("PUT", f"{path}/status", now | {"status": now["status"] | status})


class Way:
    """One account's way to the API server."""

    def __init__(self, kubeconfig: Path, authority: Path) -> None:
        content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        self._place = urlsplit(content["clusters"][0]["cluster"]["server"])
        self._token = content["users"][0]["user"]["token"]
        self._trust = ssl.create_default_context(cafile=str(authority))
        self._connection: http.client.HTTPSConnection | None = None

    def send(
        self, verb: str, path: str, body: Object | None = None, kind: str = "application/json"
    ) -> tuple[int, Object]:
        """What the server answers; 0 where it does not."""
        try:
            if self._connection is None:
                self._connection = http.client.HTTPSConnection(
                    self._place.hostname or "", self._place.port, timeout=20, context=self._trust
                )
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind, "User-Agent": "hostile"}
            text = json.dumps(body).encode("ascii") if body is not None else None
            self._connection.request(verb, path, body=text, headers=headers)
            answer = self._connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException, ValueError) as err:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            return 0, {"message": repr(err)}
        with suppress(ValueError):
            return answer.status, json.loads(said)
        return answer.status, {"message": said[:200].decode(errors="replace")}


@dataclass(kw_only=True)
class Writer:
    """One account at work."""

    account: Account
    plan: Plan
    world: World
    way: Way
    lines: list[Object] = field(default_factory=list)
    _made: dict[str, deque[str]] = field(default_factory=lambda: defaultdict(deque))
    _looked_at: float = 0.0
    _aside: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311  takes nothing of the story's

    def work(self, until: float, lock: threading.Lock, file: Any) -> None:
        """Write until it is over."""
        chance = random.Random(f"hostile {self.plan.seed} {self.account}")  # noqa: S311  a story, not a secret
        number = 0
        while time.monotonic() < until and (not self.plan.count or number < self.plan.count):
            number += 1
            if time.monotonic() - self._looked_at > LOOK_SECONDS:
                self._look()
            tried = attempt(self.account, self.world, chance, self.plan.kinds, self.plan.rules)
            code, said = self._try(tried)
            line = {
                "at": round(time.time(), 2),
                "account": self.account.value,
                "number": number,
                "kind": tried.kind.name,
                "rules": tried.rules,
                "verb": tried.verb,
                "path": tried.path[:300],
                "name": str((said.get("metadata") or {}).get("name", ""))[:60],
                "code": code,
                "why": str(said.get("message", ""))[:200] if not 200 <= code < 300 else "",
            }
            with lock:
                file.write(json.dumps(line) + "\n")
                file.flush()
            time.sleep(self.plan.pause_seconds)

    def _try(self, tried: Attempt) -> tuple[int, Object]:
        if tried.verb == "PATCH":
            code, said = self.way.send("PATCH", tried.path, tried.body, MERGE)
            sound = tried.kind.sound(self.world, self._aside)
            if code == 422 and UNPATCHABLE in str(said.get("message", "")) and "status" in sound:
                mend(self.way, tried.path.removesuffix("/status"), sound["status"])
            return code, said
        code, said = self.way.send("POST", tried.path, tried.body)
        if code != 201:
            return code, said
        path = f"{tried.path}/{quote(str(said['metadata']['name']))}"
        if tried.kind.has_status and "status" in tried.body:
            self.way.send("PATCH", f"{path}/status", {"status": tried.body["status"]}, MERGE)
        made = self._made[tried.kind.name]
        made.append(path)
        if len(made) > KEPT_MAX:
            self.way.send("DELETE", made.popleft(), {"gracePeriodSeconds": 0})
        return code, said

    def _look(self) -> None:
        """What there is by now; who may not look goes on with what it knows."""
        self._looked_at = time.monotonic()
        found: list[tuple[str, str, str]] = []
        for node in self.world.own:
            selector = quote(f"spec.nodeName={node}")
            code, said = self.way.send("GET", f"{keys.PODS}?fieldSelector={selector}&limit=40")
            metas = [each["metadata"] for each in said.get("items", ())] if code == 200 else []
            found += [(meta["namespace"], meta["name"], meta["uid"]) for meta in metas]
        code, said = self.way.send("GET", f"/api/v1/namespaces/{TENANT}/pods?limit=40")
        uids = [each["metadata"]["uid"] for each in said.get("items", ())] if code == 200 else []
        code, said = self.way.send("GET", f"{keys.ROLLOUTS}?limit=40")
        uids += [each["metadata"]["uid"] for each in said.get("items", ())] if code == 200 else []
        uids += [uid for _, _, uid in found]
        self.world = replace(self.world, pods=tuple(found) or self.world.pods, uids=tuple(uids) or self.world.uids)


def main() -> None:
    """Write as the plan says."""
    place = Path(sys.argv[1])
    plan = msgspec.json.decode(place.read_bytes(), type=Plan)
    world = World(nodes=plan.nodes, own=plan.own, campaign=plan.campaign)
    until, lock = time.monotonic() + plan.seconds, threading.Lock()
    with (place.parent / "said.jsonl").open("a", encoding="utf-8") as file:
        threads = []
        for account in Account:
            if plan.kinds and not any(kinds.BY_NAME[name].account is account for name in plan.kinds):
                continue
            way = Way(Path(plan.kubeconfigs[account]), Path(plan.authority))
            writer = Writer(account=account, plan=plan, world=world, way=way)
            threads.append(threading.Thread(target=writer.work, args=(until, lock, file), daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
