"""`make upgrade`: helm upgrades seatrial in the middle of a rollout, from the first chart we had, and takes it back.

    revision 1   the first chart and its image, written by the code of then             a rollout begins under it
    revision 2   today's chart and image, by `helm upgrade` in the midst of the waves   it ends there, nothing twice
    rollback     the first chart and image again, in the midst of the next rollout      that one ends there

Both releases write records of the same schema numbers, so each goes on where the other stopped. What an old controller
does with a number that it does not know is shown on the way back: it holds, writes nothing, and goes on once it may.
All of it are pods on a real node, beside simulated ones. Needs root, and the history of the repository.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from seatrial import __version__
from seatrial.adapters.kube.shapes import keys
from seatrial.core.movers.driver_manager import DRAIN, EVICTION
from seatrial_lab.image import build, bytecode, recipe
from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.history import History, NodeMoment
from seatrial_lab.testbed.nodes import consumers, manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.audit import AuditedRequest
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.real_node import able, node
from tests.chart.charts import CHART, helm
from tests.e2e.campaigns import NEW, OLD
from tests.e2e.light_stage import PolicyFollower, a_policy

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

if why := able.why_not():
    pytest.exit(f"The upgrade cannot be shown here. {why}", returncode=1)  # asked for by name, it is not left out

ROOT = CHART.parents[1]
PREFIX, NAMESPACE = "upgraded", "seatrial"
REAL = f"{PREFIX}-real-000"
FIRST = "localhost/seatrial-first"
TODAY = recipe.CONTROLLER.name
QUIET = {EVICTION: "false", DRAIN: "false"}
WAIT_SECONDS = 240.0
LATER = 99
"""A schema number of no release yet."""


# ── the first release ────────────────────────────────────────────────────────────────────────────────────────────────


def git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def first_commit_with(path: str) -> str:
    """The commit that brought a file."""
    found = git("log", "--diff-filter=A", "--reverse", "--format=%H", "--", path).decode().split()
    assert found, f"no commit here brought {path}: `make upgrade` needs the whole history (git fetch --unshallow)"
    return found[0]


def first_release(folder: Path) -> Path:
    """A tree with the first chart and its package, and with the code that writes its image, which came right after."""
    charted, built = (
        first_commit_with("charts/seatrial/Chart.yaml"),
        first_commit_with("src/seatrial_lab/image/build.py"),
    )
    assert git("diff", "--stat", charted, built, "--", "charts", "src/seatrial") == b"", "it is the very same release"
    with tarfile.open(fileobj=io.BytesIO(git("archive", built))) as archive:
        archive.extractall(folder, filter="data")
    when = git("log", "-1", "--format=%ct", built).decode().strip()
    command = [sys.executable, "-m", "seatrial_lab.image.build", "--arch", bytecode.host(), "--name", FIRST]
    own = {"PYTHONPATH": str(folder / "src"), "SOURCE_DATE_EPOCH": when}
    done = subprocess.run(command, cwd=folder, env=os.environ | own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


# ── where it plays ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(kw_only=True)
class Yard:
    """A real node that carries the controllers, simulated nodes, and both releases."""

    plane: ControlPlane
    fleet: Fleet
    history: History
    first: Path
    seen_before: int = 0
    asked_before: int = 0
    deployed: dict[str, str] = field(default_factory=dict)
    """The pods of controllers that were seen, and the image of each."""

    def helm(self, *arguments: str | Path) -> str:
        return helm(*arguments, "--namespace", NAMESPACE, "--kubeconfig", self.plane.kubeconfig)

    def begin(self, name: str, target: str) -> None:
        """Make a rollout whose canary is the real node, and whose waves take one node after the other."""
        self.seen_before, self.asked_before = len(self.history.moments), len(self.requests())
        says = "test -n $NVIDIA_VISIBLE_DEVICES && echo trained > /dev/termination-log"
        spec = {
            "target": {"driver": target},
            "nodeSelector": {manifests.FLEET_LABEL: PREFIX},
            "publish": {"via": "direct"},
            "canary": {"nodes": [REAL]},
            "prepull": False,
            "gates": [{"name": "train", "image": consumers.IMAGE, "command": ["/bin/sh", "-c", says], "gpus": 1}],
            "bake": {"durationSeconds": 4, "everySeconds": 2},
            "waves": {"growth": "percentages", "percentages": [50, 100]},
            "limits": {"maxParallelUpgrades": 1, "maxUnavailable": 3},
        }
        kind = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout"}
        self.plane.apply([{**kind, "metadata": {"name": name}, "spec": spec}])

    def status(self, rollout: str) -> dict[str, Any]:
        found: dict[str, Any] = self.plane.get("gpurollout", rollout).get("status", {})
        return found

    def wait(self, rollout: str, is_so: Callable[[], object], what: str) -> None:
        waiting.wait_for(
            lambda: bool(is_so()),
            what=what,
            timeout_seconds=WAIT_SECONDS,
            pause_seconds=0.3,
            describe=lambda: json.dumps(self.status(rollout), indent=1) + self.logs(15),
        )

    def wait_midway(self, rollout: str, target: str) -> None:
        """Wait until the fleet follows: some have, some have not, and the canary is not all there is."""

        def is_midway() -> bool:
            there = list(self.fleet.driver_versions().values()).count(target)
            return self.status(rollout).get("phase") == "Waving" and 2 <= there <= len(self.fleet.nodes) - 3

        self.wait(rollout, is_midway, f"{rollout} to be in the midst of its waves")

    def wait_done(self, rollout: str, target: str) -> None:
        self.wait(rollout, lambda: self.status(rollout).get("phase") == "Done", f"{rollout} to be done")
        assert set(self.fleet.driver_versions().values()) == {target}

    # ── who did what ─────────────────────────────────────────────────────────────────────────────────────────────────

    def pods(self) -> dict[str, str]:
        """The controllers that are there to stay, and their images."""
        found = self.plane.get("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/component=controller")["items"]
        self.deployed |= {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in found}
        staying = (pod["metadata"] for pod in found if "deletionTimestamp" not in pod["metadata"])
        return {each["name"]: self.deployed[each["name"]] for each in staying}

    def requests(self) -> list[AuditedRequest]:
        """What controllers have asked of the API server, each with the pod that did."""
        user = f"system:serviceaccount:{NAMESPACE}:seatrial-controller"
        return [each for each in self.plane.requests("") if each.user == user]

    def deleted(self) -> list[AuditedRequest]:
        """The driver pods that controllers deleted since the rollout began."""
        since = self.requests()[self.asked_before :]
        return [each for each in since if (each.verb, each.resource) == ("delete", "pods") and each.code < 300]

    def not_once(self) -> dict[str, tuple[int, int]]:
        """By node: how often its driver pod was deleted and how often it was cordoned, where either is not once."""
        names = {pod.name: pod.node for pod in self.history.pods()}
        deleted = Counter(names[each.name] for each in self.deleted())
        closed, cordoned = dict.fromkeys(self.fleet.nodes, False), Counter[str]()
        for moment in self.history.moments[self.seen_before :]:
            if isinstance(moment, NodeMoment):
                cordoned[moment.name] += moment.is_cordoned and not closed[moment.name]
                closed[moment.name] = moment.is_cordoned
        counts = {name: (deleted[name], cordoned[name]) for name in self.fleet.nodes}
        return {name: count for name, count in counts.items() if count != (1, 1)}

    def records(self) -> dict[str, int]:
        """The schema number of every node's record."""
        found = self.plane.get("nodes", "-l", f"{manifests.FLEET_LABEL}={PREFIX}")["items"]
        notes = {each["metadata"]["name"]: each["metadata"]["annotations"] for each in found}
        return {name: json.loads(note[keys.RECORD_ANNOTATION])["schema"] for name, note in notes.items()}

    def set_schema(self, name: str, number: int) -> None:
        """A release that counts otherwise has written the record of a node."""
        record = json.loads(self.plane.get("node", name)["metadata"]["annotations"][keys.RECORD_ANNOTATION])
        text = json.dumps(record | {"schema": number})
        self.plane.kubectl("annotate", "node", name, f"{keys.RECORD_ANNOTATION}={text}", "--overwrite")

    def set_campaign_schema(self, rollout: str, number: int) -> None:
        body = json.dumps({"status": {"campaign": {"schema": number}}})
        self.plane.kubectl("patch", "gpurollout", rollout, "--subresource=status", "--type=merge", "-p", body)

    def wait_renewed(self) -> None:
        """Wait until whoever leads has said so once more."""

        def at() -> str:
            return str(self.plane.get("lease", "seatrial", "-n", NAMESPACE)["spec"]["renewTime"])

        before = at()
        waiting.wait_for(lambda: at() != before, what="the lease to be renewed", timeout_seconds=WAIT_SECONDS)

    def logs(self, count: int = 5000) -> str:
        """What the controllers said last, so many lines of each."""
        said = []
        for name in self.pods():
            try:
                said.append(f"{name}:\n{self.plane.kubectl('logs', '-n', NAMESPACE, name, f'--tail={count}')}")
            except errors.KubectlFailed as err:
                said.append(f"{name}: {err}")
        return "\n".join(said)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """The first release is installed, and nothing has happened yet."""
    folder = tmp_path_factory.mktemp("upgraded")
    (folder / "first").mkdir()
    first = first_release(folder / "first")
    assert build.main(["--arch", bytecode.host(), "--out", str(folder)]) == 0
    name = f"seatrial-{__version__}-{bytecode.host()}.tar"
    with ControlPlane.start(folder / "plane") as plane:
        plane.load_nvidia_crds()
        real = node.start(plane, REAL, driver_versions=(OLD, NEW))
        for archive in (first / "dist" / "image" / name, folder / name):
            real.import_archive(archive)
        spec = FleetSpec(prefix=PREFIX, node_count=9, driver_version=OLD, reload_seconds=3, real_nodes=(REAL,))
        fleet = make_fleet(plane, spec)
        plane.apply([manifests.namespace(NAMESPACE, PREFIX), a_policy(OLD)])
        chosen = ("--set", f"image.repository={FIRST}", "--set", "extraArgs={--lease-seconds=6}")
        where = ("--namespace", NAMESPACE, "--kubeconfig", str(plane.kubeconfig))
        helm("install", "seatrial", first / "charts" / "seatrial", *where, *chosen, "--wait", "--timeout=110s")
        with PolicyFollower(fleet, manager_env=QUIET), History(plane, PREFIX) as history:
            yield Yard(plane=plane, fleet=fleet, history=history, first=first)
        helm("uninstall", "seatrial", *where, "--ignore-not-found", "--no-hooks")


