"""Facts without a release of ours: a bundle is read, somebody vouches for it, and it is vendored beside the matrix.

    SOURCE ──▶ Bundle ──▶ pinned or signed? ──▶ facts that we can read? ──▶ seatrial-facts/, with a line in the lock

    path/to/facts, path/to/facts.yaml     a folder, a file
    URL@COMMIT                            a Git repository at a commit; `path` is the folder in it
    oci:DIR@sha256:…                      an artifact in an OCI layout

Who vouches: the digest somebody names, the digest of an OCI manifest, or a signature by one whom the repository's
allowed-signers names. A commit does not: it says which files are meant, not that anybody stands by them.

Law of this file: nothing is parsed before somebody vouches for it, and nothing is written before all of it was read.
Tests: tests/app/matrix/test_updating.py
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seatrial.app.errors import CalledWrongly
from seatrial.app.matrix.knowing import FACTS_BESIDE
from seatrial.core.base.values import dataclass

if TYPE_CHECKING:
    from seatrial.adapters.files.facts.store import Locked
    from seatrial.core.compat.facts.bundles import Bundle

OCI: Final = "oci:"
_AT_COMMIT: Final = re.compile(r"(?P<url>.+)@(?P<commit>[0-9a-f]{40}|[0-9a-f]{64})")
_AT_DIGEST: Final = re.compile(r"(?P<folder>.+)@(?P<digest>sha256:[0-9a-f]{64})")
_UNFIT: Final = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOptions:
    """Which bundle, for which folder, and who vouches for it."""

    source: str
    folder: Path
    """The folder of the matrix."""
    on: date
    commit: str = ""
    path: str = ""
    """The folder, or the file, inside of a Git repository."""
    digest: str = ""
    """The digest that the bundle must have."""
    name: str = ""
    """How it is called here; empty is by its source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """A bundle that counts from now on, or did already."""

    name: str
    locked: Locked
    folder: Path
    is_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    bundle: Bundle
    source: str
    """What the lock says it is from."""
    title: str
    """What it calls itself: the last part of where it is."""
    commit: str = ""
    pin: str = ""
    """A digest in the source, with which the bundle was compared."""


def update(asked: UpdateOptions) -> Updated:
    """Take a bundle over; BundleError, and nothing written, where nobody vouches for it or it is another."""
    from seatrial.adapters.files.facts import store as bundle_store
    from seatrial.core.compat.facts.bundles import is_digest

    if asked.digest and not is_digest(asked.digest):
        raise CalledWrongly(f"--digest {asked.digest} is none. Write it as sha256: and 64 hexadecimal digits.")
    found = _read(asked)
    name = _name(asked.name, found.title)
    facts = asked.folder / FACTS_BESIDE
    before = bundle_store.locked_in(facts).get(name)
    digest = found.bundle.digest
    _compare_pin(asked, found)
    if before is not None and before.digest == digest and _is_whole(facts, name, before):
        return Updated(name=name, locked=before, folder=facts / before.folder(name), is_changed=False)
    is_known = before is not None and before.digest == digest  # the repository itself pins it; only its files are gone
    pin = asked.digest or found.pin or (before.pin if before is not None and is_known else "")
    signer = "" if pin else _signer(found, facts, before)
    _check_facts(found.bundle, found.source)
    locked = bundle_store.Locked(
        source=found.source,
        digest=digest,
        files={},
        on=asked.on,
        commit=found.commit,
        signer=signer,
        pin=pin,
    )
    return Updated(
        name=name,
        locked=bundle_store.store(facts, name, locked, found.bundle),
        folder=facts / locked.folder(name),
        is_changed=True,
    )


def remove(folder: Path, name: str) -> None:
    """Let a bundle count no more."""
    from seatrial.adapters.files.facts import store as bundle_store

    bundle_store.remove(folder / FACTS_BESIDE, name)


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(asked: UpdateOptions) -> _Found:
    if asked.source.startswith(OCI):
        return _of_layout(asked.source)
    at_commit = _AT_COMMIT.fullmatch(asked.source)
    if at_commit is not None or asked.commit:
        url = asked.source if asked.commit or at_commit is None else at_commit["url"]
        return _of_git(url, asked.commit or (at_commit["commit"] if at_commit else ""), asked.path)
    path = Path(asked.source)
    if not path.exists() and ("://" in asked.source or re.match(r"[^/]+:", asked.source)):
        raise CalledWrongly(
            f"{asked.source} is an address without a commit. Write {asked.source}@COMMIT, with its 40 hexadecimal "
            "digits: a branch may move."
        )
    if asked.path:
        raise CalledWrongly("--path is for Git repositories. Name the folder itself.")
    from seatrial.adapters.files.facts import sources as bundle_sources

    return _Found(bundle=bundle_sources.from_path(path), source=asked.source, title=path.resolve().name)


