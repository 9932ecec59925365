"""The releases of a matrix entry: chart, version, namespace, values, order and time, the same for every deployer.

    network-operator ─▶ gpu-operator ─▶ nvidia-dra-driver-gpu ─▶ gpu-operator-post

The hook comes last: its Role is put into the namespace of the DRA driver, which has to be there. Without a DRA driver
there is nothing for it to do, and it is left out.

Law of this file: a value that is not the chart's own default has its reason beside it, in the file that people read.
Tests: tests/core/compat/test_bundles.py
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from shlex import quote
from typing import Any, Final

from seatrial.core.compat.bundles.values import (
    DRA_RELEASE,
    POST_CHART,
    Asked,
    BundleRefused,
    Chart,
    Release,
    Stack,
    laid_over,
)
from seatrial.core.compat.matrix import COMPONENTS, Component, Entry, Value
from seatrial.core.compat.versions import DraDriverVersion, OperatorVersion

NGC: Final = "https://helm.ngc.nvidia.com/nvidia"
DRA_HOME: Final = "oci://registry.k8s.io/dra-driver-nvidia/charts"
"""Where the DRA driver's chart is since 0.4.0, when it went to kubernetes-sigs and got another name."""
OLD_DRA_CHART: Final = "nvidia-dra-driver-gpu"
NEW_DRA_CHART: Final = "dra-driver-nvidia-gpu"

OPERATOR_NAMESPACE: Final = "gpu-operator"
OLM_NAMESPACE: Final = "nvidia-gpu-operator"
"""Where OLM puts the GPU Operator on OpenShift."""
NETWORK_NAMESPACE: Final = "nvidia-network-operator"
DRA_NAMESPACE: Final = "nvidia-dra-driver-gpu"

INSTALL_SECONDS: Final = 900
"""For a release without a hook that waits for nodes. Deployers give five minutes, less than its images may take."""
DEADLINE_SECONDS: Final = 3600
DEADLINE_MAX_SECONDS: Final = 86_400
"""What the chart of the hook takes at most."""
FIRST_SECONDS: Final = 600
NODE_SECONDS: Final = 480
"""The hook's deadline: ten minutes, and eight for each turn of nodes."""
SLACK_SECONDS: Final = 300
"""A deployer waits longer than the hook's Job may take: else it gives up while the Job still works."""

MODULE_TYPES: Final = ("auto", "open", "proprietary")
_MODULE_TYPE_SINCE: Final = (25, 3)
"""Before v25.3.0 the chart has useOpenKernelModules instead."""
_OWN_COMPUTE_DOMAINS_SINCE: Final = (26, 7)
"""From v26.7.0 on the operator's chart brings a definition of ComputeDomains that differs from the DRA driver's."""
TARGET: Final = "seatrial.dev/target"
"""On plugin pods: for which stack they were started."""

_BROUGHT: Final = (
    Component.GPU_OPERATOR,
    Component.GPU_DRIVER,
    Component.DRA_DRIVER,
    Component.NETWORK_OPERATOR,
)


def stack_of(entry: Entry, asked: Asked, *, had_old_dra: bool = False) -> Stack:
    """Everything that goes into the bundle of an entry.

    `had_old_dra` says that another entry of the matrix has a DRA driver of the older chart.
    """
    is_olm = entry.stack[Component.OPENSHIFT] is not None
    releases = [
        *([] if is_olm else _network_operator(entry, asked)),
        *([] if is_olm else _gpu_operator(entry, asked)),
        *_dra_driver(entry, asked, had_old_dra=had_old_dra),
        *_post(entry, asked, is_olm=is_olm),
    ]
    if not releases:
        raise BundleRefused(_nothing(entry, is_olm=is_olm))
    numbered = tuple(replace(each, number=index) for index, each in enumerate(releases, start=1))
    _refuse_unknown_releases(asked, numbered)
    brought = _brought(numbered, is_olm=is_olm)
    return Stack(
        entry=entry.key or entry.role.value,
        components={each.value: value.text for each in COMPONENTS if (value := entry.stack[each]) is not None},
        releases=tuple(_in_order(each, numbered, asked) for each in numbered),
        left_out=tuple(each.value for each in COMPONENTS if entry.stack[each] is not None and each not in brought),
        notes=tuple(_notes(entry, asked, numbered, is_olm=is_olm)),
    )


