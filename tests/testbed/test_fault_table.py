"""The table of faults: everything in it has its words, and the page about the testbed shows the same."""

from __future__ import annotations

import re

import pytest

from seatrial_lab.testbed.nodes.faults import FAULTS
from tests.core.compat.knowledge import ROOT


def test_the_page_about_the_testbed_has_the_table_as_it_is() -> None:
    page = (ROOT / "docs/how-to/testbed.md").read_text(encoding="utf-8").partition("## Break a node")[2]
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", page.partition("\n## ")[0], re.MULTILINE)
    assert rows == [(name, fault.text) for name, fault in FAULTS.items()]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_says_what_it_did_to_which_node_and_where_one_sees_it(name: str) -> None:
    fault = FAULTS[name]
    assert "{node}" in fault.did
    assert "`seatrial " in fault.seen
    assert all(text.endswith(".") for text in (fault.did, fault.seen))
