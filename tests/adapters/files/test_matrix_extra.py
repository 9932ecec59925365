"""Keys beyond the table: kept under `extra`, never judged; and hardware as a list of pools."""

from __future__ import annotations

from seatrial.adapters.files.matrix_yaml import read_matrix
from seatrial.core.compat.matrix import Role

TEXT = """\
versions:
  current:
    gpu_driver: "580.173.02"
    firmware_cx8: "40.48.1000"
    extra: {scheduler: "kueue 0.9", rack: [a, b]}
    hardware:
    - {pool: new, product: H100, kernel_module: open}
    - {pool: old, product: V100}
"""


def test_what_is_under_extra_is_kept_and_no_finding() -> None:
    read = read_matrix(TEXT, "m.yaml")
    assert read.findings == ()
    assert read.matrix is not None
    assert dict(read.matrix.entries[Role.PRODUCTION].extra) == {"scheduler": "kueue 0.9", "rack": "…"}


def test_hardware_may_be_a_list_of_pools() -> None:
    read = read_matrix(TEXT, "m.yaml")
    assert read.matrix is not None
    pools = read.matrix.entries[Role.PRODUCTION].stack.hardware.pools
    assert [(pool.name, pool.product, pool.kernel_module) for pool in pools] == [
        ("new", "H100", "open"),
        ("old", "V100", ""),
    ]
    assert [pool.span.line for pool in pools] == [7, 8]


def test_a_list_of_something_else_is_told_what_it_should_be() -> None:
    read = read_matrix("versions: {current: {gpu_driver: '565.77', hardware: [H100]}}\n", "m.yaml")
    assert [finding.rule for finding in read.findings] == ["wrong-type"]
    assert "one `- ` each" in read.findings[0].next_step


def test_extra_that_is_no_mapping_is_told_so() -> None:
    read = read_matrix("versions: {current: {gpu_driver: '565.77', extra: kueue}}\n", "m.yaml")
    assert [finding.rule for finding in read.findings] == ["wrong-type"]


def test_no_key_of_a_newer_card_is_sent_to_that_of_an_older_one() -> None:
    for key, text in (("firmware_cx8", "40.48.1000"), ("firmware_bf3", "32.48.1000")):
        read = read_matrix(f"versions: {{current: {{{key}: '{text}'}}}}\n", "m.yaml")
        assert read.findings == ()
