"""Where commands print for people."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError  # main.py meets it as it meets that of a plain print; rich would exit with 1


def console() -> Console:
    """Nothing is wrapped, so that commands can be copied, and no text of others is taken for markup."""
    return _Console(highlight=False, soft_wrap=True, markup=False)
