"""The way between a real node and this machine: which numbers are free."""

from seatrial_lab.testbed.real_node import network


def test_a_network_that_this_machine_has_a_way_to_is_not_taken() -> None:
    rows = [
        "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0",
        "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0",
        "seatrial-0\t0200610A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0",
    ]
    taken = network.taken_networks(rows)
    assert [str(each) for each in taken] == ["192.0.2.0/24", "10.97.0.2/32"]
    assert any(network.Link(number=0).whole.overlaps(each) for each in taken)
    assert not any(network.Link(number=1).whole.overlaps(each) for each in taken)
