"""Which NVIDIADriver owns a node: the rules of the GPU Operator, applied before the operator acts on them.

    1. the node's owner label, where the operator wrote one (v26.7 and later): its answer is the answer
    2. exactly one matching NVIDIADriver that is not the default
    3. the default NVIDIADriver
    4. nobody

Everything doubtful is a conflict, and a conflict is nobody's node: two that match, two defaults, a default that chooses
nodes, a selector with the operator's own key. The last three are faults of the set and not of a node, so they stop
every node that has no owner label yet: the operator then changes no owner label anywhere, and we guess none either.

Tests: tests/core/model/test_owners.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from seatrial.core.base.values import dataclass

OWNER_LABEL: Final = "nvidia.com/gpu-operator.driver.owner"
"""The node label in which the operator names the owner; reserved, so never a selector's key."""

GPU_PRESENT: Final[Mapping[str, str]] = {"nvidia.com/gpu.present": "true"}
"""What an absent selector means: every node with a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverClaim:
    """What one NVIDIADriver says about the nodes it wants."""

    name: str
    selector: Mapping[str, str] | None = None
    """None, the field being absent, means nodes with a GPU; an empty map means every node. They are not the same."""
    is_default: bool = False
    is_deleting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who owns a node: somebody by name, nobody, or nobody because of a conflict."""

    name: str = ""
    conflict: str = ""
    """A sentence for people; empty when there is none."""


NOBODY: Final = Owner()


def assign(claims: Iterable[DriverClaim], labels: Mapping[str, str]) -> Owner:
    """Who owns the node with these labels; the order of the claims does not matter."""
    known = sorted(claims, key=lambda claim: claim.name)
    living = [claim for claim in known if not claim.is_deleting]
    label = labels.get(OWNER_LABEL, "")
    if label:
        return _from_label(label, known)
    fault = _fault(living)
    if fault:
        return Owner(conflict=fault)
    wanting = [claim for claim in living if not claim.is_default and _wants(claim, labels)]
    if len(wanting) > 1:
        return Owner(
            conflict=f"NVIDIADrivers {_names(wanting)} all select this node, and only one may own it. "
            "Change their nodeSelectors so that one remains."
        )
    # The default takes what nobody else wants among the nodes with a GPU, also when its selector is an empty map.
    heirs = wanting or [claim for claim in living if claim.is_default and _has_all(labels, GPU_PRESENT)]
    return Owner(name=heirs[0].name) if heirs else NOBODY


def _from_label(label: str, known: Iterable[DriverClaim]) -> Owner:
    named = [claim for claim in known if claim.name == label]
    if not named:
        return Owner(
            conflict=f"the label {OWNER_LABEL} names NVIDIADriver {label}, which does not exist. "
            "Wait for the GPU Operator to correct the label, or remove it."
        )
    if named[0].is_deleting:
        return Owner(
            conflict=f"the label {OWNER_LABEL} names NVIDIADriver {label}, which is being deleted. "
            "Wait for the GPU Operator to find the node another owner."
        )
    return Owner(name=label)


def _fault(living: Iterable[DriverClaim]) -> str:
    """What is wrong with the NVIDIADrivers as a set; empty when nothing is."""
    reserved = [claim for claim in living if OWNER_LABEL in (claim.selector or {})]
    if reserved:
        return f"NVIDIADriver {_names(reserved)} selects by {OWNER_LABEL}, the operator's own key. Select by another."
    defaults = [claim for claim in living if claim.is_default]
    if len(defaults) > 1:
        return f"NVIDIADrivers {_names(defaults)} are all the default, and only one may be. Set default on one only."
    choosy = [claim for claim in defaults if claim.selector]
    if choosy:
        return f"NVIDIADriver {_names(choosy)} is the default and has a nodeSelector. Drop one of the two."
    return ""


def _wants(claim: DriverClaim, labels: Mapping[str, str]) -> bool:
    return _has_all(labels, GPU_PRESENT if claim.selector is None else claim.selector)


def _has_all(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


def _names(claims: Iterable[DriverClaim]) -> str:
    return " and ".join(claim.name for claim in claims)
