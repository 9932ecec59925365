"""Brings together what an act was about, how it ended and who is to be told: Events on nodes and pods.

What is told is core/words/announce.py's; how it is sent is adapters/kube/writing/events.py's. It remembers, for acts
under way, the node they were decided on, and whose pods were moved; a restart forgets both, and a courtesy is lost at
most.

Tests: tests/controller/test_teller.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from seatrial.adapters.kube.shapes import keys, models, records
from seatrial.adapters.kube.writing.events import EventRecorder, EventType, Subject
from seatrial.bugs import Bug
from seatrial.controller import notices
from seatrial.core.actions.on_nodes import EvictPods, NodeAct, PauseClients, RestartPod, WriteNodeRecord
from seatrial.core.actions.on_rollouts import ReleaseRollout, WriteRolloutRecord
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import CampaignRecord
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.words import explain
from seatrial.core.words.announce import (
    PHASE_REASON,
    About,
    Announcement,
    Tone,
    announce,
    announce_bug,
    announce_left,
    announce_phase,
    announce_state,
)
from seatrial.ports import Outcome, Result
from seatrial.run.loop import Report

REASON: Final = "GPUDriverUpgrade"
"""The reason NVIDIA's controller uses, so that dashboards and habits keep working."""
UNREADABLE: Final = "RolloutUnreadable"
BUG: Final = "BugContained"
BLOCKED: Final = "EvictionBlocked"
FAREWELL_SECONDS: Final = 10.0
"""So long a rollout waits for its last Event to be sent."""
TYPES: Final = {Tone.NORMAL: EventType.NORMAL, Tone.WARNING: EventType.WARNING}
MOVING: Final = frozenset({NodePhase.POD_DELETION_REQUIRED, NodePhase.DRAIN_REQUIRED})


