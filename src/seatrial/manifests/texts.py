"""The manifests seatrial needs in a cluster, as text: its resource definition and the controller's rights.

Tests: tests/test_manifests.py, and tests/e2e run under exactly these rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources
from typing import Final

OPERATOR_NAMESPACE: Final = "gpu-operator"
DRA_NAMESPACE: Final = "nvidia-dra-driver-gpu"
GATES_NAMESPACE: Final = "seatrial-gates"
JOBS_NAMESPACE: Final = "seatrial-jobs"
MAINTENANCE_NAMESPACE: Final = "seatrial-maintenance"
HOLDER_NAMESPACE: Final = "seatrial-holder"
"""What the namespaces are called in the files; all are replaced by the names asked for."""
HOME: Final = "seatrial"
"""The controller's own, where gates run unless told otherwise."""

HOLDERS: Final = {"HelmRelease": "helm.toolkit.fluxcd.io", "Application": "argoproj.io"}
"""What says which release of an operator's chart is wanted, and its group."""

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")


def crd() -> str:
    """The CustomResourceDefinition of GPURollout."""
    return _read("crd.yaml")


def rbac(
    *,
    operator_namespace: str = OPERATOR_NAMESPACE,
    dra_namespaces: Iterable[str] = (),
    has_rerolls: bool = False,
    has_campaigns: bool = False,
    has_audits: bool = False,
    has_kueue: bool = False,
    has_releases: bool = False,
    has_network: bool = False,
    has_olm: bool = False,
    has_machine_pools: bool = False,
    has_gitops: bool = False,
    holders: Iterable[str] = (),
    gates_namespace: str = HOME,
    checkpoint_namespaces: Iterable[str] = (),
    maintenance_namespaces: Iterable[str] = (),
) -> str:
    """The controller's ServiceAccount and exactly the rights it needs. The chart carries the same files.

    The rights to delete pods are granted per namespace: where the GPU Operator runs, and where a DRA driver does. A
    name that cannot be a namespace's is a ValueError. To restart plugins that others made stale (`has_rerolls`) it
    has to see the DaemonSets of both; to bring releases of the DRA driver (`has_releases`) those of that.

    Rollouts with a canary (`has_campaigns`) need some more, of which the right to make Jobs is granted where gates run.
    To ask jobs to save their work it has to patch their pods, which is granted where they run (`checkpoint_namespaces`)
    and nowhere else. A controller that audits (`has_audits`) lists more than it watches. To suspend Workloads of Kueue
    (`has_kueue`) it has to see and patch them. One whose rollouts bring releases of operators (`has_releases`) sees the
    operators' Deployments, and may write each of the `holders`, such as HelmRelease/gpu-operator/gpu. Where OLM
    installs them (`has_olm`) it sees what OLM says, and may approve an InstallPlan. Those that move the network driver
    (`has_network`) need rights where the Network Operator runs.

    On OpenShift it may make, pause and delete MachineConfigPools (`has_machine_pools`); it may see what GitOps engines
    say (`has_gitops`), and ask a maintenance operator to empty nodes (`maintenance_namespaces`).
    """
    parts = [_in_namespace(_read("rbac.yaml"), OPERATOR_NAMESPACE, operator_namespace)]
    asking = _read("rbac-checkpoint.yaml")
    parts += [_in_namespace(asking, JOBS_NAMESPACE, namespace) for namespace in sorted(set(checkpoint_namespaces))]
    dra_namespaces = sorted(set(dra_namespaces))
    dra = _read("rbac-dra.yaml")
    parts += [_in_namespace(dra, DRA_NAMESPACE, namespace) for namespace in dra_namespaces]
    seen_in = {operator_namespace, *dra_namespaces} if has_rerolls else {*dra_namespaces} if has_releases else set()
    sets = _read("rbac-dra-sets.yaml")
    parts += [_in_namespace(sets, DRA_NAMESPACE, namespace) for namespace in sorted(seen_in)]
    campaign = _in_namespace(_read("rbac-campaign.yaml"), GATES_NAMESPACE, gates_namespace)
    parts += [campaign] if has_campaigns else []
    parts += [_read("rbac-audit.yaml")] if has_audits else []
    parts += [_read("rbac-kueue.yaml")] if has_kueue else []
    parts += [_read("rbac-releases.yaml")] if has_releases else []
    parts += [_read("rbac-olm.yaml")] if has_olm else []
    parts += [_read("rbac-network.yaml")] if has_network else []
    parts += [_switched("machine-pools")] if has_machine_pools else []
    parts += [_switched("gitops")] if has_gitops else []
    asking = _switched("maintenance")
    spaces = sorted(set(maintenance_namespaces))
    parts += [_in_namespace(asking, MAINTENANCE_NAMESPACE, namespace) for namespace in spaces]
    parts += [_holder(each) for each in dict.fromkeys(holders)]
    return "---\n".join(parts)


def _switched(part: str) -> str:
    """The objects of one switch."""
    found = _read("rbac-switched.yaml").split("---\n")
    return "---\n".join(each for each in found if f"  name: seatrial-controller-{part}\n" in each)


def _holder(written: str) -> str:
    """The right to write one HelmRelease or Application, given as KIND/NAMESPACE/NAME."""
    kind, namespace, name, *more = (*written.split("/"), "", "")
    if kind not in HOLDERS or any(more) or not _NAME.fullmatch(name):
        raise ValueError(f"{written!r} is not HelmRelease/NAMESPACE/NAME or Application/NAMESPACE/NAME.")
    words = {"HOLDER": f"{kind.lower()}-{name}", "GROUP": HOLDERS[kind], "PLURAL": f"{kind.lower()}s", "NAME": name}
    text = re.sub("HOLDER|GROUP|PLURAL|NAME", lambda each: words[each[0]], _switched("HOLDER"))
    return _in_namespace(text, HOLDER_NAMESPACE, namespace)


def pace(*, operator_namespace: str = OPERATOR_NAMESPACE) -> str:
    """The ServiceAccount of `seatrial pace` and exactly the rights it needs."""
    return _in_namespace(_read("rbac-pace.yaml"), OPERATOR_NAMESPACE, operator_namespace)


def driver_manager(*, operator_namespace: str = OPERATOR_NAMESPACE) -> str:
    """What `seatrial driver-manager` needs, for the account of the driver's pods."""
    text = _in_namespace(_read("rbac-driver-manager.yaml"), OPERATOR_NAMESPACE, operator_namespace)
    return text.replace(f"serviceaccount:{OPERATOR_NAMESPACE}:", f"serviceaccount:{operator_namespace}:")


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _in_namespace(text: str, written: str, wanted: str) -> str:
    if not _NAMESPACE.fullmatch(wanted):
        raise ValueError(f"{wanted!r} cannot be the name of a namespace.")
    return re.sub(rf"^(  namespace: ){re.escape(written)}$", rf"\g<1>{wanted}", text, flags=re.MULTILINE)
