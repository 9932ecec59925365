"""An idle candidate for a Lease of its own, by the controller's own election: what the machine alone costs a leader.

    python -m seatrial_lab.torture.twin KUBECONFIG NAMESPACE LEASE_SECONDS

It watches nothing. Each line says `leads` or `lost` and when; what an idle twin loses, nobody could have kept.
Tests: bench/hostile
"""

from __future__ import annotations

import sys
import time
from typing import Final

from seatrial.adapters.kube.api.config import load_config
from seatrial.adapters.kube.api.lease import Election
from seatrial.controller.leading import timing_of

LOOK_SECONDS: Final = 0.2
NAME: Final = "twin"
"""Of its Lease: nobody takes it for the controller's."""


def main() -> None:
    """Stand for election until somebody ends us."""
    kubeconfig, namespace, seconds = sys.argv[1:4]
    election = Election(
        load_config(kubeconfig=kubeconfig, environ={}),
        namespace=namespace,
        name=NAME,
        identity=NAME,
        user_agent="seatrial-twin",
        timing=timing_of(int(seconds)),
        tell=lambda ending: print(f"{time.time():.1f} ended: {ending.why}", flush=True),
    )
    election.start()
    led = False
    while True:
        if election.is_leader() is not led:
            led = not led
            print(f"{time.time():.1f} {'leads' if led else 'lost'}", flush=True)
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main()
