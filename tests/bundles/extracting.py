"""What a deployer would do with a bundle, read from its files alone.

Law of this file: nothing of seatrial is imported. It reads what helm, helmfile, kustomize and Argo CD read, so that a
mistake in what writes bundles cannot be made here again.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seatrial_lab.testbed.building import build
from seatrial_lab.testbed.neighbours.operator_chart import find_helm

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One release, as its deployer would make it."""

    name: str
    namespace: str
    chart: Path | tuple[str, str, str]
    """A folder of the repository; or repository, name and version."""
    values: tuple[Object, ...]
    """In the order in which they are laid over each other."""
    timeout_seconds: int | None
    """None where the deployer waits for as long as the hook takes."""
    before: frozenset[str]
    """The releases that come first, all the way."""
    runs_hooks: bool
    retries: int
    """How often the deployer takes it back and tries again by itself."""
    watched: tuple[Any, ...]
    """What its deployer compares to know whether there is something to do, besides what is rendered."""


def extracted(deployer: str, root: Path, path: str) -> dict[str, Extracted]:
    """The releases of a bundle that is in the folder `path` of the repository at `root`."""
    return {each.name: each for each in EXTRACTORS[deployer](root, root / path)}


# ── helm ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_helm(_root: Path, bundle: Path) -> list[Extracted]:
    found: list[Extracted] = []
    for script in re.findall(r'^"\$here/(.+?)"', (bundle / "deploy.sh").read_text(), re.MULTILINE):
        text = (bundle / script).read_text().replace("\\\n", " ")
        (call,) = [line for line in text.splitlines() if line.startswith("helm upgrade ")]
        words = shlex.split(call)
        assert words[:3] == ["helm", "upgrade", "--install"]
        name, chart = words[3:5]
        folder = (bundle / script).parent
        found.append(
            Extracted(
                name=name,
                namespace=_flag(words, "--namespace"),
                chart=_chart_of(folder, chart, _flag(words, "--repo"), _flag(words, "--version")),
                values=tuple(_yaml(folder / words[at + 1]) for at, word in enumerate(words) if word == "--values"),
                timeout_seconds=_seconds(_flag(words, "--timeout")),
                before=frozenset(each.name for each in found),
                runs_hooks="--no-hooks" not in words,
                retries=int("--atomic" in words),
                watched=(),
            )
        )
    return found


def _flag(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1] if flag in words else ""


def _chart_of(folder: Path, chart: str, repository: str, version: str) -> Path | tuple[str, str, str]:
    if chart.startswith("."):
        return (folder / chart).resolve()
    if chart.startswith("oci://"):
        repository, _, chart = chart.rpartition("/")
    return repository, chart, version


# ── helmfile ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_helmfile(_root: Path, bundle: Path) -> list[Extracted]:
    whole = _yaml(bundle / "helmfile.yaml")
    urls = {each["name"]: each["url"] for each in whole.get("repositories", [])}
    defaults = whole["helmDefaults"]
    needed = {
        each["name"]: [name for _, _, name in (need.partition("/") for need in each.get("needs", []))]
        for each in whole["releases"]
    }
    found = []
    for each in whole["releases"]:
        alias, _, chart = each["chart"].rpartition("/")
        is_far = not each["chart"].startswith(".")
        found.append(
            Extracted(
                name=each["name"],
                namespace=each["namespace"],
                chart=(urls.get(alias, alias), chart, each["version"])
                if is_far
                else (bundle / each["chart"]).resolve(),
                values=tuple(_yaml(bundle / path) for path in each["values"]),
                timeout_seconds=each.get("timeout", defaults["timeout"]),
                before=_all_before(each["name"], needed),
                runs_hooks="--no-hooks" not in [*defaults.get("args", []), *each.get("args", [])],
                retries=int(each.get("atomic", defaults.get("atomic", False))),
                watched=(),
            )
        )
    return found


# ── Flux ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_flux(root: Path, bundle: Path) -> list[Extracted]:
    objects = kustomized(bundle)
    maps = {each["metadata"]["name"]: each["data"] for each in objects if each["kind"] == "ConfigMap"}
    sources = {
        (each["kind"], each["metadata"]["name"]): each["spec"]
        for each in objects
        if each["kind"] in ("HelmRepository", "GitRepository")
    }
    releases = [each for each in objects if each["kind"] == "HelmRelease"]
    needed = {
        each["metadata"]["name"]: [other["name"] for other in each["spec"].get("dependsOn", [])] for each in releases
    }
    return [_of_helm_release(each, root, maps, sources, needed) for each in releases]


