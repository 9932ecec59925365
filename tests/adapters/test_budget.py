"""Work that would go on for years ends when its time is over, and nothing is left behind of the clock."""

from __future__ import annotations

import re
import signal
import threading
import time

import pytest

from seatrial.adapters.budget import BudgetSpent, within

ENDLESS = ("(a+)+$", "a" * 64 + "!")


def test_an_expression_without_an_end_is_ended() -> None:
    began_at = time.monotonic()
    with pytest.raises(BudgetSpent, match="too slow"), within(0.2, "too slow"):
        re.search(*ENDLESS)
    assert time.monotonic() - began_at < 10


def test_work_that_keeps_its_time_leaves_no_clock_behind() -> None:
    with within(60, "never"):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_another_thread_is_let_be() -> None:
    done: list[bool] = []

    def work() -> None:
        with within(60, "never"):
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
