"""The stories that a simulated and a real cluster have to tell alike: who sits where, what goes wrong, what people do.

    Scenario ──perform──▶ Theatre ──▶ one Trace per node

A theatre is somewhere to play: the simulator's World, or a fleet on a real control plane. Both get the same script, and
the rollout's spec word by word, read by the same adapter. Nodes have numbers here; each theatre has its own names.

Law of this file: nothing in a script depends on how long something takes. People act when nodes have come to a state or
are held for a reason, never after a while, and where two nodes would race for the last place in a budget, the script
waits until all of them want it: then the order of their names decides, and not whose label was written first.

Tests: tests/e2e/test_conformance.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from typing import Any, Final, Protocol, TypeAlias

from tests.e2e.promises import PATH

NODES: Final = 3
EVERYBODY: Final = tuple(range(NODES))


# ── what is told ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What happened to one node, as far as it must not depend on timing."""

    states: tuple[str, ...]
    """In the normal form, see `normal`."""
    evicted_count: int = 0
    """Pods whose eviction was granted."""
    restart_count: int = 0
    """Driver pods that were told to go."""
    is_plugin_renewed: bool = False
    """Whether a DRA plugin was told to go. How often is chance: kubelets write whole seconds, so a plugin that starts
    within the second of its driver cannot be told from an older one, and goes once more."""
    is_cordoned: bool = False
    """In the end."""
    runs_target: bool = False
    """Whether the driver pod is of the version that the rollout first asked for, in the end."""


def normal(states: Iterable[str]) -> tuple[str, ...]:
    """The states of a node in the form in which two runs can be compared.

    Dropped is what a story cannot help: where the node stood before it was first asked to move (an unknown node has no
    state, one of an earlier story is done), and the same state twice in a row (an admission handed back, a record
    repaired). Everything else is kept, and has to be the same.
    """
    merged = [state for state, _ in groupby(states)]
    required = PATH[1]
    return tuple(merged[merged.index(required) :]) if required in merged else ()


# ── what is played ───────────────────────────────────────────────────────────────────────────────────────────────────


class User(StrEnum):
    """Who sits on a node."""

    SERVICE = "service"
    """A pod that holds a GPU, of a Deployment."""
    BARE = "bare"
    """The same, recreated by nobody."""
    CLAIM = "claim"
    """A pod whose GPU came through a ResourceClaim."""
    JOB = "job"
    """The pod of a Job that holds a GPU, and runs until it is said to end."""
    GUARDED = "guarded"
    """A service whose disruption budget allows nothing."""
    WEB = "web"
    """A pod without a GPU."""
    CLIENT = "client"
    """A DaemonSet's pod that holds a GPU and leaves when its deploy label is paused; on every node."""


class Deed(StrEnum):
    """What people, kubelets and fate do to a node."""

    MODULE_BREAKS = "its next driver's module does not load"
    IMAGE_BREAKS = "its next driver's image cannot be pulled"
    MEND = "its driver is mended"
    LOSE_GPU = "one of its GPUs does not survive the next reload"
    REPAIR_GPU = "its GPUs are repaired"
    ACCEPT_LOSS = "somebody accepts that it offers less"
    CORDON = "an admin cordons it"
    SKIP = "an admin leaves it out"
    UNSKIP = "an admin lets it be upgraded"
    FALL_SILENT = "its kubelet falls silent"
    SPEAK_AGAIN = "its kubelet is back"
    RETRY = "somebody asks for another try"
    ASK = "somebody asks for an upgrade"
    END_JOB = "its job ends"
    FREE_BUDGET = "its disruption budget goes"
    REBOOT = "it reboots, and its driver manager opens it"
    LEAK = "its driver pod is deleted by hand"
    DELETE = "an admin deletes it, for good"


class Release(StrEnum):
    """What is put into the template of the driver's DaemonSet."""

    TARGET = "the driver that the rollout asks for"
    SAME_DIGEST = "something that changes nothing of what is loaded"
    TAKEN_BACK = "what was there before, which the rollout then asks for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrive:
    """Somebody sits down on nodes."""

    user: User
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Do:
    """Something is done to nodes."""

    deed: Deed
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """The driver's DaemonSet gets another template."""

    release: Release = Release.TARGET


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Somebody changes the rollout."""

    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """Go on when all of this is so; a state counts only if it was entered since people last began to act."""

    states: Mapping[int, str] = field(default_factory=dict)
    restarts: Mapping[int, int] = field(default_factory=dict)
    """Driver pods told to go since the story began."""
    held: Mapping[int, str] = field(default_factory=dict)
    """Codes of holds."""


Line: TypeAlias = Arrive | Do | Publish | Patch | Until


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One story, and what every node has to show of it in the end."""

    name: str
    script: tuple[Line, ...]
    ends: tuple[Trace, ...]
    spec: Mapping[str, Any] = field(default_factory=dict)


