"""The kernel itself, as far as a test may: it refuses modules that are not there, and unmounts for real."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.adapters.host.kernel import Linux, _capabilities
from tests.disks import needs_mounts

PRIVATE = ("unshare", "--mount", "--propagation", "private")
UNMOUNTS = """
import sys
from seatrial.adapters.host.kernel import Linux
Linux().unmount(sys.argv[1])
print(sum(sys.argv[1] in line for line in open("/proc/self/mounts")))
"""


def test_a_module_that_is_not_there_is_refused_by_the_kernel() -> None:
    with pytest.raises(OSError, match="seatrial_no_such_module") as told:
        Linux().delete_module("seatrial_no_such_module")
    assert told.value.errno in (errno.ENOENT, errno.EPERM, errno.ENOSYS), "not there, not allowed, or no modules at all"


def test_a_path_that_is_no_mount_is_refused_by_the_kernel(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=tmp_path.name):
        Linux().unmount(str(tmp_path))


@needs_mounts
def test_a_mount_is_really_taken_away(tmp_path: Path) -> None:
    script = f"mount -t tmpfs none '{tmp_path}' && exec '{sys.executable}' -c '{UNMOUNTS}' '{tmp_path}'"
    ran = subprocess.run((*PRIVATE, "sh", "-c", script), capture_output=True, text=True, check=True)
    assert ran.stdout == "0\n"


@needs_mounts
def test_the_hosts_own_nvidia_smi_is_run_where_the_host_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text('#!/bin/sh\necho "$@" > "$0.asked"\necho 580.105.08\necho 580.105.08\n', encoding="ascii")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert Linux().host_driver(Path("/")) == "580.105.08"
    assert (tmp_path / "nvidia-smi.asked").read_text() == "--query-gpu=driver_version --format=csv,noheader\n"
    smi.write_text("#!/bin/sh\necho failed\nexit 9\n", encoding="ascii")
    assert Linux().host_driver(Path("/")) == ""


def test_a_host_that_is_not_there_brings_no_driver(tmp_path: Path) -> None:
    assert Linux().host_driver(tmp_path / "nowhere") == ""


def test_what_a_process_may_not_do_is_told_by_its_capabilities() -> None:
    assert _capabilities("Name:\tx\nCapEff:\t0000000000210000\n") == 1 << 16 | 1 << 21
    assert _capabilities("") == 0
    assert all("privileged" in text for text in Linux().lacking())
