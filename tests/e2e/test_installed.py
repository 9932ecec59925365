"""Installed as users install it: our image and chart on a real node, and a campaign to the tag past every leader.

The controllers are pods under their own ServiceAccount, with the rights of the chart and no others, in a namespace that
enforces the level `restricted`. The matrix is in a repository that they reach over TLS, with a login, behind an
authority of the testbed's own. The canary is the node they run on; its gate is a Job with a GPU of the device plugin,
in the namespace of gates. Needs root: left out without.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from seatrial import __version__
from seatrial.adapters.kube.shapes import keys
from seatrial.core.movers.driver_manager import DRAIN, EVICTION
from seatrial_lab import deploy
from seatrial_lab.image import build, bytecode, recipe
from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.nodes import consumers, manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane import credentials
from seatrial_lab.testbed.plane.certificates import Authority, Pair
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.real_node import node
from tests import real_nodes
from tests.adapters.git.remotes import git
from tests.chart.charts import CHART, helm
from tests.e2e.campaigns import MATRIX, NEW, OLD, make_remote, matrix_of
from tests.e2e.light_stage import PolicyFollower, a_policy

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

real_nodes.needed()

T = TypeVar("T")
PREFIX, NAMESPACE, GATES = "harbour", "seatrial", "seatrial-gates"
REAL = f"{PREFIX}-real-000"
QUIET = {EVICTION: "false", DRAIN: "false"}
PHASES = ("Canary", "Gating", "Baking", "Waving", "Promoting")
TIMEOUT_SECONDS = 300.0
OURS = Authority.make("harbour")


@dataclass(frozen=True, kw_only=True)
class Shore:
    """A repository behind TLS and a login, as the node's pods reach it; whoever pushes waits until it is opened."""

    server: GitServer
    url: str
    remote: Path
    work: Path

    @property
    def repository(self) -> str:
        return f"{self.url}/{self.remote.name}"

    def commit(self, subject: str, text: str) -> str:
        """A person's commit of the matrix, which reaches the repository by another way than ours."""
        (self.work / MATRIX).write_text(text, encoding="utf-8")
        git(self.work, "add", "-A")
        git(self.work, "commit", "-q", "-m", subject)
        git(self.work, "push", "-q", "origin", "HEAD:main")
        return git(self.work, "rev-parse", "HEAD")

    def close(self) -> None:
        """From now on a push takes as long as somebody else says, as the checks of a forge may."""
        hook = self.remote / "hooks" / "pre-receive"
        wait = f"touch '{self._knock}'; while [ ! -e '{self._opened}' ]; do sleep 0.1; done"
        hook.write_text(f"#!/bin/sh\n{wait}\n", encoding="utf-8")
        hook.chmod(0o755)

    def open(self) -> None:
        self._opened.touch()

    @property
    def is_knocked_at(self) -> bool:
        """Whether somebody is in the middle of a push."""
        return self._knock.exists()

    @property
    def _knock(self) -> Path:
        return self.work.parent / "knock"

    @property
    def _opened(self) -> Path:
        return self.work.parent / "opened"


