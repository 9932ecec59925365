"""The container runtime: were the operators validated with it, on the system of the nodes?

Tests: tests/core/compat/test_rules_parts.py and test_rules_systems.py, and test_rules_verdicts.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import NAMES, Answer, Case, Rule, fail, nothing_known, ok, unknown, warn
from seatrial.core.compat.rules.openshift import no_gpu_release, no_network_release
from seatrial.core.compat.rules.systems import covers, named, system_of

RUNTIMES: Final = (Component.CONTAINERD, Component.CRI_O)
TITLES: Final = {Component.CONTAINERD: "containerd", Component.CRI_O: "CRI-O"}


def _has_runtime(case: Case) -> bool:
    return any(case.has(part) for part in RUNTIMES)


def _on_system(case: Case, operator: Component, line: str, runtime: Component) -> Answer | None:
    """What the table of systems and runtimes says; None where it says nothing about this one."""
    table = next((row for row in case.facts.runtime_systems if (row.operator, row.line) == (operator, line)), None)
    system, value = system_of(case), case.stack[runtime]
    if table is None or system is None or value is None:
        return None
    who, spans = f"{NAMES[operator]} {line}", case.spans(runtime, Component.OS, Component.OPENSHIFT)
    if any(covers(row, system) for row in table.systems[runtime]):
        return ok(f"{who} was validated with {TITLES[runtime]} ({value.text}) on {named(system)}.", table.cite)
    if case.has(Component.OPENSHIFT) and runtime is Component.CONTAINERD:
        return fail(
            f"OpenShift runs CRI-O: {who} says No to {TITLES[runtime]} on {named(system)}, and the matrix has "
            f"{value.text}.",
            "Write cri_o, or leave the runtime out on OpenShift.",
            table.cite,
            spans=spans,
        )
    if any(covers(row, system) for row in table.refused[runtime]):
        return fail(
            f"{who} says No to {TITLES[runtime]} on {named(system)}, and the matrix has {value.text}.",
            f"Take {' or '.join(_others(case, operator, line))}.",
            table.cite,
            spans=spans,
        )
    if not any(covers(row, system) for rows in table.systems.values() for row in rows):
        return unknown(
            f"{who} names the systems on which it was validated with container runtimes, and {named(system)} (os "
            f"{system}) is none of them; found {TITLES[runtime]} {value.text}.",
            "Take a listed system; or take the runtime of the cluster's own Kubernetes, and accept the rule with a "
            "reason.",
            table.cite,
            spans=spans,
        )
    return warn(
        f"{who} was not validated with {TITLES[runtime]} ({value.text}) on {named(system)}.",
        f"Take {' or '.join(_others(case, operator, line))}, or accept the rule with a reason.",
        table.cite,
        spans=spans,
    )


def _others(case: Case, operator: Component, line: str) -> list[str]:
    system = system_of(case)
    tables = [row for row in case.facts.runtime_systems if (row.operator, row.line) == (operator, line)]
    return [
        TITLES[part]
        for part in RUNTIMES
        for table in tables
        if system is not None and any(covers(row, system) for row in table.systems[part])
    ]


# ── gpuop-runtime ─────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gpuop_runtime(case: Case) -> Iterator[Answer]:
    """Was this release validated with the container runtime, on this system?"""
    yield from case.unreadable(*RUNTIMES)
    release, cri_o, system = case.gpu_release, case.stack[Component.CRI_O], system_of(case)
    if release is None:
        yield no_gpu_release(case)
        return
    if case.containerd is not None:
        answer = _on_system(case, Component.GPU_OPERATOR, release.line, Component.CONTAINERD)
        yield from (answer,) if answer is not None else ()
        yield _containerd(case, release.line)
    if cri_o is not None and cri_o.version is not None:
        yield _on_system(case, Component.GPU_OPERATOR, release.line, Component.CRI_O) or unknown(
            f"GPU Operator {release.version} is documented with CRI-O on systems that its page names, and "
            f"{f'{named(system)} is none of them' if system is not None else 'the matrix does not say which this is'}.",
            "Write os; or take the CRI-O of the cluster's own Kubernetes minor, and accept the rule with a reason.",
            release.documented.cite if release.documented else release.cite,
            spans=case.spans(Component.CRI_O),
        )


def _containerd(case: Case, line: str) -> Answer:
    containerd, spans = case.containerd, case.spans(Component.CONTAINERD, Component.GPU_OPERATOR)
    row = next((each for each in case.facts.runtimes if each.operator_line == line), None)
    if row is None or containerd is None:
        newest = "".join(each.operator_line for each in case.facts.runtimes[-1:])
        return nothing_known(f"the containerd of GPU Operator {line}", newest, case.facts, spans)
    if row.lines.contains(containerd):
        return ok(f"GPU Operator {line} was validated with containerd {row.lines}; {containerd} is.", row.cite)
    note = f" ({row.note})" if row.note else ""
    return warn(
        f"GPU Operator {line} was validated with containerd {row.lines}{note}, found {containerd}.",
        "Take a release inside the range, or accept the rule with a reason.",
        row.cite,
        spans=spans,
    )


GPUOP_RUNTIME: Final = Rule(
    id="gpuop-runtime",
    title="The GPU Operator was validated with the container runtime",
    meaning="""\
NVIDIA's page says for each line of the GPU Operator on which systems it was validated with containerd and with CRI-O,
and gives a range of containerd: inside is ok, outside warns, as does a system for which the page says neither yes nor
no; No fails, and a system that the table leaves out (RHEL 10, Rocky Linux) is unknown. OpenShift has CRI-O alone, so
containerd fails there. Of CRI-O the page names systems and no releases: without `os` that is unknown.""",
    inputs=(Component.GPU_OPERATOR, *RUNTIMES, Component.OS, Component.OPENSHIFT),
    needs=(Component.GPU_OPERATOR,),
    applies=_has_runtime,
    sources=("container_runtimes.containerd", "container_runtimes.systems"),
    judge=judge_gpuop_runtime,
)


# ── netop-runtime ─────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_netop_runtime(case: Case) -> Iterator[Answer]:
    """Was this release validated with the container runtime, on this system?"""
    yield from case.unreadable(*RUNTIMES)
    release, system = case.network_release, system_of(case)
    if release is None:
        yield no_network_release(case)
        return
    for runtime in RUNTIMES:
        value = case.stack[runtime]
        if value is None or value.version is None:
            continue
        where = f"{TITLES[runtime]} {value.text}" + (f" on {named(system)}" if system is not None else "")
        yield _on_system(case, Component.NETWORK_OPERATOR, release.line, runtime) or unknown(
            f"No table read says whether Network Operator {release.line} was validated with {where}.",
            "Write os, or read the platform page of the release; then accept the rule with a reason.",
            release.documented.cite if release.documented else release.cite,
            spans=case.spans(runtime),
        )


NETOP_RUNTIME: Final = Rule(
    id="netop-runtime",
    title="The Network Operator was validated with the container runtime",
    meaning="""\
The Network Operator's page says on which systems it was validated with containerd and with CRI-O, and of which release
of them it says nothing: yes is ok, No fails. OpenShift has CRI-O alone, so containerd fails there. A line whose page
was not read is unknown.""",
    inputs=(Component.NETWORK_OPERATOR, *RUNTIMES, Component.OS, Component.OPENSHIFT),
    needs=(Component.NETWORK_OPERATOR,),
    applies=_has_runtime,
    sources=("container_runtimes.systems",),
    judge=judge_netop_runtime,
)
