"""What the Network Operator's page lists beside platforms: adapters, servers with their systems, and what it needs.

A list is read as complete: what it leaves out is unknown, never right by default; what a page says no to fails.

Tests: tests/core/compat/test_rules_listed.py, and test_rules_verdicts.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.architectures import hardware_span
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, nothing_known, ok, unknown, warn
from seatrial.core.compat.rules.firmware import FIRMWARE, firmware_of
from seatrial.core.compat.rules.openshift import no_network_release
from seatrial.core.compat.rules.systems import covers, named, system_of
from seatrial.core.compat.versions import PartVersion
from seatrial.core.text.names import a_few

# ── netop-server ──────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_netop_server(case: Case) -> Iterator[Answer]:
    """Was the Network Operator validated with this system on these servers, and with GPUDirect RDMA?"""
    release, product = case.network_release, case.hardware.product
    yield from case.unreadable(Component.OS)
    if release is None:
        yield no_network_release(case)
        return
    rows = [row for row in case.facts.servers if row.line == release.line]
    row = next((each for each in rows if case.facts.is_named(product, (each.product,))), None)
    system, who = system_of(case), f"Network Operator {release.version}"
    spans = (*case.spans(Component.NETWORK_OPERATOR, Component.OS), *hardware_span(case.hardware))
    if row is None:
        return
    if case.hardware.rdma and not row.has_gpudirect:
        yield fail(
            f"{who} supports {product} with RoCE only, without GPUDirect RDMA (hardware.rdma is {case.hardware.rdma}).",
            "Leave GPUDirect RDMA out on these nodes.",
            row.cite,
            spans=spans,
        )
    if system is not None and any(covers(each, system) for each in row.systems):
        yield ok(f"{who} was validated with {named(system)} on {product}.", row.cite)
    elif system is not None:
        yield unknown(
            f"{who} was validated on {product} with {a_few([named(each) for each in row.systems], 8)}, and nobody says "
            f"that it was with {named(system)}.",
            "Take a listed system, or accept the rule with what was seen.",
            row.cite,
            spans=spans,
        )


NETOP_SERVER: Final = Rule(
    id="netop-server",
    title="The Network Operator was validated with this system on these servers",
    meaning="""\
Needs hardware.product. The Network Operator's page has a table of NVIDIA's servers (GB200, B200, B300, RTX PRO 6000,
Grace, IGX Orin), each with the systems it was validated with: one of them is ok, another is unknown. Grace Hopper and
IGX Orin have RoCE only: hardware.rdma fails there. Of servers that are not in the table it says nothing.""",
    inputs=(Component.NETWORK_OPERATOR, Component.OS, Component.OPENSHIFT),
    needs=(Component.NETWORK_OPERATOR,),
    applies=lambda case: (
        bool(case.hardware.product)
        and (bool(case.hardware.rdma) or case.has(Component.OS) or case.has(Component.OPENSHIFT))
    ),
    is_by_pool=True,
    sources=("network_servers.network_operator",),
    judge=judge_netop_server,
)


# ── netop-nic, netop-nfd ──────────────────────────────────────────────────────────────────────────────────────────────


def judge_netop_nic(case: Case) -> Iterator[Answer]:
    """Was the Network Operator validated with these adapters?"""
    release = case.network_release
    yield from case.unreadable(*FIRMWARE)
    if release is None:
        yield no_network_release(case)
        return
    row = next((each for each in case.facts.adapters if each.line == release.line), None)
    if row is None:
        return  # pages before 25.4 have no such list
    for component, firmware in firmware_of(case):
        if firmware.family_name in row.families:
            yield ok(
                f"Network Operator {release.version} was validated with {firmware.family_name} "
                f"({component.value} {firmware}).",
                row.cite,
            )
        else:
            yield unknown(
                f"Network Operator {release.version} does not list {firmware.family_name} ({component.value} "
                f"{firmware}) among the adapters that it was validated with.",
                "Take a listed adapter, or accept the rule with what was seen.",
                row.cite,
                spans=case.spans(Component.NETWORK_OPERATOR, component),
            )


NETOP_NIC: Final = Rule(
    id="netop-nic",
    title="The Network Operator was validated with the adapters",
    meaning="""\
The Network Operator's page lists the adapters of each line (ConnectX-6, 6 Dx, 7, 8 and BlueField-3; ConnectX-9 from
26.1 on). A firmware tells its adapter: listed is ok, any other, such as ConnectX-6 Lx, is unknown.""",
    inputs=(Component.NETWORK_OPERATOR, *FIRMWARE),
    needs=(Component.NETWORK_OPERATOR,),
    applies=lambda case: any(case.has(part) for part in FIRMWARE),
    sources=("network_adapters.network_operator",),
    judge=judge_netop_nic,
)


def judge_netop_nfd(case: Case) -> Iterator[Answer]:
    """Does the Network Operator work with this Node Feature Discovery?"""
    release, value, gpu = case.network_release, case.stack[Component.NFD], case.gpu_release
    if release is None:
        yield no_network_release(case)
        return
    row = next((each for each in case.facts.nfd_ranges if each.line == release.line), None)
    spans = case.spans(Component.NETWORK_OPERATOR, Component.NFD)
    if value is None or not isinstance(value.version, PartVersion):
        return
    who, found = f"Network Operator {release.version}", value.version
    if row is None:
        newest = "".join([each.line for each in case.facts.nfd_ranges][-1:])
        what = f"the Node Feature Discovery of Network Operator {release.line}"
        yield nothing_known(what, newest, case.facts, spans)
    elif row.oldest <= found <= row.newest:
        yield ok(
            f"{who} works with Node Feature Discovery {row.oldest} to {row.newest}, and {value.text} is.", row.cite
        )
    elif gpu is not None and gpu.operands.get(Component.NFD) == found:
        yield ok(
            f"{who} recommends the Node Feature Discovery of the GPU Operator where both are there, and {value.text} "
            f"is that of {gpu.version}.",
            row.cite,
            gpu.cite,
        )
    else:
        yield warn(
            f"{who} works with Node Feature Discovery {row.oldest} to {row.newest}, found {value.text}.",
            "Take one of those, or that of the GPU Operator; or accept the rule with a reason.",
            row.cite,
            spans=spans,
        )


NETOP_NFD: Final = Rule(
    id="netop-nfd",
    title="The Network Operator works with this Node Feature Discovery",
    meaning="""\
The Network Operator's page gives a range of Node Feature Discovery, and recommends that of the GPU Operator where both
operators share one: either is ok, anything else warns. It never fails.""",
    inputs=(Component.NETWORK_OPERATOR, Component.NFD, Component.GPU_OPERATOR),
    needs=(Component.NETWORK_OPERATOR, Component.NFD),
    sources=("node_feature_discovery.network_operator", "gpu_operator.releases.*.operands"),
    judge=judge_netop_nfd,
)
