"""Where a bundle is deployed for real: a control plane of its own, a real node, and a simulated one.

    bundle ──its deployer──▶ releases ──▶ the hook's Job: a pod of our image on the real node, with its own token
                                      └─▶ plugin pods of the DRA driver, on both nodes

What is not real: the image of the GPU Operator cannot be had, so its Deployment and the Job that upgrades its
definitions are pods of the simulated node, and the test does to driver pods what the operator would do. The operator's
chart is its own, from its Go module; that of the DRA driver has the testbed's objects in it, which have the names and
labels of the real ones; that of the Network Operator is the stand-in of tests/bundles.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seatrial.cli import main
from seatrial_lab.image import recipe
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.building import operator_parts
from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.nodes import dra, kubelet, manifests, stages
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec, ready_at
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.bundles.conftest import MATRIX, STAND_INS
from tests.chart import post
from tests.chart.charts import helm
from tests.e2e import hook_stage
from tests.e2e.campaigns import make_remote
from tests.e2e.hook_stage import QUIET, Quay, Voyage

OPERATOR, DRA = "v25.3.2", "25.12.0"
BEFORE, AFTER = "580.105.08", "580.126.20"
RELEASES = ("network-operator", "gpu-operator", dra.NAMESPACE, "gpu-operator-post")
NAMESPACE = "gpu-operator"
PATH = "clusters/east"
UPGRADES_CRDS = "gpu-operator-upgrade-crd"
PREFIX = "bundled"
REAL = f"{PREFIX}-real-000"
DEPLOY_SECONDS = 300.0
ASKED_API_VERSION = (
    f'{{{{ if .Capabilities.APIVersions.Has "{dra.API_VERSION}" }}}}{dra.API_VERSION}'
    "{{ else }}resource.k8s.io/v1beta1{{ end }}"
)
RIGHTS = "roles,rolebindings,clusterroles,clusterrolebindings"

# The operator's pods go to the simulated node and nothing but the hook to the real one. Nodes of the testbed bear the
# labels of node-feature-discovery from the start.
OWN = {
    "gpu-operator": {"nfd": {"enabled": False}, "operator": {"tolerations": manifests.TOLERATE_SIMULATED}},
    "gpu-operator-post": {
        "stability": "2s",
        "tolerations": [{"key": manifests.REAL_LABEL, "operator": "Exists"}],
    },
}


@dataclass(kw_only=True)
class BundleStage:
    """The cluster, and the charts of an air gap."""

    quay: Quay
    charts: Path
    folder: Path

    @property
    def plane(self) -> ControlPlane:
        return self.quay.plane

    def write(self, deployer: str, target: Path, *words: str, driver: str = BEFORE) -> Path:
        """Write the bundle for a deployer, with every chart in it."""
        matrix = self.folder / "matrix.yaml"
        matrix.write_text(MATRIX.format(operator=OPERATOR, driver=driver, dra=DRA), encoding="utf-8")
        own = [f"--values={release}={self._own(release)}" for release in OWN]
        call = ["bundle", "--entry", "current", "--file", str(matrix), "--unchecked", "--charts", str(self.charts)]
        call += ["--image", recipe.CONTROLLER.name, *own]
        target.parent.mkdir(parents=True, exist_ok=True)
        assert main.main([*call, "--deployer", deployer, "-o", str(target), *words]) == 0
        return target

    @contextmanager
    def remote(self, deployer: str, *words: str) -> Iterator[Remote]:
        """A repository, over HTTP, for the bundles of a deployer that reads Git."""
        root = self.folder / "git"
        root.mkdir()
        make_remote(root / "fleet.git", self.folder / "work")
        with GitServer(root=root) as server:
            yield Remote(stage=self, server=server, work=self.folder / "work", deployer=deployer, words=words)

    def _own(self, release: str) -> Path:
        file = self.folder / f"own-{release}.yaml"
        file.write_text(yaml.safe_dump(OWN[release]), encoding="utf-8")
        return file

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def hook_runs(self) -> int:
        """How often the hook's Job was made; it is gone when it has succeeded, and what is told of it stays."""
        found = self.plane.get("events", "-n", NAMESPACE)["items"]
        about = [each["involvedObject"] for each in found if each["reason"] == "SuccessfulCreate"]
        return len({each["uid"] for each in about if (each["kind"], each["name"]) == ("Job", post.JOB)})

    def driver(self) -> str:
        """What the ClusterPolicy says."""
        return str(self.plane.get("clusterpolicy", "cluster-policy")["spec"]["driver"]["version"])

    def target(self) -> dict[str, Any]:
        """What the hook was told to wait for."""
        found: dict[str, Any] = self.plane.get("configmap", "dra-reroll-target", "-n", NAMESPACE)["data"]
        return found

    def releases(self) -> dict[str, str]:
        """The releases that Helm knows of, and how each stands."""
        return {each["name"]: each["status"] for each in self._kept()}

    def revisions(self) -> list[int]:
        """How often each release was installed or upgraded, in their order."""
        newest = {each["name"]: int(each["version"]) for each in self._kept()}
        return [newest[name] for name in RELEASES]

    def _kept(self) -> list[dict[str, str]]:
        secrets = self.plane.get("secrets", "-A", "-l", "owner=helm")["items"]
        return sorted((each["metadata"]["labels"] for each in secrets), key=lambda each: int(each["version"]))

    def since(self, asked_count: int) -> Voyage:
        """What the hook's pods have asked for since they had asked so often, and what they are granted now."""
        found = self.plane.get(RIGHTS, "-A", "-l", "app.kubernetes.io/name=gpu-operator-post")["items"]
        return Voyage(rights=post.granted(found, NAMESPACE), asked=self.quay.asked()[asked_count:])

    # ── what a deployer does ─────────────────────────────────────────────────────────────────────────────────────────

    def install(self, bring: Callable[[], None]) -> None:
        """The stack comes for the first time: the hook runs, and finds nothing to do."""
        bring()
        assert (self.driver(), self.target()["driver"], self.hook_runs()) == (BEFORE, BEFORE, 1)
        assert set(self.quay.plugins()) == set(self.quay.fleet.nodes)
        voyage = self.since(0)
        voyage.assert_within_rights()
        assert (len(voyage.pods), voyage.written) == (1, [])

    @contextmanager
    def unchanged(self, *, hook_runs: int) -> Iterator[None]:
        """The hook runs so often while the context lasts, and nobody touches a plugin pod."""
        asked, runs, plugins = len(self.quay.asked()), self.hook_runs(), self.plugin_pods()
        yield
        assert self.hook_runs() - runs == hook_runs
        voyage = self.since(asked)
        assert (len(voyage.pods), voyage.written) == (hook_runs, [])
        assert self.plugin_pods() == plugins
        if hook_runs:
            voyage.assert_within_rights()

    def upgrade(self, bring: Callable[[], None], driver: str = AFTER) -> None:
        """Another driver comes: the hook runs once, and each plugin goes once its own node has settled."""
        asked, runs, before = len(self.quay.asked()), self.hook_runs(), self.quay.plugins()
        with ThreadPoolExecutor(1) as pool:
            brought = pool.submit(bring)
            self._move_drivers(brought, before, driver)
            brought.result(DEPLOY_SECONDS)
        assert (self.driver(), self.target()["driver"], self.hook_runs() - runs) == (driver, driver, 1)
        voyage = self.since(asked)
        voyage.assert_within_rights()
        assert len(voyage.pods) == 1, "a pod of the Job, with a token of its own"
        assert voyage.written == [("delete", dra.NAMESPACE, before[name]) for name in self.quay.fleet.nodes]
        drivers = self.quay.fleet.driver_pods()
        deleted = [each for each in voyage.asked if each.verb == "delete"]
        for name, request in zip(self.quay.fleet.nodes, deleted, strict=True):
            assert request.at[:19] > ready_at(drivers[name])[:19], f"{name} had not settled"
        assert self.quay.are_fresh()

    def plugin_pods(self) -> dict[str, str]:
        """Every plugin pod, and the version of what it says: with any write it is another one."""
        return {name: str(pod["metadata"]["resourceVersion"]) for name, pod in self.quay.fleet.dra_pods().items()}

    def _move_drivers(self, brought: Future[None], before: dict[str, str], driver: str) -> None:
        """Do what the operator does: a DaemonSet as the policy says, and one node after the other."""
        first, second = self.quay.fleet.nodes
        waiting.wait_for(
            lambda: self.driver() == driver or (brought.done() and brought.exception() is not None),
            what=f"the ClusterPolicy to say {driver}",
            timeout_seconds=DEPLOY_SECONDS,
            pause_seconds=0.3,
        )
        self.quay.fleet.set_driver_version(driver, manager_env=QUIET)
        waiting.wait_for(
            lambda: f"{second}: pending" in self.quay.said() or brought.done(),
            what=f"the hook to wait for {second}",
            timeout_seconds=DEPLOY_SECONDS,
            pause_seconds=0.5,
            describe=self.quay.said,
        )
        if brought.done():
            brought.result()
            raise AssertionError("it was brought, and no hook had to wait for a node")
        self.quay.fleet.delete_driver_pod(first)
        self.quay.wait_rerolled(first, before[first])
        assert self.quay.plugins()[second] == before[second], "its driver has not come yet"
        self.quay.fleet.delete_driver_pod(second)


