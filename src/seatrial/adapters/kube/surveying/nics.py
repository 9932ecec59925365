"""Reads the firmware of network adapters where no object tells it: by a Job on the node, which reads files and ends.

    /sys/bus/pci/devices/ADDRESS    vendor, class         whether it is a network adapter of NVIDIA (Mellanox)
                                    physfn                a virtual function, which shares its adapter's firmware
                                    infiniband/*/fw_ver   its firmware, where the RDMA driver is loaded

The PCI bus is the same in every pod. RDMA devices are too, unless the node keeps them to network namespaces; an adapter
that is on the bus and shows no firmware is told as such, and is not taken for none.

Law of this file: the pod asks for nothing (no GPU, no host path, no capability, no token), runs a shell in whatever
image it is given, and goes with its Job. Tests: tests/adapters/kube/test_nics.py, tests/e2e/test_audit_nics.py,
tests/testbed/test_real_gates.py
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.probing import Prober
from seatrial.adapters.kube.reading.gates.probes import MESSAGE_PATH, Level
from seatrial.core.model.gates.gate import NIC_FIRMWARE, Gate, GateVerdict
from seatrial.core.survey.audit.objects import SYSFS, NicObject
from seatrial.core.text import foreign

AT_ONCE: Final = 20
"""Jobs that are there at the same time."""
LIMIT_SECONDS: Final = 60.0
SCRIPT: Final = """\
cd "$1/sys/bus/pci/devices" || exit 1
for at in *; do
  read -r vendor < "$at/vendor" || continue
  read -r class < "$at/class" || continue
  case $vendor$class in 0x15b30x02*) ;; *) continue ;; esac
  [ -e "$at/physfn" ] && continue
  firmware=-
  for file in "$at"/infiniband/*/fw_ver; do
    [ -r "$file" ] && read -r firmware < "$file"
  done
  echo "$at $firmware"
done
echo end"""
_LINE: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] (?:(-)|(\d+\.\d+\.\d+))")
_END: Final = "end"

OnNode = Callable[[int], None]
"""Hears of how many nodes is known what there is to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What Jobs have told."""

    nics: tuple[NicObject, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)
    """By node: why its Job could not tell; empty where it has."""


def command(root: str = "", told_to: str = MESSAGE_PATH) -> tuple[str, ...]:
    """What the container runs; with a folder of its own for a test."""
    return ("sh", "-c", f"{{\n{SCRIPT}\n}} > {told_to}", "nics", root)


def adapters(node: str, text: str) -> tuple[NicObject, ...] | None:
    """The adapters that a Job has told of; None where what it left is not all that it had to say."""
    *lines, last = text.strip().splitlines() or [""]
    found = [_LINE.fullmatch(line) for line in lines]
    if last != _END or not all(found):
        return None
    return tuple(NicObject(node=node, firmware=each[2] or "", evidence=SYSFS) for each in found if each is not None)


async def read(
    client: Client, nodes: Iterable[str], *, image: str, home: str, on_node: OnNode = lambda _: None
) -> Read:
    """Send a Job to each of the nodes, a few at a time, and wait for what they tell."""
    prober = Prober(client, home=home, level=Level.RESTRICTED)
    gate = Gate(name=NIC_FIRMWARE, image=image, command=command(), gpus=0, timeout_seconds=LIMIT_SECONDS)
    nics: list[NicObject] = []
    asked: dict[str, str] = {}
    refused: list[str] = []
    at_once = asyncio.Semaphore(AT_ONCE)

    async def ask(node: str) -> None:
        async with at_once:
            if refused:  # it would be refused again, ten thousand times
                asked[node] = refused[0]
                return
            try:
                asked[node] = await _ask(prober, gate, node, nics)
            except (errors.ClusterUnavailable, errors.Unauthorized, errors.ConfigInvalid):
                raise  # nobody answers, or nobody knows us: there is nothing to tell
            except errors.ClusterError as err:
                asked[node] = foreign.line(f"{err}")
                if isinstance(err, errors.Forbidden):
                    refused.append(asked[node])
        on_node(len(asked))

    tasks = [asyncio.create_task(ask(node)) for node in nodes]
    try:
        await asyncio.gather(*tasks)
    finally:  # whoever is told to stop takes its Job away before we go
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return Read(nics=tuple(sorted(nics, key=lambda each: each.node)), asked=dict(sorted(asked.items())))


async def _ask(prober: Prober, gate: Gate, node: str, nics: list[NicObject]) -> str:
    if not await prober.is_ready(node):
        return "the node is not Ready"
    measured, text = await prober.hear(gate, node)
    if measured.verdict is not GateVerdict.PASSED:
        return measured.detail
    found = adapters(node, text)
    if found is None:
        return f"it left {foreign.line(text, 80)!r}, which is not a list of adapters"
    nics += found
    return ""
