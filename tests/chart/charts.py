"""The chart, by the real helm."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

from seatrial_lab.testbed.neighbours.operator_chart import find_helm

CHART = Path(__file__).parents[2] / "charts" / "seatrial"
NAMESPACE = "gpu-upgrades"


def helm(*arguments: str | Path) -> str:
    """Run helm and return what it printed; what it complains of is the error."""
    done = subprocess.run([find_helm(), *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def rendered(*settings: str) -> list[dict[str, Any]]:
    """Every object of the chart with these settings (`key=value`), hooks included."""
    return rendered_with(*(flag for setting in settings for flag in ("--set", setting)))


def rendered_with(*flags: str) -> list[dict[str, Any]]:
    """The same with these flags of helm."""
    text = helm("template", "seatrial", CHART, "--namespace", NAMESPACE, "--kube-version", "1.35.0", *flags)
    return [item for item in yaml.safe_load_all(text) if item]


def one(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    """The object of this kind and name."""
    (found,) = [item for item in objects if item["kind"] == kind and item["metadata"]["name"] == name]
    return found
