"""Write a version matrix to start from, with comments, and the schema that lets editors complete it.

The files are gpu-version-matrix.yaml and matrix.schema.json.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

EXITS: tuple[ExitCode, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where to write (here)")
    parser.add_argument("--force", action="store_true", help="replace files that are there already")
    parser.add_argument("--from-cluster", action="store_true", help="write the versions that run; nothing is changed")
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def run(args: argparse.Namespace) -> int:
    from seatrial.adapters.files import matrix_file, matrix_keys, matrix_schema

    folder = Path(args.folder)
    text = _drafted(args) if args.from_cluster else _template()
    matrix_file.make_folder(folder)
    matrix = folder / matrix_keys.FILE_NAME
    matrix_file.write_new(matrix, text, is_forced=args.force)
    print(f"Wrote {matrix}.", file=sys.stderr)
    schema = folder / matrix_schema.FILE_NAME
    if args.force or not schema.exists():
        matrix_file.write_new(schema, matrix_schema.matrix_schema_text(), is_forced=args.force)
        print(f"Wrote {schema}.", file=sys.stderr)
    todo = "Look it over" if args.from_cluster else "Put your own versions in"
    print(f"{todo}, then run `seatrial check`.", file=sys.stderr)
    return ExitCode.OK


def _template() -> str:
    from importlib import resources

    return resources.files("seatrial.adapters.files").joinpath("matrix_template.yaml").read_text(encoding="utf-8")


def _drafted(args: argparse.Namespace) -> str:
    from datetime import datetime

    from seatrial.app.awaiting import finished
    from seatrial.app.survey import auditing

    return finished(auditing.draft(cluster_options.cluster_of(args), datetime.now().astimezone().date()))
