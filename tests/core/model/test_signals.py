"""Signals: one meaning each, in the words of the payloads."""

from seatrial.core.model.gates.signals import HELD_BACK, SIGNALS, Better, Kind
from seatrial.probes.measuring import nvml
from seatrial.probes.payloads import gpu_errors


def test_errors_are_called_what_the_payloads_call_them() -> None:
    told = {name for name, *_ in (*gpu_errors.COUNTERS, *gpu_errors.RETIRED)}
    assert told <= SIGNALS.keys()


def test_the_bits_that_hold_clocks_back_have_the_words_of_the_payloads() -> None:
    assert tuple(HELD_BACK.values()) == tuple(nvml.REASONS.values())
    assert [1 << number for number in range(len(HELD_BACK))] == list(HELD_BACK)


def test_whatever_is_counted_is_better_low() -> None:
    assert {each.better for each in SIGNALS.values() if each.kind in (Kind.COUNTER, Kind.CODE)} == {Better.LOWER}
