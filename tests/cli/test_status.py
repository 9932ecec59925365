"""What `seatrial status` prints of a look, for people and for scripts, and the exit code that goes with it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import pytest

from seatrial.app import looking, waits
from seatrial.app.headline import LEASES
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show import look, status
from seatrial.core.model.intent import Intent
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodePhase, RecordFault
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.ports import Sight
from tests import builders

Show = Callable[..., tuple[ExitCode, str]]
DELEGATED = OperatorFacts(
    kind="ClusterPolicy/cluster-policy", is_auto_upgrading=True, driver_version="580.105.08", state="ready"
)


def a_look(seen: Snapshot, intent: Intent | None = None, **changes: Any) -> looking.Look:
    """What would be seen and decided."""
    intent = intent or builders.an_intent(parallel_max=2, unavailable_max="50%")
    fields: dict[str, Any] = {
        "at": builders.NOW,
        "sight": Sight(seen=seen, intent=intent),
        "nodes": dict(seen.nodes),
        "operator": seen.operator,
    }
    return looking.Look(**(fields | changes))


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Show:
    """Run `status` on a look."""

    def run(found: looking.Look, output: str = "table") -> tuple[ExitCode, str]:
        monkeypatch.setattr(look, "look", lambda _: found)
        code = status.run(argparse.Namespace(output=output, watch=False, watch_only=False))
        return ExitCode(code), capsys.readouterr().out

    return run


def test_a_rollout_under_way(show: Show) -> None:
    seen = builders.a_snapshot(
        builders.a_node("n1", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True),
        builders.a_node("n2", NodePhase.UPGRADE_REQUIRED),
        builders.a_well_node("n3", NodePhase.UPGRADE_DONE),
        builders.a_node("n4", NodePhase.UPGRADE_REQUIRED, is_skipped=True),
        admitted=builders.a_ledger("n1"),
    )
    code, text = show(a_look(seen))
    assert code is ExitCode.INCONCLUSIVE, "it moves, and whether a controller moves it is not known"
    assert text.splitlines()[:7] == [
        f"NEEDS YOU  whether a controller is in charge is not known: {LEASES}",
        "",
        "Mode      direct, no GPU Operator seen",
        "Rollout   spring to driver 580.105.08: progressing",
        "Leader    not known: its Lease cannot be read",
        "Limits    2 at once, 50% unavailable, 1 failure",
        "Under way n1",
    ]
    assert "upgrade-required" in text
    assert "  skipped (n4)\n    somebody marked the node with nvidia.com/gpu-driver-upgrade.skip=true.\n" in text


def test_a_rollout_that_is_done_says_that_nobody_waits(show: Show) -> None:
    code, text = show(a_look(builders.a_snapshot(builders.a_well_node("n1", NodePhase.UPGRADE_DONE))))
    assert code is ExitCode.OK
    assert "spring to driver 580.105.08: done" in text
    assert text.endswith("Nothing is waiting.\n")


def test_a_failed_node_is_not_under_way_and_the_rollout_waits_for_somebody(show: Show) -> None:
    failed = builders.a_node(
        "n1",
        NodePhase.UPGRADE_FAILED,
        is_cordon_ours=True,
        record={"reason": "driver-crash-loop", "failed_revision": "new"},
    )
    done = builders.a_well_node("n2", NodePhase.UPGRADE_DONE)
    code, text = show(a_look(builders.a_snapshot(failed, done, admitted=builders.a_ledger("n1"))))
    assert code is ExitCode.FINDINGS
    assert "Under way nobody" in text
    assert "Done      1/2\n          failed: n1\n" in text
    assert "a container of the driver pod keeps crashing" in text
    # In one line, so that it can be copied.
    assert "`seatrial node retry n1`" in text


def test_a_summary_that_is_due_is_no_progress(show: Show) -> None:
    waiting = builders.a_node("n1", NodePhase.UPGRADE_REQUIRED, is_skipped=True)
    found = a_look(builders.a_snapshot(waiting))
    assert found.sight is not None
    assert waits.worked_out(found.sight, found.at).actions  # the summary
    assert show(found)[0] is ExitCode.FINDINGS


def test_nodes_that_were_done_for_an_earlier_target_are_counted_apart(show: Show) -> None:
    seen = builders.a_snapshot(
        builders.a_well_node("n1", NodePhase.UPGRADE_DONE),
        builders.a_node("n2", NodePhase.UPGRADE_DONE),
        builders.a_node("n3", NodePhase.UPGRADE_DONE),
        builders.a_node("n4", NodePhase.UPGRADE_DONE, driver=None),
    )
    text = show(a_look(seen))[1]
    assert "Done      1/4\n" in text
    told = "4 (2 of them for an earlier target, 1 of them without a Ready driver now)"
    assert f"upgrade-done   {told}\n" in text


def test_no_sentence_is_printed_twice(show: Show) -> None:
    from seatrial.core.model.campaign import RolloutPhase

    record = {"reason": "driver-crash-loop", "failed_revision": "new"}
    seen = builders.a_snapshot(
        builders.a_done_node("n1"),
        builders.a_node("n2", NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record=record),
        builders.a_node("n3", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True),
        builders.an_old_node("n4"),
        operator=builders.an_operator(),
        campaign=builders.a_campaign_record(RolloutPhase.WAVING, canaries=("n1",)),
        admitted=builders.a_ledger("n2", "n3"),
    )
    text = show(a_look(seen, builders.an_intent(campaign=builders.a_campaign())))[1]
    assert text.count("a container of the driver pod keeps crashing") == 1
    assert "✖ n2 upgrade-failed, for" in text or "x n2 upgrade-failed, for" in text
    whys = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    long = [line for line in whys if len(line) > 40]
    assert len(long) == len(set(long))


def test_nodes_that_are_done_and_take_no_work_are_named_beside_the_count(show: Show) -> None:
    closed = builders.a_well_node("n1", NodePhase.UPGRADE_DONE, is_cordoned=True)
    down = builders.a_well_node("n2", NodePhase.UPGRADE_DONE, is_ready=False)
    text = show(a_look(builders.a_snapshot(closed, down)))[1]
    assert "          done, but NotReady: n2\n          done, but cordoned by a person: n1\n" in text


def test_a_node_that_is_done_and_lost_a_gpu_is_named_beside_the_count(show: Show) -> None:
    lost = builders.a_well_node(
        "n1",
        NodePhase.UPGRADE_DONE,
        record={"before": GpuOffer(resources=(("nvidia.com/gpu", 8),))},
        offer=GpuOffer(resources=(("nvidia.com/gpu", 7),)),
    )
    text = show(a_look(builders.a_snapshot(lost)))[1]
    assert "Done      1/1\n          less to offer than before: n1\n" in text


def test_many_nodes_that_wait_alike_are_told_once(show: Show) -> None:
    seen = builders.a_snapshot(*builders.a_fleet(9, NodePhase.UPGRADE_REQUIRED, is_skipped=True))
    assert "  skipped (n1, n2, n3, n4 and 5 more)\n" in show(a_look(seen))[1]


def test_words_of_others_are_not_taken_for_markup(show: Show) -> None:
    broken = builders.a_node("n1", NodePhase.UPGRADE_DONE, fault=RecordFault.EDITED, fault_text="[bold]x[/]")
    assert "[bold]x[/]" in show(a_look(builders.a_snapshot(broken)))[1]


def test_without_a_rollout_the_drivers_are_told(show: Show) -> None:
    seen = builders.a_snapshot(
        builders.a_node("n1"),
        builders.a_node("n2", driver=None),
        builders.a_node("n3", driver=builders.a_driver(version="")),
        builders.a_node(
            "n4", driver=builders.a_driver(version="580.105.08", is_ready=False, trouble="ImagePullBackOff")
        ),
    )
    code, text = show(a_look(seen, sight=None, operator=DELEGATED))
    assert code is ExitCode.OK
    stuck = "580.105.08 not running (ImagePullBackOff)"
    assert text.splitlines() == [
        "OK  no rollout",
        "",
        "Mode      delegated, ClusterPolicy/cluster-policy is ready",
        "Rollout   none; begin with `seatrial rollout start` (or create a GPURollout)",
        f"Drivers   570.124.06 on 1 node, {stuck} on 1 node, no driver pod on 1 node, unknown version on 1 node",
    ]


def test_a_rollout_that_cannot_be_read_is_an_error(show: Show, capsys: pytest.CaptureFixture[str]) -> None:
    found = a_look(builders.a_snapshot(), sight=None, faults=("GPURollout spring cannot be read: no.",))
    code, text = show(found)
    assert code is ExitCode.ERROR
    assert "Rollout   none" not in text


def test_a_campaign_is_shown_before_its_nodes_and_its_exit_code_counts(show: Show) -> None:
    from seatrial.core.model.campaign import RolloutPhase

    seen = builders.a_snapshot(
        builders.a_done_node("n1"),
        builders.an_old_node("n2"),
        operator=builders.an_operator(),
        campaign=builders.a_campaign_record(RolloutPhase.PAUSED, paused_in=RolloutPhase.BAKING),
    )
    intent = builders.an_intent(campaign=builders.a_campaign(), is_paused=True)
    code, text = show(a_look(seen, intent))
    assert code is ExitCode.HELD
    assert text.index("Paused in Baking") < text.index("Limits ")
    data = json.loads(show(a_look(seen, intent), "json")[1])
    assert (data["campaign"]["phase"], data["campaign"]["pausedIn"]) == ("Paused", "Baking")


def test_scripts_get_everything_as_json(show: Show) -> None:
    seen = builders.a_snapshot(
        builders.a_node("n2", NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record={"failed_revision": "new"}),
        builders.a_node("n1", driver=None, wanted=None, is_cordoned=True, is_ready=False),
        admitted=builders.a_ledger("n2"),
    )
    code, text = show(a_look(seen), "json")
    held = {"subject": "n2", "code": "failed", "until": None, "count": 1, "nodes": ["n2"]}
    label = "seatrial.dev/gpu-driver-upgrade-state"
    words = {
        "why": "the upgrade of this node failed: no reason was recorded",
        "next": f"Fix the cause. Then: `seatrial node retry n2` (or set its label {label} to upgrade-required).",
    }
    data = json.loads(text)
    assert code is ExitCode.HELD
    assert held | words in data.pop("holds")
    assert data == {
        "headline": {"word": "NEEDS YOU", "why": "driver pod missing (n1)", "command": "seatrial why n1"},
        "mode": "direct",
        "operator": {"kind": "", "state": "", "driverVersion": "", "autoUpgrade": False},
        "leader": None,
        "exitCode": 12,
        "rollout": {"name": "spring", "target": "580.105.08", "state": "waiting", "done": 0, "total": 2},
        "said": {"by": "here", "at": None},
        "ledger": ["n2"],
        "nodes": [
            {
                "name": "n1",
                "state": "",
                "nvidiaState": "",
                "driver": "",
                "driverReady": False,
                "wanted": "",
                "cordoned": True,
                "ready": False,
            },
            {
                "name": "n2",
                "state": "upgrade-failed",
                "nvidiaState": "",
                "driver": "570.124.06",
                "driverReady": True,
                "wanted": "580.105.08",
                "cordoned": True,
                "ready": True,
            },
        ],
    }


def test_json_without_a_rollout_says_so_and_names_the_mode(show: Show) -> None:
    found = a_look(builders.a_snapshot(), sight=None, operator=DELEGATED)
    code, text = show(found, "json")
    assert code is ExitCode.OK
    assert json.loads(text) == {
        "headline": {"word": "OK", "why": "no rollout", "command": ""},
        "mode": "delegated",
        "operator": {
            "kind": "ClusterPolicy/cluster-policy",
            "state": "ready",
            "driverVersion": "580.105.08",
            "autoUpgrade": True,
        },
        "leader": None,
        "rollout": None,
        "nodes": [],
        "holds": [],
    }
