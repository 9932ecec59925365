"""A cluster in a file: read once, and told as far as it may be told.

Law of this file: nothing leaves it that core has not looked at. Tests: tests/cli/test_snapshot.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from seatrial.core.base.values import dataclass

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.core.survey.portable.recorded import Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOptions:
    """What is in it, and under which names."""

    with_logs: bool = True
    is_anonymous: bool = False


async def take(
    cluster: Cluster, options: SnapshotOptions, on_read: Callable[[str, int], None] | None = None
) -> Recorded:
    """The cluster as it may be told."""
    from seatrial.adapters.files.facts import vocabulary
    from seatrial.adapters.kube.portable import taking
    from seatrial.core.survey.portable import telling

    async with cluster.client("snapshot") as client:
        found = await taking.take(client, namespace=cluster.namespace, with_logs=options.with_logs, on_read=on_read)
    told = telling.told(found, vocabulary.texts())
    return telling.renamed(told, vocabulary.texts()) if options.is_anonymous else told
