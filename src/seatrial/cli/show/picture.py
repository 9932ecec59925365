"""A campaign as people look at it: where it stands, who is where, what was proven, what it waits for. Values only.

The tree of the terminal and the JSON of scripts are both drawn from it, so they never tell two stories. Tests:
tests/cli/test_rollout_tree.py
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from seatrial.cli.exit_codes import ExitCode
from seatrial.core.budget.losses import lost_gpu_seconds
from seatrial.core.campaign import canary
from seatrial.core.campaign.outlook import Outlook, outlook
from seatrial.core.campaign.step import wave_order
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import Campaign, CampaignRecord, Mode, RolloutPhase, Turn
from seatrial.core.model.gates import GateResult, Verdict
from seatrial.core.model.instants import Instant
from seatrial.core.model.snapshot import NodeSeen, RolloutRecord, Told
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Standing
from seatrial.core.words import conditions, explain

if TYPE_CHECKING:
    from seatrial.cli.show.look import Look

PINNED_SHOWN: Final = 12

HELD: Final = frozenset(code.value for code in conditions.NEEDS_SOMEBODY)
"""What only a person can end."""
UNSEEN: Final = frozenset(
    {
        HoldCode.SOURCE_UNREACHABLE,
        HoldCode.SOURCE_STALE,
        HoldCode.MATRIX_PROBLEM,
        HoldCode.MATRIX_CHANGED,
        HoldCode.HISTORY_REWRITTEN,
        HoldCode.SOURCE_BARRED,
        HoldCode.ENTRY_BAD,
        HoldCode.MERGE_PENDING,
        HoldCode.REVERT_CONFLICT,
        HoldCode.ACCESS_DENIED,
    }
)
"""What only the controller can see, in the home of the matrix or about its own rights: told by its word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine:
    """One node that is worth a line of its own."""

    name: str
    standing: Standing
    state: str
    driver: str
    since: Instant | None
    hold: Hold | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A campaign, at one moment."""

    at: Instant
    name: str
    target: str
    before: str
    """What ran before, where it was written down."""
    source: str
    campaign: Campaign
    record: CampaignRecord
    mode: str
    canaries: tuple[NodeLine, ...]
    counts: tuple[tuple[Standing, int], ...]
    moving: tuple[NodeLine, ...]
    failed: tuple[NodeLine, ...]
    wave_sizes: tuple[int, ...]
    """How many nodes each wave adds."""
    wave_done: int
    """How many nodes of the current wave are through."""
    holds: tuple[Hold, ...]
    """Why the rollout as a whole waits."""
    told: tuple[Told, ...]
    """What the controller says it waits for that cannot be seen from here."""
    outlook: Outlook | None
    """How long it will take yet."""
    lost_gpu_hours: float | None
    """What it has cost; None where others move the nodes, and nobody counts it."""

    @property
    def total(self) -> int:
        return sum(count for _, count in self.counts)

    def count(self, standing: Standing) -> int:
        return dict(self.counts).get(standing, 0)

    @property
    def is_ended(self) -> bool:
        return self.record.phase in (RolloutPhase.DONE, RolloutPhase.REVERTED)

    @property
    def is_held(self) -> bool:
        """Whether it waits for somebody."""
        if self.is_ended:
            return False
        return self.record.phase is RolloutPhase.PAUSED or any(
            code in HELD for code in (*(each.code for each in self.told), *(held.code for held in self.holds))
        )

    @property
    def failures(self) -> tuple[GateResult, ...]:
        return tuple(each for each in self.record.gates if each.verdict is Verdict.FAILED)

    @property
    def exit_code(self) -> ExitCode:
        """0 while it moves or is done, 10 when a gate failed, 12 when it waits for somebody."""
        if self.failures:
            return ExitCode.GATE_FAILED
        return ExitCode.HELD if self.is_held else ExitCode.OK

    @property
    def key(self) -> object:
        """What has to change for people to be told anew; time alone does not."""
        lines = tuple((line.name, line.state, line.standing) for line in (*self.canaries, *self.moving, *self.failed))
        codes = tuple((held.code, held.params) for held in self.holds)
        return self.record, lines, self.counts, codes, self.told


def picture_of(found: Look) -> Picture | None:
    """The campaign that was looked at; None where there is none."""
    if found.sight is None or found.decision is None or found.sight.intent.campaign is None:
        return None
    seen, intent = found.sight.seen, found.sight.intent
    campaign = found.sight.intent.campaign
    record = seen.rollout.campaign or CampaignRecord(entered_at=found.at)
    view = View(seen=seen, intent=intent, campaign=campaign, record=record, now=found.at)
    held = {each.subject: each for each in found.decision.holds}
    standing = {name: view.standing(name) for name in seen.nodes}
    lines = {name: _line(node, standing[name], held.get(name)) for name, node in sorted(seen.nodes.items())}
    sizes, in_wave = _waves(view)
    chosen = record.canaries or canary.choose(seen.nodes, campaign.canary)
    counts = Counter(standing.values())
    done = sum(standing[name] in (Standing.DONE, Standing.SKIPPED) for name in in_wave)
    holds = _holds(found, intent.rollout)
    return Picture(
        at=found.at,
        name=intent.rollout,
        target=view.target,
        before=", ".join(sorted({version for _, version in record.baseline})),
        source=_source(found, intent.rollout),
        campaign=campaign,
        record=record,
        mode=view.mode.value,
        canaries=tuple(lines[name] for name in chosen if name in lines),
        counts=tuple((each, counts[each]) for each in Standing),
        moving=tuple(line for line in lines.values() if line.standing is Standing.MOVING),
        failed=tuple(line for line in lines.values() if line.standing is Standing.FAILED),
        wave_sizes=sizes,
        wave_done=done,
        holds=holds,
        told=_told(seen.rollout, holds),
        outlook=outlook(view),
        lost_gpu_hours=lost_gpu_seconds(seen, found.at) / 3600 if view.mode is Mode.DIRECT else None,
    )


def _line(node: NodeSeen, standing: Standing, held: Hold | None) -> NodeLine:
    facts, record = node.facts, node.record
    return NodeLine(
        name=node.name,
        standing=standing,
        state=record.phase.value if record is not None else facts.nvidia_state or "not begun",
        driver=facts.driver.version if facts.driver is not None else "",
        since=record.entered_at if record is not None else None,
        hold=held,
    )


def _waves(view: View) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """How many nodes each wave adds, and who is in the current one."""
    bounds, rest = wave_order(view)
    sizes = tuple(bound - before for before, bound in zip((0, *bounds), bounds, strict=False))
    if view.record.phase is not RolloutPhase.WAVING or not bounds:
        return sizes, ()
    current = min(view.record.wave, len(bounds) - 1)
    return sizes, rest[bounds[current] - sizes[current] : bounds[current]]


def _holds(found: Look, name: str) -> tuple[Hold, ...]:
    if found.decision is None:
        return ()
    mine = tuple(held for held in found.decision.waits if held.subject == name and held.code not in UNSEEN)
    return tuple({held.code: held for held in mine}.values())


def _told(record: RolloutRecord, holds: tuple[Hold, ...]) -> tuple[Told, ...]:
    """What the controller wrote down as in the way, and cannot be seen from here."""
    told = record.summary.told if record.summary is not None else ()
    seen = {held.code for held in holds}
    return tuple(each for each in told if each.code in UNSEEN and each.code not in seen)


def _source(found: Look, name: str) -> str:
    raw = next((each for each in found.rollouts if each.name == name), None)
    matrix = raw.spec.get("matrix") or {} if raw is not None else {}
    git, config = matrix.get("git"), matrix.get("configMap")
    entry = matrix.get("entry") or "canary"
    if git:
        pinned = f"@{git['commit'][:PINNED_SHOWN]}" if git.get("commit") else ""
        return f"{git.get('url', '')} {git.get('branch', 'main')}{pinned} entry {entry}"
    if config:
        return f"ConfigMap {config.get('namespace')}/{config.get('name')} entry {entry}"
    return ""


# ── for scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def as_data(picture: Picture) -> dict[str, Any]:
    """Everything a picture shows."""
    record, campaign = picture.record, picture.campaign
    return {
        "name": picture.name,
        "target": picture.target,
        "from": picture.before,
        "source": picture.source,
        "phase": record.phase.value,
        "since": record.entered_at,
        "pausedIn": record.paused_in.value if record.paused_in else None,
        "mode": picture.mode,
        "why": record.why,
        "canaries": [_node_data(line) for line in picture.canaries],
        "gates": [
            {
                "gate": each.gate,
                "node": each.node,
                "round": each.round,
                "verdict": each.verdict.value,
                "detail": each.detail,
                "at": each.at,
            }
            for each in record.gates
        ],
        "bake": {
            "bakedSeconds": record.baked_seconds,
            "askedSeconds": campaign.bake.seconds,
            "round": record.round,
        },
        "waves": {"sizes": list(picture.wave_sizes), "current": record.wave, "currentDone": picture.wave_done},
        "nodes": {
            "total": picture.total,
            **{standing.value: count for standing, count in picture.counts},
            "nodesMoving": [_node_data(line) for line in picture.moving],
            "nodesFailed": [_node_data(line) for line in picture.failed],
        },
        "approvals": {
            "manual": [point.value for point in campaign.manual],
            "approved": [point.value for point in campaign.approved],
        },
        "holds": [hold_data(held) for held in picture.holds],
        "told": [{"code": each.code, "why": each.why, "next": each.next_step} for each in picture.told],
        "leftSeconds": picture.outlook.seconds if picture.outlook is not None else None,
        "lostGpuHours": picture.lost_gpu_hours,
        "leftIsFloor": picture.outlook.is_floor if picture.outlook is not None else None,
        "history": [turn_data(turn) for turn in record.history],
        "exitCode": int(picture.exit_code),
    }


def hold_data(held: Hold) -> dict[str, Any]:
    """One hold, with its sentences."""
    return {
        "subject": held.subject,
        "code": held.code.value,
        "why": explain.why(held),
        "next": explain.next_step(held),
        "since": held.since,
        "until": held.until,
    }


def turn_data(turn: Turn) -> dict[str, Any]:
    """One change of phase."""
    return {"phase": turn.phase.value, "at": turn.at, "why": turn.why}


def _node_data(line: NodeLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "standing": line.standing.value,
        "state": line.state,
        "driver": line.driver,
        "since": line.since,
        "hold": hold_data(line.hold) if line.hold else None,
    }
