"""The world outside of the nodes: the resources that carry driver versions, the home of the matrix, and what is probed.

    Publish ─ direct ─▶ a resource carries another version ─ DaemonSets follow ─▶ its nodes are wanted to run it
            └ git ────▶ a commit ─ repository is synced ─▶ the same
    StartProbe ───────▶ a measurement, pending ─ probe ends ─▶ its verdict

Pure functions, like those of reactions.py: `World` gives each a delay, the explorer tries them in every order. Law of
this file: a step is found again by its name, as in a real repository, so asking for it twice makes one commit.

Tests: tests/sim/test_outside.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, TypeGuard, assert_never

from seatrial.core.actions.at_home import HomeAct, MarkBad, Promote, Publish, RequestAct, RevertCommits, StepAct
from seatrial.core.actions.of_campaigns import (
    EndProbe,
    MakePool,
    MarkNode,
    OuterAct,
    PausePool,
    RemovePool,
    SetAutoUpgrade,
    StartProbe,
)
from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.model.campaign import PublishStep, SourceFacts, Switch, Via
from seatrial.core.model.deployers import Follower
from seatrial.core.model.gates.figures import Figure
from seatrial.core.model.gates.gate import GateVerdict, Measurement
from seatrial.core.model.owners import DriverClaim
from seatrial.core.model.policy import PolicyWish, Share
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.operators import ON_DELETE, Carrier, MachinePool, OperatorFacts, Pool
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.seen.releases import is_holder
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.target import parts_of
from seatrial.core.movers import driver_manager
from seatrial.core.node.progress import carried, carrier_of, resource_of, stands_for
from seatrial.sim import machine_pools, operand_pods, releases
from seatrial.sim.acts import Refused
from seatrial.sim.nodes import drawn, touched

Versions: TypeAlias = tuple[tuple[str, str], ...]
"""Resources, and the driver version of each."""

CLUSTER_POLICY: Final = "ClusterPolicy/cluster-policy"
CARRYING: Final = frozenset({"ClusterPolicy", "NVIDIADriver", "NicClusterPolicy"})
"""Kinds of resources that own drivers."""
US: Final = "seatrial"
DEPLOYER: Final = "argocd-application-controller"
"""Who writes resources when the repository is synced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Everything a campaign changes or looks at that is no node."""

    operator: OperatorFacts = field(default_factory=OperatorFacts)
    source: SourceFacts | None = None
    files: Versions = ()
    """What the repository says each resource carries; empty where nobody syncs one."""
    switches: tuple[Switch, ...] = ()
    """What the repository tells each resource's driver manager."""
    strategy: str = ""
    """How the repository has the DaemonSets of operands replace their pods."""
    undo: tuple[tuple[str, Versions, tuple[Switch, ...], str], ...] = ()
    """By commit: what the files said before it."""
    follower: Follower | None = None
    """Who brings the repository into the cluster, where it is seen; stopped or failing it brings nothing."""
    tags: tuple[str, ...] = ()
    is_protected: bool = False
    """Whether every step waits for a person to merge it; merging.py plays that."""
    has_forge: bool = False
    """Whether the person is asked by a pull request; else by a branch and a text."""
    waiting: tuple[StepAct, ...] = ()
    """Steps that are on branches of ours."""
    measurements: tuple[Measurement, ...] = ()
    machine_pools: tuple[MachinePool, ...] = ()
    rollout: str = ""
    """Who looks at it, and calls a pool its own; empty where there is only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFate:
    """What is in store for a gate, unknown to everybody until it is measured."""

    fails_on: str = ""
    """The driver version with which it fails, or an operand and its version, as `device-plugin v0.18.0`."""
    from_round: int = 1
    """The first round in which that shows."""
    detail: str = "it exited with 1"
    unknown_rounds: frozenset[int] = frozenset()
    """Rounds in which it cannot be measured, however often it is tried."""
    unknown_tries: int = 0
    """How many tries of every round come to nothing before one does."""
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What is measured, by driver version and by the figure's name; nothing where nobody says."""
    unit: str = ""
    """Of what is measured."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """By node: how much of that it shows; all of it where nobody says."""
    spread: float = 0.0
    """By how much a figure differs from round to round and from node to node, as a share of it at most."""
    fails_at: frozenset[str] = frozenset()
    """The nodes on which it always fails."""
    loaded: str = ""
    """The driver that NVML reports, where it is another."""


NOTHING_SAID: Final = PolicyWish()
NO_LIMIT: Final = PolicyWish(parallel_max=0, unavailable_max=Share(amount=100, is_percent=True))
"""NVIDIA's controller begins with whomever it may."""
TELLING: Final = GateFate()
"""A gate that is measured at once, and passes."""