class Teller:
    """Is told of passes and outcomes; tells people."""

    def __init__(
        self,
        recorder: EventRecorder,
        *,
        rollout: Callable[[], models.Rollout | None] = lambda: None,
        notify: Callable[[str, bytes], None] = lambda _url, _body: None,
        is_uninstalling: bool = False,
    ) -> None:
        self._recorder = recorder
        self._rollout = rollout
        self._notify = notify
        self._is_uninstalling = is_uninstalling
        self._before: dict[str, NodeSeen | None] = {}
        self._turns: dict[str, tuple[CampaignRecord | None, str]] = {}
        """By write of a rollout: where it stood when that was decided; a look may show the write before its answer."""
        self._moved: set[str] = set()
        self._aside: frozenset[Hold] = frozenset()
        self._blocked: frozenset[str] = frozenset()

    def take(self, report: Report) -> None:
        """Remember on which nodes a pass has begun to act; right after the pass, before any act can end."""
        if report.decision is None or report.sight is None or report.breaches:
            return
        record = report.sight.seen.rollout
        stood = record.campaign, record.summary.state if record.summary is not None else ""
        aside = frozenset(held for held in report.decision.holds if held.code is HoldCode.ROLLOUT_UNREADABLE)
        for held in sorted(aside - self._aside, key=lambda held: held.subject):
            self._set_aside(held)
        self._aside = aside
        blocked = {held.subject: held for held in report.decision.holds if held.code is HoldCode.EVICTION_BLOCKED}
        for name in sorted(blocked.keys() - self._blocked):
            self._refused(blocked[name])
        self._blocked = frozenset(blocked)
        for action in report.decision.actions:
            if isinstance(action, NodeAct):
                self._before[action.id] = report.sight.seen.nodes.get(action.node)
            elif isinstance(action, WriteRolloutRecord):
                self._turns[action.id] = stood

    def tell(self, outcome: Outcome) -> None:
        """Tell how an act ended; a block is told while it lasts, and what is stale never happened."""
        action = outcome.action
        stood = self._turns.pop(action.id, None)
        if isinstance(action, WriteRolloutRecord) and stood is not None and outcome.result is Result.DONE:
            self._tell_phase(action, *stood)
        if not isinstance(action, NodeAct):
            return
        before = self._before.pop(action.id, None)
        if isinstance(action, EvictPods | PauseClients) and outcome.result in (Result.DONE, Result.BLOCKED):
            self._moved.add(action.node)
        if outcome.result in (Result.DONE, Result.FAILED):
            error = (outcome.detail or "no reason was given") if outcome.result is Result.FAILED else ""
            has_moved = action.node in self._moved
            said = announce(before, action, error, annotations=records.ANNOTATIONS, has_moved_pods=has_moved)
            for announcement in said:
                self._record(announcement, _subject(announcement, action, outcome.uid))
        if isinstance(action, WriteNodeRecord) and action.record.phase not in MOVING and outcome.result is Result.DONE:
            self._moved.discard(action.node)

    def _refused(self, held: Hold) -> None:
        """Tell, on the node and on the rollout, who does not let pods go: once, for as long as it lasts."""
        text, rollout = f"{explain.why(held)}. {explain.next_step(held)}", self._rollout()
        node = Subject(api_version="v1", kind="Node", name=held.subject, uid=held.subject)
        self._recorder.record(node, reason=REASON, message=text, type=EventType.WARNING)
        if rollout is not None:
            meta = rollout.metadata
            subject = Subject(api_version=keys.API_VERSION, kind="GPURollout", name=meta.name, uid=meta.uid)
            self._recorder.record(subject, reason=BLOCKED, message=f"{held.subject}: {text}", type=EventType.WARNING)

    def bug(self, rollout: str, bug: Bug) -> None:
        """Tell, on the rollout, of a bug of ours, and that the rollout is set aside for it."""
        subject = Subject(api_version=keys.API_VERSION, kind="GPURollout", name=rollout)
        self._recorder.record(subject, reason=BUG, message=announce_bug(bug.subject, bug.why), type=EventType.WARNING)

    def _set_aside(self, held: Hold) -> None:
        """Tell, on a rollout that nobody can read, why nothing happens to it: its status is not ours to write then."""
        subject = Subject(api_version=keys.API_VERSION, kind="GPURollout", name=held.subject)
        text = f"{explain.why(held)}. {explain.next_step(held)}"
        self._recorder.record(subject, reason=UNREADABLE, message=text, type=EventType.WARNING)

    async def farewell(self, action: ReleaseRollout) -> None:
        """Tell what stays of a rollout, and see it sent before the rollout goes."""
        said, rollout = announce_left(action.left, is_deleted=not self._is_uninstalling), self._rollout()
        uid = rollout.metadata.uid if rollout is not None and rollout.metadata.name == action.rollout else ""
        subject = Subject(api_version=keys.API_VERSION, kind="GPURollout", name=action.rollout, uid=uid)
        self._recorder.record(subject, reason=PHASE_REASON, message=said.text, type=TYPES[said.tone])
        await self._recorder.drain(FAREWELL_SECONDS)

    def _tell_phase(self, action: WriteRolloutRecord, before: CampaignRecord | None, state: str) -> None:
        """Tell of a turn that a rollout took, as an Event and to whoever wants to be notified."""
        rollout = self._rollout()
        campaign = action.record.campaign
        said = announce_phase(before, campaign) if campaign is not None else announce_state(state, action.record)
        for announcement in said:
            uid = rollout.metadata.uid if rollout is not None else ""
            subject = Subject(api_version=keys.API_VERSION, kind="GPURollout", name=action.record.name, uid=uid)
            self._recorder.record(
                subject, reason=PHASE_REASON, message=announcement.text, type=TYPES[announcement.tone]
            )
            wanted = rollout.spec.notifications if rollout is not None else None
            if wanted is not None and wanted.webhook:
                self._notify(wanted.webhook, notices.notice_of(action.record, announcement, wanted.format))

    def _record(self, announcement: Announcement, subject: Subject) -> None:
        self._recorder.record(subject, reason=REASON, message=announcement.text, type=TYPES[announcement.tone])


def _subject(announcement: Announcement, action: NodeAct, uid: str) -> Subject:
    if announcement.about is About.POD and isinstance(action, RestartPod):
        return Subject(api_version="v1", kind="Pod", name=action.pod, namespace=action.namespace, uid=action.uid)
    # Where no answer told us its uid: kubelets put the name there, and `kubectl describe node` finds both.
    return Subject(api_version="v1", kind="Node", name=action.node, uid=uid or action.node)
