"""Whether the driver's image is where nodes would pull it from, as far as anybody may know.

Law of this file: only the GPU Operator gives an image its name. Where the one that nodes run now has the version in its
tag, the new one is the same with the new version; everywhere else it is not known. Tests:
tests/app/rollout/checks/test_checks.py
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from seatrial.app.rollout.checks.check import Check, Verdict

if TYPE_CHECKING:
    from seatrial.app.rollout.outset import Outset

ABOUT: Final = "image"


async def checks(outset: Outset) -> tuple[Check, ...]:
    """One answer for each image that the members would run."""
    campaign = outset.intent.campaign
    if campaign is None or campaign.by_hand is not None:
        return ()
    names = images_of(outset)
    if not names:
        why = "its name is only known when the version is published: no image that runs now has its version in its tag"
        return (Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=why),)
    return tuple(await asyncio.gather(*map(_check, names)))


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