def _of_helm_release(
    found: Object,
    root: Path,
    maps: Mapping[str, Mapping[str, str]],
    sources: Mapping[tuple[str, str], Object],
    needed: Mapping[str, list[str]],
) -> Extracted:
    spec, name = found["spec"], found["metadata"]["name"]
    chart = spec["chart"]["spec"]
    source = sources[chart["sourceRef"]["kind"], chart["sourceRef"]["name"]]
    is_git = chart["sourceRef"]["kind"] == "GitRepository"
    place: Path | tuple[str, str, str]
    place = (root / chart["chart"]).resolve() if is_git else (source["url"], chart["chart"], chart["version"])
    texts = [maps[each["name"]][each["valuesKey"]] for each in spec["valuesFrom"]]
    ways = [spec.get(way, {}) for way in ("install", "upgrade")]
    return Extracted(
        name=spec["releaseName"],
        namespace=spec["targetNamespace"],
        chart=place,
        values=(*(yaml.safe_load(text) for text in texts), *([spec["values"]] if "values" in spec else [])),
        timeout_seconds=_seconds(spec["timeout"]),
        before=_all_before(name, needed),
        runs_hooks=not any(each.get("disableHooks") or each.get("disableWait") for each in ways),
        retries=max(each.get("remediation", {}).get("retries", 0) for each in ways),
        watched=(chart.get("reconcileStrategy", "ChartVersion"), *texts),
    )


def kustomized(folder: Path) -> list[Object]:
    """What kustomize makes of a folder."""
    kubectl = shutil.which("kubectl") or build.control_plane()["kubectl"]
    done = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


# ── Argo CD ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_argo_cd(root: Path, bundle: Path) -> list[Extracted]:
    parent = _yaml(bundle / "app-of-apps.yaml")["spec"]["source"]
    assert (root / parent["path"]).resolve() == bundle.resolve()
    assert parent["directory"] == {"recurse": True, "include": "{*/application.yaml,*/repository.yaml}"}
    return _of_applications(map(_yaml, sorted(bundle.glob("*/application.yaml"))), root)


def _of_argo_cd_chart(root: Path, bundle: Path) -> list[Extracted]:
    """The parent chart by the real helm first, then what it made."""
    words: list[str | Path] = [find_helm(), "template", "seatrial-stack", bundle, "--namespace", "argocd"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    made = [each for each in yaml.safe_load_all(done.stdout) if each]
    return _of_applications([each for each in made if each["kind"] == "Application"], root)


def _of_applications(found: Iterable[Object], root: Path) -> list[Extracted]:
    applications = list(found)
    waves = {
        each["metadata"]["name"]: int(each["metadata"].get("annotations", {}).get("argocd.argoproj.io/sync-wave", "0"))
        for each in applications
    }
    return [_of_application(each, waves, root) for each in applications]


def _of_application(found: Object, waves: Mapping[str, int], root: Path) -> Extracted:
    name, spec = found["metadata"]["name"], found["spec"]
    source = spec["source"] if "source" in spec else next(each for each in spec["sources"] if "ref" not in each)
    place: Path | tuple[str, str, str]
    place = (source["repoURL"], source.get("chart", ""), source["targetRevision"])
    if "path" in source:
        place = (root / source["path"]).resolve()
    helm = source["helm"]
    files = [_values_file(each, place, root) for each in helm.get("valueFiles", [])]
    options = spec["syncPolicy"]["syncOptions"]
    return Extracted(
        name=helm.get("releaseName", name),
        namespace=spec["destination"]["namespace"],
        chart=place,
        values=(*map(_yaml, files), *([yaml.safe_load(helm["values"])] if helm.get("values") else [])),
        timeout_seconds=None,
        before=frozenset(each for each, wave in waves.items() if wave < waves[name]),
        # With several sources, or with only what differs being applied, some versions leave hooks out.
        runs_hooks="ApplyOutOfSyncOnly=true" not in options and ("path" not in source or "source" in spec),
        retries=0,
        watched=(),
    )


def _values_file(named: str, place: Path | tuple[str, str, str], root: Path) -> Path:
    if named.startswith("$values/"):
        return root / named.removeprefix("$values/")
    assert isinstance(place, Path), "a file beside the chart, and the chart is far away"
    found = (place / named).resolve()
    assert root.resolve() in found.parents, "Argo CD reads nothing outside of the repository"
    return found


# ── all ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


EXTRACTORS: Mapping[str, Callable[[Path, Path], list[Extracted]]] = {
    "helm": _of_helm,
    "helmfile": _of_helmfile,
    "flux": _of_flux,
    "argocd": _of_argo_cd,
    "argocd-helm": _of_argo_cd_chart,
}


def _yaml(path: Path) -> Object:
    found: Object = yaml.safe_load(path.read_text())
    return found


def _seconds(text: str) -> int:
    assert re.fullmatch(r"[0-9]+s", text), text
    return int(text.removesuffix("s"))


def _all_before(name: str, needed: Mapping[str, list[str]]) -> frozenset[str]:
    found: set[str] = set()
    ahead = list(needed[name])
    while ahead:
        each = ahead.pop()
        if each not in found:
            found.add(each)
            ahead += needed[each]
    return frozenset(found)
