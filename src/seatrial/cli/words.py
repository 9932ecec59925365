"""The words people type for a rollout, as the resource spells them: spans, shares, windows, gates, labels.

Each reader is a type of argparse: a word that cannot be meant is refused with what could be. Tests:
tests/cli/test_rollout_words.py
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from typing import Any, Final

from seatrial.core.text import shares

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_MINUTES: Final = 24 * 60

_SPAN: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+)s)?")
_UNITS: Final = (86_400, 3_600, 60, 1)
_CLOCK: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def span(text: str) -> int:
    """Seconds, from `48h`, `1d12h` or `90m`; a bare number could be anything."""
    found = _SPAN.fullmatch(text.replace(" ", ""))
    if found is None or not any(found.groups()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration; write it as 48h, 90m or 1d12h")
    return sum(int(count) * seconds for count, seconds in zip(found.groups("0"), _UNITS, strict=True))


def share(text: str) -> str:
    """A count of nodes or a percentage of them, as written."""
    digits = text.removesuffix("%")
    if not (digits.isascii() and digits.isdigit()) or (text.endswith("%") and not 0 < int(digits) <= 100):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a count such as 3 nor a percentage from 1% to 100%, such as 5%"
        )
    return text


def component(text: str) -> tuple[str, str]:
    """A component and its version, from `container_toolkit=v1.18.1` or `gpu_operator=v25.10.0`."""
    from seatrial.core.compat import versions
    from seatrial.core.compat.matrix import SCHEMES, Component
    from seatrial.core.model.target import PUBLISHED

    name, _, version = text.partition("=")
    if name not in PUBLISHED or not version:
        names = ", ".join(each.value for each in PUBLISHED)
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a version of a component; write it as NAME=V, NAME one of {names}"
        )
    try:
        versions.parse(SCHEMES[Component(name)], version)
    except versions.VersionInvalid as err:
        raise argparse.ArgumentTypeError(f"{name}: {err}") from err
    return name, version


def count(text: str) -> int:
    """A number from 0 upwards."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 3")
    return int(text)


def positive(text: str) -> int:
    """A number from 1 upwards."""
    number = count(text)
    if number == 0:
        raise argparse.ArgumentTypeError("0 is none at all; give 1 or more")
    return number


def percent(text: str) -> int:
    """Read 20 or 20%."""
    digits = text.removesuffix("%")
    if not digits.isdecimal() or int(digits) > 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share; write it in percent, as 20")
    return int(digits)


def loss(text: str) -> str:
    """Read 3%: a loss that is to be excluded."""
    return _as_written(shares.loss, text)


def confidence(text: str) -> str:
    """Read 99%: how sure one has to be."""
    return _as_written(shares.confidence, text)


def _as_written(read: Callable[[str], float], text: str) -> str:
    try:
        read(text)
    except ValueError as err:
        raise argparse.ArgumentTypeError(str(err)) from err
    return text


def label(text: str) -> tuple[str, str]:
    """A label as `key=value`."""
    key, is_given, value = text.partition("=")
    if not key or not is_given:
        raise argparse.ArgumentTypeError(f"{text!r} is not a label; write it as key=value")
    return key, value


def names(text: str) -> list[str]:
    """Words with commas between them."""
    return [word for word in (part.strip() for part in text.split(",")) if word]


def window(text: str) -> dict[str, Any]:
    """A window, from `Sat,Sun 22:00-04:00`, `Mon-Fri 20:00-06:00` or `22:00-04:00`; one that ends earlier than it
    begins ends the next day."""
    said, _, clock = text.strip().rpartition(" ")
    start, is_given, end = clock.partition("-")
    opens, closes = _CLOCK.fullmatch(start), _CLOCK.fullmatch(end)
    if not is_given or opens is None or closes is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a window; write it as 'Sat,Sun 22:00-04:00'")
    minutes = (_minute(closes) - _minute(opens)) % DAY_MINUTES or DAY_MINUTES
    made: dict[str, Any] = {"start": f"{_minute(opens) // 60:02}:{_minute(opens) % 60:02}", "minutes": minutes}
    days = [day for word in names(said) for day in _days(word)]
    return {"days": list(dict.fromkeys(days)), **made} if days else made


def _minute(clock: re.Match[str]) -> int:
    return int(clock[1]) * 60 + int(clock[2])


def _days(word: str) -> list[str]:
    first, is_range, last = word.partition("-")
    ends = [day.strip().capitalize()[:3] for day in ((first, last) if is_range else (first,))]
    for day in ends:
        if day not in DAYS:
            raise argparse.ArgumentTypeError(f"{word!r} is not a weekday; days are {', '.join(DAYS)}, or Mon-Fri")
    begin = DAYS.index(ends[0])
    length = (DAYS.index(ends[-1]) - begin) % 7 + 1
    return [DAYS[(begin + number) % 7] for number in range(length)]


def gate(text: str) -> dict[str, Any]:
    """A gate, from `NAME=IMAGE` or `NAME=IMAGE COMMAND …`: an image has colons of its own, so a blank ends it."""
    name, is_given, rest = text.partition("=")
    try:
        words = shlex.split(rest)
    except ValueError as err:
        raise argparse.ArgumentTypeError(f"the command in {text!r} cannot be read: {err}") from None
    if not is_given or not words or not _NAME.fullmatch(name):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a gate; write it as NAME=IMAGE or 'NAME=IMAGE COMMAND …', the name in small letters"
        )
    made: dict[str, Any] = {"name": name, "image": words[0]}
    return {**made, "command": words[1:]} if words[1:] else made
