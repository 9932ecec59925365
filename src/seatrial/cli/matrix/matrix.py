"""Look at a version matrix, compare two, or change one; an edit touches only its own lines.

  seatrial matrix show [FILE]                              print the versions side by side
  seatrial matrix diff BEFORE [AFTER]                      say what differs between two files
  seatrial matrix add ENTRY --from ENTRY [FILE]            a new entry with the set of another
  seatrial matrix set ROLE COMPONENT VERSION [FILE]        change one version
  seatrial matrix promote [FILE]                           canary to production, production to rollback
  seatrial matrix unmark ENTRY [FILE]                      take the mark off a set that was rejected by mistake
  seatrial matrix fmt [FILE]                               write the matrix of a ConfigMap so that it can be edited
  seatrial matrix schema                                   print the JSON Schema, for editors

Without FILE: gpu-version-matrix.yaml here, or in the nearest folder above inside the repository.
Exit code 0 when done, 8 when a file has findings that fail or `fmt --check` would change it, 1 when an edit is
refused, 2 when called wrongly.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NoReturn

from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.adapters.files.matrix_file import Loaded
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.matrix import Component, Difference, Entry, Matrix, Role

EXITS = (ExitCode.FINDINGS,)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="show|diff|add|set|promote|unmark|fmt|schema")
    show = commands.add_parser("show", help="print the versions side by side")
    _add_file(show)
    _add_output(show)
    compare = commands.add_parser("diff", help="say what differs between two files")
    compare.add_argument("before", metavar="BEFORE", help="the file compared with")
    _add_file(compare)
    _add_output(compare)
    added = commands.add_parser("add", help="add an entry with the set of another")
    added.add_argument("role", metavar="ENTRY", type=_role, help="the new one: canary, planned, or rollback")
    added.add_argument(
        "--from",
        dest="source",
        metavar="ENTRY",
        type=_role,
        default=_role("current"),
        help="whose set it gets (current)",
    )
    _add_file(added)
    _add_edit(added)
    change = commands.add_parser("set", help="change one version")
    change.add_argument(
        "role", metavar="ROLE", type=_role, help="production, canary, planned, rollback, or a key of the file"
    )
    change.add_argument("component", metavar="COMPONENT", type=_component, help="such as gpu_driver")
    change.add_argument("version", metavar="VERSION", help="such as 570.124.06")
    _add_file(change)
    _add_edit(change)
    promote = commands.add_parser("promote", help="canary to production, production to rollback")
    promote.add_argument(
        "--date", metavar="YYYY-MM-DD", type=_day, help="the day to write where dates are kept (today)"
    )
    _add_file(promote)
    _add_edit(promote)
    unmark = commands.add_parser("unmark", help="take the mark off a set that was rejected by mistake")
    unmark.add_argument(
        "role", metavar="ENTRY", type=_role, help="production, canary, planned, rollback, or a key of the file"
    )
    _add_file(unmark)
    _add_edit(unmark)
    fmt = commands.add_parser("fmt", help="write the matrix of a ConfigMap as a literal block, which can be edited")
    fmt.add_argument("--check", action="store_true", help="write nothing; exit with 8 if there is something to write")
    _add_file(fmt)
    commands.add_parser("schema", help="print the JSON Schema, for editors")


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="the matrix (gpu-version-matrix.yaml, here or above)")


def _add_output(parser: argparse.ArgumentParser) -> None:
    formats.add_output(parser)


def _add_edit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="print the change as a unified diff, write nothing")
    _add_output(parser)


def run(args: argparse.Namespace) -> int:
    doing = {
        "show": _show,
        "diff": _diff,
        "add": _add,
        "set": _set,
        "promote": _promote,
        "unmark": _unmark,
        "fmt": _fmt,
        "schema": _schema,
    }
    return doing[args.what](args)


# ── looking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _show(args: argparse.Namespace) -> int:
    loaded = _load(args.file)
    findings = loaded.reading.findings
    if formats.is_document(args.output):
        data = {**_as_data(loaded.reading.matrix), "file": str(loaded.path), "findings": _told(findings)}
        formats.print_document(data, args.output)
    elif loaded.reading.matrix is not None:
        print("\n".join(_table(loaded.reading.matrix)))
    _print_findings(findings)
    return _exit_code(findings)


def _diff(args: argparse.Namespace) -> int:
    from seatrial.core.compat import matrix as matrices

    before, after = _load(args.before), _load(args.file)
    findings = (*before.reading.findings, *after.reading.findings)
    if before.reading.matrix is None or after.reading.matrix is None:
        _print_findings(findings)
        return ExitCode.FINDINGS
    differences = matrices.diff(before.reading.matrix, after.reading.matrix)
    if formats.is_document(args.output):
        formats.print_document({"differences": [_difference(difference) for difference in differences]}, args.output)
    else:
        _print_differences(differences)
    return ExitCode.OK


def _schema(_args: argparse.Namespace) -> int:
    from seatrial.adapters.files import matrix_schema

    print(matrix_schema.matrix_schema_text(), end="")
    return ExitCode.OK


# ── changing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _add(args: argparse.Namespace) -> int:
    from seatrial.adapters.files import matrix_edit

    return _edit(args, lambda text, file: matrix_edit.add(text, args.role, args.source, file=file))


def _set(args: argparse.Namespace) -> int:
    from seatrial.adapters.files import matrix_edit

    return _edit(
        args, lambda text, file: matrix_edit.set_value(text, args.role, args.component, args.version, file=file)
    )


def _promote(args: argparse.Namespace) -> int:
    from datetime import datetime

    from seatrial.adapters.files import matrix_edit
    from seatrial.app.matrix import judging
    from seatrial.core.compat.matrix import Role

    today = datetime.now().astimezone().date()
    day = args.date or today.isoformat()
    failing = judging.failing(args.file, Role.CANARY, today)
    if failing:
        _print_findings(failing)
        print("The canary fails, so it is not promoted; nothing was changed.", file=sys.stderr)
        return ExitCode.FINDINGS
    return _edit(args, lambda text, file: matrix_edit.promote(text, deployed=day, file=file))


def _unmark(args: argparse.Namespace) -> int:
    from seatrial.adapters.files import matrix_edit

    return _edit(args, lambda text, file: matrix_edit.unmark(text, args.role, file=file))


def _edit(args: argparse.Namespace, change: Callable[[str, str], str]) -> int:
    from seatrial.adapters.files import matrix_edit, matrix_file, matrix_yaml
    from seatrial.core.compat import matrix as matrices

    loaded = _load(args.file)
    if loaded.reading.matrix is None:
        raise matrix_edit.EditRefused(loaded.reading.findings[0])
    text = change(loaded.text, str(loaded.path))
    after = matrix_yaml.read_matrix(text, str(loaded.path))
    differences = matrices.diff(loaded.reading.matrix, after.matrix) if after.matrix else ()
    if not args.dry_run and text != loaded.text:
        matrix_file.replace_text(loaded.path, loaded.text, text)
    if formats.is_document(args.output):
        written = text != loaded.text and not args.dry_run
        told = [_difference(difference) for difference in differences]
        formats.print_document({"file": str(loaded.path), "written": written, "differences": told}, args.output)
    elif args.dry_run:
        sys.stdout.write(_unified_diff(loaded.text, text, str(loaded.path)))
    elif text == loaded.text:
        print(f"{loaded.path} already says so; nothing was changed.", file=sys.stderr)
    else:
        print(f"Wrote {loaded.path}:", file=sys.stderr)
        for line in (*map(str, differences), *_unmarked(loaded.reading.matrix, after.matrix)):
            print(f"  {line}", file=sys.stderr)
    return ExitCode.OK


def _unmarked(before: Matrix, after: Matrix | None) -> list[str]:
    """Which marks an edit took off, and what they said."""
    now = after.entries if after is not None else {}
    return [
        f"{entry.key} is no longer marked bad; the mark said: {entry.bad}"
        for role, entry in before.entries.items()
        if entry.bad and role in now and not now[role].bad
    ]


def _fmt(args: argparse.Namespace) -> int:
    from seatrial.adapters.files import matrix_edit, matrix_file, matrix_fmt

    loaded = _load(args.file)
    if loaded.reading.matrix is None:
        raise matrix_edit.EditRefused(loaded.reading.findings[0])
    text = matrix_fmt.formatted(loaded.text, file=str(loaded.path))
    if text == loaded.text:
        print(f"{loaded.path} can be edited as it is; nothing was changed.", file=sys.stderr)
        return ExitCode.OK
    if args.check:
        print(f"{loaded.path} needs formatting: `seatrial matrix fmt {quote(str(loaded.path))}`.", file=sys.stderr)
        return ExitCode.FINDINGS
    matrix_file.replace_text(loaded.path, loaded.text, text)
    renamed = " The file is YAML now: give it another name." if loaded.path.suffix == ".json" else ""
    print(f"Wrote {loaded.path}: the matrix is a literal block now.{renamed}", file=sys.stderr)
    return ExitCode.OK


def _unified_diff(before: str, after: str, file: str) -> str:
    import difflib

    lines = difflib.unified_diff(_lines(before), _lines(after), file, file)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines as `diff` sees them: only a line feed ends one."""
    lines = text.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *lines[-1:]] if lines[-1] else [f"{line}\n" for line in lines[:-1]]


