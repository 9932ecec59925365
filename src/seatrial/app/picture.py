"""A campaign as people look at it: where it stands, who is where, what was proven, what it waits for. Values only.

The tree of the terminal and the JSON of scripts are both drawn from it, so they never tell two stories. Tests:
tests/cli/test_rollout_tree.py
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from seatrial.app import waits
from seatrial.app.headline import Headline, headline_of
from seatrial.app.outcome import Outcome, outcome_of
from seatrial.core.base.values import dataclass
from seatrial.core.budget.losses import lost_gpu_seconds
from seatrial.core.campaign import canary
from seatrial.core.campaign.outlook import Outlook, outlook
from seatrial.core.campaign.waves import wave_order
from seatrial.core.model.campaign import BACK, ENDED, Campaign, CampaignRecord, RolloutPhase, Turn
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NOT_BEGUN, NodeSeen
from seatrial.core.model.seen.rollouts import Told, Waiting
from seatrial.core.movers import returning
from seatrial.core.movers.mover import mode_of, view_of
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Progress, for_people
from seatrial.core.text.moments import moment
from seatrial.core.words import causes

if TYPE_CHECKING:
    from seatrial.app.looking import Look

PINNED_SHOWN: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine:
    """One node that is worth a line of its own."""

    name: str
    standing: Progress
    state: str
    driver: str
    """The version that runs; where none does, the one that its driver pod has. Empty without a pod."""
    is_driver_ready: bool
    since: Instant | None
    told: Told | None
    """Why it waits, as far as the status says so of this very node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A campaign, at one moment."""

    at: Instant
    name: str
    target: str
    before: str
    """What ran before, where it was written down."""
    source: str
    entry: str
    """The entry of the matrix that it was made from; empty where there is no matrix."""
    campaign: Campaign
    record: CampaignRecord
    mode: str
    who_moves: str
    """Who moves the nodes, as a sentence."""
    canaries: tuple[NodeLine, ...]
    counts: tuple[tuple[Progress, int], ...]
    moving: tuple[NodeLine, ...]
    failed: tuple[NodeLine, ...]
    wave_sizes: tuple[int, ...]
    """How many nodes each wave adds."""
    wave_done: int
    """How many nodes of the current wave are done."""
    told: tuple[Told, ...]
    """Why it waits, the root cause first: the rollout as a whole, and nodes that something is in the way of."""
    to_go_back: tuple[str, ...] | None
    """On the way back, the nodes that are not back yet; None on the way there."""
    not_coming_back: tuple[str, ...]
    """On the way back, the nodes that a person has left out, and that stay as they are."""
    as_of: str
    """How old that is, and by whose word."""
    is_stale: bool
    """Whether nobody vouches for it any more."""
    written_at: Instant | None
    """When the controller wrote it; None where it was worked out here."""
    outcome: Outcome
    """How it stands, in a word."""
    headline: Headline
    """How it stands, for people: in four words, with a short why and the one command to run."""
    outlook: Outlook | None
    """How long it will take yet, or why that is unknown."""
    lost_gpu_hours: float | None
    """What it has cost; None where others move the nodes, and nobody counts it."""

    @property
    def total(self) -> int:
        return sum(count for _, count in self.counts)

    def count(self, standing: Progress) -> int:
        return dict(self.counts).get(standing, 0)

    @property
    def is_ended(self) -> bool:
        return self.record.phase in ENDED

    @property
    def failures(self) -> tuple[GateResult, ...]:
        return tuple(each for each in self.record.gates if each.verdict is GateVerdict.FAILED)

    @property
    def key(self) -> object:
        """What has to change for people to be told anew; time alone does not."""
        lines = tuple((line.name, line.state, line.standing) for line in (*self.canaries, *self.moving, *self.failed))
        return self.record, lines, self.counts, self.told, self.is_stale


def picture_of(found: Look) -> Picture | None:
    """The campaign that was looked at; None where there is none."""
    waiting = waits.waits_of(found)
    if found.sight is None or waiting is None or found.sight.intent.campaign is None:
        return None
    seen, intent = found.sight.seen, found.sight.intent
    campaign = found.sight.intent.campaign
    record = seen.rollout.campaign or CampaignRecord(entered_at=found.at)
    view = view_of(seen, intent, campaign, record, found.at)
    is_back = record.phase in BACK and not campaign.by_hand
    standing = {name: for_people(view.progress(name), node.facts) for name, node in seen.nodes.items()}
    lines = {
        name: _line(node, standing[name], waits.of_node(waiting, name)) for name, node in sorted(seen.nodes.items())
    }
    sizes, in_wave = _waves(view)
    chosen = record.canaries or canary.choose(seen.nodes, campaign.canary)
    counts = Counter(standing.values())
    done = sum(standing[name] is Progress.DONE for name in in_wave)
    return Picture(
        at=found.at,
        name=intent.rollout,
        target=view.target,
        before=", ".join(sorted({version for _, version in record.baseline})),
        source=_source(found, intent.rollout),
        entry=_entry(_matrix(found, intent.rollout)),
        campaign=campaign,
        record=record,
        mode=mode_of(record, campaign, seen.operator).value,
        who_moves=view.mover.who_moves,
        canaries=tuple(lines[name] for name in chosen if name in lines),
        counts=tuple((each, counts[each]) for each in Progress),
        moving=tuple(line for line in lines.values() if line.standing is Progress.MOVING),
        failed=tuple(line for line in lines.values() if line.standing is Progress.FAILED),
        wave_sizes=sizes,
        wave_done=done,
        told=_told(waiting),
        to_go_back=tuple(sorted(returning.away(view))) if is_back else None,
        not_coming_back=returning.taken_out(view) if is_back else (),
        as_of=waits.as_of(found, waiting),
        is_stale=waits.is_stale(found, waiting),
        written_at=waiting.written_at,
        outcome=outcome_of(found),
        headline=headline_of(found),
        outlook=outlook(view, waiting.rollout, waiting.nodes),
        lost_gpu_hours=lost_gpu_seconds(seen, found.at) / 3600 if view.mover.counts_losses else None,
    )


def _told(waiting: waits.Waits) -> tuple[Told, ...]:
    """What the rollout itself waits for, and what is in the way of nodes; the root cause is always among it."""
    own = {each.code for each in waiting.rollout}
    first = min((causes.place(each.code) for each in (*waiting.rollout, *waiting.nodes)), default=None)
    nodes = (
        each
        for each in waiting.nodes
        if each.code in causes.IN_THE_WAY
        or (each.code not in own and (causes.is_obstacle(each.code) or (own and causes.place(each.code) == first)))
    )
    return tuple(sorted((*waiting.rollout, *nodes), key=lambda each: causes.place(each.code)))


def _line(node: NodeSeen, standing: Progress, told: Told | None) -> NodeLine:
    facts, record = node.facts, node.record
    return NodeLine(
        name=node.name,
        standing=standing,
        state=record.phase.value if record is not None else facts.nvidia_state or NOT_BEGUN,
        driver=facts.running_driver or (facts.driver.version if facts.driver is not None else ""),
        is_driver_ready=facts.driver is not None and facts.driver.is_ready,
        since=record.entered_at if record is not None else None,
        told=told,
    )


def _waves(view: View) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """How many nodes each wave adds, and who is in the current one."""
    bounds, rest = wave_order(view)
    sizes = tuple(bound - before for before, bound in zip((0, *bounds), bounds, strict=False))
    if RolloutPhase.WAVING not in (view.record.phase, view.record.paused_in) or not bounds:
        return sizes, ()
    current = min(view.record.wave, len(bounds) - 1)
    return sizes, rest[bounds[current] - sizes[current] : bounds[current]]


def _matrix(found: Look, name: str) -> dict[str, Any]:
    raw = next((each for each in found.rollouts if each.name == name), None)
    return raw.spec.get("matrix") or {} if raw is not None else {}


def _entry(matrix: dict[str, Any]) -> str:
    return str(matrix.get("entry") or "canary") if matrix else ""


def _source(found: Look, name: str) -> str:
    matrix = _matrix(found, name)
    git, config, entry = matrix.get("git"), matrix.get("configMap"), _entry(matrix)
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
        "headline": headline_data(picture.headline),
        "name": picture.name,
        "target": picture.target,
        "from": picture.before,
        "source": picture.source,
        "phase": record.phase.value,
        "since": moment(record.entered_at),
        "pausedIn": record.paused_in.value if record.paused_in else None,
        "mode": picture.mode,
        "why": record.why,
        "canaries": [_node_data(line) for line in picture.canaries],
        "gates": [
            {
                "gate": each.gate,
                "node": each.node,
                "round": each.round,
                "verdict": each.said,
                "detail": each.detail,
                "at": moment(each.at),
            }
            for each in record.gates
        ],
        "bake": {
            "bakedSeconds": record.baked_seconds,
            "askedSeconds": campaign.bake.seconds,
            "round": record.round,
            "watched": _watched_data(record),
            "compared": _compared_data(record, campaign),
        },
        "waves": {"sizes": list(picture.wave_sizes), "current": record.wave + 1, "currentDone": picture.wave_done},
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
        "holds": [
            told_data(each.nodes[0] if isinstance(each, Waiting) else picture.name, each) for each in picture.told
        ],
        "said": {"by": "here" if picture.written_at is None else "controller", "at": moment(picture.written_at)},
        "lostGpuHours": picture.lost_gpu_hours,
        **_left_data(picture.outlook),
        "history": [turn_data(turn) for turn in record.history],
    }


def _left_data(found: Outlook | None) -> dict[str, Any]:
    """How long it will take yet, with what that rests on; or why it is unknown."""
    is_known = found is not None and found.seconds is not None
    return {
        "leftSeconds": found.seconds if found is not None else None,
        "leftIsFloor": found.is_floor if found is not None and is_known else None,
        "leftRestsOn": found.rests_on if found is not None and is_known else None,
        "leftUnknownBecause": found.rests_on if found is not None and not is_known else None,
    }


def headline_data(headline: Headline) -> dict[str, str]:
    """The first line, in its parts."""
    return {"word": headline.word.value, "why": headline.why, "command": headline.command}


def told_data(subject: str, told: Told) -> dict[str, Any]:
    """Why somebody waits, with its sentences."""
    return {
        "subject": subject,
        "code": str(told.code),
        "why": told.why,
        "next": told.next_step,
        "since": moment(told.since),
        "until": moment(told.until),
    }


def turn_data(turn: Turn) -> dict[str, Any]:
    """One change of phase."""
    return {"phase": turn.phase.value, "at": moment(turn.at), "why": turn.why}


def _node_data(line: NodeLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "standing": line.standing.value,
        "state": line.state,
        "driver": line.driver,
        "driverReady": line.is_driver_ready,
        "since": moment(line.since),
        "hold": told_data(line.name, line.told) if line.told else None,
    }


def _watched_data(record: CampaignRecord) -> dict[str, Any] | None:
    """What telemetry has shown; None where nobody watches."""
    exposed = record.exposed
    if exposed is None:
        return None
    return {
        "seconds": exposed.watched_seconds,
        "loadedGpuHours": exposed.loaded_gpu_hours,
        "soakedGpuHours": exposed.soaked_gpu_hours,
        "events": {each.name: each.events for each in exposed.rare},
        "lack": exposed.lack,
    }


def _compared_data(record: CampaignRecord, campaign: Campaign) -> dict[str, Any] | None:
    """What comparing figures says, in short; None where nothing is compared. `bake explain` has all of it."""
    if record.compared is None:
        return None
    from seatrial.core.words import speeds

    found = speeds.speeds_of(record, campaign)
    return {
        "figures": len(found.speeds),
        "excludedLoss": found.excluded,
        "askedLoss": campaign.bake.exclude or None,
        "isLossFound": found.is_failed,
        "notCompared": list(found.not_compared),
    }
