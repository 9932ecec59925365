"""Look up what seatrial knows about versions, and add facts of your own.

Facts of yours, and bundles that you take over, are kept beside the matrix, where `seatrial check` finds them.

In detail:

`update` takes a bundle from a folder, a file, a Git repository at a commit (URL@COMMIT), or an OCI layout
(oci:DIR@sha256:…). It must be signed by somebody you allow, or pinned by its digest. Otherwise nothing is written, and
the exit code is 11 where nobody vouches for it, 12 where its signer is not allowed, 8 where it is not what its
signature, checksums or pin say.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.app.matrix.knowing import FACTS_BESIDE, usable
from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.matrix.ending import ended
from seatrial.core.errors import SeatrialError
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from seatrial.adapters.files.facts.store import Locked
    from seatrial.app.matrix.knowing import FactsStatus

SHOWN_MAX = 40


class FactUnknown(SeatrialError):  # noqa: N818 — a refusal about a name
    """There is no fact at that path."""


EXITS = (ExitCode.FINDINGS, ExitCode.INCONCLUSIVE, ExitCode.HELD)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(
        dest="what", required=True, metavar="list|show|search|status|add|update|remove|schema"
    )
    listing = commands.add_parser("list", help="list the facts there are")
    listing.add_argument("path", nargs="?", default="", metavar="PATH", help="list what is below this fact")
    shown = commands.add_parser("show", help="show one fact with its source")
    shown.add_argument("path", metavar="PATH", help="its path, as `list` and `search` print it")
    search = commands.add_parser("search", help="find every fact that mentions a text")
    search.add_argument("text", metavar="TEXT", help="a version, a name, a word")
    added = commands.add_parser("add", help="check a file of facts and put it beside the matrix")
    added.add_argument(
        "file", metavar="FILE", help="a YAML file in the form that `show` prints, with source and confidence"
    )
    added.add_argument("--dir", default=".", metavar="DIR", help="the folder of the matrix; this one when absent")
    added.add_argument("--force", action="store_true", help="replace a file of the same name")
    _add_bundle_arguments(commands)
    commands.add_parser("schema", help="print the JSON Schema of facts, for editors")
    status = commands.add_parser("status", help="show every source by age, and whose facts there are")
    for command in (listing, shown, search, status):
        formats.add_output(command)
        command.add_argument("--facts", metavar="FILE", action="append", default=[], help="facts of your own, in YAML")
        command.add_argument("--dir", default=".", metavar="DIR", help=f"the folder whose {FACTS_BESIDE}/ is read too")


def _add_bundle_arguments(commands: argparse._SubParsersAction[Any]) -> None:
    updated = commands.add_parser("update", help="take over a bundle of facts, signed or pinned by digest")
    updated.add_argument("source", metavar="SOURCE", help="a folder, a file, URL@COMMIT, or oci:DIR@sha256:…")
    updated.add_argument("--commit", default="", help="the commit of a Git repository, where SOURCE does not say it")
    updated.add_argument("--path", default="", metavar="DIR", help="the folder or file inside of the Git repository")
    updated.add_argument("--digest", default="", metavar="sha256:…", help="the digest it must have: pins the bundle")
    updated.add_argument("--name", default="", help="how it is called here; by its source when absent")
    formats.add_output(updated)
    removed = commands.add_parser("remove", help="stop using a bundle")
    removed.add_argument("name", metavar="NAME", help="its name, as `status` prints it")
    for command in (updated, removed):
        command.add_argument("--dir", default=".", metavar="DIR", help="the folder of the matrix; this one when absent")


def run(args: argparse.Namespace) -> int:
    return ended(_run, args, _exit_of)


def _run(args: argparse.Namespace) -> int:
    other = {"add": _add, "status": _status, "update": _update, "remove": _remove, "schema": _schema}.get(args.what)
    if other is not None:
        return other(args)
    from seatrial.adapters.files.facts.knowledge import load_data

    data = load_data(usable(args.facts, Path(args.dir)))
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
    if formats.is_document(args.output):
        listed = [{"path": path, "count": count} for path, count in names.items()]
        formats.print_document({"builtOn": data["generated"]["on"], "facts": listed}, args.output)
        return ExitCode.OK
    for path, count in names.items():
        print(f"{path:60} {number_of(count, 'fact'):>10}")
    print(_dated(data), file=sys.stderr)
    return ExitCode.OK


def _dated(data: Any) -> str:
    newest = max(repo["head_date"] for repo in data["generated"]["repos"].values())
    return f"Knowledge base built on {data['generated']['on']}; its sources end on {newest}."


def _show(data: Any, args: argparse.Namespace) -> int:
    found = find(data, args.path)
    if formats.is_document(args.output):
        formats.print_document({"builtOn": data["generated"]["on"], "path": args.path, "fact": found}, args.output)
        return ExitCode.OK
    import yaml

    print(yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=110), end="")
    print(_dated(data), file=sys.stderr)
    return ExitCode.OK


def _search(data: Any, args: argparse.Namespace) -> int:
    wanted = args.text.casefold()
    found = [each for each in leaves(data) if any(wanted in text.casefold() for text in each)]
    if formats.is_document(args.output):
        rows = [{"path": path, "text": text, "source": source} for path, text, source in found]
        formats.print_document({"builtOn": data["generated"]["on"], "found": rows}, args.output)
        return ExitCode.OK
    for path, text, source in found[:SHOWN_MAX]:
        print(f"{path}\n    {text}" + (f"\n    source: {source}" if source else ""))
    left = len(found) - SHOWN_MAX
    if not found:
        print(f"Nothing found for {args.text}.", file=sys.stderr)
    print(f"{left} more; ask more narrowly, or with -o json." if left > 0 else _dated(data), file=sys.stderr)
    return ExitCode.OK


def _status(args: argparse.Namespace) -> int:
    from seatrial.app.matrix import knowing

    found = knowing.status(Path(args.dir), args.facts)
    if formats.is_document(args.output):
        formats.print_document(_status_data(found), args.output)
        return ExitCode.INCONCLUSIVE if found.unverified else ExitCode.OK
    print(f"{'READ':17} {'FACTS':>5}  SOURCE")
    for each in found.sources:
        day = f"{each.known} {each.day}" if each.day is not None else each.known.value
        print(f"{day:17} {each.fact_count:5}  {each.name}{f'  ({each.origin})' if each.origin else ''}")
    print(f"Knowledge up to {found.known_until}, built on {found.built_on}.")
    for name, locked in found.bundles.items():
        vouched = f"NOT VERIFIED ({found.unverified[name]})" if name in found.unverified else _vouched(locked)
        print(f"Bundle {name}: {locked.digest}, {vouched}, taken over on {locked.on} from {locked.source}.")
    if found.own:
        print(f"Own facts, over ours: {', '.join(found.own)}.")
    return ExitCode.INCONCLUSIVE if found.unverified else ExitCode.OK


def _status_data(found: FactsStatus) -> dict[str, Any]:
    return {
        "builtOn": found.built_on.isoformat(),
        "knownUntil": found.known_until.isoformat(),
        "own": list(found.own),
        "bundles": [
            {**_bundle_data(name, locked), "unverified": found.unverified.get(name)}
            for name, locked in found.bundles.items()
        ],
        "sources": [
            {
                "source": each.name,
                "known": each.known.value,
                "day": each.day.isoformat() if each.day is not None else None,
                "facts": each.fact_count,
                "from": each.origin or "shipped",
            }
            for each in found.sources
        ],
    }


def _vouched(locked: Locked) -> str:
    return f"signed by {locked.signer}" if locked.signer else "pinned"


def _bundle_data(name: str, locked: Locked) -> dict[str, Any]:
    return {
        "name": name,
        "source": locked.source,
        "commit": locked.commit or None,
        "digest": locked.digest,
        "signer": locked.signer or None,
        "pin": locked.pin or None,
        "on": locked.on.isoformat(),
    }


def _update(args: argparse.Namespace) -> int:
    from seatrial.app.matrix import updating

    asked = updating.UpdateOptions(
        source=args.source,
        folder=Path(args.dir),
        on=datetime.now().astimezone().date(),
        commit=args.commit,
        path=args.path,
        digest=args.digest,
        name=args.name,
    )
    done = updating.update(asked)
    if formats.is_document(args.output):
        data = {"changed": done.is_changed, **_bundle_data(done.name, done.locked)}
        formats.print_document(data, args.output)
        return ExitCode.OK
    said = f"bundle {done.name}, {done.locked.digest}, {_vouched(done.locked)}"
    if done.is_changed:
        print(f"{done.folder}: {said}; `seatrial check` reads it from now on. Commit {Path(args.dir) / FACTS_BESIDE}.")
    else:
        print(f"{done.folder}: {said}; it is what was taken over on {done.locked.on}, and nothing was changed.")
    return ExitCode.OK


def _exit_of(err: SeatrialError) -> ExitCode:
    from seatrial.app.errors import CalledWrongly
    from seatrial.core.compat.facts import bundles

    match err:
        case bundles.BundleTampered():
            return ExitCode.FINDINGS
        case bundles.BundleUnsigned():
            return ExitCode.INCONCLUSIVE
        case bundles.SignerNotAllowed():
            return ExitCode.HELD
        case CalledWrongly():
            return ExitCode.USAGE
        case _:
            return ExitCode.ERROR


def _remove(args: argparse.Namespace) -> int:
    from seatrial.app.matrix import updating

    updating.remove(Path(args.dir), args.name)
    print(f"Bundle {args.name} counts no more. Commit {Path(args.dir) / FACTS_BESIDE}.")
    return ExitCode.OK


def _schema(_args: argparse.Namespace) -> int:
    from seatrial.adapters.files.facts import schema as facts_schema

    print(facts_schema.facts_schema_text(), end="")
    return ExitCode.OK


def _add(args: argparse.Namespace) -> int:
    from seatrial.adapters.files.facts.knowledge import load_user_facts
    from seatrial.adapters.files.matrix_file import make_folder, write_new

    source = Path(args.file)
    load_user_facts(source)
    folder = Path(args.dir) / FACTS_BESIDE
    target = folder / f"{source.stem}.yaml"
    make_folder(folder)
    write_new(target, source.read_text(encoding="utf-8"), is_forced=args.force)
    print(f"{target}: added; `seatrial check` reads it from now on.")
    return ExitCode.OK
