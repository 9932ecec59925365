"""What every story of a release through an engine has: where it is declared, what is asked, and what is looked at."""

from __future__ import annotations

from typing import Any

from seatrial_lab.testbed.neighbours import gate_runs
from tests.e2e.light_stage import LightStage
from tests.gitops import charts

FOLDER = "cluster"
DECLARED = f"{FOLDER}/operator.yaml"
BEFORE, AFTER = "v25.3.2", "v25.10.0"
"""The fleet's validators run the first."""
NAMESPACE = "gpu-operator"
ONE_GATE = [{"name": "smoke", "image": "example.invalid/smoke:1", "gpus": 1}]


def released(stage: LightStage) -> str:
    """The release that the operator's Deployment is of; empty where there is none."""
    found = stage.plane.get("deployments", "-n", NAMESPACE)["items"]
    chart = found[0]["metadata"]["labels"]["helm.sh/chart"] if found else ""
    return str(chart).removeprefix(f"{charts.NAME}-")


def by_git(stage: LightStage) -> dict[str, Any]:
    """A rollout of the next release and the next driver, by commits to the folder."""
    return {
        "target": {"driver": stage.target, "gpu_operator": AFTER},
        "publish": {"via": "git", "git": {"path": FOLDER, "url": stage.url, "branch": "main"}},
    }


def goes_through(stage: LightStage, name: str) -> None:
    """The chart's version is in one commit with the driver's; the engine brings it, and the canary moves alone."""
    stage.begin(name, approvals={"manual": ["waves"]}, **by_git(stage))
    stage.wait(lambda: released(stage) == AFTER, "the engine to bring the release")
    assert not stage.writes("helmreleases")
    assert not stage.writes("applications")
    stage.new_operator(AFTER)
    stage.wait_held("approval-pending", saying="before the fleet follows the canary")
    assert stage.validators() == {stage.canary: AFTER, **dict.fromkeys(stage.others, BEFORE)}
    (diff,) = (line for line in _changed(stage) if "operator.yaml" in line)
    assert diff == DECLARED
    stage.do("rollout", "approve", name, "waves")
    stage.wait_phase("Done")
    assert set(stage.validators().values()) == {AFTER}


def comes_back(stage: LightStage, name: str) -> None:
    """A gate fails: the revert of that commit brings the old release back, and nobody but the canary was touched."""
    gates = gate_runs.GateRuns(stage.plane, namespace="seatrial", answer=lambda _: "too slow")
    with gates:
        stage.begin(name, gates=ONE_GATE, **by_git(stage))
        stage.wait(lambda: released(stage) == AFTER, "the engine to bring the release")
        stage.new_operator(AFTER)
        stage.wait_phase("Reverting")
        stage.wait(lambda: released(stage) == BEFORE, "the engine to bring the old release back")
        stage.new_operator(BEFORE)
        stage.wait_phase("Reverted")
    assert set(stage.validators().values()) == {BEFORE}
    assert set(stage.fleet.driver_versions().values()) == {stage.running}
    assert stage.touched() == {stage.canary}


def _changed(stage: LightStage) -> list[str]:
    """The files of the commit that published for the canary."""
    stage.fetched()
    shown = stage.git("log", "-1", "--format=", "--name-only", "--grep=for the canary", "origin/main")
    return shown.split()
