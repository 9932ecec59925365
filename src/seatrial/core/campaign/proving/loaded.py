"""The driver that is loaded: what a gate measured speaks for a version only where the kernel has that version.

    another one is reported                         failed, no matter which image reports it
    a payload of ours that takes GPUs reports none  unknown: it looks at NVML, and NVML did not answer
    any other Job reports none                      its own word counts; its image need not know NVML

Law of this file: it never makes a verdict better. One kernel module serves every GPU of a node, and NVML speaks for
that module, so one report speaks for all GPUs; of a gang every member has to report.
Tests: tests/core/campaign/test_loaded.py
"""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from seatrial.core.node.fresh import is_same_version


def held_to(gate: Gate, said: Measurement, wanted: str) -> Measurement:
    """The measurement, unless it is of another driver than the wanted one, or does not say of which."""
    if said.verdict is not GateVerdict.PASSED or not gate.is_job or not wanted:
        return said
    other = next((each for each in said.drivers if each and not is_same_version(each, wanted)), "")
    if other:
        why = f"NVML reports driver {other}, and {wanted} has to be proven: the kernel may still have an old module"
        return replace(said, verdict=GateVerdict.FAILED, detail=why)
    is_told = bool(said.drivers) and all(said.drivers)
    if gate.probe and gate.wants_gpus and not is_told:
        why = f"it does not report which driver is loaded, so it proves nothing about {wanted}"
        return replace(said, verdict=GateVerdict.UNKNOWN, detail=why)
    return said