@dataclass(kw_only=True)
class Remote:
    """A repository with a bundle in it, and a person's clone."""

    stage: BundleStage
    server: GitServer
    work: Path
    deployer: str
    words: tuple[str, ...]

    @property
    def url(self) -> str:
        return f"{self.server.url}/fleet.git"

    @property
    def bundle(self) -> Path:
        return self.work / PATH

    def push(self, subject: str, *, driver: str = "") -> str:
        """Push what is there, with the bundle written anew where a driver is named; the commit."""
        if driver:
            self.stage.write(self.deployer, self.bundle, "--repo", self.url, "--path", PATH, *self.words, driver=driver)
        self._git("add", "-A")
        self._git("commit", "--quiet", "-m", subject)
        self._git("push", "--quiet", "origin", "HEAD:main")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", str(self.work), *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def opened(folder: Path) -> Iterator[BundleStage]:
    """A control plane of its own: releases have the namespaces that they have everywhere."""
    spec = FleetSpec(prefix=PREFIX, node_count=1, namespace=NAMESPACE, driver_version=BEFORE, real_nodes=(REAL,))
    with hook_stage.fleet_of(folder, spec, drivers=(BEFORE, AFTER)) as fleet:
        plane = fleet.plane
        plane.kubectl("taint", "node", REAL, f"{manifests.REAL_LABEL}=true:NoSchedule")
        plane.kubectl("label", "node", *fleet.nodes, f"{dra.NODE_LABEL}=true")
        # As the operator labels what it makes, by the ClusterPolicy of its chart.
        chart = f"helm.sh/chart=gpu-operator-{OPERATOR}"
        plane.kubectl("label", "daemonset", fleet.driver_daemon_set, chart, "-n", NAMESPACE)
        plane.apply([stages.job_done(UPGRADES_CRDS)])
        kubelet.settle(plane)
        quay = Quay(plane=plane, fleet=fleet, namespace=NAMESPACE)
        yield BundleStage(quay=quay, charts=_charts(folder), folder=folder)


def _charts(folder: Path) -> Path:
    charts = folder / "charts"
    charts.mkdir()
    operator = operator_parts.find().chart
    helm("package", operator, "--version", OPERATOR, "--app-version", OPERATOR, "--destination", charts)
    for chart in (STAND_INS / "network-operator", _dra_chart(folder)):
        helm("package", chart, "--destination", charts)
    return charts


def _dra_chart(folder: Path) -> Path:
    """A chart of what the testbed takes for the DRA driver; deployers make the namespace by themselves.

    As the real one it asks which version of the API the cluster has: who renders without asking renders another.
    """
    chart = folder / dra.NAMESPACE
    (chart / "templates").mkdir(parents=True)
    about = {"apiVersion": "v2", "name": dra.NAMESPACE, "version": DRA, "appVersion": DRA}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about), encoding="utf-8")
    objects = [each for each in dra.shared_objects() if each["kind"] != "Namespace"]
    text = yaml.safe_dump_all(objects).replace(dra.API_VERSION, ASKED_API_VERSION)
    (chart / "templates" / "all.yaml").write_text(text, encoding="utf-8")
    return chart
