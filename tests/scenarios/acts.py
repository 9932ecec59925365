"""Every act and every field of it, as cases: how things stand, the act, and each of its fields said differently.

A field of an act that somebody forgets to execute is a lie that no model test finds: the simulator believes the act. So
each class of `core/actions/` has cases here, and each field of it has in one of them another value with which the act
ends differently, in World and on the API server alike (`varies`). What World has no room for is compared where it lands
(`lands`). What makes no difference to anybody stands in `SILENT`, with the reason. A new class or field without a case
fails tests/scenarios/test_acts.py.

Played by tests/e2e/test_act_conformance.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, get_args

from seatrial.adapters.kube.reading.gates.probes import PAYLOAD, PAYLOAD_OPTIONS
from seatrial.adapters.kube.shapes import keys
from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import MarkBad, Message, Promote, Publish, RevertCommits
from seatrial.core.actions.of_campaigns import (
    EndProbe,
    MakePool,
    MarkNode,
    PausePool,
    RemovePool,
    SetAutoUpgrade,
    StartProbe,
)
from seatrial.core.actions.on_nodes import (
    KUEUE,
    AskCheckpoint,
    Cordon,
    EvictPods,
    PauseClients,
    ReleaseMaintenance,
    Request,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import GuardRollout, ReleaseRollout, WriteRolloutRecord
from seatrial.core.model.campaign import (
    CampaignRecord,
    GitPlace,
    Mode,
    Places,
    PublishStep,
    RolloutPhase,
    Switch,
    Turn,
    Via,
    Watched,
)
from seatrial.core.model.gates.compared import Compared, Comparison, Lens, Missing, Moments, Stream, Track
from seatrial.core.model.gates.exposed import Exposed, Exposure, Rare
from seatrial.core.model.gates.gate import Attest, Gate, GateResult, GateVerdict, Limit, Metric, Tenant
from seatrial.core.model.gates.suite import LeftOut, Suite
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.policy import Drain, Eviction, JobWait, Limits, Policy, Share
from seatrial.core.model.seen.marks import NEIGHBOURS, Place
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeRecord, Taken
from seatrial.core.model.seen.operands import Operand, OperandPod
from seatrial.core.model.seen.pods import DraPlugin, DriverPod, Pod, ValidatorPod
from seatrial.core.model.seen.rollouts import Admission, Cost, Rebuff, RolloutRecord, Summary, Told, Waiting
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.selectors import Selector
from seatrial.core.movers import driver_manager
from tests.builders import NEW, OLD
from tests.scenarios.two_stages import Build

FIRST, SECOND = "act-1", "act-2"
"""The nodes; acts are about the first."""
NAMESPACE, ELSEWHERE = "act-users", "act-others"
OPERATORS: Final = "act-operator"
"""The namespace of the operator's pods; one of our own, so that no other fleet's are in it."""
POLICY, DRIVER = "ClusterPolicy/act-policy", "NVIDIADriver/act-driver"
"""Names of resources that own drivers."""
HELM_RELEASE, APPLICATION, MANY = (
    f"HelmRelease/{OPERATORS}/act-gpu",
    f"Application/{OPERATORS}/act-gpu",
    f"Application/{OPERATORS}/act-many",
)
"""What holds the release of an operator; the last has several sources."""
PLAN: Final = f"InstallPlan/{OPERATORS}/act-install"
CSVS: Final = ("nvidia-network-operator.v25.4.0", "nvidia-network-operator.v25.7.0")
"""What OLM has installed, and what its plan would."""
RELEASED, NEXT = "v25.3.4", "v25.10.0"
"""The release that they say, and the one that is wanted."""
FILE: Final = "ClusterPolicy/gpu"
"""The one in the repository's file."""
OUTDATED: Final = "2"
"""A version that every object of the cluster has left behind; what World makes begins with 1."""
OURS, THEIRS, THIRD = "seatrial.dev", "nvidia.network.operator", "third.example"
CLIENT: Final = "nvidia.com/gpu.deploy.client"
WEBHOOK: Final = "http://webhook.invalid"
"""Stands for the address of the stage's own."""

# ── how things stand ─────────────────────────────────────────────────────────────────────────────────────────────────


class Sitter(StrEnum):
    """Whose pod is on the first node."""

    DRIVER = "driver"
    VALIDATOR = "validator"
    PLUGIN = "plugin"
    TOOLKIT = "toolkit"
    SAVER = "saver"
    """Holds a GPU, and offers to save its work."""
    QUEUED = "queued"
    """Holds a GPU, and belongs to a Workload of Kueue."""
    SERVICE = "service"
    """Holds a GPU."""


class Requestors(StrEnum):
    """Who has asked for the maintenance of the first node."""

    US = "us"
    THEM = "them"
    ALL = "all"
    """They, and later a third and we."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How things stand before the act; what is not named is not there."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    is_cordoned: bool = False
    sitters: tuple[Sitter, ...] = ()
    is_guarded: bool = False
    """A disruption budget allows nobody to be evicted."""
    is_unsaved: bool = False
    """The webhook says that the work is not saved yet."""
    requestors: Requestors | None = None
    policy: str = ""
    """The version that the ClusterPolicy carries."""
    driver: str = ""
    """The version that the NVIDIADriver carries."""
    holders: tuple[str, ...] = ()
    """What holds the release of an operator."""
    has_plan: bool = False
    """OLM has made an InstallPlan, which waits for approval."""
    pools: tuple[str, ...] = ()
    """MachineConfigPools of other people."""
    has_repository: bool = False
    before: tuple[Build, ...] = ()
    """What we did already, on both stages."""


PLAIN: Final = Setting()


class Look(Protocol):
    """Where acts land, beyond what the observer tells."""

    async def stored(self, path: str) -> dict[str, Any]:
        """An object as the API server has it."""
        ...

    def message(self) -> str:
        """The text of the newest commit."""
        ...

    def matrix(self) -> str:
        """The matrix as it stands in the repository."""
        ...

    def tagged(self) -> str:
        """The text of the tag."""
        ...

    def asked(self) -> list[dict[str, Any]]:
        """What the webhook was sent, the newest last."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """A field that neither World nor the observer has room for: what it says, and where that is found."""

    says: Callable[[Any], object]
    """Of the act."""
    found: Callable[[Look, Any], Awaitable[object]]


Other: TypeAlias = Callable[[Any, Snapshot], Action] | str | int | bool | tuple[Any, ...] | object
"""Another value for a field; or, where fields belong together, another act."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One act, and its fields said differently."""

    name: str
    kind: type
    act: Build
    setting: Setting = PLAIN
    varies: Mapping[str, Other] = field(default_factory=dict)
    lands: Mapping[str, Landing] = field(default_factory=dict)
    """By field."""
    is_repeated: bool = True
    """Whether the same act is tried a second time. An eviction is not: for a pod that is on its way out the server
    takes ten seconds to answer, and core asks for none."""

    def built(self, other: str = "") -> Build:
        """Makes the act, with one field said differently where one is named."""
        if not other:
            return self.act

        def build(seen: Snapshot) -> Action:
            act, value = self.act(seen), self.varies[other]
            if callable(value):
                varied: Action = value(act, seen)
                return varied
            return replace(act, **{other: value})  # type: ignore[arg-type]

        return build


