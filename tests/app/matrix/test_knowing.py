"""What is known in a folder: how far it reaches, whose it is, and how old each source is."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from seatrial.app.matrix import knowing
from seatrial.core.compat.facts import Known

MINE = "gpu_operator:\n  releases:\n    v26.10.0: {source: our mirror, confidence: secondary}\n"


def test_own_files_are_told_from_what_is_shipped(tmp_path: Path) -> None:
    folder = tmp_path / "seatrial-facts"
    folder.mkdir()
    (folder / "mine.yaml").write_text(MINE)
    found = knowing.status(tmp_path)
    assert found.known_until == date(2026, 8, 22)
    assert found.own == (str(folder / "mine.yaml"),)
    (mine,) = [each for each in found.sources if each.origin]
    assert (mine.name, mine.known, mine.origin) == ("our mirror", Known.UNDATED, str(folder / "mine.yaml"))
    assert len(found.sources) > 30