def deadline_seconds(asked: Asked) -> int:
    """How long the hook may wait: an hour, or longer where so many nodes one after the other take longer."""
    turns = ceil(asked.node_count / max(asked.parallel, 1))
    seconds = max(DEADLINE_SECONDS, FIRST_SECONDS + NODE_SECONDS * turns)
    if seconds > DEADLINE_MAX_SECONDS and not asked.is_on_delete:
        raise BundleRefused(
            f"{asked.node_count} nodes, {max(asked.parallel, 1)} at a time, take longer than the day that a Job of the "
            "hook may last. Let more of them go at a time (--parallel), or let a controller of seatrial move them "
            "(--on-delete)."
        )
    return min(seconds, DEADLINE_MAX_SECONDS)


# ── each release ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _network_operator(entry: Entry, asked: Asked) -> list[Release]:
    version = _operator_version(entry, Component.NETWORK_OPERATOR)
    if version is None:
        return []
    chart = _chart(asked, "network-operator", version.text.removeprefix("v"), NGC)
    return [
        Release(
            name="network-operator",
            namespace=NETWORK_NAMESPACE,
            chart=chart,
            values={"nfd": {"enabled": False}},
            why=(
                "nfd: node-feature-discovery comes with the GPU Operator; two of them would write the same labels.",
                "Which DOCA-OFED runs is said by a NicClusterPolicy of yours, and not by this chart.",
            ),
            timeout_seconds=INSTALL_SECONDS,
        )
    ]


def _gpu_operator(entry: Entry, asked: Asked) -> list[Release]:
    version = _operator_version(entry, Component.GPU_OPERATOR)
    if version is None:
        return []
    values, why = _operator_values(entry, asked, version)
    has_dra = entry.stack[Component.DRA_DRIVER] is not None
    brings_its_own = has_dra and (version.year, version.month) >= _OWN_COMPUTE_DOMAINS_SINCE
    return [
        Release(
            name="gpu-operator",
            namespace=OPERATOR_NAMESPACE,
            chart=_chart(asked, "gpu-operator", f"v{version.text.removeprefix('v')}", NGC),
            values=values,
            why=tuple(why),
            timeout_seconds=INSTALL_SECONDS,
            after=("network-operator",),
            # operator.upgradeCRD: the chart's own comment asks for it.
            skips_validation=True,
            ignored=(_COMPUTE_DOMAINS,) if brings_its_own else (),
            filled=(_MIG_CONFIG,),
        )
    ]


_COMPUTE_DOMAINS: Final = {
    "group": "apiextensions.k8s.io",
    "kind": "CustomResourceDefinition",
    "name": "computedomains.resource.nvidia.com",
    "jsonPointers": ["/spec"],
}


_MIG_CONFIG: Final = {
    "group": "nvidia.com",
    "kind": "ClusterPolicy",
    "name": "cluster-policy",
    # By jq and not by a pointer, so that a name of somebody's own is seen.
    "jqPathExpressions": [
        '.spec.migManager.config | select(.name == null or .name == "default-mig-parted-config") | .name'
    ],
}