def cluster_policy(
    version: str, *, is_auto_upgrading: bool = False, policy: PolicyWish = NOTHING_SAID
) -> OperatorFacts:
    """A GPU Operator whose one resource says what every node runs, and how many at a time."""
    return OperatorFacts(
        kind=CLUSTER_POLICY,
        is_auto_upgrading=is_auto_upgrading,
        policy=policy,
        driver_version=version,
        carriers=(Carrier(name=CLUSTER_POLICY, version=version),),
    )


def driver_pools(
    version: str, *names: str, is_auto_upgrading: bool = False, policy: PolicyWish = NOTHING_SAID
) -> OperatorFacts:
    """A GPU Operator with one NVIDIADriver for each of these pools of nodes."""
    return OperatorFacts(
        kind=CLUSTER_POLICY,
        is_auto_upgrading=is_auto_upgrading,
        pools=tuple(
            Pool(
                name=name,
                claim=DriverClaim(name=name),
                is_auto_upgrading=is_auto_upgrading,
                driver_version=version,
                policy=policy,
            )
            for name in names
        ),
        carriers=tuple(Carrier(name=f"NVIDIADriver/{name}", version=version) for name in names),
    )


def seen_with(seen: Snapshot, outside: Outside) -> Snapshot:
    """A snapshot that shows the outside as well."""
    return replace(
        seen,
        operator=outside.operator,
        source=outside.source,
        measurements=outside.measurements,
        machine_pools=outside.machine_pools,
        followers=(outside.follower,) if outside.follower is not None else (),
    )


# ── what our acts do ─────────────────────────────────────────────────────────────────────────────────────────────────


def mark(node: NodeSeen, act: MarkNode) -> NodeSeen | Refused:
    """The node with the marks of a campaign set or taken away; one that is as asked is not written to."""
    facts = node.facts
    if act.expect != facts.resource_version:
        return Refused(is_stale=True, why=f"the node is at {facts.resource_version}, not at {act.expect}")
    after = facts
    if act.canary is not None:
        after = replace(after, canary_of=act.rollout if act.canary else "")
    if act.skip is not None:
        after = replace(after, is_skipped=act.skip, skipped_by=act.rollout if act.skip else "")
    if act.is_handed_over:
        after = replace(after, skipped_by="")
    if act.is_retry:
        after = replace(after, nvidia_state=NodePhase.UPGRADE_REQUIRED.value)
    return replace(node, facts=touched(after)) if after != facts else node


def apply(outside: Outside, act: OuterAct) -> Outside | Refused:
    """The outside after one of our acts, or why it was turned down."""
    if isinstance(act, RequestAct):
        return outside  # nobody has to be asked where everybody may push
    match act:
        case Publish(via=Via.GIT, step=step, versions=versions, switches=switches):
            strategy = ON_DELETE if act.on_delete else outside.strategy
            is_said = set(versions) <= set(outside.files) and strategy == outside.strategy
            is_there = outside.source is not None and is_said and set(switches) <= set(outside.switches)
            return outside if is_there else commit(outside, step, versions, switches, strategy)
        case Publish():
            return _write(outside, act)
        case RevertCommits():
            return _revert(outside, act)
        case MarkBad():
            return _mark_bad(outside, act)
        case Promote(tag_base=tag_base):
            return _promote(outside, tag_base)
        case StartProbe():
            return _start_probe(outside, act)
        case EndProbe():
            left = tuple(each for each in outside.measurements if key_of(each) != key_of(act))
            is_gone = left == outside.measurements
            gone = Refused(is_stale=True, why=f"{act.job} not found")
            return gone if is_gone else replace(outside, measurements=left)
        case SetAutoUpgrade():
            return _switch(outside, act)
        case MakePool() | PausePool() | RemovePool():
            after = machine_pools.apply(outside.machine_pools, act, outside.rollout)
            return after if isinstance(after, Refused) else replace(outside, machine_pools=after)
        case _:
            assert_never(act)


