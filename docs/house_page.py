"""The rooms of the house as docs/concepts/architecture.md shows them: every folder with its own first line, and which
folders may import which, from the contracts that `make lint` checks.

Law of this file: nothing is described here; what a folder is for is said by its __init__.py, what may import what by
pyproject.toml. Tests: tests/docs/test_generated.py
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "src"
PAGE: Final = "docs/concepts/architecture.md"
MARKED: Final = re.compile(r"(<!-- drawn from (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def text() -> str:
    """The page with its drawn parts as the code has them today; what people wrote stays."""
    drawn = {"rooms": rooms(), "rules": rules()}
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    return MARKED.sub(lambda found: f"{found[1]}\n{drawn[found[2]]}\n{found[3]}", page)


def rooms() -> str:
    """Every folder of the source, and what it says of itself."""
    lines = [(_shown(path), _first_line(path)) for path in sorted(SOURCE.rglob("__init__.py"))]
    width = max(len(name) for name, _ in lines)
    return "```\n" + "".join(f"{name:{width}}  {said}\n" for name, said in lines) + "```\n"


def _shown(path: Path) -> str:
    folder = path.parent.relative_to(SOURCE)
    return "  " * (len(folder.parts) - 1) + folder.name + "/"


def _first_line(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return said.split("\n\n")[0].replace("\n", " ").rstrip(".")


def rules() -> str:
    """Every contract of the imports: a sentence, and what it binds."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return "\n".join(_rule(each) for each in settings["tool"]["importlinter"]["contracts"])


def _rule(contract: dict[str, Any]) -> str:
    name = contract["name"]
    return f"**{name[0].upper()}{name[1:]}.**\n\n" + "\n".join(_bound(contract)) + "\n"


def _bound(contract: dict[str, Any]) -> Iterator[str]:
    match contract["type"]:
        case "layers":
            yield "Each may import what stands below it; on one line, `|` keeps apart, and `:` does not.\n"
            yield "```"
            yield from contract["layers"]
            yield "```"
        case "forbidden":
            yield f"{_listed(contract['source_modules'])} may not import {_listed(contract['forbidden_modules'])}."
        case "independence":
            yield f"None of {_listed(contract['modules'])} imports another."
        case other:
            raise ValueError(
                f"{other}: nobody has said yet how such a contract is shown; add it to docs/house_page.py."
            )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
