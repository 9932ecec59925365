"""What `kubectl apply` installs is what the chart says today, without Helm's own marks."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from seatrial import __version__
from seatrial_lab import deploy
from tests.chart.charts import rendered_with

ROOT = deploy.ROOT


def objects() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / deploy.MANIFESTS).read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def fresh() -> dict[str, str]:
    return deploy.files()


@pytest.mark.parametrize("name", [deploy.MANIFESTS, deploy.KUSTOMIZATION])
def test_the_manifests_are_what_the_chart_says_today(fresh: dict[str, str], name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == fresh[name], "Run `make deploy` and commit the result."


def test_what_others_live_in_comes_first() -> None:
    kinds = [(item["kind"], item["metadata"]["name"]) for item in objects()]
    assert kinds[:3] == [
        ("Namespace", "seatrial"),
        ("Namespace", "seatrial-gates"),
        ("CustomResourceDefinition", "gpurollouts.seatrial.dev"),
    ]


def test_nothing_is_left_of_helm_and_nothing_else_is_missing() -> None:
    text = (ROOT / deploy.MANIFESTS).read_text(encoding="utf-8")
    for word in (deploy.CHART.name, "helm.toolkit.fluxcd.io", "helmreleases"):  # what a campaign may read of Flux
        text = text.replace(word, "")
    assert "helm" not in text.casefold()
    flags = ("--set", deploy.SETTINGS[0], "--namespace", deploy.NAMESPACE)
    chart = {
        (item["kind"], item["metadata"]["name"])
        for item in rendered_with(*flags)
        if "helm.sh/hook" not in item["metadata"].get("annotations", {})
    }
    assert {(item["kind"], item["metadata"]["name"]) for item in objects()} == chart | {("Namespace", "seatrial")}


def test_the_image_is_the_one_of_this_version() -> None:
    made = yaml.safe_load((ROOT / deploy.KUSTOMIZATION).read_text(encoding="utf-8"))
    assert made["images"] == [{"name": "seatrial", "newName": "seatrial", "newTag": __version__}]
