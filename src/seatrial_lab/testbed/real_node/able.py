"""Whether this machine can carry a real node, and why not. Tests: tests/testbed/test_real_node.py"""

import os
import sys
from pathlib import Path
from typing import Final

NEEDED: Final = ("/proc/self/ns/pid", "/proc/self/ns/net", "/sys/fs/cgroup")


def why_not() -> str:
    """Return a sentence about what is missing for a real node here, empty where nothing is."""
    if sys.platform != "linux":
        return "A real node needs Linux."
    if os.geteuid() != 0:
        return "A real node needs root: its kubelet mounts, and makes namespaces and network devices."
    missing = [each for each in NEEDED if not Path(each).exists()]
    if missing:
        return f"A real node needs namespaces and control groups; this kernel has no {', '.join(missing)}."
    if "overlay" not in Path("/proc/filesystems").read_text(encoding="ascii").split():
        return "A real node needs the overlay file system for its containers; this kernel has none."
    return ""
