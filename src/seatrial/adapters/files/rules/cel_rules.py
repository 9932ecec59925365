"""Rules of the user's own, written in CEL beside the built-in ones.

    rules:
    - id: no-feature-branch
      when: has(stack.gpu_driver)                         # optional; the rule is skipped where this is false
      expression: at_least("gpu_driver", "580.65.06")     # what must be true
      message: We run long-term branches only.
      severity: warn                                      # warn, unknown or fail; fail when absent
      next_step: Take a driver of branch 580.             # optional
      source: our own policy, page 12                     # optional

An expression sees

    stack       the versions as they are written: stack.gpu_driver == "580.82.07"; test with has(stack.gpu_driver)
    hardware    hardware.arch, .product, .kernel_module, .rdma, each "" where it is not written
    entry       entry.role, .key, .status, .canary_node
    on          the day of the check, as "2026-11-15"
    at_least(component, version), older(component, version), same(component, version)
                compare by the component's own scheme: as texts, "24.10" would sort below "24.9"
    line(component)    the release line, "24.9" of v24.9.2

What cannot be judged is never a pass: an expression that does not compile, names something that is not there, gives no
boolean, or is refused is a finding that fails. A file of rules may come with anybody's pull request: what could take
long is refused before it is evaluated (evaluation.py), and so is more than RULES_MAX.

Tests: tests/adapters/files/test_cel_rules.py
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

from seatrial.adapters.files.facts.knowledge import FactsFileInvalid, load_user_data, spot_of
from seatrial.adapters.files.rules import evaluation
from seatrial.core.base.values import dataclass, field
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Component, Entry, Span, component_of
from seatrial.core.compat.rules import RULES

RULE: Final = "user-rules"
"""The id under which a broken file of rules is reported."""

KEYS: Final = ("id", "when", "expression", "message", "severity", "next_step", "source")
NEEDED: Final = ("id", "expression", "message")
RULES_MAX: Final = 100
"""Of all files together."""
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHOLE_STACK: Final = re.compile(r"\bstack\b(?!\s*\.\s*[a-z_]+[a-z0-9_]*\b(?!\s*\()|\s*\[\s*[\"'])")
"""The stack, but not one component of it by name."""
SEVERITIES: Final = {verdict.value: verdict for verdict in (Verdict.WARN, Verdict.UNKNOWN, Verdict.FAIL)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRule:
    """One rule, which compiles."""

    id: str
    when: evaluation.Program | None = field(repr=False, compare=False)
    expression: evaluation.Program = field(repr=False, compare=False)
    message: str
    severity: Verdict
    next_step: str
    source: str
    span: Span
    reads: frozenset[Component] | None = None
    """The components it names; None where it looks at the stack as a whole."""

    def judge(self, entry: Entry, on: date) -> tuple[Finding, ...]:
        """Its answer about one entry; where `when` is false there is none."""
        return tuple(_judge(self, entry, _about(entry, on)))


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRules:
    """The rules of some files, and what is wrong with those files."""

    rules: tuple[UserRule, ...] = ()
    findings: tuple[Finding, ...] = ()

    def judge(self, entry: Entry, on: date) -> tuple[Finding, ...]:
        """Every rule's answer about one entry; where `when` is false there is none."""
        about = _about(entry, on)
        return tuple(found for rule in self.rules for found in _judge(rule, entry, about))


def load_rules(paths: Sequence[str | Path]) -> UserRules:
    """Read and compile the rules of some files."""
    rules: list[UserRule] = []
    findings: list[Finding] = []
    taken = {rule.id for rule in RULES}
    for path in paths:
        for found in _load(str(path), taken, RULES_MAX - len(rules)):
            if isinstance(found, UserRule):
                rules.append(found)
                taken.add(found.id)
            else:
                findings.append(found)
    return UserRules(rules=tuple(rules), findings=tuple(findings))


def _load(path: str, taken: set[str], rules_max: int) -> Iterator[UserRule | Finding]:
    try:
        node, data = load_user_data(path)
    except FactsFileInvalid as err:
        yield Finding(
            rule=RULE,
            verdict=Verdict.FAIL,
            message=err.finding.message,
            spans=err.finding.spans,
            next_step=err.finding.next_step,
        )
        return
    rows = data.get("rules") if isinstance(data, dict) else None
    if not isinstance(rows, list) or set(data) != {"rules"}:
        yield _broken(
            "A file of rules is a mapping with one key, `rules`, and a list below it.", spot_of(path, node, ())
        )
        return
    for index, row in enumerate(rows[:rules_max]):
        yield _rule(row, taken, path, node, index)
    if len(rows) > rules_max:
        yield _broken(
            f"There are more than {RULES_MAX} rules in all files: this one and those after it are not evaluated.",
            spot_of(path, node, ("rules", rules_max)),
            "Join rules with &&, or remove some.",
        )