def _operator_values(entry: Entry, asked: Asked, version: OperatorVersion) -> tuple[dict[str, Any], list[str]]:
    driver: dict[str, Any] = {}
    why = []
    if (wanted := _read(entry, Component.GPU_DRIVER)) is not None:
        driver["version"] = wanted.text
    module = entry.stack.hardware.kernel_module
    if module in MODULE_TYPES and (version.year, version.month) >= _MODULE_TYPE_SINCE:
        driver["kernelModuleType"] = module
    if asked.is_on_delete:
        driver["upgradePolicy"] = {"autoUpgrade": False}
        driver["manager"] = {"env": [{"name": name, "value": "false"} for name in _EVICTING]}
        why += [
            "upgradePolicy: a controller of seatrial moves the nodes, and only one may.",
            "manager: without autoUpgrade the driver manager would evict pods itself, and uncordon nodes before",
            "their driver is validated.",
            "daemonsets: no operand restarts on its own; nodes get theirs when they are moved.",
        ]
    elif asked.parallel:
        driver["upgradePolicy"] = {"autoUpgrade": True, "maxParallelUpgrades": asked.parallel}
        why.append("upgradePolicy: the hook's deadline was worked out with so many nodes at a time.")
    values: dict[str, Any] = {"driver": driver} if driver else {}
    if asked.is_on_delete:
        values["daemonsets"] = {"updateStrategy": "OnDelete"}
    if asked.allocates_gpus:
        values["devicePlugin"] = {"enabled": False}
        why.append("devicePlugin: the DRA driver allocates the GPUs; two would give the same GPU away twice.")
    return values, why


_EVICTING: Final = ("ENABLE_GPU_POD_EVICTION", "ENABLE_AUTO_DRAIN")


def _dra_driver(entry: Entry, asked: Asked, *, had_old_dra: bool) -> list[Release]:
    version = _dra_version(entry)
    if version is None:
        return []
    is_new = is_new_chart(version)
    keeps = _keeps_names(version, asked, had_old_dra=had_old_dra)
    name = NEW_DRA_CHART if is_new else OLD_DRA_CHART
    values, why = _dra_values(entry, asked, keeps=keeps)
    return [
        Release(
            name=DRA_RELEASE,
            namespace=DRA_NAMESPACE,
            chart=_chart(asked, name, version.text.removeprefix("v"), DRA_HOME if is_new else NGC),
            values=values,
            why=tuple(why),
            timeout_seconds=INSTALL_SECONDS,
            after=("gpu-operator",),
            ignored=(_restarted(f"{OLD_DRA_CHART if keeps else name}-kubelet-plugin"),),
            leaves_definitions=True,
        )
    ]


def is_new_chart(version: DraDriverVersion) -> bool:
    """Whether it is of the chart that has another name: its versions began anew, at 0.4.0."""
    return version.numbers[:1] == (0,)


def _keeps_names(version: DraDriverVersion, asked: Asked, *, had_old_dra: bool) -> bool:
    if not is_new_chart(version):
        return False
    if asked.keeps_dra_names is None and had_old_dra:
        raise BundleRefused(
            f"The DRA driver {version.text} is of a chart with another name, and another entry of the matrix has one "
            f"of the older chart. Where the older one is installed, its names have to stay (--dra-names old): else two "
            "plugins fight for one socket. Where it never was, say --dra-names new."
        )
    return bool(asked.keeps_dra_names)


def _dra_values(entry: Entry, asked: Asked, *, keeps: bool) -> tuple[dict[str, Any], list[str]]:
    # Without the override the chart refuses to allocate GPUs, and by default it wants to.
    gpus: dict[str, Any] = {"resources": {"gpus": {"enabled": asked.allocates_gpus}}}
    values: dict[str, Any] = {"nvidiaDriverRoot": "/run/nvidia/driver", **gpus}
    why = ["nvidiaDriverRoot: where the operator's driver container puts the driver; the chart's own default is /."]
    if asked.allocates_gpus:
        values["gpuResourcesEnabledOverride"] = True
        why.append("gpuResourcesEnabledOverride: the chart refuses to allocate GPUs without it.")
    else:
        why.append("resources: compute domains only; the device plugin keeps allocating GPUs.")
    if keeps:
        values["nameOverride"] = OLD_DRA_CHART
        why.append("nameOverride: the objects keep the names of the older chart, so that there are no two plugins.")
    if asked.is_on_delete:
        values["kubeletPlugin"] = {
            "updateStrategy": {"type": "OnDelete", "rollingUpdate": None},
            "podAnnotations": {TARGET: _target(entry)},
        }
        why += [
            "updateStrategy: the controller restarts each node's plugin when that node has settled; by the chart's own",
            "default all plugins restart at once. null takes the chart's default away.",
            f"podAnnotations: {TARGET} says for which stack a plugin was started.",
        ]
    return values, why


