"""Python's part: which wheels, and what they install."""

from __future__ import annotations

import io
import tomllib
import zipfile
from pathlib import Path

import pytest

from seatrial_lab.image import recipe, wheels
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.image.files import File
from seatrial_lab.image.wheels import SITE, Wheel

ROOT = Path(__file__).resolve().parents[2]
THING = Wheel(name="thing", version="1.0", url="https://x/thing-1.0-py3-none-any.whl", sha256="0" * 64)


def a_lock(*files: str, marker: str = "", extra: str = "") -> str:
    """A lock in which seatrial needs one thing, which has these wheels."""
    condition = f', marker = "{marker}"' if marker else ""
    listed = ", ".join(f'{{ url = "https://x/{name}", hash = "sha256:{name}" }}' for name in files)
    wanted = f', extra = ["{extra}"]' if extra else ""
    return f"""
[[package]]
name = "seatrial"
version = "0"
dependencies = [{{ name = "thing"{wanted}{condition} }}]

[[package]]
name = "thing"
version = "1.0"
wheels = [{listed}]

[package.optional-dependencies]
fast = [{{ name = "other" }}]

[[package]]
name = "other"
version = "2.0"
wheels = [{{ url = "https://x/other-2.0-py3-none-any.whl", hash = "sha256:x" }}]
"""


def chosen(text: str, architecture: str = "amd64") -> list[str]:
    return [wheel.file for wheel in wheels.chosen(text, architecture)]


def test_a_wheel_for_the_machine_goes_before_one_for_any() -> None:
    files = (
        "thing-1.0-py3-none-any.whl",
        "thing-1.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        "thing-1.0-cp311-cp311-manylinux_2_28_aarch64.whl",
        "thing-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        "thing-1.0-cp311-cp311-musllinux_1_2_x86_64.whl",
    )
    assert chosen(a_lock(*files)) == [files[1]]
    assert chosen(a_lock(*files), "arm64") == [files[2]]


def test_a_wheel_that_needs_a_newer_glibc_than_the_image_has_is_not_taken() -> None:
    assert chosen(a_lock("thing-1.0-cp311-cp311-manylinux_2_39_x86_64.whl", "thing-1.0-py3-none-any.whl")) == [
        "thing-1.0-py3-none-any.whl"
    ]


def test_the_stable_abi_of_an_older_python_fits() -> None:
    assert chosen(a_lock("thing-1.0-cp310-abi3-manylinux_2_17_x86_64.whl")) != []


def test_where_there_is_no_wheel_it_says_for_what() -> None:
    with pytest.raises(ImageFailure, match=r"thing 1\.0 has no wheel for arm64 and Python 3\.11"):
        chosen(a_lock("thing-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"), "arm64")


def test_what_is_for_other_systems_stays_away_and_extras_come_along() -> None:
    thing = "thing-1.0-py3-none-any.whl"
    assert chosen(a_lock(thing, marker="sys_platform == 'win32'")) == []
    assert chosen(a_lock(thing, marker="python_full_version < '3.13'")) == [thing]
    assert chosen(a_lock(thing, extra="fast")) == ["other-2.0-py3-none-any.whl", thing]


@pytest.mark.parametrize("architecture", recipe.MACHINES)
def test_every_locked_dependency_has_a_wheel_that_fits(architecture: str) -> None:
    names = [wheel.name for wheel in wheels.chosen((ROOT / "uv.lock").read_text(encoding="utf-8"), architecture)]
    assert {"aiohttp", "msgspec", "pyyaml", "tzdata"} <= set(names)
    assert {"pytest", "seatrial-lab", "colorama", "packaging"} & set(names) == set()


@pytest.mark.parametrize("architecture", recipe.MACHINES)
def test_payloads_bring_what_they_ask_a_driver_with_and_nothing_of_the_controllers(architecture: str) -> None:
    found = wheels.chosen((ROOT / "uv.lock").read_text(encoding="utf-8"), architecture, extra=recipe.PROBES.extra)
    assert [wheel.name for wheel in found] == ["nvidia-ml-py"]


def a_wheel(**members: str) -> bytes:
    """A wheel with these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return packed.getvalue()


def test_a_wheel_is_unpacked_into_the_environment() -> None:
    content = a_wheel(
        **{
            "thing/__init__.py": "x = 1",
            "thing-1.0.data/purelib/more.py": "y = 2",
            "thing-1.0.dist-info/METADATA": "Name: thing\nVersion: 1.0\nLicense-Expression: MIT\n",
        }
    )
    part = wheels.unpack(THING, content, "amd64")
    assert part.tree[f"{SITE}/thing/__init__.py"] == File(content=b"x = 1")
    assert part.tree[f"{SITE}/more.py"] == File(content=b"y = 2")
    assert (part.component.license, part.component.architecture) == ("MIT", "all")


@pytest.mark.parametrize("name", ["thing-1.0.data/scripts/run", "../thing.py", "/etc/passwd"])
def test_what_has_no_place_in_the_environment_is_refused(name: str) -> None:
    with pytest.raises(ImageFailure, match=r"thing-1\.0"):
        wheels.unpack(THING, a_wheel(**{name: ""}), "amd64")


def test_our_program_is_the_one_that_the_wheel_names() -> None:
    content = a_wheel(**{"thing-1.0.dist-info/entry_points.txt": "[console_scripts]\nthing = thing.cli:main\n"})
    ((path, script),) = wheels.scripts(content, ["thing"]).items()
    assert path == "opt/seatrial/bin/thing"
    assert isinstance(script, File)
    assert script.mode == 0o755
    assert b"#!/opt/seatrial/bin/python3\n" in script.content
    assert b"from thing.cli import main" in script.content
    assert wheels.scripts(content, ["another"]) == {}


def test_the_controllers_image_has_every_program_of_ours() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert sorted(recipe.CONTROLLER.programs) == sorted(project["scripts"])
    assert set(recipe.PROBES.programs) <= set(project["scripts"])
    assert recipe.PROBES.extra in project["optional-dependencies"]


def test_our_own_wheel_has_the_chart_that_bundles_come_with() -> None:
    """In a checkout it is a link to charts/; a link is nothing that a wheel could have."""
    _, content = wheels.build_own(ROOT, 1_700_000_000)
    inside = zipfile.ZipFile(io.BytesIO(content))
    chart = ROOT / "charts" / "gpu-operator-post"
    for path in (each for each in chart.rglob("*") if each.is_file()):
        name = f"seatrial/manifests/gpu-operator-post/{path.relative_to(chart).as_posix()}"
        assert inside.read(name) == path.read_bytes()
