"""A GPU Operator given as a folder: taken as it lies there, or refused with what it lacks, where and what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build, operator_parts
from seatrial_lab.testbed.neighbours import operator_drivers

CRDS = Path("deployments/gpu-operator/crds")
CHECKOUT = {"program": "gpu-operator", "assets": "assets", "manifests": "manifests"}
IMAGE = {
    "program": "usr/bin/gpu-operator",
    "assets": "opt/gpu-operator",
    "manifests": "opt/gpu-operator/manifests",
}


def laid_out(folder: Path, places: dict[str, str] = CHECKOUT, *, driver_fields: tuple[str, ...] = ()) -> Path:
    """A folder with everything in it; the program is a script, which needs no libraries."""
    for each in (places["assets"], places["manifests"], str(CRDS)):
        (folder / each).mkdir(parents=True, exist_ok=True)
    program = folder / places["program"]
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (folder / CRDS / "both.yaml").write_text(
        yaml.safe_dump_all([definition(name, driver_fields) for name in sorted(operator_parts.NEEDED)])
    )
    (folder / CRDS.parent / "Chart.yaml").write_text("name: gpu-operator\nappVersion: v26.7.1\n")
    return folder


def definition(name: str, fields: tuple[str, ...]) -> dict[str, object]:
    spec = {"properties": {each: {"type": "object"} for each in fields}}
    version = {"served": True, "schema": {"openAPIV3Schema": {"properties": {"spec": spec}}}}
    return {"kind": "CustomResourceDefinition", "metadata": {"name": name}, "spec": {"versions": [version]}}


@pytest.mark.parametrize("places", [CHECKOUT, IMAGE], ids=["as a checkout", "as an image"])
def test_a_folder_is_taken_as_it_lies_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: dict[str, str]
) -> None:
    monkeypatch.setenv(operator_parts.VARIABLE, str(laid_out(tmp_path, places)))
    parts = operator_parts.find()
    assert parts == operator_parts.OperatorParts(
        release="v26.7.1",
        assets=tmp_path / places["assets"],
        manifests=tmp_path / places["manifests"],
        chart=tmp_path / CRDS.parent,
        given_program=tmp_path / places["program"],
    )
    assert parts.program() == tmp_path / places["program"]
    assert {each["metadata"]["name"] for each in parts.definitions()} == operator_parts.NEEDED


def test_a_checkout_says_itself_which_release_it_is(tmp_path: Path) -> None:
    laid_out(tmp_path)
    (tmp_path / "versions.mk").write_text("# VERSION is …\nVERSION ?= v26.7.0\nGOLANG_VERSION ?= 1.26.6\n")
    assert operator_parts.given(tmp_path).release == "v26.7.0"


@pytest.mark.parametrize(
    ("fields", "habits"),
    [
        ((), operator_drivers.Habits(has_default=False, has_policy_by_driver=False)),
        (("default", "upgradePolicy"), operator_drivers.Habits(has_default=True, has_policy_by_driver=True)),
    ],
)
def test_what_an_operator_does_unlike_another_is_read_from_its_definitions(
    tmp_path: Path, fields: tuple[str, ...], habits: operator_drivers.Habits
) -> None:
    parts = operator_parts.given(laid_out(tmp_path, driver_fields=fields))
    assert operator_drivers.habits(parts.definitions()) == habits


def no_folder(folder: Path) -> None:
    (folder / "gpu-operator").unlink()
    folder.rename(folder.with_name("elsewhere"))


def not_executable(folder: Path) -> None:
    (folder / "gpu-operator").chmod(0o644)


def with_libraries(folder: Path) -> None:
    (folder / "gpu-operator").write_bytes(b"\x7fELF" + bytes(500) + b"/lib64/ld-linux-x86-64.so.2")


@pytest.mark.parametrize(
    ("spoil", "why", "next_step"),
    [
        (no_folder, "is no folder", "Name the folder"),
        (lambda folder: (folder / "gpu-operator").unlink(), "has no program: no gpu-operator and no usr", "Put it"),
        (not_executable, "has a gpu-operator that cannot be run", "chmod +x"),
        (with_libraries, "has a gpu-operator that needs shared libraries", "CGO_ENABLED=0"),
        (lambda folder: (folder / "assets").rmdir(), "has no assets: no assets and no opt", "Copy them"),
        (lambda folder: (folder / "manifests").rmdir(), "has no manifests: no manifests", "Copy them"),
        (lambda folder: (folder / CRDS.parent / "Chart.yaml").unlink(), "has no chart: no deployments", "Copy it"),
        (
            lambda folder: (folder / CRDS / "both.yaml").unlink(),
            "has no definition of clusterpolicies.nvidia.com and nvidiadrivers.nvidia.com in deployments/gpu-operator",
            "Copy crds/",
        ),
        (lambda folder: (folder / CRDS / "x.yaml").write_text("a: ["), "has definitions that cannot be read", "Copy"),
        (lambda folder: (folder / CRDS / "x.yaml").write_text("a: b"), "has definitions that cannot be read", "Copy"),
    ],
)
def test_a_folder_that_lacks_something_is_refused_with_what_and_what_to_do(
    tmp_path: Path, spoil: Callable[[Path], object], why: str, next_step: str
) -> None:
    folder = laid_out(tmp_path / "operator")
    spoil(folder)
    with pytest.raises(errors.PartMissing) as refused:
        operator_parts.given(folder)
    said = str(refused.value)
    assert said.startswith(f"SEATRIAL_GPU_OPERATOR={folder} {why}")
    assert next_step in said
    assert "\n" not in said
    assert said.endswith("docs/how-to/testbed.md shows such a folder.")


def test_where_none_is_named_the_operator_is_the_one_that_we_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(operator_parts.VARIABLE, raising=False)
    parts = operator_parts.find()
    assert (parts.release, parts.given_program) == (build.GPU_OPERATOR.version, None)
    assert operator_drivers.habits(parts.definitions()) == operator_drivers.Habits(
        has_default=False, has_policy_by_driver=False
    )
