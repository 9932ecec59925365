"""Free text that leaves a cluster: known words stay, and nothing else does."""

from __future__ import annotations

import pytest

from seatrial.adapters.files.facts import failures, vocabulary
from seatrial.adapters.files.facts.knowledge import load_user_data
from seatrial.core.survey.doctor.failures import Failure
from seatrial.core.survey.portable.words import Words

WORDS = Words(vocabulary.texts(), names=["gpu-17", "llama-worker-0", "registry.corp/llm:rc1"])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Back-off restarting failed container", "Back-off restarting failed container"),
        ("CrashLoopBackOff", "CrashLoopBackOff"),
        ("Module nvidia_uvm is in use by: 3", "Module nvidia_uvm is in use by: 3"),
        ("NVRM: Xid (PCI:0000:c1:00): 79, pid=4221", "NVRM: Xid (PCI:0000:c1:00): 79, pid=4221"),
        ("pod llama-worker-0 on gpu-17 failed", "pod llama-worker-0 on gpu-17 failed"),
        ("password=hunter2", "password=…"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY failed", "AWS_SECRET_ACCESS_KEY=… failed"),
        (
            "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.XmNK3GpH3Ys_7wsYBfq4C3M6goz71I7dTgUkuIa5lyQ",
            "Authorization: … …",
        ),
        ("dial tcp 10.11.12.13:443: connection refused", "dial tcp …:443: connection refused"),
        ("driver 580.105.08 on kernel 5.15.0-1028", "driver 580.105.08 on kernel 5.15.0-1028"),
        ("card 4111111111111111", "card …"),
        ("took 3.14159265358979 seconds", "took 3.14159265358979 seconds"),
        ("le café est fermé", "… … … …"),
        ("", ""),
    ],
)
def test_a_word_that_is_not_known_is_not_told(said: str, told: str) -> None:
    assert WORDS.told(said) == told


def test_what_is_told_is_told_again_as_it_is() -> None:
    once = WORDS.told("token hunter2 of gpu-17 expired")
    assert WORDS.told(once) == once == "token … of gpu-17 expired"


@pytest.mark.parametrize("failure", failures.known(), ids=lambda each: each.name)
def test_every_failure_is_still_known_by_its_example_when_unknown_words_are_left_out(failure: Failure) -> None:
    _, data = load_user_data(failures.OWN)
    written = next(each for each in data["failures"] if each["name"] == failure.name)
    for pattern, entry in zip(failure.patterns, written["patterns"], strict=True):
        if pattern.text is not None:
            assert pattern.is_in(WORDS.told(entry["example"])), entry["example"]