def _role(name: str) -> Role:
    from seatrial.core.compat import matrix as matrices

    return matrices.role_of(name) or _unknown("role", name, list(matrices.ROLE_KEYS))


def _component(name: str) -> Component:
    from seatrial.core.compat import matrix as matrices

    return matrices.component_of(name) or _unknown("component", name, [*matrices.Component, *matrices.ALIASES])


def _unknown(what: str, name: str, names: Sequence[str]) -> NoReturn:
    import difflib

    near = difflib.get_close_matches(name, names, 1)
    advice = f"did you mean {near[0]}?" if near else f"there is {', '.join(names)}"
    raise argparse.ArgumentTypeError(f"there is no {what} {name!r} ({advice})")


def _day(text: str) -> str:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as err:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date; write it as YYYY-MM-DD") from err


# ── printing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _load(given: str | None) -> Loaded:
    from seatrial.adapters.files import matrix_file

    return matrix_file.load_matrix(matrix_file.find_matrix(given, Path()))


def _exit_code(findings: Iterable[Finding]) -> int:
    from seatrial.core.compat.findings import Verdict, worst

    return ExitCode.FINDINGS if worst(findings) is Verdict.FAIL else ExitCode.OK


def _table(matrix: Matrix) -> list[str]:
    from seatrial.core.compat.matrix import Component, Role

    entries = [matrix.entries[role] for role in Role if role in matrix.entries]
    rows = [["", *(entry.key for entry in entries)]]
    for component in Component:
        texts = [value.text if (value := entry.stack[component]) else "" for entry in entries]
        if any(texts):
            rows.append([component.value, *texts])
    rows.extend(
        [name, *(getattr(entry, name) for entry in entries)]
        for name in ("status", "deployed", "target_date", "canary_node")
        if any(getattr(entry, name) for entry in entries)
    )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [*lines, *(line for entry in entries for line in _remarks(entry))]


