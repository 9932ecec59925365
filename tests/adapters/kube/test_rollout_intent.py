"""A rollout's spec as an Intent: every field arrives, and what cannot be meant is told where it stands."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.reading.rollout_intent import publish_place, read_intent
from seatrial.adapters.kube.shapes import models
from seatrial.core.compat.matrix import Component
from seatrial.core.model import windows
from seatrial.core.model.campaign import (
    Bake,
    ByHand,
    Campaign,
    Canary,
    GitPlace,
    Growth,
    Mode,
    Places,
    Point,
    Spoken,
    Via,
    Waves,
)
from seatrial.core.model.gates.gate import Attest, Gate, Limit, Metric, Tenant, Word
from seatrial.core.model.intent import Checkpoint, Domain, Intent, OnDelete, Order, Requestor, Retries
from seatrial.core.model.owners import DriverClaim
from seatrial.core.model.policy import Attrition, Drain, Eviction, JobWait, Limits, Policy, PolicyWish, Share
from seatrial.core.model.seen.operators import OperatorFacts, Pool
from seatrial.core.model.selectors import Selector, drain_selector
from seatrial.core.model.target import Target
from seatrial.core.text import foreign

NO_OPERATOR = OperatorFacts()
NOW = datetime(2026, 3, 27, 15, 30, tzinfo=UTC).timestamp()
"""The Friday before the clocks of Europe go forward."""
HOUR = 3600.0
WORD = {
    "gate": "signed",
    "node": "gpu-01",
    "verdict": "fail",
    "because": "slow",
    "by": "ann",
    "at": "2026-03-27T15:30:00Z",
    "until": "2026-03-28T03:30:00Z",
}


def a_rollout(**fields: Any) -> models.Rollout:
    """A rollout as the API server stores it."""
    spec = {"target": {"driver": "580.105.08"}} | fields.pop("spec", {})
    return msgspec.convert(
        {"metadata": {"name": "spring", "resourceVersion": "40"}, "spec": spec, **fields}, models.Rollout
    )


KINDS = "image, attest, prometheus, expression, tenant, webhook"
OURS = ("all_gpus", "not_on")
"""What the suite says of its gates, and nobody else can."""


@pytest.mark.parametrize(("said", "meant"), [(models.RolloutGate, Gate), (models.RolloutCheckpoint, Checkpoint)])
def test_what_is_handed_over_by_name_has_the_same_names_on_both_sides(said: type[models.Model], meant: type) -> None:
    """A field that core does not know would fail with the first rollout; one that the spec lacks nobody could set."""
    known = [each.name for each in dataclasses.fields(meant) if each.name not in OURS]
    assert [each.name for each in msgspec.structs.fields(said)] == known


def test_a_rollouts_spec_is_the_intent() -> None:
    spec = {
        "limits": {"maxParallelUpgrades": 4, "maxUnavailable": "10%", "maxFailed": 2},
        "waitForCompletion": {"podSelector": "kind=job", "timeoutSeconds": 30},
        "podDeletion": {"force": True, "deleteEmptyDir": True, "timeoutSeconds": 60},
        "drain": {"enable": True, "podSelector": "tier!=db", "timeoutSeconds": 90, "force": True},
        "domains": [
            {"label": "rack", "maxUnavailable": 1},
            {"label": "nvidia.com/gpu.clique", "unit": True},
        ],
        "order": "idle-first",
        "retries": {"max": 2, "pauseSeconds": 10},
        "checkpoint": {"timeoutSeconds": 5, "webhook": "https://saver.example/save"},
        "maintenance": {"requestorID": "seatrial.dev", "namespace": "ops", "prefix": "gpu", "timeoutSeconds": 7},
        "driverTimeoutSeconds": 900,
        "validationTimeoutSeconds": 120,
        "paused": True,
        "nodeSelector": {"zone": "east"},
        "onDelete": "revert",
    }
    assert read_intent(a_rollout(spec=spec), NO_OPERATOR, NOW) == Intent(
        rollout="spring",
        target=Target.of("580.105.08"),
        policy=Policy(
            limits=Limits(parallel_max=4, unavailable_max=Share(amount=10, is_percent=True)),
            jobs=JobWait(selector=Selector.parse("kind=job"), timeout_seconds=30),
            eviction=Eviction(force=True, delete_empty_dir=True, timeout_seconds=60),
            drain=Drain(
                is_enabled=True,
                selector=drain_selector("tier!=db"),
                rules=Eviction(force=True, timeout_seconds=90),
            ),
        ),
        failed_max=2,
        domains=(
            Domain(label="rack", unavailable_max=Share(amount=1)),
            Domain(label="nvidia.com/gpu.clique", is_unit=True),
        ),
        order=Order.IDLE_FIRST,
        retries=Retries(count_max=2, pause_seconds=10),
        checkpoint=Checkpoint(timeout_seconds=5, webhook="https://saver.example/save"),
        requestor=Requestor(id="seatrial.dev", namespace="ops", prefix="gpu", timeout_seconds=7),
        restart_timeout_seconds=900,
        validation_timeout_seconds=120,
        is_paused=True,
        selector={"zone": "east"},
        on_delete=OnDelete.REVERT,
    )


def test_by_attrition_idle_gpus_bound_it_and_of_nodes_what_the_rollout_itself_says() -> None:
    operator = OperatorFacts(policy=PolicyWish(parallel_max=3, unavailable_max=Share(amount=1)))
    found = read_intent(a_rollout(spec={"canary": {}, "attrition": {"closeAhead": "50%"}}), operator, NOW)
    assert found.attrition == Attrition(deadline_seconds=86_400.0, close_ahead=0.5, evicts_early=True)
    everybody, tenth = Share(amount=100, is_percent=True), Share(amount=10, is_percent=True)
    assert found.limits == Limits(parallel_max=3, unavailable_max=everybody, idle_gpus_max=tenth)
    said = {"attrition": {"earlyEviction": False}, "limits": {"maxUnavailable": 2, "maxIdleGPUs": 16}}
    found = read_intent(a_rollout(spec={"canary": {}, **said}), operator, NOW)
    assert found.attrition == Attrition(evicts_early=False)
    assert found.limits == Limits(parallel_max=3, unavailable_max=Share(amount=2), idle_gpus_max=Share(amount=16))


def test_by_attrition_an_nvidia_driver_keeps_the_limit_that_it_says() -> None:
    pools = (
        Pool(name="a", claim=DriverClaim(name="a"), policy=PolicyWish(unavailable_max=Share(amount=1))),
        Pool(name="b", claim=DriverClaim(name="b")),
    )
    spec: dict[str, Any] = {"canary": {}, "attrition": {}}
    found = read_intent(a_rollout(spec=spec), OperatorFacts(pools=pools), NOW).pools
    limits = {name: str(policy.limits.unavailable_max) for name, policy in found.items()}
    assert limits == {"a": "1", "b": "100%"}


def test_attrition_needs_waves() -> None:
    with pytest.raises(ValueError, match="counts from the opening of the waves"):
        read_intent(a_rollout(spec={"attrition": {}}), NO_OPERATOR, NOW)


def test_what_a_rollout_leaves_out_has_the_defaults_of_the_intent() -> None:
    assert read_intent(a_rollout(), NO_OPERATOR, NOW) == Intent(rollout="spring", target=Target.of("580.105.08"))


def test_where_a_rollout_is_silent_the_cluster_policy_speaks() -> None:
    operator = OperatorFacts(
        kind="ClusterPolicy/cluster-policy",
        policy=PolicyWish(parallel_max=8, eviction_force=True, drain_enable=True, drain_selector="a=b"),
    )
    spec = {"limits": {"maxParallelUpgrades": 2}, "podDeletion": {"timeoutSeconds": 5}}
    policy = read_intent(a_rollout(spec=spec), operator, NOW).policy
    assert policy.limits == Limits(parallel_max=2)
    assert policy.eviction == Eviction(force=True, timeout_seconds=5)
    assert (policy.drain.is_enabled, policy.drain.selector) == (True, drain_selector("a=b"))


def test_each_nvidia_driver_speaks_for_its_own_nodes() -> None:
    pools = (
        Pool(name="a", claim=DriverClaim(name="a"), policy=PolicyWish(parallel_max=3)),
        Pool(name="b", claim=DriverClaim(name="b"), policy=PolicyWish(eviction_force=True)),
    )
    intent = read_intent(a_rollout(spec={"podDeletion": {"timeoutSeconds": 5}}), OperatorFacts(pools=pools), NOW)
    assert intent.pools == {
        "a": Policy(limits=Limits(parallel_max=3), eviction=Eviction(timeout_seconds=5)),
        "b": Policy(eviction=Eviction(force=True, timeout_seconds=5)),
    }
    assert intent.limits.parallel_max == 0


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"target": {"driver": "6.x TBD"}}, "spec.target.driver: GPU driver '6.x TBD' is unreadable"),
        (
            {"target": {"driver": "580.105.08", "dra_driver": "newest"}},
            "spec.target.dra_driver: DRA driver 'newest' is unreadable",
        ),
        (
            {"limits": {"maxUnavailable": "150%"}},
            "spec.limits.maxUnavailable: maxUnavailable '150%' is more than all of",
        ),
        (
            {"domains": [{"label": "rack", "maxUnavailable": "150%"}]},
            "spec.domains[0].maxUnavailable: maxUnavailable '150%' is more than all of the nodes; the most is 100%.",
        ),
        ({"limits": {"maxUnavailable": "many"}}, "spec.limits.maxUnavailable: maxUnavailable 'many' is neither"),
        ({"domains": [{"label": "rack", "maxUnavailable": "x"}]}, "spec.domains[0].maxUnavailable: maxUnavailable 'x'"),
        ({"order": "random"}, "spec.order: 'random' is none of name, idle-first, domain-by-domain, priority."),
        ({"drain": {"podSelector": "a in ("}}, "spec.drain.podSelector: label selector 'a in ('"),
        ({"waitForCompletion": {"podSelector": "="}}, "spec.waitForCompletion.podSelector: label selector '='"),
    ],
)
def test_a_rollout_that_cannot_be_meant_is_told_where(spec: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        read_intent(a_rollout(spec=spec), NO_OPERATOR, NOW)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("operator", "sentence"),
    [
        (
            OperatorFacts(kind="ClusterPolicy/gpu", policy=PolicyWish(drain_selector="a in (")),
            "upgradePolicy.drain.podSelector of ClusterPolicy/gpu: label selector 'a in ('",
        ),
        (
            OperatorFacts(pools=(Pool(name="a", claim=DriverClaim(name="a"), policy=PolicyWish(jobs_selector="=")),)),
            "upgradePolicy.waitForCompletion.podSelector of NVIDIADriver/a: label selector '='",
        ),
    ],
)
def test_a_selector_of_the_operator_is_told_where_unless_it_is_overruled(
    operator: OperatorFacts, sentence: str
) -> None:
    with pytest.raises(ValueError) as caught:
        read_intent(a_rollout(), operator, NOW)
    assert str(caught.value).startswith(sentence)
    own = {"drain": {"podSelector": "a=b"}, "waitForCompletion": {"podSelector": "c=d"}}
    assert read_intent(a_rollout(spec=own), operator, NOW).rollout == "spring"


# ── the campaign ─────────────────────────────────────────────────────────────────────────────────────────────────────

GIT = {"url": "https://git.example/gpu.git"}


def a_campaign(**spec: Any) -> Campaign:
    """The campaign that a spec asks for."""
    found = read_intent(a_rollout(spec={"canary": {}} | spec), NO_OPERATOR, NOW).campaign
    assert found is not None
    return found


def test_without_a_canary_there_is_no_campaign() -> None:
    assert read_intent(a_rollout(spec={"gates": []}), NO_OPERATOR, NOW).campaign is None


def test_a_canary_alone_asks_for_what_the_core_asks_by_default() -> None:
    assert a_campaign() == Campaign(suite_image="")


def test_who_says_no_word_about_gates_has_the_suite_of_the_controller_and_who_asks_for_none_has_none() -> None:
    def campaign(**spec: Any) -> Campaign | None:
        rollout = a_rollout(spec={"canary": {}} | spec)
        return read_intent(rollout, NO_OPERATOR, NOW, suite_image="example.com/probes:1").campaign

    assert campaign() == Campaign(suite_image="example.com/probes:1")
    assert campaign(gates=[]) == Campaign()


def test_the_address_of_a_report_is_filled_in_for_each_campaign() -> None:
    pattern = "https://reports.example/{rollout}/{target}"
    found = read_intent(a_rollout(spec={"canary": {}}), NO_OPERATOR, NOW, report_url=pattern)
    assert found.campaign is not None
    assert found.campaign.report == f"https://reports.example/{found.rollout}/{found.target.driver}"
    assert read_intent(a_rollout(), NO_OPERATOR, NOW, report_url=pattern).campaign is None


def test_who_told_it_what_arrives_as_they_signed() -> None:
    said = [
        {"what": "approved waves", "by": "alice", "at": "2026-03-03T10:20:00Z"},
        {"what": "paused\x00it", "at": "?"},
    ]
    assert a_campaign(said=said).said == (
        Spoken(what="approved waves", by="alice"),
        Spoken(what=foreign.line("paused\x00it")),
    )


def test_everything_that_is_asked_of_a_campaign_arrives() -> None:
    spec = {
        "mode": "delegated",
        "matrix": {"git": GIT, "entry": "planned"},
        "publish": {"via": "git", "git": {"path": "values.yaml"}},
        "canary": {
            "count": 2,
            "nodes": ["gpu-01"],
            "selector": {"a": "b"},
            "machineConfigPool": "gpu-canary",
            "pausePools": ["worker"],
        },
        "gates": [
            {"name": "nccl", "image": "nccl:2", "command": ["run", "-g"], "gpus": 8, "timeoutSeconds": 60},
            {
                "name": "speed",
                "image": "p:1",
                "probe": "performance",
                "figures": [{"name": "hbm-copy", "atLeast": 4e3}],
            },
            {"name": "signed", "attest": {"asks": "the tenants are content"}},
            {"name": "vision", "tenant": {"podSelector": "team=vision", "pods": 2}},
            {"name": "all", "expression": "verdicts.nccl == 'passed'"},
            {"name": "ci", "webhook": "https://ci.example/ask"},
            {"name": "rate", "prometheus": {"query": "max(errors)", "unit": "1/s", "atMost": 0.5}},
        ],
        "bake": {
            "durationSeconds": 7200,
            "everySeconds": 600,
            "minimumLoad": 20,
            "until": {"exclude": "3%", "confidence": "99.9%"},
        },
        "waves": {
            "growth": "percentages",
            "first": 2,
            "step": "10%",
            "factor": 3,
            "percentages": [5, 100],
            "pauseSeconds": 30,
        },
        "approvals": {"manual": ["canary", "rollback"], "approved": ["canary"], "attested": [WORD]},
        "abort": "it smokes",
        "markBad": True,
        "prepull": False,
    }
    assert a_campaign(**spec) == Campaign(
        canary=Canary(count=2, nodes=("gpu-01",), selector={"a": "b"}),
        gates=(
            Gate(name="nccl", image="nccl:2", command=("run", "-g"), gpus=8, timeout_seconds=60),
            Gate(name="speed", image="p:1", probe="performance", figures=(Limit(name="hbm-copy", at_least=4000.0),)),
            Gate(name="signed", attest=Attest(asks="the tenants are content")),
            Gate(name="vision", tenant=Tenant(pod_selector="team=vision", pods=2)),
            Gate(name="all", expression="verdicts.nccl == 'passed'"),
            Gate(name="ci", webhook="https://ci.example/ask"),
            Gate(name="rate", prometheus=Metric(query="max(errors)", unit="1/s", at_most=0.5)),
        ),
        bake=Bake(seconds=7200, every_seconds=600, load_min=0.2, exclude=0.03, confidence=0.999),
        waves=Waves(
            growth=Growth.SHARES,
            first=Share(amount=2),
            step=Share(amount=10, is_percent=True),
            factor=3,
            shares=(Share(amount=5, is_percent=True), Share(amount=100, is_percent=True)),
            pause_seconds=30,
        ),
        manual=(Point.CANARY, Point.ROLLBACK),
        approved=(Point.CANARY,),
        attested=(
            Word(gate="signed", node="gpu-01", is_pass=False, because="slow", by="ann", at=NOW, until=NOW + 12 * HOUR),
        ),
        publish=Via.GIT,
        mode=Mode.DELEGATED,
        has_source=True,
        abort="it smokes",
        marks_bad=True,
        pool="gpu-canary",
        still=("worker",),
        prepull=False,
        places=Places(
            matrix=GitPlace(url=GIT["url"], branch="main", path="gpu-version-matrix.yaml"),
            published=GitPlace(url=GIT["url"], branch="main", path="values.yaml"),
        ),
    )


BY_HAND = {"component": "firmware_cx7", "version": "28.43.2026"}
BY_PEOPLE = {"publish": {"via": "none"}}


def test_a_step_by_hand_arrives_with_the_step_before_it() -> None:
    said = BY_HAND | {"before": "28.39.1002", "instructions": "By the BMC.", "oneWay": True}
    asked = ByHand(
        component=Component.FIRMWARE_CX7,
        before="28.39.1002",
        instructions="By the BMC.",
        is_one_way=True,
    )
    found = a_campaign(byHand=said, after="winter", **BY_PEOPLE)
    assert found == Campaign(by_hand=asked, after="winter", publish=Via.NOBODY, suite_image="")
    spec = {"canary": {}, "byHand": said, **BY_PEOPLE}
    target = read_intent(a_rollout(spec=spec), NO_OPERATOR, NOW).target
    assert target == Target.parse("580.105.08, firmware_cx7 28.43.2026 by hand")


def test_a_matrix_in_a_config_map_stands_behind_the_target_too() -> None:
    assert a_campaign(matrix={"configMap": {"namespace": "ops", "name": "matrix"}}).has_source


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            {"gates": [{"name": "a"}]},
            f"spec.gates[0]: a gate has one of {KINDS}; a has none of them.",
        ),
        (
            {"gates": [{"name": "a", "tenant": {"podSelector": "team in vision"}}]},
            "spec.gates[0].tenant.podSelector: ",
        ),
        (
            {"gates": [{"name": "a", "image": "i:1", "attest": {"asks": "b"}}]},
            f"spec.gates[0]: a gate has one of {KINDS}; a has image and attest.",
        ),
        (
            {"approvals": {"attested": [WORD | {"verdict": "perhaps"}]}},
            "spec.approvals.attested[0].verdict: 'perhaps' is none of pass, fail.",
        ),
        (
            {"approvals": {"attested": [WORD | {"until": "2026-03-28T03:30:00"}]}},
            "spec.approvals.attested[0].until: the time '2026-03-28T03:30:00' lacks its offset, such as Z",
        ),
        ({"mode": "both"}, "spec.mode: 'both' is none of direct, delegated."),
        ({"mode": "by-hand"}, "spec.mode: 'by-hand' is none of direct, delegated."),
        ({"byHand": BY_HAND}, "spec.publish.via: nothing is published for a manual step; set it to none."),
        ({"byHand": BY_HAND, "mode": "direct", **BY_PEOPLE}, "spec.mode: people move the nodes in a manual step"),
        (
            {"byHand": BY_HAND | {"component": "bios"}, **BY_PEOPLE},
            "spec.byHand.component: 'bios' is none of openshift, kubernetes",
        ),
        (
            {"byHand": BY_HAND | {"component": "gpu_driver"}, **BY_PEOPLE},
            "spec.byHand.component: gpu_driver is what a rollout moves itself",
        ),
        (
            {"byHand": BY_HAND | {"version": "newest"}, **BY_PEOPLE},
            "spec.byHand.version: NIC firmware 'newest' is unreadable",
        ),
        ({"after": "spring"}, "spec.after: a rollout cannot come after itself"),
        ({"matrix": {}}, "spec.matrix: the matrix is in exactly one place, git or configMap."),
        (
            {"matrix": {"git": GIT, "configMap": {"namespace": "a", "name": "b"}}},
            "spec.matrix: the matrix is in exactly one place, git or configMap.",
        ),
        ({"publish": {"via": "mail"}}, "spec.publish.via: 'mail' is none of git, direct, none."),
        ({"publish": {"via": "none", "setOnDelete": True}}, "spec.publish.setOnDelete: nothing is published here"),
        ({"publish": {"via": "git"}}, "spec.publish.git.path: via git needs the file"),
        (
            {"publish": {"via": "git", "git": {"path": "a"}}},
            "spec.publish.git.url: via git needs a repository, here or in spec.matrix.git.",
        ),
        ({"waves": {"growth": "wild"}}, "spec.waves.growth: 'wild' is none of fixed, linear"),
        ({"waves": {"growth": "percentages"}}, "spec.waves.percentages: growth by percentages needs some"),
        ({"limits": {"maxIdleGPUs": "many"}}, "spec.limits.maxIdleGPUs: 'many' is neither a count such as 3"),
        ({"attrition": {}, "mode": "delegated"}, "spec.attrition: NVIDIA's controller evicts as it likes"),
        ({"attrition": {}, "byHand": BY_HAND, **BY_PEOPLE}, "spec.attrition: people move the nodes in a manual step"),
        ({"attrition": {}, "maintenance": {"requestorID": "us.dev"}}, "spec.attrition: a maintenance operator empties"),
        ({"attrition": {"closeAhead": "some"}}, "spec.attrition.closeAhead: 'some' is neither a count such as 3"),
        ({"attrition": {"closeAhead": "3"}}, "spec.attrition.closeAhead: '3' is not a percentage such as 50%."),
        ({"waves": {"first": "many"}}, "spec.waves.first: 'many' is neither a count such as 3 nor a percentage"),
        (
            {"waves": {"first": "150%"}},
            "spec.waves.first: '150%' is neither a count such as 3 nor a percentage up to 100%",
        ),
        ({"waves": {"step": -1}}, "spec.waves.step: -1 is neither a count such as 3 nor a percentage"),
        ({"approvals": {"manual": ["waves", "lunch"]}}, "spec.approvals.manual[1]: 'lunch' is none of canary, waves"),
        ({"approvals": {"approved": ["x"]}}, "spec.approvals.approved[0]: 'x' is none of"),
        (
            {"windows": {"open": [{"start": "24:00", "minutes": 1}]}},
            "spec.windows.open[0].start: '24:00' is not a time of day from 00:00 to 23:59.",
        ),
        (
            {"windows": {"open": [{"start": "01:00", "minutes": 1, "days": ["Sat", "Lundi"]}]}},
            "spec.windows.open[0].days[1]: 'Lundi' is none of Mon, Tue",
        ),
    ],
)
def test_a_campaign_that_cannot_be_meant_is_told_where(spec: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        a_campaign(**spec)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Europe", "../UTC", "", "a\0b"])
def test_a_time_zone_nobody_knows_is_named_with_its_field(zone: str) -> None:
    with pytest.raises(ValueError) as caught:
        a_campaign(windows={"timeZone": zone, "open": [{"start": "01:00", "minutes": 1}]})
    assert str(caught.value) == (
        f"spec.windows.timeZone: {zone!r} is not a time zone known here; "
        "write a name of the IANA database such as Europe/Berlin, or UTC."
    )


# ── windows ──────────────────────────────────────────────────────────────────────────────────────────────────────────

TODAY = datetime(2026, 3, 27, tzinfo=UTC).timestamp()


def test_without_windows_any_time_is_right() -> None:
    assert a_campaign().openings is None


def test_windows_are_openings_from_yesterday_on_for_two_weeks() -> None:
    openings = a_campaign(windows={"open": [{"start": "22:30", "minutes": 60}]}).openings
    assert openings is not None
    assert openings[0] == (TODAY - 1.5 * HOUR, TODAY - 0.5 * HOUR)
    assert openings[-1] == (TODAY + 14 * 24 * HOUR + 22.5 * HOUR, TODAY + 14 * 24 * HOUR + 23.5 * HOUR)
    assert len(openings) == 16


def test_windows_follow_the_clock_of_their_zone() -> None:
    nights = {"timeZone": "Europe/Berlin", "open": [{"days": ["Sat", "Sun"], "start": "22:00", "minutes": 60}]}
    openings = a_campaign(windows=nights).openings
    assert openings is not None
    assert [datetime.fromtimestamp(opens, UTC).isoformat() for opens, _ in openings[:2]] == [
        "2026-03-28T21:00:00+00:00",
        "2026-03-29T20:00:00+00:00",
    ]


def test_an_intent_is_the_same_all_day_and_covers_the_next_one() -> None:
    rollout = a_rollout(spec={"canary": {}, "windows": {"open": [{"start": "22:00", "minutes": 60}]}})
    morning, evening, tomorrow = (
        read_intent(rollout, NO_OPERATOR, TODAY + hours * HOUR) for hours in (0.0, 23.9, 24.0)
    )
    assert morning == evening != tomorrow
    assert morning.campaign is not None
    assert windows.next_opening(morning.campaign.openings, TODAY + 23.9 * HOUR) == TODAY + 46 * HOUR


# ── where a version is published ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("matrix", "git", "place"),
    [
        (
            {"git": GIT | {"branch": "gpu"}},
            {"path": "v.yaml"},
            models.RolloutGit(url=GIT["url"], branch="gpu", path="v.yaml"),
        ),
        (
            {"git": GIT | {"branch": "gpu"}},
            {"path": "v.yaml", "branch": "live"},
            models.RolloutGit(url=GIT["url"], branch="live", path="v.yaml"),
        ),
        (
            {"git": GIT | {"branch": "gpu"}},
            {"path": "v.yaml", "url": "https://git.example/other.git"},
            models.RolloutGit(url="https://git.example/other.git", branch="main", path="v.yaml"),
        ),
        (
            None,
            {"path": "v.yaml", "url": "https://git.example/other.git"},
            models.RolloutGit(url="https://git.example/other.git", branch="main", path="v.yaml"),
        ),
    ],
)
def test_a_version_is_published_in_the_matrixs_repository_unless_another_is_named(
    matrix: dict[str, Any] | None, git: dict[str, Any], place: models.RolloutGit
) -> None:
    spec = {"canary": {}, "publish": {"via": "git", "git": git}} | ({"matrix": matrix} if matrix else {})
    assert publish_place(a_rollout(spec=spec).spec) == place


def test_that_the_strategy_is_set_arrives() -> None:
    assert not a_campaign().sets_on_delete
    assert a_campaign(publish={"setOnDelete": True}).sets_on_delete
    assert [a_campaign(publish=said).is_one_way for said in ({}, {"oneWay": True})] == [False, True]


@pytest.mark.parametrize("via", ["direct", "none"])
def test_what_is_not_published_by_a_commit_has_no_place(via: str) -> None:
    assert publish_place(a_rollout(spec={"canary": {}, "publish": {"via": via}}).spec) is None


def test_what_has_to_be_excluded_is_read_as_shares() -> None:
    bake = a_campaign(bake={"durationSeconds": 0, "until": {"exclude": "2.5%"}}).bake
    assert (bake.seconds, bake.exclude, bake.confidence) == (0, 0.025, 0.99)


@pytest.mark.parametrize(
    ("until", "place"), [({"exclude": "0.1%"}, "exclude"), ({"exclude": "3%", "confidence": "20%"}, "confidence")]
)
def test_a_share_that_cannot_be_meant_says_where_it_stands(until: dict[str, str], place: str) -> None:
    with pytest.raises(ValueError, match=rf"spec\.bake\.until\.{place}: "):
        a_campaign(bake={"until": until})
