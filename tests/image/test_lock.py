"""The lock of Debian's packages: it fits the recipe, and can be read back."""

from __future__ import annotations

import re

import pytest

from seatrial_lab.image import bytecode, lock, recipe


@pytest.mark.parametrize("architecture", recipe.MACHINES)
def test_everything_the_recipe_asks_for_is_locked_and_nothing_it_leaves_out(architecture: str) -> None:
    names = {package.name for package in lock.load().packages[architecture]}
    assert recipe.PACKAGES.keys() <= names, "run `python -m seatrial_lab.image.locking`"
    assert names & recipe.LEFT_OUT.keys() == set()
    assert set(bytecode.INTERPRETER) <= names


def test_both_architectures_have_the_same_packages_for_themselves() -> None:
    packages = lock.load().packages
    assert set(packages) == set(recipe.MACHINES)
    assert len({tuple(package.name for package in listed) for listed in packages.values()}) == 1
    for architecture, listed in packages.items():
        assert {package.architecture for package in listed} <= {architecture, "all"}
        assert all(re.fullmatch("[0-9a-f]{64}", package.sha256) for package in listed)


def test_the_file_is_what_locking_writes() -> None:
    assert lock.write(lock.load()) == lock.FILE.read_text(encoding="utf-8")


def test_a_package_is_asked_for_at_the_mirror_and_then_where_old_ones_are_kept() -> None:
    locked = lock.load()
    git = next(package for package in locked.packages["amd64"] if package.name == "git")
    near, far = locked.urls(git, "http://mirror.example")
    assert near == f"http://mirror.example/{git.archive}/{git.path}"
    assert far == f"https://snapshot.debian.org/archive/{git.archive}/{locked.as_of:%Y%m%dT%H%M%SZ}/{git.path}"
