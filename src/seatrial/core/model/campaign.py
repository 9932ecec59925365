"""A careful rollout: what is asked of it (Campaign), what was written down of it (CampaignRecord). Values only.

    matrix commit ─▶ Campaign        canary, gates, bake, waves, windows, who has to say yes       asked
                     CampaignRecord  phase, canaries, the way back, verdicts, evidence, the wave   written by us
                     SourceFacts     what the matrix's home shows: head, entry, our commits        seen

A rollout without a Campaign moves nodes and nothing else: somebody else publishes, and every member may go at once. The
phases and what leads from one to the next are in rollout.py. Tests: tests/core/campaign/test_rollout.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass, field
from seatrial.core.compat.matrix import Component
from seatrial.core.model.fields import kept
from seatrial.core.model.gates.compared import Compared
from seatrial.core.model.gates.exposed import Exposed
from seatrial.core.model.gates.gate import Gate, GateResult, Word
from seatrial.core.model.gates.suite import Suite
from seatrial.core.model.instants import ApiInstant, Instant
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.requests import Request, RequestState

HOUR: Final = 3600.0
URL_MAX: Final = 4096
"""More than the definition allows: an address that is cut is another one."""
FIVE_PERCENT: Final = Share(amount=5, is_percent=True)


class Mode(StrEnum):
    """Who moves the nodes: we (direct), NVIDIA's upgrade controller (delegated), or people (by-hand)."""

    DIRECT = "direct"
    DELEGATED = "delegated"
    BY_HAND = "by-hand"


ASKED_BY_WORD: Final = tuple(mode for mode in Mode if mode is not Mode.BY_HAND)
"""Who may be asked for in spec.mode; that people move the nodes is said by spec.byHand."""
AUTO: Final = "auto"
"""The word for whoever the cluster is set up for."""


class RolloutPhase(StrEnum):
    """Where a campaign stands; the text is what the resource's status says."""

    PROPOSED = "Proposed"
    CANARY = "Canary"
    GATING = "Gating"
    BAKING = "Baking"
    WAVING = "Waving"
    PROMOTING = "Promoting"
    DONE = "Done"
    PAUSED = "Paused"
    REVERTING = "Reverting"
    REVERTED = "Reverted"


ENDED: Final = frozenset({RolloutPhase.DONE, RolloutPhase.REVERTED})
"""Phases after which a campaign holds nobody up."""
BACK: Final = frozenset({RolloutPhase.REVERTING, RolloutPhase.REVERTED})
"""Phases of the way back."""


class Via(StrEnum):
    """How a version reaches the cluster."""

    GIT = "git"
    """A commit to the path that a GitOps engine brings into the cluster."""
    DIRECT = "direct"
    """We write the resource that owns the drivers."""
    NOBODY = "none"
    """Somebody else publishes; we wait for it."""


class Point(StrEnum):
    """Where a person may have to say yes."""

    CANARY = "canary"
    WAVES = "waves"
    PROMOTION = "promotion"
    ROLLBACK = "rollback"


class PublishStep(StrEnum):
    """What a campaign changes outside of the nodes; each at most once, each found again by its name."""

    CANARY = "canary"
    FLEET = "fleet"
    PROMOTION = "promotion"
    REVERT = "revert"
    BAD = "bad"


PUBLISHING: Final = (PublishStep.CANARY, PublishStep.FLEET, PublishStep.PROMOTION)
"""Steps that a revert takes back, the newest first."""


# ── asked ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """Who goes first: the named nodes, or as many as asked for, chosen among those with these labels."""

    count: int = 1
    nodes: tuple[str, ...] = ()
    selector: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bake:
    """How long the canary has to hold, counted in hours with evidence, and how often its gates are asked again."""

    seconds: float = 48 * HOUR
    every_seconds: float = HOUR
    load_min: float = 0.0
    """For which share of its time every canary has to have worked, by telemetry; 0 asks for none."""
    exclude: float = 0.0
    """The loss of speed, as a share, that has to be ruled out before the fleet follows; 0 asks for none."""
    confidence: float = 0.99
    """How sure one has to be of that."""


