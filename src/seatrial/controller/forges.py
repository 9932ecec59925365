"""Which forge a repository lives on, and with which token it is asked: as whoever started us said, and not otherwise.

A forge is bound to addresses as a login is (decision 0021): taken apart before they are compared, by whole segments,
and the longest one counts. A rollout names its repository; which forge that has, and what goes there, it does not say.

Tests: tests/controller/test_forges.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from seatrial.adapters.forge.forge import HttpForge
from seatrial.adapters.forge.places import Kind, Place, place_of
from seatrial.adapters.git.addresses import NOBODY, Address, Permit, Permits
from seatrial.adapters.git.authorities import MACHINES_OWN, Authorities
from seatrial.adapters.git.errors import Barred, SetupInvalid
from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.model.campaign import GitPlace
from seatrial.ports import Forge


@dataclass(frozen=True, slots=True, kw_only=True)
class Forges:
    """Every forge that was named."""

    permits: Permits = NOBODY
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """By the prefix, as somebody wrote it."""
    authorities: Authorities = MACHINES_OWN

    @classmethod
    def read(
        cls,
        named: Iterable[tuple[str, str, Path]],
        *,
        authorities: Authorities = MACHINES_OWN,
        is_loopback_http: bool = False,
    ) -> Self:
        """Read kinds, prefixes and folders; SetupInvalid where a token would go astray."""
        kinds: dict[str, Kind] = {}
        permits: list[Permit] = []
        for kind, prefix, secret in named:
            if kind not in set(Kind):
                raise SetupInvalid(f"{kind!r} is not a forge that we can speak to. Name one of {', '.join(Kind)}.")
            permits.append(Permit.read(prefix, secret, is_loopback_http=is_loopback_http))
            kinds[prefix] = Kind(kind)
        return cls(permits=Permits.read(permits), kinds=kinds, authorities=authorities)

    def of(self, place: GitPlace) -> Forge | None:
        """The forge of a repository, for requests into its branch; None where none was named for it."""
        found = self.place_of(place.url)
        return HttpForge(found, base=place.branch) if found is not None else None

    def place_of(self, url: str, /) -> Place | None:
        """Where a repository is on its forge; None where none was named for it."""
        try:
            permit = self.permits.of(url)
        except Barred:
            return None
        if permit.secret is None:
            return None
        at = Address.parse(url)
        kind = self.kinds[permit.prefix]
        found = place_of(kind, scheme=at.scheme, host=at.host, port=at.port, path=at.path, secret=permit.secret)
        return replace(found, authority=self.authorities.of(found.api))


NO_FORGES = Forges()