def classes() -> tuple[type, ...]:
    """Every class of the union of acts."""
    return get_args(Action)


def covered(cases: Iterable[Case]) -> set[tuple[str, str]]:
    """The fields of acts that have a case, by the names of class and field."""
    return {(case.kind.__name__, name) for case in cases for name in {*case.varies, *case.lands}}


def unsaid(value: object, place: str = "") -> list[str]:
    """The fields of a value, and of whatever it is made of, that say what they would say anyway."""
    if isinstance(value, tuple):
        return [line for number, each in enumerate(value) for line in unsaid(each, f"{place}[{number}]")]
    if not is_dataclass(value) or isinstance(value, type):
        return []
    found = []
    for each in fields(value):
        inner, here = getattr(value, each.name), f"{place}.{each.name}".lstrip(".")
        default = each.default if each.default_factory is MISSING else each.default_factory()
        found += [here] if inner == default else unsaid(inner, here)
    return found


# ── what is said ─────────────────────────────────────────────────────────────────────────────────────────────────────

AT: Final = 1_790_000_000.125
"""To the millisecond, as we write times."""
OFFER: Final = GpuOffer(
    resources=(("nvidia.com/gpu", 8),),
    mig_config="all-1g.10gb",
    runtime_handlers=("nvidia",),
    has_dra_plugin=True,
    has_slices=True,
)
AUTOSCALER, KARPENTER, NVSENTINEL = (each.mark for each in NEIGHBOURS)
RECORD: Final = NodeRecord(
    phase=NodePhase.POD_DELETION_REQUIRED,
    attempt=2,
    entered_at=AT,
    is_cordon_ours=True,
    is_cordon_theirs=True,
    has_lost_driver=True,
    reopened_count=2,
    reason="eviction-timeout",
    trouble="module-in-use",
    failed_revision="abc",
    failures=1,
    old_pod="driver-1",
    is_requested=True,
    is_restart_only=True,
    moves_network=True,
    is_saving=True,
    before=OFFER,
    waived=OFFER,
    closed_at=AT - 1,
    boot_id="a-boot",
    paused=((CLIENT, "true"),),
    taken=Taken(why="waiting-costs-more", waiting_gpu_hours=12.5, evicting_gpu_hours=3.25),
    returned_at=AT - 4,
    marks=((KARPENTER.key, AT - 2), (NVSENTINEL.key, AT - 3)),
    marked_by="spring",
)
"""Every field says something."""
LEDGER: Final = RolloutRecord(
    name="",
    resource_version="",
    admitted=(Admission(node=FIRST, attempt=2, is_ahead=True),),
    summary=Summary(
        state="progressing",
        counts=(("upgrade-done", 1),),
        holds=(("paused", 2),),
        told=(Told(code="paused", why="It is paused.", next_step="Resume it.", since=AT - 60, until=AT + 60),),
        waiting=(
            Waiting(
                code="paused",
                why="It is paused.",
                next_step="Resume it.",
                since=AT - 60,
                until=AT + 60,
                nodes=(FIRST, SECOND),
                count=7,
            ),
        ),
        failed="1 (n2)",
        done=1,
        total=8,
    ),
    summarised_at=AT,
    lost_gpu_seconds=12.5,
    cost=Cost(
        idle_gpu_seconds=1.5,
        thrown_gpu_seconds=2.5,
        reload_gpu_seconds=3.5,
        evictions=4,
        evicting_gpu_seconds=5.5,
    ),
    rebuffs=((FIRST, Rebuff(at=AT, count=3, code="failed", detail="denied")),),
    attentive_since=AT - 1,
    generation=1,
    observed_generation=1,
    campaign=CampaignRecord(
        phase=RolloutPhase.PAUSED,
        entered_at=AT,
        rejected="2 nodes failed in the waves, 1 may",
        paused_in=RolloutPhase.WAVING,
        mode=Mode.DELEGATED,
        canaries=(FIRST,),
        switches=(Switch(resource=POLICY, name="ENABLE_AUTO_DRAIN", value="true"),),
        baseline=((POLICY, OLD.version),),
        places=Places(
            matrix=GitPlace(url="https://git.example/fleet", branch="main", path="matrix.yaml"),
            published=GitPlace(url="https://git.example/fleet", branch="live", path="gpu.yaml"),
        ),
        wave=2,
        settled_at=AT - 2,
        waved_seconds=90.5,
        waving_since=AT - 8,
        pull_round=3,
        unpulled_at=AT - 7,
        is_forgetting=True,
        gates=(
            GateResult(
                gate="nccl",
                node=FIRST,
                round=2,
                verdict=GateVerdict.FAILED,
                detail="3 % slower",
                at=AT - 3,
                asked="0123456789ab",
                is_left_out=True,
            ),
        ),
        round=2,
        round_at=AT - 4,
        baked_seconds=7200.5,
        baked_until=AT - 5,
        watched=(
            Watched(
                node=FIRST,
                before=OFFER,
                boot_id="boot-1",
                ready_at=AT - 8,
                driver="driver-1",
                started_at=AT - 9,
                loaded_at=AT - 10,
                lack="validator-not-ready",
            ),
        ),
        exposed=Exposed(
            canaries=(
                Exposure(
                    node=FIRST,
                    watched_seconds=600.5,
                    watched_gpu_hours=1.334,
                    loaded_gpu_hours=0.25,
                    soaked_gpu_hours=0.125,
                ),
            ),
            controls=(SECOND,),
            followers=("act-3",),
            rare=(
                Rare(
                    name="xid",
                    events=1,
                    watched_hours=1.334,
                    loaded_hours=0.25,
                    control_events=2,
                    control_hours=4.5,
                    log_ratios=(0.125, -0.5, 1.75, -2.25),
                ),
            ),
            since=AT - 13,
            watched_until=AT - 14,
            waiting_seconds=60.5,
            lack="act-1: 7 of 8 GPUs",
        ),
        suite=Suite(
            image="example.com/probes:1", left_out=(LeftOut(gate="rdma", node=FIRST, why="act-1 shows no device"),)
        ),
        compared=Compared(
            gates=(("speed", "0123456789ab"),),
            comparisons=(
                Comparison(
                    canary=FIRST,
                    controls=(SECOND,),
                    tracks=(
                        Track(
                            figure="matrix-bf16",
                            node=FIRST,
                            lens=Lens.PER_CLOCK,
                            unit="TFLOP/s",
                            gpu_count=8,
                            is_held=True,
                            before=Moments(count=3, mean=-6.5, squares=1.5e-06),
                            after=Stream(
                                moments=Moments(count=2, mean=0.0125, squares=2.5e-07), waiting=0.25, left_out=1
                            ),
                            paired_before=Moments(count=3, mean=-0.125, squares=3.5e-08),
                            paired=Stream(
                                moments=Moments(count=4, mean=0.0375, squares=4.5e-09), waiting=-0.5, left_out=2
                            ),
                        ),
                    ),
                    round=2,
                ),
            ),
            baseline_from=1,
            baseline_rounds=3,
            is_measured=True,
            missing_before=(Missing(node="act-4", why="its GPUs are in use by ml/train"),),
            missing=(Missing(node="act-5", why="it is cordoned"),),
        ),
        well_since=AT - 11,
        unwell_since=AT - 12,
        setback="act-1 was rebooted",
        bake_asked_seconds=3600.5,
        tag_base="v2026-10-stable",
        date="2026-10-01",
        why="gate nccl failed",
        history=(Turn(phase=RolloutPhase.PROPOSED, at=AT - 6, why="begun"),),
    ),
)
"""Every field says something, but for the two that name the rollout as it is."""
GATE: Final = Gate(
    name="nccl",
    image="example.invalid/nccl:1",
    probe="multi-gpu",
    command=("--only", "all-reduce"),
    gpus=2,
    all_gpus=True,
    not_on=(SECOND,),
    timeout_seconds=30.0,
    figures=(Limit(name="all-reduce", at_least=300.0, at_most=900.0),),
)
EMPTYING: Final = Policy(
    limits=Limits(
        parallel_max=3,
        unavailable_max=Share(amount=30, is_percent=True),
        idle_gpus_max=Share(amount=16, is_percent=True),
    ),
    jobs=JobWait(selector=Selector.parse("kind=job"), timeout_seconds=5.0),
    eviction=Eviction(force=True, delete_empty_dir=True, timeout_seconds=7.0),
    drain=Drain(
        is_enabled=True,
        selector=Selector.parse("app=web"),
        rules=Eviction(force=True, delete_empty_dir=True, timeout_seconds=9.0),
    ),
)
WITHOUT_DRAIN: Final = replace(EMPTYING, drain=Drain())
SAID: Final[Mapping[str, object]] = {
    "the record of a node": RECORD,
    "the record of a rollout": LEDGER,
    "a gate": replace(
        GATE,
        attest=Attest(asks="the tenants are content"),
        prometheus=Metric(query="max(errors)", unit="1/s", at_least=0.0, at_most=1.0),
        expression="true",
        tenant=Tenant(pod_selector="team=vision", pods=2, seconds=60.0),
        webhook="https://ci.example/ask",
    ),
    "a policy": EMPTYING,
}
"""Values with many fields, all of which have to say something: one that is new and says nothing is seen by nobody."""


