"""Writes what `kubectl apply` installs, from the chart by the real helm: `make deploy`.

    fields of records ───────────────▶ the status in src/seatrial/manifests/crd.yaml, and its copy in the chart
    charts/seatrial ──helm template──▶ deploy/seatrial.yaml         kubectl apply -f
                                       deploy/kustomization.yaml    kubectl apply -k

    python -m seatrial_lab.deploy            write them into this checkout
    python -m seatrial_lab.deploy --to DIR   write them below DIR instead (the tests compare)

Law of this file: nothing is said here that the chart does not say, but for what Helm itself does with it: the namespace
that `helm install -n` is given, and neither hooks nor marks of Helm's. Tests: tests/chart/test_deploy.py
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import yaml

from seatrial_lab import definition
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.neighbours import operator_chart

Object = dict[str, Any]

ROOT: Final = Path(__file__).resolve().parents[2]
CHART: Final = ROOT / "charts" / "seatrial"
NAMESPACE: Final = "seatrial"
KUBERNETES: Final = "1.34.0"
"""The oldest that the chart runs on: what is written for it, every later one takes."""
SETTINGS: Final = ("uninstall.giveBack=false",)
"""Without Helm nobody runs a hook: `seatrial uninstall` is run by hand, with the rights of whoever runs it."""
TIMEOUT_SECONDS: Final = 60.0

MANIFESTS: Final = "deploy/seatrial.yaml"
KUSTOMIZATION: Final = "deploy/kustomization.yaml"
_NOTE: Final = "# Written by `make deploy` from charts/seatrial; change that.\n"
_OF_HELM: Final = ("helm.sh/", "app.kubernetes.io/managed-by")
"""What only Helm means anything by."""


def main() -> None:
    """Write the definition and its copy in the chart, then what is rendered from the chart."""
    parser = argparse.ArgumentParser(description="Write what kubectl apply installs, from the chart.")
    parser.add_argument("--to", type=Path, default=ROOT, metavar="DIR", help="write below this folder (the checkout)")
    args = parser.parse_args()
    written = definition.definition()
    for name, text in {definition.PATH: written, definition.IN_CHART: written}.items():
        _write(args.to / name, text)
    for name, text in files().items():
        _write(args.to / name, text)


def _write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def files() -> dict[str, str]:
    """Both files by their path in the checkout."""
    return {MANIFESTS: manifests(_rendered()), KUSTOMIZATION: _kustomization()}


def manifests(rendered: Iterable[Object]) -> str:
    """The objects of the chart as kubectl is to apply them: what others live in comes first."""
    kept = [_without_helm(each) for each in rendered if not _is_hook(each)]
    first = [each for each in kept if each["kind"] in ("Namespace", "CustomResourceDefinition")]
    rest = [each for each in kept if each not in first]
    documents = (_written(each) for each in (_own_namespace(kept), *first, *rest))
    return _NOTE + "---\n" + "---\n".join(documents)


def _rendered() -> list[Object]:
    settings = [flag for setting in SETTINGS for flag in ("--set", setting)]
    where = ("--namespace", NAMESPACE, "--kube-version", KUBERNETES)
    command: list[str | Path] = [operator_chart.find_helm(), "template", "seatrial", CHART, *where, *settings]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    if done.returncode != 0:
        raise errors.TestbedFailure(f"helm could not render {CHART}: {done.stderr.strip()}")
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def _own_namespace(objects: Iterable[Object]) -> Object:
    """Where the controllers are; Helm has it made by its user. They run at the strictest level, so it is enforced."""
    account = next(each for each in objects if each["kind"] == "ServiceAccount")
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": NAMESPACE, "labels": {**level, **account["metadata"]["labels"]}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _is_hook(item: Object) -> bool:
    return "helm.sh/hook" in item["metadata"].get("annotations", {})


def _without_helm(item: Object) -> Object:
    metadata = dict(item["metadata"])
    for part in ("labels", "annotations"):
        kept = {key: value for key, value in metadata.pop(part, {}).items() if not key.startswith(_OF_HELM)}
        metadata |= {part: kept} if kept else {}
    return {**item, "metadata": metadata}


def _written(item: Object) -> str:
    return yaml.safe_dump(item, sort_keys=False, allow_unicode=True, width=1000)


def _kustomization() -> str:
    image = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))["image"]["repository"]
    version = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"]
    return (
        f"{_NOTE}# In a kustomization of yours: `resources: [<this folder>]`, and `images` with your registry. Leave "
        "`namespace` out: it would\n# move the Roles in the GPU Operator's namespace, too.\n"
        "apiVersion: kustomize.config.k8s.io/v1beta1\n"
        "kind: Kustomization\n"
        "resources: [seatrial.yaml]\n"
        f'images: [{{name: {image}, newName: {image}, newTag: "{version}"}}]\n'
    )


if __name__ == "__main__":
    main()
