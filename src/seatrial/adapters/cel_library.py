"""The CEL library, and the only file that imports it: common-expression-language, written in Rust, Apache-2.0.

Law of this file: it knows no rule and no gate. Tests: tests/adapters/files/test_cel_rules.py,
tests/adapters/expressions/test_child.py
"""

from __future__ import annotations

import logging
import sys
from types import ModuleType
from typing import Any


def library() -> Any:
    """The library, without its own command line: importing that would cost most of a second.

    A stand-in takes the place of `cel.cli` while the package is imported, and is gone afterwards. What the library logs
    about functions that raise is in the errors it raises, too.
    """
    if "cel" not in sys.modules:
        stands_in = "cel.cli" not in sys.modules
        if stands_in:
            sys.modules["cel.cli"] = ModuleType("cel.cli")
        try:
            import cel  # noqa: F401
        finally:
            if stands_in:
                del sys.modules["cel.cli"]
        logging.getLogger("cel").disabled = True
    return sys.modules["cel"]