# ── there and back ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_upgraded_in_the_midst_of_the_waves_the_rollout_ends_and_nothing_is_done_twice(yard: Yard) -> None:
    old = yard.pods()
    assert set(old.values()) == {f"{FIRST}:{__version__}"}
    yard.begin("spring", NEW)
    yard.wait_midway("spring", NEW)
    yard.helm("upgrade", "seatrial", CHART, "--reuse-values", "--dry-run=server")  # values of then are enough
    changed = ("--reset-then-reuse-values", "--set", f"image.repository={TODAY}")
    yard.helm("upgrade", "seatrial", CHART, *changed, "--wait", "--timeout=110s")
    assert set(yard.pods().values()) == {f"{TODAY}:{__version__}"}
    yard.wait_done("spring", NEW)
    assert yard.not_once() == {}
    assert set(yard.records().values()) == {2}

    new = yard.deployed.keys() - old.keys()
    asked = yard.requests()[yard.asked_before :]
    first_of_new = min(each.at for each in asked if each.pod in new)
    assert first_of_new < max(each.at for each in asked if each.pod in old), "for a while both were there"
    definition = [each for each in yard.plane.requests("Helm") if each.resource == "customresourcedefinitions"]
    assert any(each.verb == "patch" and each.at < first_of_new for each in definition), "the definition goes first"
    assert {each.pod in new for each in yard.deleted()} == {True, False}, "each of them took a part of the nodes"


