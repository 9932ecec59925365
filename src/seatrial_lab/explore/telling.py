"""A story as a person reads it: what each act of it is called.

Law of this file: words only. Tests: tests/model/test_explore.py
"""

from __future__ import annotations

from typing import assert_never

from seatrial.core.actions import (
    Action,
    AskCheckpoint,
    Cordon,
    EvictPods,
    GuardRollout,
    MakePool,
    MarkBad,
    MarkNode,
    PauseClients,
    PausePool,
    Promote,
    Publish,
    ReleaseMaintenance,
    ReleaseRollout,
    RemovePool,
    RequestMaintenance,
    RestartPod,
    RevertCommits,
    SetAutoUpgrade,
    StartProbe,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.actions import WriteRolloutRecord as WriteLedger


def told(action: Action) -> str:
    """An act as a line of a story."""
    match action:
        case WriteLedger(record=record):
            campaign = record.campaign
            stage = f"{campaign.phase}, " if campaign is not None else ""
            names = ", ".join(f"{admission.node} (attempt {admission.attempt})" for admission in record.admitted)
            return f"the ledger is written: {stage}{names or 'nobody'}"
        case Cordon(node=node, record=record):
            return f"{node} is cordoned, and {record.phase} written"
        case Uncordon(node=node, record=record):
            return f"{node} is uncordoned, and {record.phase} written"
        case PauseClients(node=node, labels=labels):
            return f"{node}: {', '.join(key for key, _ in labels)} is paused"
        case WriteNodeRecord(node=node, record=record):
            return f"{node}: {record.phase} is written (attempt {record.attempt})"
        case EvictPods(node=node, pods=pods):
            return f"{node}: {len(pods)} pods are asked to leave"
        case AskCheckpoint(node=node, pods=pods):
            return f"{node}: {len(pods)} pods are asked to save their work"
        case RestartPod(node=node, operand=operand, uid=uid):
            return f"{node}: {operand} pod {uid} is deleted"
        case RequestMaintenance(node=node):
            return f"{node}: the maintenance operator is asked for the node"
        case ReleaseMaintenance(node=node):
            return f"{node}: the maintenance operator is told that the node is free"
        case MarkNode(node=node, canary=canary, skip=skip, is_retry=is_retry):
            wanted = (("canary", canary), ("skip", skip), ("upgrade-required", is_retry or None))
            marks = [f"{'' if is_set else 'no '}{name}" for name, is_set in wanted if is_set is not None]
            return f"{node} is marked: {', '.join(marks)}"
        case Publish(step=step, versions=versions, via=via):
            texts = ", ".join(f"{resource} {version}" for resource, version in versions)
            return f"published for the {step} ({via}): {texts}"
        case RevertCommits(commits=commits):
            return f"{', '.join(commits)} is reverted"
        case MarkBad():
            return "the entry is marked bad"
        case Promote(tag_base=tag):
            return f"the entry is promoted, and tagged {tag}"
        case StartProbe(gate=gate, node=node, round=number, attempt=attempt):
            return f"gate {gate.name} is asked on {node} (round {number}, try {attempt})"
        case SetAutoUpgrade(resource=resource, value=value):
            return f"NVIDIA's controller is switched {'on' if value else 'off'} in {resource}"
        case MakePool(name=name):
            return f"the pool {name} is made"
        case PausePool(name=name, value=value):
            return f"the pool {name} is {'paused' if value else 'resumed'}"
        case RemovePool(name=name):
            return f"the pool {name} is removed"
        case GuardRollout(rollout=name):
            return f"{name} gets our finalizer"
        case ReleaseRollout(rollout=name):
            return f"{name} loses our finalizer"
        case _:
            assert_never(action)