# ── what is seen ─────────────────────────────────────────────────────────────────────────────────────────────────────


def version(seen: Snapshot, name: str = FIRST) -> str:
    return seen.nodes[name].facts.resource_version


def pod(seen: Snapshot, sitter: Sitter) -> Pod:
    return next(pod for pod in seen.nodes[FIRST].facts.pods if pod.name.startswith(sitter))


def held(seen: Snapshot) -> Maintenance:
    found = seen.nodes[FIRST].facts.maintenance
    assert found is not None
    return found


def carrier(seen: Snapshot, name: str = POLICY) -> str:
    return next(each.resource_version for each in seen.operator.carriers if each.name == name)


def holder(seen: Snapshot, resource: str) -> str:
    return next(each.resource_version for each in seen.operator.holders if each.resource == resource)


def pool(seen: Snapshot, name: str) -> str:
    return next(each.resource_version for each in seen.machine_pools if each.name == name)


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────

ASKED: Final = {
    keys.REQUESTED_ANNOTATION: "true",
    keys.SAFE_LOAD_ANNOTATION: "true",
    keys.ACCEPT_LOSS_ANNOTATION: "true",
}
"""Somebody asks for everything that can be asked for."""


def writing(
    kind: type[WriteNodeRecord], *, policy: str = "", is_cordoned: bool = False, is_marking: bool = True
) -> Case:
    """The case of a write that opens a phase; all four kinds have the same fields."""

    def act(seen: Snapshot) -> Action:
        return kind(
            node=FIRST,
            record=RECORD,
            expect=version(seen),
            labels=((CLIENT, "paused-for-driver-upgrade"),),
            answers=tuple(Request),
            marks=(KARPENTER, NVSENTINEL) if is_marking else (AUTOSCALER,),
            lifted=(AUTOSCALER,) if is_marking else (KARPENTER, NVSENTINEL),
        )

    there = (AUTOSCALER,) if is_marking else (KARPENTER, NVSENTINEL)
    labels = {mark.key: mark.value for mark in there if mark.place is Place.LABEL}
    notes = {mark.key: mark.value for mark in there if mark.place is Place.ANNOTATION}
    setting = Setting(
        labels={CLIENT: "true", **labels}, annotations={**ASKED, **notes}, is_cordoned=is_cordoned, policy=policy
    )
    varies: dict[str, Other] = {
        "node": SECOND,
        "record": replace(RECORD, phase=NodePhase.UPGRADE_DONE, before=None, paused=()),
        "expect": OUTDATED,
        "labels": (),
        "answers": (Request.SAFE_LOAD,),
        "marks": (),
        "lifted": (),
    }
    beside = " beside an operator" if policy else ""
    return Case(name=f"{kind.__name__}{beside}", kind=kind, act=act, setting=setting, varies=varies)


