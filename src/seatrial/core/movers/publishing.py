"""Which resource carries which driver version, and what is due so that it carries another.

    releases.py    whole releases of operators, where we bring them ourselves
    olm.py         those that OLM brings, once it is told to

Law of this room: published means seen to be published, in the resource and in the DaemonSets that come from it. A
version is written once per step; if somebody else keeps writing another one, that is named, not fought. Tests:
tests/core/movers/test_publishing.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from seatrial.core.actions.at_home import Publish
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model import deployers
from seatrial.core.model.campaign import PublishStep, Switch, Via
from seatrial.core.model.owners import GPU_PRESENT
from seatrial.core.model.seen.operators import ON_DELETE, Carrier
from seatrial.core.movers import driver_manager, olm, releases
from seatrial.core.movers.view import Outcome, View
from seatrial.core.node.progress import (
    ANY,
    Versions,
    carried,
    carrier_of,
    carries,
    is_network_policy,
    is_policy,
    is_same,
    running,
    share_of,
    wants,
)
from seatrial.core.words import acts as words


def baseline(view: View) -> Versions:
    """What each resource carried before us; where it carries the target already, what its nodes still run."""
    found: dict[str, str] = {}
    mine = {resource for name in view.nodes for resource in view.resources_of(name)}
    for resource in sorted(mine | _vacant(view)):
        text = carried(resource, view.operator, view.target)
        if not text or is_same(text, share_of(resource, view.target)):
            text = _running(view, resource)
        if text:
            found[resource] = olm.without_way_back(view, text)
    return tuple(found.items())


def switches_before(view: View) -> tuple[Switch, ...]:
    """How the driver manager's switches stand in the resources that we are going to write."""
    known = dict(baseline(view))
    return tuple(
        each
        for carrier in view.operator.carriers
        if carrier.name in known and not _keeps_driver(view, carrier)
        for each in driver_manager.standing(carrier)
    )


def _keeps_driver(view: View, carrier: Carrier) -> bool:
    """Whether only operands move: the driver manager is left alone then, for its switches are in the driver's pods."""
    return bool(view.intent.target.components) and is_same(carrier.version, str(view.intent.target.driver))


def _wanted_switches(view: View, step: PublishStep, resource: str) -> tuple[Switch, ...]:
    """What the driver manager of a resource is to be told; nothing where nobody wrote down what it was told before."""
    before = tuple(each for each in view.record.switches if each.resource == resource)
    return before if step is PublishStep.REVERT or not before else driver_manager.off(resource)


def _is_switched(view: View, step: PublishStep, resource: str) -> bool:
    wanted = _wanted_switches(view, step, resource)
    return not wanted or driver_manager.standing(carrier_of(resource, view.operator)) == wanted


def _is_quiet(view: View, step: PublishStep, resource: str) -> bool:
    """Whether a resource has DaemonSets replace no pod by themselves, where that was asked for; it is never undone."""
    is_asked = view.campaign.sets_on_delete and step is not PublishStep.REVERT
    return not is_asked or not is_policy(resource) or carrier_of(resource, view.operator).strategy == ON_DELETE


def kept_on_delete(view: View) -> tuple[str, ...]:
    """Resources that stay as they were told when their versions go back: else all nodes that moved restart at once."""
    is_ours = view.campaign.sets_on_delete and view.campaign.publish is Via.GIT
    return tuple(name for name, _ in view.record.baseline if is_ours and is_policy(name))


def _running(view: View, resource: str) -> str:
    """What most nodes of a resource run that is not the target; empty when all run it."""
    wanted = share_of(resource, view.target)
    found = Counter(
        running(node.facts, wanted) for name, node in sorted(view.nodes.items()) if resource in view.resources_of(name)
    )
    others = [(count, text) for text, count in found.items() if text and not is_same(text, wanted)]
    return max(others)[1] if others else ""


