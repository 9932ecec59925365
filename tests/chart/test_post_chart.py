"""The chart of the hook that restarts DRA plugins, by the real helm: what it makes, and that its rights are enough.

The Job's own arguments are run on a stand-in cluster that grants what the chart's roles grant, and nothing else.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from seatrial import __version__
from seatrial.cli import main
from seatrial.cli.exit_codes import ExitCode
from tests.adapters.kube import objects, standin
from tests.adapters.kube.dra_cluster import HOME, TARGET, DraCluster, served
from tests.chart.charts import helm, one
from tests.chart.post import BACK, CHART, CLAIMS, JOB, SWITCHES_OFF, Right, granted, rendered


def test_the_chart_passes_the_strict_linter() -> None:
    helm("lint", "--strict", CHART)


def test_the_chart_is_of_the_version_that_it_runs() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


# ── the hooks ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("name", "hook"), [(JOB, "post-install,post-upgrade"), (BACK, "post-rollback")])
def test_a_job_runs_after_installs_and_upgrades_and_one_after_rollbacks(name: str, hook: str) -> None:
    job = one(rendered(), "Job", name)
    assert job["metadata"]["namespace"] == objects.NAMESPACE
    assert job["metadata"]["annotations"] == {
        "helm.sh/hook": hook,
        "helm.sh/hook-weight": "10",
        "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
    }
    assert len(name) <= 63


def test_the_job_is_tried_again_only_where_that_may_help() -> None:
    spec = one(rendered("deadlineSeconds=900"), "Job", JOB)["spec"]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (3, 900)
    assert "ttlSecondsAfterFinished" not in spec  # Argo CD waits for a hook that is gone
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    ignored, failed = spec["podFailurePolicy"]["rules"]
    assert ignored["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert failed["onExitCodes"]["values"] == [ExitCode.USAGE, ExitCode.FINDINGS, ExitCode.TIMEOUT]


def test_whoever_drains_the_jobs_node_does_not_wait_for_it() -> None:
    """It leaves nothing half-done, whenever it ends; and as the first process of its container it hears no SIGTERM."""
    pod = one(rendered(), "Job", JOB)["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == 1


def test_the_command_ends_before_its_job_does_and_says_who_is_left() -> None:
    spec = one(rendered("deadlineSeconds=900"), "Job", JOB)["spec"]
    assert "--deadline=840s" in spec["template"]["spec"]["containers"][0]["args"]


def test_the_pod_may_do_little_and_names_no_user() -> None:
    """OpenShift gives each namespace its own users, and refuses any other."""
    spec = one(rendered(), "Job", JOB)["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "hostPath" not in str(spec)


@pytest.mark.parametrize("switch", SWITCHES_OFF)
def test_switched_off_it_makes_nothing(switch: str) -> None:
    assert rendered(switch) == []


def test_only_the_jobs_are_hooks() -> None:
    hooks = {item["kind"] for item in rendered() if "helm.sh/hook" in item["metadata"].get("annotations", {})}
    assert hooks == {"Job"}


@pytest.mark.parametrize(
    "setting",
    [
        "target.driver=580.126.20",
        "target.chart=gpu-operator-v26.3.1",
        "target.extra=dra-0.5.0",
        "image.tag=0.2.0",
        "deadlineSeconds=900",
    ],
)
def test_whatever_is_a_reason_to_run_again_changes_an_object_that_is_no_hook(setting: str) -> None:
    before, after = (one(rendered(*settings), "ConfigMap", "dra-reroll-target") for settings in ((), (setting,)))
    assert before["data"]["digest"] != after["data"]["digest"]
    assert before["metadata"] == after["metadata"]


def test_the_same_values_are_rendered_the_same() -> None:
    assert rendered("target.driver=580.126.20") == rendered("target.driver=580.126.20")


def test_nothing_is_rendered_that_deployers_render_differently() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
    told_apart = r"\blookup\b|\.IsInstall|\.IsUpgrade|\.Revision|\brand[A-Z]|\bnow\b|\bgen[A-Z]|\.Capabilities|argocd"
    assert re.findall(told_apart, texts) == []


@pytest.mark.parametrize(
    "setting", ["draNamespaces={}", "mode=maybe", "stability=soon", "deadlineSeconds=30", "target.driver=v580", "x=1"]
)
def test_a_value_that_cannot_be_meant_is_refused(setting: str) -> None:
    with pytest.raises(RuntimeError, match="values don't meet the specifications"):
        rendered(setting)


# ── rights ───────────────────────────────────────────────────────────────────────────────────────────────────────────


READ = ("list", "watch")


def test_the_roles_grant_this_and_no_more() -> None:
    """ClusterPolicies are not among it: nothing is decided by what they say."""
    plugins = {Right("delete", "", "pods", HOME)}
    plugins |= {Right(verb, *kind, HOME) for verb in READ for kind in (("", "pods"), ("apps", "daemonsets"))}
    operators = [("", "pods"), ("apps", "daemonsets"), ("apps", "controllerrevisions")]
    everywhere = {
        Right(verb, *kind) for verb in READ for kind in (("", "nodes"), ("resource.k8s.io", "resourceslices"))
    }
    expected = {
        Right("list", "coordination.k8s.io", "leases"),
        Right("get", "", "configmaps", objects.NAMESPACE),
        *everywhere,
        *(Right(verb, *kind, objects.NAMESPACE) for verb in READ for kind in operators),
    }
    assert granted(rendered()) == expected | plugins
    assert granted(rendered("rbac.claims=true")) == expected | plugins | CLAIMS
    assert granted(rendered("rbac.scope=cluster")) == expected | {each.anywhere for each in plugins}
    role = one(rendered(), "Role", "dra-reroll-operator")
    assert [rule["resourceNames"] for rule in role["rules"] if rule["resources"] == ["configmaps"]] == [
        ["dra-reroll-target"]
    ]


def test_the_account_of_one_namespace_is_bound_in_those_of_the_operator_and_the_plugins() -> None:
    found = rendered("operatorNamespace=nvidia", "draNamespaces={dra-one,dra-two}", namespace="hooks")
    bound = [item for item in found if item["kind"] == "RoleBinding"]
    assert sorted(item["metadata"]["namespace"] for item in bound) == ["dra-one", "dra-two", "nvidia"]
    assert one(found, "ServiceAccount", "dra-reroll")["metadata"]["namespace"] == "hooks"
    deletes = {each.namespace for each in granted(found, "hooks") if each.verb == "delete"}
    assert deletes == {"dra-one", "dra-two"}


def test_nothing_that_we_ship_restarts_a_whole_daemonset() -> None:
    """Whoever deploys needs no step of their own after it: the hook is all there is."""
    root = CHART.parents[1]
    shipped = [
        path
        for folder in ("charts", "deploy", "src/seatrial")
        for path in (root / folder).rglob("*")
        # A bundle for Argo CD leaves alone a restart that somebody else asked for: it names the annotation, no more.
        if path.is_file() and path.suffix != ".pyc" and "compat/bundles" not in path.as_posix()
    ]
    assert len(shipped) > 100
    words = re.compile(r"rollout[\"', ]+restart|restartedAt")
    assert [path for path in shipped if words.search(path.read_text(encoding="utf-8"))] == []


_PATH = re.compile(r"/apis?/(?:(?P<group>[^/]+)/)?v1(?:/namespaces/(?P<in>[^/]+))?/(?P<kind>[^/]+)(?:/(?P<name>.+))?")


class Guarded(DraCluster):
    """A cluster that lets in what is granted, and keeps what was used and what was turned down."""

    def __init__(self, rights: set[Right], *nodes: str) -> None:
        super().__init__(*nodes)
        self.rights, self.used, self.denied = rights, set[Right](), set[Right]()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        found = _PATH.fullmatch(request.path)
        assert found is not None, request.path
        verb = {"GET": "get" if found["name"] else "list", "POST": "create"}.get(request.method, request.method.lower())
        verb = "watch" if request.query.get("watch") == "true" else verb
        asked = Right(verb, found["group"] or "", found["kind"], found["in"] or "")
        using = {asked, asked.anywhere} & self.rights
        if not using:
            self.denied.add(asked)
            return await standin.refuses(403, "Forbidden", "not granted")(request)
        self.used |= using
        return await super().answer(request)


LEASE = {
    "metadata": {"annotations": {"seatrial.dev/rerolls-dra": HOME}},
    "spec": {"holderIdentity": "seatrial-0", "renewTime": "2026-01-02T03:04:05.000000Z"},
}


async def run_job(cluster: Guarded, found: list[dict[str, Any]], folder: Path) -> int:
    """The Job's own words, as its container says them."""
    (container,) = one(found, "Job", JOB)["spec"]["template"]["spec"]["containers"]
    async with served(cluster, folder) as at:
        return await asyncio.to_thread(main.main, [*container["args"], "--kubeconfig", str(at.kubeconfig)])