def marking(name: str, *, is_set: bool | None, setting: Setting, **varies: Other) -> Case:
    """The case of a campaign's marks on a node."""

    def act(seen: Snapshot) -> Action:
        return MarkNode(
            node=FIRST,
            rollout=seen.rollout.name,
            expect=version(seen),
            canary=is_set,
            skip=is_set,
            is_retry=is_set is not True,
            is_handed_over=False,
        )

    return Case(name=name, kind=MarkNode, act=act, setting=setting, varies=varies)


def _hand_over(seen: Snapshot) -> MarkNode:
    return MarkNode(node=FIRST, rollout=seen.rollout.name, expect=version(seen), is_handed_over=True)


FAILED: Final = {keys.NVIDIA_STATE_LABEL: "upgrade-failed"}

NODE_CASES: Final = (
    writing(WriteNodeRecord),
    writing(WriteNodeRecord, policy=OLD.version),
    writing(Cordon),
    writing(Uncordon, is_cordoned=True, is_marking=False),
    writing(PauseClients),
    marking(
        "MarkNode sets",
        is_set=True,
        setting=Setting(labels=FAILED, policy=OLD.version),
        node=SECOND,
        rollout="autumn",
        expect=OUTDATED,
        canary=None,
        skip=None,
        is_retry=True,
    ),
    Case(
        name="MarkNode hands its skip label over",
        kind=MarkNode,
        act=_hand_over,
        setting=Setting(labels={keys.SKIP_LABEL: "true"}, annotations={keys.SKIPPED_BY_ANNOTATION: "spring"}),
        varies={"expect": OUTDATED, "is_handed_over": False},
    ),
    marking(
        "MarkNode takes away, and asks for another try",
        is_set=False,
        setting=Setting(
            labels={**FAILED, keys.CANARY_LABEL: "spring", keys.SKIP_LABEL: "true"},
            annotations={keys.SKIPPED_BY_ANNOTATION: "spring"},
            policy=OLD.version,
        ),
        expect=OUTDATED,
        canary=None,
        skip=None,
        is_retry=False,
    ),
)


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

BOTH: Final = (Sitter.SAVER, Sitter.SERVICE)


def asking(name: str, *, webhook: str, setting: Setting, **varies: Other) -> Case:
    def act(seen: Snapshot) -> Action:
        return AskCheckpoint(
            node=FIRST, attempt=1, pods=(pod(seen, Sitter.SAVER),), token="spring.act-1.1", webhook=webhook
        )

    if "webhook_" in varies:
        varies["webhook"] = varies.pop("webhook_")
    if webhook:
        varies["node"] = lambda act, _: replace(act, node=SECOND, pods=())
    lands = {"node": Landing(says=lambda act: act.node, found=_asked_about)} if webhook else {}
    return Case(name=name, kind=AskCheckpoint, act=act, setting=setting, varies=varies, lands=lands)


async def _asked_about(look: Look, _act: AskCheckpoint) -> object:
    return look.asked()[-1]["node"]


def _suspend(seen: Snapshot) -> Action:
    return AskCheckpoint(node=FIRST, attempt=1, pods=(pod(seen, Sitter.QUEUED),), token="spring.act-1.1", webhook=KUEUE)


async def _suspended_for(look: Look, act: AskCheckpoint) -> object:
    (queued,) = act.pods
    found = await look.stored(keys.workload_path(queued.namespace, queued.workload))
    node: str = found["metadata"]["annotations"][keys.SUSPENDED_FOR_ANNOTATION]
    return node if found["spec"]["active"] is False else "nobody: it is active"


def restarting(operand: Operand, sitter: Sitter, other: Operand) -> Case:
    def act(seen: Snapshot) -> Action:
        return _restart(seen, operand)

    varies: dict[str, Other] = {
        "operand": lambda _, seen: _restart(seen, other),
        "namespace": ELSEWHERE,
        "pod": "nobody",
        "uid": "another",
    }
    return Case(
        name=f"RestartPod of the {sitter}",
        kind=RestartPod,
        act=act,
        setting=Setting(sitters=(Sitter.DRIVER, Sitter.VALIDATOR, Sitter.PLUGIN, Sitter.TOOLKIT)),
        varies=varies,
    )


def _restart(seen: Snapshot, operand: Operand) -> RestartPod:
    facts = seen.nodes[FIRST].facts
    found: DriverPod | ValidatorPod | DraPlugin | OperandPod | None
    match operand:
        case Operand.DRIVER:
            found = facts.driver
        case Operand.VALIDATOR:
            found = facts.validator
        case Operand.DRA_PLUGIN:
            found = facts.dra
        case _:
            found = next(each.pod for each in facts.operands if each.operand is operand)
    assert found is not None
    return RestartPod(node=FIRST, attempt=1, operand=operand, namespace=found.namespace, pod=found.name, uid=found.uid)


def _evict(seen: Snapshot) -> Action:
    return EvictPods(node=FIRST, attempt=1, pods=(pod(seen, Sitter.SAVER), pod(seen, Sitter.SERVICE)))


def _about(act: Any, *pods: Pod) -> Action:
    """The same act about these pods."""
    changed: Action = replace(act, pods=pods)
    return changed


def _one(act: Any, _seen: Snapshot) -> Action:
    return _about(act, act.pods[0])


def _gone(act: Any, _seen: Snapshot) -> Action:
    return _about(act, replace(act.pods[0], name="gone", uid="gone"))


def _another(act: Any, _seen: Snapshot) -> Action:
    return _about(act, replace(act.pods[0], uid="another"))


def _service(act: Any, seen: Snapshot) -> Action:
    return _about(act, pod(seen, Sitter.SERVICE))


