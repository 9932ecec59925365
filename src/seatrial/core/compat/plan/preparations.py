"""What must be done before a step, each with the fact that asks for it: a table of small functions.

A preparation is named only where a fact or a rule makes it necessary for exactly this change; general good practice is
not listed. `fact` is a path in the knowledge base, or the rule that asks.

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.compat.facts import Facts, GpuOperatorRelease
from seatrial.core.compat.matrix import Component, Group, Stack, Value
from seatrial.core.compat.plan import candidates, parts
from seatrial.core.compat.plan.values import Preparation
from seatrial.core.compat.versions import LinedVersion, OpenShiftVersion, OperatorVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A step to be prepared."""

    old: Stack
    new: Stack
    facts: Facts

    def touches(self, part: Component) -> bool:
        return part in self.old.differing(self.new)

    @property
    def touches_kernel(self) -> bool:
        """Whether the kernel changes: a new OpenShift brings a new one, even where only its stream is named.

        Kubernetes alone brings none: its nodes keep their system.
        """
        return any(map(self.touches, (Component.KERNEL, Component.OPENSHIFT)))

    @property
    def is_on_openshift(self) -> bool:
        return self.new[Component.OPENSHIFT] is not None


def before(group: Group, move: Move) -> tuple[Preparation, ...]:
    """Everything to be done before a step of this group."""
    found = (ask(move) for ask in PREPARATIONS.get(group, ()))
    return tuple(preparation for preparation in found if preparation is not None)


# ── platform ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _choose_z_stream(move: Move) -> Preparation | None:
    value = move.new[Component.OPENSHIFT]
    if value is None or not candidates.is_open(value):
        return None
    bad = [str(row.version) for row in move.facts.bad_openshifts if row.version.line == _line(value)]
    return Preparation(
        code="choose-z-stream",
        sentence=f"Choose the z-stream of {_line(value)}: the newest one that `oc adm upgrade` offers"
        + (f", but not {' or '.join(bad)} (known bad)" if bad else "")
        + "; then check the stack with it.",
        fact="openshift.known_bad_z_streams",
    )


def _read_kernel(move: Move) -> Preparation | None:
    value = move.new[Component.KERNEL]
    if value is None or not candidates.is_open(value):
        return None
    return Preparation(
        code="read-kernel",
        sentence="Read the exact kernel build from the release payload (`oc adm release info`): only its stream is "
        f"known here ({value.text}).",
        fact="openshift.z_stream_kernel",
    )


def _pause_pool(move: Move) -> Preparation | None:
    here, there = move.old[Component.OPENSHIFT], move.new[Component.OPENSHIFT]
    if here is None or there is None:
        return None
    return Preparation(
        code="pause-machine-config-pool",
        sentence="Pause the MachineConfigPool of the GPU nodes; upgrade the control plane and the other pools; then "
        f"one GPU node in a pool of its own; unpause when it has passed.{_extended(here, there)}",
        fact="openshift.upgrade_path",
    )


def _extended(here: Value, there: Value) -> str:
    """From one even minor to the next the nodes may wait; the control plane still passes through the odd one."""
    match here.version, there.version:
        case OpenShiftVersion(minor=old), OpenShiftVersion(major=major, minor=new) if old % 2 == 0 and new == old + 1:
            return (
                f" It may stay paused until {major}.{new + 1}, so that nodes reboot once, if no step in between "
                "needs them."
            )
        case _:
            return ""


def _check_upgradeable(move: Move) -> Preparation | None:
    here, there = move.old[Component.OPENSHIFT], move.new[Component.OPENSHIFT]
    if here is None or there is None or _line(here) == _line(there):
        return None
    return Preparation(
        code="check-upgradeable",
        sentence="Run `oc adm upgrade`: no minor starts while it shows Upgradeable=False. Clear what it names. Where "
        "it asks for an admin acknowledgement, do what that is about, then give it (ConfigMap admin-acks in "
        "openshift-config).",
        fact="openshift.upgrade_path",
    )


def _check_driver_toolkit(move: Move) -> Preparation | None:
    has_driver = move.new[Component.GPU_DRIVER] is not None or move.new[Component.GPU_OPERATOR] is not None
    if not move.is_on_openshift or not has_driver:
        return None
    return Preparation(
        code="check-driver-toolkit",
        sentence="Make sure that a Driver Toolkit image for the new RHCOS build exists: without it no driver is built, "
        "and nodes carry openshift.driver-toolkit.rhcos-image-missing.",
        fact="rule driver-kernel",
    )


def _rebuild_mofed(move: Move) -> Preparation | None:
    mofed, kernel = move.new[Component.MOFED] or move.new[Component.NETWORK_OPERATOR], move.new[Component.KERNEL]
    if mofed is None or not move.touches_kernel:
        return None
    return Preparation(
        code="rebuild-mofed",
        sentence=f"Rebuild {parts.named(mofed)} for {kernel.text if kernel else 'the new kernel'} and "
        "verify on one node that it loads: every kernel change needs a build of its own.",
        fact="mofed_kernel.container_build",
    )


def _clear_inventory(move: Move) -> Preparation | None:
    operator = move.new[Component.NETWORK_OPERATOR]
    if operator is None or not move.is_on_openshift or _line(operator) not in move.facts.stale_inventory:
        return None
    return Preparation(
        code="clear-mofed-inventory",
        sentence="Remove /var/opt/mofed-container/inventory on each host after its kernel changed: the container of "
        f"Network Operator {_line(operator)} does not start otherwise.",
        fact="mofed_kernel.stale_inventory",
    )


