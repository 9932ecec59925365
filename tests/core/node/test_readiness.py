"""What counts as proven: each way of being wrong while the driver pod says that it is Ready."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.holds import HoldCode, Lack
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import Loaded, NodePhase
from seatrial.core.model.seen.problems import Problem
from seatrial.core.node import readiness
from seatrial.core.node.readiness import is_running_wanted, why_unproven
from tests.builders import (
    NEW,
    OLD,
    a_dra_plugin,
    a_driver,
    a_new_driver,
    a_node,
    a_starting_driver,
    a_validator,
    a_well_node,
)

FRESH_PLUGIN = a_dra_plugin(started_at=201.0)
GPUS = (("nvidia.com/gpu", 8), ("nvidia.com/mig-1g.5gb", 7))
BEFORE = GpuOffer(resources=GPUS, mig_config="all-1g.5gb", runtime_handlers=("nvidia", "nvidia-cdi"))
WITH_DRA = GpuOffer(has_dra_plugin=True, has_slices=True)


def lack(before: GpuOffer | None = None, **changes: Any) -> Lack | None:
    """What is missing from the proof of a node that is well but for these changes."""
    fields: dict[str, Any] = {"phase": NodePhase.VALIDATION_REQUIRED, "record": {"before": before}}
    node = a_well_node(**(fields | changes))
    return why_unproven(node.facts, node.record)


def test_a_driver_whose_validator_was_ready_after_it_is_proven() -> None:
    assert lack() is None


def test_a_node_without_a_record_can_be_proven() -> None:
    assert why_unproven(a_well_node().facts, None) is None


def test_a_node_with_everything_there_is_to_observe_is_proven() -> None:
    everything = {
        "loaded": Loaded(version=NEW.version, seen_at=250.0),
        "offer": BEFORE,
        "mig_state": "success",
        "dra": FRESH_PLUGIN,
        "published": (NEW.version,),
    }
    assert lack(BEFORE, **everything) is None
    assert lack(WITH_DRA, **everything) is None


POD: dict[str, object] = {"pod": "driver-n1"}
LACKS: list[tuple[dict[str, Any], HoldCode, dict[str, object]]] = [
    ({"is_ready": False}, HoldCode.NODE_NOT_READY, {}),
    ({"driver": None}, HoldCode.DRIVER_POD_MISSING, {}),
    ({"driver": a_new_driver(is_orphaned=True)}, HoldCode.DRIVER_ORPHANED, POD),
    ({"wanted": None}, HoldCode.REVISION_UNKNOWN, POD),
    ({"driver": a_driver()}, HoldCode.DRIVER_NOT_READY, {**POD, "trouble": ""}),
    ({"driver": a_starting_driver(trouble="Error")}, HoldCode.DRIVER_NOT_READY, {**POD, "trouble": "Error"}),
    ({"driver": a_new_driver(is_terminating=True)}, HoldCode.DRIVER_NOT_READY, {**POD, "trouble": ""}),
    ({"driver": a_new_driver(ready_since=None)}, HoldCode.DRIVER_NOT_READY, {**POD, "trouble": ""}),
    (
        {"loaded": Loaded(version=OLD.version, seen_at=200.0)},
        HoldCode.LOADED_VERSION_WRONG,
        {"loaded": OLD.version, "wanted": NEW.version},
    ),
    (
        {"loaded": Loaded(version=OLD.version, seen_at=199.0)},
        HoldCode.LOADED_VERSION_UNKNOWN,
        {"loaded": OLD.version, "wanted": NEW.version},
    ),
    (
        {"loaded": Loaded(version=OLD.version)},
        HoldCode.LOADED_VERSION_UNKNOWN,
        {"loaded": OLD.version, "wanted": NEW.version},
    ),
    ({"paused_labels": ("a", "b")}, HoldCode.OPERANDS_PAUSED, {"labels": "a, b"}),
    ({"validator": None}, HoldCode.VALIDATOR_MISSING, {}),
    ({"validator": a_validator(is_terminating=True)}, HoldCode.VALIDATOR_MISSING, {}),
    ({"validator": a_validator(is_ready=False)}, HoldCode.VALIDATOR_NOT_READY, {"pod": "validator-n1"}),
    ({"validator": a_validator()}, HoldCode.VALIDATOR_STALE, {"pod": "validator-n1"}),
    ({"validator": a_validator(ready_since=None)}, HoldCode.VALIDATOR_STALE, {"pod": "validator-n1"}),
    (
        {"mig_state": "failed", "offer": GpuOffer(mig_config="all-1g.5gb")},
        HoldCode.MIG_NOT_SETTLED,
        {"state": "failed", "config": "all-1g.5gb"},
    ),
    ({"mig_state": "pending"}, HoldCode.MIG_NOT_SETTLED, {"state": "pending", "config": ""}),
    ({"mig_state": "rebooting"}, HoldCode.MIG_NOT_SETTLED, {"state": "rebooting", "config": ""}),
    ({"dra": a_dra_plugin(is_terminating=True)}, HoldCode.DRA_PLUGIN_NOT_READY, {"pod": "plugin-n1"}),
    ({"dra": a_dra_plugin(started_at=None)}, HoldCode.DRA_PLUGIN_NOT_READY, {"pod": "plugin-n1"}),
    ({"dra": a_dra_plugin(started_at=201.0, is_ready=False)}, HoldCode.DRA_PLUGIN_NOT_READY, {"pod": "plugin-n1"}),
    ({"dra": a_dra_plugin()}, HoldCode.DRA_PLUGIN_STALE, {"pod": "plugin-n1"}),
    ({"dra": a_dra_plugin(started_at=200.0)}, HoldCode.DRA_PLUGIN_STALE, {"pod": "plugin-n1"}),
    (
        {"dra": FRESH_PLUGIN, "published": (NEW.version, OLD.version, OLD.version, "565.57.1")},
        HoldCode.DRA_VERSION_WRONG,
        {"published": "565.57.1, 570.124.06", "wanted": NEW.version},
    ),
    (
        {"problems": (Problem(type="GPUMissing", reason="GPUMissing", since=201.0),)},
        HoldCode.NODE_PROBLEM,
        {"type": "GPUMissing", "said": "GPUMissing"},
    ),
]


@pytest.mark.parametrize(("changes", "code", "params"), LACKS)
def test_a_node_is_not_proven_when(changes: dict[str, Any], code: HoldCode, params: dict[str, object]) -> None:
    assert lack(**changes) == Lack(code, params)


def test_labels_we_paused_ourselves_come_back_by_themselves() -> None:
    paused = (("ours", "true"),)
    failed: dict[str, Any] = {"phase": NodePhase.UPGRADE_FAILED, "record": {"paused": paused}}
    assert lack(paused_labels=("ours",), **failed) is None
    assert lack(paused_labels=("ours", "theirs"), **failed) == Lack(HoldCode.OPERANDS_PAUSED, {"labels": "theirs"})


def test_labels_we_gave_back_are_paused_by_somebody_else() -> None:
    given_back: dict[str, Any] = {"paused_labels": ("ours",), "record": {"paused": (("ours", "true"),)}}
    assert lack(**given_back) == Lack(HoldCode.OPERANDS_PAUSED, {"labels": "ours"})


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"driver": None, "validator": None}, HoldCode.DRIVER_POD_MISSING),
        ({"driver": a_starting_driver(), "validator": None}, HoldCode.DRIVER_NOT_READY),
        ({"dra": a_dra_plugin(is_terminating=True, is_ready=False)}, HoldCode.DRA_PLUGIN_NOT_READY),
    ],
)
def test_of_what_is_not_there_nothing_more_is_asked(changes: dict[str, Any], code: HoldCode) -> None:
    assert [found.code for found in readiness._lacks(a_well_node(**changes).facts, WITH_DRA, [])] == [code]


# ── less than before ─────────────────────────────────────────────────────────────────────────────────────────────────

LOSSES: list[tuple[GpuOffer, GpuOffer, HoldCode, dict[str, object]]] = [
    (
        GpuOffer(resources=GPUS),
        GpuOffer(resources=(("nvidia.com/gpu", 7), ("nvidia.com/mig-1g.5gb", 7))),
        HoldCode.OFFER_REDUCED,
        {"less": "nvidia.com/gpu 7 of 8"},
    ),
    (
        GpuOffer(resources=GPUS),
        GpuOffer(resources=(("nvidia.com/gpu.shared", 16),)),
        HoldCode.OFFER_REDUCED,
        {"less": "nvidia.com/gpu 0 of 8, nvidia.com/mig-1g.5gb 0 of 7"},
    ),
    (
        GpuOffer(mig_config="all-1g.5gb"),
        GpuOffer(mig_config="all-disabled"),
        HoldCode.OFFER_REDUCED,
        {"less": "MIG layout all-disabled, was all-1g.5gb"},
    ),
    (
        GpuOffer(mig_config="all-1g.5gb"),
        GpuOffer(),
        HoldCode.OFFER_REDUCED,
        {"less": "MIG layout none, was all-1g.5gb"},
    ),
    (
        GpuOffer(runtime_handlers=("nvidia", "nvidia-cdi", "nvidia-legacy")),
        GpuOffer(runtime_handlers=("nvidia",)),
        HoldCode.RUNTIME_HANDLER_MISSING,
        {"handlers": "nvidia-cdi, nvidia-legacy"},
    ),
    (GpuOffer(has_dra_plugin=True), GpuOffer(), HoldCode.DRA_PLUGIN_MISSING, {}),
]


@pytest.mark.parametrize(("before", "now", "code", "params"), LOSSES)
def test_a_node_that_offers_less_than_before_is_not_proven(
    before: GpuOffer, now: GpuOffer, code: HoldCode, params: dict[str, object]
) -> None:
    assert lack(before, offer=now) == Lack(code, params)


@pytest.mark.parametrize(("before", "now", "code", "params"), LOSSES[:-1])
def test_a_loss_that_somebody_accepts_is_none(
    before: GpuOffer, now: GpuOffer, code: HoldCode, params: dict[str, object]
) -> None:
    assert lack(before, offer=now, is_loss_accepted=True) is None


def test_a_dra_plugin_is_waited_for_even_where_a_loss_is_accepted() -> None:
    assert lack(WITH_DRA, is_loss_accepted=True) == Lack(HoldCode.DRA_PLUGIN_MISSING, {})


@pytest.mark.parametrize(("before", "now", "code", "params"), LOSSES)
def test_a_node_we_have_not_touched_has_lost_nothing_through_us(
    before: GpuOffer, now: GpuOffer, code: HoldCode, params: dict[str, object]
) -> None:
    assert lack(None, offer=now) is None


def test_a_node_may_offer_more_than_before() -> None:
    assert lack(GpuOffer(resources=GPUS), offer=GpuOffer(resources=(*GPUS, ("nvidia.com/gpu.shared", 4)))) is None


def test_slices_published_before_have_to_be_published_again() -> None:
    missing = Lack(HoldCode.DRA_SLICES_MISSING, {"pod": "plugin-n1"})
    assert lack(WITH_DRA, dra=FRESH_PLUGIN) == missing
    assert lack(GpuOffer(has_dra_plugin=True), dra=FRESH_PLUGIN) is None


# ── details ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("loaded", "wanted"),
    [("570.124.6", "570.124.06"), ("570.124.06", "570.124.06"), ("580.95.0", "580.95"), ("custom", "custom")],
)
def test_versions_are_the_same_whatever_their_zeros(loaded: str, wanted: str) -> None:
    changes: dict[str, Any] = {"driver": a_new_driver(version=wanted), "dra": FRESH_PLUGIN}
    assert lack(loaded=Loaded(version=loaded, seen_at=250.0), published=(loaded,), **changes) is None


@pytest.mark.parametrize(
    ("loaded", "wanted"), [("570.124.60", "570.124.06"), ("custom", "580.95"), ("580.95.1", "580.95")]
)
def test_versions_that_differ_are_not_the_same(loaded: str, wanted: str) -> None:
    found = lack(loaded=Loaded(version=loaded, seen_at=250.0), driver=a_new_driver(version=wanted))
    assert found == Lack(HoldCode.LOADED_VERSION_WRONG, {"loaded": loaded, "wanted": wanted})


def test_an_image_that_does_not_tell_its_version_is_not_compared_with_one() -> None:
    changes: dict[str, Any] = {"driver": a_new_driver(version=""), "dra": FRESH_PLUGIN, "published": (OLD.version,)}
    assert lack(loaded=Loaded(version=OLD.version, seen_at=250.0), **changes) is None


def test_a_driver_container_restarted_in_place_has_to_be_proven_anew() -> None:
    restarted = a_new_driver(started_at=400.0)
    assert lack(driver=restarted) == Lack(HoldCode.VALIDATOR_STALE, {"pod": "validator-n1"})
    assert lack(driver=a_new_driver(started_at=150.0)) is None


@pytest.mark.parametrize(
    ("node", "is_running"),
    [
        (a_node(), False),
        (a_well_node(), True),
        (a_well_node(validator=None), True),
        (a_well_node(driver=None), False),
        (a_well_node(wanted=None), False),
        (a_well_node(driver=a_starting_driver()), False),
        (a_well_node(driver=a_new_driver(is_terminating=True)), False),
        (a_well_node(driver=a_new_driver(is_orphaned=True)), False),
    ],
)
def test_the_wanted_driver_runs_when_its_pod_says_so(node: Any, is_running: bool) -> None:
    assert is_running_wanted(node.facts) is is_running


def test_every_code_of_an_unproven_driver_is_in_the_lists_above() -> None:
    codes = {code for _, code, _ in LACKS} | {code for *_, code, _ in LOSSES} | {HoldCode.DRA_SLICES_MISSING}
    named = list(HoldCode)
    proof = set(named[named.index(HoldCode.DRIVER_NOT_READY) : named.index(HoldCode.FAILED)])
    assert codes == proof | {
        HoldCode.NODE_NOT_READY,
        HoldCode.DRIVER_POD_MISSING,
        HoldCode.DRIVER_ORPHANED,
        HoldCode.REVISION_UNKNOWN,
    }
