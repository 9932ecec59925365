"""NIC firmware: is it for the card its key names, and does it go with the network driver?

The expected firmware is looked up by family, never computed from the train: plain ConnectX-6 stopped at train 43.

Tests: tests/core/compat/test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, nothing_known, ok, unknown, warn
from seatrial.core.compat.versions import NIC_FAMILIES, FirmwareVersion, OfedVersion

FIRMWARE: Final = (
    Component.FIRMWARE_CX7,
    Component.FIRMWARE_CX6,
    Component.FIRMWARE_CX8,
    Component.FIRMWARE_BF3,
)
FAMILIES: Final[Mapping[Component, frozenset[int]]] = {
    Component.FIRMWARE_CX7: frozenset({28}),
    Component.FIRMWARE_CX6: frozenset({20, 22, 26}),
    Component.FIRMWARE_CX8: frozenset({40}),
    Component.FIRMWARE_BF3: frozenset({32}),
}
"""The leading numbers that fit a key; ConnectX-6 is three devices."""

WINDOW_TRAINS: Final = 2
"""NVIDIA lists, per release, three releases between which it tested moving; where no list was read, two trains before
stand in for it."""


def firmware_of(case: Case) -> Iterator[tuple[Component, FirmwareVersion]]:
    """Every firmware that can be read, with its key."""
    for component in FIRMWARE:
        value = case.stack[component]
        if value is not None and isinstance(value.version, FirmwareVersion):
            yield component, value.version


def judge_firmware_family(case: Case) -> Iterator[Answer]:
    """Does the leading number fit the key?"""
    yield from case.unreadable(*FIRMWARE)
    cite = case.facts.cite("nic_firmware.family_by_leading_number")
    for component, firmware in firmware_of(case):
        wanted = " or ".join(NIC_FAMILIES[number] for number in sorted(FAMILIES[component]))
        spans = case.spans(component)
        if firmware.family in FAMILIES[component]:
            yield ok(f"{component.value} {firmware} is for {firmware.family_name}.", cite)
        elif firmware.family not in NIC_FAMILIES:
            yield nothing_known(
                f"NIC family {firmware.family} ({component.value} {firmware})", wanted, case.facts, spans
            )
        else:
            yield fail(
                f"{component.value} {firmware} is firmware for {firmware.family_name}, not for {wanted}.",
                f"Write a version that begins with {' or '.join(map(str, sorted(FAMILIES[component])))}.",
                cite,
                spans=spans,
            )


FIRMWARE_FAMILY: Final = Rule(
    id="firmware-family",
    title="The firmware is for the card its key names",
    meaning="""\
