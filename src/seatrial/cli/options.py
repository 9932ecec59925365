"""The options of every command that talks to a cluster."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.app.connecting import Cluster
from seatrial.cli.parser import rarely
from seatrial.cli.words import span

if TYPE_CHECKING:
    from seatrial.adapters.prometheus.places import Place
    from seatrial.core.model.selectors import Selector


def add_cluster_arguments(parser: argparse.ArgumentParser, *, has_rollout: bool = True) -> None:
    """--kubeconfig, --context, -n, and --rollout for a command that looks at one."""
    parser.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig to use (else $KUBECONFIG, ~/.kube/config)")
    parser.add_argument("--context", metavar="CONTEXT", help="context of the kubeconfig")
    parser.add_argument(
        "-n", "--namespace", default="gpu-operator", metavar="NAMESPACE", help="where the drivers run (gpu-operator)"
    )
    rarely(parser).add_argument(
        "--lease-namespace", default="seatrial", metavar="NAMESPACE", help="where the controller's lease is (seatrial)"
    )
    if has_rollout:
        parser.add_argument("--rollout", default="", metavar="ROLLOUT", help="which GPURollout, when there are several")


def add_snapshot(parser: argparse._ActionsContainer) -> None:
    """--snapshot, for a command that reads a file as it reads a cluster."""
    parser.add_argument(
        "--snapshot", metavar="FILE", type=Path, help="read this file of `seatrial snapshot` instead of a cluster"
    )


def add_prometheus(parser: argparse.ArgumentParser, text: str) -> None:
    """--prometheus and its login, for a command that asks one."""
    parser.add_argument("--prometheus", default="", metavar="URL", help=text)
    login = rarely(parser, "Prometheus")
    login.add_argument(
        "--prometheus-secret",
        type=Path,
        metavar="DIR",
        help="the mounted secret with its login: token, or username and password; over https alone",
    )
    login.add_argument(
        "--prometheus-authority",
        type=Path,
        metavar="FILE",
        help="the certificates that its own has to be signed by (the system's)",
    )
    login.add_argument(
        "--prometheus-matchers",
        default="",
        metavar="MATCHERS",
        help='which series count, as in PromQL between braces, such as job="nvidia-dcgm-exporter" (those with '
        "the label namespace of -n)",
    )
    login.add_argument(
        "--prometheus-node-label", default="", metavar="LABEL", help="the label that names the node, where several do"
    )


def prometheus_of(args: argparse.Namespace) -> Place | None:
    """Where it is, as the command line says; a SeatrialError says what is wrong with it."""
    from seatrial.adapters.prometheus.places import Place

    if not args.prometheus:
        return None
    matchers = args.prometheus_matchers or f'namespace="{args.namespace}"'
    return Place.read(
        args.prometheus, secret=args.prometheus_secret, authority=args.prometheus_authority, matchers=matchers
    )


def cluster_of(args: argparse.Namespace) -> Cluster:
    """The cluster these options point to."""
    return Cluster(
        kubeconfig=args.kubeconfig,
        context=args.context,
        namespace=args.namespace,
        lease_namespace=args.lease_namespace,
        snapshot=getattr(args, "snapshot", None),
        environ=os.environ,
    )


def add_selector(parser: argparse.ArgumentParser, text: str) -> None:
    """-l, which chooses by labels as kubectl's does."""
    parser.add_argument(
        "-l", "--selector", metavar="SELECTOR", type=_selector, default="", help=f"{text}: pool=a,team!=b, gpu in (x,y)"
    )


def _selector(text: str) -> Selector:
    from seatrial.core.model.selectors import Selector

    try:
        return Selector.parse(text)
    except ValueError as err:
        raise argparse.ArgumentTypeError(str(err).rstrip(".")) from err


def add_watch(parser: argparse.ArgumentParser, until: str = "Ctrl-C", *, has_only: bool = False) -> None:
    """How long to look; `has_only` where what is there already may be left out, as with kubectl."""
    parser.add_argument("-w", "--watch", action="store_true", help=f"keep it up to date until {until}")
    if has_only:
        parser.add_argument("--watch-only", action="store_true", help="like -w, without what is there already")
    parser.add_argument("--timeout", metavar="3h", type=span, default=0, help="with -w: end after so long (exit 13)")
