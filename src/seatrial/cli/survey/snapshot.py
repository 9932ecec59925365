"""Write the cluster into a file, for a bug report, or to look at it where the cluster cannot be reached.

Secrets and ConfigMaps are not read. `seatrial audit`, doctor, forecast and rollout adopt read the file with --snapshot.

In detail:

The file has what these commands read, and no more: objects, and the logs of what fails. Labels, annotations and
variables are kept by a list of those that may be. Of messages and logs, words known to the trade stay, and the rest is
`…`. docs/reference/snapshot.md lists every field. Exit code 11 when something could not be read; the file says what.
"""

# Tests: tests/cli/test_snapshot.py

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.core.survey.portable.recorded import Recorded

EXITS = (ExitCode.INCONCLUSIVE,)
NOT_SERVED = 404


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-logs", action="store_true", help="without logs; many failures show only there")
    parser.add_argument(
        "--anonymise", action="store_true", help="other names for nodes, namespaces, registries and what tenants run"
    )
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def run(args: argparse.Namespace) -> int:
    from seatrial.adapters.files import snapshot_file
    from seatrial.app.awaiting import finished
    from seatrial.app.survey import snapshotting
    from seatrial.cli.terminal import counting

    options = snapshotting.SnapshotOptions(with_logs=not args.no_logs, is_anonymous=args.anonymise)
    with counting() as on_read:
        found = finished(snapshotting.take(cluster_options.cluster_of(args), options, on_read))
    for line in snapshot_file.lines_of(found):
        print(line)
    return _ended(found)


def _ended(found: Recorded) -> ExitCode:
    """What could not be read is said beside the file; a kind that the cluster does not have is no gap."""
    missing = {path: each for path, each in found.refused.items() if each.code != NOT_SERVED}
    for path, each in missing.items():
        print(f"seatrial: {path} is not in it: {each.said}", file=sys.stderr)
    return ExitCode.INCONCLUSIVE if missing else ExitCode.OK