POD_CASES: Final = (
    asking(
        "AskCheckpoint by annotation",
        webhook="",
        setting=Setting(sitters=BOTH),
        pods=_service,
        token="spring.act-1.2",
        webhook_=WEBHOOK,
    ),
    asking("AskCheckpoint of a pod that is another by now", webhook="", setting=Setting(sitters=BOTH), pods=_another),
    asking(
        "AskCheckpoint through a webhook", webhook=WEBHOOK, setting=Setting(sitters=BOTH), pods=_service, webhook_=""
    ),
    asking(
        "AskCheckpoint through a webhook that says not yet",
        webhook=WEBHOOK,
        setting=Setting(sitters=BOTH, is_unsaved=True),
        pods=_service,
    ),
    Case(
        name="AskCheckpoint by Kueue",
        kind=AskCheckpoint,
        act=_suspend,
        setting=Setting(sitters=(Sitter.QUEUED, Sitter.SERVICE)),
        varies={"pods": _service, "token": "spring.act-1.2", "webhook": ""},
        lands={"node": Landing(says=lambda act: act.node, found=_suspended_for)},
    ),
    Case(
        name="EvictPods",
        kind=EvictPods,
        act=_evict,
        setting=Setting(sitters=BOTH),
        varies={"pods": _one},
        is_repeated=False,
    ),
    Case(
        name="EvictPods that are gone",
        kind=EvictPods,
        act=_evict,
        setting=Setting(sitters=BOTH),
        varies={"pods": _gone},
        is_repeated=False,
    ),
    Case(
        name="EvictPods against a budget",
        kind=EvictPods,
        act=_evict,
        setting=Setting(sitters=BOTH, is_guarded=True),
        varies={"pods": _one},
    ),
    restarting(Operand.DRIVER, Sitter.DRIVER, Operand.VALIDATOR),
    restarting(Operand.VALIDATOR, Sitter.VALIDATOR, Operand.DRA_PLUGIN),
    restarting(Operand.DRA_PLUGIN, Sitter.PLUGIN, Operand.TOOLKIT),
    restarting(Operand.TOOLKIT, Sitter.TOOLKIT, Operand.DRIVER),
    Case(
        name="RestartPod of a toolkit that was made anew",
        kind=RestartPod,
        act=lambda seen: replace(_restart(seen, Operand.TOOLKIT), pod="toolkit-gone", uid="gone"),
        setting=Setting(sitters=(Sitter.TOOLKIT,)),
        varies={"uid": lambda _, seen: _restart(seen, Operand.TOOLKIT)},
    ),
)


# ── maintenance ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _request(seen: Snapshot, joins: str = "") -> RequestMaintenance:
    return RequestMaintenance(
        node=FIRST,
        attempt=1,
        namespace=NAMESPACE,
        name=held(seen).name if joins else f"ours-{FIRST}",
        requestor=OURS,
        policy=EMPTYING,
        joins=joins,
    )


async def _drained(look: Look, act: RequestMaintenance) -> object:
    spec = (await look.stored(f"{keys.maintenances_path(act.namespace)}/{act.name}"))["spec"]
    drain, jobs = spec["drainSpec"], spec["waitForPodCompletion"]
    return {
        "everybody": drain.get("podSelector"),
        "filters": len(drain.get("podEvictionFilters", ())),
        "force": drain["force"],
        "deleteEmptyDir": drain["deleteEmptyDir"],
        "timeoutSeconds": drain["timeoutSeconds"],
        "jobs": (jobs["podSelector"], jobs["timeoutSeconds"]),
    }


def _draining(act: RequestMaintenance) -> object:
    policy = act.policy
    rules = policy.drain.rules if policy.drain.is_enabled else policy.eviction
    return {
        "everybody": str(policy.drain.selector) if policy.drain.is_enabled else None,
        "filters": 0 if policy.drain.is_enabled else 2,
        "force": rules.force,
        "deleteEmptyDir": rules.delete_empty_dir,
        "timeoutSeconds": rules.timeout_seconds,
        "jobs": (str(policy.jobs.selector), policy.jobs.timeout_seconds),
    }


def _release(seen: Snapshot, *, is_ours: bool, stay: tuple[str, ...] = ()) -> ReleaseMaintenance:
    found = held(seen)
    return ReleaseMaintenance(
        node=FIRST,
        attempt=1,
        namespace=found.namespace,
        name=found.name,
        requestor=OURS,
        uid=found.uid,
        resource_version=found.resource_version,
        is_ours=is_ours,
        stay=stay,
    )


MAINTENANCE_CASES: Final = (
    Case(
        name="RequestMaintenance",
        kind=RequestMaintenance,
        act=_request,
        varies={
            "node": SECOND,
            "namespace": ELSEWHERE,
            "name": "another-name",
            "requestor": THIRD,
            "policy": WITHOUT_DRAIN,
            "joins": OUTDATED,
        },
        lands={"policy": Landing(says=_draining, found=_drained)},
    ),
    Case(
        name="RequestMaintenance where there is one of this name",
        kind=RequestMaintenance,
        act=lambda seen: replace(_request(seen), name=held(seen).name),
        setting=Setting(requestors=Requestors.US),
        varies={"name": "another-name"},
    ),
    Case(
        name="RequestMaintenance joins",
        kind=RequestMaintenance,
        act=lambda seen: _request(seen, held(seen).resource_version),
        setting=Setting(requestors=Requestors.THEM),
        varies={"requestor": THIRD, "joins": OUTDATED, "name": "another-name"},
    ),
    Case(
        name="ReleaseMaintenance of our own",
        kind=ReleaseMaintenance,
        act=lambda seen: _release(seen, is_ours=True),
        setting=Setting(requestors=Requestors.US),
        varies={"namespace": ELSEWHERE, "name": "another-name", "uid": "another", "is_ours": False},
    ),
    Case(
        name="ReleaseMaintenance of our own that has changed since",
        kind=ReleaseMaintenance,
        act=lambda seen: replace(_release(seen, is_ours=True), resource_version=OUTDATED),
        setting=Setting(requestors=Requestors.US),
        varies={"uid": "another"},
    ),
    Case(
        name="ReleaseMaintenance of theirs",
        kind=ReleaseMaintenance,
        act=lambda seen: _release(seen, is_ours=False, stay=(THIRD,)),
        setting=Setting(requestors=Requestors.ALL),
        varies={"namespace": ELSEWHERE, "name": "another-name", "resource_version": OUTDATED, "stay": ()},
    ),
)


