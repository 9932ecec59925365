"""What an API server serves: whether it is new enough for us, and under which version it has a kind.

Law of this file: a kind that is not there under one version may be there under another; only who has asked for all of
them knows that it is missing. Tests: tests/adapters/kube/test_served.py
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import msgspec

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client

OLDEST: Final = (1, 34)
"""The oldest Kubernetes that we support: `make kubernetes-oldest` tries it, and the chart asks for it."""
VERSION: Final = "/version"

T = TypeVar("T")


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    major: str = ""
    minor: str = ""
    git_version: str = ""


async def new_enough(client: Client) -> str:
    """The version of Kubernetes, empty where that is not told; TooOld where it is older than we support."""
    try:
        told = await client.get(VERSION, _Version)
    except (errors.Forbidden, errors.NotFound):
        return ""  # some keep it to themselves
    numbers = [re.match(r"\d+", text) for text in (told.major, told.minor)]  # vendors write 34+
    found = tuple(int(number[0]) for number in numbers if number is not None)
    if len(found) < len(OLDEST):
        return ""
    version, oldest = told.git_version or _text(found), _text(OLDEST)
    if found < OLDEST:
        what = f"{client.config.where()} is Kubernetes {version}, and seatrial needs {oldest} or later"
        raise errors.TooOld(what, "upgrade the cluster first")
    return version


def _text(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))


async def at_first(paths: Sequence[str], ask: Callable[[str], Awaitable[T]]) -> tuple[str, T]:
    """Ask at each of these paths, until one is there; which, and what it said. NotFound of the first where none is."""
    missing: errors.NotFound | None = None
    for path in paths:
        try:
            return path, await ask(path)
        except errors.NotFound as err:
            missing = missing or err
    raise missing or ValueError("no path to ask at")
