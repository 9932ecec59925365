"""Whether a controller of ours is at work, by a Lease whose times are on its own clock."""

from __future__ import annotations

from seatrial.core.movers.dra.beside import SILENT_SECONDS, Heard, heard


def test_a_lease_that_changes_is_kept_by_somebody_whatever_its_clock_says() -> None:
    found = heard(None, 5.0, 1000.0)
    assert found.is_at_work(1000.0)
    later = heard(found, 6.0, 1000.0 + SILENT_SECONDS)
    assert later.is_at_work(1000.0 + SILENT_SECONDS)


def test_a_lease_that_does_not_change_is_nobodys_after_a_while() -> None:
    found = heard(heard(None, 5.0, 1000.0), 5.0, 1000.0 + SILENT_SECONDS)
    assert found.is_at_work(999.0 + SILENT_SECONDS)
    assert not found.is_at_work(1000.0 + SILENT_SECONDS)


def test_without_a_lease_there_is_nobody() -> None:
    assert not heard(None, None, 1000.0).is_at_work(1000.0)
    assert not heard(Heard(renewed_at=5.0, since=990.0), None, 1000.0).is_at_work(1000.0)