# ── the rollout ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _ledger(seen: Snapshot) -> WriteRolloutRecord:
    record = replace(LEDGER, name=seen.rollout.name, resource_version=seen.rollout.resource_version)
    return WriteRolloutRecord(record=record)


def _probe(seen: Snapshot) -> StartProbe:
    return StartProbe(rollout=seen.rollout.name, gate=GATE, node=FIRST, round=2, attempt=1)


def _end(seen: Snapshot) -> EndProbe:
    (found,) = seen.measurements
    name = seen.rollout.name
    return EndProbe(rollout=name, gate=GATE.name, node=FIRST, round=2, attempt=1, job=found.job)


async def _job(look: Look, _act: StartProbe) -> object:
    (job,) = (await look.stored(keys.jobs_path(ELSEWHERE)))["items"]
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    return {
        "image": container["image"],
        "command": container.get("command"),
        "gpus": _counted(container["resources"]),
        "seconds": spec["activeDeadlineSeconds"],
    }


def _measuring(act: StartProbe) -> object:
    gate = act.gate
    return {
        "image": gate.image,
        "command": [*((*PAYLOAD, gate.probe, *PAYLOAD_OPTIONS) if gate.probe else ()), *gate.command] or None,
        "gpus": {"nvidia.com/gpu": str(gate.gpus)} if gate.gpus else None,
        "seconds": gate.timeout_seconds,
    }


def _counted(resources: dict[str, Any]) -> dict[str, str] | None:
    """The GPUs that a container counts on, beside the limits of every gate."""
    return {name: count for name, count in resources["limits"].items() if name.startswith("nvidia.com/")} or None


async def _claimed(look: Look, _act: StartProbe) -> object:
    (job,) = (await look.stored(keys.jobs_path(ELSEWHERE)))["items"]
    spec = job["spec"]["template"]["spec"]
    (claim,) = spec["resourceClaims"]
    template = await look.stored(f"{keys.claim_templates_path(ELSEWHERE)}/{claim['resourceClaimTemplateName']}")
    (asked,) = template["spec"]["spec"]["devices"]["requests"]
    limits = _counted(spec["containers"][0]["resources"])
    return asked["exactly"]["deviceClassName"], asked["exactly"]["count"], limits


def _claiming(act: StartProbe) -> object:
    return "gpu.nvidia.com", act.gate.gpus, None


def _gang(seen: Snapshot) -> StartProbe:
    return replace(_probe(seen), gate=replace(GATE, probe="distributed"), gang=(FIRST, SECOND))


async def _spread(look: Look, _act: StartProbe) -> object:
    (job,) = (await look.stored(keys.jobs_path(ELSEWHERE)))["items"]
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    service = await look.stored(f"{keys.services_path(ELSEWHERE)}/{pod['subdomain']}")
    return (
        spec["completionMode"],
        spec["completions"],
        [term["matchFields"][0]["values"] for term in terms],
        service["spec"]["clusterIP"],
    )


def _spreading(act: StartProbe) -> object:
    return "Indexed", len(act.gang), [[node] for node in act.gang], "None"


def _guard(seen: Snapshot) -> GuardRollout:
    return GuardRollout(rollout=seen.rollout.name, expect=seen.rollout.resource_version)


def _let_leave(seen: Snapshot) -> ReleaseRollout:
    return ReleaseRollout(rollout=seen.rollout.name, expect=seen.rollout.resource_version)


ROLLOUT_CASES: Final = (
    Case(
        name="GuardRollout",
        kind=GuardRollout,
        act=_guard,
        varies={"rollout": "nobody", "expect": OUTDATED},
    ),
    Case(
        name="ReleaseRollout",
        kind=ReleaseRollout,
        act=_let_leave,
        setting=Setting(before=(_guard,)),
        varies={"rollout": "nobody", "expect": OUTDATED},
    ),
    Case(
        name="WriteRolloutRecord",
        kind=WriteRolloutRecord,
        act=_ledger,
        varies={"record": lambda act, _: replace(act, record=replace(act.record, campaign=None, summary=None))},
    ),
    Case(
        name="WriteRolloutRecord at an old version",
        kind=WriteRolloutRecord,
        act=_ledger,
        varies={"record": lambda act, _: replace(act, record=replace(act.record, resource_version=OUTDATED))},
    ),
    Case(
        name="WriteRolloutRecord of another rollout",
        kind=WriteRolloutRecord,
        act=_ledger,
        varies={"record": lambda act, _: replace(act, record=replace(act.record, name="nobody"))},
    ),
    Case(
        name="StartProbe",
        kind=StartProbe,
        act=_probe,
        varies={
            "rollout": "nobody",
            "gate": Gate(name="smoke", image="example.invalid/smoke:2", gpus=0, timeout_seconds=60.0),
            "node": SECOND,
            "round": 3,
            "attempt": 2,
        },
        lands={"gate": Landing(says=_measuring, found=_job)},
    ),
    Case(name="EndProbe", kind=EndProbe, act=_end, setting=Setting(before=(_probe,))),
    Case(
        name="StartProbe where GPUs are claimed",
        kind=StartProbe,
        act=lambda seen: replace(_probe(seen), by_claim=True),
        varies={"rollout": "nobody"},
        lands={"by_claim": Landing(says=_claiming, found=_claimed)},
    ),
    Case(
        name="StartProbe of a gang",
        kind=StartProbe,
        act=_gang,
        varies={"node": SECOND, "gang": (SECOND, FIRST)},
        lands={"gang": Landing(says=_spreading, found=_spread)},
    ),
)


# ── versions ─────────────────────────────────────────────────────────────────────────────────────────────────────────

NOTE: Final = "spring/canary"


def _publish(seen: Snapshot, new: str = NEW.version) -> Publish:
    return Publish(
        rollout=seen.rollout.name,
        step=PublishStep.CANARY,
        versions=((POLICY, new),),
        via=Via.DIRECT,
        expects=((POLICY, carrier(seen)),),
        note=NOTE,
    )


