"""An audit of a real API server, under exactly the rights that the how-to grants, and without each of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.surveying import auditing
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.compat.matrix import Component
from seatrial.core.survey.audit.auditing import audit
from seatrial.core.survey.audit.objects import Objects
from seatrial.core.survey.audit.readings import NotObservable, Seen
from seatrial.core.survey.sources import AUDITED, KINDS, Source, Why
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.core.compat.knowledge import ON, facts
from tests.pages import rules_of

pytestmark = pytest.mark.cluster

PREFIX: Final = "audited"
AGENT: Final = "test-auditing"
PULLING: Final = "ImagePull"
"""A part of both words that the kubelet has for it."""
NOT_SERVED: Final = {
    Source.NIC_DEVICES,
    Source.CSVS,
    Source.SUBSCRIPTIONS,
    Source.CLUSTER_VERSIONS,
    Source.MACHINE_POOLS,
}
"""Kinds that the testbed does not have, unless another test has defined them."""


@pytest.fixture(scope="module")
def fleet(plane: ControlPlane) -> Iterator[Fleet]:
    spec = FleetSpec(
        prefix=PREFIX,
        node_count=2,
        reload_seconds=0.2,
        has_feature_discovery=True,
        has_device_plugin=True,
        has_dra=True,
    )
    made = make_fleet(plane, spec)
    yield made
    made.remove()


def role() -> list[dict[str, Any]]:
    """The rules of the how-to's ClusterRole, one for each kind."""
    return [
        {"apiGroups": rule["apiGroups"], "resources": [resource], "verbs": rule["verbs"]}
        for rule in rules_of("how-to/audit.md")
        for resource in rule["resources"]
    ]


async def read(account: Path) -> Objects:
    config = configs.load_config(kubeconfig=str(account), environ={})
    async with clients.Client(config, user_agent=AGENT) as client:
        return await auditing.read(client, namespace="gpu-operator")


async def test_the_rights_of_the_how_to_are_enough_and_nothing_but_lists_is_asked_for(
    plane: ControlPlane, fleet: Fleet
) -> None:
    account = plane.service_account("default", "auditor", cluster_rules=role())
    objects = await read(account)
    assert {each.why for each in objects.gaps.values()} <= {Why.NOT_SERVED}
    assert set(objects.gaps) <= NOT_SERVED
    found = audit(objects, facts(), ON)
    nodes = {node.name: node for node in found.observed.nodes}
    assert set(fleet.nodes) <= set(nodes)
    driver = nodes[fleet.nodes[0]].readings[Component.GPU_DRIVER]
    assert isinstance(driver, Seen)
    assert driver.text == fleet.spec.driver_version
    waiting.wait_for(
        lambda: plane.requests(AGENT) or None, what="our requests in the API server's log", timeout_seconds=20
    )
    # A path that nothing serves has no resource, and its verb is that of HTTP.
    assert {each.verb for each in plane.requests(AGENT) if each.resource} == {"list"}
    assert {each.verb for each in plane.requests(AGENT)} <= {"list", "get"}


@pytest.mark.parametrize("source", AUDITED)
async def test_without_a_right_the_real_server_forbids_and_the_audit_names_it(
    plane: ControlPlane, fleet: Fleet, source: Source
) -> None:
    kind = KINDS[source]
    rules = [each for each in role() if (each["apiGroups"], each["resources"]) != ([kind.group], [kind.resource])]
    assert len(rules) == len(AUDITED) - 1
    account = plane.service_account("default", f"auditor-without-{kind.resource}", cluster_rules=rules)
    objects = await read(account)
    assert [each.source for each in objects.blind(*AUDITED)] == [source]
    found = audit(objects, facts(), ON)
    assert any(f"We may not {kind.right}," in each.message for each in found.findings)
    if source is Source.PODS:
        node = next(each for each in found.observed.nodes if each.name == fleet.nodes[0])
        assert isinstance(node.readings[Component.CONTAINER_TOOLKIT], NotObservable)


def test_a_report_is_written_with_the_right_to_patch_one_configmap_and_no_other(
    plane: ControlPlane, fleet: Fleet
) -> None:
    own = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["report"], "verbs": ["patch"]}
    account = plane.service_account("default", "reporter", cluster_rules=role(), namespaced_rules={"default": [own]})
    where = ("--kubeconfig", str(account), "-n", fleet.spec.namespace, "--report-to")
    missing = forked.run("audit", *where, "default/report")
    assert missing.returncode == ExitCode.ERROR
    assert "`kubectl -n default create configmap report` makes it." in missing.stderr
    for name in ("report", "another"):
        plane.kubectl("create", "configmap", name, "-n", "default")
    said = forked.run("audit", *where, "default/report")
    kept = plane.get("configmap", "report", "-n", "default")["data"]
    assert (kept["exitCode"], kept["brief"][:9]) == (str(said.returncode), "GPU audit")
    assert len(json.loads(kept["report.json"])["nodes"]) >= len(fleet.nodes)
    refused = forked.run("audit", *where, "default/another")
    assert refused.returncode == ExitCode.ERROR
    assert "another" in refused.stderr


def test_a_driver_whose_image_cannot_be_pulled_is_said_to_run_by_no_page(plane: ControlPlane, fleet: Fleet) -> None:
    where = ("--kubeconfig", str(plane.kubeconfig), "-n", fleet.spec.namespace)
    version, (broken, well) = fleet.spec.driver_version, fleet.nodes
    controller_process.install(plane)  # status looks for rollouts
    fleet.break_driver(broken, "image-pull")
    fleet.delete_driver_pod(broken)
    try:
        waiting.wait_for(
            lambda: PULLING in json.dumps(fleet.driver_pods().get(broken, {})),
            what=f"the driver of {broken} not to be pulled",
            timeout_seconds=30,
        )
        found = json.loads(forked.run("audit", *where, "-o", "json").stdout)
        nodes = {each["name"]: each for each in found["nodes"]}
        assert nodes[well]["versions"]["gpu_driver"] == version
        assert "gpu_driver" not in nodes[broken]["versions"]
        told = [each for each in found["findings"] if broken in each["nodes"] and each["component"] == "gpu_driver"]
        assert [each["kind"] for each in told] == ["not-running"]
        assert f"Driver {version} does not run: the image of its pod cannot be pulled" in told[0]["message"]
        said = forked.run("doctor", broken, *where)
        assert "image" in said.stdout
        told = forked.run("status", *where).stdout.splitlines()
        (drivers,) = [line for line in told if line.startswith("Drivers")]
        assert f"{version} not running (" in drivers
        said = forked.run("node", "get", broken, *where)
        assert f"Driver    {version} not running (" in said.stdout
        assert f"Loaded    {version} (an old label: no driver runs)" in said.stdout
    finally:
        fleet.mend(broken)
        fleet.wait_ready()
