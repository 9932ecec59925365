"""Which rollout is meant, and a change to what it wishes.

Law of this file: a wish is changed at the version that was looked at, or not at all. The controller writes the status
of the same object, so a change that came too late looks again and decides again; it is never forced. Tests:
tests/app/rollout/test_picking.py, tests/cli/test_rollout_live.py
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from seatrial.app.errors import CalledWrongly
from seatrial.core.base.values import dataclass, replace
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import ENDED

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.app.connecting import Cluster

TRIES: Final = 5


class RolloutMissing(SeatrialError):  # noqa: N818  the message says what to do
    """There is no rollout of that name, or none at all."""


class NameUnknown(SeatrialError):  # noqa: N818  the message says what to do
    """The API server does not say who we are, and the wish has to be signed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One GPURollout as the API server has it."""

    raw: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.raw["metadata"]["name"])

    @property
    def version(self) -> str:
        return str(self.raw["metadata"].get("resourceVersion", ""))

    @property
    def created(self) -> str:
        return str(self.raw["metadata"].get("creationTimestamp", ""))

    @property
    def spec(self) -> dict[str, Any]:
        found: dict[str, Any] = self.raw.get("spec") or {}
        return found

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.raw.get("status") or {}
        return found

    @property
    def campaign(self) -> dict[str, Any]:
        """Where the campaign stands, as it was written down; empty before it began, and where there is none."""
        found: dict[str, Any] = self.status.get("campaign") or {}
        return found

    @property
    def is_campaign(self) -> bool:
        return self.spec.get("canary") is not None

    @property
    def phase(self) -> str:
        """The phase of a campaign; for a rollout without one the state its nodes are in."""
        return str(self.campaign.get("phase") or self.status.get("phase") or self.status.get("state") or "")

    @property
    def is_ended(self) -> bool:
        return self.phase in ENDED or (not self.is_campaign and self.phase == "done")

    @property
    def target(self) -> str:
        return str((self.spec.get("target") or {}).get("driver", ""))

    @property
    def since(self) -> str:
        """Since when it stands where it stands: its last turn; without a campaign when it ended, or began."""
        turns = self.campaign.get("history") or [{}]
        conditions = [each for each in self.status.get("conditions") or () if each.get("type") == "Ended"]
        found = turns[-1].get("at") or next((each.get("lastTransitionTime") for each in conditions), "")
        return str(found or self.created)

    @property
    def deleted(self) -> str:
        """When somebody deleted it; it is there until nothing of it is left half-way. Empty where nobody did."""
        return str(self.raw["metadata"].get("deletionTimestamp") or "")


SAID_MAX: Final = 50


class Asked(StrEnum):
    """What a person asks of the controller, which writes into the status that it has done it."""

    PAUSE = "pause"
    RESUME = "resume"
    UNDO = "undo"


def signed(rollout: Rollout, wish: Wish, by: str, at: str) -> Wish:
    """The wish, with who wished it; where nothing changes, nothing is said."""
    if wish.spec is None or not wish.what:
        return wish
    if wish.needs_name and not by:
        raise NameUnknown(
            f"{rollout.name}: this has to be signed in spec.said, and the API server does not say under which name it "
            "knows you. Get the right to create selfsubjectreviews in authentication.k8s.io (system:basic-user has it)."
        )
    entry = {"what": wish.what, **({"by": by} if by else {}), "at": at}
    said = [*(rollout.spec.get("said") or ()), entry][-SAID_MAX:]
    return replace(wish, spec={**wish.spec, "said": said})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A change to a rollout's spec, and what to say about it; no change says that it is so already."""

    said: str
    spec: dict[str, Any] | None = None
    what: str = ""
    """What somebody did, for those who ask later who it was."""
    needs_name: bool = False
    """Whether it counts only with the name of its author, as the chart's policy has it."""
    asks: Asked | None = None
    """What the controller has to do before `said` is true; None where it is true as soon as it is written."""


async def listed(cluster: Cluster) -> tuple[Rollout, ...]:
    """Every rollout of a cluster, by name."""
    async with cluster.client() as client:
        return await all_of(client)


