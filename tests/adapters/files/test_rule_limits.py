"""Rules of the user's own are small: what could take long is refused at its place, and what passes takes no time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from seatrial.adapters.files.rules import cel_rules, evaluation
from seatrial.adapters.files.rules.cel_rules import UserRules, load_rules
from seatrial.cli.main import main
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Component, Entry, Hardware, Role, Span, Stack
from tests.adapters.files.test_cel_rules import ENTRY, ON

TEN = "[0,1,2,3,4,5,6,7,8,9]"
TEXT = "5" * evaluation.TEXT_MAX
LARGEST = [
    Entry(
        role=role,
        key=TEXT,
        status=TEXT,
        stack=Stack.of(
            {part.value: TEXT for part in Component} | {"cuda": "12.6"},
            Hardware(arch=TEXT, product=TEXT, kernel_module=TEXT, rdma=TEXT),
        ),
        span=Span(file="m.yaml", line=7, column=3),
    )
    for role in Role
]
"""A matrix with every entry and every component, and with texts as long as a rule is shown."""


def endless(depth: int = 12) -> str:
    """An expression that looks at ten to the power of its depth."""
    text = "true"
    for number in range(depth):
        text = f"{TEN}.all(x{number}, {text})"
    return text


def filled(head: str, item: str, between: str, tail: str, bytes_max: int) -> str:
    """An expression with as many items as it may have."""
    count = (bytes_max - len(head + tail) + len(between)) // len(item + between)
    return f"{head}{between.join([item] * count)}{tail}"


def rule(name: str, expression: str) -> str:
    return f"- id: {name}\n  expression: '{expression}'\n  message: We do not do that.\n"


def loaded(tmp_path: Path, *rules: str) -> UserRules:
    file = tmp_path / "rules.yaml"
    file.write_text("rules:\n" + "".join(rules))
    return load_rules([file])


def refused(tmp_path: Path, expression: str) -> Finding:
    """What is said of a rule that is refused; the one beside it is judged."""
    found = loaded(tmp_path, rule("wild", expression), rule("short", "false"))
    (finding,) = found.findings
    assert finding.spans == (Span(file=str(tmp_path / "rules.yaml"), line=3, column=3),)
    assert finding.verdict is Verdict.FAIL
    assert [each.message for each in found.judge(ENTRY, ON)] == ["We do not do that."]
    return finding


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("expression", "why", "next_step"),
    [
        (endless(3), "has 3 loops (all, all, all), and one is evaluated", "Write a rule for each loop."),
        (
            "[[1].all(x, x > 0)].all(y, y)",
            "has 2 loops (all, all), and one is evaluated",
            "Write a rule for each loop.",
        ),
        (endless(), "has 12 loops", "Write a rule for each loop."),
        (endless(100), "bytes, and at most 1,000 are evaluated", "Write several rules."),
        ("(" * 100_000 + "true" + ")" * 100_000, "has 200,004 bytes, and at most 1,000", "Write several rules."),
        ('"' + "é" * 500 + '" == on', "has 1,008 bytes, and at most 1,000", "Write several rules."),
        (
            f"[{'0,' * 100}0].exists_one(x, x == 1)",
            "has 225 bytes, and with a loop (exists_one) at most 150 are evaluated",
            "Write several rules, or do without the loop.",
        ),
        ('["aaaa"]' + ".map(x, x + x)" * 40 + ' != [""]', "has map, ", "Ask with all, exists or exists_one."),
        (f"{TEN}.filter(x, x > 3).size() == 6", "has filter, ", "Ask with all, exists or exists_one."),
        ('on.matches("(((a{1,1000}){1,1000}){1,1000}){1,1000}")', "has matches, ", "Compare versions with at_least, "),
        ('on.matches("(a+)+$")', "has matches, which is not evaluated", "Compare versions with at_least, "),
    ],
)
def test_what_could_take_long_is_refused_with_its_place_and_what_to_write(
    tmp_path: Path, expression: str, why: str, next_step: str
) -> None:
    found = refused(tmp_path, expression)
    assert found.message.startswith("Rule wild: expression has ")
    assert why in found.message
    assert found.message.endswith(", so that no rule can hang a check.")
    assert found.next_step.startswith(next_step)


@pytest.mark.parametrize(
    "second", ["[1].all//\n(x, true)", "[1] . existsOne (x, true)", "[1].\nexists\n(x, true)", 'on != "all"']
)
def test_a_loop_counts_however_it_is_written(second: str) -> None:
    assert evaluation.too_much(f"[1].all(x, true) && {second}") is not None


def test_a_condition_has_the_same_limits(tmp_path: Path) -> None:
    found = loaded(tmp_path, rule("wild", "true") + f"  when: '{endless()}'\n")
    assert [(each.message[:24], each.spans[0].line) for each in found.findings] == [("Rule wild: when has 12 l", 5)]


@pytest.mark.parametrize(
    "expression",
    [
        *(f"[1].{name}(x, x > 0) != [true]" for name in ("transformList", "optMap", "optFlatMap", "sortBy", "reduce")),
        *("cel.bind(x, 1, x > 0)", "[1].transformMap(k, v, v) != {}", "[1].all(k, v, true)", "[1].`all`(x, true)"),
        *('"a".repeat(9) != ""', '"a".replace("a", "aa") != ""', '"a,b".split(",") != []', "lists.range(9) != []"),
        *('["a"].join("-") != ""', '"%s".format(["a"]) != ""', '"a" * 9 != ""', "[1] * 9 != []"),
    ],
)
def test_the_library_has_no_other_way_to_loop_or_to_make_much_of_little(expression: str) -> None:
    """Where a newer one has, `evaluation.py` has to know it."""
    with pytest.raises(evaluation.Unjudged):
        evaluation.holds(evaluation.compiled(expression), cel_rules._about(ENTRY, ON))


def test_a_text_longer_than_a_rule_is_shown_is_a_finding_about_the_matrix(tmp_path: Path) -> None:
    long = Entry(role=Role.CANARY, key="canary", stack=Stack.of({"kernel": TEXT + "5"}), span=ENTRY.span)
    (found,) = loaded(tmp_path, rule("short", "true")).judge(long, ON)
    assert (found.verdict, found.next_step) == (Verdict.FAIL, "Shorten it in the matrix.")
    assert found.message == (
        "The rule cannot be judged for canary: stack.kernel has 257 characters, and a rule is shown at most 256."
    )


def test_more_rules_than_are_evaluated_is_a_finding_at_the_first_of_them(tmp_path: Path) -> None:
    half = cel_rules.RULES_MAX // 2
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text("rules:\n" + "".join(rule(f"a-{number}", "true") for number in range(half)))
    two.write_text("rules:\n" + "".join(rule(f"b-{number}", "true") for number in range(half + 2)))
    found = load_rules([one, two])
    assert len(found.rules) == cel_rules.RULES_MAX
    (finding,) = found.findings
    assert finding.spans == (Span(file=str(two), line=2 + 3 * half, column=3),)
    assert finding.message.startswith("There are more than 100 rules in all files: ")


def test_check_ends_with_8_and_says_which_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of rules beside the matrix, as a pull request would bring it."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpu-version-matrix.yaml").write_text('versions:\n  current:\n    gpu_driver: "550.127.05"\n')
    (tmp_path / "seatrial-rules.yaml").write_text("rules:\n" + rule("long", endless()))
    assert main(["check", "--full", "--on", "2025-01-10"]) == 8
    out = " ".join(capsys.readouterr().out.split())
    assert "seatrial-rules.yaml:3:3" in out
    assert "Rule long: expression has 12 loops" in out


# ── what passes ──────────────────────────────────────────────────────────────────────────────────────────────────────

LOOP, PLAIN = evaluation.LOOP_BYTES_MAX, evaluation.BYTES_MAX
HEAVY: dict[str, str] = {
    "stacks added in a loop": filled("[[stack,stack,stack,stack,stack,stack,stack]].all(x,[]!=", "x", "+", ")", LOOP),
    "stacks added for each component": filled("stack.all(x,[]!=", "[stack]", "+", ")", LOOP),
    "stacks listed in a loop": filled("[0,0,0,0,0,0,0,0,0,0].all(x,[]!=[", "stack", ",", "])", LOOP),
    "texts added in a loop": filled('[on,hardware.arch].all(x,""!=', "x", "+", ")", LOOP),
    "a list made in a loop": filled("[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0].all(x,!(1 in[", "0", ",", "]))", LOOP),
    "versions compared for each component": filled("stack.all(x,", 'line("cuda")!=""', "&&", ")", LOOP),
    "versions that cannot be read": filled("stack.all(x,", 'line("os")==""||true', "&&", ")", LOOP),
    "stacks added": filled("[]!=", "[stack]", "+", "", PLAIN),
    "texts added": filled('""!=', "stack.kernel", "+", "", PLAIN),
    "versions compared": filled("", 'older("cuda","12.7")', "&&", "", PLAIN),
    "as deep as the library goes": "[" * 90 + "]" * 90 + "!=[]",
    "many operators": filled("", "true", "&&", "", PLAIN),
}


@pytest.mark.parametrize("name", HEAVY)
def test_the_heaviest_rules_that_pass_take_no_time_over_the_largest_matrix(tmp_path: Path, name: str) -> None:
    found = loaded(tmp_path, rule("heavy", HEAVY[name]))
    assert found.findings == ()
    began_at = time.thread_time()
    judged = [each for entry in LARGEST for each in found.judge(entry, ON)]
    assert time.thread_time() - began_at < 2.0, "ten times what was measured"
    assert [each.verdict for each in judged] == [Verdict.OK] * len(Role)


@pytest.mark.parametrize(
    "expression",
    [
        *("(" * 1000, "[(" * 500, "{1:" * 300, "a(" * 500, "!(" * 500, "a?" * 500, "a<" * 500, "-" * 1000, "\\" * 1000),
        *("/*" * 500, "`" * 1000, "é" * 500, "9" * 1000, "0x" + "f" * 900, '"' * 999, "stack" + ".a" * 490),
        *("-9223372036854775807 - 2 == 1", "(-9223372036854775807 - 1) / -1 == 1", "has(1)", "int(1e300) == 1"),
        'timestamp("9999-12-31T23:59:59Z") + duration("9223372036s") == on',
    ],
    ids=lambda text: text[:12],
)
def test_an_expression_that_is_made_to_break_breaks_nothing(expression: str) -> None:
    began_at = time.thread_time()
    with pytest.raises(evaluation.Unjudged):
        evaluation.holds(evaluation.compiled(expression), cel_rules._about(ENTRY, ON))
    assert time.thread_time() - began_at < 2.0


def test_what_a_function_cannot_say_is_in_the_finding_and_nowhere_else(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (found,) = loaded(tmp_path, rule("short", 'at_least("cuda", "12.6")')).judge(ENTRY, ON)
    assert "names no cuda" in found.message
    assert capfd.readouterr() == ("", "")
