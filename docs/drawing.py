"""Boxes and arrows as SVG, for the pictures that docs/generate.py writes. It knows nothing of what is drawn.

The same input gives the same bytes: coordinates are rounded, and nothing is measured on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final, TypeAlias

Point: TypeAlias = tuple[float, float]

STYLE: Final = """\
text { font: 15px ui-sans-serif, "DejaVu Sans", system-ui, sans-serif; fill: #1b2430; }
.small { font-size: 13px; fill: #51606f; }
.box { fill: #eef3f8; stroke: #51606f; stroke-width: 1.2; }
.end { fill: #e3f4e7; stroke: #2f8f4e; }
.bad { fill: #fbe6e4; stroke: #c0392b; }
.way { fill: none; stroke: #2f6fb0; stroke-width: 2.4; }
.side { fill: none; stroke: #7b8794; stroke-width: 1.3; stroke-dasharray: 5 4; }
"""
COLOURS: Final = {"way": "#2f6fb0", "side": "#7b8794"}


def arch(start: float, end: float, y: float, height: float) -> tuple[Point, ...]:
    """Out of a row of boxes, along it, and back into it."""
    return ((start, y), (start, y + height), (end, y + height), (end, y))


def border(middle: Point, towards: Point, width: float, height: float) -> Point:
    """Where the line from the middle of a box leaves it."""
    across, down = towards[0] - middle[0], towards[1] - middle[1]
    reach = min(width / 2 / abs(across) if across else float("inf"), height / 2 / abs(down) if down else float("inf"))
    return (middle[0] + across * reach, middle[1] + down * reach)


def box(name: str, place: Point, kind: str, width: float, height: float) -> str:
    """A box with its name in the middle."""
    x, y = place
    return (
        f'<rect class="{kind}" x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width}" '
        f'height="{height}" rx="8"/><text x="{x:g}" y="{y + 5:g}" text-anchor="middle">{name}</text>'
    )


def arrow(points: Iterable[Point], kind: str) -> str:
    """An arrow along the points."""
    return f'<path class="{kind}" marker-end="url(#{kind})" d="{rounded(points)}"/>'


def heads() -> tuple[str, ...]:
    """The heads of the arrows, one for each kind."""
    return tuple(
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="{colour}"/></marker>'
        for name, colour in COLOURS.items()
    )


def picture(title: str, width: int, height: int, parts: Iterable[str], legend: str) -> str:
    """The whole picture, on white, with its legend at the bottom."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">',
        f"<style>\n{STYLE}</style>",
        "<defs>",
        *heads(),
        "</defs>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *parts,
        f'<text class="small" x="20" y="{height - 18}">{legend}</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def rounded(points: Iterable[Point], radius: float = 10) -> str:
    """A path along the points, its corners rounded."""
    first, *rest = points
    path = [f"M{first[0]:g} {first[1]:g}"]
    before = first
    for corner, after in pairwise(rest):
        near, far = _towards(corner, before, radius), _towards(corner, after, radius)
        path.append(f"L{near[0]:g} {near[1]:g}Q{corner[0]:g} {corner[1]:g} {far[0]:g} {far[1]:g}")
        before = corner
    return " ".join([*path, f"L{rest[-1][0]:g} {rest[-1][1]:g}"])


def _towards(start: Point, end: Point, length: float) -> Point:
    across, down = end[0] - start[0], end[1] - start[1]
    distance = (across**2 + down**2) ** 0.5 or 1.0
    share = min(length / distance, 0.5)
    return (round(start[0] + across * share, 2), round(start[1] + down * share, 2))
