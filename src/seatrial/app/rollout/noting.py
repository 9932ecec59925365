"""Which version of a component is on a node, said by a person where Kubernetes does not show it.

Law of this file: all nodes are known before the first is written to, each is the one that was looked at, and nobody
says what a kubelet says itself. Tests: tests/app/rollout/test_noting.py, tests/e2e/test_plan_steps.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from seatrial.app import picking
from seatrial.app.errors import CalledWrongly
from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.model.selectors import Selector

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.app.connecting import Cluster
    from seatrial.core.compat.matrix import Component


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """On which nodes: by name, by label, or every member of the rollout."""

    nodes: tuple[str, ...] = ()
    selector: Selector = field(default_factory=Selector)
    is_all: bool = False
    rollout: str = ""
    """Which one, where there are several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a person says they saw, and where."""

    component: Component
    version: str
    where: Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What a node is said to have now."""

    node: str
    before: str
    """What it was said to have; empty where nobody had said anything."""
    is_written: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NoMember:
    """A rollout that is about no node."""

    rollout: str


def component_of(text: str) -> Component:
    """The component of that name, unless it is seen without anybody's word."""
    from seatrial.core.compat.matrix import ALIASES, Component
    from seatrial.core.node import observed

    try:
        found = ALIASES.get(text) or Component(text.replace("-", "_"))
    except ValueError:
        theirs = ", ".join(each.value for each in Component if each not in observed.SHOWN and each not in observed.OURS)
        raise CalledWrongly(f"{text!r} is not a component that people report; those are {theirs}.") from None
    if found in observed.SHOWN:
        raise CalledWrongly(
            f"{found.value} is detected automatically, in the node's {observed.SHOWN[found]}; there is no need "
            "to report it."
        )
    if found in observed.OURS:
        raise CalledWrongly(
            f"{found.value} is detected automatically, in the driver pods; there is no need to report it."
        )
    return found


def check_version(component: Component, text: str) -> None:
    """Refuse what can be no version of the component."""
    from seatrial.core.compat import versions
    from seatrial.core.compat.matrix import SCHEMES

    try:
        versions.parse(SCHEMES[component], text)
    except versions.VersionInvalid as err:
        raise CalledWrongly(str(err)) from err


def observation_of(component: str, version: str, where: Where) -> Observation:
    """What was said, refused where it cannot be meant."""
    found = component_of(component)
    check_version(found, version)
    if [bool(where.nodes), not where.selector.is_empty, where.is_all].count(True) != 1:
        raise CalledWrongly(
            "name the nodes on which it was observed, choose them with -l, or say --all for every member of the "
            "rollout."
        )
    once = replace(where, nodes=tuple(dict.fromkeys(where.nodes)))
    return Observation(component=found, version=version, where=once)


async def note(cluster: Cluster, seen: Observation, *, is_dry_run: bool) -> AsyncIterator[Noted | NoMember]:
    """Write it on one node after the other; a dry run writes on none."""
    from seatrial.adapters.kube.api.client import PatchKind
    from seatrial.adapters.kube.shapes import keys

    key = f"{keys.OBSERVED_PREFIX}{seen.component.value}"
    async with cluster.client() as client:
        nodes = {node["metadata"]["name"]: node for node in (await client.list(keys.NODES, dict)).items}
        members = _chosen(seen.where, nodes) or await _members(client, seen, nodes)
        if isinstance(members, NoMember):
            yield members
            return
        unknown = [name for name in members if name not in nodes]
        if unknown:
            raise CalledWrongly(f"there is no node {unknown[0]}; `seatrial node get` lists them. Nothing was written.")
        for name in members:
            meta: dict[str, Any] = nodes[name]["metadata"]
            before = (meta.get("annotations") or {}).get(key, "")
            is_written = before != seen.version and not is_dry_run
            if is_written:
                # Bound to the node that was looked at: one that was made anew under the name may have other cards. Its
                # kubelet writes the same object all the time, so its version would only be in the way.
                body = {"metadata": {"uid": meta["uid"], "annotations": {key: seen.version}}}
                await client.patch(f"{keys.NODES}/{name}", body, kind=PatchKind.MERGE)
            yield Noted(node=name, before=before, is_written=is_written)


def _chosen(where: Where, nodes: Mapping[str, Any]) -> tuple[str, ...]:
    """The nodes that were named or chosen by label; empty where every member is meant."""
    if where.selector.is_empty:
        return where.nodes
    labels = {name: node["metadata"].get("labels") or {} for name, node in sorted(nodes.items())}
    found = tuple(name for name in labels if where.selector.matches(labels[name]))
    if not found:
        raise CalledWrongly(f"no node has the labels {where.selector}. Nothing was written.")
    return found


async def _members(client: Client, seen: Observation, nodes: Mapping[str, Any]) -> tuple[str, ...] | NoMember:
    """The members of the rollout that waits for the component, or is meant otherwise."""
    every, key = await picking.all_of(client), seen.component.value
    by_hand = [each for each in every if not each.is_ended and (each.spec.get("byHand") or {}).get("component") == key]
    rollout = by_hand[0] if len(by_hand) == 1 and not seen.where.rollout else picking.meant(every, seen.where.rollout)
    wanted = rollout.spec.get("nodeSelector") or {}
    found = tuple(
        name
        for name, node in sorted(nodes.items())
        if all((node["metadata"].get("labels") or {}).get(label) == text for label, text in wanted.items())
    )
    return found or NoMember(rollout=rollout.name)
