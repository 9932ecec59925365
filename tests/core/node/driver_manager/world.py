"""A node and its host that answer to a driver manager's steps, as a kubelet, a DaemonSet controller and a kernel do.

Time passes only where something is waited for. What must never happen is asserted at the moment when it would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import assert_never

from seatrial.core.model.seen.pods import PodOwner
from seatrial.core.node.driver_manager import labels, plan
from seatrial.core.node.driver_manager.rows import MODULES
from seatrial.core.node.driver_manager.settings import Settings
from seatrial.core.node.driver_manager.values import (
    Await,
    Cordon,
    End,
    Evict,
    ForgetDigest,
    HostSeen,
    Module,
    NodeState,
    PodSeen,
    Relabel,
    RemovePidFile,
    Seen,
    Step,
    Turned,
    Unbind,
    Uncordon,
    Unload,
    Unmount,
)

SPACE = "gpu-operator"
STEPS_MAX = 500
SETTINGS = Settings(node="n1")
LABELS = {
    f"{labels.PREFIX}driver": "true",
    f"{labels.PREFIX}operator-validator": "true",
    f"{labels.PREFIX}container-toolkit": "true",
    f"{labels.PREFIX}device-plugin": "true",
    f"{labels.PREFIX}dcgm": "false",
    f"{labels.PREFIX}mig-manager": "all-balanced",
    f"{labels.PREFIX}client": "true",
    "example.com/custom": "true",
    "kubernetes.io/hostname": "n1",
}
DRIVER = (
    Module(name="nvidia_modeset"),
    Module(name="nvidia_uvm"),
    Module(name="nvidia", use_count=2, holders=("nvidia_modeset", "nvidia_uvm")),
)


def a_daemon(name: str, label: str, *, namespace: str = SPACE, **more: object) -> PodSeen:
    """A pod of a DaemonSet that chooses nodes by a label."""
    pod = PodSeen(
        namespace=namespace,
        name=name,
        uid=name,
        labels=(("app", name),),
        selects=(label,),
        keeper=PodOwner.DAEMON_SET,
    )
    return replace(pod, **more)  # type: ignore[arg-type]


def a_job(name: str = "train", **more: object) -> PodSeen:
    """A pod of somebody's that holds a GPU."""
    return replace(PodSeen(namespace="team", name=name, uid=name, holds_gpu=True), **more)  # type: ignore[arg-type]


DAEMONS = (
    a_daemon("nvidia-operator-validator", f"{labels.PREFIX}operator-validator"),
    a_daemon("nvidia-container-toolkit-daemonset", f"{labels.PREFIX}container-toolkit"),
    a_daemon("nvidia-device-plugin-daemonset", f"{labels.PREFIX}device-plugin"),
    a_daemon("monitor", labels.CLIENT, namespace="team"),
    a_daemon("custom", "example.com/custom", namespace="team"),
    a_daemon("nvidia-driver-daemonset", f"{labels.PREFIX}driver"),
)
PLUGIN = a_daemon("nvidia-dra-driver-kubelet-plugin", labels.DRA_DRIVER, is_plugin=True)


class Killed(Exception):  # noqa: N818
    """SIGKILL."""


