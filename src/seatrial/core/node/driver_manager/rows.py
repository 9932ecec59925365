"""When each line of the plan is due, by what is seen.

Law of this file: a row looks, and returns the next write, what it waits for, why it cannot be done, or None where there
is nothing (more) to do. Tests: tests/core/node/driver_manager/test_plan.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from shlex import quote
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.pods import PodOwner
from seatrial.core.node.driver_manager import labels
from seatrial.core.node.driver_manager.settings import Settings
from seatrial.core.node.driver_manager.values import (
    Cordon,
    Ending,
    Evict,
    ForgetDigest,
    PodSeen,
    Relabel,
    RemovePidFile,
    Seen,
    Step,
    Unbind,
    Uncordon,
    Unload,
    Unmount,
)
from seatrial.core.text.names import a_few, number_of

GONE_SECONDS: Final = 300.0
"""How long each operand may take to leave."""
REST_SECONDS: Final = 60.0
"""How long the pod waits to be taken away where the host brings the driver."""
LOOK_SECONDS: Final = 1.0
"""How often the host is looked at while something there is waited for: nothing tells of it."""

MODULES: Final = ("nvidia_modeset", "nvidia_uvm", "nvidia_peermem", "nvidia_fs", "nvidia_vgpu_vfio", "gdrdrv", "nvidia")
"""In the order in which they are unloaded."""
NOUVEAU: Final = "nouveau"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A pod that was not let go, and when to ask again."""

    uid: str
    why: str
    again_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that a row may look at."""

    seen: Seen
    settings: Settings
    now: Instant
    asked: tuple[str, ...] = ()
    """The pods that this run has asked to leave, by uid."""
    refused: tuple[Refusal, ...] = ()
    unloaded: tuple[str, ...] = ()
    """The modules that this run has unloaded."""
    may_drain: bool = False
    """Whether the node may be drained."""
    is_short: bool = False
    """What went before was not enough: the node is to be drained."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the node."""
        return dict(self.seen.node.labels)

    @property
    def may_evict(self) -> bool:
        """Whether pods that hold GPUs may be evicted; where there are claims, a drain later on would be too late."""
        if self.seen.node.is_superseded:
            return False
        return self.settings.is_evicting or (self.may_drain and bool(self.plugin_labels))

    @property
    def plugin_labels(self) -> tuple[str, ...]:
        """The labels that keep DRA plugins on this node: they are paused last."""
        custom = self.settings.custom_label
        is_plugins = any(pod.is_plugin and custom in pod.selects for pod in self.seen.pods) if custom else False
        wanted = (labels.DRA_DRIVER, *((custom,) if is_plugins else ()))
        return tuple(key for key in wanted if self.labels.get(key))

    @property
    def operand_labels(self) -> tuple[str, ...]:
        """The labels that are paused first."""
        custom = self.settings.custom_label
        plain = (each.label for each in labels.OPERANDS)
        return (*plain, *((custom,) if custom and custom not in self.plugin_labels else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """It cannot be done."""

    why: str
    ending: Ending = Ending.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Something has to happen first."""

    what: str
    """By which the time is measured: another one begins anew."""
    why: str
    seconds: float | None
    """How long at most; None is no limit."""
    again_at: Instant | None = None
    next_step: str = ""
    """What to do when it took too long."""
    late: Failure | None = None
    """How it ends then, where that is no failure to wait long enough."""


Found: TypeAlias = Step | Wait | Failure | None
Row: TypeAlias = Callable[[View], Found]

# ── operands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def pause_operands(view: View) -> Found:
    """Take the operands off the node, except the plugins by which claims are given back."""
    return _relabel(labels.changes(view.labels, view.operand_labels, labels.paused))


def operands_gone(view: View) -> Found:
    """Wait for the operands' pods, one operand after the other."""
    has = view.labels
    for each in labels.OPERANDS:
        if each.app and (each.wait is labels.Wait.ALWAYS or has.get(each.label)):
            here = (pod for pod in view.seen.pods if pod.namespace == view.settings.namespace and pod.app == each.app)
            if found := _gone(here, f"the pods of {each.name}"):
                return found
    for key in filter(has.get, (labels.CLIENT, view.settings.custom_label)):
        if key not in view.plugin_labels and (found := _gone(_daemons_by(view, key), f"the pods chosen by {key}")):
            return found
    return None


def pause_plugins(view: View) -> Found:
    """Take the DRA plugins off the node, last of all that talk to the driver."""
    return _relabel(labels.changes(view.labels, view.plugin_labels, labels.paused))


def plugins_gone(view: View) -> Found:
    """Wait for the DRA plugins' pods."""
    keys = view.plugin_labels
    home = view.settings.namespace if labels.DRA_DRIVER in keys else ""
    plugins = (pod for pod in view.seen.pods if pod.is_plugin)
    here = (pod for pod in plugins if pod.namespace == home or any(key in pod.selects for key in keys))
    return _gone(here, "the DRA plugin")


def give_back(view: View) -> Found:
    """Have every operand come back, whoever paused it."""
    keys = (*(each.label for each in labels.OPERANDS), labels.DRA_DRIVER, view.settings.custom_label)
    return _relabel(labels.changes(view.labels, keys, labels.given_back))


def mark_preinstalled(view: View) -> Found:
    """Say that the host brings the driver."""
    if view.labels.get(labels.DRIVER) == labels.PREINSTALLED:
        return None
    return Relabel(values=((labels.DRIVER, labels.PREINSTALLED),))


def rest(_: View) -> Found:
    """Wait until the pod is taken away; it is not wanted on this node any more."""
    return Wait(
        what="rest",
        why="waiting for this pod to be removed from the node, which has a driver of its own",
        seconds=REST_SECONDS,
        late=Failure(
            why="the host of this node brings its own NVIDIA driver, so none is loaded by a container. "
            f"The node's label {labels.DRIVER} now says {labels.PREINSTALLED}. To have a container bring it, remove "
            "the host's driver and the label.",
            ending=Ending.HOST_DRIVER,
        ),
    )


def _relabel(values: labels.Labels) -> Found:
    return Relabel(values=values) if values else None


def _gone(pods: Iterable[PodSeen], what: str) -> Wait | None:
    here = tuple(pods)
    if not here:
        return None
    names = a_few(pod.full_name for pod in here)
    return Wait(
        what=what,
        why=f"waiting for {what} to leave: {names}",
        seconds=GONE_SECONDS,
        next_step=f"See why with `kubectl describe pod -n {quote(here[0].namespace)} {quote(here[0].name)}`.",
    )


def _daemons_by(view: View, key: str) -> Iterable[PodSeen]:
    return (pod for pod in view.seen.pods if pod.is_bound and key in pod.selects)


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def cordon(view: View) -> Found:
    """Close the node, where pods are about to be evicted; one that is closed already is left as it is."""
    return _close(view) if view.may_evict else None


def evict(view: View) -> Found:
    """Have the pods leave that hold GPUs."""
    if not view.may_evict:
        return None
    holders = (pod for pod in view.seen.pods if pod.holds_gpu or pod.holds_claim)
    return _clear(view, holders, "pods that hold GPUs")


def drain(view: View) -> Found:
    """Have everybody leave, where that is allowed and what went before was not enough."""
    if not (view.is_short and view.may_drain):
        return None
    chosen = (pod for pod in view.seen.pods if view.settings.selector.matches(dict(pod.labels)))
    return _close(view) or _clear(view, chosen, "pods of this node")


def claims_gone(view: View) -> Found:
    """Never stop the DRA plugin under pods that need it to leave: they would stay in Terminating for ever."""
    holders = tuple(pod for pod in view.seen.pods if pod.holds_claim)
    if not view.plugin_labels or not holders:
        return None
    staying = tuple(pod for pod in holders if not pod.is_leaving)
    if not staying:
        return _gone(holders, "pods that hold GPU claims")
    return Failure(
        why=f"{_are(staying, 'pod')} still holding GPU claims ({_names(staying)}), and could not leave without the "
        f"DRA plugin, so the plugin stays. Delete them{_daemon_hint(staying)}."
    )


def _close(view: View) -> Found:
    return None if view.seen.node.is_cordoned else Cordon(version=view.seen.node.version, at=view.now)


def _clear(view: View, pods: Iterable[PodSeen], what: str) -> Found:
    """Ask every pod to leave that may be asked, then wait for them; DaemonSets' and static pods do not count."""
    going = tuple(pod for pod in pods if not pod.is_bound and not pod.is_finished)
    if (stuck := _stuck(view, going)) is not None:
        return stuck
    later = {each.uid: each for each in view.refused if each.again_at > view.now}
    for pod in going:
        if not pod.is_leaving and pod.uid not in view.asked and pod.uid not in later:
            return Evict(namespace=pod.namespace, name=pod.name, uid=pod.uid)
    if not going:
        return None
    why = "; ".join(each.why for pod in going if (each := later.get(pod.uid)) is not None)
    return Wait(
        what=what,
        why=f"waiting for {number_of(len(going), 'pod')} to leave: {_names(going)}" + (f" ({why})" if why else ""),
        seconds=view.settings.timeout_seconds or None,
        again_at=min((each.again_at for each in later.values()), default=None),
        next_step="Let them end, or raise DRAIN_TIMEOUT_SECONDS.",
    )


def _stuck(view: View, pods: tuple[PodSeen, ...]) -> Failure | None:
    """Pods that nobody may evict: what they hold would be lost, or they would not come back."""
    staying = tuple(pod for pod in pods if not pod.is_leaving)
    settings = view.settings
    lonely = () if settings.is_forceful else tuple(pod for pod in staying if pod.keeper is PodOwner.NOBODY)
    local = () if settings.takes_empty_dirs else tuple(pod for pod in staying if pod.has_empty_dir)
    if lonely:
        return Failure(
            why=f"{_are(lonely, 'pod')} without a controller and would not come back: {_names(lonely)}. "
            "Delete them, or set DRAIN_USE_FORCE to true."
        )
    if local:
        return Failure(
            why=f"{_are(local, 'pod')} keeping files in an emptyDir that would be lost: {_names(local)}. "
            "Delete them, or set DRAIN_DELETE_EMPTYDIR_DATA to true."
        )
    return None


def uncordon(view: View) -> Found:
    """Open the node, where it was us who closed it; anybody else's cordon stays."""
    node = view.seen.node
    return Uncordon(version=node.version) if node.is_cordon_ours else None


# ── the host ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def driver_free(view: View) -> Found:
    """See to it that nobody uses the driver, before the first module goes: half a driver is worse than an old one."""
    ours = {*MODULES, *view.unloaded}
    used = []
    for name in MODULES:
        module = view.seen.host.module(name)
        if module is None:
            continue
        others = tuple(each for each in module.holders if each not in ours)
        if others:
            used.append(f"{name} by {a_few(others)}")
        elif module.handle_count:
            used.append(f"{name} by {number_of(module.handle_count, 'open handle')}")
    if not used:
        return None
    holders = tuple(pod for pod in view.seen.pods if pod.is_bound and (pod.holds_gpu or pod.holds_claim))
    hint = f" {_names(holders)} may be among them{_daemon_hint(holders)}." if holders else ""
    return Failure(
        why=f"the driver is in use ({'; '.join(used)}), so nothing was unloaded.{hint} "
        "End what uses it: `fuser -v /dev/nvidia*` on the node says what that is."
    )


def forget(view: View) -> Found:
    """Before the first module goes: a driver of which a part is gone must never pass for the one that is wanted."""
    is_due = bool(view.seen.host.digest) and any(view.seen.host.module(name) for name in MODULES)
    return ForgetDigest() if is_due else None


def unload(view: View) -> Found:
    """Take the modules out of the kernel, those first that need others."""
    for name in MODULES:
        if view.seen.host.module(name) is None:
            continue
        if name in view.unloaded:
            return Failure(why=f"{name} was unloaded, and is loaded again. Find out what loads it on this node.")
        return Unload(module=name)
    return None


def unmount(view: View) -> Found:
    """Unmount the old driver's root, the deepest mounts first."""
    return Unmount(path=view.seen.host.mounts[0]) if view.seen.host.mounts else None


def remove_pid_file(view: View) -> Found:
    """Remove the pid file of the old driver container."""
    return RemovePidFile() if view.seen.host.has_pid_file else None


def unload_nouveau(view: View) -> Found:
    """Take the kernel's own driver out, which would keep the new one from the devices."""
    if view.seen.host.module(NOUVEAU) is None:
        return None
    if NOUVEAU in view.unloaded:
        return Failure(why="nouveau was unloaded, and is loaded again. Blacklist it on this node.")
    return Unload(module=NOUVEAU)


def unbind(view: View) -> Found:
    """Take devices from whichever driver still has them, vfio-pci mostly."""
    return Unbind(devices=view.seen.host.bound) if view.seen.host.bound else None


def await_mofed(view: View) -> Found:
    """Wait for the network driver, where GPUs are to talk to the network themselves."""
    host, settings = view.seen.host, view.settings
    is_there = host.has_host_mofed if settings.has_host_mofed else host.has_mofed
    if not settings.has_rdma or not host.has_mellanox or is_there:
        return None
    which = "the host's network driver (mlx5_core)" if settings.has_host_mofed else "the network operator's driver"
    return Wait(
        what="mofed",
        why=f"waiting for {which}: GPU_DIRECT_RDMA_ENABLED is true and there is a Mellanox card",
        seconds=None,
        again_at=view.now + LOOK_SECONDS,
    )


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _names(pods: Iterable[PodSeen]) -> str:
    return a_few(pod.full_name for pod in pods)


def _are(pods: tuple[PodSeen, ...], noun: str) -> str:
    return f"{number_of(len(pods), noun)} {'is' if len(pods) == 1 else 'are'}"


def _daemon_hint(pods: tuple[PodSeen, ...]) -> str:
    is_bound = any(pod.is_bound for pod in pods)
    return f'; a DaemonSet\'s leaves on its own where its nodeSelector has {labels.CLIENT}: "true"' if is_bound else ""