class Growth(StrEnum):
    """How waves grow."""

    FIXED = "fixed"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"
    SHARES = "percentages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waves:
    """How the fleet follows the canary."""

    growth: Growth = Growth.EXPONENTIAL
    first: Share = FIVE_PERCENT
    step: Share = FIVE_PERCENT
    """What each wave is larger than the one before it, when growing linearly."""
    factor: int = 2
    shares: tuple[Share, ...] = ()
    """How much of the fleet is to be upgraded after each wave, when given as percentages."""
    pause_seconds: float = 0.0
    """How long a finished wave is watched before the next begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """A component that people move, node by node or for the whole cluster; the rules are in movers/by_hand.py."""

    component: Component
    """One of those that the rollout's target names."""
    before: str = ""
    """What it is to come from, as a plan has it; what is observed says it better."""
    instructions: str = ""
    is_one_way: bool = False
    """Nobody knows a way back from the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlace:
    """A file on a branch of a repository."""

    url: str = field(metadata=kept(length_max=URL_MAX))
    branch: str
    path: str

    def __str__(self) -> str:
        return f"{self.path} on {self.branch} of {self.url}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a campaign works in Git: the matrix, and the file that versions are published in."""

    matrix: GitPlace | None = field(default=None, metadata=kept("The matrix."))
    published: GitPlace | None = field(default=None, metadata=kept("The file that is brought into the cluster."))


NOWHERE: Final = Places()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What somebody told a rollout, for people; nothing is decided from it."""

    what: str
    by: str = ""
    """Who, as they signed; empty where nobody did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What a careful rollout is asked to do."""

    canary: Canary = field(default_factory=Canary)
    gates: tuple[Gate, ...] = ()
    suite_image: str | None = None
    """Where nobody has said a word about gates: what runs those that come with seatrial; empty where nobody knows."""
    bake: Bake = field(default_factory=Bake)
    waves: Waves = field(default_factory=Waves)
    openings: tuple[tuple[Instant, Instant], ...] | None = None
    """When work may begin, from the windows asked for; None where none were, and any time is right."""
    manual: tuple[Point, ...] = ()
    """Where a person has to say yes."""
    approved: tuple[Point, ...] = ()
    """Where a person has said yes."""
    tags_with_failures: bool = False
    """Whether a rollout with failed nodes is promoted, and its entry tagged, without an approval for it."""
    attested: tuple[Word, ...] = ()
    """What was said for gates that ask for somebody's word."""
    publish: Via = Via.DIRECT
    sets_on_delete: bool = False
    """Whether what is published has the DaemonSets of operands replace no pod by themselves."""
    is_one_way: bool = False
    """Whether a release may be brought that nobody can take back."""
    mode: Mode | None = None
    """Who is to move the nodes; None takes what the cluster has."""
    has_source: bool = False
    """Whether a matrix stands behind the target: it is then checked, promoted and marked."""
    abort: str = ""
    """Why somebody wants it undone; empty while nobody does."""
    marks_bad: bool = False
    """Whether that person rejects the version too, and wants its entry marked."""
    pool: str = ""
    """On OpenShift: the MachineConfigPool to make for the canary; empty makes none."""
    still: tuple[str, ...] = ()
    """On OpenShift: the MachineConfigPools to pause until the canary has proved itself."""
    prepull: bool = True
    """Whether the new driver's image is brought to a node before the node is touched."""
    by_hand: ByHand | None = None
    """What people move instead of a driver that we do; None where we do."""
    after: str = ""
    """The rollout that has to be Done before this one begins; empty where it comes after none."""
    places: Places = NOWHERE
    said: tuple[Spoken, ...] = ()
    """Who told it what, oldest first."""
    report: str = ""
    """Where people find its report; empty where nobody says."""

    @property
    def accepts_failures(self) -> bool:
        """Whether a person has said that it may be promoted without the nodes that failed."""
        return self.tags_with_failures or Point.PROMOTION in self.approved

    def rejects(self, record: CampaignRecord) -> bool:
        """Whether the way back marks the entry: for a verdict of ours, or because the person who undoes it says so."""
        return self.has_source and (bool(record.rejected) or self.marks_bad)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One value in the environment of a resource's driver manager."""

    resource: str
    name: str
    value: str | None = None
    """None where nothing is said."""


