"""Builds the programs of the testbed once and keeps them outside the checkout, by version.

    $XDG_CACHE_HOME/seatrial/testbed/<recipe>-<version>-<fingerprint>/
        lock             held while building, so that two runs do not build at once
        manifest.json    the size of every finished program; what does not fit is built again
        bin/             the programs

What is built is written in the go.mod files beside this one (`tool` lines); nothing is vendored. The one program of our
own among them has its source there, too.
Tests: tests/testbed/test_build.py.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seatrial.cli.run import progress
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import toolchain

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One Go module of ours, and the module it builds programs from."""

    name: str
    folder: Path
    module: str
    usual_duration: str
    stamps_kubernetes_version: bool = False
    tags: tuple[str, ...] = ()
    is_with_c: bool = False
    """Whether a part of it is written in C, and a compiler for that is needed."""

    @property
    def version(self) -> str:
        """The version of the built module, as go.mod pins it."""
        found = re.search(rf"^\s*(?:require\s+)?{re.escape(self.module)}\s+(v\S+)", self._go_mod(), re.MULTILINE)
        if found is None:
            raise errors.BuildFailed(f"{self.folder / 'go.mod'} requires no {self.module}.")
        return found[1]

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages to build: the `tool` lines of go.mod."""
        single = re.findall(r"^tool\s+([^\s(]+)", self._go_mod(), re.MULTILINE)
        blocks = re.findall(r"^tool\s*\(([^)]*)\)", self._go_mod(), re.MULTILINE)
        return (*single, *(line.strip() for block in blocks for line in block.splitlines() if line.strip()))

    @property
    def linker_flags(self) -> str:
        """What the linker is told: no debug tables, and for Kubernetes the version it reports."""
        flags = ["-s", "-w"]
        if self.stamps_kubernetes_version:
            major, minor, _ = self.version.removeprefix("v").split(".", 2)
            stamps = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor}
            packages = (
                "k8s.io/component-base/version",
                "k8s.io/client-go/pkg/version",
            )  # what it serves, what it calls itself
            flags += [f"-X {package}.{name}={value}" for package in packages for name, value in stamps.items()]
        return " ".join(flags)

    @property
    def fingerprint(self) -> str:
        """Everything besides the version that changes the programs."""
        ours = (source.read_text(encoding="utf-8") for source in sorted(self.folder.glob("*.go")))
        parts = (self._go_mod(), self._go_sum(), self.linker_flags, platform.system(), platform.machine(), *ours)
        parts += self.tags
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]

    def _go_mod(self) -> str:
        return (self.folder / "go.mod").read_text(encoding="utf-8")

    def _go_sum(self) -> str:
        sums = self.folder / "go.sum"
        return sums.read_text(encoding="utf-8") if sums.exists() else ""


KUBERNETES: Final = Recipe(
    name="kubernetes",
    folder=toolchain.MODULES / "kubernetes",
    module="k8s.io/kubernetes",
    usual_duration="6 min",
    stamps_kubernetes_version=True,
)
KUBERNETES_OLDEST: Final = Recipe(
    name="kubernetes-oldest",
    folder=toolchain.MODULES / "kubernetes-oldest",
    module="k8s.io/kubernetes",
    usual_duration="6 min",
    stamps_kubernetes_version=True,
)
VARIABLE: Final = "SEATRIAL_KUBERNETES"
"""Which Kubernetes a whole run is about, by the words below; the newest where nothing is said."""
BY_WORD: Final = {"newest": KUBERNETES, "oldest": KUBERNETES_OLDEST}
KUBELET: Final = Recipe(
    name="kubelet",
    folder=toolchain.MODULES / "kubelet",
    module="k8s.io/kubernetes",
    usual_duration="3 min",
    stamps_kubernetes_version=True,
)
DEVICE_PLUGIN: Final = Recipe(
    name="device-plugin", folder=toolchain.MODULES / "device-plugin", module="k8s.io/kubelet", usual_duration="20 s"
)
KWOK: Final = Recipe(name="kwok", folder=toolchain.MODULES / "kwok", module="sigs.k8s.io/kwok", usual_duration="2 min")
GPU_OPERATOR: Final = Recipe(
    name="gpu-operator",
    folder=toolchain.MODULES / "gpu-operator",
    module="github.com/NVIDIA/gpu-operator",
    usual_duration="5 min",
)
ARGO_CD: Final = Recipe(
    name="argo-cd",
    folder=toolchain.MODULES / "argo-cd",
    module="github.com/argoproj/argo-cd/v3",
    usual_duration="5 min",
)
GITEA: Final = Recipe(
    name="gitea",
    folder=toolchain.MODULES / "gitea",
    module="code.gitea.io/gitea",
    usual_duration="8 min",
    tags=("sqlite", "sqlite_unlock_notify"),
    is_with_c=True,
)
KSTATUS: Final = Recipe(
    name="kstatus",
    folder=toolchain.MODULES / "kstatus",
    module="github.com/fluxcd/cli-utils",
    usual_duration="1 min",
)
FLUX: Final = Recipe(
    name="flux",
    folder=toolchain.MODULES / "flux",
    module="github.com/fluxcd/kustomize-controller",
    usual_duration="8 min",
)
FLUX_NOTIFICATION: Final = Recipe(
    name="flux-notification",
    folder=toolchain.MODULES / "flux-notification",
    module="github.com/fluxcd/notification-controller",
    usual_duration="4 min",
)
HELMFILE: Final = Recipe(
    name="helmfile",
    folder=toolchain.MODULES / "helmfile",
    module="github.com/helmfile/helmfile",
    usual_duration="8 min",
)
HELM_DIFF: Final = Recipe(
    name="helm-diff",
    folder=toolchain.MODULES / "helm-diff",
    module="github.com/databus23/helm-diff/v3",
    usual_duration="3 min",
)


def say_on_stderr(line: str) -> None:
    """Show one line of what is done."""
    progress.say(line)


def kubernetes() -> Recipe:
    """Return the Kubernetes that this run is about."""
    word = os.environ.get(VARIABLE) or "newest"
    if word not in BY_WORD:
        raise errors.PartMissing(f"{VARIABLE} is {word!r}, and has to be one of {', '.join(BY_WORD)}.")
    return BY_WORD[word]


def control_plane(*, say: Say = say_on_stderr) -> dict[str, Path]:
    """Return the programs of the control plane and kwok by name, building what is missing."""
    return build(kubernetes(), say=say) | build(KWOK, say=say)


def real_node(*, say: Say = say_on_stderr) -> dict[str, Path]:
    """Return what a real node runs beside Debian's programs, building what is missing."""
    return build(KUBELET, say=say) | build(DEVICE_PLUGIN, say=say)


