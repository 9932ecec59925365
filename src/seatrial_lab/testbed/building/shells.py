"""Gets zsh and fish, to press Tab in: unpacked from Debian's packages into our cache, with what they need to start.

    $XDG_CACHE_HOME/seatrial/testbed/zsh-<version>/     zsh with its modules and functions
    $XDG_CACHE_HOME/seatrial/testbed/fish-<version>/    fish with its functions and the library it is linked to

A shell is spread over packages that belong together, so they lie in one folder here. Any version will do for us. How a
package is fetched is in debian.py. Tests: tests/cli/test_plugin_live.py
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build, debian, toolchain


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """A shell, the packages it is made of, and where they put it."""

    packages: tuple[str, ...]
    program: str
    question: tuple[str, ...] = ("--version",)

    @property
    def name(self) -> str:
        return self.packages[0]


ZSH: Final = Shell(packages=("zsh", "zsh-common"), program="bin/zsh")
FISH: Final = Shell(packages=("fish", "fish-common", "libpcre2-32-0"), program="usr/bin/fish")


def unpacked(shell: Shell, *, cache: Path | None = None, say: build.Say = build.say_on_stderr) -> Path:
    """Return the folder a shell lies in, fetching it where the cache has none that runs."""
    shelf = cache or toolchain.cache_folder()
    if (found := _cached(shelf, shell)) is not None:
        return found
    shelf.mkdir(parents=True, exist_ok=True)
    with build.lock(shelf / f"{shell.name}.lock", f"fetches {shell.name} into", say=say):
        return _cached(shelf, shell) or _fetch(shelf, shell, say)  # another run may have fetched it meanwhile


def libraries(home: Path) -> str:
    """What LD_LIBRARY_PATH has to be for a shell in that folder."""
    return ":".join(str(folder) for folder in sorted(home.glob("usr/lib/*-linux-gnu")))


def _cached(shelf: Path, shell: Shell) -> Path | None:
    found = sorted(shelf.glob(f"{shell.name}-[0-9]*"))
    return next((home for home in found if _is_whole(home, shell)), None)


def _is_whole(home: Path, shell: Shell) -> bool:
    return debian.runs(home / shell.program, shell.question, {"LD_LIBRARY_PATH": libraries(home)})


def _fetch(shelf: Path, shell: Shell, say: build.Say) -> Path:
    def missing(why: str) -> errors.PartMissing:
        return errors.PartMissing(
            f"The shell {shell.name} is not in the cache, and {why}. Where there is apt, `apt-get update` may be all "
            "that is missing."
        )

    say(f"Fetching {shell.name} from Debian's packages (once, not installed) into {shelf}")
    with debian.brought(shell.name, shelf, missing) as (folder, version):
        for package in shell.packages[1:]:
            with debian.brought(package, shelf, missing) as (part, _):
                shutil.copytree(part, folder, symlinks=True, dirs_exist_ok=True)
        if not _is_whole(folder, shell):
            raise missing(f"its {shell.program} does not run here")
        home = shelf / f"{shell.name}-{version}"
        shutil.rmtree(home, ignore_errors=True)  # of one that was cut short
        folder.replace(home)
    return home
