"""The options of `seatrial rollout start`, parsed into what the use cases take.

Law of this file: words in, a value out; nothing is read and nobody is asked. Tests: tests/cli/test_rollout_spec.py
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any, Final

from seatrial.app.rollout.options import MATRIX_FILE, POINTS, Care, Goal, Publishing, StartOptions
from seatrial.cli import words
from seatrial.cli.parser import rarely
from seatrial.core.model import deployers

MODES: Final = ("auto", "delegated", "direct")
"""As core/model/campaign.py has them, whose import would be half of the cost of every help and completion."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Everything that says what a rollout is to be."""
    parser.add_argument("-f", "--file", metavar="FILE", help="a GPURollout in YAML, instead of the options below")
    parser.add_argument("name", nargs="?", metavar="NAME", help="its name (driver-VERSION-DATE)")
    rarely(parser).add_argument(
        "--paused", action="store_true", help="create it paused; `seatrial rollout resume` begins"
    )
    target = parser.add_argument_group("what to upgrade to")
    target.add_argument("--matrix", metavar="FILE", help="take the driver of an entry of this file")
    target.add_argument("--git", metavar="URL", help="take it from a matrix in a Git repository, at its head")
    more = rarely(parser, "what to upgrade to")
    more.add_argument("--branch", metavar="B", help="with --git: the branch (main)")
    more.add_argument("--path", metavar="P", help=f"with --git: the matrix's path ({MATRIX_FILE})")
    target.add_argument("--entry", metavar="ENTRY", help="which entry: its key or its role (canary)")
    target.add_argument("--driver", metavar="V", help="this driver version, without a matrix")
    more.add_argument(
        "--component",
        metavar="COMPONENT=V",
        type=words.component,
        action="append",
        help="with --driver: move this operand, or this operator's release, as well; repeatable",
    )
    more.add_argument("--driver-only", action="store_true", help="leave what the entry names beside its driver alone")
    target.add_argument("--to", metavar="ENTRY", help="plan the way to this entry: one rollout for each step")
    more.add_argument(
        "--plan", metavar="FILE", help="as --to, from what `seatrial plan -o json` or `-o yaml` has written"
    )
    target.add_argument(
        "-l",
        "--selector",
        metavar="K=V",
        type=words.label,
        action="append",
        help="only nodes with this label; repeatable",
    )
    parser.add_argument(
        "--publish",
        choices=["direct", "git", "none"],
        metavar="HOW",
        help="how versions reach the cluster: direct, git, none (direct)",
    )
    way = rarely(parser, "who publishes, and who moves the nodes")
    way.add_argument("--publish-path", metavar="P", help=f"the file that {deployers.ENGINE} brings into the cluster")
    way.add_argument("--publish-url", metavar="URL", help="its repository, when it is not the matrix's")
    way.add_argument("--publish-branch", metavar="B", help="its branch")
    way.add_argument("--pull-requests", action="store_true", help="propose commits on a branch instead of pushing them")
    way.add_argument("--set-on-delete", action="store_true", help="set updateStrategy OnDelete with the first version")
    way.add_argument("--one-way", action="store_true", help="bring a release that OLM could not take back")
    way.add_argument("--mode", choices=MODES, help="who moves the nodes (auto: as it is)")
    _add_care(parser)