The leading number of a firmware version is the device: 28 is ConnectX-7; 20, 22 and 26 are ConnectX-6, 6 Dx and 6 Lx,
which share one key and are named in the answer; 40 is ConnectX-8, 32 is BlueField-3. Firmware of another device under
the key fails.""",
    inputs=FIRMWARE,
    applies=lambda case: any(case.has(part) for part in FIRMWARE),
    sources=("nic_firmware.family_by_leading_number",),
    judge=judge_firmware_family,
)


def judge_firmware_mofed(case: Case) -> Iterator[Answer]:
    """Was the firmware bundled or tested with this network driver?"""
    yield from case.unreadable(Component.MOFED, *FIRMWARE)
    ofed = case.ofed
    for component, firmware in firmware_of(case):
        if ofed is not None:
            yield _pair(case, component, firmware, ofed)


def _pair(case: Case, component: Component, firmware: FirmwareVersion, ofed: OfedVersion) -> Answer:
    without = _unsupported(case, component, firmware, ofed)
    if without is not None:
        return without
    row = case.facts.firmware_pair(ofed, firmware.family_name)
    if row is None:
        return _by_train(case, component, firmware, ofed)
    partner, name = row.firmware[firmware.family_name], f"{firmware.family_name} firmware {firmware}"
    if firmware == partner:
        return ok(f"{name} is the partner of MOFED {_named(case, ofed)}.", row.cite)
    return warn(
        f"The partner of MOFED {_named(case, ofed)} is {firmware.family_name} firmware {partner}; {firmware} is "
        f"{_distance(case, firmware, partner)}.",
        f"Take {partner}, or accept the rule; OEM cards have numbers of their own.",
        row.cite,
        case.facts.cite("nic_firmware.window"),
        spans=case.spans(component, Component.MOFED),
    )


def _distance(case: Case, firmware: FirmwareVersion, partner: FirmwareVersion) -> str:
    """How far off, by the list of releases that were tested with the partner, else by trains."""
    if firmware > partner:
        return "newer than what was tested with it"
    listed, trains = case.facts.firmware_windows.get(partner), partner.train - firmware.train
    if listed is not None:
        told = ", ".join(map(str, listed))
        return f"{'older, but among' if firmware in listed else 'older, and none of'} those NVIDIA tested ({told})"
    instead = f"the window of {WINDOW_TRAINS} trains (NVIDIA lists three releases, and that list was not read)"
    return f"older by {_trains(trains)}, inside {instead}" if trains <= WINDOW_TRAINS else f"older than {instead}"


def _unsupported(case: Case, component: Component, firmware: FirmwareVersion, ofed: OfedVersion) -> Answer | None:
    """What is said of a family that the driver of this train does not support."""
    row = next(
        (
            each
            for each in case.facts.unsupported_nics
            if (each.family, each.train) == (firmware.family_name, ofed.train)
        ),
        None,
    )
    spans = case.spans(component, Component.MOFED)
    if row is None or (row.only_in and case.has(Component.NETWORK_OPERATOR)):
        return None  # the Network Operator's driver container is DOCA's
    message = f"MOFED {_named(case, ofed)} with {firmware.family_name} ({component.value} {firmware}): {row.said}."
    if row.only_in:
        return warn(message, f"Accept the rule where the driver is not {row.only_in}.", row.cite, spans=spans)
    return fail(message, f"Take a MOFED of a later train than {row.train}.", row.cite, spans=spans)


def _by_train(case: Case, component: Component, firmware: FirmwareVersion, ofed: OfedVersion) -> Answer:
    train, spans = case.facts.firmware_trains.get(firmware.train), case.spans(component, Component.MOFED)
    start = f"No table pairs MOFED {_named(case, ofed)} with {firmware.family_name}"
    if train is not None and train.text == ofed.train:
        return warn(
            f"{start}; firmware {firmware} is at least of the same release train ({train.text}).",
            "Take a MOFED that its operator ships, or accept the rule with a reason.",
            train.cite,
            spans=spans,
        )
    return unknown(
        f"{start}, and firmware {firmware} is of another release train ({train.text if train else 'unknown'}).",
        "Read the release notes of both, then accept the rule with a reason.",
        train.cite if train else case.facts.cite("nic_firmware.release_train"),
        spans=spans,
    )


def _trains(count: int) -> str:
    return {0: "less than a train", 1: "one train"}.get(count, f"{count} trains")


def _named(case: Case, ofed: OfedVersion) -> str:
    return str(ofed) if case.has(Component.MOFED) else f"{ofed} (Network Operator {case.network_operator}'s own)"


FIRMWARE_MOFED: Final = Rule(
    id="firmware-mofed",
    title="The firmware goes with MOFED",
    meaning="""\
Each MOFED was bundled or tested with one firmware per NIC family: that one is ok. Any other warns: NVIDIA lists three
releases between which it tested moving, and the answer says whether this is one of them, or how many trains older it is
where no list was read. A MOFED in no table warns when the firmware is of its release train and is unknown otherwise. A
family that the driver does not support (ConnectX-8 on 24.10) fails; nothing else does, since OEM cards have numbers of
their own. Without a mofed key, the Network Operator's own MOFED is meant.""",
    inputs=(*FIRMWARE, Component.MOFED, Component.NETWORK_OPERATOR),
    applies=lambda case: (
        any(case.has(part) for part in FIRMWARE) and (case.has(Component.MOFED) or case.ofed is not None)
    ),
    sources=(
        "nic_firmware.bundled",
        "nic_firmware.tested_pairs",
        "nic_firmware.release_train",
        "nic_firmware.window",
        "nic_firmware.not_supported",
    ),
    judge=judge_firmware_mofed,
)