@pytest.mark.parametrize("has_claims", [False, True])
async def test_the_rights_are_enough_and_each_of_them_is_used(tmp_path: Path, has_claims: bool) -> None:
    settings = ("stability=0s", f"target.driver={objects.NEW}", f"rbac.claims={str(has_claims).lower()}")
    found = rendered(*settings)
    rights = granted(found)
    alone = Guarded(rights, "n1", "n2")
    assert await run_job(alone, found, tmp_path) == ExitCode.OK
    assert len(alone.writes) == 2
    beside = Guarded(rights, "n1")
    beside.lists["/api/v1/namespaces/nvidia-dra-driver-gpu/pods"] = []
    beside.restart(alone.plugin_of("n1"))
    beside.leases = [LEASE]
    beside.maps[TARGET] = {"data": one(found, "ConfigMap", "dra-reroll-target")["data"]}
    assert await run_job(beside, found, tmp_path) == ExitCode.OK
    assert beside.writes == []
    refused = {each for each in CLAIMS if each.verb == "list"}  # nobody watches what may not be listed
    assert alone.denied | beside.denied == (set() if has_claims else refused)
    assert alone.used | beside.used == rights


async def test_where_the_charts_come_in_another_order_plugins_are_read_everywhere(tmp_path: Path) -> None:
    found = rendered("stability=0s", "rbac.scope=cluster")
    assert not [item for item in found if item["metadata"].get("namespace") == "nvidia-dra-driver-gpu"]
    cluster = Guarded(granted(found), "n1")
    assert await run_job(cluster, found, tmp_path) == ExitCode.OK
    assert len(cluster.writes) == 1


async def test_without_its_right_to_delete_the_job_fails_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rendered("stability=0s")
    cluster = Guarded({each for each in granted(found) if each.verb != "delete"}, "n1")
    assert await run_job(cluster, found, tmp_path) == ExitCode.ERROR
    assert "Forbidden" in capsys.readouterr().err


async def test_in_request_mode_the_job_does_not_wait_for_a_controller(tmp_path: Path) -> None:
    found = rendered("mode=request", f"target.driver={objects.NEW}")
    cluster = Guarded(granted(found), "n1")
    cluster.leases = [LEASE]
    cluster.maps[TARGET] = {"data": one(found, "ConfigMap", "dra-reroll-target")["data"]}
    assert await run_job(cluster, found, tmp_path) == ExitCode.OK
    assert cluster.writes == []