def commit(
    outside: Outside,
    step: PublishStep,
    versions: Versions = (),
    switches: tuple[Switch, ...] = (),
    strategy: str | None = None,
) -> Outside:
    """The repository with one more commit of ours, unless the step is there already."""
    if outside.source is None:
        outside = replace(outside, source=SourceFacts(head="c0"))
    return outside if _has(outside, step) else commit_anyway(outside, step, versions, switches, strategy)


def commit_anyway(
    outside: Outside,
    step: PublishStep,
    versions: Versions = (),
    switches: tuple[Switch, ...] = (),
    strategy: str | None = None,
) -> Outside:
    """The repository with one more commit of ours, whatever is there."""
    source = outside.source or SourceFacts()
    name = f"c{len(source.steps) + 1}"
    before = dict(outside.files)
    return replace(
        outside,
        source=replace(source, head=name, steps=(*source.steps, (step, name))),
        files=tuple((before | dict(versions)).items()),
        switches=_switched(outside.switches, switches),
        strategy=outside.strategy if strategy is None else strategy,
        undo=(*outside.undo, (name, outside.files, outside.switches, outside.strategy)),
    )


def _switched(before: tuple[Switch, ...], new: tuple[Switch, ...]) -> tuple[Switch, ...]:
    """Switches, each as it was last said."""
    said = {(each.resource, each.name): each for each in (*before, *new)}
    return tuple(said.values())


def _has(outside: Outside, step: PublishStep) -> bool:
    return outside.source is not None and bool(outside.source.commit_of(step))


def is_bound(act: object) -> TypeGuard[HomeAct | StartProbe]:
    """Whether an act is done only for the rollout at work: its commits, and its probes, which belong to it."""
    if isinstance(act, Publish):
        return act.via is Via.GIT
    return isinstance(act, HomeAct | StartProbe)


def _write(outside: Outside, act: Publish) -> Outside | Refused:
    """Write the version into the resources themselves, one after the other."""
    for name, version in act.versions:
        if is_holder(name):
            after = releases.written(outside.operator, name, version, dict(act.expects).get(name, ""), act.note)
            if isinstance(after, Refused):
                return after
            outside = replace(outside, operator=after)
            continue
        refused = _why_unwritable(outside.operator, name, dict(act.expects).get(name, ""))
        if refused is not None:
            return refused
        before = operand_pods.find_carrier(outside.operator, name)
        is_said = before is not None and carried(name, outside.operator, version) == version
        # Who wrote the same version before us still stands behind it, and is the one who would write it again.
        writer = before.writer if before is not None and is_said else US
        note = act.note or (before.note if before is not None else "")
        strategy = ON_DELETE if act.on_delete else None
        written = _carrying(outside.operator, ((name, version),), writer, act.switches, strategy)
        outside = replace(outside, operator=operand_pods.noted(written, outside.operator, name, note))
    return outside


def _why_unwritable(operator: OperatorFacts, name: str, expect: str) -> Refused | None:
    if name.partition("/")[0] not in CARRYING:
        return Refused(is_stale=False, why=f"{name} has no driver version that could be set")
    found = operand_pods.find_carrier(operator, name)
    if found is None:
        return Refused(is_stale=True, why=f"{name} not found")
    if expect and expect != found.resource_version:
        return Refused(is_stale=True, why=f"{name} is no longer at {expect}")
    return None