def resources_of(view: View, names: Iterable[str]) -> Versions:
    """The resources that say which drivers these nodes run, each with its share of the target."""
    found = {resource for name in names if name in view.nodes for resource in view.resources_of(name)}
    return tuple((resource, share_of(resource, view.target)) for resource in sorted(found))


def vacant(view: View) -> Versions:
    """Pools of the rollout that own no node now, each with the target: who joins one is to come up with it.

    Written only where we write ourselves and know the way back. What a repository says of such a pool, and whether it
    says anything, nobody here can tell: there the end names it instead.
    """
    known = dict(view.record.baseline)
    if view.campaign.publish is not Via.DIRECT:
        return ()
    mine = (resource for resource in sorted(_vacant(view)) if resource in known)
    return tuple((resource, share_of(resource, view.target)) for resource in mine)


def left_out(view: View) -> tuple[str, ...]:
    """Pools of the rollout that own no node now and do not carry the target, each with what it carries."""
    found = ((resource, carried(resource, view.operator, view.target)) for resource in sorted(_vacant(view)))
    return tuple(
        f"{resource} ({text or 'no version'})"
        for resource, text in found
        if not is_same(text, share_of(resource, view.target))
    )


def _vacant(view: View) -> set[str]:
    """NVIDIADrivers that own no member and whose nodes would be members: they ask for all that the rollout does."""
    owned = {node.facts.owner for node in view.nodes.values()}
    return {
        f"NVIDIADriver/{pool.name}"
        for pool in view.operator.pools
        if pool.name not in owned
        and not pool.claim.is_deleting
        and view.intent.selector.items() <= {**GPU_PRESENT, **(pool.claim.selector or {})}.items()
    }


def why_not(view: View) -> tuple[Hold, ...]:
    """Why nothing can be published, or could not be taken back again."""
    found = (_no_way_back(view), _nothing_to_publish(view))
    return (*(held for held in found if held is not None), *releases.why_not(view))


def _no_way_back(view: View) -> Hold | None:
    known = dict(baseline(view))
    for name, node in sorted(view.nodes.items()):
        for resource in view.resources_of(name):
            if resource not in known and not carries(node.facts, share_of(resource, view.target)):
                return view.hold(HoldCode.NO_WAY_BACK, resource=resource, node=name)
    return None


def _nothing_to_publish(view: View) -> Hold | None:
    is_needed = view.campaign.publish is not Via.NOBODY and not view.operator.carriers
    return view.hold(HoldCode.NOTHING_TO_PUBLISH) if is_needed else None


def publish(view: View, step: PublishStep, wanted: Versions) -> Outcome:
    """What is due so that these resources carry these versions, and why we wait meanwhile."""
    via = view.campaign.publish
    restless = olm.why_any_automatic(view) if step is not PublishStep.REVERT else None
    if restless is not None:
        return (), (restless,)
    note = _note(view, step) if via is Via.DIRECT else ""
    is_noted = step is PublishStep.REVERT and via is Via.DIRECT
    missing = tuple(
        (name, text)
        for name, text in wanted
        if name != ANY
        and (not _is_whole(view, step, name, text) or (is_noted and carrier_of(name, view.operator).note != note))
        and not _is_left(view, step, name, text, note)
    )
    if not missing or via is Via.NOBODY:
        return await_carried(view, step, wanted)
    if via is Via.GIT and view.source is not None and view.source.commit_of(step):
        return await_carried(view, step, wanted)
    if via is Via.GIT and (view.source is None or view.source.trouble):
        # Whether our commit is there cannot be told, and nothing is committed twice.
        return (), (view.unreachable(),)
    stale = view.outdated() if via is Via.GIT and step is not PublishStep.REVERT else None
    if stale is not None:
        return (), (stale,)
    if view.seen.others and step is not PublishStep.REVERT:
        # Two that were proposed in the same moment; who goes back publishes only what was there before.
        return (), (view.hold(HoldCode.OTHER_ROLLOUT, other=view.seen.others[0]),)
    if via is Via.DIRECT:
        released = releases.due(view, step, missing)
        if released is not None:
            return released
        missing = tuple((name, releases.bare(text)) for name, text in missing)
    other = writer_of(view, missing[0][0]) if via is Via.DIRECT else ""
    is_back = step is PublishStep.REVERT and _is_carried(view, *missing[0])
    if other and not is_back and not _is_whole(view, step, *missing[0]):
        told = {"resource": missing[0][0], "version": missing[0][1], "writer": other}
        return (), (hold(view.name, HoldCode.WRITTEN_BY_ANOTHER, told),)
    if via is Via.DIRECT and step is not PublishStep.REVERT:
        others = tuple(each for each in missing if not _is_carried(view, *each))
        told = _taken_over(view, others) or _switched_back(view, missing)
        if told:
            return (), (hold(view.name, HoldCode.TAKEN_OVER, told, since=view.record.entered_at),)
    seen = ((name, carrier_of(name, view.operator).resource_version) for name, _ in missing)
    expects = tuple(seen) if via is Via.DIRECT else ()
    switches = tuple(each for name, _ in missing for each in _wanted_switches(view, step, name))
    act = Publish(
        rollout=view.name,
        step=step,
        versions=missing,
        via=via,
        expects=expects,
        note=note,
        switches=switches,
        on_delete=any(not _is_quiet(view, step, name) for name, _ in missing),
    )
    return view.act(act, HoldCode.PUBLISH_PENDING, resource=missing[0][0], version=missing[0][1], via=via)


