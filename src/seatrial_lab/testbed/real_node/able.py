"""Whether this machine can carry a real node, and why not. Tests: tests/testbed/test_able.py"""

import os
import re
import sys
from pathlib import Path
from typing import Final

NEEDED: Final = ("/proc/self/ns/pid", "/proc/self/ns/net", "/proc/self/ns/cgroup", "/sys/fs/cgroup")
CAPABILITIES: Final = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
"""What root in a container may lack; the others that a node needs come with them."""


def why_not() -> str:
    """Return a sentence about what is missing for a real node here, empty where nothing is."""
    if sys.platform != "linux":
        return "A real node needs Linux."
    if os.geteuid() != 0:
        return "A real node needs root: its kubelet mounts, and makes namespaces and network devices."
    lacking = lacking_capabilities(Path("/proc/self/status").read_text(encoding="utf-8"))
    if lacking:
        return f"A real node needs a root that may do everything; this one lacks {', '.join(lacking)}."
    missing = [each for each in NEEDED if not Path(each).exists()]
    if missing:
        return f"A real node needs namespaces and control groups; this kernel has no {', '.join(missing)}."
    if "overlay" not in Path("/proc/filesystems").read_text(encoding="ascii").split():
        return "A real node needs the overlay file system for its containers; this kernel has none."
    return ""


def lacking_capabilities(status: str) -> tuple[str, ...]:
    """Return which capabilities a process lacks, from its /proc/<id>/status."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    held = int(found[1], 16) if found else 0
    return tuple(name for name, bit in CAPABILITIES.items() if not held >> bit & 1)
