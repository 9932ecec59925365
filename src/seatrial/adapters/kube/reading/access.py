"""May we do what a campaign will need? The API server is asked itself, before the first write and every ten minutes.

Which rights are needed follows from what is asked of the campaign; the answer is told as texts such as
`patch clusterpolicies.nvidia.com`, and what to make of it is decided in core. Every user may ask about himself, by the
rights a cluster gives to all who are known to it; to ask about a ServiceAccount, as a client does before a start, is a
right of its own. Tests: tests/adapters/kube/test_access.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, Final, assert_never

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import keys, publishing
from seatrial.adapters.kube.shapes.campaign_models import AccessReview
from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import Campaign, Via
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.mover import mode_of, mover_of
from seatrial.core.movers.view import Mover, Need

AGAIN_SECONDS: Final = 600.0
RETRY_SECONDS: Final = 10.0
"""After an answer that did not come."""

OLM_GROUP: Final = "operators.coreos.com"
_KINDS: Final = {
    publishing.POLICY_KIND: ("clusterpolicies", "nvidia.com"),
    publishing.DRIVER_KIND: ("nvidiadrivers", "nvidia.com"),
    publishing.NETWORK_KIND: ("nicclusterpolicies", "mellanox.com"),
}
"""The resources that carry versions, and the group of each."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Right:
    """One verb on one kind, everywhere or in one namespace, or on one object there."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        kind = "/".join(filter(None, (self.resource, self.subresource)))
        where = f" in namespace {self.namespace}" if self.namespace else ""
        where = f" {self.name}{where}" if self.name else where
        return f"{self.verb} {'.'.join(filter(None, (kind, self.group)))}{where}"


def rights_of(
    campaign: Campaign,
    mover: Mover,
    operator: OperatorFacts,
    *,
    home: str,
    namespace: str,
    by_claim: bool = False,
    released: Iterable[Component] = (),
) -> set[Right]:
    """What a campaign will need, by who moves the nodes, how versions are published and how GPUs are given out."""
    needed = {
        Right(verb="patch", resource="nodes"),
        Right(verb="patch", resource="gpurollouts", group="seatrial.dev"),
        Right(verb="patch", resource="gpurollouts", group="seatrial.dev", subresource="status"),
    }
    for need in mover.needs(campaign.publish):
        needed |= _rights_for(need, operator, namespace)
    if campaign.publish is Via.DIRECT:
        needed |= _on_holders(operator, set(released))
    if campaign.suite_image or any(gate.is_job for gate in campaign.gates):
        needed.add(Right(verb="create", resource="jobs", group="batch", namespace=home))
    if by_claim and any(gate.is_job and gate.gpus for gate in campaign.gates):
        group = "resource.k8s.io"
        needed.add(Right(verb="create", resource="resourceclaimtemplates", group=group, namespace=home))
    if any(gate.is_gang for gate in campaign.gates):
        needed.add(Right(verb="create", resource="services", namespace=home))
    pool_verbs = (*(("create", "delete") if campaign.pool else ()), *(("patch",) if campaign.still else ()))
    group = "machineconfiguration.openshift.io"
    needed |= {Right(verb=verb, resource="machineconfigpools", group=group) for verb in pool_verbs}
    return needed


def _rights_for(need: Need, operator: OperatorFacts, namespace: str) -> set[Right]:
    match need:
        case Need.EVICT:
            return {Right(verb="create", resource="pods", subresource="eviction")}
        case Need.DELETE_DRIVERS:
            spaces = (namespace, *((keys.NETWORK_NAMESPACE,) if operator.network is not None else ()))
            return {Right(verb="delete", resource="pods", namespace=each) for each in spaces}
        case Need.WRITE_CARRIERS:
            return _on_carriers("patch", operator)
        case Need.READ_CARRIERS:
            return _on_carriers("get", operator)
        case _:
            assert_never(need)


def _on_carriers(verb: str, operator: OperatorFacts) -> set[Right]:
    """A verb on the kinds that carry a version here, and on the one that switches NVIDIA's controller."""
    network = (operator.network.carrier,) if operator.network is not None else ()
    names = (operator.kind, *(carrier.name for carrier in (*operator.carriers, *network)))
    known = {_KINDS[kind] for name in names if (kind := name.partition("/")[0]) in _KINDS}
    return {Right(verb=verb, resource=resource, group=group) for resource, group in known}


