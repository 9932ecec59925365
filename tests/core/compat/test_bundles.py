"""Bundles: which releases an entry gives, with which values, in which order, and what each deployer is told of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.compat.bundles import stack as stacks
from seatrial.core.compat.bundles.bundling import files_of
from seatrial.core.compat.bundles.values import (
    DRA_RELEASE,
    POST_CHART,
    Asked,
    BundleRefused,
    Deployer,
    Document,
    LocalChart,
    Release,
    Stack,
    Text,
    laid_over,
)
from seatrial.core.compat.matrix import Entry, Hardware, Role
from seatrial.core.compat.matrix import Stack as Versions

POST = LocalChart(name=POST_CHART, version="0.1.0", digest="0123456789abcdef")
GIT = "https://git.example.com/fleet.git"
FULL = {
    "gpu_operator": "v26.3.3",
    "gpu_driver": "580.126.20",
    "dra_driver": "25.12.0",
    "network_operator": "v26.1.0",
    "kernel": "6.8.0",
}


def an_entry(hardware: Hardware | None = None, /, **texts: str) -> Entry:
    return Entry(role=Role.CANARY, key="canary", stack=Versions.of(texts or FULL, hardware))


def asking(deployer: Deployer = Deployer.HELM, **wishes: Any) -> Asked:
    return Asked(deployer=deployer, **{"local": (POST,), "repository": GIT, **wishes})


def a_stack(entry: Entry | None = None, /, *, had_old_dra: bool = False, **wishes: Any) -> Stack:
    return stacks.stack_of(entry or an_entry(), asking(**wishes), had_old_dra=had_old_dra)


def release(stack: Stack, name: str) -> Release:
    found = stack.release(name)
    assert found is not None, [each.name for each in stack.releases]
    return found


# ── which releases ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_hook_comes_after_the_dra_driver_which_comes_after_the_operators() -> None:
    found = a_stack()
    assert [each.name for each in found.releases] == ["network-operator", "gpu-operator", DRA_RELEASE, POST_CHART]
    assert {each.name: each.after for each in found.releases} == {
        "network-operator": (),
        "gpu-operator": ("network-operator",),
        DRA_RELEASE: ("gpu-operator",),
        POST_CHART: ("gpu-operator", DRA_RELEASE),
    }
    assert [each.folder for each in found.releases][-1] == "004-gpu-operator-post"


def test_nothing_waits_for_a_release_that_the_entry_does_not_have() -> None:
    found = a_stack(an_entry(gpu_operator="v26.3.3", gpu_driver="580.126.20", dra_driver="25.12.0"))
    assert release(found, "gpu-operator").after == ()
    assert release(found, POST_CHART).after == ("gpu-operator", DRA_RELEASE)


def test_without_a_dra_driver_there_is_no_hook() -> None:
    """Its Role would go into a namespace that is not there."""
    found = a_stack(an_entry(gpu_operator="v26.3.3", gpu_driver="580.126.20"))
    assert [each.name for each in found.releases] == ["gpu-operator"]


def test_what_the_bundle_does_not_bring_is_told() -> None:
    assert a_stack().left_out == ("kernel",)


def test_on_openshift_the_operators_are_left_to_olm() -> None:
    found = a_stack(an_entry(openshift="4.20.34", **FULL))
    assert [each.name for each in found.releases] == [DRA_RELEASE, POST_CHART]
    hook = release(found, POST_CHART)
    assert hook.namespace == hook.values["operatorNamespace"] == "nvidia-gpu-operator"
    assert hook.values["target"]["chart"] == ""  # OLM has no chart, and nothing bears its label
    assert {"gpu_operator", "gpu_driver", "network_operator"} <= set(found.left_out)
    assert "OLM" in found.notes[0]


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ({"kernel": "6.8.0"}, "nothing to bundle in canary"),
        ({"openshift": "4.20.34", "gpu_operator": "v26.3.3"}, "OLM brings the operators"),
        ({"gpu_operator": "v26.7.0", "dra_driver": "managed"}, "GPUCluster"),
        ({"gpu_operator": "newest"}, "cannot be read"),
    ],
)
def test_an_entry_that_cannot_be_bundled_is_refused_with_the_reason(texts: dict[str, str], says: str) -> None:
    with pytest.raises(BundleRefused, match=says):
        a_stack(an_entry(**texts))


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_operator_gets_the_driver_of_the_entry_and_nothing_that_is_its_own_default() -> None:
    assert release(a_stack(), "gpu-operator").values == {"driver": {"version": "580.126.20"}}


def test_the_kind_of_kernel_module_is_said_where_the_chart_knows_the_word() -> None:
    hardware = Hardware(kernel_module="open")
    new = a_stack(an_entry(hardware, gpu_operator="v25.3.0", gpu_driver="570.124.06"))
    old = a_stack(an_entry(hardware, gpu_operator="v24.9.2", gpu_driver="550.144.03"))
    assert release(new, "gpu-operator").values["driver"]["kernelModuleType"] == "open"
    assert release(old, "gpu-operator").values == {"driver": {"version": "550.144.03"}}


def test_with_on_delete_nothing_restarts_by_itself() -> None:
    found = a_stack(is_on_delete=True)
    operator, dra, hook = (release(found, name).values for name in ("gpu-operator", DRA_RELEASE, POST_CHART))
    assert operator["driver"]["upgradePolicy"] == {"autoUpgrade": False}
    assert operator["daemonsets"] == {"updateStrategy": "OnDelete"}
    assert {each["name"]: each["value"] for each in operator["driver"]["manager"]["env"]} == {
        "ENABLE_GPU_POD_EVICTION": "false",
        "ENABLE_AUTO_DRAIN": "false",
    }
    assert dra["kubeletPlugin"]["updateStrategy"] == {"type": "OnDelete", "rollingUpdate": None}
    assert dra["kubeletPlugin"]["podAnnotations"] == {"seatrial.dev/target": "v26.3.3_580.126.20"}
    assert hook["mode"] == "request"


def test_without_on_delete_no_annotation_restarts_all_plugins_at_once() -> None:
    assert "kubeletPlugin" not in release(a_stack(), DRA_RELEASE).values


def test_a_hook_that_waits_is_told_what_to_wait_for_and_one_that_asks_is_not() -> None:
    """A rollout takes the driver further than the file says; a controller would wait for the older one for ever."""
    waits, asks = (release(a_stack(is_on_delete=each), POST_CHART).values["target"] for each in (False, True))
    assert (waits["driver"], waits["chart"]) == ("580.126.20", "gpu-operator-v26.3.3")
    assert (asks["driver"], asks["chart"]) == ("", "")
    assert waits["extra"] == asks["extra"] == "gpu_operator v26.3.3, gpu_driver 580.126.20, dra_driver 25.12.0"


@pytest.mark.parametrize("changed", ["gpu_operator", "gpu_driver", "dra_driver"])
def test_every_version_that_matters_to_the_hook_is_in_its_target(changed: str) -> None:
    other = {"gpu_operator": "v26.3.2", "gpu_driver": "580.105.08", "dra_driver": "25.8.0"}[changed]
    before, after = (
        release(a_stack(an_entry(**texts)), POST_CHART).values["target"] for texts in (FULL, {**FULL, changed: other})
    )
    assert before != after


def test_gpus_are_allocated_by_one_of_the_two() -> None:
    neither, both = (a_stack(allocates_gpus=each) for each in (False, True))
    assert release(neither, DRA_RELEASE).values["resources"] == {"gpus": {"enabled": False}}
    assert "devicePlugin" not in release(neither, "gpu-operator").values
    dra = release(both, DRA_RELEASE).values
    assert (dra["resources"], dra["gpuResourcesEnabledOverride"]) == ({"gpus": {"enabled": True}}, True)
    assert release(both, "gpu-operator").values["devicePlugin"] == {"enabled": False}


def test_node_feature_discovery_comes_once() -> None:
    assert release(a_stack(), "network-operator").values == {"nfd": {"enabled": False}}


@pytest.mark.parametrize(
    ("image", "values"),
    [
        ("registry.example.com:5000/gpu/seatrial", {"repository": "registry.example.com:5000/gpu/seatrial"}),
        ("seatrial:0.1.0", {"repository": "seatrial", "tag": "0.1.0"}),
        ("r.io:5000/seatrial:0.1.0", {"repository": "r.io:5000/seatrial", "tag": "0.1.0"}),
        ("r.io/seatrial@sha256:ab", {"repository": "r.io/seatrial", "digest": "sha256:ab"}),
    ],
)
def test_an_image_is_taken_apart_as_the_chart_has_it(image: str, values: dict[str, str]) -> None:
    assert release(a_stack(image=image), POST_CHART).values["image"] == values


def test_own_values_are_laid_over_ours_and_a_null_stays_one() -> None:
    own = {"gpu-operator": {"driver": {"rdma": {"enabled": True}}, "toolkit": None}}
    assert release(a_stack(own=own), "gpu-operator").values == {
        "driver": {"version": "580.126.20", "rdma": {"enabled": True}},
        "toolkit": None,
    }
    assert laid_over({"a": [1], "b": {"c": 1}}, {"a": [2], "b": 3}) == {"a": [2], "b": 3}


def test_own_values_of_a_release_that_is_not_there_are_refused() -> None:
    with pytest.raises(BundleRefused, match="--values names gpu-operater, and this bundle has network-operator"):
        a_stack(own={"gpu-operater": {}})


# ── charts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_dra_driver_comes_from_where_its_version_is() -> None:
    old = release(a_stack(), DRA_RELEASE).chart
    new = release(a_stack(an_entry(**{**FULL, "dra_driver": "0.4.1"})), DRA_RELEASE)
    assert (old.name, old.repository) == ("nvidia-dra-driver-gpu", "https://helm.ngc.nvidia.com/nvidia")
    assert (new.chart.name, new.chart.is_oci) == ("dra-driver-nvidia-gpu", True)
    assert new.ignored[0]["name"] == "dra-driver-nvidia-gpu-kubelet-plugin"


def test_a_renamed_chart_over_an_old_one_has_to_be_decided() -> None:
    """Two plugins would fight for one socket; and names that are kept where nobody needs them stay for ever."""
    entry = an_entry(**{**FULL, "dra_driver": "0.4.1"})
    with pytest.raises(BundleRefused, match="--dra-names old"):
        a_stack(entry, had_old_dra=True)
    kept = release(a_stack(entry, had_old_dra=True, keeps_dra_names=True), DRA_RELEASE)
    assert kept.values["nameOverride"] == "nvidia-dra-driver-gpu"
    assert kept.ignored[0]["name"] == "nvidia-dra-driver-gpu-kubelet-plugin"
    assert "nameOverride" not in release(a_stack(entry, had_old_dra=True, keeps_dra_names=False), DRA_RELEASE).values


def test_one_address_can_have_all_charts() -> None:
    found = a_stack(an_entry(**{**FULL, "dra_driver": "0.4.1"}), charts="oci://registry.example.com/charts")
    assert {each.chart.repository for each in found.releases} == {"oci://registry.example.com/charts", ""}


def test_a_chart_of_a_folder_has_to_be_of_the_version_that_the_entry_says() -> None:
    charts = [
        LocalChart(name=name, version=version, digest="d")
        for name, version in (
            ("gpu-operator", "v26.3.3"),
            ("network-operator", "26.1.0"),
            ("nvidia-dra-driver-gpu", "25.12.0"),
        )
    ]
    found = a_stack(local=(POST, *charts), is_offline=True)
    assert all(each.chart.is_local for each in found.releases)
    with pytest.raises(BundleRefused, match=r"gpu-operator of --charts is of version v26\.3\.2, and the entry says"):
        a_stack(local=(POST, replace(charts[0], version="v26.3.2"), *charts[1:]), is_offline=True)
    with pytest.raises(BundleRefused, match="--charts has no chart network-operator"):
        a_stack(local=(POST, charts[0], charts[2]), is_offline=True)


def test_a_change_of_our_chart_is_a_new_version_of_it_and_a_valid_one() -> None:
    """Flux looks at a chart in Git again when its version changes; a number may not begin with a nought."""
    versions = {stacks.post_version("0.1.0", digest) for digest in ("00000001", "00000002")}
    assert len(versions) == 2
    semver = r"\d+\.\d+\.\d+-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
    assert all(re.fullmatch(semver, each) for each in versions)
    assert not any("+" in each for each in versions)  # which no label may have in it


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("nodes", "parallel", "seconds"), [(0, 0, 3600), (4, 0, 3600), (16, 5, 3600), (16, 1, 8280), (1000, 10, 48_600)]
)
def test_the_hook_may_wait_for_as_long_as_so_many_nodes_take(nodes: int, parallel: int, seconds: int) -> None:
    hook = release(a_stack(node_count=nodes, parallel=parallel), POST_CHART)
    assert hook.values["deadlineSeconds"] == seconds
    assert hook.timeout_seconds >= seconds + 120  # else the deployer gives up while the Job still works


def test_more_nodes_than_a_day_has_room_for_are_refused() -> None:
    with pytest.raises(BundleRefused, match="--parallel"):
        a_stack(node_count=1000)
    assert release(a_stack(node_count=1000, is_on_delete=True), POST_CHART).values["mode"] == "request"


def test_the_operator_is_told_how_many_nodes_the_deadline_counts_on() -> None:
    values = release(a_stack(node_count=16, parallel=4), "gpu-operator").values
    assert values["driver"]["upgradePolicy"] == {"autoUpgrade": True, "maxParallelUpgrades": 4}


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def documents(deployer: Deployer, **wishes: Any) -> dict[str, Document]:
    found = files_of(a_stack(**wishes), asking(deployer, **wishes))
    return {each.path: each for each in found if isinstance(each, Document)}


@pytest.mark.parametrize("deployer", Deployer)
def test_the_values_are_one_file_whoever_reads_them(deployer: Deployer) -> None:
    values = {path: each for path, each in documents(deployer).items() if path.endswith("/values.yaml")}
    assert values == {path: each for path, each in documents(Deployer.HELM).items() if path.endswith("/values.yaml")}
    assert len(values) == 4


@pytest.mark.parametrize("deployer", Deployer)
def test_the_same_wishes_give_the_same_files_and_a_readme(deployer: Deployer) -> None:
    once, twice = (files_of(a_stack(), asking(deployer)) for _ in range(2))
    assert once == twice
    (page,) = [each for each in once if each.path == "README.md"]
    assert isinstance(page, Text)
    assert "003-nvidia" not in page.text
    assert "gpu-operator-post 0.1.0-h01234567" in page.text


@pytest.mark.parametrize("deployer", [each for each in Deployer if each.reads_git])
def test_who_reads_git_has_to_be_told_where(deployer: Deployer) -> None:
    with pytest.raises(BundleRefused, match="--repo URL"):
        files_of(a_stack(), asking(deployer, repository=""))


@pytest.mark.parametrize(
    ("wishes", "says"),
    [
        ({"repository": "https://me:token@git.example.com/fleet.git"}, "--repo has a login"),
        ({"repository": "https://token@git.example.com/fleet.git"}, "--repo has a login"),
        ({"charts": "oci://me:token@registry.example.com/charts"}, "--charts has a login"),
        ({"charts": "https://example.com/$(reboot)"}, "characters"),
        ({"image": "r.io/seatrial; reboot"}, "characters"),
    ],
)
def test_no_login_and_nothing_for_a_shell_gets_into_a_bundle(wishes: dict[str, Any], says: str) -> None:
    with pytest.raises(BundleRefused, match=says):
        files_of(a_stack(**wishes), asking(Deployer.HELM, **wishes))


def test_an_address_of_ssh_is_none_with_a_login() -> None:
    for url in ("git@git.example.com:gpu/fleet.git", "ssh://git@git.example.com/gpu/fleet.git"):
        assert files_of(a_stack(), asking(Deployer.FLUX, repository=url))


def test_no_script_of_the_bundle_restarts_anything_or_takes_anything_back() -> None:
    texts = "\n".join(each.text for each in files_of(a_stack(), asking()) if isinstance(each, Text))
    scripts = "\n".join(
        each.text for each in files_of(a_stack(), asking()) if isinstance(each, Text) and each.is_executable
    )
    assert "rollout restart" not in texts
    for word in ("kubectl", "--atomic", "--no-hooks", "delete"):
        assert word not in scripts


def _walked(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield key, below
            yield from _walked(below)
    elif isinstance(value, list | tuple):
        for below in value:
            yield from _walked(below)


@pytest.mark.parametrize("deployer", Deployer)
def test_no_deployer_is_told_to_leave_hooks_out_or_to_take_drivers_back(deployer: Deployer) -> None:
    said = dict(pair for each in documents(deployer).values() for pair in _walked(list(each.objects)))
    for word in ("disableHooks", "disableWait", "disableWaitForJobs", "hooks", "argocd.argoproj.io/hook"):
        assert word not in said
    assert said.get("atomic") in (None, False)
    assert said.get("retries") in (None, 0)
    assert "ApplyOutOfSyncOnly=true" not in said.get("syncOptions", [])


def test_helmfile_asks_the_cluster_what_differs_once_a_release_is_there() -> None:
    told = documents(Deployer.HELMFILE)["helmfile.yaml"].objects[0]["releases"]
    assert {each.get("disableValidationOnInstall") for each in told} == {True}
    assert {each.get("disableValidation") for each in told} == {None}


def test_helmfile_fetches_nothing_for_a_chart_that_comes_along() -> None:
    told = documents(Deployer.HELMFILE)["helmfile.yaml"].objects[0]["releases"]
    assert [each["name"] for each in told if each.get("skipDeps")] == [POST_CHART]


def test_flux_looks_at_charts_in_git_by_their_version() -> None:
    """By revision every commit of the repository would be an upgrade, and run the hook."""
    (hook,) = documents(Deployer.FLUX)["004-gpu-operator-post/helmrelease.yaml"].objects
    assert hook["spec"]["chart"]["spec"]["reconcileStrategy"] == "ChartVersion"
    assert hook["spec"]["timeout"] == "3900s"
    assert hook["spec"]["dependsOn"] == [{"name": "gpu-operator"}, {"name": DRA_RELEASE}]


def test_flux_is_told_which_secret_has_the_login_and_nothing_of_the_login() -> None:
    """Put there by hand, it would be gone with the next look: Flux owns its sources, too."""
    plain, secret = (
        documents(Deployer.FLUX, repository_secret=name)["sources/seatrial-bundle.yaml"].objects[0]["spec"]
        for name in ("", "git-login")
    )
    assert "secretRef" not in plain
    assert secret["secretRef"] == {"name": "git-login"}


def test_argo_cd_gets_the_hook_from_one_source_and_leaves_restarts_of_plugins_alone() -> None:
    found = documents(Deployer.ARGOCD, path="clusters/east")
    (hook,) = found["004-gpu-operator-post/application.yaml"].objects
    (dra,) = found["003-nvidia-dra-driver-gpu/application.yaml"].objects
    assert hook["spec"]["source"]["path"] == "clusters/east/004-gpu-operator-post/chart"
    assert dra["spec"]["sources"][0]["helm"]["valueFiles"] == [
        "$values/clusters/east/003-nvidia-dra-driver-gpu/values.yaml"
    ]
    assert "RespectIgnoreDifferences=true" in dra["spec"]["syncPolicy"]["syncOptions"]
    assert [each["kind"] for each in dra["spec"]["ignoreDifferences"]] == ["DaemonSet"]


def test_a_registry_is_made_known_to_argo_cd_once_and_an_index_not_at_all() -> None:
    mirror = {path for path in documents(Deployer.ARGOCD, charts="oci://r.example.com/charts") if "repository" in path}
    assert mirror == {"001-network-operator/repository.yaml"}
    (secret,) = documents(Deployer.ARGOCD, charts="oci://r.example.com/charts")[mirror.pop()].objects
    assert secret["stringData"]["url"] == "r.example.com/charts"
    assert not any("repository" in path for path in documents(Deployer.ARGOCD))


def test_argo_cd_takes_what_the_api_server_fills_in_for_no_difference_and_still_sets_what_differs() -> None:
    """Without it the ClusterPolicy is never in sync, and Argo CD puts it back again and again."""
    (operator,) = documents(Deployer.ARGOCD)["002-gpu-operator/application.yaml"].objects
    (filled,) = operator["spec"]["ignoreDifferences"]
    assert filled["kind"] == "ClusterPolicy"
    assert ".spec.migManager.config" in filled["jqPathExpressions"][0]
    assert "RespectIgnoreDifferences=true" not in operator["spec"]["syncPolicy"]["syncOptions"]


def test_argo_cd_leaves_a_definition_alone_that_two_charts_bring() -> None:
    newer = an_entry(**{**FULL, "gpu_operator": "v26.7.0"})
    (found,) = release(a_stack(newer), "gpu-operator").ignored
    assert found["name"] == "computedomains.resource.nvidia.com"
    assert release(a_stack(), "gpu-operator").ignored == ()