def _target(entry: Entry) -> str:
    parts = (Component.GPU_OPERATOR, Component.GPU_DRIVER)
    return "_".join(value.text for each in parts if (value := entry.stack[each]) is not None) or "unknown"


def _restarted(daemon_set: str) -> dict[str, Any]:
    """A restart that somebody asked for with kubectl stays; ours changes nothing that is in Git."""
    return {
        "group": "apps",
        "kind": "DaemonSet",
        "name": daemon_set,
        "jsonPointers": ["/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt"],
    }


def _post(entry: Entry, asked: Asked, *, is_olm: bool) -> list[Release]:
    if _dra_version(entry) is None:
        return []
    namespace = OLM_NAMESPACE if is_olm else OPERATOR_NAMESPACE
    deadline = deadline_seconds(asked)
    local = asked.local_chart(POST_CHART)
    if local is None:
        raise BundleRefused(f"The chart {POST_CHART}, which comes with seatrial, is missing. Reinstall seatrial.")
    values = {
        "operatorNamespace": namespace,
        "draNamespaces": [DRA_NAMESPACE],
        **({"image": _image(asked.image)} if asked.image else {}),
        "target": _hook_target(entry, asked, is_olm=is_olm),
        "mode": "request" if asked.is_on_delete else "wait",
        "deadlineSeconds": deadline,
    }
    why = ["target: what changes here changes an object that is no hook, so that every deployer sees something to do."]
    if asked.is_on_delete:
        why.append("mode: rollouts move the drivers, when they may; the controller restarts the plugins then.")
    return [
        Release(
            name=POST_CHART,
            namespace=namespace,
            chart=Chart(name=POST_CHART, version=post_version(local.version, local.digest)),
            values=values,
            why=tuple(why),
            timeout_seconds=deadline + SLACK_SECONDS,
            after=("gpu-operator", DRA_RELEASE),
        )
    ]


def post_version(version: str, digest: str) -> str:
    """The version of our chart in a bundle: with every change of the chart, and with no other commit, a new one.

    Flux looks at a chart in Git again only when its version changes. The letter is there because a number with a nought
    before it is no part of a version.
    """
    return f"{version}-h{digest[:8]}"


def _hook_target(entry: Entry, asked: Asked, *, is_olm: bool) -> dict[str, str]:
    parts = (Component.GPU_OPERATOR, Component.GPU_DRIVER, Component.DRA_DRIVER)
    said = {each: value.text for each in parts if (value := entry.stack[each]) is not None}
    extra = ", ".join(f"{each.value} {text}" for each, text in said.items())
    operator = said.get(Component.GPU_OPERATOR, "")
    if asked.is_on_delete:
        # A rollout takes the driver further than this file says; a controller that waits for it would judge no node.
        return {"driver": "", "chart": "", "extra": extra}
    # OLM has no chart, so nothing bears its label.
    chart = f"gpu-operator-v{operator.removeprefix('v')}" if operator and not is_olm else ""
    return {"driver": said.get(Component.GPU_DRIVER, ""), "chart": chart, "extra": extra}


