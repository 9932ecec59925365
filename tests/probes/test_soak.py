"""What a soak tells; that it works on a GPU is kept in bench/results."""

from __future__ import annotations

import os
import signal

from seatrial.probes.payloads import soak
from seatrial.probes.payloads.report import Notes, Verdict


def told(worked: soak.Worked) -> Notes:
    notes = Notes()
    soak.tell(worked, "GPU-1", notes)
    return notes


def test_rates_are_those_of_the_whole_time() -> None:
    worked = soak.Worked(products=1000, product_seconds=2.0, copies=100, copy_seconds=0.5)
    found = {each.name: each.value for each in told(worked).measured}
    assert found["soak-matrix"] == 2 * soak.SIZE**3 * 1000 / 2.0 / 1e12
    assert found["soak-copy"] == 2 * soak.COPY_BYTES * 100 / 0.5 / 1e9
    assert found["soak-wrong"] == 0


def test_an_answer_that_changed_is_broken_and_names_its_gpu() -> None:
    notes = told(soak.Worked(products=40, product_seconds=1.0, wrong=2))
    (broken,) = notes.broken
    assert (broken.gpu, broken.why) == ("GPU-1", "2 answers differed from the first one to the same question")
    assert notes.report("soak", "", 1.0).verdict is Verdict.FAILED


def test_whoever_is_told_to_stop_notices_and_leaves_the_signal_as_it_was() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with soak._told_to_stop() as is_told:
        assert not is_told()
        os.kill(os.getpid(), signal.SIGTERM)
        assert is_told()
    assert signal.getsignal(signal.SIGTERM) is before
