"""The options of `seatrial rollout start`, and the GPURollout they make. What is left out here, the resource defaults.

Law of this file: options in, a resource out; nothing is read and nobody is asked. Whether the API server takes it, it
says itself. Tests: tests/cli/test_rollout_spec.py
"""

from __future__ import annotations

import argparse
import re
from datetime import date
from typing import Any, Final

from seatrial.cli.rollout import words
from seatrial.core.errors import SeatrialError

API_VERSION: Final = "seatrial.dev/v1alpha1"
KIND: Final = "GPURollout"
POINTS: Final = ("canary", "waves", "promotion", "rollback")
"""Where a person may have to say yes."""
MATRIX_FILE: Final = "gpu-version-matrix.yaml"

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


class CalledWrongly(SeatrialError):  # noqa: N818  the message says what to do
    """Options that cannot be meant together, or a rollout that cannot be told from others: exit code 2."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Everything that says what a rollout is to be."""
    parser.add_argument("-f", "--file", metavar="FILE", help="a GPURollout in YAML; then the options below say nothing")
    parser.add_argument("--name", help="its name (driver-VERSION-DATE)")
    parser.add_argument("--paused", action="store_true", help="create it paused; `seatrial rollout resume` begins")
    target = parser.add_argument_group("what to upgrade to")
    target.add_argument("--matrix", metavar="FILE", help="take the driver of an entry of this file")
    target.add_argument("--git", metavar="URL", help="take it from a matrix in a Git repository, at its head")
    target.add_argument("--branch", metavar="B", help="the branch (main)")
    target.add_argument("--path", metavar="P", help=f"the matrix's path in the repository ({MATRIX_FILE})")
    target.add_argument("--entry", metavar="ENTRY", help="which entry: its key or its role (canary)")
    target.add_argument("--driver", metavar="V", help="no matrix: this driver version")
    target.add_argument("--to", metavar="ENTRY", help="plan the way to this entry: one rollout for each step")
    target.add_argument("--plan", metavar="FILE", help="the same, from what `seatrial plan -o json` has written")
    target.add_argument("--selector", metavar="K=V", type=words.label, action="append", help="labels of its members")
    way = parser.add_argument_group("who publishes, and who moves the nodes")
    way.add_argument("--publish", choices=["direct", "git", "none"], help="how versions reach the cluster (direct)")
    way.add_argument("--publish-path", metavar="P", help="the file that Argo CD or Flux brings into the cluster")
    way.add_argument("--publish-url", metavar="URL", help="its repository, when it is not the matrix's")
    way.add_argument("--publish-branch", metavar="B", help="its branch")
    way.add_argument("--pull-requests", action="store_true", help="propose commits on a branch instead of pushing them")
    way.add_argument("--mode", choices=["auto", "delegated", "direct"], help="who moves the nodes (auto: as it is)")
    care = parser.add_argument_group("how carefully")
    care.add_argument("--canary", metavar="N", type=words.positive, help="how many nodes go first (1)")
    care.add_argument("--canary-node", metavar="NODE", action="append", help="this node goes first; repeatable")
    care.add_argument("--canary-selector", metavar="K=V", type=words.label, action="append", help="choose among these")
    care.add_argument("--canary-pool", metavar="NAME", help="OpenShift: make this MachineConfigPool for the canary")
    care.add_argument("--pause-pool", metavar="NAME", action="append", help="OpenShift: pause it until the waves open")
    care.add_argument("--gate", metavar="NAME=IMAGE", type=words.gate, action="append", help="a Job it has to pass")
    care.add_argument("--gates-file", metavar="FILE", help="gates in YAML, as spec.gates has them")
    care.add_argument("--bake", metavar="48h", type=words.span, help="hours with evidence before the fleet follows")
    care.add_argument("--bake-every", metavar="1h", type=words.span, help="how often the gates are asked meanwhile")
    care.add_argument("--wave", metavar="5%", type=words.share, nargs="+", help="first wave, or how much after each")
    care.add_argument("--growth", choices=["exponential", "linear", "fixed"], help="how waves grow (exponential)")
    care.add_argument("--wave-pause", metavar="30m", type=words.span, help="how long a finished wave is watched")
    care.add_argument("--window", metavar="'Sat 22:00-04:00'", type=words.window, action="append", help="when to begin")
    care.add_argument("--time-zone", metavar="ZONE", help="of the windows (UTC)")
    care.add_argument("--manual", metavar="POINT,…", type=points, help=f"ask a person before: {', '.join(POINTS)}")
    care.add_argument("--max-unavailable", metavar="N|N%", type=words.share, help="as the operator's policy has it")
    care.add_argument("--max-parallel", metavar="N", type=words.count, help="nodes under way at once; 0 is no limit")
    care.add_argument("--max-failed", metavar="N", type=words.count, help="failures tolerated (1)")
    care.add_argument("--no-prepull", action="store_true", help="do not bring the image to a node beforehand")
    care.add_argument("--notify", metavar="URL", help="tell this webhook")


