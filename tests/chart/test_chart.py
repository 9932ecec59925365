"""The chart as helm renders it: the rights that our tests run under, a pod that may do little, values that teach."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial import __version__, manifests
from seatrial.adapters.forge.places import Kind
from seatrial.adapters.git.authorities import Authorities
from seatrial.cli.options import prometheus_of
from seatrial.cli.run import controller
from seatrial.controller.forges import Forges
from seatrial_lab.image import recipe
from seatrial_lab.testbed.building import promtool
from tests.chart.charts import CHART, NAMESPACE, helm, one, rendered, rendered_with

MANIFESTS = CHART.parents[1] / "src" / "seatrial" / "manifests"
RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def test_the_chart_passes_the_strict_linter() -> None:
    helm("lint", "--strict", CHART)


def test_the_chart_is_of_the_version_that_it_installs() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


@pytest.mark.parametrize(
    "name",
    [
        "crd",
        "rbac",
        "rbac-audit",
        "rbac-campaign",
        "rbac-checkpoint",
        "rbac-dra",
        "rbac-dra-sets",
        "rbac-network",
        "rbac-olm",
        "rbac-releases",
        "rbac-switched",
    ],
)
def test_what_the_chart_carries_is_what_the_command_prints(name: str) -> None:
    shipped, carried = MANIFESTS / f"{name}.yaml", CHART / "files" / f"{name}.yaml"
    assert carried.read_text(encoding="utf-8") == shipped.read_text(encoding="utf-8"), f"cp {shipped} {carried}"


# ── rights ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def rights(objects: list[dict[str, Any]]) -> dict[tuple[str, str, str], object]:
    """Who may do what: rules and bindings by kind, namespace and name."""
    return {
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]): (
            item.get("rules"),
            item.get("roleRef"),
            item.get("subjects"),
        )
        for item in objects
        if item["kind"] in RIGHTS and item["metadata"]["name"].startswith("seatrial-controller")
    }


def test_the_controller_may_do_what_the_manifests_say_and_no_more() -> None:
    text = manifests.rbac(
        operator_namespace="nvidia",
        dra_namespaces=["dra-a", "dra-b"],
        has_rerolls=True,
        has_campaigns=True,
        has_audits=True,
        has_kueue=True,
        has_releases=True,
        has_machine_pools=True,
        has_gitops=True,
        holders=["HelmRelease/gpu/operator", "Application/argocd/gpu"],
        gates_namespace="seatrial-gates",
        checkpoint_namespaces=["train-a", "train-b"],
        maintenance_namespaces=["ops"],
    )
    text = re.sub(r"namespace: seatrial\b(?!-)", f"namespace: {NAMESPACE}", text)
    asked = rendered(
        "operatorNamespace=nvidia",
        "draNamespaces={dra-a,dra-b}",
        "draReroll=true",
        "checkpointNamespaces={train-a,train-b}",
        "features.campaigns=true",
        "features.releases=true",
        "features.machineConfigPools=true",
        "features.gitops=true",
        "releasesOf={HelmRelease/gpu/operator,Application/argocd/gpu}",
        "maintenanceNamespaces={ops}",
        "audit.metricsEvery=15m",
        "kueue=true",
    )
    (controller,) = [each for each in asked if each["kind"] == "Deployment"]
    assert {"--audit-every=15m", "--kueue"} <= {*controller["spec"]["template"]["spec"]["containers"][0]["args"]}
    assert rights(asked) == rights(list(yaml.safe_load_all(text)))


def test_where_dra_plugins_run_is_said_to_whoever_plays_a_controller() -> None:
    asked = rendered("draNamespaces={dra-a,dra-b}")
    for kind in ("Deployment", "Job"):
        (found,) = [each for each in asked if each["kind"] == kind]
        arguments = found["spec"]["template"]["spec"]["containers"][0]["args"]
        said = [each for each in arguments if each.startswith("--dra-")]
        assert said == ["--dra-namespace=dra-a", "--dra-namespace=dra-b"]
        assert "--dra-" not in str(one(rendered(), kind, found["metadata"]["name"]))


@pytest.mark.parametrize(
    ("feature", "roles"),
    [
        ("campaigns", {"seatrial-controller-campaign", "seatrial-controller-gates"}),
        ("machineConfigPools", {"seatrial-controller-machine-pools"}),
        ("gitops", {"seatrial-controller-gitops"}),
        ("releases", {"seatrial-controller-releases"}),
    ],
)
def test_a_feature_that_is_off_has_no_rights(feature: str, roles: set[str]) -> None:
    on, off = rights(rendered(f"features.{feature}=true")), rights(rendered(f"features.{feature}=false"))
    assert {name for _, _, name in on.keys() - off.keys()} == roles


@pytest.mark.parametrize("what", ["nodemaintenances", "machineconfigpools", "applications", "helmreleases"])
def test_what_most_clusters_do_not_need_is_granted_by_its_switch_alone(what: str) -> None:
    everything_else = ("features.releases=true", "features.olm=true", "features.network=true", "kueue=true")
    granted = [rule for item in rendered(*everything_else) for rule in item.get("rules") or ()]
    assert not [rule for rule in granted if what in rule["resources"]]


def test_a_release_is_written_where_it_was_named_and_nowhere_else() -> None:
    objects = rendered("features.releases=true", "releasesOf={HelmRelease/gpu/operator}", "features.gitops=true")
    writing = [
        (item["kind"], item["metadata"].get("namespace"), rule["resourceNames"], rule["verbs"])
        for item in objects
        for rule in item.get("rules") or ()
        if "helmreleases" in rule["resources"] and "patch" in rule["verbs"]
    ]
    assert writing == [("Role", "gpu", ["operator"], ["get", "patch"])]
    with pytest.raises(RuntimeError, match="releasesOf"):
        rendered("releasesOf={Secret/gpu/operator}")


def test_nobody_may_patch_pods_unless_asked_for() -> None:
    granted = [rule for item in rendered() for rule in item.get("rules") or ()]
    assert not [rule for rule in granted if "pods" in rule["resources"] and "patch" in rule["verbs"]]


# ── where reports are ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_address_of_reports_is_handed_to_the_controller_as_it_is() -> None:
    pattern = "https://reports.example/{rollout}"
    # As JSON: `--set` takes braces for a list.
    objects = rendered_with("--set-json", f'reports.urlPattern="{pattern}"')
    (container,) = one(objects, "Deployment", "seatrial-controller")["spec"]["template"]["spec"]["containers"]
    assert f"--report-url={pattern}" in container["args"]
    (container,) = one(rendered(), "Deployment", "seatrial-controller")["spec"]["template"]["spec"]["containers"]
    assert not [each for each in container["args"] if each.startswith("--report-url")]


@pytest.mark.parametrize("pattern", ["https://reports.example/all", "reports/{rollout}"])
def test_an_address_without_the_rollout_is_refused_by_the_schema(pattern: str) -> None:
    with pytest.raises(RuntimeError, match="urlPattern"):
        rendered_with("--set-json", f'reports.urlPattern="{pattern}"')


# ── where gates run ──────────────────────────────────────────────────────────────────────────────────────────────────


GATES = {"key": "seatrial.dev/gate", "operator": "Exists"}
"""Whoever measures a gate."""


def gate_arguments(objects: list[dict[str, Any]]) -> list[str]:
    (container,) = one(objects, "Deployment", "seatrial-controller")["spec"]["template"]["spec"]["containers"]
    return [each for each in container["args"] if each.startswith("--gates-")]


def namespaces(objects: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """The namespaces that the chart makes, and what PodSecurity lets in there."""
    prefix = "pod-security.kubernetes.io/"
    return {
        item["metadata"]["name"]: {
            key.removeprefix(prefix): value
            for key, value in item["metadata"]["labels"].items()
            if key.startswith(prefix)
        }
        for item in objects
        if item["kind"] == "Namespace"
    }


@pytest.mark.parametrize(
    ("level", "told"), [("baseline", []), ("privileged", []), ("restricted", ["--gates-level=restricted"])]
)
def test_gates_have_a_namespace_of_their_own_at_the_level_asked_for(level: str, told: list[str]) -> None:
    objects = rendered(f"gates.podSecurity={level}")
    assert namespaces(objects) == {"seatrial-gates": dict.fromkeys(("enforce", "warn", "audit"), level)}
    assert gate_arguments(objects) == ["--gates-namespace=seatrial-gates", *told]


@pytest.mark.parametrize(
    ("setting", "where"),
    [
        ("gates.create=false", "seatrial-gates"),
        ("gates.namespace=", NAMESPACE),
        (f"gates.namespace={NAMESPACE}", NAMESPACE),
        ("gates=null", NAMESPACE),  # values kept from a chart that knew no such namespace
    ],
)
def test_a_namespace_that_is_there_already_is_not_made(setting: str, where: str) -> None:
    objects = rendered(setting)
    assert namespaces(objects) == {}
    assert gate_arguments(objects) == [f"--gates-namespace={where}"]
    assert one(objects, "Role", "seatrial-controller-gates")["metadata"]["namespace"] == where
    job = one(objects, "Job", "seatrial-uninstall")["spec"]["template"]["spec"]["containers"][0]
    assert f"--gates-namespace={where}" in job["args"]


def test_values_kept_from_the_first_chart_are_enough() -> None:
    """As `helm upgrade --reuse-values` has them: what a later chart added is not there at all."""
    objects = rendered("gates=null", "uninstall=null", "git.forges=null", "networkPolicy.egress=null")
    assert one(objects, "Job", "seatrial-uninstall")["spec"]["activeDeadlineSeconds"] == 3600
    assert gate_arguments(objects) == [f"--gates-namespace={NAMESPACE}"]


@pytest.mark.parametrize(
    ("setting", "chosen"), [("gates.create=true", {}), ("gates.namespace=", {"matchExpressions": [GATES]})]
)
def test_nobody_reaches_a_gate_and_it_reaches_nobody_but_other_gates_and_dns(
    setting: str, chosen: dict[str, Any]
) -> None:
    """Where gates share the namespace of the controllers, these are not cut off with them."""
    objects = rendered(setting)
    policy = one(objects, "NetworkPolicy", "seatrial-gates")
    assert f"--gates-namespace={policy['metadata']['namespace']}" in gate_arguments(objects)
    other_gates = {"podSelector": {"matchExpressions": [GATES]}}
    spec = policy["spec"]
    assert (spec["podSelector"], spec["policyTypes"]) == (chosen, ["Ingress", "Egress"])
    assert spec["ingress"] == [{"from": [other_gates]}]
    first, dns = spec["egress"]
    assert first == {"to": [other_gates]}
    assert {port["port"] for port in dns["ports"]} == {53, 5353}


def test_what_only_an_administrator_may_say_is_said_to_the_controller() -> None:
    objects = rendered("gates.images={registry.example.com/gates/}", "webhooks={https://ci.example.com}")
    (container,) = one(objects, "Deployment", "seatrial-controller")["spec"]["template"]["spec"]["containers"]
    assert "--gate-image-allow=registry.example.com/gates/" in container["args"]
    assert "--webhook-allow=https://ci.example.com" in container["args"]


def test_what_a_gate_may_reach_besides_is_named() -> None:
    rule = "gates.networkPolicy.egress[0].to[0].ipBlock.cidr=192.0.2.10/32"
    assert one(rendered(rule), "NetworkPolicy", "seatrial-gates")["spec"]["egress"][-1] == {
        "to": [{"ipBlock": {"cidr": "192.0.2.10/32"}}]
    }
    off = rendered("gates.networkPolicy.enabled=false")
    assert "seatrial-gates" not in [item["metadata"]["name"] for item in off if item["kind"] == "NetworkPolicy"]


# ── the controller's pod ─────────────────────────────────────────────────────────────────────────────────────────────


def containers(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    pods = [item["spec"]["template"]["spec"] for item in objects if item["kind"] == "Deployment"]
    pods += [item["spec"] for item in objects if item["kind"] == "Pod"]
    return [container for pod in pods for container in pod["containers"]]


def test_every_container_runs_restricted_and_with_a_read_only_root() -> None:
    found = containers(rendered())
    assert len(found) == 2, "the controller, and the one of helm test"
    for container in found:
        security = container["securityContext"]
        assert security["runAsNonRoot"]
        assert security["readOnlyRootFilesystem"]
        assert not security["allowPrivilegeEscalation"]
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert "runAsUser" not in security, "OpenShift gives each namespace users of its own"


def test_the_priority_is_a_number_to_every_reader_of_yaml() -> None:
    assert one(rendered(), "PriorityClass", "seatrial-controller")["value"] == 1_000_000, "1e+06 is a text to some"


def test_mounted_secrets_can_be_read_by_who_is_not_root_and_openshift_chooses_the_group_itself() -> None:
    def group(*flags: str) -> object:
        deployment = one(rendered_with(*flags), "Deployment", "seatrial-controller")
        return deployment["spec"]["template"]["spec"].get("securityContext")

    assert group() == {"fsGroup": recipe.USER}
    assert group("--api-versions", "security.openshift.io/v1") is None


def test_secrets_for_git_are_mounted_each_bound_to_its_address() -> None:
    prefix = "https://git.example.com/gpu/"
    objects = rendered(f"git.credentials[0].prefix={prefix}", "git.credentials[0].secret=login")
    spec = one(objects, "Deployment", "seatrial-controller")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert f"--git-credentials={prefix}=/var/run/seatrial/git/0" in container["args"]
    assert {"name": "git-0", "secret": {"secretName": "login", "defaultMode": 0o440}} in spec["volumes"]


FORGE = ("git.forges[0].kind=gitea", "git.forges[0].prefix=https://git.example.com/gpu/", "git.forges[0].secret=token")


@pytest.mark.parametrize(
    ("kind", "name"), [("Deployment", "seatrial-controller"), ("Job", "seatrial-uninstall")], ids=lambda each: each
)
def test_tokens_of_forges_are_mounted_each_bound_to_its_address(kind: str, name: str) -> None:
    spec = one(rendered(*FORGE), kind, name)["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    mounted = "/var/run/seatrial/forge/0"
    assert f"--forge=gitea:https://git.example.com/gpu/={mounted}" in container["args"]
    assert {"name": "forge-0", "mountPath": mounted, "readOnly": True} in container["volumeMounts"]
    assert {"name": "forge-0", "secret": {"secretName": "token", "defaultMode": 0o440}} in spec["volumes"]


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
@pytest.mark.parametrize(
    ("settings", "source"),
    [
        (("configMap=ours",), {"configMap": {"name": "ours", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}),
        (
            ("secret=tls", "key=ca-bundle.crt"),
            {"secret": {"secretName": "tls", "items": [{"key": "ca-bundle.crt", "path": "ca.crt"}]}},
        ),
    ],
    ids=["ConfigMap", "Secret"],
)
def test_an_authority_is_mounted_and_bound_to_its_server(
    kind: str, settings: tuple[str, ...], source: dict[str, Any]
) -> None:
    told = ("server=https://git.example.com:3000", *settings)
    objects = rendered(*(f"git.authorities[0].{each}" for each in told))
    (item,) = [each for each in objects if each["kind"] == kind]
    spec = item["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    mounted = "/var/run/seatrial/authority/0"
    assert f"--git-authority=https://git.example.com:3000={mounted}/ca.crt" in container["args"]
    # The whole folder: a file that is mounted by itself would never be brought up to date.
    assert {"name": "authority-0", "mountPath": mounted, "readOnly": True} in container["volumeMounts"]
    assert {"name": "authority-0", **source} in spec["volumes"]


@pytest.mark.parametrize("kind", Kind)
def test_every_forge_that_the_controller_speaks_to_may_be_named(kind: Kind) -> None:
    deployment = one(rendered(*FORGE, f"git.forges[0].kind={kind}"), "Deployment", "seatrial-controller")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    read = parsed(container["args"])
    assert [each[:2] for each in read.forge] == [(kind, "https://git.example.com/gpu/")]
    assert Forges.read(read.forge).place_of("https://git.example.com/gpu/matrix.git") is not None


def test_a_prometheus_is_asked_with_a_login_and_an_authority_that_are_mounted() -> None:
    said = ("prometheus.url=https://thanos:9091", "prometheus.secret=monitor", "prometheus.authority.configMap=ca")
    spec = one(rendered(*said, "prometheus.scrapeSeconds=30"), "Deployment", "seatrial-controller")["spec"]["template"]
    (container,) = spec["spec"]["containers"]
    read = parsed(container["args"])
    assert (read.prometheus, read.prometheus_scrape_seconds) == ("https://thanos:9091", 30)
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert mounts["prometheus"] == str(read.prometheus_secret)
    assert f"{mounts['prometheus-authority']}/service-ca.crt" == str(read.prometheus_authority)
    volumes = {each["name"]: each for each in spec["spec"]["volumes"]}
    assert volumes["prometheus"]["secret"]["secretName"] == "monitor"
    assert volumes["prometheus-authority"]["configMap"]["name"] == "ca"


def test_what_gates_and_scratch_files_may_take_is_limited() -> None:
    values = ("gates.limits.memory=128Gi", "scratch.sizeLimit=1Gi")
    spec = one(rendered(*values), "Deployment", "seatrial-controller")["spec"]["template"]["spec"]
    assert dict(parsed(spec["containers"][0]["args"]).gates_limit) == {"memory": "128Gi"}
    assert {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}} in spec["volumes"]


def test_every_scratch_volume_of_the_chart_has_a_size() -> None:
    for each in rendered("audit.enabled=true"):
        spec = each.get("spec") or {}
        template = spec.get("jobTemplate", {"spec": spec})["spec"].get("template") or {}
        for volume in (template.get("spec") or {}).get("volumes") or ():
            assert volume.get("emptyDir") != {}, each["metadata"]["name"]


@pytest.mark.parametrize(
    ("said", "matchers"),
    [((), 'namespace="drivers"'), (('prometheus.matchers=job="dcgm"',), 'job="dcgm"')],
    ids=["the operator's namespace", "what the chart says"],
)
def test_only_series_with_the_labels_that_count_are_asked_for(said: tuple[str, ...], matchers: str) -> None:
    values = ("prometheus.url=http://prometheus:9090", "operatorNamespace=drivers", *said)
    deployment = one(rendered(*values), "Deployment", "seatrial-controller")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    place = prometheus_of(parsed(container["args"]))
    assert place is not None
    assert place.matchers == matchers


def test_where_no_prometheus_is_named_nobody_is_asked() -> None:
    (container,) = one(rendered(), "Deployment", "seatrial-controller")["spec"]["template"]["spec"]["containers"]
    assert not any("prometheus" in each for each in container["args"])


def test_the_controller_understands_every_argument_it_is_given() -> None:
    objects = rendered(
        "git.allow={https://git.example.com/}",
        *("git.credentials[0].prefix=https://x/", "git.credentials[0].secret=s"),
        *("git.authorities[0].server=https://x", "git.authorities[0].configMap=c"),
    )
    (container,) = one(objects, "Deployment", "seatrial-controller")["spec"]["template"]["spec"]["containers"]
    assert container["args"][0] == "controller"
    read = parsed(container["args"])
    assert read.lease_namespace == NAMESPACE
    assert Authorities.read(read.git_authority).of("https://x/gpu.git") == Path("/var/run/seatrial/authority/0/ca.crt")


def parsed(arguments: list[str]) -> argparse.Namespace:
    """What the controller makes of its arguments."""
    parser = argparse.ArgumentParser()
    controller.add_arguments(parser)
    return parser.parse_args(arguments[1:])


# ── the network ──────────────────────────────────────────────────────────────────────────────────────────────────────


def policies(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By name: those of the pods of the chart; that of gates is about pods of anybody's."""
    found = (item for item in objects if item["kind"] == "NetworkPolicy")
    return {item["metadata"]["name"]: item["spec"] for item in found if item["metadata"]["name"] != "seatrial-gates"}