# ── where it is played ───────────────────────────────────────────────────────────────────────────────────────────────


class Theatre(Protocol):
    """Somewhere to play."""

    def arrive(self, user: User, number: int) -> None: ...

    def do(self, deed: Deed, number: int) -> None: ...

    def publish(self, release: Release) -> None: ...

    def patch(self, spec: Mapping[str, Any]) -> None: ...

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        """Let the loop run until it is so; an error when that takes too long or nothing moves any more."""
        ...

    def wait_held(self, wanted: Mapping[int, str]) -> None:
        """Let the loop run until these nodes are held by these codes."""
        ...

    def states(self, number: int) -> list[str]:
        """The states of a node so far, in order, without repeats."""
        ...

    def restart_count(self, number: int) -> int:
        """How many driver pods of a node were told to go so far."""
        ...

    def traces(self) -> tuple[Trace, ...]:
        """What happened, node by node."""
        ...


def perform(scenario: Scenario, theatre: Theatre) -> tuple[Trace, ...]:
    """Play a story to its end."""
    begun = dict.fromkeys(EVERYBODY, 0)
    is_acting = False
    for line in scenario.script:
        if isinstance(line, Until):
            is_acting = False
            _wait(line, theatre, begun)
            continue
        if not is_acting:
            is_acting, begun = True, {number: len(theatre.states(number)) for number in EVERYBODY}
        match line:
            case Arrive(user=user, nodes=nodes):
                for number in nodes:
                    theatre.arrive(user, number)
            case Do(deed=deed, nodes=nodes):
                for number in nodes:
                    theatre.do(deed, number)
            case Publish(release=release):
                theatre.publish(release)
            case Patch(spec=spec):
                theatre.patch(spec)
    return theatre.traces()


def _wait(line: Until, theatre: Theatre, begun: Mapping[int, int]) -> None:
    def is_so() -> bool:
        fresh = {number: theatre.states(number)[begun[number] :] for number in line.states}
        return all(fresh[number][-1:] == [state] for number, state in line.states.items()) and all(
            theatre.restart_count(number) >= count for number, count in line.restarts.items()
        )

    if line.states or line.restarts:
        theatre.wait(is_so, f"states {dict(line.states)}, restarts {dict(line.restarts)}")
    if line.held:
        theatre.wait_held(line.held)


# ── the stories ──────────────────────────────────────────────────────────────────────────────────────────────────────

_REQUIRED, _CORDON, _JOBS, _DELETION, _RESTART, _VALIDATION, _UNCORDON, _DONE = PATH[1:]
_FAILED: Final = "upgrade-failed"
_WAY: Final = PATH[1:]
UPGRADED: Final = Trace(states=_WAY, restart_count=1, is_plugin_renewed=True, runs_target=True)
MOVED: Final = replace(UPGRADED, evicted_count=1)
_RESTARTED: Final = (_REQUIRED, _RESTART, _VALIDATION, _UNCORDON, _DONE)


def _done(*nodes: int) -> Until:
    return Until(states=dict.fromkeys(nodes, _DONE))


