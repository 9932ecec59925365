"""The control groups of a real node, in both versions: no root is needed to look at what is written where."""

from __future__ import annotations

from pathlib import Path

from seatrial_lab.testbed.real_node.inside import hold

LIMIT = "cpuset.cpus"


def test_a_group_without_limits_of_its_own_is_given_none(tmp_path: Path) -> None:
    """In the second version the kernel makes the files, or it does not, and then nobody may."""
    (tmp_path / LIMIT).write_text("0-7\n", encoding="ascii")
    group = hold._make_group(str(tmp_path), "seatrial-1-2")
    assert [group.name, (group / LIMIT).exists(), (group / "programs" / LIMIT).exists()] == [
        "seatrial-1-2",
        False,
        False,
    ]
    assert (group / "cgroup.procs").exists(), "it is joined all the same"
