"""Whether people are held to their own names: the chart's policy demands that a word bears its writer's.

Law of this file: what cannot be seen is no policy; a name is then told as claimed. Tests:
tests/cli/test_rollout_live.py, tests/chart/test_chart_real.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster

BINDING: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/seatrial-word"


async def is_held(cluster: Cluster) -> bool:
    """Whether the policy is there, as far as we may see."""
    from seatrial.adapters.kube.api import errors

    async with cluster.client() as client:
        try:
            await client.get(BINDING, dict)
        except errors.ServerRefused:
            return False
    return True
