"""Where a node stands in a gang, and that nodes which do not meet have measured nothing."""

from __future__ import annotations

import pytest

from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads.collectives import meet, place_in

TOLD = {
    "JOB_COMPLETION_INDEX": "2",
    "SEATRIAL_GANG_NODES": "3",
    "SEATRIAL_GANG_SECONDS": "120",
    "MASTER_ADDR": "gate-ring-0.gate-gang",
    "MASTER_PORT": "29500",
}


def test_every_gpu_of_every_node_has_a_place_of_its_own() -> None:
    places = [place_in(TOLD | {"JOB_COMPLETION_INDEX": str(index)}, 4) for index in range(3)]
    around = [place.environment(local) for place in places for local in range(4)]
    assert [each["RANK"] for each in around] == [str(rank) for rank in range(12)]
    assert {each["WORLD_SIZE"] for each in around} == {"12"}
    assert {(each["MASTER_ADDR"], each["SEATRIAL_GANG_SECONDS"]) for each in around} == {(TOLD["MASTER_ADDR"], "120")}


@pytest.mark.parametrize("name", sorted(TOLD.keys() - {"SEATRIAL_GANG_SECONDS"}))
def test_who_was_not_told_all_is_in_no_gang(name: str) -> None:
    with pytest.raises(Unmeasurable, match=f"{name} is not set: this process is not one of a gang"):
        place_in({key: value for key, value in TOLD.items() if key != name}, 4)


def test_a_name_that_is_known_is_waited_for_no_longer() -> None:
    meet("localhost", 60.0)


def test_a_gang_that_does_not_meet_in_time_is_unmeasured() -> None:
    with pytest.raises(Unmeasurable, match=r"the gang did not meet within 0 s: nobody\.invalid is not known"):
        meet("nobody.invalid", 0.0)
