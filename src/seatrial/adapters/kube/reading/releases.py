"""An operator with its releases: those that run, what says which are wanted, and what OLM would install.

Law of this file: whoever looks, once or all the time, reads releases here. Tests:
tests/adapters/kube/test_release_items.py, test_olm_items.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, TypeAlias

from seatrial.adapters.kube.reading import olm, operator_items, table
from seatrial.adapters.kube.reading.follower_places import is_place_of
from seatrial.adapters.kube.streams.row import Row, Where
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.releases import believed

ROWS: Final[tuple[Row[Any, Any], ...]] = (table.DEPLOYMENTS, table.APPLICATIONS, table.HELM_RELEASES, *table.OLM)
"""All that is read of releases."""
Found: TypeAlias = Callable[[Row[Any, Any]], Iterable[Any]]
"""What is seen of a row."""


def with_releases(operator: OperatorFacts, found: Found, where: Where) -> OperatorFacts:
    """The operator with the releases that run, and what says which are wanted."""
    csvs = tuple(found(table.CSVS))
    released = tuple(item.facts for item in found(table.DEPLOYMENTS) if item.facts is not None)
    held = (item.holder for row in (table.APPLICATIONS, table.HELM_RELEASES) for item in found(row) if item.holder)
    return operator_items.with_releases(
        operator,
        (*released, *olm.releases_of(found(table.OWNED_DEPLOYMENTS), csvs)),
        believed(held, released, partial(is_place_of, where)),
        olm.subscriptions_of(found(table.SUBSCRIPTIONS), found(table.INSTALL_PLANS), csvs),
    )