def _remarks(entry: Entry) -> list[str]:
    remarks = [f"{entry.key} is bad: {entry.bad}"] if entry.bad else []
    for accept in entry.accept:
        until = f" until {accept.until}" if accept.until else ""
        remarks.append(f"{entry.key} accepts {accept.rule}{until}: {accept.reason}")
    return remarks


def _print_findings(findings: Iterable[Finding]) -> None:
    for finding in findings:
        place = str(finding.spans[0]) if finding.spans else ""
        print(f"{place}: {finding.verdict.value} {finding.rule}: {finding.message}", file=sys.stderr)
        print(f"    {finding.next_step}", file=sys.stderr)


def _print_differences(differences: Sequence[Difference]) -> None:
    if not differences:
        print("No version differs.", file=sys.stderr)
    for difference in differences:
        spans = " → ".join(str(span) for span in difference.spans)
        print(f"{difference.kind.value:8} {difference}  ({spans})")


def _as_data(matrix: Matrix | None) -> dict[str, Any]:
    return {"entries": [] if matrix is None else [_entry(entry) for entry in matrix.entries.values()]}


def _entry(entry: Entry) -> dict[str, Any]:
    hardware = entry.stack.hardware
    return {
        "role": entry.role.value,
        "key": entry.key,
        "line": entry.span.line,
        "versions": {
            value.component.value: {"text": value.text, "line": value.span.line, "column": value.span.column}
            | ({} if value.version is not None else {"problem": value.problem})
            for value in entry.stack.values.values()
        },
        "hardware": {
            name: text for name in ("arch", "product", "kernel_module", "rdma") if (text := getattr(hardware, name))
        },
        "accept": [
            {"rule": accept.rule, "reason": accept.reason, "until": accept.until.isoformat() if accept.until else None}
            for accept in entry.accept
        ],
        **{
            name: text
            for name in ("status", "deployed", "target_date", "canary_node", "notes", "bad")
            if (text := getattr(entry, name))
        },
    }


def _told(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "rule": finding.rule,
            "verdict": finding.verdict.value,
            "message": finding.message,
            "next": finding.next_step,
            "places": [{"file": span.file, "line": span.line, "column": span.column} for span in finding.spans],
        }
        for finding in findings
    ]


def _difference(difference: Difference) -> dict[str, Any]:
    before, after = difference.before, difference.after
    return {
        "role": difference.role.value,
        "component": difference.component.value,
        "kind": difference.kind.value,
        "before": None if before is None else {"text": before.text, "line": before.span.line},
        "after": None if after is None else {"text": after.text, "line": after.span.line},
    }
