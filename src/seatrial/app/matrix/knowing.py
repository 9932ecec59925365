"""What is known, how old it is, and whose it is: our facts, bundles that were taken over, and those a team wrote.

    --facts FILE             on top
    seatrial-facts/*.yaml    the team's own
    bundles, by name         others', each file compared with the lock
    what we ship             at the bottom

Law of this file: it says what there is; nothing is fetched, nothing is written. Tests: tests/app/matrix/test_knowing.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seatrial.core.base.values import dataclass

if TYPE_CHECKING:
    from seatrial.adapters.files.facts.knowledge import Layer
    from seatrial.adapters.files.facts.store import Locked
    from seatrial.core.compat.facts import Facts, SourceAge
    from seatrial.core.compat.facts.bundles import BundleError
    from seatrial.core.compat.findings import Finding

FACTS_BESIDE: Final = "seatrial-facts"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsStatus:
    """How far knowledge reaches, and every source of it by age."""

    built_on: date
    known_until: date
    own: tuple[str, ...]
    bundles: Mapping[str, Locked]
    unverified: Mapping[str, str]
    """Of these, the ones whose signer cannot be checked now, and why."""
    sources: tuple[SourceAge, ...]
    """The oldest first."""


def known(paths: Sequence[str], beside: Path | None = None, *, at: str = "") -> tuple[Facts, list[Finding]]:
    """Our facts under those of these files and those beside a matrix, and what is wrong with either.

    `at` is where what lies beside it was copied from, such as a commit: its files are called by that.
    """
    from seatrial.adapters.files.facts.knowledge import FactsFileInvalid, load_knowledge, load_user_facts

    facts, (found, findings) = load_knowledge(), layers(paths, beside, at=at)
    for layer in found:
        try:
            facts = facts.under(load_user_facts(layer))
        except FactsFileInvalid as err:
            findings.append(err.finding)
    return facts, findings


def layers(paths: Sequence[str], beside: Path | None, *, at: str = "") -> tuple[list[Layer], list[Finding]]:
    """What is laid over ours, the lowest first, and the bundles that are not what the lock says."""
    from seatrial.adapters.files.facts.knowledge import Layer

    found, findings = _bundled(beside / FACTS_BESIDE) if beside is not None else ([], [])
    own = [_named(file, at) for file in sorted((beside / FACTS_BESIDE).glob("*.yaml"))] if beside is not None else []
    return [*found, *own, *(Layer(path=path) for path in paths)], findings


def _named(file: Path, at: str) -> Layer:
    from seatrial.adapters.files.facts.knowledge import Layer

    if not at:
        return Layer(path=str(file))
    return Layer(path=f"{FACTS_BESIDE}/{file.name}@{at}", content=file.read_bytes())


def _bundled(facts: Path) -> tuple[list[Layer], list[Finding]]:
    if not facts.is_dir():
        return [], []
    from seatrial.adapters.files.facts import store as bundle_store
    from seatrial.adapters.files.facts.knowledge import Layer
    from seatrial.core.compat.facts.bundles import BundleError

    found: list[Layer] = []
    findings: list[Finding] = []
    try:
        locked = bundle_store.locked_in(facts)
    except BundleError as err:
        return [], [_finding(err)]
    for name, row in locked.items():
        try:
            files = bundle_store.files_of(facts, name, row)
        except BundleError as err:
            findings.append(_finding(err))
            continue
        folder = facts / row.folder(name)
        found += [
            Layer(path=str(folder / file), content=content, origin=f"bundle {name}/{file}", by=row.on)
            for file, content in files.items()
        ]
    return found, findings


def _finding(err: BundleError) -> Finding:
    from seatrial.adapters.files.facts.knowledge import RULE
    from seatrial.core.compat.findings import Finding, Verdict
    from seatrial.core.compat.matrix import Span

    return Finding(rule=RULE, verdict=Verdict.FAIL, message=str(err), spans=(Span(file=err.place, line=1, column=1),))


def usable(paths: Sequence[str], beside: Path) -> list[Layer]:
    """What is laid over ours; BundleTampered where a bundle is not what the lock says."""
    from seatrial.core.compat.facts.bundles import BundleTampered

    found, findings = layers(paths, beside)
    if findings:
        raise BundleTampered(findings[0].message, findings[0].spans[0].file)
    return found


def status(folder: Path, more: Sequence[str] = ()) -> FactsStatus:
    """All that is known in a folder with a matrix; an error where a file or a bundle there cannot be used."""
    from seatrial.adapters.files.facts import knowledge
    from seatrial.adapters.files.facts import store as bundle_store
    from seatrial.core.compat import facts

    found = usable(more, folder)
    bundles = bundle_store.locked_in(folder / FACTS_BESIDE)
    doubts = {name: _doubt(folder / FACTS_BESIDE, name, locked) for name, locked in bundles.items()}
    whole = knowledge.load_knowledge(found)
    ages = [*facts.ages(knowledge.load_own())]
    for layer in found:
        data = knowledge.load_user_data(layer)[1]
        ages += facts.ages(data, origin=layer.origin or layer.path, by=layer.by)
    return FactsStatus(
        built_on=whole.built_on,
        known_until=whole.known_until,
        own=whole.own,
        bundles=bundles,
        unverified={name: why for name, why in doubts.items() if why},
        sources=facts.by_age(tuple(ages)),
    )


def _doubt(facts: Path, name: str, locked: Locked) -> str:
    """Why the signer of a bundle cannot be checked: the lock is a file that anyone may edit, so it proves nothing."""
    from seatrial.adapters.files.facts import sources
    from seatrial.adapters.files.facts.store import ALLOWED, LOCK
    from seatrial.adapters.ssh.signatures import signer_of
    from seatrial.core.compat.facts.bundles import BundleTampered, NoSshKeygen, SignerNotAllowed

    folder = facts / locked.folder(name)
    bundle = sources.from_path(folder)
    if bundle.digest != locked.digest:
        raise BundleTampered(
            f"{folder} has the digest {bundle.digest}, and {LOCK} says {locked.digest}. Take it from Git again.",
            str(folder),
        )
    if not locked.signer:
        return "" if locked.pin else f"{LOCK} names neither a signer nor a digest"
    if not bundle.signature:
        return f"{LOCK} says that {locked.signer} signed it, and there is no signature"
    try:
        signer = signer_of(bundle.signed, bundle.signature, facts / ALLOWED, str(folder))
    except NoSshKeygen:
        return "ssh-keygen is not installed here"
    except SignerNotAllowed:
        return f"{ALLOWED} does not have the key that it is signed with"
    return "" if signer == locked.signer else f"{LOCK} says that {locked.signer} signed it, and {signer} did"
