"""What `seatrial history` makes of the turns of rollouts."""

from __future__ import annotations

from seatrial.app.rollout.picking import Rollout
from seatrial.cli.show import history


def a_rollout(name: str, created: str, *turns: tuple[str, str, str]) -> Rollout:
    written = [{"phase": phase, "at": at, "why": why} for phase, at, why in turns]
    campaign = {"phase": turns[-1][0], "history": written} if turns else None
    return Rollout(
        raw={
            "metadata": {"name": name, "creationTimestamp": created},
            "spec": {"target": {"driver": "580.105.08"}, "canary": {}},
            "status": {"campaign": campaign} if campaign else {"state": "done"},
        }
    )


def test_turns_are_told_oldest_rollout_first_with_how_long_each_lasted() -> None:
    later = a_rollout(
        "b",
        "2026-03-02T00:00:00Z",
        ("Proposed", "2026-03-02T00:00:01Z", ""),
        ("Canary", "2026-03-02T00:00:31Z", ""),
        ("Reverting", "2026-03-02T01:00:31.500Z", "gate smoke failed on n1"),
    )
    plain = a_rollout("a", "2026-03-01T00:00:00Z")
    assert list(history.table([later, plain])) == [
        ("2026-03-01 00:00:00Z", "a", "580.105.08", "done", "", ""),
        ("2026-03-02 00:00:01Z", "b", "580.105.08", "Proposed", "30 s", ""),
        ("2026-03-02 00:00:31Z", "b", "580.105.08", "Canary", "1 h 0 min", ""),
        ("2026-03-02 01:00:31Z", "b", "580.105.08", "Reverting", "", "gate smoke failed on n1"),
    ]


def test_scripts_get_the_turns_as_they_were_written() -> None:
    turns = ("Proposed", "2026-03-02T00:00:01Z", "")
    (data,) = history.as_data([a_rollout("b", "2026-03-02T00:00:00Z", turns)])
    assert (data["name"], data["phase"]) == ("b", "Proposed")
    assert data["turns"] == [{"phase": "Proposed", "at": "2026-03-02T00:00:01Z", "why": ""}]


def test_a_rollout_that_has_said_nothing_yet_has_no_row() -> None:
    fresh = Rollout(raw={"metadata": {"name": "new"}, "spec": {"target": {"driver": "1"}}})
    assert list(history.table([fresh])) == []