SCENARIOS: Final = (
    Scenario(
        name="plain",
        script=(Publish(), _done(*EVERYBODY)),
        ends=(UPGRADED,) * NODES,
    ),
    Scenario(
        name="users-leave",
        spec={"podDeletion": {"force": True}},
        script=(
            Arrive(user=User.CLIENT, nodes=EVERYBODY),
            Arrive(user=User.SERVICE, nodes=(0,)),
            Arrive(user=User.WEB, nodes=(0,)),
            Arrive(user=User.CLAIM, nodes=(1,)),
            Arrive(user=User.BARE, nodes=(2,)),
            Publish(),
            _done(*EVERYBODY),
        ),
        ends=(MOVED,) * NODES,
    ),
    Scenario(
        name="kept-back",
        script=(
            Do(deed=Deed.CORDON, nodes=(0,)),
            Do(deed=Deed.SKIP, nodes=(1,)),
            Do(deed=Deed.FALL_SILENT, nodes=(2,)),
            Publish(),
            Until(states={0: _DONE}, held={1: "skipped", 2: "node-not-ready"}),
            Do(deed=Deed.UNSKIP, nodes=(1,)),
            Do(deed=Deed.SPEAK_AGAIN, nodes=(2,)),
            _done(1, 2),
        ),
        ends=(replace(UPGRADED, is_cordoned=True), UPGRADED, UPGRADED),
    ),
    Scenario(
        name="paused",
        spec={"paused": True},
        script=(
            Arrive(user=User.SERVICE, nodes=(1,)),
            Publish(),
            Until(held=dict.fromkeys(EVERYBODY, "paused")),
            Patch(spec={"paused": False}),
            _done(*EVERYBODY),
        ),
        ends=(UPGRADED, MOVED, UPGRADED),
    ),
    Scenario(
        name="module-does-not-load",
        script=(
            Do(deed=Deed.MODULE_BREAKS, nodes=(1,)),
            Publish(),
            Until(states={0: _DONE, 1: _FAILED, 2: _DONE}, held={1: "failed"}),
            # Retried first: a driver that is mended under a failed node might get well by itself.
            Do(deed=Deed.RETRY, nodes=(1,)),
            Until(restarts={1: 2}),
            Do(deed=Deed.MEND, nodes=(1,)),
            _done(1),
        ),
        ends=(
            UPGRADED,
            replace(UPGRADED, states=(*_WAY[:5], _FAILED, *_WAY), restart_count=2),
            UPGRADED,
        ),
    ),
    Scenario(
        name="budget-allows-nothing",
        spec={"podDeletion": {"timeoutSeconds": 2}},
        script=(
            Arrive(user=User.GUARDED, nodes=(0,)),
            Publish(),
            Until(states={0: _FAILED, 1: _DONE, 2: _DONE}),
            Do(deed=Deed.FREE_BUDGET, nodes=(0,)),
            # An eviction that was turned down is asked for again after five seconds, also by the next attempt.
            Patch(spec={"podDeletion": {"timeoutSeconds": 60}}),
            Do(deed=Deed.RETRY, nodes=(0,)),
            _done(0),
        ),
        ends=(replace(MOVED, states=(*_WAY[:4], _FAILED, *_WAY)), UPGRADED, UPGRADED),
    ),
    Scenario(
        name="drain",
        spec={"drain": {"enable": True, "force": True}, "podDeletion": {"timeoutSeconds": 2}},
        script=(
            # Whom nobody recreates is not evicted without force, and drained at once; the web server goes with it.
            Arrive(user=User.BARE, nodes=(0,)),
            Arrive(user=User.WEB, nodes=(0, 1)),
            # Evicted in the ordinary way: no drain, so the web server beside it stays.
            Arrive(user=User.SERVICE, nodes=(1,)),
            # What a budget turned down until the deadline is tried once more by the drain.
            Arrive(user=User.GUARDED, nodes=(2,)),
            Publish(),
            Until(states={0: _DONE, 1: _DONE, 2: "drain-required"}),
            Do(deed=Deed.FREE_BUDGET, nodes=(2,)),
            _done(2),
        ),
        ends=(
            replace(UPGRADED, states=(*_WAY[:4], "drain-required", *_WAY[4:]), evicted_count=2),
            MOVED,
            replace(MOVED, states=(*_WAY[:4], "drain-required", *_WAY[4:])),
        ),
    ),
    Scenario(
        name="job-ends",
        spec={"waitForCompletion": {"podSelector": "batch.kubernetes.io/job-name"}},
        script=(
            Arrive(user=User.JOB, nodes=(0,)),
            Arrive(user=User.SERVICE, nodes=(0, 1)),
            Publish(),
            Until(states={1: _DONE, 2: _DONE}, held={0: "jobs-running"}),
            Do(deed=Deed.END_JOB, nodes=(0,)),
            _done(0),
        ),
        ends=(MOVED, MOVED, UPGRADED),
    ),
    Scenario(
        name="gpu-lost",
        script=(
            Do(deed=Deed.LOSE_GPU, nodes=(0, 1)),
            Publish(),
            Until(states={2: _DONE}, held={0: "offer-reduced", 1: "offer-reduced"}),
            Do(deed=Deed.REPAIR_GPU, nodes=(0,)),
            Do(deed=Deed.ACCEPT_LOSS, nodes=(1,)),
            _done(0, 1),
        ),
        ends=(UPGRADED,) * NODES,
    ),
    Scenario(
        name="taken-back",
        # Nobody starts at first, so that all wait when two may.
        spec={"limits": {"maxUnavailable": 0, "maxParallelUpgrades": 2}},
        script=(
            Do(deed=Deed.IMAGE_BREAKS, nodes=(0,)),
            Arrive(user=User.GUARDED, nodes=(1,)),
            Publish(),
            Until(states=dict.fromkeys(EVERYBODY, _REQUIRED)),
            Patch(spec={"limits": {"maxUnavailable": "100%"}}),
            Until(
                states={0: _RESTART, 1: _DELETION},
                restarts={0: 1},
                held={0: "driver-starting", 2: "parallel-limit"},
            ),
            Publish(release=Release.TAKEN_BACK),
            _done(1, 2),
            Do(deed=Deed.MEND, nodes=(0,)),
            _done(0),
        ),
        ends=(
            Trace(states=_WAY, restart_count=2, is_plugin_renewed=True),
            Trace(states=(*_WAY[:4], _UNCORDON, _DONE)),
            Trace(states=(_REQUIRED, _DONE)),
        ),
    ),
    Scenario(
        name="restarted-and-asked-for",
        script=(
            Publish(),
            _done(*EVERYBODY),
            # Nothing that is loaded changes, so the driver is restarted under its users.
            Arrive(user=User.SERVICE, nodes=(0, 1)),
            Publish(release=Release.SAME_DIGEST),
            _done(*EVERYBODY),
            # And once more the whole way, because somebody wants it.
            Do(deed=Deed.ASK, nodes=(1,)),
            _done(1),
        ),
        ends=(
            replace(UPGRADED, states=(*_WAY, *_RESTARTED), restart_count=2),
            replace(MOVED, states=(*_WAY, *_RESTARTED, *_WAY), restart_count=3),
            replace(UPGRADED, states=(*_WAY, *_RESTARTED), restart_count=2),
        ),
    ),
    Scenario(
        name="deleted-under-way",
        # At one node at a time, a deleted node that still counted would keep the others from ever starting.
        spec={"limits": {"maxUnavailable": 1, "maxParallelUpgrades": 1}},
        script=(
            Do(deed=Deed.IMAGE_BREAKS, nodes=(0,)),
            Publish(),
            Until(states={0: _RESTART, 1: _REQUIRED, 2: _REQUIRED}, restarts={0: 1}, held={0: "driver-starting"}),
            Do(deed=Deed.DELETE, nodes=(0,)),
            _done(1, 2),
        ),
        ends=(Trace(states=_WAY[:5], restart_count=1, is_cordoned=True, runs_target=True), UPGRADED, UPGRADED),
    ),
    Scenario(
        name="rebooted-while-emptied",
        script=(
            Arrive(user=User.GUARDED, nodes=(0,)),
            Publish(),
            Until(states={0: _DELETION, 1: _DONE, 2: _DONE}),
            Do(deed=Deed.REBOOT, nodes=(0,)),
            # Another attempt, from the beginning: the reboot is nothing that the node failed by.
            Until(states={0: _DELETION}),
            Do(deed=Deed.FREE_BUDGET, nodes=(0,)),
            _done(0),
        ),
        ends=(replace(MOVED, states=(*_WAY[:4], *_WAY)), UPGRADED, UPGRADED),
    ),
    Scenario(
        name="leaked-onto-a-driver-that-crashes",
        spec={"limits": {"maxUnavailable": 0}, "driverTimeoutSeconds": 5},
        script=(
            Do(deed=Deed.MODULE_BREAKS, nodes=(1,)),
            Publish(),
            Until(states=dict.fromkeys(EVERYBODY, _REQUIRED)),
            Do(deed=Deed.LEAK, nodes=(1,)),
            # It may start by itself; when its time is up it is visited like the others, and gets a fresh pod.
            Until(restarts={1: 1}, held={1: "driver-not-ready"}),
            Patch(spec={"limits": {"maxUnavailable": "100%"}}),
            Until(states={0: _DONE, 1: _FAILED, 2: _DONE}, held={1: "failed"}),
            Patch(spec={"driverTimeoutSeconds": 600}),
            Do(deed=Deed.RETRY, nodes=(1,)),
            Until(states={1: _RESTART}, restarts={1: 3}),
            Do(deed=Deed.MEND, nodes=(1,)),
            _done(1),
        ),
        ends=(UPGRADED, replace(UPGRADED, states=(*_WAY[:5], _FAILED, *_WAY), restart_count=3), UPGRADED),
    ),
)
