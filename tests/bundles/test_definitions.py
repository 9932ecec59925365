"""What Flux and Argo CD are told is what their own definitions know: no field too many, and none too few.

The definitions come from the Go modules that the testbed builds these engines from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial_lab.testbed.building import build, toolchain
from tests.bundles.conftest import Write
from tests.bundles.extracting import kustomized
from tests.bundles.parity import PATH
from tests.chart.charts import helm

pytestmark = pytest.mark.cluster

Object = dict[str, Any]
KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}


def definitions(folder: Path) -> dict[tuple[str, str], Object]:
    """The schema of every version of every kind."""
    found = {}
    for file in sorted(folder.glob("*.yaml")):
        for each in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if each and each["kind"] == "CustomResourceDefinition":
                spec = each["spec"]
                for version in spec["versions"]:
                    at = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
                    found[at] = version["schema"]["openAPIV3Schema"]
    return found


@pytest.fixture(scope="module")
def known() -> dict[tuple[str, str], Object]:
    flux = [
        toolchain.module_folder(build.FLUX.folder, f"github.com/fluxcd/{name}") / "config" / "crd" / "bases"
        for name in ("helm-controller", "source-controller")
    ]
    argo = toolchain.module_folder(build.ARGO_CD.folder, build.ARGO_CD.module) / "manifests" / "crds"
    return {at: schema for folder in (*flux, argo) for at, schema in definitions(folder).items()}


def problems(schema: Object, value: Any, path: str = "") -> Iterator[str]:
    """What an API server would drop or refuse, each with its place."""
    if schema.get("x-kubernetes-int-or-string"):
        return
    kind = schema.get("type")
    if kind in KINDS and not isinstance(value, KINDS[kind]):
        yield f"{path}: is no {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if "pattern" in schema and not re.search(schema["pattern"], str(value)):
        yield f"{path}: {value!r} is not like {schema['pattern']}"
    if isinstance(value, dict):
        yield from _fields(schema, value, path)
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from problems(schema["items"], each, f"{path}[{index}]")


def _fields(schema: Object, value: Object, path: str) -> Iterator[str]:
    fields, more = schema.get("properties", {}), schema.get("additionalProperties")
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or path == ".metadata"
    yield from (f"{path}.{name}: is missing" for name in schema.get("required", ()) if name not in value)
    for name, each in value.items():
        if name in fields:
            yield from problems(fields[name], each, f"{path}.{name}")
        elif isinstance(more, dict):
            yield from problems(more, each, f"{path}.{name}")
        elif not is_open:
            yield f"{path}.{name}: is unknown"


def told(deployer: str, root: Path) -> list[Object]:
    """Every object that a deployer is told by a bundle."""
    bundle = root / PATH
    match deployer:
        case "flux":
            return kustomized(bundle)
        case "argocd":
            files = [bundle / "app-of-apps.yaml", *bundle.glob("*/application.yaml"), *bundle.glob("*/repository.yaml")]
            return [yaml.safe_load(each.read_text(encoding="utf-8")) for each in files]
        case _:
            return [each for each in yaml.safe_load_all(helm("template", "stack", bundle)) if each]


@pytest.mark.parametrize("deployer", ["flux", "argocd", "argocd-helm"])
@pytest.mark.parametrize("dra", ["25.12.0", "0.4.1"])
def test_every_object_is_one_that_its_definition_knows(
    deployer: str, dra: str, write: Write, known: dict[tuple[str, str], Object]
) -> None:
    found = told(deployer, write("one", "--on-delete", dra=dra, only=(deployer,))[deployer])
    judged = [each for each in found if (each["apiVersion"], each["kind"]) in known]
    assert len(judged) >= 4
    assert {each["kind"] for each in found if each not in judged} <= {"ConfigMap", "Secret"}
    for each in judged:
        assert list(problems(known[each["apiVersion"], each["kind"]], each)) == []


def test_a_field_that_nobody_knows_is_found(write: Write, known: dict[tuple[str, str], Object]) -> None:
    found = told("flux", write(only=("flux",))["flux"])
    release = next(each for each in found if each["kind"] == "HelmRelease")
    release["spec"]["upgrade"] |= {"disableHook": True, "remediation": {"retries": "none"}}
    del release["spec"]["interval"]
    assert list(problems(known[release["apiVersion"], "HelmRelease"], release)) == [
        ".spec.interval: is missing",
        ".spec.upgrade.remediation.retries: is no integer",
        ".spec.upgrade.disableHook: is unknown",
    ]
