"""A rollout's status as JSON and back: nothing is lost on the way, and nothing that cannot be read is guessed at."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import replace
from string import Formatter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.adapters.kube.shapes import forms, models, rollout_records
from seatrial.adapters.kube.shapes.forms import text_of
from seatrial.core.decision.summary import waiting_of
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import CampaignRecord, GitPlace, Mode, Places, RolloutPhase, Switch, Turn, Watched
from seatrial.core.model.gates.compared import Compared, Comparison, Lens, Missing, Moments, Stream, Track
from seatrial.core.model.gates.exposed import RATIOS, Exposed, Exposure, Rare
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.gates.suite import LeftOut, Suite
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.rollouts import Admission, Cost, Rebuff, RolloutRecord, Summary, Told, Waiting
from seatrial.core.text import foreign
from seatrial.core.words import explain
from tests.scenarios.acts import LEDGER

AT, AT_TEXT = 1767323045.25, "2026-01-02T03:04:05.250Z"
LATER, LATER_TEXT = AT + 60, "2026-01-02T03:05:05.250Z"

CLEAN = st.text().map(foreign.lines)
"""What is shown of a record is clean when it is read, so what was clean is the same again."""
LINE = st.text().map(foreign.line)
INSTANTS = st.integers(0, 4_000_000_000_000).map(lambda count: count / 1000)
"""To the millisecond, which is how they are written."""
PLACE = st.builds(GitPlace, url=LINE, branch=LINE, path=LINE)
GATES = st.builds(
    GateResult,
    gate=LINE,
    node=LINE,
    round=st.integers(0, 10**6),
    verdict=st.sampled_from(GateVerdict),
    detail=CLEAN,
    at=INSTANTS,
    asked=LINE,
)
WATCHED = st.builds(
    Watched,
    node=LINE,
    before=st.builds(
        GpuOffer,
        resources=st.dictionaries(st.text(), st.integers(0, 64), max_size=2).map(lambda found: tuple(found.items())),
        mig_config=LINE,
        runtime_handlers=st.lists(LINE, max_size=2).map(tuple),
        has_dra_plugin=st.booleans(),
        has_slices=st.booleans(),
    ),
    boot_id=LINE,
    ready_at=st.none() | INSTANTS.filter(bool),
    driver=LINE,
    started_at=st.none() | INSTANTS.filter(bool),
    loaded_at=st.none() | INSTANTS.filter(bool),
    lack=LINE,
)
HOURS = st.floats(0, 1e9)
EXPOSED = st.builds(
    Exposed,
    since=INSTANTS,
    watched_until=INSTANTS,
    waiting_seconds=HOURS,
    lack=LINE,
    controls=st.lists(LINE, max_size=2).map(tuple),
    followers=st.lists(LINE, max_size=2).map(tuple),
    canaries=st.lists(
        st.builds(Exposure, node=LINE, watched_seconds=HOURS, watched_gpu_hours=HOURS, loaded_gpu_hours=HOURS),
        max_size=2,
    ).map(tuple),
    rare=st.lists(
        st.builds(
            Rare,
            name=LINE,
            events=st.integers(0, 10**6),
            watched_hours=HOURS,
            loaded_hours=HOURS,
            control_events=st.integers(0, 10**6),
            control_hours=HOURS,
            log_ratios=st.tuples(*[st.floats(-1e9, 1e9)] * len(RATIOS)),
        ),
        max_size=2,
    ).map(tuple),
)
MOMENTS = st.builds(Moments, count=st.integers(0, 10**6), mean=st.floats(-1e9, 1e9), squares=HOURS)
STREAMS = st.builds(Stream, moments=MOMENTS, waiting=st.none() | st.floats(-1e9, 1e9), left_out=st.integers(0, 10**6))
MISSING = st.lists(st.builds(Missing, node=LINE, why=LINE), max_size=2).map(tuple)
COMPARED = st.builds(
    Compared,
    gates=st.lists(st.tuples(LINE, LINE), max_size=2).map(tuple),
    comparisons=st.lists(
        st.builds(
            Comparison,
            canary=LINE,
            controls=st.lists(LINE, max_size=2).map(tuple),
            tracks=st.lists(
                st.builds(
                    Track,
                    figure=LINE,
                    node=LINE,
                    lens=st.sampled_from(Lens),
                    unit=LINE,
                    gpu_count=st.integers(0, 16),
                    is_held=st.booleans(),
                    before=MOMENTS,
                    after=STREAMS,
                    paired_before=MOMENTS,
                    paired=STREAMS,
                ),
                max_size=2,
            ).map(tuple),
            round=st.integers(0, 10**6),
        ),
        max_size=2,
    ).map(tuple),
    baseline_from=st.integers(0, 10**6),
    baseline_rounds=st.integers(0, 10**6),
    is_measured=st.booleans(),
    missing_before=MISSING,
    missing=MISSING,
)
CAMPAIGNS = st.builds(
    CampaignRecord,
    phase=st.sampled_from(RolloutPhase),
    entered_at=INSTANTS,
    paused_in=st.none() | st.sampled_from(RolloutPhase),
    mode=st.none() | st.sampled_from(Mode),
    canaries=st.lists(LINE).map(tuple),
    baseline=st.lists(st.tuples(LINE, LINE)).map(tuple),
    places=st.none() | st.builds(Places, matrix=st.none() | PLACE, published=st.none() | PLACE),
    switches=st.lists(st.builds(Switch, resource=LINE, name=LINE, value=st.none() | LINE)).map(tuple),
    wave=st.integers(0, 10**6),
    settled_at=INSTANTS,
    waved_seconds=st.floats(0, 10**6),
    waving_since=INSTANTS,
    pull_round=st.integers(0, 10**6),
    unpulled_at=INSTANTS,
    is_forgetting=st.booleans(),
    gates=st.lists(GATES, max_size=4).map(tuple),
    round=st.integers(0, 10**6),
    round_at=INSTANTS,
    baked_seconds=st.floats(0, 1e9),
    baked_until=INSTANTS,
    exposed=st.none() | EXPOSED,
    compared=st.none() | COMPARED,
    watched=st.lists(WATCHED, max_size=2).map(tuple),
    well_since=INSTANTS,
    unwell_since=INSTANTS,
    setback=LINE,
    bake_asked_seconds=st.none() | st.floats(0, 1e9),
    tag_base=LINE,
    date=LINE,
    rejected=CLEAN,
    why=CLEAN,
    history=st.lists(st.builds(Turn, phase=st.sampled_from(RolloutPhase), at=INSTANTS, why=CLEAN), max_size=4).map(
        tuple
    ),
)


TOLD = (
    Told(code="baking", why="the canary bakes", next_step="Wait.", since=AT - 60, until=AT + 60),
    Told(code="paused", why="it is paused", next_step="Resume it."),
)
WAITING = (
    Waiting(code="skipped", why="it is marked", next_step="Unmark it.", since=AT, nodes=("gpu-01", "gpu-02"), count=9),
)


def a_rollout(**fields: Any) -> models.Rollout:
    """A rollout as the API server stores it."""
    metadata = {"name": "spring", "resourceVersion": "40", "generation": 3}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"target": {"driver": "580.105.08"}}, **fields}, models.Rollout
    )


def status_of(record: RolloutRecord, before: models.Rollout | None = None) -> dict[str, Any]:
    """The status that is written, as the API server gets it."""
    patch = json.loads(json.dumps(rollout_records.rollout_patch(record, before)))
    return merged({}, patch["status"])


def merged(known: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """What a merge patch makes of something (RFC 7396)."""
    whole = {**known}
    for name, value in patch.items():
        if value is None:
            whole.pop(name, None)
        elif isinstance(value, dict):
            found = whole.get(name)
            whole[name] = merged(found if isinstance(found, dict) else {}, value)
        else:
            whole[name] = value
    return whole


def test_a_rollout_without_a_status_has_admitted_nobody() -> None:
    assert rollout_records.read_rollout(a_rollout()) == RolloutRecord(
        name="spring", resource_version="40", generation=3
    )


def test_a_rollouts_status_written_and_read_again_is_the_same() -> None:
    record = RolloutRecord(
        name="spring",
        resource_version="40",
        admitted=(Admission(node="gpu-01", attempt=1), Admission(node="gpu-02", attempt=3, is_ahead=True)),
        summary=Summary(
            state="progressing",
            counts=(("upgrade-done", 2),),
            holds=(("skipped", 1),),
            told=TOLD,
            waiting=WAITING,
            done=2,
            total=7,
            failed="1 (gpu-02)",
        ),
        summarised_at=AT,
        lost_gpu_seconds=28800.125,
        cost=Cost(idle_gpu_seconds=1.5, reload_gpu_seconds=2.5, evictions=3),
        rebuffs=(("pod-1", Rebuff(at=AT, count=2, code="blocked", detail="the budget needs every pod")),),
        attentive_since=AT,
        generation=3,
        observed_generation=3,
    )
    patch = rollout_records.rollout_patch(record)
    status = merged({}, patch["status"])
    conditions = status.pop("conditions")
    assert (patch["metadata"], status) == (
        {"resourceVersion": "40"},
        {
            "state": "progressing",
            "admitted": [{"node": "gpu-01", "attempt": 1}, {"node": "gpu-02", "attempt": 3, "ahead": True}],
            "counts": {"upgrade-done": 2},
            "done": "2/7",
            "failed": "1 (gpu-02)",
            "why": "it is paused",
            "phase": "Progressing",
            "holds": {"skipped": 1},
            "waits": [
                {
                    "code": "baking",
                    "why": "the canary bakes",
                    "next": "Wait.",
                    "since": text_of(AT - 60),
                    "until": text_of(AT + 60),
                },
                {"code": "paused", "why": "it is paused", "next": "Resume it."},
            ],
            "nodesWaiting": [
                {
                    "code": "skipped",
                    "why": "it is marked",
                    "next": "Unmark it.",
                    "since": AT_TEXT,
                    "nodes": ["gpu-01", "gpu-02"],
                    "count": 9,
                }
            ],
            "summarisedAt": AT_TEXT,
            "lostGpuSeconds": 28800.125,
            "cost": {
                "idleGpuSeconds": 1.5,
                "thrownGpuSeconds": 0.0,
                "reloadGpuSeconds": 2.5,
                "evictions": 3,
                "evictingGpuSeconds": 0.0,
            },
            "attentiveSince": AT_TEXT,
            "observedGeneration": 3,
            "turnedDown": [
                {
                    "subject": "pod-1",
                    "at": AT_TEXT,
                    "count": 2,
                    "code": "blocked",
                    "detail": "the budget needs every pod",
                }
            ],
        },
    )
    assert [each["type"] for each in conditions] == ["Progressing", "Healthy", "Ended", "Ready", "Reconciling"]
    assert rollout_records.read_rollout(a_rollout(status=status)) == record


def test_no_field_of_a_rollouts_record_is_lost_in_its_status() -> None:
    """LEDGER says something in every field there is, which tests/scenarios/test_acts.py holds."""
    named = replace(LEDGER, name="spring", resource_version="40", generation=3, observed_generation=3)
    assert rollout_records.read_rollout(a_rollout(status=status_of(named))) == named


def test_a_summary_of_an_unreadable_time_is_due_again() -> None:
    rollout = a_rollout(status={"state": "done", "summarisedAt": "soon"})
    assert rollout_records.read_rollout(rollout).summarised_at == 0.0


# ── the campaign ─────────────────────────────────────────────────────────────────────────────────────────────────────


@given(CAMPAIGNS)
def test_a_campaign_written_and_read_again_is_the_same(campaign: CampaignRecord) -> None:
    record = RolloutRecord(name="spring", resource_version="40", campaign=campaign, generation=3)
    assert rollout_records.read_rollout(a_rollout(status=status_of(record))) == record


def test_the_gates_that_were_chosen_for_a_campaign_are_the_same_after_a_restart() -> None:
    left_out = (
        LeftOut(gate="rdma", node="n1", why="it shows no device"),
        LeftOut(gate="multi-gpu", node="n2", why="x"),
    )
    campaign = CampaignRecord(
        entered_at=AT,
        history=(Turn(phase=RolloutPhase.PROPOSED, at=AT),),
        suite=Suite(image="example.com/probes:1", left_out=left_out),
    )
    record = RolloutRecord(name="spring", resource_version="40", campaign=campaign, generation=3)
    assert rollout_records.read_rollout(a_rollout(status=status_of(record))) == record


def test_a_campaign_is_written_without_what_it_does_not_say() -> None:
    campaign = CampaignRecord(entered_at=AT, history=(Turn(phase=RolloutPhase.PROPOSED, at=AT),))
    status = status_of(RolloutRecord(name="spring", resource_version="40", campaign=campaign))
    assert status["phase"] == "Proposed"
    assert status["campaign"] == {
        "schema": 1,
        "phase": "Proposed",
        "enteredAt": AT_TEXT,
        "bakedSeconds": 0.0,
        "history": [{"phase": "Proposed", "at": AT_TEXT}],
    }
    assert "wave" not in status


def test_everything_a_campaign_says_is_written_by_its_name() -> None:
    campaign = CampaignRecord(
        phase=RolloutPhase.PAUSED,
        entered_at=AT,
        paused_in=RolloutPhase.WAVING,
        mode=Mode.DELEGATED,
        canaries=("gpu-01",),
        baseline=(("*", "570.124.06"),),
        switches=(Switch(resource="*", name="A", value="true"), Switch(resource="*", name="B")),
        wave=2,
        settled_at=AT,
        waved_seconds=7.5,
        waving_since=AT,
        pull_round=1,
        unpulled_at=AT,
        is_forgetting=True,
        gates=(
            GateResult(
                gate="nccl", node="gpu-01", round=7, verdict=GateVerdict.FAILED, detail="slow", at=AT, asked="0f"
            ),
        ),
        round=7,
        round_at=AT,
        baked_seconds=3600.5,
        baked_until=AT,
        watched=(
            Watched(
                node="gpu-01",
                before=GpuOffer(resources=(("nvidia.com/gpu", 8),), has_slices=True),
                boot_id="b0",
                ready_at=AT,
                driver="uid-1",
                started_at=AT,
                loaded_at=AT,
                lack="node-not-ready",
            ),
        ),
        well_since=AT,
        unwell_since=AT,
        setback="canary gpu-01 rebooted",
        bake_asked_seconds=7200.0,
        tag_base="v2026-01-stable",
        date="2026-01-02",
        why="it smokes",
        history=(Turn(phase=RolloutPhase.PAUSED, at=AT, why="lunch"),),
    )
    status = status_of(RolloutRecord(name="spring", resource_version="40", campaign=campaign))
    assert (status["phase"], status["wave"]) == ("Paused", 3)
    assert status["campaign"] == {
        "schema": 1,
        "phase": "Paused",
        "enteredAt": AT_TEXT,
        "pausedIn": "Waving",
        "mode": "delegated",
        "canaries": ["gpu-01"],
        "baseline": [{"resource": "*", "version": "570.124.06"}],
        "switches": [{"resource": "*", "name": "A", "value": "true"}, {"resource": "*", "name": "B"}],
        "wave": 2,
        "settledAt": AT_TEXT,
        "wavedSeconds": 7.5,
        "wavingSince": AT_TEXT,
        "pullRound": 1,
        "unpulledAt": AT_TEXT,
        "forgetting": True,
        "gates": [
            {
                "gate": "nccl",
                "node": "gpu-01",
                "round": 7,
                "verdict": "failed",
                "detail": "slow",
                "at": AT_TEXT,
                "asked": "0f",
            }
        ],
        "round": 7,
        "roundAt": AT_TEXT,
        "bakedSeconds": 3600.5,
        "bakedUntil": AT_TEXT,
        "watched": [
            {
                "node": "gpu-01",
                "before": {"resources": {"nvidia.com/gpu": 8}, "slices": True},
                "bootId": "b0",
                "readyAt": AT_TEXT,
                "driver": "uid-1",
                "startedAt": AT_TEXT,
                "loadedAt": AT_TEXT,
                "lack": "node-not-ready",
            }
        ],
        "wellSince": AT_TEXT,
        "unwellSince": AT_TEXT,
        "setback": "canary gpu-01 rebooted",
        "bakeAskedSeconds": 7200.0,
        "tagBase": "v2026-01-stable",
        "date": "2026-01-02",
        "why": "it smokes",
        "history": [{"phase": "Paused", "at": AT_TEXT, "why": "lunch"}],
    }


@pytest.mark.parametrize(
    ("campaign", "sentence"),
    [
        ({"schema": 2}, "status.campaign.schema: 2 is newer than 1, which is what this release knows; it is left as"),
        ({"phase": "Resting"}, "status.campaign.phase: 'Resting' is none of Proposed, Canary, Gating, Baking"),
        ({"pausedIn": "Bed"}, "status.campaign.pausedIn: 'Bed' is none of Proposed"),
        ({"mode": "both"}, "status.campaign.mode: 'both' is none of direct, delegated, by-hand."),
        ({"bakedUntil": "soon"}, "status.campaign.bakedUntil: "),
        ({"enteredAt": "2026-01-02T03:04:05"}, "status.campaign.enteredAt: the time '2026-01-02T03:04:05' lacks"),
        (
            {"gates": [{"gate": "nccl", "node": "n", "round": 1, "verdict": "perhaps"}]},
            "status.campaign.gates[0].verdict: 'perhaps' is none of passed, pending, unknown, failed.",
        ),
        ({"watched": [{"node": "n", "readyAt": "x"}]}, "status.campaign.watched[0].readyAt: "),
        ({"history": [{"phase": "Proposed", "at": "x"}]}, "status.campaign.history[0].at: "),
    ],
)
def test_a_campaign_that_cannot_be_read_is_told_where(campaign: dict[str, Any], sentence: str) -> None:
    rollout = a_rollout(status={"campaign": {"phase": "Baking"} | campaign})
    with pytest.raises(ValueError) as caught:
        rollout_records.read_rollout(rollout)
    assert str(caught.value).startswith(sentence)


def test_a_campaign_from_before_there_was_a_schema_is_read_and_gets_its_number() -> None:
    record = rollout_records.read_rollout(a_rollout(status={"campaign": {"phase": "Baking"}}))
    assert status_of(record)["campaign"] == {"schema": 1, "phase": "Baking", "bakedSeconds": 0.0}


def test_what_a_later_release_wrote_into_the_status_survives_a_write_and_what_is_ours_does_not_linger() -> None:
    ours = {"state": "waiting", "counts": {"upgrade-done": 2, "unknown": 1}, "phase": "Waving", "wave": 2}
    campaign = {"phase": "Waving", "why": "an old reason", "round": 3, "wave": 1, "moon": {"is": "full"}}
    stored = {**ours, "tide": "high", "campaign": campaign}
    before = a_rollout(status=stored)
    wish = RolloutRecord(
        name="spring",
        resource_version="40",
        summary=Summary(state="done", counts=(("upgrade-done", 3),)),
        campaign=CampaignRecord(phase=RolloutPhase.CANARY),
    )

    status = merged(stored, json.loads(json.dumps(rollout_records.rollout_patch(wish, before)))["status"])

    assert (status["tide"], status["counts"], status["phase"], "wave" in status) == (
        "high",
        {"upgrade-done": 3},
        "Canary",
        False,
    )
    assert status["campaign"] == {"schema": 1, "phase": "Canary", "bakedSeconds": 0.0, "moon": {"is": "full"}}


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────────

BAKING = RolloutRecord(
    name="spring",
    resource_version="40",
    summary=Summary(state="waiting", holds=(("baking", 1),)),
    summarised_at=AT,
    campaign=CampaignRecord(phase=RolloutPhase.BAKING),
)


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    first = status_of(BAKING, a_rollout())["conditions"]
    assert [(each["type"], each["status"], each["lastTransitionTime"]) for each in first] == [
        ("Progressing", "True", AT_TEXT),
        ("Healthy", "True", AT_TEXT),
        ("Ended", "False", AT_TEXT),
        ("Ready", "False", AT_TEXT),
        ("Reconciling", "True", AT_TEXT),
    ]
    reverted = replace(
        BAKING, summarised_at=LATER, campaign=CampaignRecord(phase=RolloutPhase.REVERTING, why="it smokes")
    )
    then = status_of(reverted, a_rollout(status={"conditions": first}))["conditions"]
    assert [(each["type"], each["status"], each["lastTransitionTime"]) for each in then] == [
        ("Progressing", "True", AT_TEXT),
        ("Healthy", "False", LATER_TEXT),
        ("Ended", "False", AT_TEXT),
        ("Ready", "False", AT_TEXT),
        ("Reconciling", "True", AT_TEXT),
    ]


def test_a_condition_says_which_spec_it_is_about() -> None:
    assert {each["observedGeneration"] for each in status_of(BAKING, a_rollout())["conditions"]} == {3}
    assert all("observedGeneration" not in each for each in status_of(BAKING)["conditions"])


REASONS = (
    HoldCode.SKIPPED,
    HoldCode.NODE_NOT_READY,
    HoldCode.UNAVAILABLE_LIMIT,
    HoldCode.NOT_ITS_TURN,
    HoldCode.DRIVER_POD_MISSING,
    HoldCode.FAILED,
    HoldCode.JOBS_RUNNING,
    HoldCode.EVICTION_BLOCKED,
    HoldCode.DRIVER_STARTING,
    HoldCode.WRITE_REFUSED,
)


def test_ten_thousand_nodes_that_wait_for_ten_reasons_take_less_than_ten_kilobytes() -> None:
    texts = [text for code in REASONS for text in dataclasses.astuple(explain.EXPLANATIONS[code])]
    names = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name} - {"subject"}
    params = dict.fromkeys(names, "some-namespace/some-pod-of-a-job") | {"diagnosis": "", "why": "driver-timeout"}
    holds = [
        hold(f"gpu-node-{number:05}.rack-12.example.com", REASONS[number % 10], params, since=AT, until=AT + 600)
        for number in range(10_000)
    ]
    waiting = waiting_of(holds)
    assert [(each.count, len(each.nodes)) for each in waiting] == [(1_000, 5)] * 10
    record = RolloutRecord(name="spring", summary=Summary(state="waiting", waiting=waiting))
    status = status_of(record)
    assert len(json.dumps(status["nodesWaiting"])) < 10_000
    assert rollout_records.read_rollout(a_rollout(status=status)).summary == record.summary


def test_words_of_others_make_no_status_of_megabytes() -> None:
    refused = hold("n1", HoldCode.WRITE_REFUSED, why="no! " * 100_000)
    assert (
        len(
            json.dumps(
                status_of(RolloutRecord(name="s", summary=Summary(state="waiting", waiting=waiting_of([refused]))))
            )
        )
        < 5_000
    )


def test_a_status_from_before_nodes_were_told_of_is_read() -> None:
    read = rollout_records.read_rollout(a_rollout(status={"state": "waiting", "holds": {"skipped": 3}, "waits": []}))
    assert read.summary == Summary(state="waiting", holds=(("skipped", 3),))


def test_a_reason_to_wait_that_somebody_cut_down_is_read_as_that_of_nobody() -> None:
    read = rollout_records.read_rollout(a_rollout(status={"state": "waiting", "nodesWaiting": [{"code": "skipped"}]}))
    assert read.summary is not None
    assert [(each.code, each.nodes, each.count) for each in read.summary.waiting] == [("skipped", (), 0)]


def test_a_status_says_which_spec_it_answers() -> None:
    fresh = a_rollout(status={"observedGeneration": -1})
    seen = rollout_records.read_rollout(fresh)
    assert (seen.generation, seen.observed_generation, seen.summary) == (3, -1, None)
    answer = replace(BAKING, generation=3, observed_generation=3)
    status = status_of(answer, fresh)
    assert status["observedGeneration"] == 3
    assert rollout_records.read_rollout(a_rollout(status=status)).observed_generation == 3
    assert "observedGeneration" not in status_of(BAKING), "nobody counts"


def test_a_comparison_says_only_what_is_not_as_it_is_at_the_beginning() -> None:
    compared = Compared(comparisons=(Comparison(canary="n1"),))
    entry = forms.write(compared)
    assert entry == {"comparisons": [{"canary": "n1"}]}
    assert forms.read(Compared, entry, "compared") == compared


@pytest.mark.parametrize(
    ("track", "said"),
    [
        ({"before": [3.0, 1.0]}, "tracks[0].before: count, mean and squares belong here"),
        ({"paired": [3.0, 1.0, 0.5]}, "tracks[0].paired: count, mean, squares, left out and waiting belong here"),
        ({"lens": "sideways"}, "tracks[0].lens: 'sideways' is none of plain, per-clock."),
    ],
)
def test_sums_that_cannot_be_read_are_not_guessed_at(track: dict[str, Any], said: str) -> None:
    entry = {"comparisons": [{"canary": "n1", "tracks": [{"figure": "hbm-copy", "node": "n1", **track}]}]}
    with pytest.raises(ValueError, match=re.escape(f"status.campaign.compared.comparisons[0].{said}")):
        forms.read(Compared, entry, "status.campaign.compared")