def _switch(seen: Snapshot) -> Action:
    return SetAutoUpgrade(rollout=seen.rollout.name, resource=POLICY, value=True, expect=carrier(seen))


def _next_release(resource: str, seen: Snapshot) -> Publish:
    """The next release, written into what holds one."""
    return _releasing(seen, resource, NEXT, holder(seen, resource))


def _releasing(seen: Snapshot, resource: str, version: str, expect: str) -> Publish:
    return Publish(
        rollout=seen.rollout.name,
        step=PublishStep.CANARY,
        versions=((resource, version),),
        via=Via.DIRECT,
        expects=((resource, expect),),
        note=NOTE,
    )


def _approve(seen: Snapshot) -> Publish:
    """The approval of what OLM offers."""
    (plan,) = (each.plan for each in seen.operator.subscriptions if each.plan is not None)
    return _releasing(seen, PLAN, CSVS[1], plan.resource_version)


def releasing(name: str, resource: str) -> Case:
    """The case of a release that is written into what holds it."""
    return Case(
        name=name,
        kind=Publish,
        act=partial(_next_release, resource),
        setting=Setting(holders=(resource,)),
        varies={
            "versions": ((resource, "v25.10.1"),),
            "expects": ((resource, OUTDATED),),
            "note": "",
        },
    )


CARRIED: Final = Setting(policy=OLD.version, driver=OLD.version)

VERSION_CASES: Final = (
    Case(
        name="Publish into a resource",
        kind=Publish,
        act=_publish,
        setting=CARRIED,
        varies={
            "versions": ((POLICY, NEW.version), (DRIVER, NEW.version)),
            "expects": ((POLICY, OUTDATED),),
            "note": "",
            "switches": driver_manager.off(POLICY),
            "on_delete": True,
        },
    ),
    Case(
        name="Publish several versions into a resource",
        kind=Publish,
        act=lambda seen: _publish(seen, f"{NEW.version}, container_toolkit v1.18.1, validator v25.10.1"),
        setting=CARRIED,
        varies={"expects": ((POLICY, OUTDATED),)},
    ),
    Case(
        name="Publish what is there already",
        kind=Publish,
        act=lambda seen: _publish(seen, OLD.version),
        setting=CARRIED,
        varies={"expects": ()},
    ),
    Case(
        name="Publish into nothing",
        kind=Publish,
        act=lambda seen: replace(_publish(seen), versions=(("ClusterPolicy/gone", NEW.version),), expects=()),
        setting=CARRIED,
        varies={"versions": (("DaemonSet/driver", NEW.version),)},
    ),
    releasing("Publish a release into a HelmRelease", HELM_RELEASE),
    releasing("Publish a release into an Application", APPLICATION),
    releasing("Publish a release into one of several sources", MANY),
    Case(
        name="Publish a release that is there already",
        kind=Publish,
        act=lambda seen: replace(_next_release(HELM_RELEASE, seen), versions=((HELM_RELEASE, RELEASED),)),
        setting=Setting(holders=(HELM_RELEASE,)),
        varies={"expects": ()},
    ),
    Case(
        name="Publish a release into nothing",
        kind=Publish,
        act=lambda seen: replace(
            _next_release(APPLICATION, seen), versions=((f"{APPLICATION}-gone", NEXT),), expects=()
        ),
        setting=Setting(holders=(APPLICATION,)),
        varies={"versions": ((APPLICATION, NEXT),)},
    ),
    Case(
        name="Publish by approving an InstallPlan",
        kind=Publish,
        act=_approve,
        setting=Setting(has_plan=True),
        varies={
            "versions": ((PLAN, CSVS[0]),),
            "expects": ((PLAN, OUTDATED),),
            "note": "",
        },
    ),
    Case(
        name="Publish by approving an InstallPlan that is gone",
        kind=Publish,
        act=lambda seen: replace(_approve(seen), versions=((f"{PLAN}-gone", CSVS[1]),), expects=()),
        setting=Setting(has_plan=True),
        varies={"versions": ((PLAN, CSVS[1]),)},
    ),
    Case(
        name="SetAutoUpgrade",
        kind=SetAutoUpgrade,
        act=_switch,
        setting=Setting(policy=OLD.version),
        varies={"resource": "ClusterPolicy/gone", "value": False, "expect": OUTDATED},
    ),
)


# ── pools of machines ────────────────────────────────────────────────────────────────────────────────────────────────


def _make_pool(seen: Snapshot) -> Action:
    return MakePool(rollout=seen.rollout.name, name="act-canary")


POOL_CASES: Final = (
    Case(
        name="MakePool",
        kind=MakePool,
        act=_make_pool,
        setting=Setting(pools=("act-worker",)),
        varies={"rollout": "autumn", "name": "act-other"},
    ),
    Case(
        name="MakePool where there is one of this name",
        kind=MakePool,
        act=lambda seen: MakePool(rollout=seen.rollout.name, name="act-worker"),
        setting=Setting(pools=("act-worker",)),
        varies={"name": "act-other"},
    ),
    Case(
        name="RemovePool",
        kind=RemovePool,
        act=lambda seen: RemovePool(rollout=seen.rollout.name, name="act-canary", expect=pool(seen, "act-canary")),
        setting=Setting(pools=("act-worker",), before=(_make_pool,)),
        varies={"name": "act-gone", "expect": OUTDATED},
    ),
    Case(
        name="PausePool",
        kind=PausePool,
        act=lambda seen: PausePool(
            rollout=seen.rollout.name, name="act-worker", value=True, expect=pool(seen, "act-worker")
        ),
        setting=Setting(pools=("act-worker", "act-other")),
        varies={"rollout": "autumn", "name": "act-other", "value": False, "expect": OUTDATED},
    ),
    Case(
        name="PausePool that is gone",
        kind=PausePool,
        act=lambda seen: PausePool(rollout=seen.rollout.name, name="act-gone", value=True, expect=OUTDATED),
        setting=Setting(pools=("act-worker",)),
        varies={
            "name": lambda act, seen: replace(act, name="act-worker", expect=pool(seen, "act-worker")),
        },
    ),
)


# ── the repository ───────────────────────────────────────────────────────────────────────────────────────────────────


