"""The manifests: namespaces as asked for, rights for one alone, and a definition that a real API server checks with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml

from seatrial import manifests
from seatrial.adapters.kube.reading.rollout_intent import read_intent
from seatrial.adapters.kube.shapes import models
from seatrial.cli import main as cli
from seatrial.controller.notices import Format
from seatrial.core.compat.matrix import Role
from seatrial.core.model.campaign import ASKED_BY_WORD, AUTO, Campaign, Growth, Point, Via
from seatrial.core.model.gates.gate import READINESS
from seatrial.core.model.intent import Order
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.windows import DAYS
from seatrial.core.survey.sources import AUDITED, KINDS
from seatrial_lab import definition
from seatrial_lab.testbed import controller_process, errors
from seatrial_lab.testbed.plane.control_plane import ControlPlane

BINDINGS = ("ClusterRoleBinding", "RoleBinding")


def objects(**options: Any) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(manifests.rbac(**options)))


def namespaces(found: list[dict[str, Any]]) -> set[str]:
    return {item["metadata"].get("namespace", "") for item in found}


# ── rights ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_role_is_bound_to_the_controller_and_to_nobody_else() -> None:
    found = objects(dra_namespaces=["dra"], has_campaigns=True)
    roles = {
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
        for item in found
        if item["kind"] in ("ClusterRole", "Role")
    }
    bound = set()
    for item in found:
        if item["kind"] in BINDINGS:
            subject = {"kind": "ServiceAccount", "name": "seatrial-controller", "namespace": "seatrial"}
            assert item["subjects"] == [subject]
            bound.add((item["roleRef"]["kind"], item["metadata"].get("namespace", ""), item["roleRef"]["name"]))
    assert bound == roles


def test_the_operators_namespace_is_the_one_asked_for() -> None:
    assert namespaces(objects()) == {"", "default", "seatrial", "gpu-operator"}
    assert namespaces(objects(operator_namespace="nvidia")) == {"", "default", "seatrial", "nvidia"}


def test_jobs_are_made_where_gates_run_and_nowhere_else() -> None:
    def making(**options: Any) -> list[tuple[str, str]]:
        return [
            (item["kind"], item["metadata"].get("namespace", ""))
            for item in objects(has_campaigns=True, **options)
            for rule in item.get("rules", ())
            if "jobs" in rule["resources"] and "create" in rule["verbs"]
        ]

    assert making() == [("Role", "seatrial")]
    assert making(gates_namespace="trials") == [("Role", "trials")]


def test_where_gates_run_their_jobs_may_be_ended_too() -> None:
    (verbs,) = (
        rule["verbs"]
        for item in objects(has_campaigns=True)
        for rule in item.get("rules", ())
        if item["kind"] == "Role" and "jobs" in rule["resources"]
    )
    assert set(verbs) == {"list", "watch", "create", "delete"}


def test_the_driver_managers_account_is_that_of_the_operators_namespace() -> None:
    text = manifests.driver_manager(operator_namespace="nvidia")
    assert "'system:serviceaccount:nvidia:nvidia-driver'" in text
    assert manifests.OPERATOR_NAMESPACE not in text


def test_plugins_of_dra_drivers_may_be_deleted_only_where_asked_for() -> None:
    found = objects(dra_namespaces=["dra-b", "dra-a", "dra-b"])
    deleting = [
        item["metadata"]["namespace"]
        for item in found
        if item["kind"] == "Role" and any("delete" in rule["verbs"] for rule in item["rules"])
    ]
    assert deleting == ["gpu-operator", "dra-a", "dra-b"]


def test_who_restarts_plugins_that_others_made_stale_sees_daemonsets_there_and_nowhere_else() -> None:
    def seeing(**options: Any) -> list[str]:
        rules = ((item["metadata"], rule) for item in objects(**options) for rule in item.get("rules", ()))
        return [meta["namespace"] for meta, rule in rules if "daemonsets" in rule["resources"]]

    assert seeing(dra_namespaces=["dra"]) == ["gpu-operator"]  # whose operands are moved node by node
    assert set(seeing(dra_namespaces=["dra", "dra"], has_rerolls=True)) == {"dra", "gpu-operator"}


def test_who_audits_may_list_what_an_audit_reads_and_change_nothing() -> None:
    (role,) = [
        each
        for each in objects(has_audits=True)
        if each["metadata"]["name"] == "seatrial-controller-audit" and "rules" in each
    ]
    granted = {
        (group, resource) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
    }
    assert granted == {(KINDS[source].group, KINDS[source].resource) for source in AUDITED}
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"list"}


def test_workloads_of_kueue_may_be_seen_and_patched_only_where_that_was_asked_for() -> None:
    def granted(**options: Any) -> list[list[str]]:
        rules = (rule for item in objects(**options) for rule in item.get("rules", ()))
        return [rule["verbs"] for rule in rules if "workloads" in rule["resources"]]

    assert granted() == []
    assert granted(has_kueue=True) == [["get", "list", "watch", "patch"]]


def test_pods_may_be_changed_only_where_jobs_are_asked_to_save_their_work() -> None:
    """Who may patch a pod may change its image: everywhere, that would be every privileged pod of the cluster."""

    def patching(**options: Any) -> list[tuple[str, str]]:
        return [
            (item["kind"], item["metadata"].get("namespace", ""))
            for item in objects(
                dra_namespaces=["dra"], has_campaigns=True, has_rerolls=True, has_audits=True, **options
            )
            for rule in item.get("rules", ())
            if "pods" in rule["resources"] and {"patch", "update", "create"} & {*rule["verbs"]}
        ]

    assert patching() == []
    assert patching(checkpoint_namespaces=["train-b", "train-a", "train-b"]) == [
        ("Role", "train-a"),
        ("Role", "train-b"),
    ]


def test_only_where_there_are_canaries_may_the_operators_resources_be_written() -> None:
    def writing(**options: Any) -> list[tuple[str, str]]:
        return [
            (item["metadata"]["name"], verb)
            for item in objects(**options)
            for rule in item.get("rules", ())
            for verb in rule["verbs"]
            if "clusterpolicies" in rule["resources"] and verb not in ("list", "watch")
        ]

    assert writing() == []
    assert writing(has_campaigns=True) == [
        ("seatrial-controller-campaign", "get"),
        ("seatrial-controller-campaign", "patch"),
    ]


def test_no_rule_has_a_wildcard() -> None:
    for item in objects(dra_namespaces=["dra"], has_campaigns=True):
        for rule in item.get("rules", ()):
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]


@pytest.mark.parametrize("name", ["", "UPPER", "a b", "a\nrules: []", "x" * 64, "-a"])
def test_what_cannot_be_a_namespace_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a namespace"):
        manifests.rbac(operator_namespace=name)
    with pytest.raises(ValueError, match="cannot be the name of a namespace"):
        manifests.rbac(dra_namespaces=[name])
    with pytest.raises(ValueError, match="cannot be the name of a namespace"):
        manifests.rbac(gates_namespace=name)
    with pytest.raises(ValueError, match="cannot be the name of a namespace"):
        manifests.rbac(checkpoint_namespaces=[name])


def test_the_command_prints_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--operator-namespace", "nvidia", "--dra-namespace", "dra-a", "--dra-namespace", "dra-b")
    assert cli.main(["manifests", "rbac", *asked]) == 0
    assert capsys.readouterr().out == manifests.rbac(operator_namespace="nvidia", dra_namespaces=["dra-a", "dra-b"])
    assert cli.main(["manifests", "rbac", *asked, "--dra-reroll"]) == 0
    found = manifests.rbac(operator_namespace="nvidia", dra_namespaces=["dra-a", "dra-b"], has_rerolls=True)
    assert capsys.readouterr().out == found
    assert cli.main(["manifests", "rbac", "--checkpoint-namespace", "train"]) == 0
    assert capsys.readouterr().out == manifests.rbac(checkpoint_namespaces=["train"])
    assert cli.main(["manifests", "rbac", "--canary"]) == 0
    assert capsys.readouterr().out == manifests.rbac(has_campaigns=True)
    assert cli.main(["manifests", "rbac", "--canary", "--gates-namespace", "trials"]) == 0
    assert capsys.readouterr().out == manifests.rbac(has_campaigns=True, gates_namespace="trials")
    assert cli.main(["manifests"]) == 0
    assert capsys.readouterr().out == f"{manifests.crd()}---\n{manifests.rbac()}"


def test_the_testbeds_controller_has_the_rights_of_the_manifests() -> None:
    cluster, by_namespace = controller_process.controller_rules()
    assert {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]} in cluster
    assert set(by_namespace) == {"gpu-operator", "nvidia-dra-driver-gpu", "default", "seatrial"}


# ── the definition ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_status_of_the_definition_is_what_our_records_declare() -> None:
    assert manifests.crd() == definition.definition(), "make deploy"


def spec_schema() -> dict[str, Any]:
    version = yaml.safe_load(manifests.crd())["spec"]["versions"][0]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return found


@pytest.mark.parametrize("part", ["limits", "waitForCompletion", "podDeletion", "drain"])
def test_what_the_operator_may_say_has_no_default_here(part: str) -> None:
    schema = spec_schema()[part]
    assert "default" not in schema
    assert [name for name, field in schema["properties"].items() if "default" in field] == []


@pytest.mark.parametrize(
    ("place", "known"),
    [
        ("order", [*Order]),
        ("matrix.entry", [Role.PRODUCTION, Role.CANARY]),
        ("publish.via", [*Via]),
        ("waves.growth", [*Growth]),
        ("windows.open.days", [*DAYS]),
        ("approvals.manual", [*Point]),
        ("approvals.approved", [*Point]),
        ("notifications.format", [*Format]),
    ],
)
def test_the_words_to_choose_from_are_those_the_code_knows(place: str, known: list[str]) -> None:
    schema: dict[str, Any] = {"properties": spec_schema()}
    for name in place.split("."):
        schema = schema["properties"][name]
        schema = schema.get("items", schema)
    assert schema["enum"] == known


def test_the_mode_is_one_the_core_knows_or_left_to_the_cluster() -> None:
    assert set(spec_schema()["mode"]["enum"]) == {*ASKED_BY_WORD, AUTO}


def test_the_gate_that_every_canary_has_is_not_to_be_named_again() -> None:
    rules = spec_schema()["gates"]["items"]["properties"]["name"]["x-kubernetes-validations"]
    assert f"self != '{READINESS}'" in [rule["rule"] for rule in rules]


def test_what_a_campaign_is_asked_by_default_is_what_the_core_asks() -> None:
    """The defaults of the definition, of what is read without them, and of the core are one."""
    said, read = filled_in("canary", "bake", "waves"), filled_in()
    operator = OperatorFacts()
    asked = Campaign(suite_image="")  # no word about gates
    assert read_intent(said, operator, 0.0).campaign == read_intent(read, operator, 0.0).campaign == asked


def filled_in(*parts: str) -> models.Rollout:
    """A bare campaign, with these parts as the definition fills them in."""
    defaults = {
        part: {
            name: field["default"] for name, field in spec_schema()[part]["properties"].items() if "default" in field
        }
        for part in parts
    }
    spec = {"target": {"driver": "580.105.08"}, "canary": {}, **defaults}
    return msgspec.convert({"metadata": {"name": "spring"}, "spec": spec}, models.Rollout)


@pytest.fixture(scope="module")
def cluster(plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with our definition."""
    controller_process.install(plane)
    yield plane
    plane.kubectl("delete", "gpurollout", "checked", "--ignore-not-found")