def _of_layout(source: str) -> _Found:
    from seatrial.adapters.files.facts import sources as bundle_sources

    match = _AT_DIGEST.fullmatch(source.removeprefix(OCI))
    if match is None:
        raise CalledWrongly(f"{source} names no digest. Write oci:DIR@sha256:…, with the digest of its manifest.")
    folder = Path(match["folder"])
    bundle = bundle_sources.from_layout(folder, match["digest"])
    return _Found(bundle=bundle, source=source, title=folder.resolve().name, pin=match["digest"])


def _of_git(url: str, commit: str, path: str) -> _Found:
    from seatrial.adapters.git import at_commit
    from seatrial.adapters.git.credentials import Cleaner
    from seatrial.core.compat.facts.bundles import BYTES_MAX, Bundle, belongs

    raw = at_commit.files_at(url, commit, path.strip("/"), wanted=belongs, bytes_max=BYTES_MAX)
    shown = Cleaner().clean(url)
    return _Found(
        bundle=Bundle.of(raw, f"{shown}@{commit[:12]}"),
        source=f"{shown}//{path}" if path else shown,
        title=shown.rstrip("/").rpartition("/")[2],
        commit=commit,
    )


def _name(asked: str, title: str) -> str:
    """How it is called here: as somebody says, or as it calls itself, made fit for a folder."""
    from seatrial.adapters.files.facts.store import NAME

    name = asked or _UNFIT.sub("-", title.removesuffix(".yaml").removesuffix(".git").lower()).strip("-.")
    if not NAME.fullmatch(name):
        raise CalledWrongly(f"{name!r} cannot be the name of a bundle. Name it with --name: a-z, 0-9, . and -.")
    return name


# ── vouching ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _compare_pin(asked: UpdateOptions, found: _Found) -> None:
    from seatrial.core.compat.facts.bundles import BundleTampered

    if asked.digest and asked.digest != found.bundle.digest:
        raise BundleTampered(
            f"{found.source} has the digest {found.bundle.digest}, and {asked.digest} was asked for. Nothing was taken "
            "over. Ask its publisher which of the two it is.",
            found.source,
        )


def _signer(found: _Found, facts: Path, before: Locked | None) -> str:
    from seatrial.adapters.files.facts.store import ALLOWED
    from seatrial.core.compat.facts.bundles import BundleUnsigned

    bundle = found.bundle
    if bundle.signature:
        from seatrial.adapters.ssh.signatures import signer_of

        return signer_of(bundle.signed, bundle.signature, facts / ALLOWED, found.source)
    earlier = ""
    if before is not None:
        earlier = (
            f" The one taken over on {before.on} was {f'signed by {before.signer}' if before.signer else 'pinned'}."
        )
    raise BundleUnsigned(
        f"Nobody vouches for {found.source}: it is not signed, and no digest was given for it.{earlier} Ask its "
        f"publisher for a signature, or compare its digest with theirs and name it: --digest {bundle.digest}",
        found.source,
    )


def _is_whole(facts: Path, name: str, locked: Locked) -> bool:
    from seatrial.adapters.files.facts import store as bundle_store
    from seatrial.core.compat.facts.bundles import BundleTampered

    try:
        return bool(bundle_store.files_of(facts, name, locked))
    except BundleTampered:
        return False  # what is here was changed or lost, and what was read has the digest of the lock: it is put back


def _check_facts(bundle: Bundle, source: str) -> None:
    """FactsFileInvalid where a file is no facts that we can read."""
    from seatrial.adapters.files.facts.knowledge import Layer, load_user_facts

    for name, content in bundle.files.items():
        load_user_facts(Layer(path=f"{source}/{name}" if len(bundle.files) > 1 else source, content=content))
