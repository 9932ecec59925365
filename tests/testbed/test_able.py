"""Whether a machine can carry a real node: each reason against it is a sentence."""

import os

import pytest

from seatrial_lab.testbed.real_node import able


def test_without_root_it_is_said_what_root_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert able.why_not().startswith("A real node needs root: its kubelet mounts")


def test_the_root_of_a_plain_container_is_not_enough() -> None:
    plain = "Name:\tpython\nCapPrm:\t00000000a80425fb\nCapEff:\t00000000a80425fb\n"
    assert able.lacking_capabilities(plain) == ("CAP_NET_ADMIN", "CAP_SYS_ADMIN")
    whole = "Name:\tpython\nCapEff:\t000001fffeffffff\n"  # all but CAP_SYS_RESOURCE, which a node can do without
    assert able.lacking_capabilities(whole) == ()