SPEC_OPTIONS: Final = (
    *("matrix", "git", "branch", "path", "entry", "driver", "to", "plan", "selector"),
    *("publish", "publish_path", "publish_url", "publish_branch", "pull_requests", "mode"),
    *("canary", "canary_node", "canary_selector", "canary_pool", "pause_pool"),
    *("gate", "gates_file", "bake", "bake_every"),
    *("wave", "growth", "wave_pause", "window", "time_zone", "manual"),
    *("max_unavailable", "max_parallel", "max_failed", "no_prepull", "notify"),
)
"""Everything above that becomes part of the spec."""


def points(text: str) -> list[str]:
    """Points at which a person has to say yes."""
    found = words.names(text)
    unknown = [point for point in found if point not in POINTS]
    if unknown or not found:
        said = unknown[0] if unknown else text
        raise argparse.ArgumentTypeError(f"{said!r} is no point to ask at; there are {', '.join(POINTS)}")
    return found


def given(args: argparse.Namespace) -> list[str]:
    """Which options that become part of the spec were given, as they are typed."""
    return [f"--{name.replace('_', '-')}" for name in SPEC_OPTIONS if getattr(args, name) not in (None, False)]


def check_options(args: argparse.Namespace) -> None:
    """Refuse options that cannot be meant together, before anything is read."""
    typed = given(args)
    if args.file and typed:
        raise CalledWrongly(f"-f says it all, so {', '.join(typed)} would say nothing. Write it into {args.file}.")
    homes = [name for name in ("--matrix", "--git", "--driver") if name in typed]
    if len(homes) > 1:
        raise CalledWrongly(f"{' and '.join(homes)} both say what to upgrade to; give one of them.")
    _check_plan(typed)
    if not homes and not args.file and not args.plan and not args.to:
        raise CalledWrongly("it is not said what to upgrade to: give --git URL, --matrix FILE, --driver V or -f FILE.")
    for option, needs in (("--branch", "--git"), ("--path", "--git"), ("--time-zone", "--window")):
        if option in typed and needs not in typed:
            raise CalledWrongly(f"{option} says something about {needs}, which was not given.")
    if args.driver and args.entry:
        raise CalledWrongly("--entry names an entry of a matrix, and --driver takes none; give one of them.")
    if args.wave and len(args.wave) > 1 and (args.growth or not all(share.endswith("%") for share in args.wave)):
        raise CalledWrongly("several --wave say how much is upgraded after each, such as --wave 5% 25% 100%.")
    if args.canary_node and args.canary_selector:
        raise CalledWrongly("--canary-node names who goes first, and --canary-selector would choose; give one of them.")
    _check_publish(args, typed)
    if args.name and not (_NAME.fullmatch(args.name) and len(args.name) <= 63):
        raise CalledWrongly(f"{args.name!r} is no name: small letters, digits, `-` and `.`, 63 at most.")


def _check_plan(typed: list[str]) -> None:
    """Refuse what would say twice, or otherwise, what a plan says."""
    planned: list[str] = [name for name in ("--plan", "--to") if name in typed]
    if len(planned) > 1:
        raise CalledWrongly("--plan has the steps, and --to would plan them; give one of them.")
    clashing = {"--plan": ("--driver", "--matrix"), "--to": ("--driver", "--entry")}
    for name in planned:
        for other in clashing[name]:
            if other in typed:
                raise CalledWrongly(
                    f"{name} says what is upgraded to, and {other} would say it again; give one of them."
                )


