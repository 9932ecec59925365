"""Puts an image together: `python -m seatrial_lab.image.build`, which is `make image` and `make image-probes`.

    Debian's packages      a layer that changes with debian.lock.json
    the locked wheels      a layer that changes with uv.lock
    seatrial               a layer that changes with every commit: all that a node pulls for a new release of ours

The two below are as old as the lock, the last one as old as the commit (SOURCE_DATE_EPOCH).
Tests: tests/image/test_image.py, tests/image/test_running.py
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from seatrial.cli.run import progress
from seatrial_lab.image import bytecode, debs, files, lock, oci, recipe, sbom, shelf, system, wheels
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.image.files import Part, Tree
from seatrial_lab.image.recipe import CONTROLLER, RECIPES, Recipe
from seatrial_lab.image.shelf import Shelf, Wanted

CHECKOUT: Final = Path(__file__).resolve().parents[3]
OUT: Final = CHECKOUT / "dist" / "image"
INSIDE: Final = (
    *("src/seatrial", "charts/gpu-operator-post", "src/seatrial_lab/image"),
    *("uv.lock", "pyproject.toml", "README.md", "LICENSE"),
)
"""What of a checkout decides about the image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What an image is made of: which commit, and when it was written."""

    revision: str
    when: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """An image with everything that is told of it."""

    title: str
    image: oci.Image
    version: str
    archive: bytes
    sbom: str

    @property
    def stem(self) -> str:
        return f"{self.title}-{self.version}-{self.image.architecture}"


def build(one: Recipe, architecture: str, source: Source, store: Shelf, *, name: str = "") -> Built:
    """An image of this checkout for one architecture."""
    locked = lock.load()
    own, content = wheels.build_own(CHECKOUT, int(source.when.timestamp()))
    debian = _debian(locked.packages[architecture], locked, store)
    python = _python(one, architecture, store)
    ours = wheels.unpack(own, content, architecture)
    base = files.merge(part.tree for part in debian)
    with tempfile.TemporaryDirectory(prefix="seatrial-image-") as folder:
        bytecode.lay_out(debian if architecture == bytecode.host() else _compiler(locked, store), Path(folder))

        def layer(
            made_by: str, *trees: Tree, when: datetime = locked.as_of, press: oci.Press = store.press
        ) -> oci.Layer:
            with progress.doing(f"packing the layer of {made_by} for {architecture}"):
                tree = files.merge(trees)
                whole = {**tree, **bytecode.compiled(tree, Path(folder))}
                return oci.layer(whole, when=when, made_by=made_by, pressed_by=press)

        layers = (
            layer("Debian's packages", base, system.made_from(base)),
            layer("the locked wheels", wheels.environment(), *(part.tree for part in python)),
            # Small, and another one at every commit: not worth keeping.
            layer("seatrial", wheels.scripts(content, one.programs), ours.tree, when=source.when, press=oci.press),
        )
    image = oci.image(one, architecture, layers, when=source.when, labels=_labels(one, own.version, source))
    return Built(
        title=one.title,
        image=image,
        version=own.version,
        archive=oci.archive(image, name=name or one.name, tag=own.version, when=source.when),
        sbom=sbom.write(one.title, image, (*debian, *python, ours), version=own.version, when=source.when),
    )


def _compiler(locked: lock.Lock, store: Shelf) -> tuple[Part, ...]:
    """The image's Python as this machine can run it."""
    needed = [each for each in locked.packages[bytecode.host()] if each.name in bytecode.INTERPRETER]
    return _debian(needed, locked, store)


def _debian(packages: Iterable[lock.Package], locked: lock.Lock, store: Shelf) -> tuple[Part, ...]:
    mirror = os.environ.get("SEATRIAL_DEBIAN_MIRROR", lock.MIRROR).rstrip("/")
    parts = []
    for package in packages:
        wanted = Wanted(name=package.path.rsplit("/", 1)[-1], sha256=package.sha256, urls=locked.urls(package, mirror))
        parts.append(debs.unpack(package, store.get(wanted), f"{lock.MIRROR}/{package.archive}/{package.path}"))
    return tuple(parts)


def _python(one: Recipe, architecture: str, store: Shelf) -> tuple[Part, ...]:
    text = (CHECKOUT / "uv.lock").read_text(encoding="utf-8")
    chosen = wheels.chosen(text, architecture, extra=one.extra)
    wanted = {wheel: Wanted(name=wheel.file, sha256=wheel.sha256, urls=(wheel.url,)) for wheel in chosen}
    return tuple(wheels.unpack(wheel, store.get(each), architecture) for wheel, each in wanted.items())


def _labels(one: Recipe, version: str, source: Source) -> dict[str, str]:
    return {
        "org.opencontainers.image.title": one.title,
        "org.opencontainers.image.description": one.says,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": source.revision,
    }


def source_of(checkout: Path = CHECKOUT) -> Source:
    """The commit that is checked out, and its time, which SOURCE_DATE_EPOCH replaces."""
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    if said and not said.isdecimal():
        raise ImageFailure(f"SOURCE_DATE_EPOCH is {said!r}, and has to be a number of seconds.")
    revision, _, seconds = _git(checkout, "log", "-1", "--format=%H %ct").partition(" ")
    if not (said or seconds):
        raise ImageFailure(f"{checkout} is no Git checkout, so nobody knows how old it is. Set SOURCE_DATE_EPOCH.")
    changed = _git(checkout, "status", "--porcelain", "--", *INSIDE)
    return Source(
        revision=(revision or "unknown") + ("-changed" if changed else ""),
        when=datetime.fromtimestamp(int(said or seconds), UTC),
    )


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", checkout, *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def say_on_stderr(line: str) -> None:
    """Show one line of what is done."""
    progress.say(line)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what is asked for, and print the digests."""
    parser = argparse.ArgumentParser(prog="make image", description="Build an image of this checkout.")
    parser.add_argument("image", nargs="?", choices=RECIPES, default=CONTROLLER.title, help="which one (%(default)s)")
    parser.add_argument("--arch", choices=recipe.MACHINES, action="append", help="for this architecture (all)")
    parser.add_argument("--name", default="", help="how the image is called (localhost/IMAGE)")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="where it is written (dist/image)")
    args = parser.parse_args(arguments)
    store = Shelf(folder=shelf.cache_folder(), say=say_on_stderr)
    try:
        source = source_of()
        args.out.mkdir(parents=True, exist_ok=True)
        for architecture in args.arch or recipe.MACHINES:
            with progress.doing(f"building {args.image} for {architecture}"):
                built = build(RECIPES[args.image], architecture, source, store, name=args.name)
            (args.out / f"{built.stem}.tar").write_bytes(built.archive)
            (args.out / f"{built.stem}.spdx.json").write_text(built.sbom, encoding="utf-8")
            print(f"{args.out / built.stem}.tar  {built.image.digest}  {built.image.size / 1e6:.1f} MB")
    except ImageFailure as err:
        print(f"make image: {err}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
