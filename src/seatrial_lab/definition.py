"""The definition of GPURollout, with the status as our records declare it: `make deploy`.

The spec is written by hand in src/seatrial/manifests/crd.yaml; its last section, the status, is derived from the fields
of RolloutRecord, Summary and CampaignRecord. Tests: tests/test_manifests.py
"""

from __future__ import annotations

import textwrap
from typing import Final

import yaml

from seatrial import manifests
from seatrial.adapters.kube.shapes import rollout_records

PATH: Final = "src/seatrial/manifests/crd.yaml"
IN_CHART: Final = "charts/seatrial/files/crd.yaml"
STATUS: Final = " " * 12 + "status:\n"
NOTE: Final = "# Written by `make deploy` from RolloutRecord (core/model/seen/rollouts.py) and its parts; edit those.\n"


class _Dumper(yaml.SafeDumper):
    """Writes the same value out as often as it occurs."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True


def definition() -> str:
    """The whole definition."""
    by_hand, _, _ = manifests.crd().partition(STATUS)
    schema = rollout_records.status_schema()
    status = yaml.dump(schema, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return by_hand + STATUS + textwrap.indent(NOTE + status, " " * 14)