@dataclass(kw_only=True)
class Harbour:
    """A real node with our controllers on it, simulated nodes, and a ClusterPolicy."""

    plane: ControlPlane
    fleet: Fleet
    real: node.RealNode
    shore: Shore
    led: list[str] = field(default_factory=list)
    """The pods that led and were deleted, in order."""

    def pods(self) -> list[dict[str, Any]]:
        selector = "app.kubernetes.io/component=controller"
        found: list[dict[str, Any]] = self.plane.get("pods", "-n", NAMESPACE, "-l", selector)["items"]
        return found

    def leader(self) -> str:
        """The pod that holds the lease, empty where none of those that are there does."""
        holder = str(self.plane.get("lease", "seatrial", "-n", NAMESPACE)["spec"].get("holderIdentity") or "")
        names = (pod["metadata"]["name"] for pod in self.pods() if "deletionTimestamp" not in pod["metadata"])
        return next((name for name in names if holder.startswith(name)), "")

    def nodes(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.plane.get("nodes")["items"]]

    def status(self, rollout: str) -> dict[str, Any]:
        found: dict[str, Any] = self.plane.get("gpurollout", rollout).get("status", {})
        return found

    def trust(self, authority: Authority) -> None:
        """Have this authority in the ConfigMap that the controllers' pods mount."""
        self.plane.apply([authority_of(authority)])

    def depose(self) -> None:
        """Delete the pod that leads."""
        leader = waiting.wait_for(self.leader, what="somebody to lead", timeout_seconds=60, pause_seconds=0.3)
        self.plane.kubectl("delete", "pod", leader, "-n", NAMESPACE, "--wait=false")
        self.led.append(leader)

    def wait(self, look: Callable[[], T | None], what: str) -> T:
        """Wait for what somebody looks for."""
        return waiting.wait_for(
            look,
            what=what,
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.3,
            describe=lambda: json.dumps(self.status("spring"), indent=1) + self.logs(),
        )

    def logs(self) -> str:
        """What the controllers said last."""
        said = []
        for name in [pod["metadata"]["name"] for pod in self.pods()]:
            try:
                said.append(f"{name}:\n{self.plane.kubectl('logs', '-n', NAMESPACE, name, '--tail=15')}")
            except errors.KubectlFailed as err:
                said.append(f"{name}: {err}")
        return "\n".join(said)


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harbour]:
    folder = tmp_path_factory.mktemp("harbour")
    with ControlPlane.start(folder / "plane") as plane, served(folder) as server:
        plane.load_nvidia_crds()
        real = node.start(plane, REAL, driver_versions=(OLD, NEW))
        url = f"https://{real.open_way(server.port)}"
        shore = Shore(server=server, url=url, remote=server.root / "gpu-cluster.git", work=folder / "work")
        make_remote(shore.remote, shore.work)
        real.import_archive(our_image(folder))
        fleet = make_fleet(plane, FleetSpec(prefix=PREFIX, node_count=8, driver_version=OLD, real_nodes=(REAL,)))
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        plane.apply([manifests.namespace(NAMESPACE, PREFIX, labels=labels), a_policy(OLD)])
        plane.apply([authority_of(Authority.make("somebody else"))])
        login = (f"--from-literal=username={server.username}", f"--from-literal=password={server.password}")
        plane.kubectl("-n", NAMESPACE, "create", "secret", "generic", "login", *login)
        said = (
            f"image.repository={recipe.CONTROLLER.name}",
            "extraArgs={--lease-seconds=4,--git-look-seconds=2}",
            f"git.credentials[0].prefix={url}/",
            "git.credentials[0].secret=login",
            f"git.authorities[0].server={url}",
            "git.authorities[0].configMap=authority",
            "audit.enabled=true",
            "audit.schedule=0 0 31 2 *",  # never: the test says when
            "audit.metricsEvery=5s",
        )
        flags = [flag for each in said for flag in ("--set", each)]
        where = ["--namespace", NAMESPACE, "--kubeconfig", str(plane.kubeconfig)]
        helm("install", "seatrial", CHART, *where, *flags, "--wait", "--timeout=110s")
        with PolicyFollower(fleet, manager_env=QUIET):
            yield Harbour(plane=plane, fleet=fleet, real=real, shore=shore)
        helm("uninstall", "seatrial", *where, "--ignore-not-found", "--no-hooks")


def served(folder: Path) -> GitServer:
    """A server of repositories whose certificate is by an authority of ours, for the address that pods know it by."""
    pair = Pair(certificate=folder / "tls" / "git.crt", key=folder / "tls" / "git.key")
    OURS.issue(pair, name="git", hosts=(credentials.API_SERVICE,))
    return GitServer(root=folder / "git", username="ship", password="aye", pair=pair)


def authority_of(authority: Authority) -> dict[str, Any]:
    """The ConfigMap that the chart is told of."""
    meta = {"name": "authority", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"ca.crt": authority.pem.decode()}}


def our_image(folder: Path) -> Path:
    """The image as `make image` writes it for this machine."""
    assert build.main(["--arch", bytecode.host(), "--out", str(folder)]) == 0
    return folder / f"seatrial-{__version__}-{bytecode.host()}.tar"


def test_both_controllers_run_from_our_image_and_one_leads(harbour: Harbour) -> None:
    pods = harbour.pods()
    assert [pod["spec"]["nodeName"] for pod in pods] == [REAL, REAL]
    assert {pod["spec"]["serviceAccountName"] for pod in pods} == {"seatrial-controller"}
    for pod in pods:
        (status,) = pod["status"]["containerStatuses"]
        assert (status["ready"], status["restartCount"]) == (True, 0)
        assert status["image"] == f"{recipe.CONTROLLER.name}:{__version__}"
    assert harbour.leader()


def test_helm_test_asks_a_controller_behind_its_service_and_needs_no_dns(harbour: Harbour) -> None:
    harbour.real.open_service(NAMESPACE, "seatrial-metrics")  # what kube-proxy would do
    said = helm("test", "seatrial", "--namespace", NAMESPACE, "--kubeconfig", str(harbour.plane.kubeconfig))
    assert "Phase:          Succeeded" in said, said


