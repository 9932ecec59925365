"""Somebody's word for a gate: what is written for it, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.app.errors import CalledWrongly
from seatrial.app.picking import Rollout, Wish
from seatrial.app.rollout import attesting
from seatrial.app.rollout.attesting import Attested
from seatrial.app.rollout.wishing import RolloutRefused
from tests.app.rollout.rollouts import a_rollout

GATES = [{"name": "signed", "attest": {"asks": "the tenants are content"}}, {"name": "smoke", "image": "s:1"}]
NOW = 1_774_625_400.0


def asking(*words: dict[str, Any], phase: str = "Gating", gates: Any = GATES) -> Rollout:
    rollout = a_rollout(phase=phase, gates=gates, approvals={"manual": ["waves"], "attested": list(words)})
    rollout.raw["status"]["campaign"]["canaries"] = ["gpu-1", "gpu-2"]
    return rollout


def said(rollout: Rollout, by: str = "ann", **changes: Any) -> Wish:
    asked: dict[str, Any] = {"gate": "signed", "verdict": "pass", "because": "the nightly ran", "seconds": 3600.0}
    return attesting.wish_of(rollout, asked=Attested(**asked | changes), by=by, now=NOW)


def test_a_word_says_who_when_why_and_until_when() -> None:
    wish = said(asking())
    assert wish.spec == {
        "approvals": {
            "attested": [
                {
                    "gate": "signed",
                    "verdict": "pass",
                    "because": "the nightly ran",
                    "by": "ann",
                    "at": "2026-03-27T15:30:00.000Z",
                    "until": "2026-03-27T16:30:00.000Z",
                }
            ]
        }
    }
    assert wish.said.startswith("spring: ann says pass for signed on every canary. It counts until 2026-03-27T16:30:00")
    assert "The rollout will be undone." in said(asking(), verdict="fail").said


def test_a_word_replaces_ones_own_for_the_same_gate_and_canary_and_nothing_else() -> None:
    mine = {"gate": "signed", "node": "gpu-1", "by": "ann"}
    others = [{**mine, "by": "bob"}, {"gate": "signed", "node": "gpu-1"}, {"gate": "signed", "by": "ann"}]
    others += [{"gate": "other", "node": "gpu-1", "by": "ann"}]
    wish = said(asking(mine, *others), node="gpu-1")
    assert wish.spec is not None
    *kept, new = wish.spec["approvals"]["attested"]
    assert kept == others
    assert (new["gate"], new["node"], new["by"]) == ("signed", "gpu-1", "ann")


def test_somebody_whose_name_the_server_does_not_say_replaces_nothing() -> None:
    unnamed = {"gate": "signed", "because": "I looked"}
    wish = said(asking(unnamed), by="")
    assert wish.spec is not None
    assert wish.spec["approvals"]["attested"][:-1] == [unnamed]


def test_where_the_api_server_does_not_say_who_we_are_no_name_is_made_up() -> None:
    wish = said(asking(), by="")
    assert wish.spec is not None
    assert "by" not in wish.spec["approvals"]["attested"][0]


@pytest.mark.parametrize(
    ("rollout", "changes", "why"),
    [
        (asking(), {"gate": "smoke"}, "spring: smoke is measured, and asks nobody; those that do are signed."),
        (asking(), {"gate": "nccl"}, "spring: nccl is not one of its gates; those that do are signed."),
        (asking(gates=GATES[1:]), {}, "signed is not one of its gates; it has none that needs a sign-off."),
        (asking(), {"node": "gpu-9"}, "gpu-9 is none of its canaries; its canaries are gpu-1, gpu-2."),
        (asking(phase="Done"), {}, "spring has ended"),
        (Rollout(raw={"metadata": {"name": "plain"}, "spec": {}}), {}, "moves nodes only"),
    ],
)
def test_a_word_that_nobody_asked_for_is_refused(rollout: Rollout, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(RolloutRefused, match=why):
        said(rollout, **changes)


@pytest.mark.parametrize("seconds", [0, attesting.SECONDS_MAX + 1])
def test_a_word_counts_for_a_while_and_not_for_ever(seconds: int) -> None:
    with pytest.raises(CalledWrongly, match="at most 30d"):
        said(asking(), seconds=seconds)


@pytest.mark.parametrize("text", ["", " \n ", "x" * 501])
def test_a_word_says_how_one_knows(text: str) -> None:
    with pytest.raises(CalledWrongly, match="how you know"):
        attesting.reason_of(text)
    assert attesting.reason_of(" the nightly\n ran ") == "the nightly ran"
