"""Chromium, to look at pages with: the one on the PATH or in $CHROMIUM, else Debian's, unpacked into our cache.

    $XDG_CACHE_HOME/seatrial/testbed/chromium-<version>/    the browser, its libraries and fonts, as they lie under /

Law of this file: nothing is installed. Debian says which packages the browser lacks on this machine; they are unpacked
beside each other, and the browser is told where its libraries are. About 400 MB. Tests: tests/cli/page_in_a_browser.py
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build, debian, toolchain

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
VARIABLE: Final = "CHROMIUM"
WANTED: Final = ("chromium", "fonts-dejavu-core", "fonts-liberation")
PROGRAM: Final = "usr/lib/chromium/chromium"
LIBRARIES: Final = ("usr/lib/*-linux-gnu", "usr/lib/*-linux-gnu/pulseaudio", "usr/lib/chromium")
FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
    *("--allow-file-access-from-files", "--hide-scrollbars"),
)
SECONDS: Final = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """A browser that runs, and what it has to be told."""

    program: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, is_dark: bool = False) -> subprocess.CompletedProcess[str]:
        """Have it open something, by day or by night."""
        scheme = f"--blink-settings=preferredColorScheme={0 if is_dark else 1}"
        return subprocess.run(
            [self.program, *FLAGS, scheme, *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=os.environ | self.environment,
            check=False,
        )

    def shoot(self, page: Path, picture: Path, *, width: int, height: int, is_dark: bool) -> None:
        """Write a picture of a page in a window of this width."""
        # In a frame: a window of its own is never narrower than 500 pixels.
        with tempfile.TemporaryDirectory() as folder:
            frame, shot = Path(folder) / "frame.html", Path(folder) / "shot.png"
            body = f'<iframe src="{page.as_uri()}" width="{width}" height="{height}" style="border:0"></iframe>'
            frame.write_text(f"<!doctype html><style>body{{margin:0}}</style>{body}", encoding="utf-8")
            size = f"--window-size={max(width, 520)},{height}"
            done = self.run(f"--screenshot={shot}", size, frame.as_uri(), is_dark=is_dark)
            if not shot.exists():
                raise errors.PartMissing(f"The browser made no picture of {page.name}: {done.stderr[-500:]}")
            shutil.move(shot, picture)


def chromium(*, say: build.Say = build.say_on_stderr) -> Browser:
    """A browser of this machine, or one that is fetched."""
    found = os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, NAMES)), "")
    if found:
        return Browser(program=Path(found))
    shelf = toolchain.cache_folder()
    kept = _kept(shelf)
    if kept is not None:
        return kept
    shelf.mkdir(parents=True, exist_ok=True)
    with build.lock(shelf / "chromium.lock", "fetches Chromium into", say=say):
        return _kept(shelf) or _fetched(shelf, say)


def _kept(shelf: Path) -> Browser | None:
    browsers = (_in(folder) for folder in sorted(shelf.glob("chromium-[0-9]*")))
    return next((each for each in browsers if debian.runs(each.program, ("--version",), each.environment)), None)


def _in(folder: Path) -> Browser:
    libraries = ":".join(str(place) for pattern in LIBRARIES for place in folder.glob(pattern))
    return Browser(program=folder / PROGRAM, environment={"LD_LIBRARY_PATH": libraries})


def _fetched(shelf: Path, say: build.Say) -> Browser:
    names = _lacking()
    say(f"Fetching Chromium and {len(names) - 1} packages it needs (once, not installed) into {shelf}")
    home = shelf / "chromium-0"
    with tempfile.TemporaryDirectory(prefix=".fetching-chromium-", dir=shelf) as workshop:
        unpacked = Path(workshop) / "unpacked"
        unpacked.mkdir()
        for name in names:
            with debian.brought(name, shelf, _missing) as (folder, version):
                if name == WANTED[0]:
                    home = shelf / f"chromium-{version}"
                shutil.copytree(folder, unpacked, symlinks=True, dirs_exist_ok=True)
        made = _in(unpacked)
        if not debian.runs(made.program, ("--version",), made.environment):
            raise _missing("it does not run with the libraries that Debian names")
        shutil.rmtree(home, ignore_errors=True)
        unpacked.replace(home)
    return _in(home)


def _lacking() -> Sequence[str]:
    """What Debian would install for the browser on this machine; nothing of it is."""
    if shutil.which("apt-get") is None:
        raise _missing("this machine has no apt-get to fetch it with")
    asked = ["apt-get", "install", "--simulate", "--no-install-recommends", *WANTED]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=debian.FETCH_SECONDS, check=False)
    names = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("Inst ")]
    if WANTED[0] not in names:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise _missing(f"apt-get names no package of it: {last}")
    return names


def _missing(why: str) -> errors.PartMissing:
    return errors.PartMissing(
        f"There is no browser here, and {why}. Install chromium, or name one in {VARIABLE}. "
        "Where there is apt, `apt-get update` may be all that is missing."
    )
