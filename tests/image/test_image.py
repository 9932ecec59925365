"""The images as they come out: the same twice, small, nobody's but root's, complete, and honest about what is in it."""

from __future__ import annotations

import posixpath
import re
import tarfile
from collections.abc import Mapping
from email.parser import Parser
from pathlib import Path
from typing import Final

import pytest

from seatrial import __version__
from seatrial_lab.image import lock, recipe
from tests.image import elf
from tests.image.conftest import Unpacked

pytestmark = pytest.mark.slow

SIZE_MAX: Final = 150_000_000


@pytest.mark.long
@pytest.mark.parametrize("folder", ["here", "probes"])
def test_building_twice_gives_the_same_bytes(built_twice: Path, folder: str) -> None:
    """Another umask, time zone, folder, locale and hash seed: what a second machine would have."""
    built = (built_twice / folder, built_twice / f"{folder}-again")
    here, again = ({path.name: path.read_bytes() for path in each.iterdir()} for each in built)
    assert sorted(here) == sorted(again)
    assert {name for name in here if here[name] != again[name]} == set()


def test_it_runs_as_somebody_who_is_not_root(any_image: Unpacked) -> None:
    config = any_image.configuration["config"]
    assert config["User"] == "65532:65532"
    assert "HOME=/tmp" in config["Env"]


def test_one_runs_the_controller_and_the_other_a_payload(image: Unpacked, probes_image: Unpacked) -> None:
    controller, payload = image.configuration["config"], probes_image.configuration["config"]
    assert (controller["Entrypoint"], controller["Cmd"]) == (["seatrial"], ["controller", "--forever"])
    assert (payload["Entrypoint"], payload["Cmd"]) == (["seatrial-probe"], ["deep-readiness"])
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in payload["Env"]
    assert (controller["ExposedPorts"], payload.get("ExposedPorts")) == ({"8480/tcp": {}}, None)


def test_a_node_that_has_one_has_most_of_the_other(image: Unpacked, probes_image: Unpacked) -> None:
    debian, *others = probes_image.manifest["layers"]
    assert debian == image.manifest["layers"][0]
    assert sum(each["size"] for each in others) < debian["size"] / 5


def test_payloads_come_with_nvml_and_nothing_else(probes_image: Unpacked) -> None:
    told = {package["name"] for package in probes_image.bill["packages"] if "pkg:pypi" in str(package)}
    assert told == {"nvidia-ml-py", "seatrial"}
    assert [path for path in probes_image.headers if path.startswith("opt/seatrial/bin/")] == [
        "opt/seatrial/bin/python",
        "opt/seatrial/bin/python3",
        "opt/seatrial/bin/seatrial-probe",
    ]


def test_it_says_what_it_is_called_to_containerd_docker_and_skopeo(image: Unpacked) -> None:
    (described,) = image.index["manifests"]
    assert described["annotations"]["io.containerd.image.name"] == f"{recipe.CONTROLLER.name}:{__version__}"
    assert described["annotations"]["org.opencontainers.image.ref.name"] == __version__
    assert image.read("oci-layout") == {"imageLayoutVersion": "1.0.0"}
    (docker,) = image.read("manifest.json")
    assert docker["RepoTags"] == [f"{recipe.CONTROLLER.name}:{__version__}"]
    assert [name in image.members for name in (docker["Config"], *docker["Layers"])] == [True] * 4


def test_it_is_small(any_image: Unpacked) -> None:
    assert sum(map(len, any_image.members.values())) <= SIZE_MAX


def test_no_file_gives_anybody_more_rights(any_image: Unpacked) -> None:
    headers = any_image.headers.values()
    assert [member.name for member in headers if member.mode & 0o6000] == []
    assert {(member.uid, member.gid) for member in headers} == {(0, 0)}


def test_only_tmp_can_be_written_by_the_user(any_image: Unpacked) -> None:
    assert [member.name for member in any_image.headers.values() if member.mode & 0o022 and not member.issym()] == [
        "tmp"
    ]


