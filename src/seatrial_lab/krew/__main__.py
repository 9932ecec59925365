"""`make krew`: build the archives of the kubectl plugin, and fill the manifest in where it is known who serves them."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from seatrial_lab.image import build, shelf
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.krew import archive, manifest

OUT: Final = build.CHECKOUT / "dist" / "krew"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build everything, and print the checksums."""
    parser = argparse.ArgumentParser(prog="make krew", description="Build the kubectl plugin for krew.")
    parser.add_argument("--release-url", default="", metavar="URL", help="where the archives will be downloaded from")
    parser.add_argument("--homepage", default="", metavar="URL", help="of the project, for krew's users")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="where it is written (dist/krew)")
    args = parser.parse_args(arguments)
    try:
        _make(args.out, args.release_url, args.homepage)
    except ImageFailure as err:
        print(f"make krew: {err}", file=sys.stderr)
        return 1
    return 0


def _make(out: Path, release_url: str, homepage: str) -> None:
    store, source = shelf.Shelf(folder=shelf.cache_folder(), say=build.say_on_stderr), build.source_of()
    out.mkdir(parents=True, exist_ok=True)
    version, archives = "", {}
    for architecture in archive.ARCHITECTURES:
        version, content = archive.pack(architecture, source, store)
        archives[architecture] = content
        at = out / archive.file_name(version, architecture)
        at.write_bytes(content)
        print(f"{at}  sha256:{hashlib.sha256(content).hexdigest()}  {len(content) / 1e6:.1f} MB")
    if not release_url:
        print(
            "No manifest: RELEASE_URL=… and HOMEPAGE=… say where a release is, and there is none yet.", file=sys.stderr
        )
        return
    text = manifest.filled(version, archives, release_url=release_url, homepage=homepage)
    (out / "seatrial.yaml").write_text(text, encoding="utf-8")
    print(out / "seatrial.yaml")


if __name__ == "__main__":
    sys.exit(main())