def _image(text: str) -> dict[str, str]:
    """An image as the chart's values have it: repository with tag, or with digest."""
    name, _, digest = text.partition("@")
    if digest:
        return {"repository": name, "digest": digest}
    head, slash, last = name.rpartition("/")
    repository, _, tag = last.partition(":")
    named = {"repository": f"{head}{slash}{repository}"}
    return {**named, "tag": tag} if tag else named


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _chart(asked: Asked, name: str, version: str, home: str) -> Chart:
    local = asked.local_chart(name)
    if local is not None:
        if local.version.removeprefix("v") != version.removeprefix("v"):
            raise BundleRefused(
                f"The chart {name} of --charts is of version {local.version}, and the entry says {version}. Put the "
                "chart of that version there, or correct the entry."
            )
        return Chart(name=name, version=local.version)
    if asked.is_offline:
        raise BundleRefused(
            f"--charts has no chart {name}. Put its folder or its archive there, as `helm pull {quote(name)} "
            f"--version {quote(version)} --repo {quote(home)}` fetches it."
        )
    return Chart(name=name, version=version, repository=asked.charts or home)


def _in_order(release: Release, all_of_them: tuple[Release, ...], asked: Asked) -> Release:
    """Only after what is there, and with somebody's own values on top."""
    there = {each.name for each in all_of_them}
    return replace(
        release,
        after=tuple(each for each in release.after if each in there),
        values=laid_over(release.values, asked.own.get(release.name, {})),
    )


def _refuse_unknown_releases(asked: Asked, releases: tuple[Release, ...]) -> None:
    names = [each.name for each in releases]
    unknown = sorted(set(asked.own) - set(names))
    if unknown:
        raise BundleRefused(f"--values names {unknown[0]}, and this bundle has {', '.join(names)}.")


def _brought(releases: tuple[Release, ...], *, is_olm: bool) -> set[Component]:
    names = {each.name for each in releases}
    told = {
        Component.NETWORK_OPERATOR: "network-operator" in names,
        Component.GPU_OPERATOR: "gpu-operator" in names,
        Component.GPU_DRIVER: "gpu-operator" in names and not is_olm,
        Component.DRA_DRIVER: DRA_RELEASE in names,
    }
    return {each for each in _BROUGHT if told[each]}


def _notes(entry: Entry, asked: Asked, releases: tuple[Release, ...], *, is_olm: bool) -> list[str]:
    notes = []
    if is_olm:
        notes.append(
            "On OpenShift OLM brings the operators, which no bundle does; have them there, in "
            f"`{OLM_NAMESPACE}`, before you deploy this."
        )
    if asked.is_on_delete:
        notes.append(
            "Nothing restarts on its own: drivers move with `seatrial rollout`, and DRA plugins when a controller is "
            "told to (`draReroll: true` in its chart). Without one the hook fails where nodes have not settled."
        )
    version = _dra_version(entry)
    if version is not None and is_new_chart(version) and asked.keeps_dra_names:
        notes.append(
            "With `nameOverride` the DRA chart writes one label twice, which `kustomize` refuses: no `postRenderers`."
        )
    if not asked.image and any(each.name == POST_CHART for each in releases):
        notes.append("The hook's image is `seatrial` of no registry: name yours with `--image`.")
    return notes


def _nothing(entry: Entry, *, is_olm: bool) -> str:
    named = entry.key or entry.role.value
    if is_olm:
        return (
            f"There is nothing to bundle in {named}: on OpenShift OLM brings the operators, and the entry has no "
            "dra_driver."
        )
    return f"There is nothing to bundle in {named}: it has no gpu_operator, dra_driver or network_operator."


# ── versions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(entry: Entry, component: Component) -> Value | None:
    value = entry.stack[component]
    if value is not None and value.version is None:
        raise BundleRefused(f"{value.span}: {component.value} {value.text!r} cannot be read: {value.problem}")
    return value


def _operator_version(entry: Entry, component: Component) -> OperatorVersion | None:
    value = _read(entry, component)
    return value.version if value is not None and isinstance(value.version, OperatorVersion) else None


def _dra_version(entry: Entry) -> DraDriverVersion | None:
    value = _read(entry, Component.DRA_DRIVER)
    if value is None or not isinstance(value.version, DraDriverVersion):
        return None
    if value.version.is_managed:
        raise BundleRefused(
            f"{value.span}: dra_driver is managed: a GPUCluster of the GPU Operator brings it, and no bundle does yet. "
            "Name the version of its own chart, or leave it out."
        )
    return value.version
