"""The page for Prometheus: NVIDIA's names and ours, nothing unknown, nothing by node, and to promtool's liking."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from seatrial.controller.metrics import Metrics
from seatrial.core.actions.on_nodes import Cordon
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.rollouts import Cost
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.breach import Breach
from seatrial.ports import Outcome, Result, Sight
from seatrial.run.loop import Report
from seatrial.sim.operand_pods import carrying, with_operands
from seatrial_lab.testbed.building import promtool
from tests import builders
from tests.builders import NOW, a_ledger, a_node, a_snapshot, an_intent

CORDON = builders.written(a_node("n1"), NodePhase.CORDON_REQUIRED, Cordon)
BLIND = Report(at=NOW, sight=None, decision=None)


class Watched:
    """Metrics with a clock and a lease in the hands of the test."""

    def __init__(self) -> None:
        self.now = NOW
        self.is_leader = False
        self.metrics = Metrics(version="1.2.3", now=lambda: self.now, is_leader=lambda: self.is_leader)

    def take(self, *reports: Report) -> None:
        for report in reports:
            self.metrics.take(report)

    def samples(self) -> dict[str, float]:
        """Every sample, by its name and labels as the page has them."""
        families = text_string_to_metric_families(self.metrics.page().decode())
        return {_written(sample.name, sample.labels): sample.value for family in families for sample in family.samples}

    def about(self, name: str) -> dict[str, float]:
        """The samples of one metric that are not 0."""
        found = {key: value for key, value in self.samples().items() if key.partition("{")[0] == name}
        return {key: value for key, value in found.items() if value}


def _written(name: str, labels: dict[str, str]) -> str:
    pairs = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{pairs}}}" if pairs else name


@pytest.fixture
def watched() -> Watched:
    return Watched()


def a_pass(seen: Snapshot, *, at: float = NOW, holds: tuple[Hold, ...] = (), **changes: Any) -> Report:
    """A pass over this that found these holds."""
    sight = Sight(seen=seen, intent=an_intent(parallel_max=2, unavailable_max="50%"))
    fields: dict[str, Any] = {"at": at, "sight": sight, "decision": builders.a_decision(holds=holds)}
    return Report(**(fields | changes))


def a_busy_fleet() -> Snapshot:
    return a_snapshot(
        a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True),
        a_node("n2", NodePhase.UPGRADE_REQUIRED),
        a_node("n3", NodePhase.UPGRADE_REQUIRED, is_skipped=True),
        a_node("n4", NodePhase.UPGRADE_DONE),
        a_node("n5", NodePhase.UPGRADE_FAILED, is_cordon_ours=True),
        a_node("n6"),
        admitted=a_ledger("n1", "n5"),
    )


SOME_HOLDS = (
    hold("n3", HoldCode.SKIPPED),
    hold("n5", HoldCode.FAILED, since=NOW - 600),
    hold("n6", HoldCode.SKIPPED),
)


# ── how things stand ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_nvidias_names_have_nvidias_numbers(watched: Watched) -> None:
    watched.take(a_pass(a_busy_fleet()))
    nvidia = {name: value for name, value in watched.samples().items() if name.startswith("gpu_operator_")}
    assert nvidia == {
        "gpu_operator_driver_auto_upgrade_enabled": 1,
        "gpu_operator_nodes_upgrades_in_progress": 2,
        "gpu_operator_nodes_upgrades_done": 1,
        "gpu_operator_nodes_upgrades_failed": 1,
        "gpu_operator_nodes_upgrades_available": 1,
        "gpu_operator_nodes_upgrades_pending": 2,
    }


def test_nodes_are_told_by_state_and_holds_by_code(watched: Watched) -> None:
    watched.take(a_pass(a_busy_fleet(), holds=SOME_HOLDS))
    assert watched.about("seatrial_nodes") == {
        'seatrial_nodes{state="pod-deletion-required"}': 1,
        'seatrial_nodes{state="unknown"}': 1,
        'seatrial_nodes{state="upgrade-done"}': 1,
        'seatrial_nodes{state="upgrade-failed"}': 1,
        'seatrial_nodes{state="upgrade-required"}': 2,
    }
    assert watched.about("seatrial_holds") == {
        'seatrial_holds{code="failed"}': 1,
        'seatrial_holds{code="skipped"}': 2,
    }
    assert watched.about("seatrial_hold_wait_seconds") == {'seatrial_hold_wait_seconds{code="failed"}': 600}


def test_every_state_and_code_has_its_series_from_the_first_pass(watched: Watched) -> None:
    watched.take(a_pass(a_snapshot()))
    samples = watched.samples()
    assert all(samples[f'seatrial_nodes{{state="{phase}"}}'] == 0 for phase in NodePhase)
    assert all(samples[f'seatrial_holds{{code="{code}"}}'] == 0 for code in HoldCode)


def test_nodes_whose_operands_wait_are_counted_since_the_operator_is_not_ready_meanwhile(watched: Watched) -> None:
    facts = with_operands(builders.a_node("n1").facts, [(Operand.TOOLKIT, "v1.17.8")])
    behind = NodeSeen(facts=carrying(facts, {"container_toolkit": "v1.18.1"}))
    watched.take(a_pass(a_snapshot(behind, builders.a_node("n2"))))
    assert watched.samples()["seatrial_operands_waiting_nodes"] == 1


def test_a_campaign_tells_its_phase_and_its_evidence_and_a_plain_rollout_neither(watched: Watched) -> None:
    record = builders.a_campaign_record(RolloutPhase.BAKING, baked_seconds=7200.0)
    seen, wish = a_snapshot(campaign=record), an_intent(campaign=builders.a_campaign())
    watched.take(a_pass(seen, sight=Sight(seen=seen, intent=wish)))
    assert watched.about("seatrial_rollout_phase") == {'seatrial_rollout_phase{phase="Baking"}': 1}
    assert len([name for name in watched.samples() if "rollout_phase" in name]) == len(RolloutPhase)
    assert watched.samples()["seatrial_rollout_baked_seconds"] == 7200
    assert watched.samples()["seatrial_rollout_bake_seconds"] == 48 * 3600
    watched.take(a_pass(a_busy_fleet()))
    assert [name for name in watched.samples() if name.startswith("seatrial_rollout_")] == []


def test_what_it_costs_is_told_where_we_move_the_nodes_and_not_where_others_do(watched: Watched) -> None:
    watched.take(a_pass(a_busy_fleet()))
    assert watched.samples()["seatrial_lost_gpu_seconds"] == 0
    watched.take(a_pass(replace(a_busy_fleet(), operator=builders.an_operator(is_auto_upgrading=True))))
    assert "seatrial_lost_gpu_seconds" not in watched.samples()


def test_by_attrition_what_it_costs_is_told_by_cause(watched: Watched) -> None:
    fleet = a_busy_fleet()
    cost = Cost(idle_gpu_seconds=3.0, thrown_gpu_seconds=2.0, reload_gpu_seconds=1.0, evictions=4)
    watched.take(a_pass(replace(fleet, rollout=replace(fleet.rollout, cost=cost))))
    told = watched.samples()
    assert told['seatrial_attrition_gpu_seconds{cause="idle"}'] == 3
    assert told['seatrial_attrition_gpu_seconds{cause="thrown-away"}'] == 2
    assert told['seatrial_attrition_gpu_seconds{cause="reload"}'] == 1
    assert told["seatrial_attrition_evicted_jobs"] == 4
    assert told["seatrial_attrition_evicting_gpu_seconds"] == 0


def is_about_a_rollout(name: str) -> bool:
    ours = ("nodes", "holds", "hold_wait_seconds", "lost_gpu_seconds", "rollout_")
    return name.startswith(("gpu_operator_", *(f"seatrial_{each}" for each in ours)))


def test_before_the_first_pass_nothing_is_claimed_about_the_rollout(watched: Watched) -> None:
    assert [name for name in watched.samples() if is_about_a_rollout(name)] == []


def test_without_a_rollout_to_look_at_the_numbers_go_away_and_come_back(watched: Watched) -> None:
    watched.take(a_pass(a_busy_fleet()), BLIND)
    assert [name for name in watched.samples() if is_about_a_rollout(name)] == []
    watched.take(a_pass(a_busy_fleet()))
    assert watched.about("gpu_operator_nodes_upgrades_pending") == {"gpu_operator_nodes_upgrades_pending": 2}


def test_the_version_and_the_leadership_are_told_at_any_time(watched: Watched) -> None:
    assert watched.about("seatrial_build_info") == {'seatrial_build_info{version="1.2.3"}': 1}
    assert watched.samples()["seatrial_leader"] == 0
    watched.is_leader = True
    assert watched.samples()["seatrial_leader"] == 1


def test_ten_thousand_nodes_are_as_many_series_as_one(watched: Watched) -> None:
    def skipped(count: int) -> Report:
        nodes = builders.a_fleet(count, is_skipped=True)
        return a_pass(a_snapshot(*nodes), holds=tuple(hold(node.name, HoldCode.SKIPPED) for node in nodes))

    watched.take(skipped(1))
    series = watched.samples().keys()
    watched.take(skipped(10_000))
    assert watched.samples().keys() == series
    assert watched.about("seatrial_holds") == {'seatrial_holds{code="skipped"}': 10_000}


# ── what happened ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_time_in_a_state_is_told_when_the_node_leaves_it(watched: Watched) -> None:
    before = a_snapshot(a_node("n1", NodePhase.CORDON_REQUIRED, entered_at=900.0))
    after = a_snapshot(a_node("n1", NodePhase.WAIT_FOR_JOBS_REQUIRED, entered_at=903.0))
    watched.take(a_pass(before), a_pass(after), a_pass(after))
    assert watched.about("seatrial_state_duration_seconds_sum") == {
        'seatrial_state_duration_seconds_sum{state="cordon-required"}': 3
    }
    buckets = watched.about("seatrial_state_duration_seconds_bucket")
    assert buckets['seatrial_state_duration_seconds_bucket{le="5.0",state="cordon-required"}'] == 1
    assert 'seatrial_state_duration_seconds_bucket{le="2.0",state="cordon-required"}' not in buckets


def test_the_buckets_reach_from_a_second_to_four_hours(watched: Watched) -> None:
    samples = watched.samples()
    for limit in ("1.0", "14400.0"):
        assert f'seatrial_state_duration_seconds_bucket{{le="{limit}",state="upgrade-required"}}' in samples


def test_a_pass_is_told_from_a_millisecond_to_seconds_and_no_longer(watched: Watched) -> None:
    limits = [name for name in watched.samples() if name.startswith("seatrial_pass_duration_seconds_bucket")]
    assert [limits[0], limits[-2]] == [
        f'seatrial_pass_duration_seconds_bucket{{le="{limit}"}}' for limit in ("0.001", "2.5")
    ]


def test_what_happened_while_nothing_was_seen_is_not_guessed(watched: Watched) -> None:
    before = a_snapshot(a_node("n1", NodePhase.CORDON_REQUIRED, entered_at=900.0))
    after = a_snapshot(a_node("n1", NodePhase.UPGRADE_DONE, entered_at=990.0))
    watched.take(a_pass(before), BLIND, a_pass(after))
    assert watched.about("seatrial_state_duration_seconds_count") == {}


def test_time_lost_to_waiting_adds_up_over_the_passes(watched: Watched) -> None:
    held = (hold("n1", HoldCode.SKIPPED), hold("n2", HoldCode.SKIPPED))
    for at in (100.0, 107.0, 110.0):
        watched.take(a_pass(a_snapshot(), at=at, holds=held))
    assert watched.about("seatrial_waiting_seconds_total") == {'seatrial_waiting_seconds_total{code="skipped"}': 20}


def test_acts_are_counted_by_kind_and_result_even_when_nothing_is_seen(watched: Watched) -> None:
    outcomes = tuple(Outcome(action=CORDON, result=result) for result in (Result.DONE, Result.DONE, Result.STALE))
    watched.take(a_pass(a_snapshot(), outcomes=outcomes))
    watched.take(Report(at=NOW, sight=None, decision=None, outcomes=outcomes[:1]))
    assert watched.about("seatrial_acts_total") == {
        'seatrial_acts_total{act="Cordon",result="done"}': 3,
        'seatrial_acts_total{act="Cordon",result="stale"}': 1,
    }


def test_a_first_failure_is_a_step_from_zero_so_that_a_rate_can_see_it(watched: Watched) -> None:
    assert watched.samples()['seatrial_acts_total{act="Uncordon",result="failed"}'] == 0
    assert watched.samples()['seatrial_waiting_seconds_total{code="evicting"}'] == 0


def test_a_promise_about_to_be_broken_is_counted(watched: Watched) -> None:
    breach = Breach(promise="capacity", subject="n1", detail="too many")
    watched.take(a_pass(a_busy_fleet(), breaches=(breach, breach)))
    assert watched.about("seatrial_breaches_total") == {'seatrial_breaches_total{promise="capacity"}': 2}
    assert watched.about("seatrial_broken_promises") == {'seatrial_broken_promises{promise="capacity"}': 2}
    watched.take(a_pass(a_busy_fleet()))
    assert watched.about("seatrial_broken_promises") == {}


def test_a_pass_lasts_from_its_beginning_until_its_report_is_taken(watched: Watched) -> None:
    watched.now = NOW + 0.25
    watched.take(a_pass(a_snapshot()))
    assert watched.about("seatrial_pass_duration_seconds_sum") == {"seatrial_pass_duration_seconds_sum": 0.25}
    watched.now = NOW - 5  # the clock was set back meanwhile
    watched.take(a_pass(a_snapshot()))
    assert watched.about("seatrial_pass_duration_seconds_sum") == {"seatrial_pass_duration_seconds_sum": 0.25}


def test_no_series_tells_when_it_was_made(watched: Watched) -> None:
    watched.take(a_full_pass())
    assert "_created" not in watched.metrics.page().decode()


# ── to promtool's liking ─────────────────────────────────────────────────────────────────────────────────────────────


def a_full_pass() -> Report:
    """A pass after which every metric has a sample."""
    breach = Breach(promise="capacity", subject="n1", detail="too many")
    return a_pass(
        a_busy_fleet(), holds=SOME_HOLDS, outcomes=(Outcome(action=CORDON, result=Result.DONE),), breaches=(breach,)
    )


@pytest.mark.cluster
def test_promtool_finds_nothing_to_complain_of(watched: Watched) -> None:
    before = a_snapshot(a_node("n1", NodePhase.CORDON_REQUIRED, entered_at=800.0))
    watched.take(a_pass(before, at=NOW - 10), a_full_pass())
    families = list(text_string_to_metric_families(watched.metrics.page().decode()))
    assert [family.name for family in families if not family.samples] == []
    assert len(families) == 6 + 15
    done = subprocess.run(
        [promtool.find_or_get(), "check", "metrics"], input=watched.metrics.page(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
