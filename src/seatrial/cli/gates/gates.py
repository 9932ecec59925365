"""Test a node with gates, or look at what the gates of a rollout said.

A gate is a question with a verdict: does the node train, does it answer, are its links and GPUs well?
"""

# Tests: tests/cli/test_gates.py, tests/e2e/test_gates_by_hand.py

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.gates import attest
from seatrial.core.errors import SeatrialError
from seatrial.core.model.gates.gate import GANG, GateVerdict
from seatrial.core.model.gates.suite import BUILT_IN, MANY, SUITE

if TYPE_CHECKING:
    from seatrial.app.looking import Look
    from seatrial.cli.show.pages import Page
    from seatrial.core.model.gates.gate import Gate

EXITS = (ExitCode.GATE_FAILED, ExitCode.INCONCLUSIVE, ExitCode.TIMEOUT)
IMAGE_VARIABLE: Final = "SEATRIAL_PROBES_IMAGE"
JUNIT: Final = "junit"
CTRF: Final = "ctrf"
CODES: Final = {
    GateVerdict.PASSED: ExitCode.OK,
    GateVerdict.FAILED: ExitCode.GATE_FAILED,
    GateVerdict.UNKNOWN: ExitCode.INCONCLUSIVE,
    GateVerdict.PENDING: ExitCode.INCONCLUSIVE,
}


class NoGates(SeatrialError):  # noqa: N818  an answer, in the trade's words
    """There is nothing to show."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="run|list|show|attest")
    _add_run(commands.add_parser("run", help="test a node: ask gates of it, one after the other"))
    listing = commands.add_parser("list", help="list the gates that come with seatrial")
    formats.add_output(listing)
    shown = commands.add_parser("show", help="show the gates of a rollout, and what each of them said")
    formats.add_output(shown, formats.WIDE)
    cluster_options.add_watch(shown)
    shown.add_argument(
        "rollout", nargs="?", default="", metavar="ROLLOUT", help="which rollout, when there are several"
    )
    cluster_options.add_cluster_arguments(shown, has_rollout=False)
    attest.add_arguments(commands.add_parser("attest", help="give your verdict where a gate asks a person"))


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("node", metavar="NODE", help="name of the node")
    parser.add_argument(
        "--gate",
        action="append",
        default=[],
        choices=list(BUILT_IN),
        metavar="GATE",
        help="only this one (again for more)",
    )
    parser.add_argument(
        "--image",
        default=os.environ.get(IMAGE_VARIABLE, ""),
        metavar="IMAGE",
        help=f"image with seatrial-probe in it (${IMAGE_VARIABLE})",
    )
    parser.add_argument(
        "--with",
        dest="partners",
        action="append",
        default=[],
        metavar="NODE",
        help="another node, for gates over several of them (again for more)",
    )
    parser.add_argument("--gates-file", metavar="FILE", help="gates of your own in YAML, as spec.gates has them")
    parser.add_argument("--gpus", type=int, metavar="N", help="how many GPUs a gate is given (all that are free)")
    parser.add_argument(
        "--gates-namespace", default="default", metavar="NAMESPACE", help="where the Jobs are made (default)"
    )
    parser.add_argument(
        "--gates-level", choices=("baseline", "restricted"), default="baseline", help="what their pods ask for"
    )
    formats.add_output(parser, formats.WIDE, JUNIT, CTRF)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def run(args: argparse.Namespace) -> int:
    match args.what:
        case "list":
            return _list(args.output)
        case "show":
            return _show(args)
        case "attest":
            from seatrial.cli.rollout.rollout import guarded

            return guarded(attest.run, args)
        case _:
            from seatrial.cli.rollout.rollout import guarded

            return guarded(_run, args)


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _run(args: argparse.Namespace) -> int:
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import gating
    from seatrial.cli.gates import reports

    own = gating.gates_in(args.gates_file) if args.gates_file else ()
    asked = gating.GatesAsked(
        node=args.node,
        image=args.image,
        names=tuple(dict.fromkeys(args.gate)),
        own=own,
        home=args.gates_namespace,
        level=args.gates_level,
        gpus=args.gpus,
        partners=tuple(dict.fromkeys(args.partners)),
    )
    found = finished(gating.ask_node(cluster_options.cluster_of(args), asked, _tell))
    match args.output:
        case "junit":
            print(reports.as_junit(found), end="")
        case "ctrf":
            formats.print_document(reports.as_ctrf(found), formats.JSON)
        case formats.JSON | formats.YAML:
            formats.print_document(reports.as_data(found), args.output)
        case _:
            print("\n".join(reports.lines(found, is_wide=args.output == formats.WIDE)))
    return CODES[found.verdict]


def _tell(gate: Gate, number: int, count: int, state: str) -> None:
    """Where it stands, for whoever waits; the answer itself is printed apart."""
    print(f"{number}/{count} {gate.name}: {state or 'asked'}", file=sys.stderr)


# ── what there is ────────────────────────────────────────────────────────────────────────────────────────────────────


def _list(output: str) -> int:
    if formats.is_document(output):
        data = [
            {"gate": name, "says": each.says, "suite": name in SUITE, "timeoutSeconds": each.timeout_seconds}
            for name, each in BUILT_IN.items()
        ]
        formats.print_document(data, output)
        return ExitCode.OK
    from seatrial.cli.terminal import columns

    rows = [("GATE", "SUITE", "WHAT PASSES")]
    rows += [(name, _in_suite(name), each.says) for name, each in BUILT_IN.items()]
    print(columns(rows))
    return ExitCode.OK


def _in_suite(name: str) -> str:
    more = {MANY: "with 2 GPUs", GANG: "with 2 nodes"}
    return "yes" if name in SUITE else more.get(name, "no")


# ── what a rollout's gates have said ─────────────────────────────────────────────────────────────────────────────────


def _show(args: argparse.Namespace) -> int:
    from functools import partial

    from seatrial.cli.show import pages
    from seatrial.cli.show.look import look

    page_of = partial(_page, is_wide=args.output == formats.WIDE)
    if args.watch:
        cluster = cluster_options.cluster_of(args)
        return pages.watched(cluster, args.rollout, page_of, pages.Screen(args.output), timeout_seconds=args.timeout)
    return pages.show(page_of(look(args)), args.output)


def _page(found: Look, *, is_wide: bool) -> Page:
    from seatrial.app.picture import picture_of
    from seatrial.cli.gates import reports
    from seatrial.cli.show.pages import Page
    from seatrial.core.model.gates.gate import worst

    picture = picture_of(found)
    if picture is None:
        raise NoGates(
            "There is no rollout with a canary, and only those have gates; see `seatrial rollout start --help`."
        )
    data: dict[str, Any] = reports.shown_data(picture)
    failed = any(each.verdict is GateVerdict.FAILED for each in picture.record.gates)
    asked = [each.verdict for each in picture.record.gates if not each.is_left_out]
    said = worst(asked) if asked else GateVerdict.PENDING
    return Page(
        lines=reports.shown_lines(picture, is_wide=is_wide),
        data=data,
        key=data,
        code=ExitCode.GATE_FAILED if failed else CODES[said],
    )
