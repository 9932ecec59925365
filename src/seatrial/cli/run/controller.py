"""Run the controller, which moves the nodes of a rollout.

It runs beside the cluster or in it. One controller leads, others stand by. It does only what `seatrial status` and
`seatrial why` announce. It can be killed at any moment: started again, it goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.app.connecting import USER_AGENT
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parser import rarely
from seatrial.cli.words import span

if TYPE_CHECKING:
    from seatrial.adapters.git.addresses import Permits
    from seatrial.controller.keeper import GitSettings
    from seatrial.ports import Watcher

EXITS = (ExitCode.HELD,)
LEASE_SECONDS_MIN = 2
"""A lease is renewed several times in its life, and each of these requests needs its time."""

_AMOUNT = re.compile(r"[1-9][0-9]{0,9}(?:m|[kMGT]i?)?")
PAGES = ":8480"
"""Every address of the machine: probes and Prometheus come from outside of the pod."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cluster_options.add_cluster_arguments(parser)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--once", action="store_true", help="one pass, then stop")
    how.add_argument("--forever", action="store_true", help="until told to stop (SIGTERM, Ctrl-C)")
    parser.add_argument(
        "--journal", type=Path, metavar="FILE", help="append what was seen, decided and done to this file (rotated)"
    )
    parser.add_argument(
        "--metrics-bind-address",
        default=PAGES,
        metavar="HOST:PORT",
        help=f"serve /healthz, /readyz and /metrics here; empty serves nothing ({PAGES})",
    )
    rare = rarely(parser)
    rare.add_argument(
        "--lease-seconds",
        type=_seconds,
        default=15,
        metavar="N",
        help="how long a dead leader blocks the next one (15)",
    )
    add_gate_arguments(parser)
    add_dra_argument(rare)
    parser.add_argument(
        "--dra-reroll",
        action="append",
        default=[],
        metavar="NAMESPACE",
        help="restart DRA plugins of this namespace that are older than their node's driver, whoever upgraded it; "
        "repeatable (only on nodes that a rollout upgrades)",
    )
    rare.add_argument(
        "--kueue",
        action="store_true",
        help="watch Workloads of Kueue: rollouts with spec.checkpoint.kueue suspend them before their pods leave",
    )
    parser.add_argument(
        "--audit-every",
        type=span,
        metavar="15m",
        help="audit the cluster this often, and publish what is found as metrics (never)",
    )
    rarely(parser).add_argument(
        "--report-url",
        type=_report_url,
        default="",
        metavar="URL",
        help="where you keep the pages of `seatrial report`, such as https://reports.example.com/{rollout}: commits "
        "and pull requests name it (without one they carry a summary)",
    )
    add_git_arguments(parser, parser)
    add_prometheus_arguments(parser)


def add_gates_argument(parser: argparse._ActionsContainer) -> None:
    """Where the Jobs of gates are, for whoever plays a controller."""
    parser.add_argument(
        "--gates-namespace", default="", metavar="NAME", help="where gates run as Jobs (where the lease lives)"
    )


def add_dra_argument(parser: argparse._ActionsContainer) -> None:
    """Where DRA plugins run, for whoever plays a controller."""
    parser.add_argument(
        "--dra-namespace",
        action="append",
        default=[],
        metavar="NAMESPACE",
        help="where DRA plugins run, beside the operator's namespace: elsewhere a pod with their labels is anybody's; "
        "repeatable (where their charts put them)",
    )


def add_git_arguments(parser: argparse.ArgumentParser, logins: argparse._ActionsContainer) -> None:
    """Which repositories are spoken to, for whoever plays a controller; as whom may stand in a group of its own."""
    logins.add_argument(
        "--git-credentials",
        type=_bound,
        action="append",
        default=[],
        metavar="PREFIX=DIR",
        help="folder with the login for Git repositories whose address begins so: username and password, or "
        "ssh-privatekey and known_hosts; repeatable, the longest address counts",
    )
    logins.add_argument(
        "--forge",
        type=bound_forge,
        action="append",
        default=[],
        metavar="KIND:PREFIX=DIR",
        help="open pull requests on a forge (gitea, github, gitlab) for repositories whose address begins so, with "
        "the file token of this folder; repeatable",
    )
    git = rarely(parser, "Git repositories")
    git.add_argument(
        "--git-folder",
        type=Path,
        metavar="DIR",
        help="where private clones of matrix repositories are kept; may be lost (a folder in the user's cache)",
    )
    git.add_argument(
        "--git-allow",
        action="append",
        default=[],
        metavar="PREFIX",
        help="speak to repositories whose address begins so without a login of ours, by Git's own helpers; repeatable "
        "(only addresses that are named are spoken to)",
    )
    git.add_argument(
        "--git-authority",
        type=_vouched,
        action="append",
        default=[],
        metavar="SERVER=FILE",
        help="the certificate that vouches for a server (https://HOST), for Git and for a forge there, instead of the "
        "machine's own; repeatable",
    )
    git.add_argument(
        "--git-loopback-http", action="store_true", help="allow plain http to addresses of this machine, for a test"
    )
    git.add_argument(
        "--git-look-seconds",
        type=_look_seconds,
        default=30,
        metavar="N",
        help="how often a matrix repository is looked at (30)",
    )