@dataclass(kw_only=True)
class World:
    """One node and its host."""

    settings: Settings = SETTINGS
    labels: dict[str, str] = field(default_factory=LABELS.copy)
    is_cordoned: bool = False
    is_cordon_ours: bool = False
    is_superseded: bool = False
    daemons: tuple[PodSeen, ...] = DAEMONS
    pods: dict[str, PodSeen] = field(default_factory=dict)
    host: HostSeen = field(
        default_factory=lambda: HostSeen(
            modules=DRIVER,
            digest="old",
            mounts=("/run/nvidia/driver/dev", "/run/nvidia/driver"),
            has_pid_file=True,
            bound=("0000:17:00.0",),
        )
    )
    host_driver: str = ""
    user: str = ""
    """The pod that has a device open without having asked for one; its handle goes with it."""
    turns_down: Callable[[Step], Turned | None] = lambda _: None
    now: float = 0.0
    done: list[Step] = field(default_factory=list)
    waited: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.is_admins = self.is_cordoned and not self.is_cordon_ours
        self._follow()

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def look(self) -> Seen:
        node = NodeState(
            name="n1",
            version=str(len(self.done)),
            labels=tuple(self.labels.items()),
            is_cordoned=self.is_cordoned,
            is_cordon_ours=self.is_cordon_ours,
            is_superseded=self.is_superseded,
        )
        return Seen(node=node, pods=tuple(self.pods.values()), host=self.host)

    def _follow(self) -> None:
        """What a DaemonSet controller does: its pod is where its label says true, and nowhere else."""
        for daemon in self.daemons:
            is_wanted = all(self.labels.get(key) in ("true", "all-balanced") for key in daemon.selects)
            if is_wanted and daemon.uid not in self.pods:
                self.pods[daemon.uid] = daemon
            elif not is_wanted and daemon.uid in self.pods:
                self.pods[daemon.uid] = replace(self.pods[daemon.uid], is_leaving=True)

    def _pass_time(self, until: float | None) -> None:
        """Who leaves is gone; who holds a claim only while the plugin is there to take it back."""
        has_plugin = any(pod.is_plugin and not pod.is_leaving for pod in self.pods.values())
        left = {uid for uid, pod in self.pods.items() if pod.is_leaving and (has_plugin or not pod.holds_claim)}
        self.pods = {uid: pod for uid, pod in self.pods.items() if uid not in left}
        if self.user in left:
            modules = (replace(each, use_count=len(each.holders)) for each in self.host.modules)
            self.host = replace(self.host, modules=tuple(modules))
        if left:
            self.now += 1.0
        else:
            assert until is not None, "waits for ever for what does not come"
            self.now = until
        self._follow()

    # ── acting ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, *, kill_after: int | None = None) -> End:
        """One run from its beginning to its end, or until it is killed behind so many writes."""
        state = plan.begin(self.look(), self.settings, host_driver=self.host_driver)
        written = 0
        for _ in range(STEPS_MAX):
            state, step = plan.decide(state, self.look(), self.settings, self.now)
            if isinstance(step, End):
                return step
            if isinstance(step, Await):
                self.waited.append(step.why)
                self._pass_time(step.until)
                continue
            turned = self.turns_down(step)
            if turned is None:
                self._do(step)
                self.done.append(step)
                written += 1
                if kill_after is not None and written >= kill_after:
                    raise Killed
            state = plan.noted(state, step, turned, self.now)
        raise AssertionError("it does not end")

    def _do(self, step: Step) -> None:
        host = self.host
        match step:
            case Relabel(values=values):
                assert not (self._holders() and labels.MARK in dict(values).get(labels.DRA_DRIVER, "")) or (
                    host.digest == self.settings.digest or not host.is_loaded
                ), "the plugin goes before those that need it"
                self.labels |= dict(values)
                self._follow()
            case Cordon(version=version):
                assert version == str(len(self.done))
                assert not self.is_cordoned
                self.is_cordoned = self.is_cordon_ours = True
            case Uncordon():
                assert self.is_cordon_ours, "somebody else's cordon"
                self.is_cordoned = self.is_cordon_ours = False
            case Evict(uid=uid):
                assert not self.pods[uid].is_bound, "a DaemonSet's pod would be back at once"
                self.pods[uid] = replace(self.pods[uid], is_leaving=True)
            case ForgetDigest():
                self.host = replace(host, digest="")
            case Unload(module=name):
                self._unload(name)
            case Unmount(path=path):
                assert path == host.mounts[0]
                self.host = replace(host, mounts=host.mounts[1:])
            case RemovePidFile():
                self.host = replace(host, has_pid_file=False)
            case Unbind(devices=devices):
                self.host = replace(host, bound=tuple(each for each in host.bound if each not in devices))
            case Await() | End():
                raise AssertionError("no write")
            case _:
                assert_never(step)

    def _unload(self, name: str) -> None:
        host = self.host
        if name in MODULES:
            assert not host.digest, "half a driver would pass for a whole one"
            assert not self._holders(), "a driver is torn from under somebody"
        module = host.module(name)
        assert module is not None
        assert not module.holders, "the kernel refuses"
        kept = (each for each in host.modules if each.name != name)
        less = (replace(each, holders=tuple(other for other in each.holders if other != name)) for each in kept)
        self.host = replace(host, modules=tuple(replace(each, use_count=len(each.holders)) for each in less))

    def _holders(self) -> list[str]:
        return [pod.name for pod in self.pods.values() if (pod.holds_gpu or pod.holds_claim) and not pod.is_bound]
