"""Runs a program in the namespaces of a real node.

Run as a plain file by an isolated Python, which opens no more than it needs:

    python -I -S enter.py HOLDER GROUP LOG PROGRAM [ARGUMENT…]    start it, print its id as the machine counts, and end
    python -I -S enter.py HOLDER GROUP -   PROGRAM [ARGUMENT…]    wait for it, and end as it ends

HOLDER is the outer process of hold.py, GROUP the name of its control groups. A program that is started belongs to the
PID namespace, and dies with it.
"""

import ctypes
import os
import sys
from pathlib import Path

# The mount namespace last: the others are opened by their names in the machine's /proc.
NAMESPACES = ("net", "uts", "ipc", "cgroup", "pid_for_children", "mnt")


def main() -> None:
    """Enter, and become the program in a process of its own."""
    holder, group, log, command = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    doors = [os.open(f"/proc/{holder}/ns/{each}", os.O_RDONLY) for each in NAMESPACES]
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if log != "-" else -1
    _join(group)
    libc = ctypes.CDLL(None, use_errno=True)
    for door in doors:
        if libc.setns(door, 0) != 0:
            sys.exit(f"the namespaces of {holder} cannot be entered: {os.strerror(ctypes.get_errno())}")
    child = os.fork()  # only a child is in the PID namespace
    if not child:
        if output >= 0:
            _detach(output)
        os.execv(command[0], command)  # noqa: S606  becoming that program is the whole purpose
    if output >= 0:
        print(child)
        return
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


def _join(group: str) -> None:
    rows = (row.split() for row in Path("/proc/mounts").read_text(encoding="utf-8").splitlines())
    for mount in [row[1] for row in rows if row[2] in ("cgroup", "cgroup2")]:
        Path(mount, group, "programs", "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def _detach(output: int) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, source in enumerate((nothing, output, output)):
        os.dup2(source, number)


if __name__ == "__main__":
    main()
