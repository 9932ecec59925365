"""Whatever others write, wherever it comes in: what we keep, show and commit of it has no control and an end.

Every door through which text of others comes in is here with a value that is made from it. The text is drawn; of the
value every text is looked at, however deep.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seatrial.adapters.files.matrix_yaml import read_matrix
from seatrial.adapters.git import answers, messages
from seatrial.adapters.git.errors import GitRefused, RevertConflict
from seatrial.adapters.git.proposals import describe
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.reading import items, operator_items, pod_items
from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.reading.pools import pool_item
from seatrial.adapters.kube.reading.rollout_intent import read_intent
from seatrial.adapters.kube.shapes import keys, kinds, models, operator_models, records
from seatrial.adapters.kube.shapes.campaign_models import Job, JobStatus, MachineConfigPool
from seatrial.adapters.kube.shapes.rollout_records import read_rollout
from seatrial.controller.log import Log
from seatrial.controller.matrix_text import MatrixPlace, look_at
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.text import foreign

TEXT_MAX: Final = 20_000
NAMESPACE: Final = "gpu-operator"
WHEN: Final = "2026-11-15T10:00:00Z"

SOME: Final = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.sampled_from(
            ["\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\0", "\r\n", "\u202e", "\u2066", "\x7f", "\ufeff", "x" * 5000]
        ),
    ),
    max_size=8,
).map("".join)


def every_text(value: object) -> Iterator[str]:
    """Every text of a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from every_text(key)
            yield from every_text(inner)
    elif isinstance(value, tuple | list | frozenset):
        for inner in value:
            yield from every_text(inner)
    elif is_dataclass(value):
        for each in fields(value):
            yield from every_text(getattr(value, each.name))
    elif isinstance(value, Exception):
        yield str(value)
        yield from every_text(vars(value))


def is_clean(text: str) -> bool:
    return text.replace("\n", "").isprintable() and len(text) <= TEXT_MAX


# ── the doors ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _node(text: str) -> object:
    return items.node_item(
        kinds.Node(
            metadata=models.ObjectMeta(
                name="n1",
                annotations={f"{keys.OBSERVED_PREFIX}firmware_cx7": text, keys.SKIPPED_BY_ANNOTATION: text},
            ),
            status=kinds.NodeStatus(
                node_info=kinds.NodeInfo(kernel_version=text, kubelet_version=text),
                conditions=(
                    models.Condition(type="DiskPressure", status="True", message=text),
                    models.Condition(type="Ready", status="False", reason=text, message=text),
                ),
            ),
        )
    )


def _record_on_a_node(text: str) -> object:
    note = {"schema": records.SCHEMA, "phase": "upgrade-failed", "attempt": 1, "enteredAt": WHEN}
    facts = NodeFacts(name="n1")
    return (
        records.read_node(facts, "upgrade-failed", json.dumps(note | {"reason": text, "trouble": text})),
        records.read_node(facts, "upgrade-failed", json.dumps(note | {"phase": text})),
        records.read_node(facts, text, json.dumps(note)),
        records.read_node(facts, "", text),
    )


def _states(text: str) -> tuple[kinds.ContainerStatus, ...]:
    ended = kinds.Terminated(reason=text, message=text, exit_code=1)
    return (
        kinds.ContainerStatus(
            name="nvidia-driver-ctr",
            state=kinds.ContainerState(waiting=kinds.Waiting(reason=text, message=text)),
            last_state=kinds.ContainerState(terminated=ended),
        ),
        kinds.ContainerStatus(name="other", state=kinds.ContainerState(terminated=ended)),
    )


def _driver_pod(text: str) -> object:
    labels = {"app": "nvidia-driver-daemonset"}
    pod = kinds.Pod(
        metadata=kinds.PodMeta(name="driver", namespace=NAMESPACE, uid="u", labels=labels),
        spec=kinds.PodSpec(node_name="n1"),
        status=kinds.PodStatus(phase="Running", container_statuses=_states(text)),
    )
    return pod_items.pod_item(pod, NAMESPACE)


