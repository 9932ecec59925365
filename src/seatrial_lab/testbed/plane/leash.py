"""Becomes another program in a session of its own, ended by the kernel when the thread that started it dies.

Run as a plain file by an isolated Python: `python -I -S leash.py LEASH PROGRAM [ARGUMENT…]`, where LEASH is the id of
the process to die with, or 0 to live on alone. It imports nothing of ours, so that starting a program stays quick.
A hook between fork and exec would do the same, but is unsafe in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Put the leash on, then become the program."""
    leash, command = int(sys.argv[1]), sys.argv[2:]
    os.setsid()
    if leash:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != leash:  # it died before the leash was on
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606  becoming that program is the whole purpose


if __name__ == "__main__":
    main()
