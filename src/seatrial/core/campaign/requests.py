"""Requests that nobody is to merge any more: those of a campaign that goes back, or leaves, are closed.

A request that is still open when the campaign has ended would publish all the same once somebody merges it. Only steps
forward are withdrawn; the request to take something back is what people are to merge.

Tests: tests/core/campaign/test_asking_to_merge.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.actions.at_home import CloseRequest
from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import PUBLISHING, PublishStep
from seatrial.core.model.seen.requests import Request, RequestState
from seatrial.core.movers.view import Outcome, View
from seatrial.core.words import requests as words

REFUSALS_MAX: Final = 5
"""How often a forge may refuse before a rollout that leaves does not wait for it any more."""


def opened(view: View) -> tuple[tuple[PublishStep, Request], ...]:
    """Requests of steps forward that somebody could still merge."""
    found = view.source.requests if view.source is not None else ()
    return tuple((step, each) for step, each in found if step in PUBLISHING and each.state is RequestState.OPEN)


def withdraw(view: View) -> Outcome:
    """What is due so that nobody merges what the campaign takes back."""
    acts: list[CampaignAct] = []
    holds: list[Hold] = []
    trouble = view.source.forge_trouble if view.source is not None else ""
    for step, request in opened(view):
        if trouble:
            holds.append(view.hold(HoldCode.FORGE_UNREACHABLE, step=step, why=trouble))
            continue
        message = words.closed(request, step, view.intent, view.record)
        act = CloseRequest(rollout=view.name, step=step, message=message)
        due, told = view.act(act, HoldCode.REQUEST_PENDING, step=step, done="closed")
        acts += due
        holds += told
    return tuple(acts), tuple(dict.fromkeys(holds))


def withdraw_if_it_can_be(view: View) -> Outcome:
    """The same for a rollout that leaves: a forge that does not answer, or refuses, does not keep it."""
    subjects = [CloseRequest(rollout=view.name, step=step).subject for step, _ in opened(view)]
    refused = [view.seen.rebuffs[each].count for each in subjects if each in view.seen.rebuffs]
    is_hopeless = view.source is None or bool(view.source.trouble or view.source.forge_trouble)
    return ((), ()) if is_hopeless or max(refused, default=0) > REFUSALS_MAX else withdraw(view)
