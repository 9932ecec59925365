"""The finer answers of rules: words, numbers and corners that the tables of verdicts do not show."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from seatrial.core.compat import facts as knowledge
from seatrial.core.compat.facts import Cite
from seatrial.core.compat.findings import Confidence, Finding, Verdict
from seatrial.core.compat.matrix import Component, Span, Stack, Value
from seatrial.core.compat.rules import CHANGE_RULES, STACK_RULES, RuleUnknown, check_stack, explain
from seatrial.core.compat.rules.cases import Case, Step, fail, fold, ok, unknown, warn
from seatrial.core.errors import CoreBug
from tests.core.compat.knowledge import ON, facts, judged, judged_change, stack

SURE = Cite(source="a document", confidence=Confidence.VERIFIED)
TOLD = Cite(source="a forum", confidence=Confidence.SECONDARY)


def said(found: Finding | None) -> str:
    assert found is not None
    return f"{found.verdict.value}: {found.message}"


# ── verdicts and confidence ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_fail_that_rests_on_a_second_hand_fact_warns_and_says_so() -> None:
    found = fail("They do not fit.", "Do it.", SURE, TOLD)
    assert (found.verdict, found.confidence) == (Verdict.WARN, Confidence.SECONDARY)
    assert "confidence 'secondary'" in found.message


def test_answers_are_folded_into_the_worst_with_all_that_is_not_ok() -> None:
    found = fold(
        "a", [ok("Fine.", SURE), warn("Hm.", "Look.", TOLD), unknown("Eh?", "Ask."), warn("Hm.", "Look.", TOLD)]
    )
    assert found is not None
    assert (found.verdict, found.message, found.next_step) == (Verdict.UNKNOWN, "Eh? Hm.", "Ask. Look.")
    assert found.sources == ("a forum",)


def test_a_rule_that_has_nothing_to_say_has_no_finding() -> None:
    assert fold("a", []) is None


def test_a_rule_is_asked_only_what_it_judges() -> None:
    case = Case(stack=Stack(values={}), facts=facts(), on=ON)
    with pytest.raises(CoreBug):
        STACK_RULES[0].on_change(Step(before=case, after=case))
    with pytest.raises(CoreBug):
        CHANGE_RULES[0].on_stack(case)


def test_a_finding_points_at_the_values_it_is_about() -> None:
    span = Span(file="m.yaml", line=4, column=9)
    written = Stack(values={Component.GPU_OPERATOR: Value.read(Component.GPU_OPERATOR, "v24.12.0", span)})
    assert check_stack(written, facts(), ON)[0].spans == (span,)


# ── exists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("component", "text", "verdict"),
    [
        ("gpu_operator", "24.9.0", "ok"),
        ("gpu_operator", "v25.3.5", "fail"),
        ("gpu_operator", "v25.9.2", "fail"),
        ("gpu_operator", "v26.3.4", "unknown"),
        ("gpu_operator", "v22.9.0", "unknown"),
        ("gpu_operator", "v25.3.0-rc.1", "unknown"),
        ("network_operator", "v24.7.2", "fail"),
        ("network_operator", "v24.4.9", "unknown"),
        ("network_operator", "v26.7.1", "unknown"),
        ("gpu_driver", "570.123.06", "fail"),
        ("gpu_driver", "560.99", "unknown"),
        ("cuda", "12.7", "fail"),
        ("cuda", "12.6.9", "unknown"),
        ("dcgm", "4.6.0-4.8.3", "ok"),
        ("container_toolkit", "v9.9.9", "unknown"),
    ],
)
def test_absent_is_not_the_same_everywhere(component: str, text: str, verdict: str) -> None:
    assert said(judged("exists", {component: text})).startswith(verdict)


def test_a_version_newer_than_the_knowledge_base_names_its_day() -> None:
    assert "2026-11-16" in said(judged("exists", {"gpu_operator": "v27.1.0"}))


# ── operators ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_module_type_auto_fails_with_a_driver_that_does_not_understand_it() -> None:
    texts = {"gpu_operator": "v25.3.4", "gpu_driver": "550.163.01"}
    assert said(judged("gpuop-driver", texts, {"kernel_module": "auto"})).startswith("fail: kernelModuleType auto")


def test_module_type_auto_by_default_warns_with_such_a_driver() -> None:
    texts = {"gpu_operator": "v25.3.4", "gpu_driver": "550.163.01"}
    assert "auto is the default of GPU Operator v25.3.4" in said(judged("gpuop-driver", texts))
    assert said(judged("gpuop-driver", texts, {"kernel_module": "proprietary"})).startswith("ok")


def test_one_source_and_passed_tests_are_ok_with_a_note() -> None:
    assert "tests passed" in said(judged("gpuop-openshift", {"gpu_operator": "v24.6.2", "openshift": "4.17.20"}))


def test_no_source_but_passed_tests_warn() -> None:
    found = said(judged("gpuop-openshift", {"gpu_operator": "v24.9.2", "openshift": "4.19.1"}))
    assert found.startswith("warn")
    assert "tests passed" in found


def test_a_catalogue_without_upper_end_is_open() -> None:
    assert said(judged("gpuop-openshift", {"gpu_operator": "v24.6.0", "openshift": "4.16.1"})).startswith("ok")


def test_a_release_with_a_catalogue_entry_only_warns_inside_and_is_unknown_outside() -> None:
    candidate = {"network_operator": "v26.7.0-rc.2"}
    assert said(judged("netop-openshift", {**candidate, "openshift": "4.20.1"})).startswith("warn")
    assert said(judged("netop-openshift", {**candidate, "openshift": "4.22.1"})).startswith("unknown")


def test_kubernetes_is_not_judged_where_openshift_is() -> None:
    texts = {"gpu_operator": "v25.3.4", "kubernetes": "v1.28.0", "openshift": "4.18.36"}
    assert judged("gpuop-kubernetes", texts) is None


def test_a_network_operator_without_documents_is_held_to_the_one_before_as_an_inference() -> None:
    found = judged("netop-gpuop", {"network_operator": "v26.1.2", "gpu_operator": "v24.9.0"})
    assert found is not None
    assert (found.verdict, found.confidence) == (Verdict.WARN, Confidence.SECONDARY)


def test_an_operator_nobody_knows_is_unknown_to_every_rule_about_it() -> None:
    texts = {"network_operator": "v24.8.0", "openshift": "4.16.1", "mofed": "24.10-0.7.0.0", "gpu_operator": "v24.9.0"}
    for rule in ("netop-openshift", "netop-mofed", "netop-gpuop", "mofed-kernel"):
        found = judged(rule, texts)
        assert said(found).startswith("unknown: Network Operator v24.8.0 was never released")
        assert found is not None
        assert found.next_step == "Take one of the releases that exist."


# ── platform ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_kernel_openshift_cannot_have_is_told_once() -> None:
    texts = {"openshift": "4.17.5", "gpu_driver": "560.35.03", "kernel": "6.12.0-55.9.1.el10_0.x86_64"}
    assert said(judged("driver-kernel", texts)).startswith("ok")
    assert said(judged("openshift-kernel", texts)).startswith("fail")


def test_a_real_time_kernel_is_a_build_of_its_own() -> None:
    texts = {"gpu_driver": "560.35.03", "kernel": "5.14.0-427.40.1.el9_4.x86_64+rt"}
    assert said(judged("driver-kernel", texts)).startswith("unknown")


def test_a_branch_without_a_known_floor_is_unknown() -> None:
    texts = {"gpu_driver": "610.57.04", "kernel": "5.14.0-687.1.1.el9_8.x86_64"}
    assert said(judged("driver-kernel", texts)).startswith("unknown")


def test_a_kernel_of_a_release_we_know_second_hand_does_not_block() -> None:
    found = judged("openshift-kernel", {"openshift": "4.22.1", "kernel": "5.14.0-570.1.1.el9_6.x86_64"})
    assert said(found).startswith("warn")


@pytest.mark.parametrize(
    ("operator", "kernel", "verdict"),
    [
        ("v26.1.0", "6.8.0-100-generic", "ok"),
        ("v26.1.0", "6.11.0-9-generic", "warn"),
        ("v25.10.0", "6.8.0-100-generic", "unknown"),
        ("v25.4.0", "5.14.0-570.1.1.el9_6.x86_64", "fail"),
        ("v25.7.0", "5.14.0-570.1.1.el9_6.x86_64", "ok"),
        ("v24.10.0", "5.14.0-284.1.1.el9_2.x86_64", "ok"),
    ],
)
def test_mofed_on_a_kernel_without_openshift(operator: str, kernel: str, verdict: str) -> None:
    assert said(judged("mofed-kernel", {"network_operator": operator, "kernel": kernel})).startswith(verdict)


def test_mofed_on_an_old_rhel_is_taken_from_the_documented_openshift() -> None:
    assert "OpenShift 4.14" in said(judged("mofed-kernel", {"network_operator": "v24.7.0", "openshift": "4.14.9"}))


def test_an_sriov_operator_two_minors_behind_fails() -> None:
    assert said(judged("sriov-openshift", {"sriov_operator": "4.16.0", "openshift": "4.18.9"})).startswith("fail")


# ── GPUs ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("driver", "hardware", "verdict", "word"),
    [
        ("570.124.06", {"product": "B200"}, "fail", "570.133.20"),
        ("580.65.06", {"product": "GB300"}, "warn", "a little older"),
        ("570.211.01", {"product": "B300"}, "fail", "580.82.07"),
        ("525.147.05", {"product": "NVIDIA-H100-80GB-HBM3"}, "unknown", "No list of products"),
        ("580.82.07", {"arch": "Grace-Hopper", "kernel_module": "proprietary"}, "fail", "open kernel modules"),
        ("580.82.07", {"arch": "blackwell", "kernel_module": "proprietary"}, "fail", "need the open"),
        ("580.82.07", {"arch": "Pascal", "kernel_module": "open"}, "fail", "do not work with the open"),
        ("580.82.07", {"arch": "ada-lovelace"}, "ok", "Ada"),
        ("580.82.07", {"product": "Voodoo 2"}, "unknown", "hardware.arch"),
        ("520.56.06", {"arch": "Hopper"}, "warn", "branch 525"),
    ],
)
def test_gpus_and_drivers(driver: str, hardware: dict[str, str], verdict: str, word: str) -> None:
    found = judged("arch-driver", {"gpu_driver": driver}, hardware)
    assert said(found).startswith(verdict)
    assert found is not None
    assert word in f"{found.message} {found.next_step}"


def test_the_operators_default_modules_count_where_none_are_written() -> None:
    texts = {"gpu_driver": "580.82.07", "gpu_operator": "v24.9.2"}
    found = judged("arch-driver", texts, {"arch": "Grace-Hopper"})
    assert "the default of GPU Operator v24.9.2" in said(found)


@pytest.mark.parametrize(
    ("texts", "hardware", "verdict"),
    [
        (
            {"kernel": "4.18.0-372.1.1.el8_6.x86_64", "cuda": "12.6"},
            {"arch": "Hopper", "kernel_module": "open"},
            "fail",
        ),
        ({"openshift": "4.16.1", "cuda": "12.6"}, {"arch": "Hopper", "kernel_module": "proprietary"}, "fail"),
        ({"openshift": "4.16.1", "cuda": "11.6"}, {"arch": "Hopper", "kernel_module": "open"}, "fail"),
        ({"openshift": "4.16.1", "cuda": "12.6"}, {"arch": "Volta", "kernel_module": "open"}, "fail"),
        ({"openshift": "4.16.1", "cuda": "bad"}, {"arch": "Hopper", "kernel_module": "open"}, "fail"),
        ({"openshift": "4.16.1"}, {"arch": "Hopper", "kernel_module": "open"}, "unknown"),
        ({"openshift": "4.16.1", "cuda": "12.6"}, {"kernel_module": "open"}, "unknown"),
        ({"cuda": "12.6"}, {"arch": "Hopper", "kernel_module": "open"}, "unknown"),
    ],
)
def test_dma_buf_needs_all_four(texts: dict[str, str], hardware: dict[str, str], verdict: str) -> None:
    assert said(judged("rdma", texts, {"rdma": "dmabuf", **hardware})).startswith(verdict)


def test_peermem_takes_the_operators_own_mofed() -> None:
    assert "24.10-0.7.0.0" in said(judged("rdma", {"network_operator": "v24.10.0"}, {"rdma": "peermem"}))


def test_another_kind_of_rdma_does_not_exist() -> None:
    assert said(judged("rdma", {}, {"rdma": "magic"})).startswith("fail")


def test_a_toolkit_without_a_row_still_fails_below_the_floor_of_its_major() -> None:
    assert said(judged("driver-cuda", {"gpu_driver": "550.127.05", "cuda": "13.9"})).startswith("fail")


def test_a_toolkit_of_a_major_without_a_floor_is_unknown() -> None:
    short = replace(facts(), cuda_floors={})
    found = check_stack(stack({"gpu_driver": "565.57.01", "cuda": "12.8"}), short, ON)
    assert {each.rule: each.verdict.value for each in found}["driver-cuda"] == "unknown"


# ── firmware ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("firmware", "word"),
    [
        ("28.43.1000", "less than a train"),
        ("28.42.1000", "one train"),
        ("28.41.1000", "2 trains"),
        ("28.40.1000", "older than the window"),
        ("28.43.2026", "newer than what was tested"),
    ],
)
def test_how_far_firmware_is_from_its_partner(firmware: str, word: str) -> None:
    assert word in said(judged("firmware-mofed", {"mofed": "24.10-0.7.0.0", "firmware_cx7": firmware}))


def test_plain_connectx_6_is_looked_up_and_not_computed() -> None:
    found = judged("firmware-mofed", {"mofed": "25.04-0.6.1.0", "firmware_cx6": "20.43.2566"})
    assert said(found).startswith("ok")


# ── known-bad, lifecycle ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        ({"openshift": "4.12.30", "gpu_operator": "v25.3.2"}, "warn"),
        ({"openshift": "4.13.30", "gpu_operator": "v25.3.2"}, "ok"),
        ({"openshift": "4.13.30", "gpu_operator": "v25.3.4"}, "warn"),
        ({"openshift": "4.18.24", "gpu_operator": "v25.3.4"}, "ok"),
    ],
)
def test_known_issues_apply_to_exactly_their_versions(texts: dict[str, str], verdict: str) -> None:
    before_its_bulletin = date(2025, 9, 1)
    assert said(judged("known-bad", texts, on=before_its_bulletin)).startswith(verdict)


@pytest.mark.parametrize(
    ("texts", "on", "verdict", "word"),
    [
        ({"gpu_operator": "v24.9.0"}, date(2025, 1, 1), "ok", "24.9"),
        ({"gpu_operator": "v24.9.0"}, date(2026, 1, 1), "warn", "25.10"),
        ({"gpu_driver": "535.216.03"}, date(2026, 6, 30), "ok", "2026-06-30"),
        ({"gpu_driver": "535.216.03"}, date(2026, 7, 1), "warn", "LTSB"),
        ({"openshift": "4.16.1"}, date(2025, 12, 1), "ok", "maintained"),
        ({"openshift": "4.16.1"}, date(2026, 1, 1), "warn", "extended"),
        ({"openshift": "4.16.1"}, date(2026, 7, 1), "warn", "out of support"),
        ({"openshift": "4.11.1"}, date(2026, 7, 1), "unknown", "4.22"),
        ({"gpu_operator": "v27.1.0"}, date(2026, 7, 1), "unknown", "26.7"),
    ],
)
def test_support_ends_on_a_day(texts: dict[str, str], on: date, verdict: str, word: str) -> None:
    found = said(judged("lifecycle", texts, on=on))
    assert found.startswith(verdict)
    assert word in found


# ── changes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("before", "after", "verdict", "word"),
    [
        ({"gpu_operator": "v24.6.2"}, {"gpu_operator": "v25.10.1"}, "fail", "24.6 → 24.9 → 25.3 → 25.10"),
        ({"gpu_operator": "v24.9.0"}, {"gpu_operator": "v24.12.0"}, "unknown", "majors"),
        ({"gpu_operator": "v24.9.2"}, {"gpu_operator": "v24.9.0"}, "warn", "goes back within"),
        ({"gpu_operator": "v24.9.2"}, {"gpu_operator": "junk"}, "fail", "unreadable"),
        ({"network_operator": "v24.7.0"}, {"network_operator": "v25.1.0"}, "fail", "24.7 → 24.10 → 25.1"),
        ({"openshift": "4.16.1"}, {"openshift": "4.17.1"}, "ok", "at most one minor"),
        ({"openshift": "4.16.1"}, {"openshift": "4.19.1"}, "fail", "more than one minor"),
        ({"openshift": "4.17.1"}, {"openshift": "4.16.1"}, "fail", "Red Hat supports updating to a newer version only"),
        ({"kubernetes": "v1.35.4"}, {"kubernetes": "v1.34.6"}, "unknown", "says nothing about it"),
        ({"kubernetes": "v1.35.4"}, {"kubernetes": "v1.33.6"}, "fail", "kubeadm takes one at a time"),
        ({"kubernetes": "v1.35.4-eks-1"}, {"kubernetes": "v1.34.6-eks-1"}, "warn", "EKS does that"),
        ({"dra_driver": "0.4.1"}, {"dra_driver": "managed"}, "fail", "from its own Helm release to GPUCluster"),
        ({"dra_driver": "managed"}, {"dra_driver": "0.5.0"}, "unknown", "no source describes"),
        ({"gpu_operator": "v25.3.4"}, {"gpu_operator": "v24.9.2"}, "unknown", "across a major"),
        ({"openshift": "4.22.1"}, {"openshift": "5.0.1"}, "unknown", "crosses a major"),
    ],
)
def test_ways_vendors_know(before: dict[str, str], after: dict[str, str], verdict: str, word: str) -> None:
    found = judged_change("upgrade-path", before, after)
    assert found is not None
    assert found.verdict.value == verdict
    assert word in f"{found.message} {found.next_step}"


def test_nothing_moves_is_ok_and_the_rules_on_moves_are_silent() -> None:
    same = {"gpu_operator": "v24.9.2", "openshift": "4.16.1"}
    assert said(judged_change("one-at-a-time", same, same)).startswith("ok: Nothing moves")
    assert [judged_change(rule, same, same) for rule in ("upgrade-path", "bridge", "order", "preconditions")] == [
        None
    ] * 4


def test_a_plain_kubernetes_step_has_a_bridge_too() -> None:
    before, after = (
        {"kubernetes": "v1.33.1", "gpu_operator": "v25.3.4"},
        {"kubernetes": "v1.34.1", "gpu_operator": "v25.3.4"},
    )
    assert said(judged_change("bridge", before, after)).startswith("warn: On the platform after")


def test_a_bridge_is_crossed_by_the_operators_of_the_stack_after() -> None:
    before = {"openshift": "4.16.40", "network_operator": "v24.10.1"}
    after = {"openshift": "4.17.20", "network_operator": "v25.1.0"}
    assert said(judged_change("bridge", before, after)).startswith("ok")


def test_mofed_before_firmware_is_the_tested_case() -> None:
    found = judged_change(
        "order",
        {"mofed": "24.07-0.6.1.0", "firmware_cx7": "28.41.1000"},
        {"mofed": "24.10-0.7.0.0", "firmware_cx7": "28.43.1014"},
    )
    assert found is not None
    assert found.verdict is Verdict.WARN
    assert found.message.startswith("Move mofed first")
    assert "inside the window" in found.message


def test_a_driver_move_says_what_a_canary_needs() -> None:
    found = judged_change("preconditions", {"gpu_driver": "550.127.05"}, {"gpu_driver": "560.35.03"})
    assert "NVIDIADriver" in said(found)


# ── explain ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_explain_says_what_a_rule_means_reads_and_rests_on() -> None:
    text = explain("driver-cuda")
    assert "gpu_driver, cuda" in text
    assert "cuda.minor_version_floor" in text


@pytest.mark.parametrize(("name", "hint"), [("bridges", "bridge"), ("zzz", "There are: exists")])
def test_explaining_a_rule_that_is_not_there_helps(name: str, hint: str) -> None:
    with pytest.raises(RuleUnknown, match=hint):
        explain(name)


def test_facts_that_know_nothing_make_nothing_pass() -> None:
    """With an empty knowledge base every rule on versions is unknown or silent, never ok."""
    empty = knowledge.read({})
    texts = {
        "openshift": "4.16.23", "kernel": "5.14.0-427.40.1.el9_4.x86_64", "gpu_operator": "v24.9.0", "cuda": "12.6",
        "gpu_driver": "560.35.03", "network_operator": "v24.7.0", "mofed": "24.07-0.6.1.0", "nccl": "2.22.3",
        "firmware_cx7": "28.42.1000", "sriov_operator": "4.16.0", "dcgm": "3.3.8-3.6.0", "device_plugin": "v0.17.0",
    }  # fmt: skip
    passed = {
        each.rule for each in check_stack(stack(texts, {"arch": "Hopper"}), empty, ON) if each.verdict is Verdict.OK
    }
    assert passed <= {"known-bad", "firmware-family"}
