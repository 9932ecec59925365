"""Print what seatrial needs in a cluster, for `kubectl apply -f -`.

The parts are crd (the GPURollout resource), rbac (the controller's account and exactly the rights it needs), pace (the
same for `seatrial pace`), and driver-manager (the rights that `seatrial driver-manager` needs in the driver's pods).
Without a part it prints crd and rbac.
"""

from __future__ import annotations

import argparse

from seatrial import manifests
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parser import rarely

EXITS: tuple[ExitCode, ...] = ()
PARTS = ("crd", "rbac", "pace", "driver-manager", "all")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=PARTS, default="all", help="which part")
    parser.add_argument(
        "--operator-namespace",
        type=_namespace,
        default=manifests.OPERATOR_NAMESPACE,
        metavar="NAMESPACE",
        help=f"where the driver's pods run, and may be deleted ({manifests.OPERATOR_NAMESPACE})",
    )
    parser.add_argument(
        "--dra-namespace",
        type=_namespace,
        action="append",
        default=[],
        metavar="NAMESPACE",
        help="where a DRA driver's plugins run, and may be deleted (nowhere); can be given several times",
    )
    parser.add_argument(
        "--dra-reroll",
        action="store_true",
        help="with the rights that `seatrial controller --dra-reroll` needs in these namespaces besides (none of them)",
    )
    parser.add_argument(
        "--canary", action="store_true", help="with the rights that rollouts with a canary need besides (none of them)"
    )
    parser.add_argument(
        "--audit", action="store_true", help="with the rights that `seatrial controller --audit-every` needs besides"
    )
    parser.add_argument(
        "--kueue", action="store_true", help="with the rights that `seatrial controller --kueue` needs besides"
    )
    parser.add_argument(
        "--releases",
        action="store_true",
        help="with the rights that rollouts of operators' releases need besides (none of them)",
    )
    parser.add_argument(
        "--olm", action="store_true", help="with the rights that such rollouts need where OLM installs the operators"
    )
    parser.add_argument(
        "--network", action="store_true", help="with the rights that rollouts of the network driver need besides"
    )
    _add_places(rarely(parser))


def _add_places(parser: argparse._ArgumentGroup) -> None:
    """What is granted by name or by namespace, and what most clusters do not need."""
    parser.add_argument(
        "--release-of",
        type=_holder,
        action="append",
        default=[],
        metavar="KIND/NAMESPACE/NAME",
        help="with --releases: a HelmRelease or Application that rollouts may change (none); repeatable",
    )
    parser.add_argument(
        "--machine-pools", action="store_true", help="with the rights to make, pause and delete MachineConfigPools"
    )
    parser.add_argument(
        "--gitops", action="store_true", help="with the rights to see what GitOps engines say of themselves"
    )
    parser.add_argument(
        "--maintenance-namespace",
        type=_namespace,
        action="append",
        default=[],
        metavar="NAMESPACE",
        help="where a maintenance operator is asked to empty nodes (nowhere); repeatable",
    )
    parser.add_argument(
        "--checkpoint-namespace",
        type=_namespace,
        action="append",
        default=[],
        metavar="NAMESPACE",
        help="where jobs run that are asked to save their work: their pods may be patched (nowhere); repeatable",
    )
    parser.add_argument(
        "--gates-namespace",
        type=_namespace,
        default=manifests.HOME,
        metavar="NAME",
        help=f"with --canary: where gates run, as `seatrial controller --gates-namespace` says ({manifests.HOME})",
    )


def _namespace(text: str) -> str:
    try:
        manifests.rbac(operator_namespace=text)
    except ValueError as err:
        raise argparse.ArgumentTypeError(str(err).rstrip(".")) from err
    return text


def _holder(text: str) -> str:
    try:
        manifests.rbac(holders=[text])
    except ValueError as err:
        raise argparse.ArgumentTypeError(str(err).rstrip(".")) from err
    return text


def run(args: argparse.Namespace) -> int:
    rbac = manifests.rbac(
        operator_namespace=args.operator_namespace,
        dra_namespaces=args.dra_namespace,
        has_rerolls=args.dra_reroll,
        has_campaigns=args.canary,
        has_audits=args.audit,
        has_kueue=args.kueue,
        has_releases=args.releases,
        has_network=args.network,
        has_olm=args.olm,
        has_machine_pools=args.machine_pools,
        has_gitops=args.gitops,
        holders=args.release_of,
        maintenance_namespaces=args.maintenance_namespace,
        gates_namespace=args.gates_namespace,
        checkpoint_namespaces=args.checkpoint_namespace,
    )
    pace = manifests.pace(operator_namespace=args.operator_namespace)
    manager = manifests.driver_manager(operator_namespace=args.operator_namespace)
    parts = {
        "crd": [manifests.crd()],
        "rbac": [rbac],
        "pace": [pace],
        "driver-manager": [manager],
        "all": [manifests.crd(), rbac],
    }
    print("---\n".join(parts[args.what]), end="")
    return ExitCode.OK