def gpu_operator(*, say: Say = say_on_stderr) -> Path:
    """Return the GPU Operator, building it where it is missing."""
    return build(GPU_OPERATOR, say=say)["gpu-operator"]


def argo_cd(*, say: Say = say_on_stderr) -> Path:
    """Return Argo CD, building it where it is missing: one program, each of its parts by ARGOCD_BINARY_NAME."""
    return build(ARGO_CD, say=say)["cmd"]


def gitea(*, say: Say = say_on_stderr) -> Path:
    """Return Gitea, building it where it is missing."""
    return build(GITEA, say=say)["gitea"]


def kstatus(*, say: Say = say_on_stderr) -> Path:
    """Return the program that says what kstatus makes of objects, building it where it is missing."""
    return build(KSTATUS, say=say)["kstatus"]


def flux(*, say: Say = say_on_stderr) -> dict[str, Path]:
    """Return the controllers of Flux by name, building what is missing."""
    return build(FLUX, say=say) | build(FLUX_NOTIFICATION, say=say)


def helmfile(*, say: Say = say_on_stderr) -> tuple[Path, Path]:
    """Return helmfile and the plugin of helm that tells it what differs, building what is missing."""
    return build(HELMFILE, say=say)["helmfile"], build(HELM_DIFF, say=say)["v3"]


