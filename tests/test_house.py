"""The house: how large its files and functions are, which way its imports point, and that a rule is written once.

Counts, not opinions: a file of 1,000 lines, a circle of imports, or a second copy of a rule fails here, with its place.
docs/concepts/architecture.md shows the same rooms.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "src"
FILES: Final = tuple(sorted(SOURCE.rglob("*.py")))
TREES: Final = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
FOLDERS: Final = tuple(sorted({path.parent for path in FILES}))

FILE_MEDIAN_MAX: Final = 150
FILE_P90_MAX: Final = 350
FILE_MAX: Final = 900
FUNCTION_P95_MAX: Final = 25
FUNCTION_MAX: Final = 60
DECIDE_MAX: Final = 40


def _name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def _share(sizes: list[int], share: float) -> int:
    return sorted(sizes)[int(share * (len(sizes) - 1))]


def _lengths() -> dict[str, int]:
    return {_name(path): path.read_text(encoding="utf-8").count("\n") for path in FILES}


def _functions() -> Iterator[tuple[str, int]]:
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                yield f"{_name(path)}: {node.name}", node.end_lineno - node.lineno + 1


def test_a_file_that_names_its_tests_names_tests_that_are_there() -> None:
    named = {
        (_name(path), test)
        for path in FILES
        for test in re.findall(r"\btests/[a-z_/]+\.py", path.read_text(encoding="utf-8"))
    }
    assert sorted(f"{name}: {test}" for name, test in named if not (ROOT / test).exists()) == []


def test_half_of_the_files_are_short_and_none_is_long() -> None:
    lengths = _lengths()
    assert {name: length for name, length in lengths.items() if length > FILE_MAX} == {}
    assert median(lengths.values()) <= FILE_MEDIAN_MAX
    assert _share(list(lengths.values()), 0.9) <= FILE_P90_MAX


def test_nearly_all_functions_fit_into_a_glance_and_none_needs_two_screens() -> None:
    functions = dict(_functions())
    assert {name: length for name, length in functions.items() if length > FUNCTION_MAX} == {}
    assert _share([length for _, length in _functions()], 0.95) <= FUNCTION_P95_MAX


def test_decide_says_what_it_does_in_forty_lines() -> None:
    assert dict(_functions())["seatrial/core/decision/decide.py: decide"] <= DECIDE_MAX


def test_a_package_keeps_its_logic_in_files_with_names() -> None:
    """An __init__ says what the folder is for, and may pass names on."""
    logic = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    packages = (path for path in FILES if path.name == "__init__.py")
    assert [_name(path) for path in packages if any(isinstance(each, logic) for each in TREES[path].body)] == []


LINES_MAX: Final = {
    "src/seatrial/adapters": 27_278,
    "src/seatrial/app": 7_987,
    "src/seatrial/cli": 13_497,
    "src/seatrial/controller": 2_808,
    "src/seatrial/core": 50_226,
    "src/seatrial/manifests": 136,
    "src/seatrial/probes": 2_064,
    "src/seatrial/run": 693,
    "src/seatrial/sim": 6_719,
    "src/seatrial_lab": 20_560,
    "bench": 8_896,
    "tests": 137_089,
}
"""How many lines of Python a room may have. A number only goes down: a change that removes lines lowers it."""


@pytest.mark.parametrize("room", LINES_MAX)
def test_a_room_keeps_to_its_lines(room: str) -> None:
    count = sum(path.read_text(encoding="utf-8").count("\n") for path in (ROOT / room).rglob("*.py"))
    assert count <= LINES_MAX[room], f"{room} has {count} lines"
    assert count > LINES_MAX[room] - SLACK_LINES, (
        f"{room} has only {count} lines: lower its number, so that it stays small"
    )


def test_every_room_has_a_number() -> None:
    rooms = {path.relative_to(ROOT) for path in (SOURCE / "seatrial").iterdir() if path.is_dir() and path in FOLDERS}
    assert rooms == {Path(room) for room in LINES_MAX if room.startswith("src/seatrial/")}


@pytest.mark.parametrize("folder", FOLDERS, ids=_name)
def test_a_folder_says_what_it_is_for(folder: Path) -> None:
    tree = TREES.get(folder / "__init__.py")
    assert tree is not None, "the folder has no __init__.py to say what it is for"
    assert ast.get_docstring(tree), "its __init__.py does not say what the folder is for"


# ── imports ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _modules() -> dict[str, Path]:
    dotted = {path: ".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in FILES}
    return {name.removesuffix(".__init__"): path for path, name in dotted.items()}


def _imported(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of ours that a file imports anywhere: at the top, inside a function, or for types alone."""
    found: set[str] = set()
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            below = {f"{node.module}.{each.name}" for each in node.names}
            found |= below & modules.keys() if below <= modules.keys() else below | {node.module}
    return found & modules.keys()


