"""Write a commented version matrix to begin with, and the schema that lets an editor complete it.

seatrial init [DIR]     write gpu-version-matrix.yaml and matrix.schema.json
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seatrial.cli.exit_codes import ExitCode

EXITS: tuple[ExitCode, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where to write (here)")
    parser.add_argument("--force", action="store_true", help="replace files that are there already")


def run(args: argparse.Namespace) -> int:
    from importlib import resources

    from seatrial.adapters.files import matrix_file, matrix_keys, matrix_schema

    folder = Path(args.folder)
    matrix_file.make_folder(folder)
    template = resources.files("seatrial.adapters.files").joinpath("matrix_template.yaml").read_text(encoding="utf-8")
    matrix = folder / matrix_keys.FILE_NAME
    matrix_file.write_new(matrix, template, is_forced=args.force)
    print(f"Wrote {matrix}.", file=sys.stderr)
    schema = folder / matrix_schema.FILE_NAME
    if args.force or not schema.exists():
        matrix_file.write_new(schema, matrix_schema.matrix_schema_text(), is_forced=args.force)
        print(f"Wrote {schema}.", file=sys.stderr)
    print("Put your own versions in, then run `seatrial check`.", file=sys.stderr)
    return ExitCode.OK