def test_where_the_pods_may_go_is_left_to_others_until_it_is_said() -> None:
    assert {name: spec["policyTypes"] for name, spec in policies(rendered()).items()} == {
        "seatrial-controller": ["Ingress"]
    }


def test_every_pod_of_the_chart_may_reach_what_is_named_and_dns() -> None:
    rule = {"to": [{"ipBlock": {"cidr": "192.0.2.10/32"}}], "ports": [{"port": 443, "protocol": "TCP"}]}
    objects = rendered_with("--set-json", f"networkPolicy.egress={json.dumps([rule])}")
    out = policies(objects)["seatrial-egress"]
    dns, own, said = out["egress"]
    assert {each["port"] for each in dns["ports"]} == {53, 5353}
    assert own["to"] == [{"podSelector": policies(objects)["seatrial-controller"]["podSelector"]}], "helm test"
    assert said == rule
    chosen = out["podSelector"]["matchLabels"].items()
    templates = [item["spec"]["template"] for item in objects if item["kind"] in ("Deployment", "Job")]
    pods = templates + [item for item in objects if item["kind"] == "Pod"]
    assert len(pods) == 3, "the controller, the Job before the end, and the one of helm test"
    assert all(chosen <= pod["metadata"]["labels"].items() for pod in pods)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("replica=3", "replica"),
        ("replicas=0", "replicas"),
        ("operatorNamespace=GPU_Operator", "operatorNamespace"),
        ("image.digest=latest", "image.digest"),
        ("features.checkpoints=true", "checkpoints"),
        ("gates.podSecurity=loose", "podSecurity"),
        ("git.credentials[0].prefix=https://x/", "secret"),
        ("git.forges[0].kind=gogs", "kind"),
        ("prometheus.url=thanos:9091", "url"),
        ("git.forges[0].prefix=https://x/", "secret"),
        ("git.authorities[0].server=https://x", "authorities"),
        ("git.authorities[0].server=https://x/gpu", "server"),
        ("git.authorities[0].configMap=c", "server"),
        ("networkPolicy.egress[0].from=x", "from"),
    ],
)
def test_a_value_that_means_nothing_is_refused_and_named(setting: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(words)):
        rendered(setting)


