"""Which resource carries which version: published means seen to be published, down to the DaemonSets."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatrial.core.actions.at_home import Publish
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model import deployers
from seatrial.core.model.campaign import PublishStep, RolloutPhase, Via
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import Carrier, OperatorFacts
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.movers import publishing
from seatrial.core.movers.view import View
from seatrial.core.node.progress import ANY, Versions
from tests.builders import (
    NEW,
    NOW,
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_driver,
    a_node,
    a_rebuff,
    a_snapshot,
    a_source,
    a_view,
    a_well_node,
    an_intent,
    an_old_node,
    an_operator,
    published,
)

WANTED = ((POLICY, NEW.version),)
PUBLISH = published(PublishStep.CANARY, *WANTED)
BACK = published(PublishStep.REVERT, *WANTED, note="spring/revert/900")


def view(*nodes: NodeSeen, via: Via = Via.DIRECT, **changes: Any) -> View:
    fields: dict[str, Any] = {"operator": an_operator(), "campaign": a_campaign_record(RolloutPhase.CANARY)}
    seen = a_snapshot(*(nodes or (an_old_node(),)), **(fields | changes))
    return a_view(seen, an_intent(campaign=a_campaign(publish=via)))


def told(view: View, step: PublishStep = PublishStep.CANARY) -> tuple[tuple[Any, ...], list[HoldCode]]:
    acts, holds = publishing.publish(view, step, WANTED)
    return acts, [held.code for held in holds]


# ── the way back ─────────────────────────────────────────────────────────────────────────────────────────────────────

FLEET = (an_old_node(), an_old_node("n2", driver=a_driver("n2", version="550.54.15")), a_well_node("n3"))


@pytest.mark.parametrize(
    ("nodes", "operator", "found"),
    [
        ((an_old_node(),), an_operator(), ((POLICY, OLD.version),)),
        ((*FLEET, an_old_node("n4")), an_operator(NEW.version), ((POLICY, OLD.version),)),
        ((*FLEET, an_old_node("n4")), OperatorFacts(), ((ANY, OLD.version),)),
        ((a_well_node(),), an_operator(NEW.version), ()),
        ((an_old_node(driver=None),), an_operator(""), ()),
    ],
    ids=[
        "what is carried",
        "what most still run",
        "what runs without an operator",
        "nobody has a way to go",
        "unknown",
    ],
)
def test_the_way_back_is(nodes: tuple[NodeSeen, ...], operator: OperatorFacts, found: Versions) -> None:
    assert publishing.baseline(view(*nodes, operator=operator)) == found


def test_nodes_have_their_resources_each_once() -> None:
    found = view(an_old_node(owner="b"), an_old_node("n2", owner="a"), an_old_node("n3", owner="b"))
    expected = (("NVIDIADriver/a", NEW.version), ("NVIDIADriver/b", NEW.version))
    assert publishing.resources_of(found, ("n1", "n2", "n3", "gone")) == expected


# ── publishing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_version_that_is_not_carried_is_published() -> None:
    acts, holds = publishing.publish(view(), PublishStep.CANARY, WANTED)
    params = {"resource": POLICY, "version": NEW.version, "via": "direct"}
    assert (acts, holds) == ((PUBLISH,), (hold("spring", HoldCode.PUBLISH_PENDING, params, since=900.0),))


def test_a_version_that_is_carried_and_wanted_by_every_daemon_set_needs_nothing() -> None:
    assert told(view(a_node(), a_node("n2", wanted=None), operator=an_operator(NEW.version))) == ((), [])


def test_a_version_that_the_daemon_sets_have_not_taken_over_is_waited_for() -> None:
    assert told(view(a_node(), an_old_node("n2"), operator=an_operator(NEW.version))) == (
        (),
        [HoldCode.PUBLISH_PENDING],
    )


def test_where_somebody_else_publishes_it_is_waited_for() -> None:
    assert told(view(via=Via.NOBODY)) == ((), [HoldCode.PUBLISH_PENDING])


def test_daemon_sets_without_an_operator_are_watched_and_not_written() -> None:
    watched = view(operator=OperatorFacts())
    acts, holds = publishing.publish(watched, PublishStep.CANARY, ((ANY, NEW.version),))
    assert (acts, [held.code for held in holds]) == ((), [HoldCode.PUBLISH_PENDING])


@pytest.mark.parametrize("writer", ["argocd-controller", "kustomize-controller", "helm-controller", "flux"])
def test_who_writes_the_resource_from_a_repository_is_named_and_not_fought(writer: str) -> None:
    acts, holds = publishing.publish(view(operator=an_operator(writer=writer)), PublishStep.CANARY, WANTED)
    params = {"resource": POLICY, "version": NEW.version, "writer": writer}
    assert (acts, holds) == ((), (hold("spring", HoldCode.WRITTEN_BY_ANOTHER, params),))


def test_a_person_who_wrote_the_resource_last_does_not_mind() -> None:
    assert told(view(operator=an_operator(writer="kubectl-edit"))) == ((PUBLISH,), [HoldCode.PUBLISH_PENDING])


BEGUN = a_campaign_record(RolloutPhase.CANARY, baseline=((POLICY, OLD.version),))
AFTER_A_ROUND = a_campaign_record(RolloutPhase.CANARY, baseline=((POLICY, OLD.version),), round=1)


def test_a_third_version_that_a_person_writes_is_named_and_not_overruled() -> None:
    there = view(operator=an_operator("575.57.08", writer="kubectl-edit"), campaign=BEGUN)
    acts, holds = publishing.publish(there, PublishStep.CANARY, WANTED)
    params = {"resource": POLICY, "version": NEW.version, "found": "575.57.08", "writer": "kubectl-edit"}
    assert (acts, holds) == ((), (hold("spring", HoldCode.TAKEN_OVER, params, since=900.0),))
    assert told(there, PublishStep.REVERT) == ((BACK,), [HoldCode.PUBLISH_PENDING])


def test_a_version_that_a_person_puts_back_after_the_canary_ran_is_not_overruled() -> None:
    ran = an_old_node(driver=a_driver("n1", version=NEW.version))
    assert told(view(ran, campaign=AFTER_A_ROUND)) == ((), [HoldCode.TAKEN_OVER])
    assert told(view(an_old_node(), campaign=AFTER_A_ROUND)) == ((), [HoldCode.TAKEN_OVER])
    assert told(view(ran, campaign=BEGUN)) == ((PUBLISH,), [HoldCode.PUBLISH_PENDING])


def test_another_resource_is_published_to_while_the_first_one_still_carries_the_target() -> None:
    canary = a_node(owner="canary")
    fleet = an_old_node("n2", owner="fleet")
    carriers = (
        Carrier(name="NVIDIADriver/canary", version=NEW.version),
        Carrier(name="NVIDIADriver/fleet", version=OLD.version),
    )
    baseline = (("NVIDIADriver/canary", OLD.version), ("NVIDIADriver/fleet", OLD.version))
    record = a_campaign_record(RolloutPhase.CANARY, baseline=baseline, round=1)
    seen = view(canary, fleet, operator=replace(an_operator(), carriers=carriers), campaign=record)
    wanted = (("NVIDIADriver/fleet", NEW.version),)
    acts, _ = publishing.publish(seen, PublishStep.CANARY, wanted)
    assert [act.versions for act in acts if isinstance(act, Publish)] == [wanted]


def test_a_commit_is_made_once_and_then_waited_for() -> None:
    acts, codes = told(view(via=Via.GIT, source=a_source()))
    assert [act.via for act in acts] == [Via.GIT]
    assert codes == [HoldCode.PUBLISH_PENDING]
    there = a_source(steps=((PublishStep.CANARY, "c1"),))
    assert told(view(via=Via.GIT, source=there)) == ((), [HoldCode.PUBLISH_PENDING])
    out_of_reach = a_source(steps=((PublishStep.CANARY, "c1"),), trouble="no route to host")
    assert told(view(via=Via.GIT, source=out_of_reach)) == ((), [HoldCode.PUBLISH_PENDING])


@pytest.mark.parametrize("source", [None, a_source(trouble="no route to host")])
def test_nothing_is_committed_while_it_cannot_be_told_whether_it_is_there(source: Any) -> None:
    assert told(view(via=Via.GIT, source=source)) == ((), [HoldCode.SOURCE_UNREACHABLE])


def test_nothing_new_is_published_beside_another_campaign_and_the_way_back_is_free() -> None:
    assert told(view(others=("winter",))) == ((), [HoldCode.OTHER_ROLLOUT])
    assert told(view(others=("winter",)), PublishStep.REVERT)[1] == [HoldCode.PUBLISH_PENDING]


def test_a_write_under_way_is_not_made_twice_and_one_turned_down_says_why() -> None:
    acts, holds = publishing.publish(view(busy={PUBLISH.subject: NOW + 5}), PublishStep.CANARY, WANTED)
    assert (acts, holds[0].until) == ((), NOW + 5)
    refused = view(rebuffs={PUBLISH.subject: a_rebuff(detail="clusterpolicies is forbidden")})
    acts, holds = publishing.publish(refused, PublishStep.CANARY, WANTED)
    assert (acts, holds[0].code, holds[0].until) == ((), HoldCode.WRITE_REFUSED, NOW + 5)


def test_a_node_is_published_for_when_its_resource_carries_the_target() -> None:
    assert not publishing.is_published(view(), "n1")
    assert publishing.is_published(view(operator=an_operator(NEW.version)), "n1")


def test_an_image_that_says_no_version_is_never_seen_to_follow() -> None:
    silent = a_node(wanted=DriverRevision(hash="x", version=""))
    assert told(view(silent, operator=an_operator(NEW.version))) == ((), [HoldCode.PUBLISH_PENDING])


def test_on_the_way_back_a_resource_is_noted_on_although_it_carries_the_old_version_already() -> None:
    clean = replace(an_operator(), carriers=(replace(an_operator().carriers[0], note="", resource_version="7"),))
    there = view(operator=clean, campaign=a_campaign_record(RolloutPhase.REVERTING))
    acts, _ = publishing.publish(there, PublishStep.REVERT, ((POLICY, OLD.version),))
    wanted = published(PublishStep.REVERT, (POLICY, OLD.version), note="spring/revert/900")
    assert acts == (replace(wanted, expects=((POLICY, "7"),)),), "a late write of ours is then bound to what is gone"
    assert publishing.publish(view(campaign=there.record), PublishStep.REVERT, ((POLICY, OLD.version),)) == ((), ())


def test_every_deployer_is_named_in_the_sentences_and_known_by_what_it_writes() -> None:
    assert deployers.ENGINE == "your GitOps engine (Argo CD or Flux)"
    assert all(each.name in deployers.ENGINE for each in deployers.DEPLOYERS)
    assert all(deployers.is_deployer(f"{manager}-1") for each in deployers.DEPLOYERS for manager in each.managers)
    assert not deployers.is_deployer("kubectl-edit")


def test_no_sentence_of_the_product_lists_deployers_by_itself() -> None:
    source = Path(deployers.__file__).parents[2]
    names = re.compile("|".join(each.name for each in deployers.DEPLOYERS))
    listing = [path for path in sorted(source.rglob("*.py")) if names.search(path.read_text(encoding="utf-8"))]
    # A bundle is for one of them, and says so.
    assert [path.name for path in listing if "bundle" not in path.as_posix()] == ["deployers.py"]
