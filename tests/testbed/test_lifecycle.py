"""The long-lived testbed: up, status, down."""

import subprocess
from pathlib import Path

import pytest

from seatrial_lab.testbed import errors, record
from seatrial_lab.testbed.plane import control_plane, lifecycle, processes

pytestmark = pytest.mark.cluster


def test_a_testbed_goes_up_once_is_described_breaks_is_noticed_and_goes_down_without_a_trace(own_cache: Path) -> None:
    assert lifecycle.describe(lifecycle.status()).startswith("No testbed runs.")

    plane = lifecycle.up()
    seen = plane.status()
    assert seen.is_whole
    assert lifecycle.up().status().programs[0].pid == seen.programs[0].pid
    settings = plane.folder / "env"
    assert f"  . {settings}" in lifecycle.how_to_use(seen)
    asked = ["sh", "-c", f'. "{settings}"; alias kubectl; echo "$KUBECONFIG"']
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert told.split("\n")[:2] == [f"kubectl='{seen.kubectl}'", str(seen.kubeconfig)]
    assert f"kube-apiserver           pid {seen.programs[1].pid}" in lifecycle.describe(lifecycle.status())

    with pytest.raises(errors.TestbedFailure, match="already runs in"):
        control_plane.ControlPlane.start(plane.folder)

    known = record.load(plane.folder)
    assert known is not None
    kwok = next(program for program in known.programs if program.name == "kwok")
    processes.end([kwok], grace_seconds=5)
    broken = lifecycle.status()
    assert broken is not None
    assert not broken.is_whole
    assert lifecycle.find() is None
    assert "Something ended" in lifecycle.describe(broken)

    assert lifecycle.down()
    assert not plane.folder.exists()
    assert not [program.name for program in seen.programs if Path(f"/proc/{program.pid}").exists()]
    assert not lifecycle.down()