def add_gate_arguments(parser: argparse.ArgumentParser) -> None:
    """What runs gates, and whom they may ask."""
    parser.add_argument(
        "--probes-image",
        default="",
        metavar="IMAGE",
        help="image with seatrial-probe, whose suite tests canaries of rollouts that name no gates (none)",
    )
    gates = rarely(parser, "gates")
    add_gates_argument(gates)
    gates.add_argument(
        "--gates-level",
        choices=["baseline", "restricted"],
        default="baseline",
        help="how much the pods of gates ask for, in the words of PodSecurity: restricted for a namespace that lets "
        "nothing else in, where images that run as root are not started (baseline)",
    )
    gates.add_argument(
        "--gates-limit",
        type=_limit,
        action="append",
        default=[],
        metavar="RESOURCE=AMOUNT",
        help="how much of its node each gate may take besides GPUs, such as memory=128Gi; one that takes more fails; "
        "repeatable (memory=64Gi, ephemeral-storage=64Gi)",
    )
    gates.add_argument(
        "--gate-image-allow",
        action="append",
        default=[],
        metavar="PREFIX",
        help="gates may run the images below this registry or path, or this image, such as registry.example.com/gates; "
        "repeatable (any image)",
    )
    gates.add_argument(
        "--webhook-allow",
        action="append",
        default=[],
        metavar="URL",
        help="an origin, https://HOST:PORT, at which webhooks of rollouts may be asked: of gates, for checkpoints and "
        "with notices; repeatable (none)",
    )


def add_prometheus_arguments(parser: argparse.ArgumentParser) -> None:
    """Which Prometheus tells what happens on the GPUs of a canary."""
    cluster_options.add_prometheus(
        parser,
        "the Prometheus that scrapes DCGM exporter: hours count for a bake only with its data, and rising errors end "
        "it (none: the clock alone counts)",
    )
    asking = rarely(parser, "Prometheus")
    asking.add_argument(
        "--prometheus-scrape-seconds",
        type=_look_seconds,
        metavar="N",
        help="how often exporters are scraped, where it cannot say itself, as with Thanos",
    )
    asking.add_argument(
        "--prometheus-look-seconds", type=_look_seconds, default=60, metavar="N", help="how often it is asked (60)"
    )


def _report_url(text: str) -> str:
    from seatrial.core.words import accounts

    if not text:
        return text  # there are no reports
    try:
        accounts.check_pattern(text)
    except ValueError as err:
        raise argparse.ArgumentTypeError(f"{text!r} is no pattern for addresses of reports: {str(err)[:-1]}") from err
    return text


def _seconds(text: str) -> int:
    if not text.isdecimal() or int(text) < LEASE_SECONDS_MIN:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, {LEASE_SECONDS_MIN} or more")
    return int(text)


def _look_seconds(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 1 or more")
    return int(text)


def _limit(text: str) -> tuple[str, str]:
    resource, _, amount = text.partition("=")
    if resource not in ("cpu", "memory", "ephemeral-storage") or not _AMOUNT.fullmatch(amount):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no limit: write RESOURCE=AMOUNT, such as memory=128Gi, of cpu, memory or ephemeral-storage"
        )
    return resource, amount


def _bound(text: str) -> tuple[str, Path]:
    example = "https://git.example.com/gpu=/secrets/git"
    return _split(text, f"which address the secret is for: write PREFIX=DIR, such as {example}")


def _vouched(text: str) -> tuple[str, Path]:
    example = "https://git.example.com=/secrets/ca.crt"
    return _split(text, f"which server the authority is for: write SERVER=FILE, such as {example}")