def _commit(seen: Snapshot) -> Publish:
    versions = ((FILE, NEW.version),)
    message = Message(subject="Driver 580 for the canary", body="It is the next one.")
    return Publish(rollout=seen.rollout.name, step=PublishStep.CANARY, versions=versions, via=Via.GIT, message=message)


def _revert(seen: Snapshot) -> RevertCommits:
    commit = seen.source.commit_of(PublishStep.CANARY) if seen.source is not None else ""
    message = Message(body="Reverted: gate nccl failed: 3 % slower.")
    return RevertCommits(rollout=seen.rollout.name, commits=(commit,), driver=NEW.version, message=message)


def _bad(seen: Snapshot) -> Action:
    message = Message(subject="Mark driver 580 as bad", body="Rejected.")
    return MarkBad(rollout=seen.rollout.name, driver=NEW.version, why="gate nccl failed: 3 % slower", message=message)


def _promote(seen: Snapshot) -> Action:
    message = Message(subject="Promote driver 580", body="The last wave is over.")
    return Promote(
        rollout=seen.rollout.name,
        date="2026-10-01",
        tag_base="v2026-10-stable",
        message=message,
        tag_message="Driver 580 in production",
    )


async def _words(look: Look, act: Any) -> object:
    """The words of the newest commit; of a revert only its body, since Git gives it its subject."""
    subject, *rest = look.message().split("\n\n")
    body = next((part for part in rest if not part.startswith(("This reverts", "Seatrial-"))), "")
    return Message(subject=subject if act.message.subject else "", body=body)


SAID_IN_COMMIT: Final = Landing(says=lambda act: act.message, found=_words)


async def _deployed(look: Look, _act: Any) -> object:
    """The day that production names; the set it had before keeps its own."""
    return look.matrix().partition("deployed: ")[2].partition("\n")[0].strip('"')


async def _tagged(look: Look, _act: Any) -> object:
    return look.tagged().partition("\n\n")[0]


IN_GIT: Final = Setting(has_repository=True)
WITH_CANARY: Final = Setting(has_repository=True, before=(_commit,))

REPOSITORY_CASES: Final = (
    Case(
        name="Publish by a commit",
        kind=Publish,
        act=_commit,
        setting=IN_GIT,
        varies={
            "rollout": "nobody",
            "step": PublishStep.FLEET,
            "versions": ((FILE, "590.48.01"),),
            "via": Via.DIRECT,
            "on_delete": True,
            "message": Message(subject="Another one", body="Somebody said so."),
        },
        lands={"message": SAID_IN_COMMIT},
    ),
    Case(
        name="Publish by a commit what is there already",
        kind=Publish,
        act=lambda seen: replace(_commit(seen), versions=((FILE, OLD.version),)),
        setting=IN_GIT,
        varies={"versions": ((FILE, NEW.version),)},
    ),
    Case(
        name="RevertCommits",
        kind=RevertCommits,
        act=_revert,
        setting=WITH_CANARY,
        varies={
            "rollout": "nobody",
            "commits": ("0" * 40,),
            "on_delete": (FILE,),
            "message": Message(body="Somebody said so."),
        },
        lands={"message": SAID_IN_COMMIT},
    ),
    Case(
        name="MarkBad",
        kind=MarkBad,
        act=_bad,
        setting=WITH_CANARY,
        varies={
            "rollout": "nobody",
            "driver": "590.48.01",
            "why": "somebody said so",
            "message": Message(subject="It is bad", body="Somebody said so."),
        },
        lands={"message": SAID_IN_COMMIT},
    ),
    Case(
        name="Promote",
        kind=Promote,
        act=_promote,
        setting=WITH_CANARY,
        varies={
            "rollout": "nobody",
            "date": "2026-11-02",
            "tag_base": "v2026-11-stable",
            "message": Message(subject="It is good", body="Somebody said so."),
            "tag_message": "Somebody said so",
        },
        lands={
            "date": Landing(says=lambda act: act.date, found=_deployed),
            "message": SAID_IN_COMMIT,
            "tag_message": Landing(says=lambda act: act.tag_message, found=_tagged),
        },
    ),
)


CASES: Final = (
    *NODE_CASES,
    *POD_CASES,
    *MAINTENANCE_CASES,
    *ROLLOUT_CASES,
    *VERSION_CASES,
    *POOL_CASES,
    *REPOSITORY_CASES,
)

_ID: Final = "it is part of the act's id, by which an act is found again, and of nothing else"
_PLACE: Final = "the pods are named one by one; it says under whose name the act is told and counted"
_ASKED: Final = "nobody is asked where everybody may push; tests/adapters/test_matrix_homes.py has a protected branch"
SILENT: Final[Mapping[tuple[str, str], str]] = {
    ("AskCheckpoint", "attempt"): _ID,
    ("EvictPods", "attempt"): _ID,
    ("RestartPod", "attempt"): _ID,
    ("RequestMaintenance", "attempt"): _ID,
    ("ReleaseMaintenance", "attempt"): _ID,
    ("EvictPods", "node"): _PLACE,
    ("RestartPod", "node"): _PLACE,
    ("ReleaseMaintenance", "node"): "the maintenance is named by namespace, name and uid",
    ("ReleaseMaintenance", "requestor"): "who stays is named in `stay`; who leaves is told to people",
    ("StartProbe", "given"): "an expression is worked out beside the cluster, which shows nothing of it",
    ("EndProbe", "rollout"): _ID,
    **dict.fromkeys((("EndProbe", each) for each in ("gate", "node", "round", "attempt")), "the Job has a name"),
    ("EndProbe", "job"): "World has no Jobs, and knows a measurement by its gate, node, round and attempt",
    ("SetAutoUpgrade", "rollout"): _ID,
    ("RemovePool", "rollout"): _ID,
    (
        "RevertCommits",
        "driver",
    ): "a repository has commits to take back; tests/controller/test_homes.py has what has none",
    ("AskToMerge", "rollout"): _ASKED,
    ("AskToMerge", "step"): _ASKED,
    ("AskToMerge", "message"): _ASKED,
    ("CloseRequest", "rollout"): _ASKED,
    ("CloseRequest", "step"): _ASKED,
    ("CloseRequest", "message"): _ASKED,
    ("ReleaseRollout", "left"): "it is told to people before the rollout goes, and written nowhere else",
}
"""Fields that change nothing, in World or in a cluster, and why that is right."""