def _user_pod(text: str) -> object:
    notes = kinds.PodAnnotations(checkpoint="true", checkpoint_requested=text, checkpoint_saved=text)
    pod = kinds.Pod(
        metadata=kinds.PodMeta(name="job", namespace="team", uid="u", annotations=notes),
        spec=kinds.PodSpec(node_name="n1"),
        status=kinds.PodStatus(phase="Running"),
    )
    return pod_items.pod_item(pod, NAMESPACE)


def _warning(text: str) -> object:
    about = kinds.ObjectReference(kind="Pod", uid="u", name="driver")
    return items.warning_item(kinds.Event(involved_object=about, type="Warning", reason=text, message=text))


def _gate(text: str, *, reason: str = "BackoffLimitExceeded", has_run: bool = True) -> object:
    notes = {keys.GATE_KEY: "smoke", keys.NODE_KEY: "n1", keys.ROUND_KEY: "1", keys.ATTEMPT_KEY: "1"}
    owner = models.OwnerReference(kind="GPURollout", uid="r", name="spring", controller=True)
    failed = models.Condition(type="Failed", status="True", reason=reason, message=text)
    probe = probes.probe_item(
        Job(
            metadata=models.ObjectMeta(name="gate", annotations=notes, owner_references=(owner,)),
            status=JobStatus(conditions=(failed,)),
        )
    )
    states = _states(text) if has_run else ()
    pod = probes.probe_pod_item(
        kinds.Pod(status=kinds.PodStatus(phase="Failed", reason=text, container_statuses=states))
    )
    assert probe is not None
    return (probe, pod, probes.measurement_of(probe, [pod]))


def _operator(text: str) -> object:
    wrote = models.ManagedFields(manager=text, time=WHEN, fields={"f:spec": {"f:version": {}}})
    meta = models.ManagedMeta(name="a", managed_fields=(wrote,), annotations={keys.PUBLISHED_ANNOTATION: text})
    spec = operator_models.NvidiaDriverSpec(version=text)
    driver = operator_models.NvidiaDriver(metadata=meta, spec=spec, status=operator_models.StateStatus(state=text))
    said: list[str] = []
    found = operator_items.operator_facts((), (driver,), has_owned_nodes=True, on_fault=said.append)
    policy = operator_models.ClusterPolicy(
        metadata=meta,
        spec=operator_models.ClusterPolicySpec(driver=operator_models.PolicyDriver(version=text)),
        status=operator_models.StateStatus(state=text),
    )
    both = operator_items.operator_facts((policy,), (), has_owned_nodes=False, on_fault=said.append)
    return (found, both, tuple(said))


def _maintenance(text: str) -> object:
    spec = kinds.NodeMaintenanceSpec(requestor_id=text, additional_requestors=(text,), node_name="n1")
    return items.maintenance_item(kinds.NodeMaintenance(spec=spec))


def _pool(text: str) -> object:
    return pool_item(MachineConfigPool(metadata=models.ObjectMeta(annotations={keys.PAUSED_BY_ANNOTATION: text})))


def _status_of_a_rollout(text: str) -> object:
    """What an older release wrote into a status before it knew better."""
    campaign = {
        "phase": "Reverting",
        "why": text,
        "gates": [{"gate": "smoke", "node": "n1", "round": 1, "verdict": "failed", "detail": text}],
        "history": [{"phase": "Reverting", "at": WHEN, "why": text}],
        "baseline": [{"resource": "ClusterPolicy/gpu", "version": text}],
    }
    status = {
        "state": "Progressing",
        "campaign": campaign,
        "waits": [{"code": "a", "why": text, "next": text}],
        "turnedDown": [{"subject": "n1", "at": WHEN, "detail": text}],
    }
    return read_rollout(models.Rollout(metadata=models.ObjectMeta(name="spring"), status=status))


