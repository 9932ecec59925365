"""Who moves the nodes: chosen in one place, and asked the same questions whoever it is.

Who there is says the room of movers itself, so a new one is asked here without being named.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

import seatrial.core
import seatrial.core.movers
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import ByHand, Campaign, CampaignRecord, Mode, RolloutPhase
from seatrial.core.movers.by_hand import Hand
from seatrial.core.movers.direct import DIRECT, UNCHOSEN
from seatrial.core.movers.mover import asked_mode, mode_of, mover_of, mover_seen
from seatrial.core.movers.nvidia import LATE_SECONDS, NVIDIA
from seatrial.core.movers.view import Mover
from tests.builders import a_campaign, a_campaign_record, a_snapshot, an_intent, an_old_node, an_operator

CORE = Path(seatrial.core.__file__).parent
FIRMWARE = ByHand(component=Component.FIRMWARE_CX7)
BY_PEOPLE = an_intent(campaign=a_campaign(by_hand=FIRMWARE))
WORDS: Final[tuple[Mode | None, ...]] = (None, *Mode)
EVERYBODY: Final = tuple(mover_of(mode, BY_PEOPLE, an_operator()) for mode in WORDS)
ROOT: Final = Path(__file__).resolve().parents[3]


def _kinds(kind: type[Mover] = Mover) -> Iterator[type[Mover]]:
    """Every kind of mover in the room: those that leave no question open."""
    for each in kind.__subclasses__():
        if not inspect.isabstract(each) and each.__module__.startswith("seatrial."):
            yield each
        yield from _kinds(each)


def _load_the_room() -> None:
    for module in pkgutil.walk_packages(seatrial.core.movers.__path__, "seatrial.core.movers."):
        import_module(module.name)


def test_who_could_move_the_nodes_can_be_chosen() -> None:
    _load_the_room()
    assert {kind.__name__ for kind in _kinds()} == {type(mover).__name__ for mover in EVERYBODY}


def test_every_mover_lives_where_the_import_contracts_cover_it() -> None:
    _load_the_room()
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (apart,) = (each["modules"] for each in contracts if each["name"] == "no mover knows another")
    assert {kind.__module__ for kind in _kinds()} == set(apart)


def test_everybody_says_who_he_is_and_no_two_the_same() -> None:
    chosen = [mover for mover in EVERYBODY if mover.mode is not None]
    for words in ([mover.who for mover in chosen], [mover.who_moves for mover in chosen]):
        assert all(words)
        assert len(set(words)) == len(chosen)


def test_who_moves_is_asked_for_by_its_word_in_one_place_of_core() -> None:
    """Beside it, each mover says under which word it is written down, and the operator's facts what the cluster has."""
    words = "|".join(Mode.__members__)
    asks = re.compile(rf"\bMode\.({words})\b|by_hand is (not )?None|is_delegated")
    found = {str(path.relative_to(CORE)) for path in CORE.rglob("*.py") if asks.search(path.read_text())}
    own = {f"movers/{name}.py" for name in ("by_hand", "direct", "nvidia")}
    assert found == {"movers/mover.py", "model/seen/operators.py", "model/campaign.py", *own}


@pytest.mark.parametrize("mode", WORDS)
def test_every_word_has_its_mover(mode: Mode | None) -> None:
    assert mover_of(mode).mode is mode


def test_people_know_what_is_asked_of_them_and_who_moves_the_drivers_meanwhile() -> None:
    found = mover_of(Mode.BY_HAND, BY_PEOPLE, an_operator(is_auto_upgrading=True))
    assert found == Hand(asked=FIRMWARE, version="28.43.2026", drivers=NVIDIA)


@pytest.mark.parametrize(
    ("written", "campaign", "is_auto_upgrading", "mode"),
    [
        (Mode.DIRECT, a_campaign(mode=Mode.DELEGATED), True, Mode.DIRECT),
        (None, a_campaign(mode=Mode.DELEGATED), False, Mode.DELEGATED),
        (None, a_campaign(by_hand=FIRMWARE), True, Mode.BY_HAND),
        (None, a_campaign(), True, Mode.DELEGATED),
        (None, a_campaign(), False, Mode.DIRECT),
        (None, None, False, Mode.DIRECT),
    ],
)
def test_what_is_written_down_goes_before_what_is_asked_and_that_before_what_the_cluster_has(
    written: Mode | None, campaign: Campaign | None, is_auto_upgrading: bool, mode: Mode
) -> None:
    operator = an_operator(is_auto_upgrading=is_auto_upgrading)
    assert mode_of(CampaignRecord(mode=written), campaign, operator) is mode


def test_nobody_is_asked_outright_where_the_cluster_decides() -> None:
    assert (asked_mode(None), asked_mode(a_campaign())) == (None, None)


def test_before_anybody_is_chosen_people_alone_are_known() -> None:
    seen = a_snapshot(an_old_node(), campaign=a_campaign_record(RolloutPhase.PROPOSED, mode=None))
    assert mover_seen(seen) is UNCHOSEN
    assert mover_seen(seen, BY_PEOPLE).mode is Mode.BY_HAND


def test_only_nvidias_controller_starts_nodes_by_itself_and_later_than_it_was_let_in() -> None:
    assert [mover for mover in EVERYBODY if mover.starts_by_itself] == [NVIDIA]
    assert {mover.margin_seconds: mover for mover in EVERYBODY if mover.margin_seconds} == {LATE_SECONDS: NVIDIA}


def test_only_where_we_move_the_nodes_somebody_counts_what_it_costs() -> None:
    assert [mover for mover in EVERYBODY if mover.counts_losses] == [UNCHOSEN, DIRECT]


def test_people_are_kept_to_no_budget_and_need_no_gpu() -> None:
    assert [mover.mode for mover in EVERYBODY if not mover.is_automatic] == [Mode.BY_HAND]
    assert [mover.mode for mover in EVERYBODY if not mover.moves_drivers] == [Mode.BY_HAND]
