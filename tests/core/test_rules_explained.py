"""Every rule can explain itself."""

from __future__ import annotations

from seatrial.core.compat.rules import RULES


def test_every_rule_says_what_it_means_reads_and_rests_on() -> None:
    for rule in RULES:
        assert rule.title
        assert rule.meaning.endswith(".")
        assert rule.inputs
        assert rule.sources