def test_a_mounted_login_is_read_by_a_controller_that_is_not_root(harbour: Harbour) -> None:
    pod = harbour.leader()
    inside = ("exec", "-n", NAMESPACE, pod, "--", "python3.11", "-c")
    who = harbour.plane.kubectl(*inside, "import os; print(os.getuid())")
    read = harbour.plane.kubectl(*inside, "print(open('/var/run/seatrial/git/0/password').read())")
    assert (who.strip(), read.strip()) == (str(recipe.USER), "aye")


def test_the_leader_audits_with_the_rights_that_the_chart_gives_it(harbour: Harbour) -> None:
    page = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8480/metrics').read().decode())"

    def told() -> dict[str, str] | None:
        leader = harbour.leader()
        if not leader:
            return None
        lines = harbour.plane.kubectl("exec", "-n", NAMESPACE, leader, "--", "python3.11", "-c", page).splitlines()
        found = dict(line.rsplit(" ", 1) for line in lines if line.startswith("seatrial_audit_"))
        return found if 'seatrial_audit_findings{kind="mixed"}' in found else None

    found = harbour.wait(told, "the leader to publish an audit")
    assert float(found[f'seatrial_audit_version_nodes{{component="gpu_driver",version="{OLD}"}}']) == len(
        harbour.nodes()
    )
    assert float(found['seatrial_audit_findings{kind="not-observable"}']) == 0, "every right is there"


def test_the_audits_cron_job_runs_as_a_pod_and_leaves_its_report(harbour: Harbour) -> None:
    plane = harbour.plane
    plane.kubectl("-n", NAMESPACE, "create", "job", "audit-now", "--from=cronjob/seatrial-audit")

    def ended() -> dict[str, Any] | None:
        pods = plane.get("pods", "-n", NAMESPACE, "-l", "batch.kubernetes.io/job-name=audit-now")["items"]
        states = [each["state"] for pod in pods for each in pod["status"].get("containerStatuses", ())]
        return next((state["terminated"] for state in states if "terminated" in state), None)

    exit_code = harbour.wait(ended, "the audit's pod to end")["exitCode"]
    kept = plane.get("configmap", "seatrial-audit", "-n", NAMESPACE)["data"]
    report = json.loads(kept["report.json"])
    assert report["exitCode"] == exit_code != 1
    assert {each["name"] for each in report["nodes"]} == set(harbour.nodes())
    assert {each["versions"]["gpu_driver"] for each in report["nodes"]} == {OLD}
    assert kept["brief"].startswith("GPU audit of ")
    plane.kubectl("-n", NAMESPACE, "delete", "job", "audit-now", "--cascade=foreground")


def test_a_repository_whose_certificate_is_not_trusted_is_a_hold_with_the_next_step(harbour: Harbour) -> None:
    plane, shore = harbour.plane, harbour.shore
    commit = shore.commit(f"Try driver {NEW} on the canary", matrix_of(OLD, NEW))
    says = "test -n $NVIDIA_VISIBLE_DEVICES && echo trained > /dev/termination-log"
    spec = {
        "target": {"driver": NEW},
        "nodeSelector": {manifests.FLEET_LABEL: PREFIX},
        "matrix": {"git": {"url": shore.repository, "path": MATRIX, "commit": commit}, "entry": "canary"},
        "publish": {"via": "direct"},
        "canary": {"nodes": [REAL]},
        "prepull": False,
        "gates": [{"name": "train", "image": consumers.IMAGE, "command": ["/bin/sh", "-c", says], "gpus": 1}],
        "bake": {"durationSeconds": 12, "everySeconds": 3},
        "waves": {"growth": "percentages", "percentages": [50, 100]},
        "limits": {"maxParallelUpgrades": 2, "maxUnavailable": 4},
    }
    rollout = {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": "spring"},
        "spec": spec,
    }
    plane.apply([rollout])

    def held() -> dict[str, str] | None:
        waits: list[dict[str, str]] = harbour.status("spring").get("waits", [])
        return next((each for each in waits if "certificate" in each["why"]), None)

    told = harbour.wait(held, "the rollout to say that a certificate is not trusted")
    assert told["code"] == "source-unreachable"
    assert f"The Git remote {shore.repository} shows a certificate that is not trusted here" in told["why"]
    assert "git.authorities of the chart" in told["why"]
    assert "--git-authority" in told["next"]
    assert harbour.status("spring").get("phase", "Proposed") == "Proposed"
    assert shore.server.requests == [], "no login goes to a server that nobody vouches for"