def test_taken_back_in_the_midst_of_the_waves_the_first_release_goes_on_and_holds_what_is_not_its_own(
    yard: Yard,
) -> None:
    today = yard.pods()
    strange = next(name for name in reversed(yard.fleet.nodes) if name != REAL)
    yard.set_schema(strange, LATER)
    yard.begin("autumn", OLD)
    yard.wait_midway("autumn", OLD)
    held = " held subject={} code=record-unreadable ".format
    yard.wait("autumn", lambda: held(strange) in yard.logs(), f"today's release to hold {strange}")
    yard.helm("rollback", "seatrial", "1", "--wait", "--timeout=110s")
    assert set(yard.pods().values()) == {f"{FIRST}:{__version__}"}

    yard.wait("autumn", lambda: held(strange) in yard.logs(), f"the first release to hold {strange}, too")
    yard.set_campaign_schema("autumn", LATER)
    said = f"status.campaign.schema: {LATER} is newer than 1"
    yard.wait("autumn", lambda: said in yard.logs(), "the campaign to be held")
    version = yard.plane.get("gpurollout", "autumn")["metadata"]["resourceVersion"]
    moved = len(yard.deleted())
    for _ in range(2):  # whoever leads has been through its loop
        yard.wait_renewed()
    assert yard.plane.get("gpurollout", "autumn")["metadata"]["resourceVersion"] == version, "nobody wrote it"
    assert len(yard.deleted()) == moved, "and nobody moved a node"

    yard.set_campaign_schema("autumn", 1)
    yard.set_schema(strange, 2)
    yard.wait_done("autumn", OLD)
    assert yard.not_once() == {}
    assert {each.pod in today for each in yard.deleted()} == {True, False}, "each of them took a part of the nodes"