def _spec_of_a_rollout(text: str) -> object:
    by_hand = models.RolloutByHand(component="nccl", version="2.27.3", before=text, instructions=text)
    spec = models.RolloutSpec(
        target={"driver": "580.105.08"},
        canary=models.RolloutCanary(),
        abort=text,
        by_hand=by_hand,
        publish=models.RolloutPublish(via="none"),
    )
    return read_intent(models.Rollout(metadata=models.ObjectMeta(name="spring"), spec=spec), OperatorFacts(), 0.0)


def _refusal(text: str) -> object:
    causes = [{"reason": text, "message": text, "field": text}] * 40
    details = {"name": text, "kind": text, "causes": causes}
    body = json.dumps({"reason": text, "message": text, "details": details}).encode()
    told = {"request": "patch node n1", "where": "the server", "renewal": "log in"}
    return tuple(
        errors.refusal(errors.read_status(code, raw), **told)
        for code in (401, 403, 404, 409, 422, 429, 500)
        for raw in (body, text.encode())
    )


def _matrix(text: str) -> object:
    quoted = json.dumps(text)
    yaml = (
        f"versions:\n  canary:\n    driver: {quoted}\n    bad: {quoted}\n    status: {quoted}\n    {quoted}: 1\n"
        f"    accept:\n      - {{rule: {quoted}, reason: {quoted}}}\n  {quoted}: {quoted}\n"
    )
    place = MatrixPlace(file="matrix.yaml", entry="canary")
    reading = read_matrix(yaml, "matrix.yaml")
    return (reading.matrix, reading.findings, look_at(yaml, place))


def _git(text: str) -> object:
    said = answers.rejection(f"!\trefs/heads/main\t[remote rejected] ({text})\n", f"remote: {text}\n")
    return (
        GitRefused(f"The remote says: {text}"),
        RevertConflict(f"In {text}.", files=(), commands=()),
        answers.remote_error(f"fatal: Authentication failed: {text}", url="https://git.example/x", branch="main") or "",
        said.why if said is not None else "",
        describe(f"{text}\n\n{text}\n", branch="seatrial/a/b", base="main", commit="0" * 40).text,
    )


def _commit_message(text: str) -> object:
    return messages.compose(f"Mark as bad {text}", f"Rejected: {text}", messages.trailers("r", "bad"))


def _log(text: str) -> object:
    out = io.StringIO()
    Log(out).say("fault", why=text)
    written = out.getvalue()
    assert written.count("\n") == 1
    return written[: foreign.LINES_MAX]


DOORS: Final[dict[str, Callable[[str], object]]] = {
    "a node's conditions and annotations": _node,
    "a record on a node": _record_on_a_node,
    "a driver pod": _driver_pod,
    "a job's annotations": _user_pod,
    "an event": _warning,
    "a gate that failed": _gate,
    "a gate that was late": lambda text: _gate(text, reason=probes.DEADLINE),
    "a gate that never ran": lambda text: _gate(text, has_run=False),
    "the operator's resources": _operator,
    "a maintenance": _maintenance,
    "a pool": _pool,
    "a rollout's status": _status_of_a_rollout,
    "a rollout's spec": _spec_of_a_rollout,
    "an API server's refusal": _refusal,
    "a matrix": _matrix,
    "git": _git,
    "a commit": _commit_message,
    "the log": _log,
}


@pytest.mark.parametrize("door", DOORS)
@settings(max_examples=25, deadline=None)
@given(text=SOME)
@example(text="\0")
@example(text="\x1b[31mred\x1b[0m \x9b2J \u202e \x1b]0;title\x07")
@example(text="x" * 100_000)
@example(text="A: \x00\r\nSeatrial-Step: bad")
def test_what_comes_in_has_no_control_and_an_end(door: str, text: str) -> None:
    for found in every_text(DOORS[door](text)):
        assert is_clean(found), (door, found[:200])


@settings(max_examples=200, deadline=None)
@given(text=SOME, limit=st.integers(min_value=1, max_value=300))
def test_what_is_clean_stays_as_it_is(text: str, limit: int) -> None:
    for clean in (foreign.line, foreign.lines):
        once = clean(text, limit)
        assert len(once) <= limit
        assert is_clean(once)
        assert clean(once, limit) == once
    assert "\n" not in foreign.line(text)
