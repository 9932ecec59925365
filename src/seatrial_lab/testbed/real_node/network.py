"""The way between a real node and this machine: one pair of network devices, which goes with the node's namespace.

    this machine                         the node                        its pods
    seatrial-N  10.97.N.1 ───────────── eth0  10.97.N.2 ─────────────── 10.97.N.128/25
                                        lo    10.96.0.1  the API server, by way of the gateway (inside/gateway.py)

N is whatever is free: the name of the device is taken by making it, so two testbeds never take the same one. Nobody
forwards on this machine, so a node reaches the machine and the machine its pods, and nothing beyond.
Tests: tests/testbed/test_network.py, tests/testbed/test_real_node.py
"""

import errno
import ipaddress
import os
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seatrial_lab.testbed import errors

PREFIX: Final = "seatrial-"
NUMBERS: Final = range(256)

_RTM_NEWLINK, _NLM_REQUEST_ACK, _NLM_CREATE, _NLM_EXCL = 16, 0x1 | 0x4, 0x400, 0x200
_IFLA_IFNAME, _IFLA_LINKINFO, _IFLA_NET_NS_PID = 3, 18, 19
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The pair of devices of one node, and the addresses that follow from its number."""

    number: int

    @property
    def device(self) -> str:
        """The device on this machine."""
        return f"{PREFIX}{self.number}"

    @property
    def machine(self) -> str:
        """The machine, as the node sees it."""
        return f"10.97.{self.number}.1"

    @property
    def node(self) -> str:
        """The node, as the machine sees it."""
        return f"10.97.{self.number}.2"

    @property
    def pods(self) -> str:
        """The network that pods get addresses of."""
        return f"10.97.{self.number}.128/25"

    @property
    def whole(self) -> ipaddress.IPv4Network:
        """Everything that has to be free."""
        return ipaddress.IPv4Network(f"10.97.{self.number}.0/24")

    def commands_outside(self) -> tuple[str, ...]:
        """What `ip` is told on this machine."""
        return (
            f"addr add {self.machine} peer {self.node} dev {self.device}",
            f"link set {self.device} up",
            f"route add {self.pods} via {self.node} dev {self.device}",
        )

    def commands_inside(self, *, services: str, api: str) -> tuple[str, ...]:
        """What `ip` is told in the node; of all services the API server's is its own, for the gateway to listen on."""
        return (
            "link set lo up",
            f"addr add {api}/32 dev lo",
            f"route add unreachable {services}",  # a client hears so, instead of waiting
            f"addr add {self.node} peer {self.machine} dev eth0",
            "link set eth0 up",
            f"route add default via {self.machine} dev eth0",
        )


def open_link(holder_pid: int) -> Link:
    """Make a pair of devices, one end of it in the network namespace of a process, under the first free number."""
    taken = taken_networks(Path("/proc/net/route").read_text(encoding="ascii").splitlines()[1:])
    for link in (Link(number=number) for number in NUMBERS):
        if not any(link.whole.overlaps(each) for each in taken) and _make_pair(link.device, holder_pid):
            return link
    raise errors.TestbedFailure(f"No network of {Link(number=0).whole} to {Link(number=255).whole} is free here.")


def taken_networks(rows: Iterable[str]) -> list[ipaddress.IPv4Network]:
    """Return the networks that this machine has a way to, from the rows of /proc/net/route; not the way to all."""
    found = []
    for row in rows:
        fields = row.split()
        address, mask = (socket.inet_ntoa(struct.pack("=I", int(fields[each], 16))) for each in (1, 7))
        if mask != "0.0.0.0":  # noqa: S104  a mask, nothing is bound to it
            found.append(ipaddress.IPv4Network(f"{address}/{mask}"))
    return found


def _make_pair(device: str, holder_pid: int) -> bool:
    """Make both ends in one request, as `ip link add … type veth` would; tell whether the name was free."""
    blank = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)
    peer = blank + _attribute(_IFLA_IFNAME, b"eth0\0") + _attribute(_IFLA_NET_NS_PID, struct.pack("=I", holder_pid))
    kind = _attribute(_INFO_KIND, b"veth\0") + _attribute(_INFO_DATA, _attribute(_VETH_PEER, peer))
    body = blank + _attribute(_IFLA_IFNAME, f"{device}\0".encode()) + _attribute(_IFLA_LINKINFO, kind)
    flags = _NLM_REQUEST_ACK | _NLM_CREATE | _NLM_EXCL
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.send(struct.pack("=IHHII", 16 + len(body), _RTM_NEWLINK, flags, 1, 0) + body)
        (code,) = struct.unpack_from("=i", kernel.recv(4096), 16)
    if code not in (0, -errno.EEXIST):
        raise errors.TestbedFailure(f"The kernel made no network device {device}: {os.strerror(-code)}.")
    return bool(code == 0)


def _attribute(kind: int, value: bytes) -> bytes:
    padding = b"\0" * (-len(value) % 4)
    return struct.pack("=HH", 4 + len(value), kind) + value + padding
