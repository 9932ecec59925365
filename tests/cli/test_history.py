"""What `seatrial rollout history` makes of the turns of rollouts."""

from __future__ import annotations

import pytest

from seatrial.app.picking import Rollout
from seatrial.cli.show import history


def an_end(at: str) -> dict[str, str]:
    return {"type": "Ended", "status": "True", "lastTransitionTime": at}


def a_rollout(
    name: str, created: str, *turns: tuple[str, str, str], ended: str = "2026-03-01T00:10:00Z", deleted: str = ""
) -> Rollout:
    written = [{"phase": phase, "at": at, "why": why} for phase, at, why in turns]
    campaign = {"phase": turns[-1][0], "history": written} if turns else None
    return Rollout(
        raw={
            "metadata": {
                "name": name,
                "creationTimestamp": created,
                **({"deletionTimestamp": deleted} if deleted else {}),
            },
            "spec": {"target": {"driver": "580.105.08"}, "canary": {}},
            "status": {"campaign": campaign} if campaign else {"state": "done", "conditions": [an_end(ended)]},
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
        ("2026-03-01T00:10:00Z", "a", "580.105.08", "done", "", ""),
        ("2026-03-02T00:00:01Z", "b", "580.105.08", "Proposed", "30 s", ""),
        ("2026-03-02T00:00:31Z", "b", "580.105.08", "Canary", "1 h", ""),
        ("2026-03-02T01:00:31Z", "b", "580.105.08", "Reverting", "", "gate smoke failed on n1"),
    ]


def test_one_without_a_campaign_says_when_it_ended_and_not_when_it_was_made() -> None:
    (row,) = history.table([a_rollout("a", "2026-03-01T00:00:00Z", ended="2026-03-04T05:06:07Z")])
    assert row[:4] == ("2026-03-04T05:06:07Z", "a", "580.105.08", "done")
    (data,) = history.as_data([a_rollout("a", "2026-03-01T00:00:00Z", ended="2026-03-04T05:06:07Z")])
    assert (data["created"], data["since"], data["deleted"]) == ("2026-03-01T00:00:00Z", "2026-03-04T05:06:07Z", None)


def test_one_that_is_being_deleted_says_so_and_where_to_ask_why() -> None:
    turn = ("Canary", "2026-03-02T00:00:31Z", "")
    gone = a_rollout("b", "2026-03-02T00:00:00Z", turn, deleted="2026-03-02T00:01:00Z")
    assert list(history.table([gone])) == [
        ("2026-03-02T00:00:31Z", "b", "580.105.08", "Canary", "", ""),
        ("2026-03-02T00:01:00Z", "b", "580.105.08", "deleting", "", "ask what it waits for: `seatrial why b`"),
    ]
    assert history.as_data([gone])[0]["deleted"] == "2026-03-02T00:01:00Z"


def test_scripts_get_the_turns_as_they_were_written() -> None:
    turns = ("Proposed", "2026-03-02T00:00:01Z", "")
    (data,) = history.as_data([a_rollout("b", "2026-03-02T00:00:00Z", turns)])
    assert (data["name"], data["phase"]) == ("b", "Proposed")
    assert data["turns"] == [{"phase": "Proposed", "at": "2026-03-02T00:00:01Z", "why": ""}]


def test_a_rollout_that_has_said_nothing_yet_has_no_row() -> None:
    fresh = Rollout(raw={"metadata": {"name": "new"}, "spec": {"target": {"driver": "1"}}})
    assert list(history.table([fresh])) == []


def test_what_people_wrote_cannot_act_on_the_terminal() -> None:
    turn = ("Reverting", "9999-12-31T23:59:59-05:00", "gate \x1b]0;owned\x07smoke\nfailed \u202eon n1")
    loud = a_rollout("b", "2026-03-02T00:00:00Z", turn)
    said = {"at": "2026-03-02T00:00:01Z", "by": "eve\x1b[2J", "what": "paused\rresumed"}
    loud.raw["spec"]["said"] = [said]
    cells = [cell for row in history.table([loud]) for cell in row]
    assert all(cell.isprintable() for cell in cells)
    assert "gate smoke failed \ufffdon n1" in cells


def test_a_name_that_nothing_checks_is_explained_below_the_table() -> None:
    spoken = a_rollout("a", "2026-03-01T00:00:00Z", ("Canary", "2026-03-01T00:00:01Z", ""))
    spoken.raw["spec"]["said"] = [{"what": "approved waves", "by": "alice", "at": "2026-03-01T00:01:00Z"}]
    *table, last = history.drawn([*history.table([spoken], is_held=False)])
    assert "alice (claimed) approved waves" in table[-1]
    assert last == "(claimed): it was signed with that name, and no policy of the cluster checks who signs."
    assert "(claimed)" not in "".join(history.drawn([*history.table([spoken], is_held=True)]))


@pytest.mark.parametrize(
    ("code", "point", "step"),
    [
        ("approval-pending", "waves", "Approve with `seatrial rollout approve b waves`."),
        ("nodes-failed", "promotion", "To promote without them: `seatrial rollout promote b`."),
    ],
)
def test_an_approval_that_is_outstanding_is_listed_with_its_command_until_it_is_given(
    code: str, point: str, step: str
) -> None:
    found = a_rollout("b", "2026-03-02T00:00:00Z", ("Waving", "2026-03-02T00:00:31Z", ""))
    why = "it waits for a person"
    found.status["waits"] = [
        {"code": code, "why": why, "next": step, "since": "2026-03-02T00:01:00Z"},
        {"code": "gates-running", "why": "smoke runs", "next": "Wait."},
    ]
    asked = ("2026-03-02T00:01:00Z", "b", "580.105.08", "waits", "", f"{why}. {step}")
    assert list(history.table([found]))[1:] == [asked]
    found.spec["approvals"] = {"approved": [point]}
    assert len(list(history.table([found]))) == 1
