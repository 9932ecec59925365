"""No rule says ok about a value it did not compare: what it compared is named in its finding."""

from __future__ import annotations

import pytest

from seatrial.core.compat.matrix import Component, Value
from seatrial.core.compat.rules import STACK_RULES, Rule
from seatrial.core.compat.versions import DriverVersion, LinedVersion
from tests.core.knowledge import judged
from tests.core.test_rules_verdicts import OK, STACKS

BY_RULE = {rule.id: rule for rule in STACK_RULES}


def names(message: str, component: str, text: str) -> bool:
    """Whether a message names a value: as it is written, or by its release line."""
    version = Value.read(Component(component), text).version
    line = version.line if isinstance(version, LinedVersion) else text
    if isinstance(version, DriverVersion):
        line = f"branch {version.branch}"
    return any(word in message for word in (text, text.removeprefix("v"), line))


@pytest.mark.parametrize("rule", STACK_RULES, ids=lambda rule: rule.id)
def test_an_ok_names_every_value_it_needs(rule: Rule) -> None:
    texts, hardware = STACKS[rule.id][OK]
    found = judged(rule.id, texts, hardware)
    assert found is not None
    needed = [part.value for part in rule.needs] or [part.value for part in rule.inputs if part.value in texts]
    unnamed = [part for part in needed if part in texts and not names(found.message, part, texts[part])]
    assert unnamed == []


def test_what_no_rule_can_look_up_is_not_called_ok_by_any() -> None:
    for component in Component:
        text = {"kernel": "6.99.1-custom", "os": "templeos5.3", "dra_driver": "99.9.9", "dcgm": "99.9.9-99.9.9"}.get(
            component.value, ""
        )
        for rule in STACK_RULES:
            if rule.id == "known-bad":
                continue  # it compares with ranges, also a version that nobody knows, and says no more than that
            found = judged(rule.id, {component.value: text}) if text else None
            assert found is None or found.verdict.value != "ok", (rule.id, component, found)
