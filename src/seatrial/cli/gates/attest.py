"""`seatrial gates attest`: what somebody says for a gate that asks for a word.

Tests: tests/cli/test_gates.py, tests/e2e/test_attested.py
"""

from __future__ import annotations

import argparse
from typing import Final

from seatrial.cli import formats, words
from seatrial.cli import options as cluster_options

DAY_SECONDS: Final = 86_400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="ROLLOUT", help="which rollout")
    parser.add_argument("gate", metavar="GATE", help="which of its gates; `seatrial gates show` lists them")
    parser.add_argument("--node", default="", metavar="NODE", help="which canary (all of them)")
    said = parser.add_mutually_exclusive_group(required=True)
    said.add_argument("--pass", dest="verdict", action="store_const", const="pass", help="it is as it should be")
    said.add_argument("--fail", dest="verdict", action="store_const", const="fail", help="it is not: undo the rollout")
    parser.add_argument("--because", required=True, metavar="TEXT", help="how you know")
    parser.add_argument(
        "--for", dest="seconds", default=DAY_SECONDS, metavar="24h", type=words.span, help="how long it counts (24h)"
    )
    formats.add_output(parser, formats.NAME)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def run(args: argparse.Namespace) -> int:
    """Say it, in the name under which the API server knows the caller."""
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import attesting
    from seatrial.cli.rollout import acts

    asked = attesting.Attested(
        gate=args.gate,
        node=args.node,
        verdict=args.verdict,
        because=attesting.reason_of(args.because),
        seconds=args.seconds,
    )
    changed, wished = finished(attesting.attest(cluster_options.cluster_of(args), args.name, asked))
    return acts.tell(changed, wished.said, args.output)
