"""Containerfile, for people who build with docker, says the same as the recipe that `make image` follows."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Final

from seatrial_lab.image import recipe, system, wheels

ROOT: Final = Path(__file__).resolve().parents[2]


def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = [line.split(None, 1) for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]
    found: list[list[tuple[str, str]]] = []
    for word, rest in lines:
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


def said(word: str) -> str:
    """What the last stage says by one instruction."""
    (rest,) = [rest for each, rest in stages()[-1] if each == word]
    return rest


def installed(stage: list[tuple[str, str]]) -> set[str]:
    script = " ".join(rest for word, rest in stage if word == "RUN")
    commands = re.findall(r"apt-get install ([^&]+)", script)
    return {name for command in commands for name in command.split() if not name.startswith("-")}


def test_it_installs_the_packages_of_the_recipe() -> None:
    assert installed(stages()[-1]) == recipe.PACKAGES.keys()


def test_it_has_the_same_user_command_environment_and_port() -> None:
    assert said("USER") == f"{recipe.USER}:{recipe.USER}"
    assert json.loads(said("ENTRYPOINT")) == list(recipe.ENTRYPOINT)
    assert json.loads(said("CMD")) == list(recipe.COMMAND)
    assert dict(word.split("=", 1) for word in shlex.split(said("ENV"))) == recipe.ENVIRONMENT
    assert said("EXPOSE") == f"{recipe.PORT}/tcp"


def test_it_writes_the_same_user() -> None:
    script = " ".join(rest for word, rest in stages()[-1] if word == "RUN")
    assert f'"{recipe.USER_NAME}:x:{system.IDS}::/tmp:{system.SHELL}"' in script


def test_it_takes_the_locked_wheels_and_our_code_into_the_same_place() -> None:
    script = " ".join(rest for _, rest in stages()[0])
    assert "uv sync --quiet --frozen --no-dev --no-editable" in script
    assert f"UV_PROJECT_ENVIRONMENT={recipe.HOME}" in script
    assert said("COPY") == f"--from=build {recipe.HOME} {recipe.HOME}"


def test_what_it_copies_exists() -> None:
    copied = [rest.split()[:-1] for word, rest in stages()[0] if word == "COPY"]
    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []


def test_both_are_the_same_debian_and_python() -> None:
    assert {rest.split()[0] for stage in stages() for word, rest in stage if word == "FROM"} == {
        "docker.io/library/debian:bookworm-slim"
    }
    assert f"python{wheels.PYTHON}-minimal" in recipe.PACKAGES
