"""Builds and fetches everything a full test run needs, before it begins: `python -m seatrial_lab.testbed.building`."""

import sys

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build, debian, operator_parts
from seatrial_lab.testbed.real_node import able


def main() -> None:
    """Have everything in the cache; what only a real node needs, where there can be one."""
    build.control_plane()
    operator_parts.find().program()
    if not able.why_not():
        build.real_node()
        for package in debian.REAL_NODE:
            debian.unpacked(package)


if __name__ == "__main__":
    try:
        main()
    except errors.PartMissing as err:
        sys.exit(str(err))
