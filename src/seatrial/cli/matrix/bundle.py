"""Write the stack of a matrix entry as files for helm, helmfile, Flux or Argo CD.

A bundle has the GPU Operator, the DRA driver and the Network Operator, as far as the entry names them.

In detail:

All deployers carry the same releases. The DRA driver comes with a hook that keeps its plugins no older than their
drivers. Written anew, a bundle is the same, byte by byte. A folder is replaced as a whole, and only where it is a
bundle that nobody has edited. An entry that fails the rules is not bundled (exit code 8). `bundle diff` exits with 9
where something differs.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.matrix.ending import ended
from seatrial.cli.parser import rarely
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.app.matrix.bundling import BundleOptions, Differing

EXITS = (ExitCode.FINDINGS, ExitCode.DRIFT)
DEPLOYERS = ("helm", "helmfile", "flux", "argocd", "argocd-helm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.add_argument("--deployer", choices=DEPLOYERS, help="who brings it into the cluster")
    parser.add_argument("-o", "--output", metavar="DIR", help="the folder to write")
    parser.add_argument("--repo", metavar="URL", default="", help="the Git repository that it will be in")
    parser.add_argument(
        "--repo-secret", metavar="NAME", default="", help="for Flux: the Secret that has the login of that repository"
    )
    parser.add_argument("--revision", metavar="REV", default="main", help="the branch of that repository (main)")
    parser.add_argument("--path", metavar="DIR", default="", help="the folder of that repository (its root)")
    hook = rarely(parser, "who moves the nodes, and the DRA driver")
    hook.add_argument(
        "--image",
        metavar="IMAGE",
        default="",
        help="the hook's image: registry.example.com/seatrial:0.1.0, or @sha256:…",
    )
    hook.add_argument(
        "--on-delete", action="store_true", help="a controller of seatrial moves the nodes: nothing restarts on its own"
    )
    hook.add_argument(
        "--dra-gpus", action="store_true", help="the DRA driver allocates GPUs, in the place of the device plugin"
    )
    hook.add_argument(
        "--dra-names", choices=("old", "new"), help="from DRA driver 0.4.0 on: keep the older chart's names, or not"
    )
    hook.add_argument("--nodes", metavar="N", type=_count, default=0, help="how many nodes the hook may wait for")
    hook.add_argument(
        "--parallel",
        metavar="N",
        type=_count,
        default=0,
        help="how many of them NVIDIA's controller upgrades at a time",
    )
    parser.add_argument(
        "--values", metavar="RELEASE=FILE", action="append", default=[], help="values of yours on top; repeatable"
    )
    parser.add_argument("--force", action="store_true", help="replace a bundle that was edited")
    commands = parser.add_subparsers(dest="what", required=False, metavar="diff")
    differing = commands.add_parser("diff", help="compare what would be written now with what is there")
    differing.add_argument("folder", metavar="DIR", help="the folder of the bundle")
    _add_common(differing)
    formats.add_output(differing)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entry", metavar="ENTRY", default="", help="the entry of the matrix")
    parser.add_argument("-f", "--file", metavar="FILE", help="the matrix (gpu-version-matrix.yaml, here or above)")
    parser.add_argument("--charts", metavar="DIR|URL", default="", help="where all charts come from (their vendors)")
    parser.add_argument("--unchecked", action="store_true", help="do not ask whether the entry can work")


def run(args: argparse.Namespace) -> int:
    return ended(_diff if args.what == "diff" else _write, args, _exit_of)


def _write(args: argparse.Namespace) -> int:
    from seatrial.app.errors import CalledWrongly
    from seatrial.app.matrix import bundling

    missing = [name for name in ("entry", "deployer", "output") if not getattr(args, name)]
    if missing:
        raise CalledWrongly(f"bundle needs --{missing[0]}; see `seatrial bundle --help`.")
    folder = Path(args.output)
    made, is_changed = bundling.write(_options(args), folder, is_forced=args.force)
    done = "Wrote" if is_changed else "Nothing to change in"
    releases = ", ".join(f"{each.name} {each.chart.version}" for each in made.stack.releases)
    print(f"{done} {folder}, for {made.asked.deployer.value}: {releases}.", file=sys.stderr)
    for note in made.stack.notes:
        print(f"  {note}", file=sys.stderr)
    print(f"Read {folder / 'README.md'} next.", file=sys.stderr)
    return ExitCode.OK


def _options(args: argparse.Namespace) -> BundleOptions:
    from seatrial.app.errors import CalledWrongly
    from seatrial.app.matrix.bundling import BundleOptions
    from seatrial.core.compat.bundles.values import Asked, Deployer

    deployer = Deployer(args.deployer)
    if deployer.reads_git and not args.repo:
        raise CalledWrongly(f"{deployer.value} fetches the bundle from Git: say from which repository (--repo URL).")
    asked = Asked(
        deployer=deployer,
        is_on_delete=args.on_delete,
        allocates_gpus=args.dra_gpus,
        keeps_dra_names={None: None, "old": True, "new": False}[args.dra_names],
        repository=args.repo,
        repository_secret=args.repo_secret,
        revision=args.revision,
        path=_path(args.path),
        image=args.image,
        node_count=args.nodes,
        parallel=args.parallel,
    )
    return BundleOptions(
        file=args.file,
        entry=args.entry,
        on=datetime.now().astimezone().date(),
        asked=asked,
        charts=args.charts,
        values=tuple(args.values),
        is_unchecked=args.unchecked,
    )


def _path(text: str) -> str:
    """A folder of a repository, without what does not change its meaning."""
    from seatrial.app.errors import CalledWrongly

    parts = [each for each in text.split("/") if each not in ("", ".")]
    if text.startswith("/") or ".." in parts:
        raise CalledWrongly(
            f"--path {text} is not a folder of a repository: write it from its root, such as clusters/east."
        )
    return "/".join(parts)


def _exit_of(err: SeatrialError) -> ExitCode:
    from seatrial.app.errors import CalledWrongly
    from seatrial.app.matrix.bundling import EntryFails

    match err:
        case EntryFails():
            return ExitCode.FINDINGS
        case CalledWrongly():
            return ExitCode.USAGE
        case _:
            return ExitCode.ERROR


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of nodes")
    return int(text)


# ── comparing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _diff(args: argparse.Namespace) -> int:
    from seatrial.app.matrix import bundling
    from seatrial.core.compat.bundles.values import Asked, Deployer

    options = bundling.BundleOptions(
        file=args.file,
        entry=args.entry,
        on=datetime.now().astimezone().date(),
        asked=Asked(deployer=Deployer.HELM),  # what the bundle was written with counts
        charts=args.charts,
        is_unchecked=args.unchecked,
    )
    made, found = bundling.compare(options, Path(args.folder))
    if formats.is_document(args.output):
        files = [{"path": each.path, "change": _change(each), "diff": _shown(each)} for each in found]
        formats.print_document({"folder": args.folder, "entry": made.stack.entry, "differences": files}, args.output)
    else:
        for each in found:
            sys.stdout.write(_shown(each) or f"{_change(each)} {each.path}\n")
    said = f"{len(found)} differ" if found else "all as it would be written now"
    print(f"{args.folder}, {made.stack.entry} for {made.asked.deployer.value}: {said}.", file=sys.stderr)
    return ExitCode.DRIFT if found else ExitCode.OK


def _change(each: Differing) -> str:
    if each.here is None:
        return "missing"
    return "unknown" if each.wanted is None else "differs"


def _shown(each: Differing) -> str:
    """A unified diff, where both are text; a new or a strange file is named alone."""
    import difflib

    if each.here is None or each.wanted is None:
        return ""
    try:
        before, after = each.here.data.decode(), each.wanted.data.decode()
    except UnicodeDecodeError:
        return ""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"{each.path} (there)", f"{each.path} (now)"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
