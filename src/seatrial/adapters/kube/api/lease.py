"""Leadership by a coordination.k8s.io/v1 Lease, kept by a thread of its own so that a busy main loop cannot lose it.

The thread has its own event loop, client and connection. It writes with a compare-and-set (the resourceVersion in a
PUT) and reads by LIST only. Two clocks never meet: how old another's lease is, is measured from the moment *we* saw the
record change; the timestamps inside are for people.

    PUT begins ──► is_leader() until 10 s after that ──┐ 5 s in which nobody acts ┌──► others may take it, 15 s after
    t              (the answer may come late or not)   t+10                      t+15   they saw our last write

`is_leader()` is a fence, not a memory: it compares the clock with the last renewal that was confirmed, so a frozen
thread, a frozen process or a cut network ends the leadership without anybody telling it. Ask it before each write.

A renewal is begun every 2 s, and may take 6: one that is slow, lost or turned down leaves time for the next before the
deadline. A conflict says that somebody wrote the Lease, which is not yet that somebody took it: a label, or a renewal
of ours whose answer was lost. So it is read again, and what it says then counts at once; nobody may lawfully have it
before our own deadline is over. Whatever else ends the thread's work is told, and it begins anew.
Tests: tests/adapters/kube/test_lease.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, cast

import msgspec

from seatrial import supervision
from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors
from seatrial.core.base.values import dataclass, replace
from seatrial.core.text import foreign

_GROUP_VERSION: Final = "coordination.k8s.io/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long everything may take; the order of the numbers is what makes two leaders impossible."""

    lease_seconds: int = 15
    deadline_seconds: float = 10.0
    renew_seconds: float = 2.0
    retry_seconds: float = 2.0
    request_seconds: float = 6.0

    def __post_init__(self) -> None:
        if not self.request_seconds < self.deadline_seconds < self.lease_seconds:
            raise ValueError("a lease needs request_seconds < deadline_seconds < lease_seconds")
        if not self.renew_seconds < self.deadline_seconds:
            raise ValueError("a lease needs renew_seconds < deadline_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """Who leads, as far as we have seen."""

    holder: str  # empty: nobody
    is_us: bool
    seconds_left: float  # until the holder's claim lapses, unless renewed
    transition_count: int
    last_error: errors.ClusterError | None


class _Lease(msgspec.Struct, frozen=True):
    # Kept whole: a PUT replaces the object, and the labels and owners that others wrote must survive it.
    metadata: dict[str, Any]
    spec: dict[str, Any] | None = None

    def holder(self) -> str:
        return str((self.spec or {}).get("holderIdentity") or "")

    def transition_count(self) -> int:
        return int((self.spec or {}).get("leaseTransitions") or 0)

    def seconds(self, otherwise: int) -> int:
        return int((self.spec or {}).get("leaseDurationSeconds") or otherwise)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sighting:
    lease: _Lease
    lapses_at: float  # monotonic, counted from when we first saw this state of it
    transition_count: int


class Election:
    """A candidate for one Lease; `identity` must be unique to this process."""

    def __init__(
        self,
        config: configs.Config,
        *,
        namespace: str,
        name: str,
        identity: str,
        user_agent: str,
        timing: Timing | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        tell: supervision.Tell = lambda _: None,
        notes: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`tell` is called by the thread. `notes` are annotations of the Lease while it is ours; an empty one goes."""
        self._config = config
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._user_agent = user_agent
        self._timing = timing or Timing()
        self._monotonic = monotonic
        self._wall_clock = wall_clock
        self._tell = tell
        self._notes = notes
        self._thread = threading.Thread(target=self._work, name=f"lease-{name}", daemon=True)
        self._renewed = threading.Condition()
        self._stop = threading.Event()
        self._wake: Callable[[], None] | None = None
        # Written by the thread, read by everybody; each is replaced whole.
        self._leader_until = float("-inf")
        self._seen: _Sighting | None = None
        self._last_error: errors.ClusterError | None = None
        self._is_contested = False

    def start(self) -> None:
        """Begin to stand for election."""
        self._thread.start()

    def is_leader(self) -> bool:
        """Tell whether a write begun now is ours to make."""
        return self._monotonic() < self._leader_until and not self._stop.is_set()

    def wait_until_leader(self, timeout_seconds: float) -> bool:
        """Block the calling thread until we lead; False when the time is over."""
        with self._renewed:
            return self._renewed.wait_for(self.is_leader, timeout_seconds)

    def standing(self) -> Leadership:
        """Say who leads and for how long, for the sentence that explains why we wait."""
        seen = self._seen
        if seen is None or not seen.lease.holder():
            count = 0 if seen is None else seen.transition_count
            return Leadership(
                holder="", is_us=False, seconds_left=0.0, transition_count=count, last_error=self._last_error
            )
        return Leadership(
            holder=foreign.line(seen.lease.holder()),
            is_us=seen.lease.holder() == self._identity,
            seconds_left=max(0.0, seen.lapses_at - self._monotonic()),
            transition_count=seen.transition_count,
            last_error=self._last_error,
        )

    def release(self) -> None:
        """Stop leading, give the lease up and end the thread; blocks for two requests at most."""
        self._stop.set()  # from here on is_leader() is False, also while a renewal is under way
        wake = self._wake
        if wake is not None:
            wake()
        if self._thread.is_alive():
            self._thread.join(2 * self._timing.request_seconds + 1.0)

    # --- the thread ----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        patience = supervision.Patience()
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                asyncio.run(self._stand())
            except Exception as err:  # noqa: BLE001  a thread that dies would stand by, or lead, in silence
                self._wake = None  # its loop is closed: whoever releases us during the pause could not wake it
                why, seconds = supervision.told(err), patience.pause(time.monotonic() - began)
                self._last_error = errors.ClusterUnavailable(
                    f"lease {self._namespace}/{self._name} is not attended to: {why}", "it restarts on its own"
                )
                self._tell(supervision.Ending(task="lease", why=why, pause_seconds=seconds))
                self._stop.wait(seconds)
            finally:
                self._wake = None

    async def _stand(self) -> None:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: cast("None", loop.call_soon_threadsafe(woken.set))
        seconds = self._timing.request_seconds
        async with clients.Client(
            self._config, user_agent=self._user_agent, request_timeout_seconds=seconds, connections_max=2
        ) as client:
            while not self._stop.is_set():
                delay = await self._round(client)
                with contextlib.suppress(TimeoutError):  # the usual case: nobody woke us, the next round is due
                    await asyncio.wait_for(woken.wait(), delay)
            await self._give_up(client)

    async def _round(self, client: clients.Client) -> float:
        """Claim or renew once, and say when to come again."""
        began = self._monotonic()
        try:
            # One limit around everything, so that a slow credential plugin cannot outlive the deadline either.
            async with asyncio.timeout(self._timing.request_seconds):
                is_ours = await self._claim(client)
        except errors.ClusterError as err:
            self._last_error = err
            if isinstance(err, errors.NotFound):
                # Somebody took it away, and the next to come makes it anew: that may be another, at once.
                self._seen, self._leader_until = None, float("-inf")
            if isinstance(err, errors.Conflict):
                return self._contested()
            return self._timing.retry_seconds
        except TimeoutError:
            self._last_error = errors.ClusterUnavailable(
                f"lease {self._namespace}/{self._name} could not be renewed at {self._config.where()} within "
                f"{self._timing.request_seconds:g} s",
                "check the network and the load of the API server",
            )
            return self._timing.retry_seconds
        self._last_error, self._is_contested = None, False
        if not is_ours:
            self._leader_until = float("-inf")
            return self._timing.retry_seconds
        self._leader_until = began + self._timing.deadline_seconds
        with self._renewed:
            self._renewed.notify_all()
        return max(0.0, self._timing.renew_seconds - (self._monotonic() - began))

    def _contested(self) -> float:
        """Somebody else wrote it: look again at once, and what is seen then decides. The second time in a row waits."""
        self._seen = None
        was, self._is_contested = self._is_contested, True
        return self._timing.retry_seconds if was else 0.0

    async def _claim(self, client: clients.Client) -> bool:
        seen = self._seen
        if seen is None or seen.lease.holder() != self._identity:
            seen = await self._look(client)
        if seen is None:
            body = self._body(None)
            self._remember(await client.create(self._path(), body, _Lease))
            return True
        if seen.lease.holder() not in {"", self._identity} and self._monotonic() < seen.lapses_at:
            return False
        path = clients.api_path(_GROUP_VERSION, "leases", namespace=self._namespace, name=self._name)
        self._remember(await client.replace(path, self._body(seen.lease), _Lease))
        return True

    async def _look(self, client: clients.Client) -> _Sighting | None:
        listing = await client.list(self._path(), _Lease, field_selector=f"metadata.name={self._name}")
        if not listing.items:
            self._seen = None
            return None
        lease = listing.items[0]
        if self._seen is None or self._seen.lease.spec != lease.spec:
            self._remember(lease)
        else:  # the claim is the same; keep its age, but take the version that a PUT must carry
            self._seen = replace(self._seen, lease=lease)
        return self._seen

    def _remember(self, lease: _Lease) -> None:
        # What cannot be read fails here, in the thread, and not whoever asks how it stands.
        self._seen = _Sighting(
            lease=lease,
            lapses_at=self._monotonic() + lease.seconds(self._timing.lease_seconds),
            transition_count=lease.transition_count(),
        )

    async def _give_up(self, client: clients.Client) -> None:
        seen = self._seen
        if seen is None or seen.lease.holder() != self._identity:
            return
        # One second instead of none: the API refuses a lease of zero seconds, and an empty holder is free at once.
        spec = {**(seen.lease.spec or {}), "holderIdentity": "", "leaseDurationSeconds": 1}
        body = {"apiVersion": _GROUP_VERSION, "kind": "Lease", "metadata": seen.lease.metadata, "spec": spec}
        path = clients.api_path(_GROUP_VERSION, "leases", namespace=self._namespace, name=self._name)
        try:
            async with asyncio.timeout(self._timing.request_seconds):
                self._remember(await client.replace(path, body, _Lease))
        except errors.ClusterError as err:
            self._last_error = err  # not given up by us then: it lapses by itself after lease_seconds
        except TimeoutError:
            return  # as above

    def _path(self) -> str:
        return clients.api_path(_GROUP_VERSION, "leases", namespace=self._namespace)

    def _body(self, current: _Lease | None) -> dict[str, Any]:
        now = f"{datetime.fromtimestamp(self._wall_clock(), UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        spec = dict((current.spec if current is not None else None) or {})
        is_new_holder = current is None or current.holder() != self._identity
        if is_new_holder:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = 0 if current is None else current.transition_count() + 1
        spec |= {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._timing.lease_seconds,
            "renewTime": now,
        }
        new: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
        metadata = new if current is None else dict(current.metadata)
        if self._notes:
            noted = {**(metadata.get("annotations") or {}), **self._notes}
            kept = {key: text for key, text in noted.items() if text or key not in self._notes}
            metadata |= {"annotations": kept} if kept or "annotations" in metadata else {}
        return {"apiVersion": _GROUP_VERSION, "kind": "Lease", "metadata": metadata, "spec": spec}
