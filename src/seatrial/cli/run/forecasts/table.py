"""The settings of a forecast as a table for a terminal: 80 columns, and settings that come to the same are one row.

    parallel   unavailable  half of runs   9 of 10        …
    1          1% to 25%    26 min 40 s    27 min 10 s    …
    4 or more  1% to 10%    the same
  ▶ 4 or more  25%          13 min 20 s    14 min 5 s     …

Law of this file: what is told of a setting is told of all that its row stands for, to the last figure. Tests:
tests/cli/test_forecast.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from seatrial.core.model.policy import Share
from seatrial.core.text import spans

HEAD: Final = ("parallel", "unavailable", "half of runs", "9 of 10", "GPU-hours", "least", "stops")
GAP: Final = "  "
MARK: Final = "▶ "
NAMES: Final = frozenset({"parallel", "unavailable", "is_recommended"})
"""What tells settings apart; everything else is a figure."""


class Line(NamedTuple):
    """One line of the table."""

    text: str
    is_recommended: bool = False


def lines(data: dict[str, Any]) -> list[Line]:
    """The head, and a row for all settings that come to the same; all at once is the last."""
    rows: list[tuple[bool, tuple[str, ...]]] = [(False, HEAD)]
    for names, group in groups(data):
        is_chosen = any(row["is_recommended"] for row in group)
        for number, (parallel, unavailable) in enumerate(names):
            figures = _figures(group[0]) if number == 0 else ("the same", "", "", "", "")
            rows.append((is_chosen, (parallel, unavailable, *figures)))
    at_once = data["at_once"]
    rows.append((at_once["is_recommended"], ("all at once", "", *_figures(at_once))))
    widths = [max(map(len, column)) for column in zip(*(cells for _, cells in rows), strict=True)]
    return [Line(_line(is_chosen, cells, widths), is_chosen) for is_chosen, cells in rows]


def groups(data: dict[str, Any]) -> list[tuple[list[tuple[str, str]], list[dict[str, Any]]]]:
    """Settings that come to the same, with their names: how many at a time, and how many unavailable."""
    rows, total = data["settings"], data["fleet"]["nodes"]
    return [(_names(group, rows, total), group) for group in _alike(rows)]


def legend(data: dict[str, Any]) -> list[str]:
    """What a mark or a word in the table means, where it is in it."""
    rows = (*data["settings"], data["at_once"])
    found = [f"{MARK}recommended"] if any(row["is_recommended"] for row in rows) else []
    causes = dict.fromkeys(stop["why"] for row in rows for stop in row["stops"])
    return [*found, *(f"Why it stops: {cause}." for cause in causes)]


def parts(data: dict[str, Any]) -> list[str]:
    """What the total is made of: of what is recommended, and of the rollout as it is."""
    own, found = data["own"], []
    for row in data["settings"]:
        is_own = own is not None and (row["parallel"], row["unavailable"]) == (own["parallel"], own["unavailable"])
        if not (row["is_recommended"] or is_own) or not row["parts_p50"] or row["seconds_p50"] is None:
            continue
        whose = "recommended" if row["is_recommended"] else "as the rollout is"
        limits = f"{row['parallel'] or 'any number'} at a time, {row['unavailable']} unavailable"
        made_of = ", ".join(f"{part} {spans.span(seconds)}" for part, seconds in row["parts_p50"].items())
        found.append(f"{spans.span(row['seconds_p50'])} {whose} ({limits}): {made_of}")
    return found


def not_included(data: dict[str, Any]) -> str:
    """What the figures leave out, in a sentence."""
    *most, last = data["not_included"]
    return f"Not included: {'; '.join(most)}; and {last}."


def _line(is_chosen: bool, cells: Sequence[str], widths: Sequence[int]) -> str:
    told = GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
    return f"{MARK if is_chosen else '  '}{told}"


def _figures(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        span(row["seconds_p50"]),
        span(row["seconds_p90"]),
        f"{row['gpu_hours_lost_p50']:,.1f}",
        f"{row['least_capacity']:.1%}",
        f"{row['stop_chance']:.0%}",
    )


def span(seconds: float | None) -> str:
    """A duration, or that there is none."""
    return spans.span(seconds) if seconds is not None else "stops"


# ── settings that come to the same ───────────────────────────────────────────────────────────────────────────────────


def _alike(rows: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows that differ in nothing but the setting's name, in the order of the first of each."""
    groups: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    for row in rows:
        figures = {key: value for key, value in row.items() if key not in NAMES}
        found = next((group for known, group in groups if known == figures), None)
        if found is None:
            groups.append((figures, [row]))
        else:
            found.append(row)
    return [group for _, group in groups]


def _names(group: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], total: int) -> list[tuple[str, str]]:
    """Which settings these are: how many at a time, and how many unavailable, a pair for each block of the grid."""
    by_parallel: dict[int, list[str]] = {}
    for row in group:
        by_parallel.setdefault(row["parallel"], []).append(row["unavailable"])
    blocks: dict[tuple[str, ...], list[int]] = {}
    for parallel, shares in by_parallel.items():
        blocks.setdefault(tuple(sorted(shares, key=lambda share: _size(share, total))), []).append(parallel)
    every_share = sorted({row["unavailable"] for row in rows}, key=lambda share: _size(share, total))
    every_parallel = sorted({row["parallel"] for row in rows}, key=lambda many: many or total + 1)
    return [
        (_parallel(sorted(many, key=every_parallel.index), every_parallel), _range(shares, every_share))
        for shares, many in blocks.items()
    ]


def _size(share: str, total: int) -> tuple[int, int]:
    found = Share.parse(share)
    return found.of(total), found.amount


def _parallel(found: Sequence[int], every: Sequence[int]) -> str:
    texts = [str(many or "any") for many in found]
    if len(found) > 1 and not found[-1] and _is_row(found, every):
        return f"{texts[0]} or more"
    return _range(texts, [str(many or "any") for many in every])


def _range(found: Sequence[str], every: Sequence[str]) -> str:
    if len(found) > 2 and _is_row(found, every):
        return f"{found[0]} to {found[-1]}"
    return ", ".join(found)


def _is_row(found: Sequence[Any], every: Sequence[Any]) -> bool:
    """Whether these follow each other without a gap."""
    start = every.index(found[0])
    return list(every[start : start + len(found)]) == list(found)
