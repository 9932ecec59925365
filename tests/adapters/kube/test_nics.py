"""What a Job tells of a node's network adapters: the script in a real shell over a prepared /sys, and its reading."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.surveying import nics
from seatrial.core.survey.audit.objects import SYSFS, NicObject
from tests.adapters.kube import objects, standin
from tests.adapters.kube.test_probing import HOME, JOBS, Cluster

NVIDIA, INTEL = "0x15b3", "0x8086"
ETHERNET, INFINIBAND, DMA = "0x020000", "0x020700", "0x080100"


def device(
    root: Path, at: str, vendor: str, what: str, firmware: str | None = None, *, is_virtual: bool = False
) -> None:
    """A PCI function as the kernel shows it."""
    folder = root / "sys/bus/pci/devices" / at
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(f"{vendor}\n")
    (folder / "class").write_text(f"{what}\n")
    if is_virtual:
        (folder / "physfn").symlink_to("..")
    if firmware is not None:
        (folder / "infiniband/mlx5_0").mkdir(parents=True)
        (folder / "infiniband/mlx5_0/fw_ver").write_text(f"{firmware}\n")


def told(root: Path, shell: str = "sh") -> str:
    """What the Job's own command leaves, in this shell."""
    _, *rest = nics.command(str(root), str(root / "said"))
    subprocess.run([shell, *rest], check=False, timeout=20, capture_output=True)
    return (root / "said").read_text()


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_adapters_of_nvidia_are_told_by_their_place_and_everything_else_is_left_out(tmp_path: Path, shell: str) -> None:
    device(tmp_path, "0000:18:00.0", NVIDIA, INFINIBAND, "28.43.1014")
    device(tmp_path, "0000:18:00.1", NVIDIA, ETHERNET, "28.43.1014")
    device(tmp_path, "0000:18:00.2", NVIDIA, ETHERNET, "28.43.1014", is_virtual=True)
    device(tmp_path, "0000:29:00.0", NVIDIA, ETHERNET)
    device(tmp_path, "0000:2a:00.0", NVIDIA, DMA)
    device(tmp_path, "0000:00:1f.6", INTEL, ETHERNET, "28.1.1000")
    said = told(tmp_path, shell)
    assert said == "0000:18:00.0 28.43.1014\n0000:18:00.1 28.43.1014\n0000:29:00.0 -\nend\n"
    found = nics.adapters("gpu-1", said)
    assert found is not None
    assert [each.firmware for each in found] == ["28.43.1014", "28.43.1014", ""]
    assert {each.evidence for each in found} == {SYSFS}


