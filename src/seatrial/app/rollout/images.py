"""Whether the images of a driver and its operands are where nodes would pull them from, as far as anybody may know.

Law of this file: only the GPU Operator gives an image its name. Where the driver that nodes run now has the version in
its tag, the new one is the same with the new version; that of an operand is put together from what the ClusterPolicy
says, as the operator does. Everywhere else it is not known. Tests: tests/app/rollout/checks/test_checks.py
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from seatrial.app.rollout.check import Check, Verdict

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.app.rollout.outset import Outset

ABOUT: Final = "image"


async def checks(client: Client, outset: Outset) -> tuple[Check, ...]:
    """One answer for each image that the members would run."""
    campaign = outset.intent.campaign
    if campaign is None or campaign.by_hand is not None:
        return ()
    names = images_of(outset)
    named, unnamed = await _of_operands(client, outset)
    found = tuple(await asyncio.gather(*map(_check, (*names, *named))))
    if not names:
        why = "its name is only known when the version is published: no image that runs now has its version in its tag"
        found = (Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=why), *found)
    return (*found, *unnamed)


async def _of_operands(client: Client, outset: Outset) -> tuple[tuple[str, ...], tuple[Check, ...]]:
    """The images of the operands that move, as the ClusterPolicy names them; and why one of them has no name."""
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.shapes import publishing
    from seatrial.core.model.seen.operands import FIELDS

    moved = [component for component in outset.intent.target.components if component in FIELDS]
    policy = next((each.name for each in outset.operator.carriers if each.name.startswith("ClusterPolicy/")), "")
    place = publishing.target_of(policy)
    if not moved or place is None:
        return (), ()
    try:
        spec = (await client.get(place.path, dict)).get("spec") or {}
    except errors.ClusterError as err:
        why = f"of {policy}, which names those of operands: {err.message or err.what}"
        return (), (Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=why),)
    named, unnamed = [], []
    for component in moved:
        said, version = spec.get(FIELDS[component]) or {}, outset.intent.target.version_of(component)
        if said.get("repository") and said.get("image"):
            named.append(f"{said['repository']}/{said['image']}:{version}")
        else:
            field = f"spec.{FIELDS[component]}"
            why = (
                f"{policy} names no {field}.repository and {field}.image, and a version alone makes no image. Set both"
            )
            unnamed.append(Check(about=ABOUT, verdict=Verdict.FAILS, why=why))
    return tuple(named), tuple(unnamed)


def images_of(outset: Outset) -> tuple[str, ...]:
    """The images that the members would run, as far as those that they run now tell."""
    version = str(outset.intent.target.driver)
    wanted = (node.facts.wanted for node in outset.members.values())
    return tuple(sorted({image for each in wanted if each is not None and (image := each.image_with(version))}))


async def _check(image: str) -> Check:
    from seatrial.adapters.http import registry

    found = await registry.look_up(image)
    match found.presence:
        case registry.Presence.EXISTS:
            return Check(about=ABOUT, verdict=Verdict.OK, why=f"{image} exists")
        case registry.Presence.MISSING:
            why = f"{image} does not exist: {found.why}. Push it, or choose a version that has an image"
            return Check(about=ABOUT, verdict=Verdict.FAILS, why=why)
        case registry.Presence.UNKNOWN:
            return Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=f"{image}: {found.why}")