def _on_holders(operator: OperatorFacts, released: AbstractSet[Component]) -> set[Right]:
    """What it takes to bring releases: the objects that say which one is wanted are read, and written."""
    held = [each.resource.split("/", 2) for each in operator.holders if each.component in released]
    found = {
        Right(verb=verb, resource=plural, group=api.partition("/")[0], namespace=namespace, name=name)
        for kind, namespace, name in held
        for plural, api, _ in (publishing.HOLDERS[kind],)
        for verb in ("get", "patch")
    }
    if any(each.component in released for each in operator.subscriptions):
        found |= {Right(verb=verb, resource="installplans", group=OLM_GROUP) for verb in ("get", "patch")}
    return found


class Access:
    """Asks in the background, about whatever is wanted last."""

    def __init__(self, client: Client, *, home: str, namespace: str) -> None:
        self._home = home
        self._namespace = namespace
        self._client = client
        self._wanted: tuple[Right, ...] = ()
        self._answered: tuple[Right, ...] = ()
        self._changed = asyncio.Event()
        self.denied: tuple[str, ...] = ()
        """What we may not do, as far as it was asked."""

    @property
    def is_known(self) -> bool:
        """Whether everything that is wanted now was asked about."""
        return self._answered == self._wanted

    def want_for(self, intent: Intent, seen: Snapshot) -> None:
        """Say what a campaign will need."""
        campaign, record = intent.campaign, seen.rollout.campaign
        if campaign is not None:
            mover = mover_of(mode_of(record, campaign, seen.operator))
            by_claim = any(node.facts.gives_by_claim for node in seen.nodes.values())
            where = {"home": self._home, "namespace": self._namespace}
            self.want(
                rights_of(campaign, mover, seen.operator, **where, by_claim=by_claim, released=intent.target.components)
            )

    def want(self, rights: Iterable[Right]) -> None:
        """Say what will be needed; what is new is asked about at once."""
        wanted = tuple(sorted(rights))
        if wanted != self._wanted:
            self._wanted = wanted
            self._changed.set()

    async def run(self, on_answer: Callable[[], None]) -> None:
        """Ask for ever."""
        while True:
            self._changed.clear()
            seconds = AGAIN_SECONDS
            if self._wanted:
                try:
                    await self._ask(self._wanted)
                    on_answer()
                except errors.ClusterError:
                    seconds = RETRY_SECONDS  # what was answered before stays; the streams tell of the outage
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):  # not wait_for: Python 3.11's may lose a cancellation
                    await self._changed.wait()

    async def _ask(self, wanted: tuple[Right, ...]) -> None:
        self.denied = await denied_of(self._client, wanted)
        self._answered = wanted


async def denied_to(client: Client, namespace: str, account: str, rights: Iterable[Right]) -> tuple[Right, ...]:
    """Which of these rights a ServiceAccount has not; Forbidden where we may not ask about others."""
    who = {
        "user": f"system:serviceaccount:{namespace}:{account}",
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
    }
    wanted = tuple(sorted(rights))
    answers = [await client.create(keys.OTHERS_REVIEWS, _review(right, who), AccessReview) for right in wanted]
    return tuple(right for right, answer in zip(wanted, answers, strict=True) if not answer.status.allowed)


async def denied_of(client: Client, wanted: Sequence[Right]) -> tuple[str, ...]:
    """Ask the API server which of these we do not have."""
    answers = [await client.create(keys.ACCESS_REVIEWS, _review(right), AccessReview) for right in wanted]
    return tuple(str(right) for right, answer in zip(wanted, answers, strict=True) if not answer.status.allowed)


def _review(right: Right, who: dict[str, Any] | None = None) -> dict[str, Any]:
    """The question whether we have a right, or somebody else."""
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
        "subresource": right.subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview" if who is None else "SubjectAccessReview",
        "spec": {**(who or {}), "resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
