"""Label selectors: what they select, how they are written, and what is refused with which words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.model.selectors import Operator, Selector, Term, a_and, drain_selector

SKIP = "nvidia.com/gpu-driver-upgrade-drain.skip!=true"


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a=b", {"a": "b"}),
        ("a==b", {"a": "b"}),
        ("a=", {"a": ""}),
        ("a!=b", {"a": "c"}),
        ("a!=b", {}),
        ("a in (x, y)", {"a": "y"}),
        ("a in ()", {"a": ""}),
        ("a notin (x, y)", {"a": "z"}),
        ("a notin (x, y)", {}),
        ("a", {"a": ""}),
        ("!a", {"b": "a"}),
        ("a=b,c!=d,!e", {"a": "b"}),
        ("a in (in, notin)", {"a": "notin"}),
        ("a=in", {"a": "in"}),
    ],
)
def test_a_selector_selects(text: str, labels: dict[str, str]) -> None:
    assert Selector.parse(text).matches(labels)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a=b", {}),
        ("a=b", {"a": "B"}),
        ("a=", {}),
        ("a!=b", {"a": "b"}),
        ("a in (x, y)", {}),
        ("a in (x, y)", {"a": "x,y"}),
        ("a notin (x, y)", {"a": "x"}),
        ("a", {"b": "a"}),
        ("!a", {"a": ""}),
        ("a=b,c!=d", {"a": "b", "c": "d"}),
        ("a=b,a=c", {"a": "b"}),
    ],
)
def test_a_selector_leaves_out(text: str, labels: dict[str, str]) -> None:
    assert not Selector.parse(text).matches(labels)


@pytest.mark.parametrize("text", ["", "  ", "\t\n"])
def test_an_empty_text_selects_everything(text: str) -> None:
    selector = Selector.parse(text)
    assert selector == Selector()
    assert selector.is_empty
    assert selector.matches({})
    assert selector.matches({"a": "b"})
    assert str(selector) == ""


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" a == b ,\tc != d ", "a=b,c!=d"),
        ("a in (y , x,y)", "a in (x,y)"),
        ("a in (x)", "a=x"),
        ("a notin (x)", "a!=x"),
        ("a notin (z,x)", "a notin (x,z)"),
        ("a in (,x)", "a in (,x)"),
        ("a in(x,y),b", "a in (x,y),b"),
        ("! a", "!a"),
        ("z=1,a=1", "z=1,a=1"),
        ("example.com/Team_1.x=Red-7", "example.com/Team_1.x=Red-7"),
    ],
)
def test_a_selector_is_written_in_one_way_with_the_terms_in_their_order(text: str, canonical: str) -> None:
    assert str(Selector.parse(text)) == canonical
    assert str(Selector.parse(canonical)) == canonical


def test_selectors_that_say_the_same_are_equal_and_share_a_hash() -> None:
    assert len({Selector.parse("a=b, c"), Selector.parse("a in (b),c")}) == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a,", "character 3: expected the key of a label, found the end of the text."),
        (",a", "character 1: expected the key of a label, found ','."),
        ("in", "character 1: expected the key of a label, found 'in'."),
        ("!", "character 2: expected the key of a label, found the end of the text."),
        ("a in x", "character 6: expected an opening bracket, found 'x'."),
        ("a in (x", "character 8: expected a closing bracket, found the end of the text."),
        ("a in (x y)", "character 9: expected a closing bracket, found 'y'."),
        ("a=b c", "character 5: expected a comma, found 'c'."),
        ("!a=b", "character 3: expected a comma, found '='."),
        ("a b", "character 3: expected =, ==, !=, in, notin or a comma after a, found 'b'."),
        ("a>1", "character 2: expected =, ==, !=, in, notin or a comma after a, found '>'."),
        ("a!", "character 2: expected =, ==, !=, in, notin or a comma after a, found '!'."),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_with_what_and_where(text: str, complaint: str) -> None:
    with pytest.raises(ValueError) as refusal:
        Selector.parse(text)
    assert str(refusal.value) == f"label selector {text!r}, {complaint}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("-a=b", "the key -a may hold letters"),
        ("a/=b", "the key a/ may hold letters"),
        ("A.b/c", "the key A.b/c has a prefix that is not a DNS name"),
        ("/c", "the key /c has a prefix"),
        ("a/b/c", "the key a/b/c has a prefix"),
        (f"{'p' * 254}/c", "has a prefix"),
        ("k" * 64, "has 64 characters where 63 are allowed"),
        ("a=b_", "the value b_ may hold letters"),
        ("a=b/c", "the value b/c may hold letters"),
        ("a=b\u00a0", "the value b\u00a0 may hold letters"),
        (f"a in (x,{'v' * 64})", "has 64 characters where 63 are allowed"),
    ],
)
def test_a_key_or_value_kubernetes_would_refuse_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError) as refusal:
        Selector.parse(text)
    assert complaint in str(refusal.value)


def test_keys_and_values_of_the_greatest_length_are_read() -> None:
    text = f"{'p' * 253}/{'k' * 63}={'v' * 63}"
    assert str(Selector.parse(text)) == text


def test_joined_selectors_select_what_both_select() -> None:
    both = a_and(Selector.parse("a=b,c"), Selector.parse("c,d!=e"))
    assert str(both) == "a=b,c,d!=e"
    assert both.matches({"a": "b", "c": ""})
    assert not both.matches({"a": "b"})


@pytest.mark.parametrize("text", ["", " "])
def test_scenarios_106_and_107_without_a_selector_of_the_user_the_skip_term_stands_alone(text: str) -> None:
    assert str(drain_selector(text)) == SKIP


def test_scenario_108_the_skip_term_follows_the_selector_of_the_user() -> None:
    assert str(drain_selector("app=training,tier")) == f"app=training,tier,{SKIP}"


def test_a_user_who_wrote_the_skip_term_has_it_once() -> None:
    assert str(drain_selector(SKIP)) == SKIP


def test_only_the_value_true_keeps_a_pod_from_being_drained() -> None:
    drained = drain_selector("app=training")
    assert not drained.matches({"app": "training", "nvidia.com/gpu-driver-upgrade-drain.skip": "true"})
    assert drained.matches({"app": "training", "nvidia.com/gpu-driver-upgrade-drain.skip": "yes"})
    assert drained.matches({"app": "training"})
    assert not drained.matches({})


KEYS = st.from_regex(r"([a-z0-9]{1,5}(\.[a-z0-9]{1,5})?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,5}[A-Za-z0-9])?", fullmatch=True)
VALUES = st.from_regex(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,5}[A-Za-z0-9])?)?", fullmatch=True)


@st.composite
def terms(draw: st.DrawFn) -> Term:
    operator = draw(st.sampled_from(Operator))
    key = draw(KEYS.filter(lambda key: key not in ("in", "notin")))
    if operator in (Operator.EXISTS, Operator.ABSENT):
        return Term(key=key, operator=operator)
    return Term(key=key, operator=operator, values=tuple(sorted(draw(st.sets(VALUES, min_size=1, max_size=3)))))


@given(st.lists(terms(), max_size=4))
def test_what_is_written_is_read_back(some: list[Term]) -> None:
    selector = Selector(terms=tuple(some))
    assert Selector.parse(str(selector)) == selector


@given(st.text(alphabet="ab=!(), ./-<>in", max_size=12))
def test_any_text_is_read_or_refused_and_what_is_read_is_stable(text: str) -> None:
    try:
        selector = Selector.parse(text)
    except ValueError as refusal:
        said = str(refusal)
    else:
        said = ""
        assert Selector.parse(str(selector)) == selector
    assert not said or said.startswith(f"label selector {text!r}, character ")
