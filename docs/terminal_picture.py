"""What a terminal shows, as SVG: the same text gives the same bytes.

Law of this file: no web font and nothing that is fetched; a picture has to look the same without a network. It knows
nothing of what is shown.
"""

from __future__ import annotations

import io
from typing import Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COLOURS: Final = ("#10141b", "#f26060", "#62c478", "#e2b75a", "#619ef0", "#bc8ce6", "#56c4cc", "#c8ced6")
RGB: Final = [tuple(bytes.fromhex(colour[1:])) for colour in COLOURS]
THEME: Final = TerminalTheme((16, 20, 27), (214, 221, 230), [(red, green, blue) for red, green, blue in RGB])
FRAME: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{width}} {{height}}" role="img" aria-label="{label}">
<style>
.{{unique_id}}-matrix {{{{ font: {{char_height}}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }}}}
{{styles}}
</style>
<defs>
{{lines}}
</defs>
<rect width="{{width}}" height="{{height}}" rx="10" fill="#10141b"/>
<g transform="translate(18, 14)">
{{backgrounds}}
<g class="{{unique_id}}-matrix" xml:space="preserve">
{{matrix}}
</g>
</g>
</svg>
"""


def blank(columns: int) -> Console:
    """A terminal of this width on which nothing stands yet."""
    return Console(
        record=True,
        file=io.StringIO(),
        width=columns,
        highlight=False,
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        _environ={},
    )


def shown(text: str, *, columns: int, label: str, name: str) -> str:
    """The picture of a text with its colours, as a program wrote it."""
    console = blank(columns)
    for line in text.splitlines():
        console.print(Text.from_ansi(line), overflow="crop", no_wrap=True, crop=True)
    return drawn(console, label=label, name=name)


def drawn(console: Console, *, label: str, name: str) -> str:
    """The picture of what was printed."""
    svg = console.export_svg(theme=THEME, code_format=FRAME.format(label=label), unique_id=name)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