def _split(text: str, lack: str) -> tuple[str, Path]:
    address, found, path = text.partition("=")
    if not (found and address and path):
        raise argparse.ArgumentTypeError(f"{text!r} does not say {lack}")
    return address, Path(path)


def bound_forge(text: str) -> tuple[str, str, Path]:
    """Which forge, for repositories behind which address, with which mounted secret."""
    kind, found, rest = text.partition(":")
    if not found or "=" not in rest or rest.startswith("//"):
        raise argparse.ArgumentTypeError(
            f"{text!r} does not say which forge the secret is for: write KIND:PREFIX=DIR, such as "
            "gitea:https://git.example.com/gpu=/secrets/forge"
        )
    return kind, *_bound(rest)


def _permits(args: argparse.Namespace) -> Permits:
    """Every address that was named; a SeatrialError says what is wrong with one."""
    from seatrial.adapters.git.addresses import Permit, Permits

    named = [*args.git_credentials, *((prefix, None) for prefix in args.git_allow)]
    return Permits.read(
        Permit.read(prefix, secret, is_loopback_http=args.git_loopback_http) for prefix, secret in named
    )


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if home else Path.home() / ".cache") / "seatrial" / "git"


def git_settings(args: argparse.Namespace) -> GitSettings:
    """What the command line says about Git; a SeatrialError says what is wrong with it."""
    from seatrial.adapters.git.authorities import Authorities
    from seatrial.controller.forges import Forges
    from seatrial.controller.keeper import GitSettings

    authorities = Authorities.read(args.git_authority)
    return GitSettings(
        folder=args.git_folder or _cache(),
        permits=_permits(args),
        authorities=authorities,
        look_seconds=args.git_look_seconds,
        forges=Forges.read(args.forge, authorities=authorities, is_loopback_http=args.git_loopback_http),
    )


def watcher_of(args: argparse.Namespace) -> Watcher | None:
    """Who watches, as the command line says; a SeatrialError says what is wrong with it."""
    place = cluster_options.prometheus_of(args)
    if place is None:
        return None
    from seatrial.adapters.prometheus import dcgm
    from seatrial.adapters.prometheus.watcher import PrometheusWatcher
    from seatrial.controller.main import SystemClock
    from seatrial.core.judging.stretches import WATCHED

    return PrometheusWatcher(
        place=place,
        clock=SystemClock(),
        queries=tuple(each for each in dcgm.QUERIES if each.signal.name in WATCHED),
        interval_seconds=args.prometheus_scrape_seconds,
        node_label=args.prometheus_node_label,
    )


def run(args: argparse.Namespace) -> int:
    from seatrial.adapters.http.webhook import allowed
    from seatrial.adapters.kube.reading.gates.probes import Level
    from seatrial.app.awaiting import finished
    from seatrial.controller.leading import LeaseHeld
    from seatrial.controller.log import Log
    from seatrial.controller.main import Settings, control

    log, git = Log(), git_settings(args)
    settings = Settings(
        config=cluster_options.cluster_of(args).config(),
        user_agent=f"{USER_AGENT} (controller)",
        namespace=args.namespace,
        rollout=args.rollout,
        lease_namespace=args.lease_namespace,
        gates_namespace=args.gates_namespace,
        gates_level=Level(args.gates_level),
        gate_limits=tuple(args.gates_limit),
        gate_images=tuple(args.gate_image_allow),
        lease_seconds=args.lease_seconds,
        journal=args.journal,
        once=args.once,
        dra_namespaces=tuple(sorted({*args.dra_namespace, *args.dra_reroll})),
        reroll_namespaces=tuple(sorted(set(args.dra_reroll))),
        has_kueue=args.kueue,
        git=git,
        watcher=watcher_of(args),
        watch_seconds=args.prometheus_look_seconds,
        prometheus=cluster_options.prometheus_of(args),
        webhooks=allowed(args.webhook_allow),
        suite_image=args.probes_image,
        report_url=args.report_url,
        audit_seconds=args.audit_every,
        pages=args.metrics_bind_address,
    )
    try:
        report = finished(control(settings, log))
    except LeaseHeld as err:
        log.say("held", why=str(err))
        return ExitCode.HELD
    if report is None:
        return ExitCode.OK
    if report.breaches or log.fault_text:
        return ExitCode.ERROR
    if report.sight is None and args.once:
        log.say("nothing to do", why=f"there is no GPURollout {args.rollout}".rstrip())
    return ExitCode.OK