def _rule(row: Any, taken: set[str], path: str, node: Any, index: int) -> UserRule | Finding:
    span = spot_of(path, node, ("rules", index))
    problem = _problem(row, taken)
    if problem is not None:
        key, sentence = problem
        return _broken(sentence, spot_of(path, node, ("rules", index, key)))
    programs: dict[str, evaluation.Program] = {}
    for key in ("when", "expression"):
        if key not in row:
            continue
        place = spot_of(path, node, ("rules", index, key))
        refused = evaluation.too_much(row[key])
        if refused is not None:
            why, instead = refused
            return _broken(f"Rule {row['id']}: {key} {why}, so that no rule can hang a check.", place, instead)
        try:
            programs[key] = evaluation.compiled(row[key])
        except evaluation.Unjudged as err:
            return _broken(f"Rule {row['id']}: {key} is not CEL: {err}.", place)
    return UserRule(
        id=row["id"],
        when=programs.get("when"),
        expression=programs["expression"],
        message=row["message"],
        severity=SEVERITIES[row.get("severity", Verdict.FAIL.value)],
        next_step=row.get("next_step", ""),
        source=row.get("source", ""),
        span=span,
        reads=_reads(f"{row.get('when', '')} {row['expression']}"),
    )


def _reads(text: str) -> frozenset[Component] | None:
    if _WHOLE_STACK.search(text):
        return None
    return frozenset(found for word in _WORD.findall(text) if (found := component_of(word)) is not None)


def _problem(row: Any, taken: set[str]) -> tuple[str, str] | None:
    """The key that is wrong, and why."""
    if not isinstance(row, dict):
        return "", "A rule is a mapping with id, expression and message."
    for key, value in row.items():
        if key not in KEYS:
            near = difflib.get_close_matches(str(key), KEYS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(KEYS)}."
            return str(key), f"A rule has no key {key!r}: {hint}"
        if not isinstance(value, str) or not value.strip():
            return key, f"{key} must be a text, found {value!r}."
    for key in NEEDED:
        if key not in row:
            return "", f"A rule needs {key!r}."
    if row["id"] in taken:
        return "id", f"There is already a rule {row['id']!r}."
    if row.get("severity", Verdict.FAIL.value) not in SEVERITIES:
        return "severity", f"severity is one of {', '.join(SEVERITIES)}, found {row['severity']!r}."
    return None


def _judge(rule: UserRule, entry: Entry, about: Mapping[str, Any]) -> Iterator[Finding]:
    long = evaluation.too_long(about)
    if long:
        yield _unjudged(rule, entry, long, "Shorten it in the matrix.")
        return
    try:
        if rule.when is not None and not evaluation.holds(rule.when, about):
            return
        holds = evaluation.holds(rule.expression, about)
    except evaluation.Unjudged as err:
        next_step = "Correct the expression; guard what may be absent with `when: has(stack.…)`."
        yield _unjudged(rule, entry, str(err), next_step)
        return
    verdict = Verdict.OK if holds else rule.severity
    yield Finding(
        rule=rule.id,
        verdict=verdict,
        message=rule.message if not holds else f"Your rule {rule.id} holds.",
        next_step="" if holds else rule.next_step,
        spans=() if holds else (entry.span, rule.span),
        sources=(rule.source or f"{rule.span.file}:{rule.span.line}",),
    )


def _unjudged(rule: UserRule, entry: Entry, why: str, next_step: str) -> Finding:
    return Finding(
        rule=rule.id,
        verdict=Verdict.FAIL,
        message=f"The rule cannot be judged for {entry.key or entry.role.value}: {why}.",
        next_step=next_step,
        spans=(rule.span, entry.span),
    )


def _about(entry: Entry, on: date) -> dict[str, Any]:
    """What an expression sees of an entry."""
    stack, hardware = entry.stack, entry.stack.hardware
    return {
        "stack": {part.value: value.text for part, value in stack.values.items()},
        "hardware": {
            "arch": hardware.arch,
            "product": hardware.product,
            "kernel_module": hardware.kernel_module,
            "rdma": hardware.rdma,
        },
        "entry": {
            "role": entry.role.value,
            "key": entry.key,
            "status": entry.status,
            "canary_node": entry.canary_node,
        },
        "on": on.isoformat(),
    }


def _broken(message: str, span: Span, next_step: str = "Correct the file of rules.") -> Finding:
    return Finding(rule=RULE, verdict=Verdict.FAIL, message=message, next_step=next_step, spans=(span,))