def _revert(outside: Outside, act: RevertCommits) -> Outside:
    if _has(outside, PublishStep.REVERT):
        return outside
    # Each commit named the files as it found them; the oldest of these knew them before us.
    before = next((each for each in outside.undo if each[0] in act.commits), None)
    if before is None:
        return _without_commit(outside, PublishStep.REVERT)
    return commit(outside, PublishStep.REVERT, *before[1:3], ON_DELETE if act.on_delete else before[3])


def _without_commit(outside: Outside, step: PublishStep) -> Outside:
    """There is nothing to take back, or to mark, so the step is done without a commit, at the head as it is."""
    source = outside.source or SourceFacts(head="c0")
    return replace(outside, source=replace(source, steps=(*source.steps, (step, source.head))))


def _mark_bad(outside: Outside, act: MarkBad) -> Outside:
    if _has(outside, PublishStep.BAD):
        return outside
    if (seen := outside.source) and seen.driver and not stands_for(act.driver, seen.driver, seen.parts):
        return _without_commit(outside, PublishStep.BAD)  # another version has taken its place
    after = commit(outside, PublishStep.BAD)
    return replace(after, source=replace(after.source, bad=act.why)) if after.source is not None else after


def _promote(outside: Outside, tag_base: str) -> Outside:
    after = commit(outside, PublishStep.PROMOTION)
    if after.source is None or after.source.tag:
        return after
    return replace(after, source=replace(after.source, tag=tag_base), tags=(*after.tags, tag_base))


def _start_probe(outside: Outside, act: StartProbe) -> Outside:
    gate, pending = act.gate.name, GateVerdict.PENDING
    made = Measurement(gate=gate, node=act.node, round=act.round, attempt=act.attempt, verdict=pending, gang=act.gang)
    if any(key_of(each) == key_of(made) for each in outside.measurements):
        return outside
    return replace(outside, measurements=(*outside.measurements, made))


def _switch(outside: Outside, act: SetAutoUpgrade) -> Outside | Refused:
    operator = outside.operator
    refused = _why_unwritable(operator, act.resource, act.expect)
    if refused is not None:
        return refused
    if act.resource == operator.kind and not operator.pools:
        after = replace(operator, is_auto_upgrading=act.value)
    else:
        pools = tuple(
            replace(pool, is_auto_upgrading=act.value) if f"NVIDIADriver/{pool.name}" == act.resource else pool
            for pool in operator.pools
        )
        after = replace(operator, pools=pools)
    return replace(outside, operator=operand_pods.moved(after, operator, act.resource))


def _carrying(
    operator: OperatorFacts,
    versions: Versions,
    writer: str,
    switches: tuple[Switch, ...] = (),
    strategy: str | None = None,
) -> OperatorFacts:
    """The operator's resources with these versions in them, and with what driver managers and DaemonSets are told."""
    new = dict(versions)
    operator = releases.followed(operand_pods.rolling(operator, new, strategy), new.values())
    operator = operand_pods.each_carrier(
        operator,
        lambda carrier: (
            replace(operand_pods.naming(carrier, new[carrier.name]), writer=writer, switches=_said(carrier, switches))
            if carrier.name in new
            else carrier
        ),
    )
    pools = tuple(
        replace(pool, driver_version=_driver_in(new.get(f"NVIDIADriver/{pool.name}", pool.driver_version)))
        for pool in operator.pools
    )
    version = _driver_in(new.get(operator.kind, operator.driver_version))
    return replace(operator, pools=pools, driver_version=version)


def _driver_in(text: str) -> str:
    return parts_of(text)[0]


def _said(carrier: Carrier, switches: tuple[Switch, ...]) -> tuple[tuple[str, str], ...]:
    """What a resource says about the switches of its driver manager, once these were written into it."""
    said = _switched(
        driver_manager.standing(carrier), tuple(each for each in switches if each.resource == carrier.name)
    )
    return tuple((each.name, each.value) for each in said if each.value is not None)


# ── what the world does by itself ────────────────────────────────────────────────────────────────────────────────────

SYNCED: Final = "repository is synced"
FOLLOWED: Final = "DaemonSets follow"
PROBED: Final = "probe ends"


