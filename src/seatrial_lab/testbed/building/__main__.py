"""Builds and fetches everything a full test run needs, before it begins: `python -m seatrial_lab.testbed.building`."""

from seatrial_lab.testbed.building import build, debian
from seatrial_lab.testbed.real_node import able


def main() -> None:
    """Have everything in the cache; what only a real node needs, where there can be one."""
    build.control_plane()
    build.gpu_operator()
    if not able.why_not():
        build.real_node()
        for package in debian.REAL_NODE:
            debian.unpacked(package)


if __name__ == "__main__":
    main()