def _check_publish(args: argparse.Namespace, typed: list[str]) -> None:
    about_git: list[str] = [name for name in ("--publish-path", "--publish-url", "--publish-branch") if name in typed]
    if args.publish == "git" and not args.publish_path:
        raise CalledWrongly(
            "--publish git needs --publish-path, the file that Argo CD or Flux brings into the cluster."
        )
    if args.publish == "git" and not (args.git or args.publish_url):
        raise CalledWrongly("--publish git needs a repository: the matrix's (--git) or another (--publish-url).")
    if args.publish != "git" and (about_git or args.pull_requests):
        raise CalledWrongly(f"{(about_git or ['--pull-requests'])[0]} is about commits; add --publish git.")


def name_of(target: str, on: date, taken: frozenset[str]) -> str:
    """The name of a rollout that was given none: what it is for, and its day; numbered where that is taken."""
    plain = f"driver-{target.replace('.', '-')}-{on:%Y%m%d}"
    number = 1
    while (name := plain if number == 1 else f"{plain}-{number}") in taken:
        number += 1
    return name


def resource_of(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The whole object."""
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def spec_of(
    args: argparse.Namespace,
    target: str,
    *,
    matrix: dict[str, Any] | None = None,
    gates: list[dict[str, Any]] | None = None,
    canary_node: str = "",
) -> dict[str, Any]:
    """The spec these options make; `canary_node` is the matrix's own choice, which a person's overrules."""
    spec: dict[str, Any] = {
        "target": {"driver": target},
        "mode": args.mode,
        "matrix": matrix,
        "publish": _publish(args),
        "nodeSelector": dict(args.selector) if args.selector else None,
        "canary": _canary(args, canary_node),
        "gates": [*(gates or ()), *(args.gate or ())] or None,
        "bake": _some(durationSeconds=args.bake, everySeconds=args.bake_every),
        "waves": _waves(args),
        "windows": _some(timeZone=args.time_zone, open=args.window) if args.window else None,
        "approvals": {"manual": args.manual} if args.manual else None,
        "limits": _some(
            maxUnavailable=args.max_unavailable,
            maxParallelUpgrades=args.max_parallel,
            maxFailed=args.max_failed,
        ),
        "prepull": False if args.no_prepull else None,
        "notifications": {"webhook": args.notify} if args.notify else None,
        "paused": True if args.paused else None,
    }
    return {key: value for key, value in spec.items() if value is not None}


def _publish(args: argparse.Namespace) -> dict[str, Any] | None:
    if args.publish is None:
        return None
    if args.publish != "git":
        return {"via": args.publish}
    where = _some(
        path=args.publish_path,
        url=args.publish_url,
        branch=args.publish_branch,
        pullRequests=True if args.pull_requests else None,
    )
    return {"via": "git", "git": where}


def _canary(args: argparse.Namespace, canary_node: str) -> dict[str, Any]:
    is_free = args.canary is None and not args.canary_selector
    nodes = args.canary_node or ([canary_node] if canary_node and is_free else None)
    selector = dict(args.canary_selector) if args.canary_selector else None
    count = args.canary or (len(nodes) if nodes else 1)
    pools = {"machineConfigPool": args.canary_pool, "pausePools": args.pause_pool}
    return {"count": count, **(_some(nodes=nodes, selector=selector, **pools) or {})}


def _waves(args: argparse.Namespace) -> dict[str, Any] | None:
    if args.wave and len(args.wave) > 1:
        shares = [int(share.removesuffix("%")) for share in args.wave]
        return _some(growth="percentages", percentages=shares, pauseSeconds=args.wave_pause)
    first = args.wave[0] if args.wave else None
    return _some(growth=args.growth, first=first, pauseSeconds=args.wave_pause)


def _some(**fields: Any) -> dict[str, Any] | None:
    """What was said, or nothing at all."""
    said = {key: value for key, value in fields.items() if value is not None}
    return said or None