def is_synced(outside: Outside) -> Outside | None:
    """The cluster is made to carry what the repository says; None where it does already."""
    behind = tuple((name, text) for name, text in outside.files if not _is_as_in_files(outside, name, text))
    if not behind or (outside.follower is not None and (outside.follower.stop or outside.follower.trouble)):
        return None
    after = _carrying(outside.operator, behind, DEPLOYER, outside.switches, outside.strategy)
    return replace(outside, operator=after)


def _is_as_in_files(outside: Outside, name: str, text: str) -> bool:
    carrier = carrier_of(name, outside.operator)
    is_told = carrier.switches == _said(carrier, outside.switches)
    return is_told and carried(name, outside.operator, text) == text and operand_pods.is_as(carrier, outside.strategy)


def behind_of(facts: NodeFacts, outside: Outside) -> str:
    """The resource whose version a node's DaemonSet does not want yet; empty where it does, or where nobody says."""
    resource = resource_of(facts, outside.operator)
    carrier = carrier_of(resource, outside.operator)
    if (network := operand_pods.ahead_of(facts, outside.operator)) is not None:
        return network
    if not carrier.version or facts.wanted is None:
        return ""
    is_new = facts.wanted.version != carrier.version or operand_pods.carrying(facts, dict(carrier.parts)) != facts
    return resource if is_new else ""


def followed(
    nodes: Iterable[NodeSeen], resource: str, outside: Outside, revisions: Mapping[str, DriverRevision]
) -> tuple[NodeSeen, ...]:
    """The nodes of a resource, wanted to run what it carries; those that are not behind are left out."""
    carrier = carrier_of(resource, outside.operator)
    text, parts = carrier.version, dict(carrier.parts)
    wanted = revisions.get(text, DriverRevision(hash=text, version=text)) if text else None
    return tuple(
        replace(node, facts=replace(operand_pods.carrying(node.facts, parts), wanted=wanted or node.facts.wanted))
        for node in nodes
        if behind_of(node.facts, outside) == resource
    )


def key_of(one: Measurement | EndProbe) -> tuple[str, str, int, int]:
    """What tells one measurement from every other."""
    return one.gate, one.node, one.round, one.attempt


def pending(outside: Outside) -> tuple[Measurement, ...]:
    """What is being measured."""
    return tuple(each for each in outside.measurements if each.verdict is GateVerdict.PENDING)


def probe_ends(
    outside: Outside, measurement: Measurement, version: str, fate: GateFate = TELLING, beside: tuple[str, ...] = ()
) -> Outside:
    """The measurement with its verdict, on a node that runs this driver version, and these operands beside it."""
    ended = _judged(measurement, (version, *beside), fate)
    after = tuple(ended if key_of(each) == key_of(ended) else each for each in outside.measurements)
    return replace(outside, measurements=after)


def _judged(measurement: Measurement, running: tuple[str, ...], fate: GateFate) -> Measurement:
    if measurement.round in fate.unknown_rounds or measurement.attempt <= fate.unknown_tries:
        return replace(measurement, verdict=GateVerdict.UNKNOWN, detail="its pod was never scheduled")
    is_bad = bool(fate.fails_on) and fate.fails_on in running and measurement.round >= fate.from_round
    if is_bad or fate.fails_at & {measurement.node, *measurement.gang}:
        return replace(measurement, verdict=GateVerdict.FAILED, detail=fate.detail)
    node, unit = measurement.node, fate.unit
    figures = tuple(
        Figure(name=name, value=value * _seen_of(fate, name, measurement), node=node, at=0.0, unit=unit)
        for name, value in fate.figures.get(running[0], {}).items()
    )
    return replace(measurement, verdict=GateVerdict.PASSED, figures=figures, drivers=(fate.loaded or running[0],))


def _seen_of(fate: GateFate, name: str, measurement: Measurement) -> float:
    """How much of a figure a node shows in a round."""
    noise = 2 * drawn(f"{name} {measurement.node} {measurement.round}") - 1
    return fate.shares.get(measurement.node, 1.0) * (1 + fate.spread * noise)
