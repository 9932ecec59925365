"""What smoke-train gave where it was recorded: an NVIDIA H200, driver 580.159.04, PyTorch 2.11.0 with CUDA 13.0.

    python -c "from seatrial.probes.payloads import smoke_train; smoke_train.record()"     prints it anew

Tests: tests/probes/test_smoke_train.py
"""

from __future__ import annotations

from typing import Final

STEPS: Final = 300
LOSSES: Final = (
    3.6818,
    2.4374,
    1.4842,
    0.9184,
    0.6413,
    0.4693,
    0.3589,
    0.2840,
    0.2261,
    0.1887,
    0.1635,
    0.1418,
)
"""The mean loss of every 25 steps, in nats."""
WEIGHTS_NORM: Final = 99.326
