"""Containerfiles, for people who build with docker, say the same as the recipes that `make image` follows."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from seatrial_lab.image import recipe, system, wheels
from seatrial_lab.image.recipe import Recipe

ROOT: Final = Path(__file__).resolve().parents[2]
CONTROLLER: Final = "Containerfile"
PROBES: Final = "Containerfile.probes"
OF: Final = {CONTROLLER: recipe.CONTROLLER, PROBES: recipe.PROBES}
ANY: Final = pytest.mark.parametrize(("file", "one"), OF.items(), ids=OF)


def stages(file: str) -> list[list[tuple[str, str]]]:
    """The instructions of each stage, continued lines joined; what stands before the first is left out."""
    text = re.sub(r"^#.*\n", "", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = [line.split(None, 1) for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]
    found: list[list[tuple[str, str]]] = []
    for word, rest in lines:
        if word == "FROM":
            found.append([])
        if found:
            found[-1].append((word, rest))
    return found


def said(file: str, word: str) -> str:
    """What the last stage says by one instruction."""
    (rest,) = [rest for each, rest in stages(file)[-1] if each == word]
    return rest


def script(stage: list[tuple[str, str]]) -> str:
    return " ".join(rest for word, rest in stage if word == "RUN")


def environment(file: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(said(file, "ENV")))


@ANY
def test_it_has_the_same_user_and_command(file: str, one: Recipe) -> None:
    assert said(file, "USER") == f"{recipe.USER}:{recipe.USER}"
    assert json.loads(said(file, "ENTRYPOINT")) == list(one.entrypoint)
    assert json.loads(said(file, "CMD")) == list(one.command)


@ANY
def test_what_it_copies_exists(file: str, one: Recipe) -> None:
    assert one
    copied = [rest.split()[:-1] for word, rest in stages(file)[0] if word == "COPY"]
    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []


# ── the controller ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_it_installs_the_packages_of_the_recipe() -> None:
    commands = re.findall(r"apt-get install ([^&]+)", script(stages(CONTROLLER)[-1]))
    installed = {name for command in commands for name in command.split() if not name.startswith("-")}
    assert installed == recipe.PACKAGES.keys()


def test_it_has_the_same_environment_and_port() -> None:
    assert environment(CONTROLLER) == recipe.CONTROLLER.environment
    assert said(CONTROLLER, "EXPOSE") == f"{recipe.CONTROLLER.port}/tcp"


def test_it_writes_the_same_user() -> None:
    assert f'"{recipe.USER_NAME}:x:{system.IDS}::/tmp:{system.SHELL}"' in script(stages(CONTROLLER)[-1])


def test_it_takes_the_locked_wheels_and_our_code_into_the_same_place() -> None:
    built = " ".join(rest for _, rest in stages(CONTROLLER)[0])
    assert "uv sync --quiet --frozen --no-dev --no-editable" in built
    assert f"UV_PROJECT_ENVIRONMENT={recipe.HOME}" in built
    assert said(CONTROLLER, "COPY") == f"--from=build {recipe.HOME} {recipe.HOME}"


def test_both_are_the_same_debian_and_python() -> None:
    assert {rest.split()[0] for stage in stages(CONTROLLER) for word, rest in stage if word == "FROM"} == {
        "docker.io/library/debian:bookworm-slim"
    }
    assert f"python{wheels.PYTHON}-minimal" in recipe.PACKAGES


# ── the payloads ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_payloads_go_into_whatever_image_is_named() -> None:
    assert said(PROBES, "FROM") == "${BASE}"
    before, _, _ = (ROOT / PROBES).read_text(encoding="utf-8").partition("\nFROM")
    assert re.search(r"^ARG BASE=\S+$", before, re.MULTILINE)


def test_payloads_bring_what_is_locked_and_replace_nothing() -> None:
    text = (ROOT / "uv.lock").read_text(encoding="utf-8")
    locked = wheels.chosen(text, "amd64", extra=recipe.PROBES.extra)
    wanted = script(stages(PROBES)[0]).rpartition("--wheel-dir /wheels")[2].split()
    assert wanted == [f"{wheel.name}=={wheel.version}" for wheel in locked]
    assert "--no-deps --no-index" in script(stages(PROBES)[-1])


def test_payloads_have_the_same_environment_but_for_the_paths_of_the_image_they_are_in() -> None:
    assert environment(PROBES).items() <= recipe.PROBES.environment.items()
    assert recipe.PROBES.environment.keys() - environment(PROBES).keys() == {"PATH", "LANG"}