def _add_care(parser: argparse.ArgumentParser) -> None:
    care, more = parser.add_argument_group("how carefully"), rarely(parser, "how carefully")
    care.add_argument("--canary", metavar="N", type=words.positive, help="how many nodes go first (1)")
    care.add_argument("--canary-node", metavar="NODE", action="append", help="this node goes first; repeatable")
    more.add_argument("--canary-selector", metavar="K=V", type=words.label, action="append", help="choose among these")
    more.add_argument("--canary-pool", metavar="POOL", help="OpenShift: make this MachineConfigPool for the canary")
    more.add_argument("--pause-pool", metavar="POOL", action="append", help="OpenShift: pause it until the waves open")
    care.add_argument("--gate", metavar="NAME=IMAGE", type=words.gate, action="append", help="a Job it has to pass")
    more.add_argument("--gates-file", metavar="FILE", help="gates in YAML, as spec.gates has them")
    more.add_argument("--no-gates", action="store_true", help="readiness alone, not even the controller's suite")
    care.add_argument("--bake", metavar="48h", type=words.span, help="how long the canary is watched before the fleet")
    more.add_argument("--bake-every", metavar="1h", type=words.span, help="how often the gates are asked meanwhile")
    more.add_argument("--minimum-load", metavar="N", type=words.percent, help="percent of its time the canary works")
    more.add_argument("--exclude", metavar="3%", type=words.loss, help="bake until a loss this large is ruled out")
    more.add_argument("--confidence", metavar="99%", type=words.confidence, help="how sure one has to be of it (99%%)")
    care.add_argument("--wave", metavar="5%", type=words.share, nargs="+", help="first wave, or how much after each")
    more.add_argument("--growth", choices=["exponential", "linear", "fixed"], help="how waves grow (exponential)")
    more.add_argument("--wave-pause", metavar="30m", type=words.span, help="how long a finished wave is watched")
    care.add_argument(
        "--window",
        metavar="'Sat 22:00-04:00'",
        type=words.window,
        action="append",
        help="when nodes may start; repeatable",
    )
    more.add_argument("--time-zone", metavar="ZONE", help="of the windows (UTC)")
    care.add_argument("--manual", metavar="POINT,…", type=points, help=f"ask you before: {', '.join(POINTS)}")
    care.add_argument(
        "--max-unavailable", metavar="N|N%", type=words.share, help="nodes unavailable at once (as the operator says)"
    )
    care.add_argument(
        "--by-attrition",
        metavar="24h",
        type=words.span,
        help="take nodes when their jobs end; evict the rest by then",
    )
    more.add_argument(
        "--max-idle-gpus", metavar="N|N%", type=words.share, help="GPUs idle because of us (by attrition 10%%)"
    )
    more.add_argument("--close-ahead", metavar="N%", type=words.share, help="nodes closed while at work (90%%)")
    more.add_argument(
        "--no-early-eviction", action="store_true", help="by attrition: evict nobody before the deadline is near"
    )
    more.add_argument("--max-parallel", metavar="N", type=words.count, help="nodes under way at once; 0 means no limit")
    more.add_argument("--max-failed", metavar="N", type=words.count, help="failures allowed (1)")
    more.add_argument("--tag-with-failures", action="store_true", help="promote without asking when nodes have failed")
    more.add_argument("--no-prepull", action="store_true", help="do not bring the image to a node beforehand")
    more.add_argument("--notify", metavar="URL", help="tell this webhook")


def points(text: str) -> list[str]:
    """Points at which a person has to say yes."""
    found = words.names(text)
    unknown = [point for point in found if point not in POINTS]
    if unknown or not found:
        said = unknown[0] if unknown else text
        raise argparse.ArgumentTypeError(f"{said!r} is not a point to ask at; there are {', '.join(POINTS)}")
    return found


def asked(args: argparse.Namespace) -> StartOptions:
    """Everything that was said."""
    return StartOptions(
        goal=Goal(**_said(Goal, args)),
        publishing=Publishing(**_said(Publishing, args)),
        care=Care(**_said(Care, args)),
        file=args.file,
        name=args.name,
        paused=args.paused,
        facts=tuple(args.facts),
        accept_unknown=args.accept_unknown,
    )


def _said(group: type[Goal | Publishing | Care], args: argparse.Namespace) -> dict[str, Any]:
    """What was said of a group, whose fields have the names of the options; what was not, stays at its default."""
    found = {each.name: getattr(args, each.name) for each in fields(group)}
    return {name: tuple(it) if isinstance(it, list) else it for name, it in found.items() if it is not None}
