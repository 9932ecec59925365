"""`seatrial report`: the command, its summary in the terminal, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.show.report import report
from seatrial.core.model.campaign import Spoken
from seatrial.core.words.accounts import CLAIMED_MEANS
from seatrial.sim.outside import GateFate
from tests.builders import NEW, OLD
from tests.cli.served import serving
from tests.reported import careful, played

FRESH: dict[str, Any] = {
    "metadata": {"name": "spring", "creationTimestamp": "2026-03-01T10:00:00Z", "uid": "1", "resourceVersion": "1"},
    "spec": {"target": {"driver": NEW.version}},
}
Call = Callable[..., int]


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Call]:
    """Call `report` beside an API server that has one rollout, of which nobody has written anything yet."""
    with ExitStack() as stack:

        async def reply(request: web.Request) -> web.StreamResponse:
            if request.query.get("watch"):
                return web.Response()
            items = [FRESH] if request.path.endswith("/gpurollouts") else []
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})

        where = stack.enter_context(serving(reply, tmp_path / "kubeconfig"))
        yield lambda *words: main(["report", *words, *where])


def test_a_rollout_of_which_nothing_is_written_is_reported_as_such(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "spring.html"
    assert call("--html", str(page)) == ExitCode.OK
    found = capsys.readouterr()
    head, verdict = found.out.splitlines()
    assert head == f"spring: driver {NEW.version}, not begun"
    assert verdict.startswith("Not begun: no node is in it; it waits: no controller is in charge")
    assert f"seatrial: wrote {page}" in found.err
    assert "<strong>Not begun: no node is in it; it waits" in page.read_text(encoding="utf-8")
    assert call("spring", "-o", "json") == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert (data["rollout"], data["cost"]) == ("spring", {"gpuHours": None, "evictions": None})


def test_one_that_is_not_there_is_said_to_be_not_there(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("winter") == ExitCode.ERROR
    assert "there is no rollout winter. There are spring (new)." in capsys.readouterr().err


def test_a_page_that_cannot_be_written_says_why(call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--html", str(tmp_path / "none" / "page.html")) == ExitCode.ERROR
    assert "page.html cannot be written: No such file or directory" in capsys.readouterr().err


def test_a_journal_that_is_none_is_refused(call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.jsonl").write_text("{}\n")
    assert call("--journal", str(tmp_path / "odd.jsonl")) == ExitCode.ERROR
    assert "odd.jsonl:1: this line is not a line of a journal" in capsys.readouterr().err


# ── the summary ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_terminal_says_what_a_commit_without_an_address_says(tmp_path: Path) -> None:
    said = (Spoken(what="approved waves", by="alice"),)
    assert list(report.lines(played(tmp_path, careful(said=said)).data())) == [
        f"spring: driver {OLD.version} → {NEW.version}, Done",
        f"Done: 20 of 20 nodes are upgraded to {NEW.version}.",
        "It began on 2026-03-01 at 10:00 UTC and reached Done 2 d 1 h later.",
        "gpu-03 passed rdma and smoke-train and was healthy on it for 48.1 hours.",
        f"alice (claimed) approved waves. {CLAIMED_MEANS}",
        "While seatrial had nodes cordoned, their GPUs took no new work for 13.4 GPU-hours.",
    ]


def test_of_one_that_was_taken_back_it_says_why(tmp_path: Path) -> None:
    fate = GateFate(fails_on=NEW.version, from_round=3, detail="no link")
    told = list(report.lines(played(tmp_path, gate_fates={"rdma": fate}).data(has_journal=False)))
    assert told[:2] == [
        f"spring: driver {OLD.version} → {NEW.version}, Reverted",
        "Reverted: gate rdma failed on gpu-03: no link.",
    ]
    assert f"0 of 20 nodes are upgraded to {NEW.version}." in told


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("https://r.example/{cluster}", "{cluster} is not a placeholder; there are {rollout} and {target}"),
        ("reports/{rollout}", "has to be an address that begins with https:// or http://"),
        ("https://r.example/all", "every rollout would have the same report"),
    ],
)
def test_a_pattern_that_is_no_address_is_told_before_the_controller_starts(
    pattern: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["controller", "--once", "--report-url", pattern])
    assert ended.value.code == ExitCode.USAGE
    assert said in " ".join(capsys.readouterr().err.split())
