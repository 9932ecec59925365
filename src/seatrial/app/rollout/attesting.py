"""Somebody's word for a gate that asks for one: who says it, when, and until when it counts.

Law of this file: a word replaces one's own earlier word for the same gate and canary, and never another person's. Who
says it is asked of the API server; what counts is decided in core/judging/kinds/attesting.py.
Tests: tests/app/rollout/test_attesting.py, tests/e2e/test_attested.py
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from seatrial.app import picking
from seatrial.app.errors import CalledWrongly
from seatrial.app.picking import Rollout, Wish
from seatrial.app.rollout import wishing
from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.gate import Said
from seatrial.core.model.instants import Instant
from seatrial.core.text.commands import filled

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster

BECAUSE_MAX: Final = 500
SECONDS_MAX: Final = 30 * 86_400
"""A word about a canary of last month is no word about this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attested:
    """What somebody wants to say."""

    gate: str
    verdict: str
    because: str
    seconds: float
    node: str = ""


async def attest(cluster: Cluster, name: str, asked: Attested) -> tuple[Rollout, Wish]:
    """Say it."""
    rollout = picking.meant(await picking.listed(cluster), name)
    by = await who_am_i(cluster)
    wish = partial(wish_of, asked=asked, by=by, now=time.time())
    return await picking.change(cluster, rollout.name, wish)


async def who_am_i(cluster: Cluster) -> str:
    """The name under which the API server knows us; empty where it does not say."""
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.shapes import keys

    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    async with cluster.client() as client:
        try:
            answer: dict[str, Any] = await client.create(keys.WHO_AM_I, review, dict)
        except (errors.NotFound, errors.Forbidden):  # before Kubernetes 1.28, or somebody who may not even ask that
            return ""
    return str(((answer.get("status") or {}).get("userInfo") or {}).get("username", ""))


def wish_of(rollout: Rollout, asked: Attested, by: str, now: Instant) -> Wish:
    """The change to the rollout's spec."""
    from seatrial.adapters.kube.shapes.forms import text_of

    wishing.check_campaign(rollout)
    _refuse(rollout, asked)
    said: list[dict[str, Any]] = list((rollout.spec.get("approvals") or {}).get("attested") or ())
    until = text_of(now + asked.seconds)
    word: dict[str, Any] = {
        "gate": asked.gate,
        **({"node": asked.node} if asked.node else {}),
        "verdict": asked.verdict,
        "because": asked.because,
        **({"by": by} if by else {}),
        "at": text_of(now),
        "until": until,
    }
    mine = (by, asked.gate, asked.node)  # without a name nothing is known to be one's own
    kept = [each for each in said if not by or (each.get("by"), each.get("gate"), each.get("node", "")) != mine]
    who, whom = by or "somebody", asked.node or "every canary"
    follows = "The rollout will be undone." if asked.verdict == Said.BAD else f"It counts until {until}."
    return Wish(
        said=f"{rollout.name}: {who} says {asked.verdict} for {asked.gate} on {whom}. {follows} "
        f"{filled(wishing.WATCH, {'name': rollout.name})}",
        spec={"approvals": {"attested": [*kept, word]}},
    )


def _refuse(rollout: Rollout, asked: Attested) -> None:
    if rollout.is_ended:
        raise wishing.RolloutRefused(f"{rollout.name} has ended ({rollout.phase}); nothing is left to sign off.")
    gates: dict[str, Any] = {each["name"]: each for each in rollout.spec.get("gates") or ()}
    asking = [name for name, gate in gates.items() if gate.get("attest")]
    if asked.gate not in asking:
        why = "is measured, and asks nobody" if asked.gate in gates else "is not one of its gates"
        there = f"those that do are {', '.join(asking)}" if asking else "it has none that needs a sign-off"
        raise wishing.RolloutRefused(f"{rollout.name}: {asked.gate} {why}; {there}.")
    canaries = rollout.campaign.get("canaries") or ()
    if asked.node and asked.node not in canaries:
        there = f"its canaries are {', '.join(canaries)}" if canaries else "it has not chosen its canaries yet"
        raise wishing.RolloutRefused(f"{rollout.name}: {asked.node} is none of its canaries; {there}.")
    if not 0 < asked.seconds <= SECONDS_MAX:
        raise CalledWrongly(f"--for is more than nothing, and at most {SECONDS_MAX // 86_400}d.")


def reason_of(text: str) -> str:
    """How somebody knows, on one line."""
    reason = " ".join(text.split())
    if not reason or len(reason) > BECAUSE_MAX:
        raise CalledWrongly(f"--because has to say how you know, in at most {BECAUSE_MAX} characters.")
    return reason
