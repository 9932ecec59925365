"""Shows the result of a check beside a commit on its forge, and so beside the pull requests that end in it.

The commit is HEAD of the matrix's repository and the repository that of its remote `origin`, unless somebody says
otherwise. The token is bound to addresses as the controller's is: an origin that is behind none is an error, and
nothing is sent. A result that cannot be shown is an error too, since a check that nobody sees passes for a check.

Tests: tests/cli/test_check_posts.py
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parser import rarely

if TYPE_CHECKING:
    from seatrial.core.model.seen.requests import CommitStatus

NAME: Final = "seatrial check"
"""Under which a forge shows it; what a protected branch asks for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from seatrial.cli.run.controller import bound_forge

    forge = rarely(parser, "on a forge")
    forge.add_argument(
        "--post-status",
        type=bound_forge,
        action="append",
        default=[],
        metavar="KIND:PREFIX=DIR",
        help=f"show the result as the status {NAME!r} of the commit: the forge (gitea, github, gitlab), the addresses "
        "behind which its repositories are, and a folder with the file token; may be repeated",
    )
    forge.add_argument("--commit", metavar="SHA", default="", help="of this commit (HEAD)")
    forge.add_argument("--repository", metavar="URL", default="", help="in this repository (the remote origin)")


def post(args: argparse.Namespace, *, file: Path, code: ExitCode, summary: str) -> None:
    """Show a result, where that was asked for; a SeatrialError says why not."""
    if not args.post_status:
        return
    from seatrial.app.awaiting import finished
    from seatrial.core.model.seen.requests import Checks, CommitStatus

    state = Checks.PASSED if code is ExitCode.OK else Checks.FAILED
    finished(_sent(args, file, CommitStatus(name=NAME, state=state, description=summary)))


async def _sent(args: argparse.Namespace, file: Path, status: CommitStatus) -> None:
    from seatrial.adapters.forge.forge import HttpForge
    from seatrial.adapters.git import history
    from seatrial.adapters.git.errors import Barred
    from seatrial.controller.forges import Forges

    # A server of this machine may be named by plain http: whoever names it here is on it.
    forges = Forges.read(args.post_status, is_loopback_http=True)
    url = args.repository or history.origin_of(file)
    place = forges.place_of(url)
    if place is None:
        raise Barred(f"{url} is behind no address that --post-status names, so nothing was sent. Name its beginning.")
    await HttpForge(place, base="").post(args.commit or history.head_of(file), status)