def _is_left(view: View, step: PublishStep, resource: str, text: str, note: str) -> bool:
    """Whether somebody brought the old version back and keeps the switches as they are: tried once, and not fought."""
    is_ours_noted = bool(note) and carrier_of(resource, view.operator).note == note
    is_back = step is PublishStep.REVERT and _is_carried(view, resource, text)
    return is_back and is_ours_noted and bool(writer_of(view, resource))


def _note(view: View, step: PublishStep) -> str:
    """What is noted on a resource with a version. On the way back it is noted in any case, also where nothing is to be
    changed: a write of ours that is still on its way is bound to the resource as it was, and must not arrive after the
    end."""
    at = f"/{view.record.entered_at:.0f}" if step is PublishStep.REVERT else ""
    return f"{view.name}/{step}{at}"


def _taken_over(view: View, missing: Versions) -> dict[str, str]:
    """What somebody wrote into a resource since the campaign began; empty when it is as we found it.

    A third version is theirs. So is the one from before us, once the canary has run ours: who puts it back by hand may
    be in a hurry, and is not to be overruled by a machine.
    """
    baseline = dict(view.record.baseline)
    names = (carrier.name for carrier in view.operator.carriers)
    is_carried = any(_is_carried(view, name, share_of(name, view.target)) for name in names)
    for resource, text in missing:
        found, before = carried(resource, view.operator, text), releases.bare(baseline.get(resource, ""))
        is_back = view.record.has_asked and (_has_run(view, resource) or not is_carried)
        if found and before and (is_back or not is_same(found, before)):
            writer = carrier_of(resource, view.operator).writer or "somebody"
            return {"resource": resource, "version": text, "found": found, "writer": writer}
    return {}


def _switched_back(view: View, missing: Versions) -> dict[str, str]:
    """What somebody told the driver manager of a resource after we had switched it off; empty when nobody did."""
    for resource, text in missing:
        carrier = carrier_of(resource, view.operator)
        if _is_carried(view, resource, text) and carrier.note.startswith(f"{view.name}/"):
            wanted, found = driver_manager.off(resource), driver_manager.standing(carrier)
            said = {"version": words.switched(wanted), "found": words.switched(found)}
            if _is_switched(view, PublishStep.CANARY, resource):
                said = {"version": _strategy(ON_DELETE), "found": _strategy(carrier.strategy)}
            return {"resource": resource, "writer": "somebody"} | said
    return {}


def _strategy(text: str) -> str:
    return f"updateStrategy {text or 'RollingUpdate'}"


