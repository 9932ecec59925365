"""What stories with an engine look at and wait for: holds as the status tells them, our commit, the ClusterPolicy."""

from __future__ import annotations

from typing import Any

from tests.e2e.light_stage import POLICY, LightStage


def told(stage: LightStage, code: str, *, saying: str = "") -> dict[str, Any]:
    """Wait until the rollout's status tells of this hold in these words: why, and the next step."""
    waits: list[dict[str, Any]] = []

    def look() -> bool:
        found = stage.status().get("waits", ())
        waits[:] = [each for each in found if each["code"] == code and saying in f"{each['why']} {each['next']}"]
        return bool(waits)

    stage.wait(look, f"the status to tell of {code} {saying}".strip())
    return waits[0]


def wait_committed(stage: LightStage) -> None:
    """Wait until our own commit is the newest."""
    stage.wait(lambda: stage.remote_log()[-1].startswith(f"Driver {stage.target} for "), "our commit to be in Git")


def version(stage: LightStage) -> str:
    """What the ClusterPolicy carries."""
    return str(stage.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"])


def wait_version(stage: LightStage, wanted: str) -> None:
    """Wait until the ClusterPolicy carries this."""
    stage.wait(lambda: version(stage) == wanted, f"the ClusterPolicy to carry {wanted}")
