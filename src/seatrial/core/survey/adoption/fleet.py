"""An adoption as a whole: which version, which nodes, who stands in the way. One node is node.py's matter.

Every reason not to adopt is a Refusal with a next step, told before anything is written. Tests:
tests/core/survey/test_adopt.py
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from shlex import quote

from seatrial.core.base.values import dataclass
from seatrial.core.model.owners import OWNER_LABEL
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.node.progress import ANY, is_same, resource_of, wants
from seatrial.core.survey.adoption.traces import Adoption, Treatment
from seatrial.core.text.names import number_of


class RefusalCode(StrEnum):
    """Why nothing is adopted."""

    NOBODY = "nobody"
    NVIDIA_MOVES = "nvidia-moves"
    OTHER_ROLLOUT = "other-rollout"
    MIXED_TARGETS = "mixed-targets"
    NO_TARGET = "no-target"
    NOT_PUBLISHABLE = "not-publishable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Nothing is adopted, why, and what to do."""

    code: RefusalCode
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A rollout that is there, as far as it concerns an adoption."""

    name: str
    target: str
    is_campaign: bool
    is_begun: bool
    """Whether a campaign is past its proposal."""
    is_ended: bool
    is_adoption: bool = False
    """Made by an adoption, which may have been interrupted."""
    members: frozenset[str] = frozenset()
    """Which of the nodes that are meant belong to it."""

    @property
    def is_going(self) -> bool:
        """Whether it moves nodes without a campaign, and is not done."""
        return not self.is_campaign and not self.is_ended


def why_not(nodes: Mapping[str, NodeSeen], operator: OperatorFacts, rollouts: Iterable[Rollout]) -> Refusal | None:
    """Why nothing can be adopted, whichever version is meant; None when it can."""
    if not nodes:
        return Refusal(code=RefusalCode.NOBODY, text="No node matches the labels. See --selector.")
    mover = _mover(nodes, operator)
    if mover:
        return Refusal(
            code=RefusalCode.NVIDIA_MOVES,
            text=f"NVIDIA's upgrade controller is on ({mover} says autoUpgrade: true) and moves these nodes. "
            "Only one may move a node: leave them to it (`seatrial pace` makes it faster), or switch it off first.",
        )
    for each in rollouts:
        if each.members and each.is_campaign and each.is_begun and not each.is_ended:
            return Refusal(
                code=RefusalCode.OTHER_ROLLOUT,
                text=f"GPURollout {each.name} has these nodes, and continues once the controller runs. "
                f"See `seatrial status {quote(each.name)}`; `seatrial rollout abort {quote(each.name)}` undoes it.",
            )
    return None


def _mover(nodes: Mapping[str, NodeSeen], operator: OperatorFacts) -> str:
    """The resource under which NVIDIA's controller moves any of these nodes; empty when there is none."""
    if not operator.pools:
        return operator.kind if operator.is_auto_upgrading else ""
    owners = {node.facts.owner for node in nodes.values()}
    moving = sorted(pool.name for pool in operator.pools if pool.is_auto_upgrading and pool.name in owners)
    return f"NVIDIADriver/{moving[0]}" if moving else ""


def why_not_beside(target: str, nodes: Mapping[str, NodeSeen], rollouts: Iterable[Rollout]) -> Refusal | None:
    """Why no rollout of these nodes to this version can be beside those that are there."""
    for each in rollouts:
        is_another = not is_same(each.target, target) or each.members != nodes.keys()
        if each.is_going and each.members and is_another:
            return Refusal(
                code=RefusalCode.OTHER_ROLLOUT,
                text=f"GPURollout {each.name} moves some of them to {each.target} and is not done. Delete it with "
                f"`kubectl delete gpurollout {quote(each.name)}`: nothing is lost, since each node keeps "
                "its own record.",
            )
    return None


# ── which version ────────────────────────────────────────────────────────────────────────────────────────────────────


def begun_target(rollouts: Iterable[Rollout]) -> str:
    """The version of an adoption that was begun and has not ended; empty when there is none."""
    return next((each.target for each in rollouts if each.is_adoption and each.is_going and each.members), "")


def carried_target(nodes: Mapping[str, NodeSeen]) -> str | Refusal:
    """The version that the driver DaemonSets of these nodes carry, if it is one."""
    groups: dict[str, list[NodeSeen]] = defaultdict(list)
    for node in nodes.values():
        if node.facts.wanted is not None:
            groups[node.facts.wanted.version].append(node)
    if len(groups) == 1 and "" not in groups:
        return next(iter(groups))
    if not groups or set(groups) == {""}:
        why = (
            "the images of the driver DaemonSets name no version" if groups else "no driver pod belongs to a DaemonSet"
        )
        return Refusal(code=RefusalCode.NO_TARGET, text=f"It is unclear what to finish: {why}. Name it with --to.")
    said = "; ".join(f"{version or 'no version'} on {_scope(group)}" for version, group in sorted(groups.items()))
    return Refusal(
        code=RefusalCode.MIXED_TARGETS,
        text=f"The driver DaemonSets have several versions: {said}. Adopt one pool at a time with --selector.",
    )


def _scope(group: list[NodeSeen]) -> str:
    owners = sorted({node.facts.owner for node in group} - {""})
    pool = f" (--selector {OWNER_LABEL}={owners[0]})" if len(owners) == 1 else ""
    return f"{number_of(len(group), 'node')}{pool}"


def former_target(nodes: Mapping[str, NodeSeen]) -> str | Refusal:
    """The version to go back to: what most nodes run that is not what their DaemonSets carry."""
    counts: Counter[str] = Counter()
    for node in nodes.values():
        driver, facts = node.facts.driver, node.facts
        if driver is not None and driver.version and not wants(facts, driver.version):
            counts[driver.version] += 1
    ranked = counts.most_common(2)
    if not ranked:
        return Refusal(
            code=RefusalCode.NO_TARGET,
            text="Every node runs what its DaemonSet has, so nothing shows which version ran before. "
            "Name it: --back VERSION.",
        )
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        said = ", ".join(f"{version} on {count}" for version, count in sorted(ranked))
        return Refusal(
            code=RefusalCode.NO_TARGET,
            text=f"It is unclear which version to go back to: {said}. Name it: --back VERSION.",
        )
    return ranked[0][0]


# ── publishing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def unpublished(nodes: Mapping[str, NodeSeen], target: str) -> tuple[str, ...]:
    """Nodes whose DaemonSet carries another version: the rollout waits until it does not."""
    return tuple(
        sorted(name for name, node in nodes.items() if node.facts.wanted is not None and not wants(node.facts, target))
    )


def to_publish(nodes: Mapping[str, NodeSeen], operator: OperatorFacts, target: str) -> tuple[str, ...] | Refusal:
    """The resources that have to carry the target, and do not; a Refusal where there is none to write."""
    resources = sorted({resource_of(nodes[name].facts, operator) for name in unpublished(nodes, target)})
    if ANY in resources or "" in resources:
        return Refusal(
            code=RefusalCode.NOT_PUBLISHABLE,
            text="No ClusterPolicy and no NVIDIADriver says which driver these nodes run, so nothing can be published. "
            "Leave --publish out, and change the driver DaemonSet yourself.",
        )
    carried = {carrier.name: carrier.version for carrier in operator.carriers}
    return tuple(name for name in resources if not is_same(carried.get(name, ""), target))


def counted(adoptions: Iterable[Adoption]) -> tuple[tuple[Treatment, int], ...]:
    """How many of each fate, in the order of the fates."""
    counts = Counter(each.fate for each in adoptions)
    return tuple((fate, counts[fate]) for fate in Treatment if counts[fate])
