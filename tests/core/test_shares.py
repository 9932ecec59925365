"""Shares as people write them."""

from __future__ import annotations

import pytest

from seatrial.core.text import shares


@pytest.mark.parametrize(("text", "share"), [("3%", 0.03), ("1%", 0.01), ("2.5%", 0.025), ("50%", 0.5)])
def test_a_loss_is_a_share(text: str, share: float) -> None:
    assert shares.loss(text) == share


@pytest.mark.parametrize(("text", "share"), [("99%", 0.99), ("99.5%", 0.995), ("80%", 0.8)])
def test_a_confidence_is_a_share(text: str, share: float) -> None:
    assert shares.confidence(text) == share


@pytest.mark.parametrize("text", ["", "3", "0.03", "0%", "0.9%", "51%", "-3%", "3 %", "3%%", "\u0663%"])
def test_a_loss_that_cannot_be_meant_is_refused_with_what_can(text: str) -> None:
    with pytest.raises(ValueError, match="a loss such as 3%, from 1% to 50%"):
        shares.loss(text)


@pytest.mark.parametrize("text", ["50%", "100%", "99.999%", "99"])
def test_so_is_a_confidence(text: str) -> None:
    with pytest.raises(ValueError, match=r"a confidence such as 99%, from 80% to 99\.99%"):
        shares.confidence(text)
