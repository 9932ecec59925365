"""What a campaign does to the home of the matrix, and to the resources that own drivers.

    Publish             have resources carry a version, by a commit or by writing them
    RevertCommits       take our commits back, and nobody else's
    MarkBad             write into the matrix that an entry was rejected
    Promote             move the entries of the matrix, and tag it
    AskToMerge          have a pull request ask people to merge a step that was pushed to a branch of ours
    CloseRequest        close it, since the rollout is undone

Law of this file: each has a step, which a campaign takes at most once. Tests: tests/core/actions/test_actions.py
"""

from __future__ import annotations

from typing import Final, TypeAlias

from seatrial.core.actions.on_rollouts import rollout_subject
from seatrial.core.base.values import dataclass, field
from seatrial.core.model.campaign import PublishStep, Switch, Via


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The words of a commit, for people: an act with better ones is the same act, so they are not compared."""

    subject: str = ""
    """Empty is the one that `git revert` gives."""
    body: str = ""


UNSAID: Final = Message()


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """Have resources that own drivers carry a version: by a commit, or by writing them."""

    rollout: str
    step: PublishStep
    versions: tuple[tuple[str, str], ...]
    """Each resource, such as `ClusterPolicy/cluster-policy`, and the version it is to carry."""
    via: Via
    expects: tuple[tuple[str, str], ...] = ()
    """The resource version of each as it was seen; for a commit there is none."""
    note: str = ""
    """Left on each resource with the version, so that a write which comes too late finds it changed."""
    switches: tuple[Switch, ...] = ()
    """What the driver manager of these resources is told in the same write; its other settings stay."""
    on_delete: bool = False
    """Whether a ClusterPolicy among them is told to have DaemonSets replace no pod by themselves, in the same write."""
    message: Message = field(default=UNSAID, compare=False)

    @property
    def id(self) -> str:
        return f"{self.rollout}/publish-{self.step}/" + "+".join(f"{name}={text}" for name, text in self.versions)

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/{self.step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertCommits:
    """Take back the commits of a campaign, and no others, by one commit."""

    rollout: str
    commits: tuple[str, ...]
    """The newest first."""
    driver: str
    """Where there are no commits, the version whose promotion is taken back."""
    on_delete: tuple[str, ...] = ()
    """ClusterPolicies whose DaemonSets replace no pod by themselves on the way back either: our commits said so."""
    message: Message = field(default=UNSAID, compare=False)

    @property
    def id(self) -> str:
        return f"{self.rollout}/revert/" + "+".join(self.commits)

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/{self.step}"

    @property
    def step(self) -> PublishStep:
        return PublishStep.REVERT


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkBad:
    """Write into the matrix that the entry was rejected, and why."""

    rollout: str
    driver: str
    """The versions the entry has to name, the driver first: another one, put there meanwhile, is not rejected."""
    why: str
    message: Message = field(default=UNSAID, compare=False)

    @property
    def id(self) -> str:
        return f"{self.rollout}/bad"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/{self.step}"

    @property
    def step(self) -> PublishStep:
        return PublishStep.BAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Promote:
    """Move the entries of the matrix (canary to production, production to rollback), and tag it."""

    rollout: str
    date: str
    tag_base: str
    message: Message = field(default=UNSAID, compare=False)
    tag_message: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        return f"{self.rollout}/promotion/{self.tag_base}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/{self.step}"

    @property
    def step(self) -> PublishStep:
        return PublishStep.PROMOTION


@dataclass(frozen=True, slots=True, kw_only=True)
class AskToMerge:
    """Have a pull request ask for a step: opened where there is none, its text written anew where it says another."""

    rollout: str
    step: PublishStep
    message: Message = field(default=UNSAID, compare=False)

    @property
    def id(self) -> str:
        return f"{self.rollout}/ask-to-merge/{self.step}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/{self.step}-request"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseRequest:
    """Close the pull request of a step that nobody is to merge any more; the branch stays."""

    rollout: str
    step: PublishStep
    message: Message = field(default=UNSAID, compare=False)

    @property
    def id(self) -> str:
        return f"{self.rollout}/close-request/{self.step}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/{self.step}-request"


StepAct: TypeAlias = Publish | RevertCommits | MarkBad | Promote
"""What a campaign changes there; each step of it at most once."""
RequestAct: TypeAlias = AskToMerge | CloseRequest
"""What it does on the forge, for a step that people merge."""
HomeAct: TypeAlias = StepAct | RequestAct
"""What a campaign does to the home of the matrix."""