def test_every_package_in_it_is_in_its_bill_of_materials_and_no_other(any_image: Unpacked) -> None:
    files = any_image.files
    debian = [
        Parser().parsestr(text.decode()) for path, text in files.items() if path.startswith("var/lib/dpkg/status.d/")
    ]
    python = [Parser().parsestr(text.decode()) for path, text in files.items() if path.endswith(".dist-info/METADATA")]
    inside = {("deb", said["Package"], said["Version"]) for said in debian}
    inside |= {("pypi", re.sub(r"[-_.]+", "-", said["Name"]).lower(), said["Version"]) for said in python}
    told = {
        (
            package["externalRefs"][0]["referenceLocator"].split("/")[0].removeprefix("pkg:"),
            package["name"],
            package["versionInfo"],
        )
        for package in any_image.bill["packages"]
    }
    title = any_image.configuration["config"]["Labels"]["org.opencontainers.image.title"]
    assert told == inside | {("oci", title, __version__)}
    assert len(debian) > 50
    assert len(python) > (20 if title == recipe.CONTROLLER.title else 1)


def test_its_packages_are_those_of_the_lock(any_image: Unpacked) -> None:
    locked = lock.load().packages[any_image.configuration["architecture"]]
    told = {package["name"]: package["checksums"][0]["checksumValue"] for package in any_image.bill["packages"]}
    assert {package.name: package.sha256 for package in locked}.items() <= told.items()


def test_the_bill_of_materials_is_of_this_image(any_image: Unpacked) -> None:
    digest = any_image.index["manifests"][0]["digest"]
    itself = next(package for package in any_image.bill["packages"] if package["SPDXID"] == "SPDXRef-image")
    assert f"sha256:{itself['checksums'][0]['checksumValue']}" == digest
    ids = [package["SPDXID"] for package in any_image.bill["packages"]]
    assert len(ids) == len(set(ids))
    assert {each["relatedSpdxElement"] for each in any_image.bill["relationships"]} == set(ids)


def test_every_library_that_a_program_needs_is_there_and_for_its_machine(any_image: Unpacked) -> None:
    """The one look at what cannot be run here; a package that was left out and is needed shows up by name."""
    programs = {path: found for path, content in any_image.files.items() if (found := elf.read(content)) is not None}
    headers = any_image.headers
    libraries = {posixpath.basename(path) for path in headers}
    missing = {(path, name) for path, program in programs.items() for name in program.needed if name not in libraries}
    assert missing == set()
    assert {program.architecture for program in programs.values()} == {any_image.configuration["architecture"]}
    assert len(programs) > 100


def test_no_link_leads_nowhere(any_image: Unpacked) -> None:
    headers = any_image.headers
    assert [member.name for member in headers.values() if member.issym() and _end(member.name, headers) is None] == []


def _end(path: str, headers: Mapping[str, tarfile.TarInfo], hops: int = 20) -> str | None:
    """Where a path ends once every link on the way is followed."""
    walked = ""
    for step in path.split("/"):
        walked = posixpath.normpath(posixpath.join(walked, step))
        if walked in headers and headers[walked].issym() and hops:
            aim = posixpath.normpath(posixpath.join("/", posixpath.dirname(walked), headers[walked].linkname)).lstrip(
                "/"
            )
            followed = _end(aim, headers, hops - 1)
            if followed is None:
                return None
            walked = followed
    return walked if walked in headers else None


def test_every_module_of_ours_is_compiled_so_that_nothing_is_written_at_the_first_start(any_image: Unpacked) -> None:
    headers = any_image.headers
    modules = [path for path in any_image.files if path.endswith(".py")]
    assert [path for path in modules if _bytecode_of(path) not in headers] == []
    assert len(modules) > 1000


def _bytecode_of(path: str) -> str:
    folder, name = posixpath.split(path)
    return f"{folder}/__pycache__/{name.removesuffix('.py')}.cpython-311.pyc"


def test_neither_the_laboratory_nor_anything_that_installs_is_in_it(any_image: Unpacked) -> None:
    headers = any_image.headers
    assert [path for path in headers if "seatrial_lab" in path or "/pip/" in path] == []
    assert [path for path in headers if re.fullmatch(r"usr/s?bin/(apt.*|dpkg.*|perl.*|curl|wget|gcc|bash)", path)] == []


def test_a_licence_comes_with_every_package(any_image: Unpacked) -> None:
    headers = any_image.headers
    named = [path.rsplit("/", 1)[-1] for path in headers if path.startswith("var/lib/dpkg/status.d/")]
    assert [name for name in named if _end(f"usr/share/doc/{name}/copyright", headers) is None] == []