def test_a_bus_without_an_adapter_is_an_answer_and_a_machine_without_a_bus_is_none(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    assert nics.adapters("gpu-1", told(tmp_path)) == ()
    empty = tmp_path / "empty"
    empty.mkdir()
    assert nics.adapters("gpu-1", told(empty)) is None


@pytest.mark.parametrize(
    "text", ["", "0000:18:00.0 28.43.1014", "hello\nend", "0000:18:00.0 28.43\nend", '{"measured": []}', "end\nend"]
)
def test_what_is_no_whole_list_is_not_believed(text: str) -> None:
    assert nics.adapters("gpu-1", text) is None


def test_a_wide_bus_address_is_read_too() -> None:
    assert nics.adapters("n", "10000:e1:00.0 40.48.1000\nend") == (
        NicObject(node="n", firmware="40.48.1000", evidence=SYSFS),
    )


# ── Jobs on nodes ────────────────────────────────────────────────────────────────────────────────────────────────────


def on(job: dict[str, Any]) -> str:
    return str(job["metadata"]["annotations"][keys.NODE_KEY])


@pytest.fixture
def fleet(server: standin.StandIn) -> Cluster:
    """Four nodes, one of them not Ready; a Job leaves what its node has."""
    left = {"n1": "0000:0c:00.0 28.39.1002\nend", "n2": "end", "n4": "0000:0c:00.0 28.39.1002"}
    there = Cluster()
    there.react = lambda job: there.end(job, "Complete", exitCode=0, reason="Completed", message=left[on(job)])
    for name in ("n1", "n2", "n3", "n4"):
        node = objects.a_node(name)
        if name == "n3":
            node["status"] = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
        there.put(f"{keys.NODES}/{name}", node)
    server.will(there.answer)
    return there


async def asked(client: Client, *nodes: str, told: list[int] | None = None) -> nics.Read:
    heard = told if told is not None else []
    async with asyncio.timeout(20):
        return await nics.read(client, nodes, image="example.com/any:1", home=HOME, on_node=heard.append)


async def test_each_node_is_asked_and_who_cannot_tell_says_why(fleet: Cluster, to_server: Client) -> None:
    told: list[int] = []
    found = await asked(to_server, "n4", "n3", "n2", "n1", told=told)
    assert found.nics == (NicObject(node="n1", firmware="28.39.1002", evidence=SYSFS),)
    assert found.asked == {
        "n1": "",
        "n2": "",
        "n3": "the node is not Ready",
        "n4": "it left '0000:0c:00.0 28.39.1002', which is not a list of adapters",
    }
    assert list(found.asked) == ["n1", "n2", "n3", "n4"]
    assert sorted(told) == [1, 2, 3, 4]
    assert fleet.under(JOBS) == [], "nothing of it stays"


async def test_a_job_that_fails_tells_its_last_words(fleet: Cluster, to_server: Client) -> None:
    fleet.react = lambda job: fleet.end(job, "Failed", exitCode=1, reason="Error", message="no /sys")
    assert (await asked(to_server, "n1")).asked == {"n1": "exit code 1: no /sys"}


async def test_the_job_is_confined_and_asks_for_nothing(fleet: Cluster, to_server: Client) -> None:
    made: list[dict[str, Any]] = []

    def react(job: dict[str, Any]) -> None:
        made.append(job["spec"]["template"]["spec"])
        fleet.end(job, "Complete", exitCode=0, reason="Completed", message="end")

    fleet.react = react
    await asked(to_server, "n1")
    (container,) = made[0]["containers"]
    assert container["image"] == "example.com/any:1"
    assert container["resources"]["requests"] == {"memory": "0", "ephemeral-storage": "0"}
    assert "nvidia.com/gpu" not in container["resources"]["limits"]
    assert container["securityContext"]["runAsNonRoot"] is True
    assert container["command"] == list(nics.command())


async def test_where_jobs_are_forbidden_that_is_asked_once_and_told_of_every_node(
    fleet: Cluster, to_server: Client, server: standin.StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nics, "AT_ONCE", 1)

    async def answer(request: Any) -> Any:
        if request.method == "POST":
            return await standin.refuses(403, "Forbidden", "jobs are forbidden")(request)
        return await fleet.answer(request)

    server.will(answer)
    found = await asked(to_server, "n1", "n2", "n4")
    assert set(found.asked) == {"n1", "n2", "n4"}
    assert len(set(found.asked.values())) == 1
    assert "jobs are forbidden" in found.asked["n4"]
    assert len([seen for seen in server.seen if seen.verb == "POST"]) == 1


async def test_what_a_server_refuses_for_one_node_is_told_of_that_node_and_others_are_asked(
    fleet: Cluster, to_server: Client, server: standin.StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nics, "AT_ONCE", 1)
    posts = 0

    async def answer(request: Any) -> Any:
        nonlocal posts
        posts += request.method == "POST"
        if request.method == "POST" and posts == 1:
            return await standin.refuses(422, "Invalid", "the name is too long")(request)
        return await fleet.answer(request)

    server.will(answer)
    found = await asked(to_server, "n1", "n2")
    assert ("the name is too long" in found.asked["n1"], found.asked["n2"]) == (True, "")


async def test_a_server_that_does_not_answer_ends_the_asking_and_leaves_no_job(
    fleet: Cluster, to_server: Client, server: standin.StandIn
) -> None:
    fleet.react = lambda _: None  # nothing ever ends

    async def answer(request: Any) -> Any:
        if request.query.get("fieldSelector") == "metadata.name=n2":
            async with asyncio.timeout(10):
                while not fleet.under(JOBS):
                    await asyncio.sleep(0.01)
            return await standin.cuts(request)
        return await fleet.answer(request)

    server.will(answer)
    with pytest.raises(errors.ClusterUnavailable):
        await asked(to_server, "n1", "n2")
    assert fleet.under(JOBS) == []
