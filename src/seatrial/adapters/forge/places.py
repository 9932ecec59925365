"""Where a repository's forge is asked: the address of its API, and what it calls the repository there.

    https://git.example.com/gpu/cluster.git     gitea     https://git.example.com/api/v1    gpu/cluster
    git@git.example.com:gpu/cluster.git         gitlab    https://git.example.com/api/v4    gpu/cluster
    https://github.com/gpu/cluster              github    https://api.github.com            gpu/cluster
    https://ghe.example.com/gpu/cluster         github    https://ghe.example.com/api/v3    gpu/cluster

A forge that lives below a path, or whose API is at another port than its pages, has its API named by whoever starts us:
in the file `api` beside the token. Nothing of this comes from a rollout but the path of its repository.

Tests: tests/adapters/forge/test_places.py
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from seatrial.adapters.forge.errors import ForgeRefused
from seatrial.core.base.values import dataclass

OWNED_DEPTH: Final = 2
"""Owner and name; only GitLab has groups within groups."""


class Kind(StrEnum):
    """Which forge."""

    GITEA = "gitea"
    """Forgejo speaks the same."""
    GITHUB = "github"
    GITLAB = "gitlab"


API_PATHS: Final = {Kind.GITEA: "/api/v1", Kind.GITHUB: "/api/v3", Kind.GITLAB: "/api/v4"}
_GITHUB: Final = "github.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One repository on a forge, and the token to ask for it with."""

    kind: Kind
    api: str
    project: str
    token: Path
    """The folder of a mounted secret, with the file `token`."""
    authority: Path | None = None
    """The file of the authority that its certificate must be signed by, in the place of the machine's own."""


def place_of(kind: Kind, *, scheme: str, host: str, port: int, path: Sequence[str], secret: Path) -> Place:
    """The place of a repository, from its address taken apart; ForgeRefused where it names none there."""
    api, root = _told(secret, kind) or (_usual(kind, scheme=scheme, host=host, port=port), ())
    inner = tuple(path)[len(root) :] if tuple(path)[: len(root)] == root else tuple(path)
    inner = (*inner[:-1], inner[-1].removesuffix(".git")) if inner else ()
    is_named = len(inner) >= OWNED_DEPTH if kind is Kind.GITLAB else len(inner) == OWNED_DEPTH
    if not is_named:
        raise ForgeRefused(
            f"{'/'.join(inner) or 'nothing'} is not a repository that a {kind} forge could name: it would be "
            "OWNER/NAME. "
            f"Where the forge lives below a path, put the address of its API into the file api beside the token."
        )
    return Place(kind=kind, api=api, project="/".join(inner), token=secret)


def _usual(kind: Kind, *, scheme: str, host: str, port: int) -> str:
    if kind is Kind.GITHUB and host == _GITHUB:
        return f"https://api.{_GITHUB}"
    named = f"[{host}]" if ":" in host else host
    if scheme == "ssh":  # git's port says nothing about where the pages are
        return f"https://{named}{API_PATHS[kind]}"
    usual = {"https": 443, "http": 80}.get(scheme)
    if usual is None:
        raise ForgeRefused(f"A {scheme} address has no forge. Name the repository by https or ssh.")
    at = named if port in (0, usual) else f"{named}:{port}"
    return f"{scheme}://{at}{API_PATHS[kind]}"


def _told(secret: Path, kind: Kind) -> tuple[str, tuple[str, ...]] | None:
    """The API as its administrator named it, and the path below which the forge lives; None where they did not."""
    try:
        text = (secret / "api").read_text(encoding="utf-8").strip().rstrip("/")
    except FileNotFoundError:
        return None
    parts = urlsplit(text)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.username is not None:
        raise ForgeRefused(f"The file api in {secret} is not an address of an API. Write it as https://HOST/PATH.")
    below = parts.path.removesuffix(API_PATHS[kind]).strip("/")
    return text, tuple(below.split("/")) if below else ()