def _circles() -> list[list[str]]:
    modules = _modules()
    graph = {name: _imported(path, modules) - {name} for name, path in modules.items()}
    while True:  # who imports nobody that is left cannot be in a circle
        ends = {name for name, imported in graph.items() if not imported}
        if not ends:
            break
        graph = {name: imported - ends for name, imported in graph.items() if name not in ends}
    circles = []
    while graph:
        walk = [min(graph)]
        while (following := min(graph[walk[-1]])) not in walk:
            walk.append(following)
        circle = walk[walk.index(following) :]
        circles.append(circle)
        graph = {name: imported - set(circle) for name, imported in graph.items() if name not in circle}
        while ends := {name for name, imported in graph.items() if not imported}:
            graph = {name: imported - ends for name, imported in graph.items() if name not in ends}
    return circles


def test_no_two_files_import_each_other_on_any_way_round() -> None:
    assert _circles() == []


SLACK_LINES: Final = 250
"""How far a room may stay below its number before the number has to follow."""


BOTH_WAYS: Final = {
    ("seatrial/adapters/kube/reading", "gates"),
    ("seatrial/cli", "completing"),
    ("seatrial/core/budget", "attrition"),
    ("seatrial/core/model", "gates"),
    ("seatrial/core/model", "seen"),
    ("seatrial/core/movers", "pace"),
    ("seatrial_lab/testbed", "nodes"),
    ("seatrial_lab/testbed", "plane"),
    ("seatrial_lab/testbed", "real_node"),
}
"""Folders that still import a subfolder which imports them. A pair that is fixed leaves the list; none is added."""


def test_a_folder_and_its_subfolder_do_not_import_each_other() -> None:
    modules = _modules()
    arrows = {
        (path.parent, modules[name].parent)
        for path in FILES
        if path.name != "__main__.py"
        for name in _imported(path, modules)
    }
    both = {(above, below) for above, below in arrows if above in below.parents and (below, above) in arrows}
    assert {(_name(above), str(below.relative_to(above))) for above, below in both} == BOTH_WAYS


# ── said once ────────────────────────────────────────────────────────────────────────────────────────────────────────

ONCE: Final = {
    "a_few": ("core/text/names.py",),
    "ENDED": ("core/model/campaign.py", "core/node/phases.py"),  # the end of a rollout, and that of a node
    "UNDER_WAY": ("core/node/phases.py",),
    "is_under_way": ("core/node/phases.py",),
    "admit": ("core/budget/capacity.py",),
    "EXPLANATIONS": ("core/words/explain.py",),
    "PROMISES": ("core/promises/invariants.py",),
}
"""Rules that were written more than once, and where each lives now."""

NEVER: Final = {"core/fleet.py": "the second engine, which never knew campaigns"}


def _defined(name: str) -> list[str]:
    found = []
    for path, tree in TREES.items():
        if SOURCE / "seatrial" not in path.parents:
            continue
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = {each.id for each in targets if isinstance(each, ast.Name)} | {getattr(node, "name", "")}
            if name in names:
                found.append(str(path.relative_to(SOURCE / "seatrial")))
    return found


@pytest.mark.parametrize(("name", "homes"), ONCE.items())
def test_a_rule_is_written_once(name: str, homes: tuple[str, ...]) -> None:
    assert _defined(name) == list(homes)


def _literal_sets(*members: str) -> list[str]:
    """Where exactly these members are written down as a set, a tuple or a list."""
    return [
        f"{_name(path)}:{node.lineno}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Set | ast.Tuple | ast.List)
        and {each.attr for each in node.elts if isinstance(each, ast.Attribute)} == set(members)
        and all(isinstance(each, ast.Attribute) for each in node.elts)
    ]


@pytest.mark.parametrize(
    ("members", "home"), [(("DONE", "REVERTED"), "campaign"), (("UPGRADE_DONE", "UPGRADE_FAILED"), "phases")]
)
def test_what_has_ended_is_listed_once(members: tuple[str, ...], home: str) -> None:
    places = _literal_sets(*members)
    assert [home in place for place in places] == [True], places


def test_nobody_lists_the_first_names_and_counts_the_rest_by_himself() -> None:
    """`f"{shown} and {count} more"` is what core/text/names.py is for; a line that only counts is another thing."""
    copies = [
        f"{_name(path)}:{node.lineno}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        and len(node.values) > 1
        and re.search(r"[^;'\"] and \{[^{}]*\} more", ast.unparse(node))
    ]
    assert [copy for copy in copies if not copy.startswith("seatrial/core/text/names.py")] == []


@pytest.mark.parametrize("path", NEVER)
def test_what_was_thrown_away_stays_away(path: str) -> None:
    assert not (SOURCE / "seatrial" / path).exists(), NEVER[path]


def test_tests_that_are_found_by_their_mark_say_it_in_their_own_file() -> None:
    """`make test` looks for files with a mark; one that a conftest gives to them it would not find."""
    marks, tests = ("mark.cluster", "mark.own_plane"), ROOT / "tests"
    giving = [path for path in tests.rglob("conftest.py") if any(mark in path.read_text() for mark in marks)]
    assert giving == [tests / "bundles" / "conftest.py"]
    for path in sorted(giving[0].parent.glob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(r"def test_\w+\([^)]*\b(charts|far|folder_of_charts): ", text):
            assert marks[0] in text, f"{path}: say so, or nobody runs it with the operator's own chart"