# ── GPU ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _choose_gpu_channel(move: Move) -> Preparation | None:
    return _choose_channel(Component.GPU_OPERATOR, move)


def _choose_kernel_module(move: Move) -> Preparation | None:
    here, there = (_gpu_release(stack, move.facts) for stack in (move.old, move.new))
    if here is None or there is None or here.kernel_module == there.kernel_module or move.new.hardware.kernel_module:
        return None
    return Preparation(
        code="choose-kernel-module",
        sentence=f"Set driver.kernelModuleType yourself: its default {_default(there, 'is')}, and "
        f"{_default(here, 'was')}.",
        fact="gpu_operator.releases.*.kernel_module_default",
    )


def _default(release: GpuOperatorRelease, verb: str) -> str:
    """A release that somebody added need not say its default."""
    if not release.kernel_module:
        return f"{verb} not known for {release.version}"
    return f"{verb} {release.kernel_module} in {release.version}"


def _pin_driver_manager(move: Move) -> Preparation | None:
    driver = move.new[Component.GPU_DRIVER]
    is_driver_kept = driver is not None and not move.touches(Component.GPU_DRIVER)
    if driver is None or not is_driver_kept or not move.touches(Component.GPU_OPERATOR):
        return None
    here, there = (_gpu_release(stack, move.facts) for stack in (move.old, move.new))
    if here and there and here.driver_manager and here.driver_manager == there.driver_manager:
        return None
    return Preparation(
        code="pin-driver-manager",
        sentence="Pin driver.manager.repository, image and version to what runs now, and hold automatic driver "
        "upgrades: another driver manager changes the driver pods, and "
        f"{driver.text} would be reloaded everywhere although it stays.",
        fact="gpu_operator.releases.*.operands.driver_manager",
    )


def _scope_driver(move: Move) -> Preparation | None:
    if not move.touches(Component.GPU_DRIVER):
        return None
    return Preparation(
        code="scope-driver",
        sentence="Hold the fleet back before the version is published: autoUpgrade off, or "
        "nvidia.com/gpu-driver-upgrade.skip=true on every node but the canary. ClusterPolicy cannot select nodes: "
        "the new driver would roll over all of them.",
        fact="driver.cluster_policy_scope",
    )


# ── network, firmware ─────────────────────────────────────────────────────────────────────────────────────────────────


def _choose_network_channel(move: Move) -> Preparation | None:
    return _choose_channel(Component.NETWORK_OPERATOR, move)


def _keep_mofed(move: Move) -> Preparation | None:
    mofed = move.new[Component.MOFED]
    if mofed is None or move.touches(Component.MOFED) or not move.touches(Component.NETWORK_OPERATOR):
        return None
    return Preparation(
        code="keep-mofed",
        sentence=f"Keep spec.ofedDriver.version of NicClusterPolicy at {mofed.text}: the new release supports it too, "
        "and its default would reload the network driver everywhere.",
        fact="network_operator.releases.*.ofed",
    )


def _leave_whereabouts(move: Move) -> Preparation | None:
    here, there = (stack[Component.NETWORK_OPERATOR] for stack in (move.old, move.new))
    if here is None or there is None or not _is_before(here, (25, 10)) or _is_before(there, (25, 10)):
        return None
    return Preparation(
        code="leave-whereabouts",
        sentence="If NicClusterPolicy uses Whereabouts, migrate to NV-IPAM first: it is gone from 25.10 on.",
        fact="known_issues (network_operator >= v25.10.0)",
    )


def _check_card_brand(_move: Move) -> Preparation | None:
    return Preparation(
        code="check-card-brand",
        sentence="Check the PSID of the cards: published versions are for NVIDIA-branded ones, OEM cards have others.",
        fact="nic_firmware.oem_caveat",
    )


Ask: TypeAlias = Callable[[Move], Preparation | None]

PREPARATIONS: Final[Mapping[Group, tuple[Ask, ...]]] = {
    Group.PLATFORM: (
        _check_upgradeable,
        _choose_z_stream,
        _read_kernel,
        _pause_pool,
        _check_driver_toolkit,
        _rebuild_mofed,
        _clear_inventory,
    ),
    Group.GPU: (_choose_gpu_channel, _choose_kernel_module, _pin_driver_manager, _scope_driver),
    Group.NETWORK: (_choose_network_channel, _keep_mofed, _leave_whereabouts),
    Group.FIRMWARE: (_check_card_brand,),
}


def _choose_channel(leader: Component, move: Move) -> Preparation | None:
    """On OpenShift the catalogue does not enforce the upgrade path: every bundle may replace every older one."""
    here, there = move.old[leader], move.new[leader]
    if here is None or there is None or not move.is_on_openshift or _line(here) == _line(there):
        return None
    return Preparation(
        code="choose-channel",
        sentence=f"Subscribe to channel v{_line(there)} with manual approval: the stable channel with automatic "
        "approval jumps over release lines.",
        fact="rule upgrade-path",
    )


def _gpu_release(stack: Stack, facts: Facts) -> GpuOperatorRelease | None:
    value = stack[Component.GPU_OPERATOR]
    version = None if value is None else value.version
    return facts.gpu_operator(version) if isinstance(version, OperatorVersion) else None


def _line(value: Value) -> str:
    return value.version.line if isinstance(value.version, LinedVersion) else value.text


def _is_before(value: Value, line: tuple[int, int]) -> bool:
    return value.version is not None and tuple(value.version.rank[:2]) < line
