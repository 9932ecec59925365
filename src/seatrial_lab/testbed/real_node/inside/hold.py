"""Holds the namespaces of a real node open: what runs in them lives as long as this does, and not a moment longer.

Run as a plain file by an isolated Python: `python -I -S hold.py NAME FOLDER`. Two processes come of it:

    outer   ended by whoever started it, or by the leash; its death kills
    inner   process 1 of a PID namespace; its death makes the kernel kill everything else in there

With the last process go the mount and network namespaces, and with them every mount, every network device and every
network namespace of a pod. All that outlives it are empty control groups, under a name that says whose they were:

    <hierarchy>/seatrial-<id of outer>-<its birth>/          what a kubelet and containers take for the whole machine
    <hierarchy>/seatrial-<id of outer>-<its birth>/programs  outer, inner, and what is started beside the containers

Tests: tests/testbed/test_real_node.py
"""

import ctypes
import os
import signal
import socket
import sys
from pathlib import Path

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
ALL = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
MNT_DETACH = 2
MS_BIND, MS_REC, MS_PRIVATE, MS_SHARED = 0x1000, 0x4000, 0x40000, 0x100000
PR_SET_PDEATHSIG = 1
# Where a kubelet, a container runtime and CNI plugins keep things whatever they are told.
OWN_FOLDERS = {"/var/lib": "lib", "/var/log": "log"}
# What a kubelet sets for the whole machine unless it finds it so. These are in no namespace, so it is given files to
# write to instead.
TUNABLES = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
# What a mount says of itself that is no controller.
GENERAL = ("rw", "ro", "relatime", "noatime", "nosuid", "nodev", "noexec", "seclabel")
READY = "the namespaces are open"

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Open the namespaces, and wait in them for the end."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    hierarchies = _hierarchies()
    groups = [_make_group(mount, _group_name()) for mount, _, _ in hierarchies]
    _check(_libc.unshare(ALL), "unshare")
    for group in groups:  # below the root of the namespace, so that the root itself can hand out controllers
        _join(group / "programs")
    alive, lifeline = os.pipe()
    child = os.fork()
    if child:
        os.close(alive)
        # Asked to end, it stays until the last process inside is gone: then nobody writes into the folder any more.
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
        _, status = os.waitpid(child, 0)
        sys.exit(abs(os.waitstatus_to_exitcode(status)))
    os.close(lifeline)
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.set_blocking(alive, False)
    try:
        os.read(alive, 1)
        sys.exit(1)  # end of file: the outer one died before the leash was on
    except BlockingIOError:
        pass  # it lives
    socket.sethostname(name)
    _mount_own(folder)
    _mount_groups(hierarchies)
    _mount("none", "/", "", MS_REC | MS_SHARED)  # among those inside, as on any node: containers may ask for it
    print(READY, flush=True)
    _bury_for_ever()


def _mount_own(folder: Path) -> None:
    _mount("none", "/", "", MS_REC | MS_PRIVATE)  # nothing of what follows is seen outside
    _mount("proc", "/proc", "proc")
    _mount("tmpfs", "/run", "tmpfs")
    for place, own in OWN_FOLDERS.items():
        (folder / own).mkdir(parents=True, exist_ok=True)
        _mount(str(folder / own), place, "", MS_BIND)
    for each in TUNABLES:
        tunable, copy = Path("/proc/sys", each), folder / "tunables" / each.replace("/", ".")
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(tunable.read_bytes())
        _mount(str(copy), str(tunable), "", MS_BIND)


def _hierarchies() -> list[tuple[str, str, str]]:
    """Return where each hierarchy of control groups is mounted, its kind, and the controllers it is mounted for."""
    rows = (row.split() for row in Path("/proc/mounts").read_text(encoding="utf-8").splitlines())
    found = [(row[1], row[2], row[3].split(",")) for row in rows if row[2] in ("cgroup", "cgroup2")]
    return [(place, kind, ",".join(each for each in options if each not in GENERAL)) for place, kind, options in found]


def _group_name() -> str:
    born_ticks = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    return f"seatrial-{os.getpid()}-{born_ticks}"


def _make_group(mount: str, name: str) -> Path:
    """Make a group and the one for programs in it, and join: what is joined becomes the root of the namespace."""
    group = Path(mount, name)
    for each in (group, group / "programs"):
        each.mkdir()
        for limit in ("cpuset.cpus", "cpuset.mems"):  # in the first version nobody may join before these are set
            if (each / limit).exists():  # in the second a group has them only where its parent hands them out
                (each / limit).write_text((each.parent / limit).read_text(encoding="ascii"), encoding="ascii")
    _join(group)
    return group


def _join(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def _mount_groups(hierarchies: list[tuple[str, str, str]]) -> None:
    """Mount every hierarchy anew: what is mounted now begins at our own group."""
    for place, _, _ in reversed(hierarchies):
        _check(_libc.umount2(place.encode(), MNT_DETACH), f"unmount {place}")
    for place, kind, options in hierarchies:
        _mount(kind, place, kind, data=options if kind == "cgroup" else "")


def _bury_for_ever() -> None:
    """Take note of everybody's end, as process 1 has to: shims of containers outlive whoever started them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            pass  # nobody is left, for now
        signal.sigwait({signal.SIGCHLD})


def _mount(what: str, where: str, kind: str, flags: int = 0, data: str = "") -> None:
    answer = _libc.mount(what.encode(), where.encode(), kind.encode(), flags, data.encode() or None)
    _check(answer, f"mount {what} on {where}")


def _check(answer: int, what: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        sys.exit(f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