def _has_run(view: View, resource: str) -> bool:
    """Whether a node of this resource runs the target, and so was given it."""
    wanted = share_of(resource, view.target)
    mine = (node.facts for name, node in view.nodes.items() if resource in view.resources_of(name))
    # Where no network driver runs, a node carries whatever is said of one.
    is_network = is_network_policy(resource)
    return any(carries(facts, wanted) for facts in mine if not is_network or facts.network is not None)


def await_carried(view: View, step: PublishStep, wanted: Versions) -> Outcome:
    """Why these resources are not seen to carry these versions yet; nothing when they are, down to the DaemonSets."""
    for resource, text in wanted:
        # Who put the old version back for us may have left the switches off, which harms nobody: it is not waited for.
        is_told = _is_switched(view, step, resource) and _is_quiet(view, step, resource)
        is_there = _is_carried(view, resource, text) and (step is PublishStep.REVERT or is_told)
        is_behind = not is_there or not _has_followed(view, resource, text)
        if is_behind:
            told = {"resource": resource, "version": text, "via": view.campaign.publish}
            word = None if is_there else _word_of_follower(view, told)
            return (), (word or hold(view.name, HoldCode.PUBLISH_PENDING, told, since=view.record.entered_at),)
    return (), ()


def _word_of_follower(view: View, told: dict[str, str]) -> Hold | None:
    """Why our commit is not in the cluster, by the word of whoever brings it there; None where nobody may be asked."""
    carrier = carrier_of(told["resource"], view.operator)
    follower = deployers.follower_of(carrier.marks, view.seen.followers) if view.campaign.publish is Via.GIT else None
    if follower is None:
        return None
    told = {**told, "follower": follower.title, "look": follower.look}
    since = view.record.entered_at
    if follower.stop is not None:
        told |= {"stop": follower.stop, "resume": follower.resume}
        return hold(view.name, HoldCode.SYNC_STOPPED, told, since=since)
    if follower.trouble:
        told |= {"said": follower.trouble, "mend": follower.mend}
        return hold(view.name, HoldCode.SYNC_FAILED, told, since=since)
    ours = tuple(commit for _, commit in view.source.steps) if view.source is not None else ()
    is_ours = bool(follower.commit) and any(each.startswith(follower.commit) for each in ours)
    if is_ours and carrier.writer and not writer_of(view, told["resource"]):
        told |= {"writer": carrier.writer, "found": carrier.version, "restore": follower.restore}
        return hold(view.name, HoldCode.SYNC_OVERWRITTEN, told, since=since)
    if follower.waits_for:
        return hold(view.name, HoldCode.SYNC_WAITING, told, since=since, said=follower.waits_for)
    return hold(view.name, HoldCode.PUBLISH_PENDING, told, since=since, at=follower.commit[:12])


def is_published(view: View, name: str) -> bool:
    """Whether the resources of a node carry the target."""
    mine = view.resources_of(name) or ("",)
    return all(_is_carried(view, resource, share_of(resource, view.target)) for resource in mine)


def _is_whole(view: View, step: PublishStep, resource: str, text: str) -> bool:
    """Whether a resource carries a version, and says what belongs to it to driver manager and DaemonSets."""
    is_told = _is_switched(view, step, resource) and _is_quiet(view, step, resource)
    return is_told and _is_carried(view, resource, text)


def _is_carried(view: View, resource: str, text: str) -> bool:
    return resource == ANY or is_same(carried(resource, view.operator, text), text)


def _has_followed(view: View, resource: str, text: str) -> bool:
    """Whether the DaemonSets of a resource want what it says; those of nodes without a driver pod cannot be told."""
    mine = (node.facts for name, node in view.nodes.items() if resource in view.resources_of(name))
    return all(wants(facts, text) for facts in mine if facts.wanted is not None)


def writer_of(view: View, resource: str) -> str:
    """Who brings a repository into the cluster and wrote the version of this resource last; empty when nobody does."""
    writer = carrier_of(resource, view.operator).writer
    return writer if deployers.is_deployer(writer) else ""
