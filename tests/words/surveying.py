"""What an audit finds and what the doctor knows, in words: one case for each kind of finding, and every known failure.

Findings that rules make (RULED) say what the rules say, with versions of the day; their words are the rules' own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from seatrial.adapters.files.facts import failures as failures_file
from seatrial.core.model.seen.nodes import Loaded
from seatrial.core.survey.adoption.traces import Traces
from seatrial.core.survey.audit.findings import AuditFinding, FindingKind
from seatrial.core.survey.audit.objects import DaemonSetObject, Objects, PoolObject, SubscriptionObject
from seatrial.core.survey.sources import Source
from tests.core.survey.surveyed import (
    DRIVER,
    NAMESPACE,
    STARTED_AT,
    a_cluster,
    a_node,
    a_pod,
    an_entry,
    forbidden,
    found,
    pods_of,
)
from tests.core.survey.test_audit_findings import OLD, unpulled, with_driver

RULED: Final = frozenset(
    {FindingKind.INCOMPATIBLE, FindingKind.EXPIRED_SUPPORT, FindingKind.WARNED, FindingKind.UNPROVEN}
)


def cases() -> Iterator[AuditFinding]:
    """Findings of every other kind."""
    yield from found(with_driver(DRIVER, OLD, OLD), an_entry(driver=DRIVER))
    for objects in clusters():
        yield from (each for each in found(objects) if each.kind not in RULED)
    yield from found(a_cluster(), an_entry(cuda="13.0"))


def clusters() -> Iterator[Objects]:
    yield with_driver(DRIVER, OLD, DRIVER)
    yield unpulled()
    yield a_cluster(a_node("gpu-1", nvidia_state="drain-required"))
    yield a_cluster(a_node("gpu-1", our_state="upgrade-failed"))
    yield a_cluster(a_node("gpu-1", loaded=Loaded(version=OLD, seen_at=STARTED_AT + 5)))
    yield a_cluster(a_node("gpu-1", loaded=Loaded(version=OLD, seen_at=STARTED_AT - 5)))
    image = "nvcr.io/nvidia/mellanox/doca-driver:25.07-0.9.7.0-0"
    built = a_pod("mofed-container", image=image, kernel="5.15.0-130-generic")
    yield a_cluster(a_node(), pods=(*pods_of("gpu-1"), built))
    yield a_cluster(a_node(is_cordoned=True, traces=Traces(cordoned_by="kubectl-cordon")))
    for count in range(3):
        yield a_cluster(pools=(PoolObject(name="gpu", is_paused=True, machine_count=count),))
    driver = DaemonSetObject(namespace=NAMESPACE, name="driver", images=(("nvidia-driver-ctr", "r/driver:580.126.09"),))
    owned = tuple(replace(pod, owner="driver") if "driver" in pod.images[0][0] else pod for pod in a_cluster().pods)
    yield a_cluster(daemon_sets=(replace(driver, strategy="OnDelete"),), pods=owned)
    yield a_cluster(daemon_sets=(replace(driver, strategy="RollingUpdate"),))
    package = "gpu-operator-certified"
    followed = SubscriptionObject(namespace="x", name="s", package=package, channel="stable", is_automatic=True)
    yield a_cluster(subscriptions=(followed,))
    yield a_cluster(pods=(), gaps=forbidden(Source.PODS))
    for count in (1, 2):
        bare = [a_node(f"gpu-{number}", shows_gpu=False, loaded=None) for number in range(count)]
        yield a_cluster(*bare, pods=())


def audited() -> Iterator[str]:
    """Each finding: its kind, what was found, and what to do."""
    yield from (f"{each.kind}: {each.message} | {each.next_step}" for each in cases())


def doctored() -> Iterator[str]:
    """Each failure that the doctor knows: its title, and what it means."""
    yield from (f"{each.name}: {each.title}. {each.means}" for each in failures_file.known())