def build(recipe: Recipe, *, cache: Path | None = None, say: Say = say_on_stderr) -> dict[str, Path]:
    """Return the programs of a recipe by name, building those the cache does not hold whole."""
    home = _home(recipe, cache or toolchain.cache_folder())
    names = [_program_name(package) for package in recipe.packages]
    if not _missing(home, names):
        return {name: home / "bin" / name for name in names}
    (home / "bin").mkdir(parents=True, exist_ok=True)
    with lock(home / "lock", "builds in", say=say):
        missing = _missing(home, names)  # another run may have built them while we waited
        if missing:
            _build_missing(recipe, home, missing, say)
    return {name: home / "bin" / name for name in names}


def _home(recipe: Recipe, cache: Path) -> Path:
    return cache / f"{recipe.name}-{recipe.version}-{recipe.fingerprint}"


def _program_name(package: str) -> str:
    return package.rsplit("/", 1)[-1]


def _missing(home: Path, names: Sequence[str]) -> list[str]:
    sizes = _read_manifest(home)
    return [name for name in names if not _is_whole(home / "bin" / name, sizes.get(name))]


def _is_whole(program: Path, size: int | None) -> bool:
    return size is not None and program.is_file() and os.access(program, os.X_OK) and program.stat().st_size == size


def _read_manifest(home: Path) -> dict[str, int]:
    try:
        sizes = json.loads((home / "manifest.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}  # no manifest or half of one: nothing here can be trusted
    return sizes if isinstance(sizes, dict) else {}


def _write_manifest(home: Path, sizes: dict[str, int]) -> None:
    fresh = home / "manifest.json.new"
    fresh.write_text(json.dumps(sizes, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(home / "manifest.json")


@contextlib.contextmanager
def lock(path: Path, doing: str, *, say: Say) -> Iterator[None]:
    """Be the only run that does this; another one is waited for."""
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Another run {doing} {path.parent}; waiting for it.")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build_missing(recipe: Recipe, home: Path, missing: Sequence[str], say: Say) -> None:
    go = toolchain.find_go()
    say(
        f"Building {recipe.name} {recipe.version}: {len(missing)} of {len(recipe.packages)} programs, once per version "
        f"(about {recipe.usual_duration} on 2 cores with a cold cache) into {home}"
    )
    wanted = [package for package in recipe.packages if _program_name(package) in missing]
    for position, package in enumerate(wanted, start=1):
        _build_one(recipe, go, home, package, f"{_program_name(package)} ({position} of {len(wanted)})", say)


def _build_one(recipe: Recipe, go: Path, home: Path, package: str, label: str, say: Say) -> None:
    """Build under a temporary name, rename, then note the size: a killed build leaves nothing that looks finished."""
    program = home / "bin" / _program_name(package)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=home) as workshop:
        fresh = Path(workshop) / program.name
        command: list[str | Path] = [
            go,
            "build",
            "-buildvcs=false",
            "-trimpath",
            "-ldflags",
            recipe.linker_flags,
            *(("-tags", ",".join(recipe.tags)) if recipe.tags else ()),
            "-o",
            fresh,
            package,
        ]
        environment = toolchain.go_environment() | ({"CGO_ENABLED": "1"} if recipe.is_with_c else {})
        seconds = _run_showing_progress(command, cwd=recipe.folder, environment=environment, label=label)
        fresh.replace(program)
    _write_manifest(home, _read_manifest(home) | {program.name: program.stat().st_size})
    say(f"  built {label} in {seconds:.0f} s")


def _run_showing_progress(
    command: Sequence[str | Path], *, cwd: Path, environment: Mapping[str, str], label: str
) -> float:
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdout=output, stderr=subprocess.STDOUT, text=True
        )
        try:
            with progress.doing(f"building {label}"):
                code = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        if code != 0:
            output.seek(0)
            last = "\n".join(output.read().splitlines()[-20:])
            raise errors.BuildFailed(f"go could not build {label} in {cwd}:\n{last}")
    return time.monotonic() - began
