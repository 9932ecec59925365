"""Where a release of the two operators runs: OpenShift. Kubernetes without it is in kubernetes.py.

It is told by more than one document, and they disagree for most releases:

    documented   what NVIDIA supports
    bundle       what the OpenShift catalogue will install
    tested       what Red Hat's end-to-end tests saw working

    in both → ok        in one → ok if tested, else warn        in neither → warn if tested, else fail

Tests: tests/core/compat/test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import GpuOperatorRelease, NetworkOperatorRelease, Support
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, no_release, nothing_known, ok, unknown, warn
from seatrial.core.compat.versions import Line, OpenShiftVersion


def no_gpu_release(case: Case) -> Answer:
    """Nothing is known of this release of the GPU Operator."""
    return no_release(case, Component.GPU_OPERATOR, case.gpu_operator)


def no_network_release(case: Case) -> Answer:
    """Nothing is known of this release of the Network Operator."""
    return no_release(case, Component.NETWORK_OPERATOR, case.network_operator)


def _no_openshift(case: Case) -> Answer:
    return nothing_known(
        f"OpenShift {case.openshift}", case.facts.newest_openshift, case.facts, case.spans(Component.OPENSHIFT)
    )


def judge_gpuop_openshift(case: Case) -> Iterator[Answer]:
    """Documents, catalogue and tests about the GPU Operator on this OpenShift."""
    release, openshift = case.gpu_release, case.openshift
    if release is None:
        yield no_gpu_release(case)
    elif openshift is not None and case.openshift_release is None:
        yield _no_openshift(case)
    elif openshift is not None:
        yield _on_openshift(
            case, f"GPU Operator {release.version}", openshift, release, tested=Line.of(openshift) in release.tested
        )


def judge_netop_openshift(case: Case) -> Iterator[Answer]:
    """Documents and catalogue about the Network Operator on this OpenShift."""
    release, openshift = case.network_release, case.openshift
    if release is None:
        yield no_network_release(case)
    elif openshift is not None and case.openshift_release is None:
        yield _no_openshift(case)
    elif openshift is not None:
        yield _on_openshift(case, f"Network Operator {release.version}", openshift, release, tested=False)


def _on_openshift(
    case: Case,
    name: str,
    openshift: OpenShiftVersion,
    release: GpuOperatorRelease | NetworkOperatorRelease,
    *,
    tested: bool,
) -> Answer:
    said, offered = _openshift_of(release.documented), _openshift_of(release.bundle)
    told = [each.openshift for each in (said, offered) if each is not None and each.openshift is not None]
    spans = case.spans(*_operator_and_platform(release))
    cites = [each.cite for each in (said, offered) if each is not None]
    tests = release.tested_cite if tested and isinstance(release, GpuOperatorRelease) else None
    holds = [lines.contains(openshift) for lines in told]
    where = f"OpenShift {openshift.line}"
    if not told:
        return unknown(
            f"No document read says where {name} runs.",
            "Read its release notes, then accept the rule.",
            release.cite,
            spans=spans,
        )
    scope = _scope(said, offered)
    if all(holds) and said is not None:
        return ok(f"{name} runs on {where} ({scope}).", *cites)
    if isinstance(release, NetworkOperatorRelease) and said is not None and holds[0]:
        # Its catalogue's annotation is carried over from release to release; the documents are what is supported.
        return ok(f"{name} runs on {where}: so its documents say, although {_annotation(offered)} ({scope}).", *cites)
    if any(holds):
        if tested:
            return ok(
                f"{name} runs on {where}: only one source includes it ({scope}), but tests passed there.", *cites, tests
            )
        return warn(
            f"{name} on {where} is included by only one of its sources ({scope}).",
            "Prefer a release that both include, or accept the rule with a reason.",
            *cites,
            spans=spans,
        )
    if tested:
        return warn(
            f"{name} on {where} is outside of what is documented and offered ({scope}), although tests passed there.",
            "Prefer a release made for it, or accept the rule with a reason.",
            *cites,
            tests,
            spans=spans,
        )
    if said is None:
        return unknown(
            f"{name} has no documented range, and its catalogue entry ({scope}) does not include {where}.",
            "Read its release notes, then accept the rule with a reason.",
            *cites,
            spans=spans,
        )
    return fail(
        f"{name} does not run on {where}: {scope}.",
        _release_for(case, release, openshift),
        *cites,
        spans=spans,
    )


def _openshift_of(support: Support | None) -> Support | None:
    return support if support is not None and support.openshift is not None else None


def _scope(said: Support | None, offered: Support | None) -> str:
    parts = [f"documented {said.openshift}" if said else "", f"catalogue {offered.openshift}" if offered else ""]
    return "; ".join(part for part in parts if part)


def _annotation(offered: Support | None) -> str:
    newest = offered.openshift.newest if offered is not None and offered.openshift is not None else None
    return f"its catalogue's annotation ends at {newest}" if newest is not None else "its catalogue does not"


def _operator_and_platform(release: GpuOperatorRelease | NetworkOperatorRelease) -> tuple[Component, Component]:
    own = Component.GPU_OPERATOR if isinstance(release, GpuOperatorRelease) else Component.NETWORK_OPERATOR
    return own, Component.OPENSHIFT


def _release_for(case: Case, release: GpuOperatorRelease | NetworkOperatorRelease, openshift: OpenShiftVersion) -> str:
    component = _operator_and_platform(release)[0]
    fitting = [
        row.version
        for row in case.facts.operators(component).values()
        if (support := _openshift_of(row.documented)) and support.openshift and support.openshift.contains(openshift)
    ]
    if not fitting:
        return f"No known {component.value} is documented for OpenShift {openshift.line}; take another OpenShift."
    newer = [version for version in fitting if version > release.version]
    named = min(newer) if newer else max(fitting)
    return f"Take {component.value} {named} or another release documented for OpenShift {openshift.line}."


GPUOP_OPENSHIFT: Final = Rule(
    id="gpuop-openshift",
    title="The GPU Operator runs on this OpenShift",
    meaning="""\
Three sources speak, and the first two disagree for most releases: NVIDIA's documentation says what is supported, the
catalogue's bundle what can be installed, Red Hat's tests what was seen working. In both: ok. In one: ok when tests
passed, else a warning. In neither: a warning when tests passed, else it fails.""",
    inputs=(Component.GPU_OPERATOR, Component.OPENSHIFT),
    needs=(Component.GPU_OPERATOR, Component.OPENSHIFT),
    sources=(
        "gpu_operator.releases.*.documented.openshift",
        "gpu_operator.releases.*.olm_bundle.openshift",
        "gpu_operator.releases.*.ci_passed_on_openshift",
    ),
    judge=judge_gpuop_openshift,
)
NETOP_OPENSHIFT: Final = Rule(
    id="netop-openshift",
    title="The Network Operator runs on this OpenShift",
    meaning="""\
As gpuop-openshift, with documentation and catalogue; no tests are published, and what is documented is ok although the
annotation of its catalogue lags behind. Documented sets have holes (v25.1.0: 4.14, 4.16 and 4.17), so they are read as
lists, not as ranges. A release without documentation is unknown outside of what its catalogue entry says.""",
    inputs=(Component.NETWORK_OPERATOR, Component.OPENSHIFT),
    needs=(Component.NETWORK_OPERATOR, Component.OPENSHIFT),
    sources=(
        "network_operator.releases.*.documented.openshift",
        "network_operator.releases.*.olm_openshift_versions",
    ),
    judge=judge_netop_openshift,
)
