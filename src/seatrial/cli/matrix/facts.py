"""Look into the knowledge base, and add to it.

seatrial facts list [PATH]        what there is, and the day of the knowledge base
seatrial facts show PATH          one fact with its source, e.g. gpu_operator.releases.v24.9.0
seatrial facts search TEXT        every fact that mentions a text, your own included
seatrial facts add FILE           check a file of facts and put it beside the matrix, where `seatrial check` finds it
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seatrial.app.matrix.judging import FACTS_BESIDE
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.errors import SeatrialError

SHOWN_MAX = 40


class FactUnknown(SeatrialError):  # noqa: N818 — a refusal about a name
    """There is no fact at that path."""


EXITS: tuple[ExitCode, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="list|show|search|add")
    listing = commands.add_parser("list", help="what there is")
    listing.add_argument("path", nargs="?", default="", help="list what is below this fact")
    shown = commands.add_parser("show", help="one fact with its source")
    shown.add_argument("path", help="its path, as `list` and `search` print it")
    search = commands.add_parser("search", help="every fact that mentions a text")
    search.add_argument("text", help="a version, a name, a word")
    added = commands.add_parser("add", help="check a file of facts and put it beside the matrix")
    added.add_argument("file", help="a YAML file in the form that `show` prints, with source and confidence")
    added.add_argument("--dir", default=".", metavar="DIR", help="the folder of the matrix; this one when absent")
    added.add_argument("--force", action="store_true", help="replace a file of the same name")
    for command in (listing, shown, search):
        command.add_argument("-o", "--output", choices=["table", "json"], default="table")
        command.add_argument("--facts", metavar="FILE", action="append", default=[], help="facts of your own, in YAML")
        command.add_argument("--dir", default=".", metavar="DIR", help=f"the folder whose {FACTS_BESIDE}/ is read too")


def run(args: argparse.Namespace) -> int:
    if args.what == "add":
        return _add(args)
    from seatrial.adapters.files.knowledge import load_data

    data = load_data([*sorted((Path(args.dir) / FACTS_BESIDE).glob("*.yaml")), *args.facts])
    return {"list": _list, "show": _show, "search": _search}[args.what](data, args)


def find(data: Any, path: str) -> Any:
    """The fact at a path; keys may have dots in them, so the longest that fits is taken."""
    if not path:
        return data
    if isinstance(data, list):
        head, _, rest = path.partition(".")
        if head.isdigit() and int(head) < len(data):
            return find(data[int(head)], rest)
    if isinstance(data, Mapping):
        for key in sorted(map(str, data), key=len, reverse=True):
            if path == key or path.startswith(f"{key}."):
                return find(data[key], path[len(key) + 1 :])
    raise FactUnknown(f"there is no fact at {path!r}. See `seatrial facts list`.")


def leaves(value: Any, path: str = "", source: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, text and source of everything that is said."""
    if isinstance(value, Mapping):
        source = str(value.get("source", source))
        said = {key: below for key, below in value.items() if key not in ("source", "confidence")}
        if value and not said:
            yield path, "exists", source  # nothing more is known of it than who says so
        for key, below in said.items():
            yield from leaves(below, f"{path}.{key}" if path else str(key), source)
    elif isinstance(value, list) and not all(isinstance(each, str | int) for each in value):
        for index, below in enumerate(value):
            yield from leaves(below, f"{path}.{index}", source)
    else:
        yield path, ", ".join(map(str, value)) if isinstance(value, list) else str(value), source


def _list(data: Any, args: argparse.Namespace) -> int:
    found = find(data, args.path)
    below = found if isinstance(found, Mapping) else dict(enumerate(found)) if isinstance(found, list) else {}
    names = {
        f"{args.path}.{key}" if args.path else str(key): sum(1 for _ in leaves(each)) for key, each in below.items()
    }
    if args.output == "json":
        _print_json({"builtOn": data["generated"]["on"], "facts": [{"path": p, "count": n} for p, n in names.items()]})
        return ExitCode.OK
    for path, count in names.items():
        print(f"{path:60} {count:5} {'fact' if count == 1 else 'facts'}")
    print(_dated(data), file=sys.stderr)
    return ExitCode.OK


def _dated(data: Any) -> str:
    newest = max(repo["head_date"] for repo in data["generated"]["repos"].values())
    return f"Knowledge base built on {data['generated']['on']}; its sources end on {newest}."


def _show(data: Any, args: argparse.Namespace) -> int:
    found = find(data, args.path)
    if args.output == "json":
        _print_json({"builtOn": data["generated"]["on"], "path": args.path, "fact": found})
        return ExitCode.OK
    import yaml

    print(yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=110), end="")
    print(_dated(data), file=sys.stderr)
    return ExitCode.OK


def _search(data: Any, args: argparse.Namespace) -> int:
    wanted = args.text.casefold()
    found = [each for each in leaves(data) if any(wanted in text.casefold() for text in each)]
    if args.output == "json":
        rows = [{"path": path, "text": text, "source": source} for path, text, source in found]
        _print_json({"builtOn": data["generated"]["on"], "found": rows})
        return ExitCode.OK
    for path, text, source in found[:SHOWN_MAX]:
        print(f"{path}\n    {text}" + (f"\n    source: {source}" if source else ""))
    left = len(found) - SHOWN_MAX
    print(f"{left} more; ask more narrowly, or with -o json." if left > 0 else _dated(data), file=sys.stderr)
    return ExitCode.OK


def _add(args: argparse.Namespace) -> int:
    from seatrial.adapters.files.knowledge import load_user_facts
    from seatrial.adapters.files.matrix_file import make_folder, write_new

    source = Path(args.file)
    load_user_facts(source)
    folder = Path(args.dir) / FACTS_BESIDE
    target = folder / f"{source.stem}.yaml"
    make_folder(folder)
    write_new(target, source.read_text(encoding="utf-8"), is_forced=args.force)
    print(f"{target}: added; `seatrial check` reads it from now on.")
    return ExitCode.OK


def _print_json(data: Any) -> None:
    import json

    print(json.dumps(data, indent=2, ensure_ascii=False))