async def all_of(client: Client) -> tuple[Rollout, ...]:
    """Every rollout, by name."""
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.shapes import keys

    try:
        found = await client.list(keys.ROLLOUTS, dict)
    except errors.NotFound as err:
        if not err.is_kind_missing:
            raise
        raise RolloutMissing(
            "this cluster does not know GPURollouts. Install the definition: "
            "`seatrial manifests crd | kubectl apply -f -`."
        ) from err
    return tuple(sorted((Rollout(raw=item) for item in found.items), key=lambda each: each.name))


async def followed(cluster: Cluster) -> AsyncIterator[tuple[Rollout, ...]]:
    """Every rollout of a cluster, now and whenever one of them has changed."""
    import random

    from seatrial.adapters.kube.api import watch
    from seatrial.adapters.kube.shapes import keys
    from seatrial.adapters.kube.shapes.models import Bare

    changed = asyncio.Event()
    async with cluster.client() as client:
        yield await all_of(client)  # a cluster that does not know the kind is said, and not waited for

        def wake(_: object) -> None:
            changed.set()

        watching = watch.reflect(
            client, keys.ROLLOUTS, Bare, on_sync=wake, on_event=wake, on_state=lambda _: None, jitter=random.random
        )
        task = asyncio.create_task(watching)
        try:
            while True:
                await changed.wait()
                changed.clear()
                yield await all_of(client)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def meant(found: Iterable[Rollout], name: str = "") -> Rollout:
    """The rollout of that name; without one the only one that has not ended, or the only one there is."""
    every = tuple(found)
    if name:
        for each in every:
            if each.name == name:
                return each
        there = f"There are {_names(every)}." if every else "There is none."
        raise RolloutMissing(f"there is no rollout {name}. {there}")
    if not every:
        raise RolloutMissing("there is no rollout. Begin with `seatrial rollout start`.")
    active = tuple(each for each in every if not each.is_ended)
    names = {each.name for each in active}
    # The steps of a plan wait one for the other: the one that waits for none of them is meant.
    first = tuple(each for each in active if each.spec.get("after") not in names)
    chosen = first or active or every
    if len(chosen) == 1:
        return chosen[0]
    how = "have not ended" if active else "have all ended"
    raise CalledWrongly(f"{_names(chosen)} {how}; say which one you mean.")


def last(found: Iterable[Rollout], name: str = "") -> Rollout:
    """The rollout that an undo means: the named or the active one, else the one that was done last."""
    every = tuple(found)
    if name or any(not each.is_ended for each in every):
        return meant(every, name)
    done = [each for each in every if each.phase == "Done"] or [each for each in every if each.phase == "Reverted"]
    if not done:
        raise RolloutMissing(
            "there is no rollout to undo: none is under way, and none with a canary was ever done. "
            "A rollout without one is undone by publishing the old version and rolling out to it."
        )
    return max(done, key=lambda each: each.since)


async def change(cluster: Cluster, name: str, wish: Callable[[Rollout], Wish]) -> tuple[Rollout, Wish]:
    """Change what a rollout wishes, upon the version that was looked at; a newer one is looked at and decided anew."""
    async with cluster.client() as client:
        return await _change(client, name, wish)


async def _change(client: Client, name: str, wish: Callable[[Rollout], Wish]) -> tuple[Rollout, Wish]:
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.api.client import PatchKind
    from seatrial.adapters.kube.shapes import keys

    path = f"{keys.ROLLOUTS}/{name}"
    for left in reversed(range(TRIES)):
        found = Rollout(raw=await client.get(path, dict))
        asked = wish(found)
        if asked.spec is None:
            return found, asked
        body = {"metadata": {"resourceVersion": found.version}, "spec": asked.spec}
        try:
            return Rollout(raw=await client.patch(path, body, dict, kind=PatchKind.MERGE)), asked
        except errors.Conflict:
            if not left:
                raise
    raise AssertionError("the last try returns or raises")


def _names(found: Iterable[Rollout]) -> str:
    stands = ((each.name, each.phase or "new", ", being deleted" if each.deleted else "") for each in found)
    return ", ".join(f"{name} ({phase}{more})" for name, phase, more in stands)
