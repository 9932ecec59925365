"""The options of every command that talks to a cluster."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from seatrial import __version__

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.config import Config

USER_AGENT = f"seatrial/{__version__}"


def add_cluster_arguments(parser: argparse.ArgumentParser, *, has_rollout: bool = True) -> None:
    """--kubeconfig, --context, -n, and --rollout for a command that looks at one."""
    parser.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig to use (else $KUBECONFIG, ~/.kube/config)")
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    parser.add_argument(
        "-n", "--namespace", default="gpu-operator", metavar="NAME", help="where the drivers run (gpu-operator)"
    )
    if has_rollout:
        parser.add_argument("--rollout", default="", metavar="NAME", help="which GPURollout, when there are several")


def load(args: argparse.Namespace) -> Config:
    """The cluster these options point to."""
    from seatrial.adapters.kube.api.config import load_config

    return load_config(kubeconfig=args.kubeconfig, context=args.context, environ=os.environ)
