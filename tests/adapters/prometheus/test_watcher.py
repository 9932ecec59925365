"""What is seen of nodes through a real Prometheus, and that everything else is unknown and adds nothing."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

from seatrial.adapters.prometheus import looking
from seatrial.core.judging import rare
from seatrial.core.model.gates.telemetry import Telemetry
from tests.adapters.prometheus.conftest import Yard
from tests.adapters.prometheus.stage import ECC, LOAD, XID, OurClock, Scene, a_query, one, reasons


async def test_samples_are_told_as_they_were_scraped(scene: Scene) -> None:
    told = await scene.look_until_covered(2.0)
    assert {each.name for each in told.series} == {"load", "ecc-uncorrected-volatile", "xid"}
    gpus = [gpu.uuid for gpu in scene.exporter.gpus]
    assert [(each.node, each.gpu) for each in told.series if each.name == "load"] == [(scene.node, gpu) for gpu in gpus]
    series = one(told, "load", gpu=gpus[0])
    assert {value for _, value in series.points} == {90.0}
    assert series.gap_seconds == 1.0 * looking.GAP_INTERVALS
    assert told.covered_seconds("load", scene.node) <= told.until - told.since


async def test_a_gap_is_unknown_and_adds_nothing(scene: Scene) -> None:
    before = await scene.look_until_covered(1.0)
    scene.exporter.is_silent = True
    scene.wait_refused(4)
    silent = await scene.look()
    assert all("its last sample is" in why for why in reasons(silent, "load"))
    assert {each.gpu for each in silent.unmeasured if each.name == "load"} == {g.uuid for g in scene.exporter.gpus}
    scene.wait_refused(2)
    later = await scene.look()
    assert covered(later, scene) == covered(silent, scene)  # nothing accrues while nobody tells
    scene.exporter.is_silent = False
    after = await scene.look_until_covered(covered(before, scene) + 1.0)
    gaps = gaps_of(after)
    assert max(gaps) > 2.0, "what Prometheus would carry on for five minutes is a gap"
    assert covered(after, scene) <= after.until - after.since - max(gaps)


async def test_a_restart_of_prometheus_is_unknown_and_then_a_gap(scene: Scene) -> None:
    await scene.look_until_covered(1.0)
    scene.prometheus.stop()
    down = await scene.look()
    assert (down.series, covered(down, scene)) == ((), 0.0)
    assert all("was not reached" in why for why in reasons(down, "load"))
    scene.prometheus.start()
    before = await scene.look_until(lambda told: bool(told.series), "what it had before")
    after = await scene.look_until_covered(covered(before, scene) + 1.0)
    assert max(gaps_of(after)) > one_gap(after)
    assert covered(after, scene) < after.until - after.since - max(gaps_of(after)) + 0.001


async def test_a_prometheus_that_lost_its_data_has_watched_nothing(scene: Scene) -> None:
    before = await scene.look_until_covered(2.0)
    scene.prometheus.stop()
    scene.prometheus.forget()
    scene.prometheus.start()
    after = await scene.look_until_covered(0.5)
    assert min(at for each in after.series for at, _ in each.points) > before.until


async def test_an_empty_series_is_unknown(scene: Scene) -> None:
    told = await replace(scene, queries=(a_query("DCGM_FI_DEV_NOBODY_TELLS"),)).look()
    assert (told.series, covered(told, scene)) == ((), 0.0)
    [why] = reasons(told, "load")
    assert "there is no series of DCGM_FI_DEV_NOBODY_TELLS with this node's name" in why


async def test_a_wrong_query_is_unknown_and_does_not_touch_the_others(scene: Scene) -> None:
    wrong = a_query(f"{LOAD}(", name="power")
    told = await replace(scene, queries=(wrong, *scene.queries)).look_until(
        lambda told: covered(told, scene) > 0, "the others"
    )
    [why] = reasons(told, "power")
    assert "does not take the query" in why
    assert "parse error" in why
    assert told.covered_seconds("power", scene.node) == 0.0


async def test_a_planted_ecc_rise_is_seen_as_one_event(scene: Scene) -> None:
    await scene.look_until_covered(1.0)
    scene.exporter.plant(ECC, 5.0, gpu=1)
    scene.wait_told(2)
    risen = scene.exporter.gpus[1].uuid
    told = await scene.look_until(lambda told: ends_with(told, "ecc-uncorrected-volatile", risen, 5.0), "five errors")
    assert values(told, "ecc-uncorrected-volatile", risen) == {3.0, 5.0}
    assert values(told, "ecc-uncorrected-volatile", scene.exporter.gpus[0].uuid) == {3.0}
    assert rises(told, "ecc-uncorrected-volatile", scene) == 1


async def test_a_driver_that_is_loaded_anew_restarts_a_counter_and_stays_one_series(scene: Scene) -> None:
    scene.exporter.plant(ECC, 7.0)
    uuid = scene.exporter.gpus[0].uuid
    await scene.look_until(lambda told: ends_with(told, "ecc-uncorrected-volatile", uuid, 7.0), "seven errors")
    scene = replace(scene, since=time.time())
    scene.wait_told(2)
    scene.exporter.reload("580.159.04")
    scene.wait_told(2)
    scene.exporter.plant(ECC, 1.0)
    told = await scene.look_until(lambda told: ends_with(told, "ecc-uncorrected-volatile", uuid, 1.0), "a new error")
    assert values(told, "ecc-uncorrected-volatile", uuid) >= {7.0, 0.0, 1.0}
    assert rises(told, "ecc-uncorrected-volatile", scene) == 1


async def test_a_gpu_that_is_told_of_no_more_stops_its_node(scene: Scene) -> None:
    await scene.look_until_covered(1.0)
    gone = scene.exporter.gpus[1]
    gone.is_told = False
    await scene.look_until(
        lambda told: {each.gpu for each in told.unmeasured if each.name == "load"} == {gone.uuid},
        "one GPU to be missed",
    )
    later = replace(scene, since=time.time())
    scene.wait_told(4)
    told = await later.look_until(lambda told: bool(told.series), "the other GPU")
    assert one(told, "load", gpu=gone.uuid).points == ()
    assert covered(told, scene) == 0.0


async def test_a_new_xid_is_seen_though_the_label_of_its_series_changes(scene: Scene) -> None:
    await scene.look_until_covered(1.0)
    gpu = scene.exporter.gpus[0]
    gpu.labels = {"err_code": "48", "err_msg": "Double Bit ECC Error"}
    scene.exporter.plant(XID, 48.0)
    told = await scene.look_until(lambda told: ends_with(told, "xid", gpu.uuid, 48.0), "the Xid")
    assert rises(told, "xid", scene) == 1


async def test_a_node_is_found_where_its_exporter_says_its_pods_name(yard: Yard) -> None:
    scene = Scene(prometheus=yard.prometheus, exporter=yard.in_a_pod, node="gpu-in-a-pod")
    told = await scene.look_until_covered(1.0)
    assert one(told, "load").gpu == yard.in_a_pod.gpus[0].uuid


async def test_an_exporter_that_names_another_node_is_believed_by_nobody_until_a_label_is_chosen(yard: Yard) -> None:
    scene = Scene(prometheus=yard.prometheus, exporter=yard.contradicted, node="gpu-here")
    told = await scene.look()
    assert told.series == ()
    [why] = reasons(told, "load")
    assert why == "label node says gpu-here, and Hostname says gpu-elsewhere: say which label names the node"
    told = await replace(scene, node_label="node").look_until_covered(1.0)
    assert one(told, "load").node == "gpu-here"


async def test_a_tenants_series_in_the_name_of_a_node_counts_for_nothing(yard: Yard) -> None:
    yard.forger.plant(XID, 79.0)
    scene = Scene(prometheus=yard.prometheus, exporter=yard.honest, node="gpu-forged")
    anybody = await scene.look_until(
        lambda told: any(each.points[-1][1] for each in told.series if each.name == "xid"), "the lie"
    )
    [lie] = {each.gpu for each in anybody.series} - {each.uuid for each in yard.honest.gpus}
    assert lie == "GPU-made-up", "labels are shown, so what a terminal would obey is gone"
    told = await replace(scene, matchers='namespace="gpu-operator"').look_until_covered(1.0)
    assert {each.gpu for each in told.series} == {each.uuid for each in yard.honest.gpus}
    assert {value for _, value in one(told, "xid").points} == {0.0}


async def test_where_no_series_has_the_labels_that_count_it_is_said_which_those_are(yard: Yard) -> None:
    scene = Scene(prometheus=yard.prometheus, exporter=yard.honest, node="gpu-forged", matchers='namespace="elsewhere"')
    [why] = reasons(await scene.look(), "load")
    assert 'where namespace="elsewhere" with this node' in why
    assert "its series have other labels (--prometheus-matchers)" in why


async def test_a_clock_that_is_off_makes_everything_unknown(scene: Scene) -> None:
    told = await replace(scene, clock=OurClock(off_seconds=-120.0), since=scene.since - 300.0).look()
    assert told.series == ()
    [why] = reasons(told, "load")
    assert "its clock is 120 s ahead of ours" in why


# ── what is asserted ─────────────────────────────────────────────────────────────────────────────────────────────────


def covered(told: Telemetry, scene: Scene) -> float:
    return told.covered_seconds("load", scene.node)


def ends_with(told: Telemetry, name: str, gpu: str, value: float) -> bool:
    return any(
        each.points and each.points[-1][1] == value for each in told.series if (each.name, each.gpu) == (name, gpu)
    )


def values(told: Telemetry, name: str, gpu: str) -> set[float]:
    return {value for _, value in one(told, name, gpu=gpu).points}


def rises(told: Telemetry, name: str, scene: Scene) -> int:
    return rare.rises(told, name, (scene.node,), told.since)[0]


def one_gap(told: Telemetry) -> float:
    return told.series[0].gap_seconds


def gaps_of(told: Telemetry) -> list[float]:
    """The stretches between two samples of one GPU's load."""
    points = next(each.points for each in told.series if each.name == "load")
    return [end - start for (start, _), (end, _) in pairwise(points)]
