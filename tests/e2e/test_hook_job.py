"""The Helm hook that restarts DRA plugins, run for real: by helm, as a pod of our image, with rights of its own.

One story, told in order: each test goes on where the one before ended. Needs root: left out without.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.cli.exit_codes import ExitCode
from seatrial_lab.image import recipe
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes import dra
from seatrial_lab.testbed.nodes.fleet_spec import ready_at
from tests import real_nodes
from tests.chart import charts, post
from tests.e2e.campaigns import NEW, OLD
from tests.e2e.hook_stage import HOME, QUIET, REAL, Quay, quay_of, right_of

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

real_nodes.needed()

TO_NEW = f"target.driver={NEW}"


@pytest.fixture(scope="module")
def quay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quay]:
    with quay_of(tmp_path_factory.mktemp("quay")) as made:
        yield made


def test_after_an_install_the_job_runs_with_its_own_token_and_finds_nothing_to_do(quay: Quay) -> None:
    before = quay.plugins()
    voyage = quay.sail("install", f"target.driver={OLD}")
    (pod,) = voyage.pods
    assert pod.startswith(post.JOB[:50]), "the token is that of the Job's own pod"
    assert (voyage.written, quay.plugins()) == ([], before)
    assert quay.job_pods() == [], "a hook that ended well is taken away"


def test_after_an_upgrade_each_plugin_goes_once_its_own_node_has_settled_although_the_job_is_evicted(
    quay: Quay,
) -> None:
    first, second = quay.fleet.nodes
    assert second == REAL
    before = quay.plugins()
    quay.fleet.set_driver_version(NEW, manager_env=QUIET)
    with quay.sailing("upgrade", TO_NEW) as sailed:
        pod = quay.wait_said(f"{second}: pending")
        quay.fleet.delete_driver_pod(first)
        quay.wait_rerolled(first, before[first])
        assert quay.plugins()[second] == before[second], "its driver has not come yet"
        quay.evict(pod)
        quay.fleet.delete_driver_pod(second)
    voyage = sailed.result()
    assert len(voyage.pods) == 2, "another pod went on, and no try was lost by it"
    assert voyage.written == [("delete", dra.NAMESPACE, before[name]) for name in (first, second)]
    drivers = quay.fleet.driver_pods()
    deleted = [each for each in voyage.asked if each.verb == "delete"]
    for name, request in zip((first, second), deleted, strict=True):
        assert request.at[:19] > ready_at(drivers[name])[:19], f"{name} had not settled"
    assert quay.are_fresh()


def test_an_upgrade_that_changes_nothing_runs_the_job_and_writes_nothing(quay: Quay) -> None:
    before = quay.plugins()
    voyage = quay.sail("upgrade", TO_NEW)
    assert len(voyage.pods) == 1
    assert (voyage.written, quay.plugins()) == ([], before)


def test_with_rights_in_every_namespace_a_driver_that_started_again_is_followed_all_the_same(quay: Quay) -> None:
    name = quay.fleet.nodes[0]
    before = quay.plugins()
    quay.reload_driver(name)
    voyage = quay.sail("upgrade", TO_NEW, "rbac.scope=cluster", "rbac.claims=true")
    assert voyage.written == [("delete", dra.NAMESPACE, before[name])]
    assert voyage.denied == set()
    assert quay.are_fresh()


def test_a_rollback_has_a_job_of_its_own(quay: Quay) -> None:
    voyage = quay.sail_back(3)
    (pod,) = voyage.pods
    assert pod.startswith(post.BACK[:50])
    assert voyage.written == []


# ── when it fails ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_deadline_that_passes_fails_the_job_at_once_and_the_log_says_which_node_is_left(quay: Quay) -> None:
    name = quay.fleet.nodes[0]
    quay.plane.kubectl("label", "node", name, f"{keys.NVIDIA_STATE_LABEL}=pod-restart-required")
    quay.start_job("late", args=["--deadline=8s"])
    quay.start_job("nowhere", activeDeadlineSeconds=3, nodeSelector={"no": "where"})
    why, message = quay.failure("late")
    assert (why, len(quay.job_pods("late"))) == ("PodFailurePolicy", 1), "another try would end the same"
    assert f"exit code {int(ExitCode.TIMEOUT)}" in message
    assert f"{name}: pending" in quay.said("late")
    assert quay.failure("nowhere")[0] == "DeadlineExceeded"
    quay.plane.kubectl("label", "node", name, f"{keys.NVIDIA_STATE_LABEL}-")


def test_an_upgrade_whose_job_fails_has_failed_and_the_job_stays_with_what_it_said(quay: Quay) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)post-upgrade hooks failed.*BackoffLimitExceeded"):
        quay.sail("upgrade", TO_NEW, "require=true", "draNamespaces={default}", "backoffLimit=0")
    (pod,) = quay.job_pods()
    (container,) = pod["status"]["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == ExitCode.ERROR
    assert "There is no DRA driver in default, gpu-operator" in quay.said()
    assert "--require" in quay.said()


# ── beside a controller ──────────────────────────────────────────────────────────────────────────────────────────────


def test_beside_a_controller_that_restarts_plugins_the_job_waits_and_the_controller_does_it(quay: Quay) -> None:
    told = (
        f"image.repository={recipe.CONTROLLER.name}",
        f"draNamespaces={{{dra.NAMESPACE}}}",
        *("draReroll=true", "replicas=1", "extraArgs={--lease-seconds=4}"),
    )
    flags = [flag for each in told for flag in ("--set", each)]
    quay.helm("install", "seatrial", charts.CHART, *flags, "--wait", "--timeout=100s", namespace=HOME)
    waiting.wait_for(lambda: is_led(quay), what="a controller that restarts plugins to lead", timeout_seconds=60)
    name = quay.fleet.nodes[0]
    before = quay.plugins()
    quay.reload_driver(name)

    voyage = quay.sail("upgrade", TO_NEW)  # the one before has failed: its Job makes room
    assert voyage.written == []
    assert ("get", "dra-reroll-target") in {(each.verb, each.name) for each in voyage.asked}, "the target is published"
    controllers = quay.asked(f"{HOME}:seatrial-controller")
    deleted = [each for each in controllers if (each.verb, each.resource) == ("delete", "pods")]
    assert [(each.namespace, each.name, each.code) for each in deleted] == [(dra.NAMESPACE, before[name], 200)]
    assert [each for each in controllers if each.code in (401, 403)] == []
    sets = {right_of(each) for each in controllers if each.resource == "daemonsets"}
    wanted = {post.Right(verb, "apps", "daemonsets") for verb in ("list", "watch")}
    assert sets == {each._replace(namespace=where) for each in wanted for where in (dra.NAMESPACE, "gpu-operator")}
    assert quay.are_fresh()


def is_led(quay: Quay) -> bool:
    found = quay.plane.get("leases", "-n", HOME, "--field-selector", "metadata.name=seatrial")["items"]
    return any(
        each["spec"].get("holderIdentity") and each["metadata"].get("annotations", {}).get(keys.REROLLS_ANNOTATION)
        for each in found
    )


# ── rights ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_was_asked_for_without_a_right_and_every_right_was_used(quay: Quay) -> None:
    granted, used = set[post.Right](), set[post.Right]()
    for voyage in quay.voyages:
        voyage.assert_within_rights()
        asked = {right_of(each) for each in voyage.asked}
        # One looked for plugins in another namespace, where it had the same rights and found nothing to delete.
        if "default" not in {each.namespace for each in voyage.rights}:
            granted |= voyage.rights
            used |= {right for each in asked for right in (each, each.anywhere)} & voyage.rights
    assert granted - used == set()
    assert len(quay.voyages) == 7


def test_uninstalled_nothing_of_it_is_left_but_what_a_failed_upgrade_alone_had_made(quay: Quay) -> None:
    """That one, Helm has forgotten: it compares with the upgrade before that went well."""
    quay.helm("uninstall", "post")
    kinds = "jobs,roles,rolebindings,configmaps,serviceaccounts,clusterroles,clusterrolebindings"
    found = [each["metadata"] for each in quay.plane.get(kinds, "-A")["items"]]
    ours = [each for each in found if each["name"] in (post.JOB, post.BACK) or each["name"].startswith(post.ACCOUNT)]
    assert [(each.get("namespace", ""), each["name"]) for each in ours] == [("default", "dra-reroll-plugin")] * 2
