"""The images of a real node: the same bytes for the same files, and what the driver manager is told."""

import io
import json
import tarfile
from pathlib import Path

from seatrial.sim import neighbours
from seatrial_lab.testbed.real_node import images, playing


def an_image(name: str, *layers: images.Layer) -> images.Image:
    return images.Image(name=name, layers=layers, entrypoint=("/bin/sh", "/play/driver"), environment=(("A", "b"),))


def a_layer(text: str = "ahoy") -> images.Layer:
    return images.layer([images.File(path="play/driver", content=text.encode())], {"bin/sh": "busybox"})


def read(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {member.name: (archive.extractfile(member) or io.BytesIO()).read() for member in archive}


def test_an_image_is_written_as_docker_would_save_it(tmp_path: Path) -> None:
    layer = a_layer()
    files = read(images.write(tmp_path / "images.tar", [an_image("ship:1", layer)], machine="x86_64"))
    [entry] = json.loads(files["manifest.json"])
    assert entry["RepoTags"] == ["ship:1"]
    assert [files[each] for each in entry["Layers"]] == [layer.content]
    config = json.loads(files[entry["Config"]])
    assert (config["architecture"], config["os"]) == ("amd64", "linux")
    assert config["config"] == {"Entrypoint": ["/bin/sh", "/play/driver"], "Env": ["PATH=/bin", "A=b"]}
    assert config["rootfs"]["diff_ids"] == ["sha256:" + entry["Layers"][0].removesuffix(".tar")]


def test_images_share_their_layers_and_the_same_files_make_the_same_archive(tmp_path: Path) -> None:
    two = [an_image("ship:1", a_layer()), an_image("ship:2", a_layer(), a_layer("aye"))]
    first, second = (images.write(tmp_path / name, two, machine="aarch64") for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert len([name for name in read(first) if name.endswith(".tar")]) == 2


def test_a_layer_holds_files_and_links_with_their_modes() -> None:
    with tarfile.open(fileobj=io.BytesIO(a_layer().content)) as archive:
        script, shell = archive.getmembers()
    assert (script.name, script.mode, script.mtime) == ("play/driver", 0o755, 0)
    assert (shell.issym(), shell.linkname) == (True, "busybox")


def test_the_driver_manager_is_told_every_row_that_world_plays() -> None:
    told = [line.split() for line in playing.rows().splitlines()]
    rows = neighbours.DRIVER_MANAGER
    assert told == [[row.when.name, row.does.name, *row.needs] for row in rows]
    script = (images.PLAY / "driver-manager").read_text()
    assert all(f"{deed.name}() {{" in script for deed in neighbours.Deed), "a deed that the container cannot do"
    assert playing.shipped() == "ENABLE_GPU_POD_EVICTION=true\nENABLE_AUTO_DRAIN=false\n"
