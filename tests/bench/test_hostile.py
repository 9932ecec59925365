"""What means harm stays what an API server can be sent, comes again from its seed, and covers every watched kind."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from bench.hostile import people, playing
from bench.hostile.kinds import KINDS, SERVED_HERE, Account, World
from bench.hostile.rules import ANNOTATION_MAX, RULES, Draw, mutated, places
from bench.hostile.writing import Attempt, attempt

from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.streams.row import Row

WORLD = World(
    nodes=("torture-000", "torture-001"),
    own=("torture-001",),
    pods=(("gpu-operator", "driver-x", "uid-1"),),
    uids=("uid-1", "uid-2"),
    campaign="torture-hostile-1",
)
COUNT = 40


def drawn(account: Account, seed: int, count: int = COUNT) -> list[Attempt]:
    """What an account tries first."""
    chance = random.Random(f"{seed} {account}")  # noqa: S311
    return [attempt(account, WORLD, chance, (), ()) for _ in range(count)]


def test_every_row_of_the_table_of_streams_is_written_by_somebody() -> None:
    rows = {row for row in vars(table).values() if isinstance(row, Row)}
    written = {row for kind in KINDS for row in kind.rows}
    assert {row.name for row in rows - written} == set()


@pytest.mark.parametrize("account", Account)
def test_every_account_writes_each_of_its_kinds_and_tries_what_is_not_its_own(account: Account) -> None:
    tried = {each.kind for each in drawn(account, 0, 200)}
    assert {kind for kind in KINDS if kind.account is account} <= tried
    assert {kind for kind in tried if kind.account is not account}


@pytest.mark.parametrize("account", Account)
def test_what_is_written_is_json_that_comes_back_as_it_was(account: Account) -> None:
    for each in drawn(account, 7):
        text = json.dumps(each.body, allow_nan=False)
        assert json.loads(text) == each.body
        notes = each.body.get("metadata", {}).get("annotations") if isinstance(each.body.get("metadata"), dict) else {}
        if isinstance(notes, dict):
            assert all(len(value) <= ANNOTATION_MAX for value in notes.values() if isinstance(value, str))


@pytest.mark.parametrize("account", Account)
def test_a_seed_says_the_same_again_and_another_something_else(account: Account) -> None:
    def said(seed: int) -> list[Any]:
        return [(each.verb, each.path, each.rules, each.body) for each in drawn(account, seed)]

    assert said(3) == said(3)
    assert said(3) != said(4)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_finds_a_place_and_leaves_what_a_write_needs(rule: Any) -> None:
    changed = 0
    for number, kind in enumerate(KINDS):
        chance = random.Random(number)  # noqa: S311
        before = kind.sound(WORLD, chance)
        text = json.dumps(before, sort_keys=True)
        after, applied = mutated(before, Draw(chance=chance, uids=WORLD.uids, nodes=WORLD.nodes), 1, (rule.name,))
        assert json.dumps(before, sort_keys=True) == text, "a sound object stays sound"
        changed += after != before
        for kept in ("apiVersion", "kind"):
            assert after.get(kept) == before.get(kept)
        assert bool(applied) or not any(rule.fits(path, value) for path, value in places(before))
    assert changed


def test_made_objects_are_found_again_by_their_names() -> None:
    made = [each for account in Account for each in drawn(account, 5, 80) if each.verb == "POST"]
    assert made
    operands = {"daemonsets"}
    names = [each.body["metadata"]["name"] for each in made if each.kind.plural not in operands]
    assert [name for name in names if not name.startswith("hostile-")] == []
    assert max(map(len, names)) >= 253, "and some are as long as a name may be"


def test_author_and_approver_have_the_rights_of_the_shipped_manifests() -> None:
    (author,) = (
        rule for rule in people.shipped("ClusterRole", "seatrial-author")["rules"] if "create" in rule["verbs"]
    )
    assert author["resources"] == ["gpurollouts"]
    approver = people.shipped("ClusterRole", "seatrial-approver")["rules"]
    assert not any("create" in rule["verbs"] for rule in approver)
    assert people.shipped("ValidatingAdmissionPolicy", "seatrial-word")["spec"]["failurePolicy"] == "Fail"


def test_kinds_of_others_are_served_where_they_are_written() -> None:
    ours = {"seatrial.dev", "nvidia.com"}
    served = {(group, version, plural) for group, version, plural, _, _ in SERVED_HERE}
    for kind in KINDS:
        group, _, version = kind.group_version.rpartition("/")
        is_kubernetes = "." not in group or (group.endswith(".k8s.io") and group != "kueue.x-k8s.io")
        assert is_kubernetes or group in ours or (group, version, kind.plural) in served, kind.name
    assert keys.ROLLOUTS.endswith("gpurollouts")


SOUND: dict[str, Any] = {
    "deaths": [],
    "callback_seconds": 0.4,
    "leases": {"lost": 0, "twin_lost": 0},
    "end": "Done",
    "told": [],
    "unsaid": "",
    "names": ["hostile-", "torture-001"],
}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({}, ""),
        ({"deaths": [{"said": "ValueError: year 0 is out of range"}]}, "it died: ValueError: year 0 is out of range"),
        ({"callback_seconds": 1.3}, "a callback used 1.3 s of CPU"),
        ({"leases": {"lost": 2, "twin_lost": 0}}, "it lost its lease 2 times, its twin 0 times"),
        ({"leases": {"lost": 1, "twin_lost": 1}}, ""),
        ({"end": "Reverted"}, ""),
        ({"end": "Baking", "told": ["node torture-001 cannot be read"]}, ""),
        (
            {"end": "Baking", "told": ["the view of pods is out of date"]},
            "the campaign is Baking, and what is in its way is not named: the view of pods is out of date",
        ),
        (
            {"end": "Baking", "unsaid": "seatrial status ended with 1"},
            "the campaign is Baking, and what is in its way is not named: seatrial status ended with 1",
        ),
    ],
)
def test_what_is_wrong_is_said_and_nothing_else(said: dict[str, Any], found: str) -> None:
    assert "; ".join(playing.problems(SOUND | said)) == found
