"""What people type for spans, windows, gates and shares, and what is refused."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import pytest

from seatrial.cli import words


@pytest.mark.parametrize(
    ("text", "seconds"), [("48h", 172_800), ("90m", 5_400), ("90min", 5_400), ("1d12h", 129_600), ("30s", 30)]
)
def test_a_span_is_read_in_the_units_people_say(text: str, seconds: int) -> None:
    assert words.span(text) == seconds


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("Sat,Sun 22:00-04:00", {"days": ["Sat", "Sun"], "start": "22:00", "minutes": 360}),
        ("mon-fri 8:30-10:00", {"days": ["Mon", "Tue", "Wed", "Thu", "Fri"], "start": "08:30", "minutes": 90}),
        ("Sat-Mon 00:00-00:00", {"days": ["Sat", "Sun", "Mon"], "start": "00:00", "minutes": 1440}),
        ("22:00-23:00", {"start": "22:00", "minutes": 60}),
    ],
)
def test_a_window_that_ends_before_it_begins_ends_the_next_day(text: str, window: dict[str, Any]) -> None:
    assert words.window(text) == window


def test_a_blank_ends_the_image_of_a_gate_since_images_have_colons_of_their_own() -> None:
    assert words.gate("smoke=registry.example.com:5000/gates/smoke:1.2") == {
        "name": "smoke",
        "image": "registry.example.com:5000/gates/smoke:1.2",
    }
    assert words.gate("nccl=example.com/nccl:2 all_reduce_perf -b '8 M'") == {
        "name": "nccl",
        "image": "example.com/nccl:2",
        "command": ["all_reduce_perf", "-b", "8 M"],
    }


@pytest.mark.parametrize(
    ("read", "text", "says"),
    [
        (words.span, "48", "48h"),
        (words.span, "", "48h"),
        (words.span, "2 weeks", "48h"),
        (words.share, "5 %", "5%"),
        (words.share, "0%", "5%"),
        (words.share, "101%", "from 1% to 100%"),
        (words.share, "-1", "5%"),
        (words.loss, "0.03", "such as 3%"),
        (words.confidence, "1%", "such as 99%"),
        (words.positive, "0", "1 or more"),
        (words.count, "many", "such as 3"),
        (words.label, "pool", "key=value"),
        (words.window, "Sat 22:00", "22:00-04:00"),
        (words.window, "Caturday 22:00-04:00", "not a weekday"),
        (words.window, "Sat 24:00-04:00", "22:00-04:00"),
        (words.gate, "smoke", "NAME=IMAGE"),
        (words.gate, "Smoke=x", "small letters"),
        (words.gate, "smoke=", "NAME=IMAGE"),
        (words.gate, "smoke=x 'open", "cannot be read"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_could_be(
    read: Callable[[str], object], text: str, says: str
) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=says):
        read(text)