# ── written down ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One change of phase, for people."""

    phase: RolloutPhase
    at: Instant
    why: str = field(default="", metadata=kept(is_long=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A canary as it was last seen, by signs that stay when something came and went; watching.py has the rules."""

    node: str
    before: GpuOffer = field(default_factory=GpuOffer)
    """What it offered before anything was done to it."""
    boot_id: str = ""
    ready_at: ApiInstant | None = None
    driver: str = ""
    """The uid of its driver pod."""
    started_at: ApiInstant | None = None
    """When the driver's container started."""
    loaded_at: ApiInstant | None = None
    """Since when the driver has been usable."""
    lack: str = ""
    """What was missing from the proof that it is well, by its hold code; empty when nothing was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRecord:
    """What we wrote down of a campaign, in the status of its GPURollout."""

    phase: RolloutPhase = field(default=RolloutPhase.PROPOSED, metadata=kept(is_required=True))
    entered_at: Instant = 0.0
    paused_in: RolloutPhase | None = field(default=None, metadata=kept("The phase that continues after the pause."))
    mode: Mode | None = None
    canaries: tuple[str, ...] = ()
    baseline: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=kept(
            "What each resource that owns drivers carried before; the way back. `*` stands for DaemonSets without one.",
            pair=("resource", "version"),
        ),
    )
    places: Places | None = field(
        default=None,
        metadata=kept("Where it began to work in Git; it goes back there, whatever the spec says by then."),
    )
    switches: tuple[Switch, ...] = field(
        default=(),
        metadata=kept("How each resource had its driver manager's switches before; without a value it had none."),
    )
    """Empty where we leave them alone."""
    wave: int = field(default=0, metadata=kept("The wave, counted from 0."))
    settled_at: Instant = field(
        default=0.0, metadata=kept("When the wave was over; the next one begins after a pause.")
    )
    waved_seconds: float = field(
        default=0.0,
        metadata=kept("By attrition, how much of the time until the deadline was spent before wavingSince."),
    )
    waving_since: Instant = field(
        default=0.0,
        metadata=kept("By attrition, since when that time runs; absent in a pause or outside of windows."),
    )
    pull_round: int = field(
        default=0, metadata=kept("How often nodes that could not get the new driver's image were asked again.")
    )
    unpulled_at: Instant = field(
        default=0.0, metadata=kept("When a node had used up the tries of this round; absent while none has.")
    )
    is_forgetting: bool = field(
        default=False, metadata=kept("NVIDIA's controller is being made to forget the states it wrote.")
    )
    """It is switched off and on again for that."""
    suite: Suite | None = field(
        default=None,
        metadata=kept(
            "The gates that come with seatrial, asked because spec.gates is left out: which image runs them, and which "
            "are not asked of a canary that has nothing they could look at."
        ),
    )
    gates: tuple[GateResult, ...] = field(default=(), metadata=kept("The last verdict of each gate on each canary."))
    round: int = field(default=0, metadata=kept("How often the gates have been asked."))
    round_at: Instant = 0.0
    baked_seconds: float = field(
        default=0.0, metadata=kept("Evidence: how long the canary has been seen healthy.", is_always_written=True)
    )
    baked_until: Instant = 0.0
    exposed: Exposed | None = field(
        default=None,
        metadata=kept(
            "What telemetry has shown since the bake began; `seatrial bake explain` says what it proves. Absent where "
            "no monitoring system watches: then the clock alone counts."
        ),
    )
    compared: Compared | None = field(
        default=None,
        metadata=kept(
            "What figures of gates were before the upgrade and are since, on the canaries and on nodes like them, as "
            "sums; `seatrial bake explain` says what they prove. Absent where no gate measures."
        ),
    )
    watched: tuple[Watched, ...] = field(
        default=(),
        metadata=kept(
            "Each canary as it was last seen, and what it offered before; a reboot or a new start of its driver makes "
            "the evidence start again."
        ),
    )
    well_since: Instant = field(default=0.0, metadata=kept("Since when nothing has happened to the canaries."))
    unwell_since: Instant = field(default=0.0, metadata=kept("Since when one of them has not been well."))
    setback: str = field(default="", metadata=kept("Why the evidence last started again."))
    bake_asked_seconds: float | None = field(
        default=None, metadata=kept("How much evidence was asked for when the fleet began to follow.")
    )
    """What is asked for later changes nothing."""
    tag_base: str = field(default="", metadata=kept("The name of the tag, fixed when the promotion begins."))
    """A crash at midnight must not make two."""
    date: str = field(default="", metadata=kept("The day on which the promotion began."))
    rejected: str = field(
        default="",
        metadata=kept(
            "What was found against the version, while it stands: a failed gate, the bake, a canary whose driver does "
            "not load, more nodes failed than maxFailed. The way back marks the entry with it.",
            is_long=True,
        ),
    )
    why: str = field(default="", metadata=kept("Why it is undone.", is_long=True))
    history: tuple[Turn, ...] = field(default=(), metadata=kept("The last changes of phase."))

    @property
    def ending(self) -> str:
        """Why it is undone; once it is, with what stays as it is."""
        told = self.history[-1].why if self.history and self.phase is RolloutPhase.REVERTED else ""
        return told or self.why

    @property
    def has_asked(self) -> bool:
        """Whether gates were asked of a canary that had been upgraded."""
        return self.round > (self.compared.baseline_rounds if self.compared is not None else 0)

    @property
    def is_under_way(self) -> bool:
        """Whether something was written for it beyond its own status, and it has not ended; paused, it is as before."""
        return (self.paused_in or self.phase) not in (RolloutPhase.PROPOSED, *ENDED)


# ── seen ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """What the home of the matrix shows: a Git repository, a ConfigMap, or nothing where the stack is given inline."""

    trouble: str = ""
    """Why it cannot be looked at now; what was seen before stays."""
    is_barred: bool = False
    """Nobody may look at it: its address is none of those that the controller was started for."""
    since: Instant = 0.0
    """Since when it could not, or when it was last seen."""
    seen_at: Instant = 0.0
    """When it was last looked at, and seen."""
    every_seconds: float = 0.0
    """How often it is looked at; 0 where what is shown is of this very moment."""
    head: str = ""
    problem: str = ""
    """What is wrong with the entry as it stands there: not to be read, not there any more."""
    driver: str = ""
    """The driver version of the entry the rollout was made from, as it stands there now."""
    parts: tuple[tuple[str, str], ...] = ()
    """What else of a rollout's it names, by the key of the component; what it does not name, it has no word about."""
    bad: str = ""
    """Why the entry is marked bad, if it is."""
    is_rewritten: bool = False
    """The commit the rollout was made from is not in the history any more."""
    steps: tuple[tuple[PublishStep, str], ...] = ()
    """Our steps that are found there, and the commit of each."""
    proposals: tuple[tuple[PublishStep, str], ...] = ()
    """Our steps that wait for a person to merge them, and what they are asked to."""
    requests: tuple[tuple[PublishStep, Request], ...] = ()
    """The pull requests of our steps, where a forge is known; whether a step is done, `steps` alone says."""
    unasked: tuple[PublishStep, ...] = ()
    """Those of `proposals` for which the forge has no request yet."""
    forge_trouble: str = ""
    """Why the forge cannot be asked now; the requests seen before stay."""
    conflict: str = ""
    """Why our commits cannot be reverted, and what a person has to type."""
    tag: str = ""

    def commit_of(self, step: PublishStep) -> str:
        return next((commit for done, commit in self.steps if done is step), "")

    def requests_of(self, step: PublishStep, state: RequestState) -> tuple[Request, ...]:
        """The requests of a step in one state: one, or two where the matrix lives apart from the file."""
        return tuple(each for asked, each in self.requests if asked is step and each.state is state)
