"""What a driver manager would meet, told before anything is written."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.model.seen.pods import PodOwner
from seatrial.core.node.driver_manager import labels
from seatrial.core.node.driver_manager.preflight import Found, Verdict, checks
from seatrial.core.node.driver_manager.settings import Settings
from seatrial.core.node.driver_manager.values import HostSeen
from tests.core.node.driver_manager.world import LABELS, SETTINGS, World, a_job


def told(
    world: World, settings: Settings = SETTINGS, *, host_driver: str = "", denied: tuple[str, ...] = ()
) -> dict[str, tuple[Verdict, str]]:
    found = Found(seen=world.look(), host_driver=host_driver, denied=denied)
    return {each.what: (each.verdict, each.text) for each in checks(found, settings)}


def test_on_a_node_that_is_ready_nothing_fails_and_who_would_go_is_named() -> None:
    found = told(World(pods={"train": a_job()}))
    assert {verdict for verdict, _ in found.values()} == {Verdict.OK}
    assert found["pods"][1] == "1 pod would be evicted: team/train"
    assert found["driver"][1] == "another one is loaded, and would be unloaded"


def test_missing_rights_are_named_with_how_to_get_them() -> None:
    verdict, text = told(World(), denied=("patch nodes",))["rights"]
    assert verdict is Verdict.FAILED
    assert text == "missing: patch nodes. Apply `seatrial manifests driver-manager`."


def test_what_is_missing_on_the_host_fails() -> None:
    found = Found(seen=World().look(), lacking=("No right to unload modules.",))
    (host,) = [each for each in checks(found, SETTINGS) if each.what == "host"]
    assert (host.verdict, host.text) == (Verdict.FAILED, "No right to unload modules.")


def test_a_driver_of_the_host_fails() -> None:
    assert told(World(), host_driver="580.105.08")["driver"][0] is Verdict.FAILED


def test_a_driver_that_stays_evicts_nobody() -> None:
    world = World(pods={"train": a_job()})
    assert "pods" not in told(world, replace(SETTINGS, digest="old"))
    assert "pods" not in told(World(host=HostSeen()))


def test_a_pod_that_nobody_may_evict_fails_unless_the_node_is_drained_then() -> None:
    world = World(pods={"train": a_job(keeper=PodOwner.NOBODY)})
    assert told(world, replace(SETTINGS, is_draining=False))["pods"][0] is Verdict.FAILED
    assert told(world)["pods"][0] is Verdict.NOTE


def test_where_nobody_may_be_evicted_it_is_told_why() -> None:
    assert "NVIDIA's upgrade controller" in told(World(is_superseded=True))["pods"][1]
    off = replace(SETTINGS, is_evicting=False, is_draining=False)
    assert "both switches are off" in told(World(), off)["pods"][1]


def test_what_an_earlier_run_left_is_told() -> None:
    found = told(World(labels=LABELS | {labels.CLIENT: labels.MARK}, is_cordoned=True, is_cordon_ours=True))
    assert "1 label paused" in found["labels"][1]
    assert "an earlier run left its cordon" in found["cordon"][1]
    assert told(World(is_cordoned=True))["cordon"] == (Verdict.NOTE, "somebody else's, which stays")
