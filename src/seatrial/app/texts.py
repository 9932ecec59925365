"""Files that a person names, as text and as YAML; `-` is what was piped in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from seatrial.core.errors import SeatrialError


class FileUnusable(SeatrialError):  # noqa: N818  the message says what to do
    """A file given with an option cannot be read as what it should be."""


def read_text(path: str) -> str:
    """What the file says; OSError and UnicodeDecodeError are the caller's to explain."""
    return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")


def read_yaml(path: str) -> Any:
    """What the file says in YAML."""
    import yaml

    try:
        return yaml.safe_load(read_text(path))
    except (OSError, UnicodeDecodeError) as err:
        raise FileUnusable(f"{path} cannot be read: {err}.") from err
    except yaml.YAMLError as err:
        what = " ".join(str(err).split())
        raise FileUnusable(f"{path} is not YAML: {what}.") from err
