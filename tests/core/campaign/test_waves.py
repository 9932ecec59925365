"""Waves: how many nodes may have been upgraded after each; every wave has a node, and the last reaches the last."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.campaign.waves import bounds
from seatrial.core.model.campaign import Growth, Waves
from seatrial.core.model.policy import Share

TEN_PERCENT = Share.parse("10%")


@pytest.mark.parametrize(
    ("waves", "total", "found"),
    [
        (Waves(growth=Growth.FIXED, first=Share(amount=4)), 10, (4, 8, 10)),
        (Waves(growth=Growth.LINEAR, first=Share(amount=2), step=Share(amount=2)), 12, (2, 6, 12)),
        (Waves(growth=Growth.LINEAR, first=Share(amount=2), step=Share(amount=0)), 5, (2, 4, 5)),
        (Waves(first=Share(amount=1)), 10, (1, 3, 7, 10)),
        (Waves(first=Share(amount=1), factor=1), 3, (1, 2, 3)),
        (Waves(first=TEN_PERCENT), 100, (10, 30, 70, 100)),
        (Waves(first=Share(amount=0)), 3, (1, 3)),
        (Waves(), 0, ()),
        (
            Waves(growth=Growth.SHARES, shares=(Share.parse("25%"), Share.parse("5%"), Share.parse("100%"))),
            40,
            (2, 10, 40),
        ),
        (Waves(growth=Growth.SHARES, shares=(Share.parse("5%"), Share.parse("5%"))), 3, (1, 2, 3)),
        (Waves(growth=Growth.SHARES), 3, (3,)),
    ],
)
def test_waves_grow_as_asked(waves: Waves, total: int, found: tuple[int, ...]) -> None:
    assert bounds(waves, total) == found


shares = st.builds(Share, amount=st.integers(0, 100), is_percent=st.booleans())


@given(
    waves=st.builds(
        Waves,
        growth=st.sampled_from(Growth),
        first=shares,
        step=shares,
        factor=st.integers(-1, 4),
        shares=st.lists(shares, max_size=4).map(tuple),
    ),
    total=st.integers(0, 300),
)
def test_every_wave_has_a_node_of_its_own_and_the_last_reaches_the_last(waves: Waves, total: int) -> None:
    found = bounds(waves, total)
    assert list(found) == sorted(set(found))
    assert found[-1:] == ((total,) if total else ())
    assert all(bound >= 1 for bound in found)
