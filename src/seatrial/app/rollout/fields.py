"""Whether the API server takes what would be written: the rollout itself, and the version in what carries it.

Law of this file: the server is asked itself, by writes that it judges and does not keep (dryRun=All), and its own words
are told. Tests: tests/app/rollout/checks/test_checks.py, tests/cli/test_rollout_checks.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from seatrial.app.rollout.check import Check, Verdict
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.app.rollout.outset import Outset

ABOUT: Final = "fields"


class FieldsRefused(SeatrialError):  # noqa: N818  the message says what to do
    """The API server does not take the rollout as it is asked for."""

    def __init__(self, check: Check) -> None:
        super().__init__(check.line)
        self.check = check


async def made_of(client: Client, resource: dict[str, Any]) -> dict[str, Any]:
    """The rollout as the API server would take it; FieldsRefused, in its words, where it would not."""
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.shapes import keys

    try:
        found: dict[str, Any] = await client.create(keys.ROLLOUTS, resource, dict, is_trial=True)
    except errors.Invalid as err:
        why = f"the API server does not take the rollout: {err.message or err.what}"
        next_step = "Correct it, or bring the CRD to this release: `seatrial manifests crd | kubectl apply -f -`."
        raise FieldsRefused(Check(about=ABOUT, verdict=Verdict.FAILS, why=f"{why.rstrip('.')}. {next_step}")) from err
    return found


async def check(client: Client, outset: Outset) -> Check:
    """The rollout was taken already; whether what carries the version takes it as well."""
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.api.client import PatchKind
    from seatrial.adapters.kube.shapes import publishing
    from seatrial.core.model.campaign import Via
    from seatrial.core.node.progress import carriers_for, share_of

    campaign = outset.intent.campaign
    taken = "the API server takes the rollout"
    if campaign is None or campaign.by_hand is not None or campaign.publish is not Via.DIRECT:
        return Check(about=ABOUT, verdict=Verdict.OK, why=taken)
    version, quiet = outset.intent.target.published, campaign.sets_on_delete
    names = [carrier.name for carrier in carriers_for(outset.operator, version)]
    for name in names:
        target = publishing.target_of(name)
        if target is None:
            continue
        body = target.version_patch(share_of(name, version), expect="", note=outset.intent.rollout, on_delete=quiet)
        try:
            await client.patch(target.path, body, kind=PatchKind.MERGE, is_trial=True)
        except errors.Invalid as err:
            why = f"{name} does not take the version: {err.message or err.what}"
            return Check(about=ABOUT, verdict=Verdict.FAILS, why=why)
        except errors.Forbidden:
            why = f"{taken}; whether {name} takes the version only shows when it is written, which you may not"
            return Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=why)
        except errors.ClusterError as err:
            return Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=f"{taken}; of {name}: {err.message or err.what}")
    also = f", and the version in {', '.join(names)}" if names else ""
    return Check(about=ABOUT, verdict=Verdict.OK, why=f"{taken}{also}")
