"""Which NVIDIADriver owns a node. Scenario 119 of the conformance list, taken apart, and the owner label."""

from __future__ import annotations

from itertools import permutations

import pytest

from seatrial.core.model.owners import GPU_PRESENT, NOBODY, OWNER_LABEL, DriverClaim, Owner, assign

GPU_NODE = {**GPU_PRESENT, "pool": "canary"}
CPU_NODE = {"pool": "canary"}

DEFAULT = DriverClaim(name="default", is_default=True)
CANARY = DriverClaim(name="canary", selector={"pool": "canary"})
FLEET = DriverClaim(name="fleet", selector={"pool": "fleet"})


def test_scenario_119_a_specific_driver_beats_the_default() -> None:
    assert assign([DEFAULT, CANARY, FLEET], GPU_NODE) == Owner(name="canary")


def test_scenario_119_the_default_takes_what_nobody_else_wants() -> None:
    assert assign([DEFAULT, FLEET], GPU_NODE) == Owner(name="default")


@pytest.mark.parametrize("claims", [[], [FLEET]])
def test_scenario_119_without_a_default_a_node_may_be_nobodys(claims: list[DriverClaim]) -> None:
    assert assign(claims, GPU_NODE) == NOBODY


def test_scenario_119_a_driver_being_deleted_is_ignored() -> None:
    leaving = DriverClaim(name="leaving", selector={"pool": "canary"}, is_deleting=True)
    leaving_default = DriverClaim(name="old-default", is_default=True, is_deleting=True)
    assert assign([leaving, leaving_default, CANARY], GPU_NODE) == Owner(name="canary")
    assert assign([leaving, leaving_default], GPU_NODE) == NOBODY


def test_scenario_119_two_that_match_fight_and_the_sentence_names_both() -> None:
    rival = DriverClaim(name="rival", selector={})
    owner = assign([rival, CANARY, DEFAULT], GPU_NODE)
    assert owner == Owner(
        conflict="NVIDIADrivers canary and rival all select this node, and only one may own it. "
        "Change their nodeSelectors so that one remains."
    )


TWO_DEFAULTS = [DEFAULT, DriverClaim(name="other", is_default=True)]
CHOOSY_DEFAULT = [DriverClaim(name="default", is_default=True, selector={"pool": "canary"})]
RESERVED_KEY = [DriverClaim(name="sly", selector={OWNER_LABEL: "sly"})]


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        (TWO_DEFAULTS, "NVIDIADrivers default and other are all the default"),
        (CHOOSY_DEFAULT, "NVIDIADriver default is the default and has a nodeSelector"),
        (RESERVED_KEY, f"NVIDIADriver sly selects by {OWNER_LABEL}"),
    ],
)
@pytest.mark.parametrize("labels", [GPU_NODE, CPU_NODE])
def test_scenario_119_a_fault_of_the_set_stops_everybody(
    claims: list[DriverClaim], words: str, labels: dict[str, str]
) -> None:
    owner = assign([*claims, FLEET, CANARY], labels)
    assert owner.name == ""
    assert owner.conflict.startswith(words)


def test_a_fault_of_a_driver_being_deleted_stops_nobody() -> None:
    leaving = DriverClaim(name="sly", selector={OWNER_LABEL: "sly"}, is_deleting=True)
    assert assign([leaving, CANARY], GPU_NODE) == Owner(name="canary")


def test_an_absent_selector_means_nodes_with_a_gpu_and_an_empty_one_means_all() -> None:
    absent, empty = DriverClaim(name="gpus", selector=None), DriverClaim(name="all", selector={})
    assert assign([absent], GPU_NODE) == Owner(name="gpus")
    assert assign([absent], CPU_NODE) == NOBODY
    assert assign([empty], GPU_NODE) == Owner(name="all")
    assert assign([empty], CPU_NODE) == Owner(name="all")


@pytest.mark.parametrize("selector", [None, {}])
def test_a_default_may_have_an_empty_selector_and_takes_nodes_with_a_gpu_only(selector: dict[str, str] | None) -> None:
    default = DriverClaim(name="default", is_default=True, selector=selector)
    assert assign([default], GPU_NODE) == Owner(name="default")
    assert assign([default], CPU_NODE) == NOBODY


def test_all_of_a_selector_must_match() -> None:
    picky = DriverClaim(name="picky", selector={"pool": "canary", "zone": "a"})
    assert assign([picky], GPU_NODE) == NOBODY
    assert assign([picky], {**GPU_NODE, "zone": "a"}) == Owner(name="picky")


def test_a_gpu_said_to_be_absent_is_absent() -> None:
    assert assign([DEFAULT], {"nvidia.com/gpu.present": "false"}) == NOBODY


@pytest.mark.parametrize("claims", [[CANARY, FLEET], [FLEET, *TWO_DEFAULTS], [FLEET, DriverClaim(name="x"), CANARY]])
def test_the_owner_label_is_the_operators_own_answer_and_wins(claims: list[DriverClaim]) -> None:
    assert assign(claims, {**GPU_NODE, OWNER_LABEL: "fleet"}) == Owner(name="fleet")


def test_an_empty_owner_label_says_nothing() -> None:
    assert assign([CANARY], {**GPU_NODE, OWNER_LABEL: ""}) == Owner(name="canary")


def test_an_owner_label_that_names_a_stranger_is_a_conflict() -> None:
    assert assign([CANARY], {**GPU_NODE, OWNER_LABEL: "gone"}) == Owner(
        conflict=f"the label {OWNER_LABEL} names NVIDIADriver gone, which does not exist. "
        "Wait for the GPU Operator to correct the label, or remove it."
    )


def test_an_owner_label_that_names_a_driver_being_deleted_is_a_conflict() -> None:
    leaving = DriverClaim(name="leaving", is_deleting=True)
    owner = assign([CANARY, leaving], {**GPU_NODE, OWNER_LABEL: "leaving"})
    assert owner.name == ""
    assert "names NVIDIADriver leaving, which is being deleted." in owner.conflict


def test_the_order_of_the_drivers_does_not_matter() -> None:
    claims = [DEFAULT, CANARY, DriverClaim(name="all", selector={}), DriverClaim(name="gpus")]
    assert len({assign(some, GPU_NODE) for some in permutations(claims)}) == 1