def test_a_campaign_goes_from_the_real_canary_to_the_tag_although_every_phase_loses_its_leader(
    harbour: Harbour,
) -> None:
    plane, shore = harbour.plane, harbour.shore
    shore.close()
    harbour.trust(OURS)  # read for every call: no pod is restarted for it

    def look() -> bool:
        phase = harbour.status("spring").get("phase", "")
        if phase in PHASES[len(harbour.led) :] and (phase != "Promoting" or shore.is_knocked_at):
            assert phase == PHASES[len(harbour.led)], f"{phase} came before its leader could be deleted"
            harbour.depose()
            if phase == "Promoting":
                shore.open()
        return phase in ("Done", "Reverting", "Reverted")

    harbour.wait(look, "the campaign to end")
    assert harbour.status("spring")["phase"] == "Done", harbour.logs()
    assert len(set(harbour.led)) == len(PHASES), "each phase lost another leader"
    assert set(harbour.fleet.driver_versions().values()) == {NEW}
    assert harbour.real.loaded_driver == NEW
    subjects = git(shore.remote, "log", "--reverse", "--format=%s", "main").splitlines()
    assert subjects == [f"Try driver {NEW} on the canary", f"Promote driver {NEW} to production"]
    (tag,) = git(shore.remote, "tag", "--list").split()
    assert tag.endswith("-stable")
    assert git(shore.remote, "rev-parse", f"{tag}^{{commit}}") == git(shore.remote, "rev-parse", "main")
    promoted = git(shore.remote, "show", f"main:{MATRIX}")
    assert f'driver: "{NEW}"' in promoted.partition("canary:")[0], promoted
    assert f'driver: "{OLD}"' in promoted.partition("rollback")[2], promoted
    jobs = plane.get("jobs", "-n", GATES)["items"]
    assert jobs
    assert plane.get("jobs", "-n", NAMESPACE)["items"] == [], "gates are away from the controllers"
    assert all(job["status"].get("succeeded") == 1 for job in jobs), "a gate is a real Job that ran to its end"


def test_uninstalled_by_helm_every_node_loses_our_marks_and_the_rollout_stays(harbour: Harbour) -> None:
    plane = harbour.plane
    assert marked(plane), "the campaign left its records"
    where = ("--namespace", NAMESPACE, "--kubeconfig", str(plane.kubeconfig))
    helm("uninstall", "seatrial", *where, "--timeout=100s")
    assert marked(plane) == []
    assert not any(node["spec"].get("unschedulable") for node in plane.get("nodes")["items"])
    kept = plane.get("gpurollout", "spring")
    assert (kept["status"]["phase"], kept["metadata"].get("finalizers")) == ("Done", None)
    left = plane.kubectl("get", "jobs,deployments,roles,rolebindings", "-n", NAMESPACE, "-o", "name")
    assert "seatrial-" not in left
    plane.kubectl("delete", "gpurollout", "spring", "--timeout=10s")


def test_applied_with_kustomize_two_controllers_run_and_one_leads(harbour: Harbour, tmp_path: Path) -> None:
    plane, base = harbour.plane, deploy.ROOT / "deploy"
    ours = {
        "resources": [os.path.relpath(base, tmp_path)],
        "images": [{"name": "seatrial", "newName": recipe.CONTROLLER.name}],
    }
    (tmp_path / "kustomization.yaml").write_text(json.dumps(ours), encoding="utf-8")
    waiting.wait_for(lambda: not harbour.pods(), what="Helm's controllers to be gone", timeout_seconds=90)
    plane.kubectl("wait", "--for=delete", f"namespace/{GATES}", "--timeout=60s")
    plane.kubectl("apply", "-k", str(tmp_path))
    plane.kubectl("rollout", "status", "deployment/seatrial-controller", "-n", NAMESPACE, "--timeout=110s")
    pods = harbour.pods()
    assert [pod["spec"]["nodeName"] for pod in pods] == [REAL, REAL]
    assert [pod["status"]["containerStatuses"][0]["ready"] for pod in pods] == [True, True]
    waiting.wait_for(
        lambda: bool(harbour.leader()), what="one of them to lead", timeout_seconds=60, describe=harbour.logs
    )


def marked(plane: ControlPlane) -> list[str]:
    """Nodes with a label or annotation of ours."""
    found = []
    for node_ in plane.get("nodes")["items"]:
        meta = node_["metadata"]
        names = (*meta.get("labels", {}), *meta.get("annotations", {}))
        found += [f"{meta['name']}: {name}" for name in names if name.startswith(keys.PREFIX)]
    return found
