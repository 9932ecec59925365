"""Whether the controller may do what this rollout needs: asked about its ServiceAccount, by SubjectAccessReviews.

Law of this file: the list of rights is the controller's own (adapters/kube/reading/access.py). Whoever may not ask
about others is told that it is not known. Tests: tests/app/rollout/checks/test_checks.py,
tests/cli/test_rollout_checks.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from seatrial.app.rollout.check import Check, Verdict

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.adapters.kube.reading.access import Right
    from seatrial.adapters.kube.surveying.installed import Controller
    from seatrial.app.rollout.outset import Outset

ABOUT: Final = "rights"
NOBODY: Final = "no controller found here: neither its Deployment nor its ServiceAccount seatrial-controller"


async def check(client: Client, outset: Outset, controller: Controller | None, namespace: str) -> Check:
    """Whether the controller's account has every right that this rollout will need."""
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.reading import access

    if controller is None:
        return Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=NOBODY)
    who = f"{controller.namespace}/{controller.account}"
    needed = needs(outset, controller, namespace)
    try:
        denied = await access.denied_to(client, controller.namespace, controller.account, needed)
    except errors.Forbidden:
        why = f"you may not ask what {who} may do (create subjectaccessreviews.authorization.k8s.io)"
        return Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=why)
    except errors.ClusterError as err:
        return Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=f"what {who} may do was not answered: {err.what}")
    if denied:
        lacks = ", ".join(map(str, denied))
        grant = "Grant it: `seatrial manifests rbac --canary` (with its other switches), or the chart"
        why = f"the controller's account {who} may not {lacks}. {grant}"
        return Check(about=ABOUT, verdict=Verdict.FAILS, why=why)
    return Check(about=ABOUT, verdict=Verdict.OK, why=f"the controller's account {who} has all {len(needed)} it needs")


def needs(outset: Outset, controller: Controller, namespace: str) -> set[Right]:
    """The rights that this rollout will need, in the namespaces that the controller was told."""
    from seatrial.adapters.kube.reading import access
    from seatrial.core.movers.mover import mode_of, mover_of

    campaign = outset.intent.campaign
    if campaign is None:
        return set()
    *_, home = (controller.namespace, *controller.said("--lease-namespace"), *controller.said("--gates-namespace"))
    *_, drivers = (namespace, *controller.said("--namespace"))
    mover = mover_of(mode_of(None, campaign, outset.operator))
    by_claim = any(node.facts.gives_by_claim for node in outset.members.values())
    released = outset.intent.target.components
    where = {"home": home, "namespace": drivers}
    return access.rights_of(campaign, mover, outset.operator, **where, by_claim=by_claim, released=released)