def submit(cluster: ControlPlane, **spec: Any) -> dict[str, Any]:
    """What the API server makes of a rollout, stored."""
    rollout = {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": "checked"},
        "spec": {"target": {"driver": "580.105.08"}, **spec},
    }
    cluster.kubectl("delete", "gpurollout", "checked", "--ignore-not-found")
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(rollout))
    found: dict[str, Any] = cluster.get("gpurollout", "checked")["spec"]
    return found


@pytest.mark.cluster
def test_a_bare_rollout_leaves_the_policy_to_the_operator(cluster: ControlPlane) -> None:
    assert submit(cluster) == {
        "target": {"driver": "580.105.08"},
        "nodeSelector": {"nvidia.com/gpu.present": "true"},
        "order": "name",
        "retries": {"max": 0, "pauseSeconds": 300},
        "checkpoint": {"timeoutSeconds": 600},
        "driverTimeoutSeconds": 1800,
        "validationTimeoutSeconds": 600,
        "paused": False,
        "mode": "auto",
        "prepull": True,
        "onDelete": "leave",
    }


@pytest.mark.cluster
def test_everything_can_be_said(cluster: ControlPlane) -> None:
    said: dict[str, Any] = {
        "limits": {"maxParallelUpgrades": 0, "maxUnavailable": 3, "maxFailed": 0},
        "waitForCompletion": {"podSelector": "app in (train, tune)", "timeoutSeconds": 0},
        "podDeletion": {"force": True, "deleteEmptyDir": True, "timeoutSeconds": 0},
        "drain": {"enable": True, "force": True, "deleteEmptyDir": True, "podSelector": "a!=b", "timeoutSeconds": 1},
        "domains": [
            {"label": "topology.kubernetes.io/zone", "maxUnavailable": "50%", "unit": False},
            {"label": "nvidia.com/gpu.clique", "unit": True},
        ],
        "order": "domain-by-domain",
        "retries": {"max": 2, "pauseSeconds": 60},
        "checkpoint": {"timeoutSeconds": 0, "webhook": "https://saver.example:8443/save?team=a"},
        "maintenance": {"requestorID": "seatrial.dev", "namespace": "ops", "prefix": "gpu", "timeoutSeconds": 60},
    }
    stored = submit(cluster, **said)
    assert {key: stored[key] for key in said} == said


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"limits": {"maxUnavailable": "many"}}, "maxUnavailable is a count such as 3 or a percentage up to 100%"),
        ({"limits": {"maxUnavailable": "-3"}}, "maxUnavailable is a count such as 3 or a percentage up to 100%"),
        ({"limits": {"maxUnavailable": -1}}, "maxUnavailable is a count such as 3 or a percentage up to 100%"),
        ({"limits": {"maxParallelUpgrades": -1}}, "spec.limits.maxParallelUpgrades"),
        ({"domains": [{"label": "rack", "maxUnavailable": "x%"}]}, "maxUnavailable is a count such as 3"),
        ({"domains": [{"label": ""}]}, "spec.domains[0].label"),
        ({"domains": [{"label": "rack"}, {"label": "rack"}]}, "Duplicate value"),
        ({"order": "random"}, "spec.order"),
        ({"checkpoint": {"webhook": "file:///etc/passwd"}}, "begins with http:// or https:// and names a host"),
        ({"checkpoint": {"webhook": "http://"}}, "begins with http:// or https:// and names a host"),
        ({"maintenance": {}}, "spec.maintenance.requestorID"),
        ({"maintenance": {"requestorID": ""}}, "spec.maintenance.requestorID"),
        ({"maintenance": {"requestorID": "not a name"}}, "spec.maintenance.requestorID"),
        ({"drain": {"podSelector": "x" * 4097}}, "spec.drain.podSelector"),
        ({"waitForCompletion": {"podSelector": "x" * 4097}}, "spec.waitForCompletion.podSelector"),
        ({"retries": {"max": -1}}, "spec.retries.max"),
        ({"drain": {"enabled": True}}, "unknown field"),
    ],
)
def test_what_cannot_be_meant_is_refused_where_it_is_written(
    cluster: ControlPlane, spec: dict[str, Any], words: str
) -> None:
    with pytest.raises(errors.KubectlFailed) as caught:
        submit(cluster, **spec)
    assert words in str(caught.value)


@pytest.fixture
def granted(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with the shipped rights; later stories on it must find no controller's account."""
    cluster.apply(objects(dra_namespaces=[manifests.DRA_NAMESPACE], has_campaigns=True))
    yield cluster
    cluster.kubectl("delete", "serviceaccount", "seatrial-controller", "-n", "seatrial")


@pytest.mark.cluster
def test_the_shipped_rights_can_be_applied(granted: ControlPlane) -> None:
    who = "--as=system:serviceaccount:seatrial:seatrial-controller"
    for verb, resource, namespace in (
        ("delete", "pods", "gpu-operator"),
        ("delete", "pods", manifests.DRA_NAMESPACE),
        ("list", "events", "gpu-operator"),
        ("create", "events", "gpu-operator"),
        ("watch", "resourceslices.resource.k8s.io", "default"),
        ("create", "jobs.batch", "seatrial"),
        ("patch", "clusterpolicies.nvidia.com", "default"),
    ):
        assert granted.kubectl("auth", "can-i", verb, resource, "-n", namespace, who).strip() == "yes"
    for verb in ("delete", "patch"):
        with pytest.raises(errors.KubectlFailed):
            granted.kubectl("auth", "can-i", verb, "pods", "-n", "default", who)