# ── what is measured ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_alert_rules_are_understood_by_prometheus() -> None:
    rules = CHART / "files" / "alerts.yaml"
    command: tuple[str | Path, ...] = (promtool.find_or_get(), "check", "rules", "--lint=all", rules)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


NOT_READY = ("SeatrialOperatorNotReadyAsExpected", "SeatrialOperatorNotReady")


@pytest.mark.parametrize(
    ("status", "waiting", "told"),
    [
        (1, 0, ()),
        (1, 3, ()),
        (0, 3, NOT_READY[:1]),
        (0, 0, NOT_READY[1:]),
        (-2, 0, NOT_READY[1:]),
        (0, None, NOT_READY[1:]),
    ],
)
def test_an_operator_that_is_not_ready_is_explained_where_operands_wait_and_alarms_where_none_does(
    status: int, waiting: int | None, told: tuple[str, ...], tmp_path: Path
) -> None:
    series = {"gpu_operator_reconciliation_status": status, "seatrial_operands_waiting_nodes": waiting}
    rules = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    whole = {rule["alert"]: rule for rule in rules}
    case = {
        "rule_files": [str(CHART / "files" / "alerts.yaml")],
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": name, "values": f"{value}x60"} for name, value in series.items() if value is not None
                ],
                "alert_rule_test": [
                    {
                        "eval_time": "45m",
                        "alertname": name,
                        "exp_alerts": [
                            {"exp_labels": whole[name]["labels"], "exp_annotations": whole[name]["annotations"]}
                        ]
                        if name in told
                        else [],
                    }
                    for name in NOT_READY
                ],
            }
        ],
    }
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(case), encoding="utf-8")
    command = (promtool.find_or_get(), "test", "rules", tmp_path / "case.yaml")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["alerts.yaml", "dashboard.json"])
def test_alerts_and_dashboard_ask_for_series_that_the_controller_has(name: str) -> None:
    text = (CHART / "files" / name).read_text(encoding="utf-8")
    source = (CHART.parents[1] / "src" / "seatrial" / "controller" / "metrics.py").read_text(encoding="utf-8")
    asked = set(re.findall(r"\bseatrial_[a-z_]+", text))
    known = set(re.findall(r'"(seatrial_[a-z_]+)"', source))
    assert asked
    assert {re.sub(r"_(total|bucket)$", "", series) for series in asked} <= known


def test_rules_monitor_and_dashboard_come_when_asked_for() -> None:
    kinds = {item["kind"] for item in rendered()}
    assert not kinds & {"ServiceMonitor", "PrometheusRule", "ConfigMap"}
    settings = [f"metrics.{part}.enabled=true" for part in ("serviceMonitor", "rules", "dashboard")]
    objects = rendered(*settings)
    alerts = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))
    assert one(objects, "PrometheusRule", "seatrial")["spec"] == alerts
    board = one(objects, "ConfigMap", "seatrial-dashboard")["data"]["seatrial.json"]
    assert json.loads(board)["title"] == "seatrial"
    assert one(objects, "ServiceMonitor", "seatrial-controller")
