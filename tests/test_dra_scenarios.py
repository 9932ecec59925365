"""Which test shows what of restarting DRA plugins: every point of the request that it answers, and what we added to it.

The points are the acceptance criteria and considerations of NVIDIA/aicr's issue 980, and situations that we found when
we tried its proposal. A point without a test fails here, and so does a test that is gone.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
APP, CLI = "app/test_rerolling.py", "cli/test_dra.py"
STANDING, REROLLING = "core/movers/test_dra_standing.py", "core/movers/test_dra_rerolling.py"
SEEDS = "sim/test_dra_seeds.py"
CHART, CHART_REAL, HOOK = "chart/test_post_chart.py", "chart/test_chart_real.py", "e2e/test_hook_job.py"
CONTROLLER = "controller/test_reroller.py"
PARITY, SYNCING = "bundles/test_parity.py", "bundles/test_syncing.py"

CRITERIA: dict[str, tuple[tuple[str, str], ...]] = {
    "AC1 a Job of the chart runs after installs and upgrades": (
        (CHART, "test_a_job_runs_after_installs_and_upgrades_and_one_after_rollbacks"),
        (HOOK, "test_after_an_install_the_job_runs_with_its_own_token_and_finds_nothing_to_do"),
        (HOOK, "test_a_rollback_has_a_job_of_its_own"),
    ),
    "AC2 its rights come with it, are enough, and each is used": (
        (CHART, "test_the_roles_grant_this_and_no_more"),
        (CHART, "test_the_rights_are_enough_and_each_of_them_is_used"),
        (HOOK, "test_nothing_was_asked_for_without_a_right_and_every_right_was_used"),
    ),
    "AC3 every deployer renders the same": (
        (PARITY, "test_every_deployer_brings_the_same_objects"),
        (PARITY, "test_rendered_twice_it_is_the_same_byte_by_byte"),
        (SYNCING, "test_it_runs_again_when_the_stack_or_the_hook_has_changed"),
        (CHART, "test_nothing_is_rendered_that_deployers_render_differently"),
        (CHART, "test_the_same_values_are_rendered_the_same"),
        (CHART, "test_whatever_is_a_reason_to_run_again_changes_an_object_that_is_no_hook"),
    ),
    "AC4 plugins are restarted after their own node has its driver": (
        (HOOK, "test_after_an_upgrade_each_plugin_goes_once_its_own_node_has_settled_although_the_job_is_evicted"),
        (SEEDS, "test_our_criterion_leaves_no_plugin_stale_and_restarts_none_early"),
        (SEEDS, "test_the_proposed_one_leaves_plugins_stale"),
    ),
    "AC5 no script of ours restarts a DaemonSet besides": (
        (CHART, "test_nothing_that_we_ship_restarts_a_whole_daemonset"),
    ),
    "C1 an account is bound in other namespaces": (
        (CHART, "test_the_account_of_one_namespace_is_bound_in_those_of_the_operator_and_the_plugins"),
    ),
    "C2 a Job that is interrupted is taken up": (
        (REROLLING, "test_a_run_that_was_interrupted_is_taken_up_by_the_next_one"),
        (HOOK, "test_after_an_upgrade_each_plugin_goes_once_its_own_node_has_settled_although_the_job_is_evicted"),
        (CHART, "test_whoever_drains_the_jobs_node_does_not_wait_for_it"),
    ),
    "C3 sixteen nodes, five at a time, take longer than twenty minutes": (
        (REROLLING, "test_sixteen_nodes_five_at_a_time_may_take_longer_than_any_hook_would_wait"),
        (CHART, "test_the_command_ends_before_its_job_does_and_says_who_is_left"),
    ),
    "C4 no DRA driver is a success": (
        (APP, "test_without_a_dra_driver_there_is_nothing_to_do"),
        (CLI, "test_no_dra_driver_is_a_sentence_and_a_success_unless_one_is_required"),
    ),
    "C5 it can be switched off": (
        (CHART, "test_switched_off_it_makes_nothing"),
        (CHART_REAL, "test_the_chart_of_the_hook_is_installed_changed_and_removed"),
    ),
    "C6 a failure is seen": (
        (CLI, "test_reroll_exits_by_how_it_ended"),
        (CHART, "test_the_job_is_tried_again_only_where_that_may_help"),
        (HOOK, "test_a_deadline_that_passes_fails_the_job_at_once_and_the_log_says_which_node_is_left"),
        (HOOK, "test_an_upgrade_whose_job_fails_has_failed_and_the_job_stays_with_what_it_said"),
    ),
    "C7 a second run changes nothing": (
        (REROLLING, "test_a_second_run_finds_everything_fresh_and_writes_nothing"),
        (APP, "test_a_second_run_writes_nothing"),
        (HOOK, "test_an_upgrade_that_changes_nothing_runs_the_job_and_writes_nothing"),
    ),
    "C8 an annotation of the plugins' template beside it": (
        (REROLLING, "test_a_chart_that_restarts_every_plugin_at_once_is_no_reason_to_stop_looking"),
    ),
}

SITUATIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "everything says ready from before": (
        (REROLLING, "test_until_the_target_is_to_be_seen_no_node_is_called_done"),
        (APP, "test_until_the_target_is_to_be_seen_nobody_is_called_done"),
    ),
    "old driver pods that no label finds": (
        (APP, "test_a_driver_of_the_chart_before_is_not_settled_although_its_labels_match_no_template"),
    ),
    "a template without its revision": (
        (STANDING, "test_the_newest_revision_may_be_that_of_the_template_before"),
        (APP, "test_a_daemonset_whose_newest_template_nobody_has_taken_up_is_seen"),
    ),
    "a driver of the same version starts again": (
        (STANDING, "test_a_driver_of_the_same_version_that_started_again_makes_the_plugin_stale"),
        (CONTROLLER, "test_plugins_are_restarted_whenever_one_is_stale_without_anybody_asking"),
        (HOOK, "test_with_rights_in_every_namespace_a_driver_that_started_again_is_followed_all_the_same"),
    ),
    "three nodes in a row, the last one slow": (
        (REROLLING, "test_three_nodes_one_after_the_other_are_each_restarted_once_and_never_before_their_driver"),
    ),
    "a node whose upgrade failed, a node that is left out": (
        (APP, "test_nobody_waits_for_a_node_that_failed_or_is_left_out"),
        (REROLLING, "test_a_node_that_never_settles_keeps_no_other"),
    ),
    "a node goes, a node comes": (
        (REROLLING, "test_nodes_that_come_and_go_meanwhile_are_taken_as_they_are"),
        (APP, "test_a_node_that_goes_meanwhile_is_not_waited_for_and_one_that_comes_is"),
    ),
    "a DaemonSet that wants no pod": (
        (STANDING, "test_a_plugin_that_no_node_is_chosen_for_is_told_of"),
        (STANDING, "test_a_daemonset_that_chooses_no_node_is_named"),
    ),
    "compute domains alone": ((STANDING, "test_compute_domains_alone_publish_no_version_and_the_age_has_to_do"),),
    "the names of charts from 0.4 on": ((APP, "test_plugins_are_found_by_their_labels_where_charts_put_them"),),
    "OpenShift's driver toolkit": ((APP, "test_openshifts_driver_is_found_by_its_label_and_its_daemonset_by_the_pod"),),
    "a driver that the host brings": (
        (STANDING, "test_of_a_driver_that_the_host_brings_only_versions_are_compared"),
        (STANDING, "test_a_driver_that_the_host_brings_has_no_pod_to_wait_for"),
        (REROLLING, "test_where_the_host_brings_the_drivers_no_target_is_to_be_seen"),
    ),
    "a plugin of the GPU Operator's own": ((REROLLING, "test_the_operators_own_plugin_is_left_to_it_for_ten_minutes"),),
    "a watch that ends with 410": (
        (APP, "test_a_watch_whose_history_is_gone_is_listed_anew_and_nothing_is_called_done_meanwhile"),
    ),
    "429 and 500": (
        (APP, "test_trouble_of_the_server_that_passes_is_waited_out"),
        (APP, "test_a_deletion_that_the_server_has_no_time_for_is_tried_again"),
    ),
    "a right that is missing": (
        (APP, "test_a_namespace_that_was_named_has_to_be_readable"),
        (APP, "test_no_plugin_where_we_may_not_look_is_an_error_and_not_a_success"),
        (APP, "test_a_deletion_that_is_forbidden_ends_it_with_the_reason"),
        (CHART, "test_without_its_right_to_delete_the_job_fails_with_the_reason"),
    ),
    "driver and plugin of the same second": ((STANDING, "test_a_plugin_of_the_very_second_of_its_driver_is_stale"),),
    "versions with leading zeros": (
        (STANDING, "test_leading_zeros_and_missing_parts_of_versions_make_no_difference"),
        (REROLLING, "test_leading_zeros_of_a_target_make_no_difference"),
    ),
    "beside a controller": (
        (HOOK, "test_beside_a_controller_that_restarts_plugins_the_job_waits_and_the_controller_does_it"),
        (APP, "test_beside_a_controller_nothing_is_deleted_and_the_target_is_published_once"),
    ),
}


@cache
def found_in(path: str) -> frozenset[str]:
    """The tests that a file has."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(each.name for each in tree.body if isinstance(each, kinds) and each.name.startswith("test_"))


@pytest.mark.parametrize("point", [*CRITERIA, *SITUATIONS])
def test_every_point_has_its_tests_and_they_are_there(point: str) -> None:
    named = (CRITERIA | SITUATIONS)[point]
    assert named
    assert [f"{path}::{name}" for path, name in named if name not in found_in(path)] == []


def test_every_criterion_and_consideration_is_a_point() -> None:
    numbers = [point.split()[0] for point in CRITERIA]
    assert numbers == [*(f"AC{number}" for number in range(1, 6)), *(f"C{number}" for number in range(1, 9))]
