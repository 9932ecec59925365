"""The new driver's image is brought to a node before the node is touched: minutes of pulling are no minutes of outage.

A Job of the very image runs on the node and does nothing; how it ends does not matter, only that it ran. An image that
cannot be started is found out while the node still has its old driver, and the node waits instead of being broken.
Tests: tests/core/test_prepulling.py
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from seatrial.core.actions import CampaignAct, StartProbe
from seatrial.core.gates import Gate, Verdict, judge
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.standing import Standing
from seatrial.core.views import View

NAME: Final = "prepull"
ROUND: Final = 0
"""No round of gates: those begin with one."""
SECONDS: Final = 900.0
STARTS_MAX: Final = 20
"""How many nodes begin to pull in one pass: registries are slow, and shared."""


def bring(view: View, names: Collection[str]) -> tuple[frozenset[str], tuple[CampaignAct, ...], tuple[Hold, ...]]:
    """Which of these nodes have the image, or need none; what is due for the others, and why they wait."""
    if not view.campaign.prepull:
        return frozenset(names), (), ()
    ready: set[str] = set()
    acts: list[CampaignAct] = []
    holds: list[Hold] = []
    pulling: list[str] = []
    for name in sorted(names):
        wanted = view.nodes[name].facts.wanted
        if wanted is None or not wanted.image or view.standing(name) is not Standing.AWAY:
            ready.add(name)
            continue
        gate = Gate(name=NAME, image=wanted.image, command=("true",), gpus=0, timeout_seconds=SECONDS)
        judged = judge(gate, name, ROUND, view.seen.measurements)
        if judged.verdict in (Verdict.PASSED, Verdict.FAILED):
            ready.add(name)
        elif judged.verdict is Verdict.UNKNOWN:
            holds.append(view.hold(HoldCode.IMAGE_NOT_PULLED, node=name, image=wanted.image, why=judged.detail))
        else:
            pulling.append(name)
            if judged.due is not None:
                acts.append(StartProbe(rollout=view.name, gate=gate, node=name, round=ROUND, attempt=judged.due))
    due = tuple(act for act in acts if view.may_act(act.subject))[:STARTS_MAX]
    if pulling:
        until = view.record.entered_at + SECONDS
        told = view.hold(
            HoldCode.PREPULLING, count=len(pulling), node=pulling[0], until=until if until > view.now else None
        )
        holds.append(told)
    return frozenset(ready), due, tuple(holds)
