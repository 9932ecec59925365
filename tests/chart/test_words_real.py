"""Whose word counts, by a real API server with the chart's policies: approvers, authors, administrators, engines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.chart.charts import NAMESPACE
from tests.chart.people import NAME, SIGNED, Person, person, spec
from tests.chart.planes import a_rollout, as_account, charted

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

ENGINES = {"flux-system": "kustomize-controller", "argocd": "argocd-application-controller"}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with charted(tmp_path_factory.mktemp("spoken")) as made:
        for namespace in ENGINES:
            made.kubectl("create", "namespace", namespace)
        yield made


@pytest.fixture
def ann(plane: ControlPlane) -> Person:
    return person(plane, "ann", "seatrial-approver")


@pytest.fixture
def bob(plane: ControlPlane) -> Person:
    return person(plane, "bob", "seatrial-author")


@pytest.fixture
def carol(plane: ControlPlane) -> Person:
    return person(plane, "carol", "seatrial-administrator")


@pytest.fixture(autouse=True)
def rollout(plane: ControlPlane) -> Iterator[None]:
    asked = a_rollout(NAME)
    asked["spec"]["gates"] = [SIGNED]
    plane.kubectl("create", "-f", "-", stdin=json.dumps(asked))
    yield
    plane.kubectl("delete", "gpurollout", NAME)


# ── words that stay ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_another_persons_word_is_neither_removed_nor_replaced_by_an_approver_or_an_author(
    plane: ControlPlane, ann: Person, bob: Person
) -> None:
    bad = bob.word("fail")
    bob.patch(approvals={"attested": [bad]})
    for other in (ann, person(plane, "dan", "seatrial-author")):
        for attested in (None, [], [other.word()], [bad | {"verdict": "pass"}, other.word()]):
            with pytest.raises(errors.KubectlFailed, match=r"spec\.approvals\.attested"):
                other.patch(approvals={"attested": attested}, said=[other.says("removed a word")])
        with pytest.raises(
            errors.KubectlFailed, match=f"takes away what {bob.user} said for gate signed; add your own"
        ):
            other.patch(approvals={"attested": [other.word()]})
    ann.patch(approvals={"attested": [bad, ann.word()]})
    bob.patch(approvals={"attested": [ann.word(), bob.word()]})
    assert spec(plane)["approvals"]["attested"] == [ann.word(), bob.word()], "one's own may be replaced"


def test_an_administrator_removes_another_persons_word_and_is_named(
    plane: ControlPlane, ann: Person, carol: Person
) -> None:
    ann.patch(approvals={"attested": [ann.word("fail")]})
    ann.approve()
    approved, removed = ann.says("approved waves"), carol.says("removed the word of ann, who has left")
    for said in ([approved], [approved, ann.says("removed it")]):
        with pytest.raises(
            errors.KubectlFailed, match=r"spec\.(approvals\.attested: this takes away|said: what is said)"
        ):
            carol.patch(approvals={"attested": []}, said=said)
    with pytest.raises(errors.KubectlFailed, match="an approval stays; only an administrator may remove one"):
        carol.patch(approvals={"approved": []})
    carol.patch(approvals={"attested": [], "approved": []}, said=[approved, removed])
    assert spec(plane)["said"] == [approved, removed]


def test_an_approval_stays(ann: Person, bob: Person) -> None:
    ann.approve()
    for other in (ann, bob):
        with pytest.raises(errors.KubectlFailed, match="an approval stays; only an administrator may remove one"):
            other.patch(approvals={"approved": []}, said=[ann.says("approved waves"), other.says("thought again")])


def test_what_was_said_stays_except_for_the_oldest_of_a_full_list(
    plane: ControlPlane, ann: Person, bob: Person
) -> None:
    for many in range(10, 60, 10):
        ann.patch(said=[ann.says(f"asked for a pause {number}") for number in range(many)])
    full, new = spec(plane)["said"], bob.says("asked for a pause")
    assert len(full) == 50
    for said in ([], [*full[2:], new], [*full[:-1], new]):
        with pytest.raises(
            errors.KubectlFailed, match=r"spec\.said: this takes away what .*:ann said: asked for a pause"
        ):
            bob.patch(said=said)
    bob.patch(said=[*full[1:], new])


def test_lists_as_long_as_the_definition_allows_can_be_judged(plane: ControlPlane, ann: Person, bob: Person) -> None:
    words = [ann.word() | {"because": f"{number} {'x' * 490}"} for number in range(199)]
    ann.patch(approvals={"attested": words}, said=[ann.says(f"asked for a pause {number}") for number in range(49)])
    bob.patch(approvals={"attested": [*words, bob.word()]}, said=[*spec(plane)["said"], bob.says("asked for a pause")])


# ── entries of one's own ─────────────────────────────────────────────────────────────────────────────────────────────


def test_approving_and_resuming_need_an_entry_of_ones_own_and_pausing_never_does(
    plane: ControlPlane, ann: Person, bob: Person
) -> None:
    def said(who: Person, what: str) -> list[dict[str, Any]]:
        return [*(spec(plane).get("said") or ()), who.says(what)]

    for who in (ann, bob):
        with pytest.raises(
            errors.KubectlFailed, match=f"with what: approved waves, and by: {who.user}; `seatrial rollout"
        ):
            who.patch(approvals={"approved": ["waves"]})
        with pytest.raises(errors.KubectlFailed, match="approving waves needs an entry"):
            who.patch(approvals={"approved": ["waves"]}, said=said(who, "asked for a pause"))
        who.patch(paused=True)
        with pytest.raises(errors.KubectlFailed, match=f"resuming needs an entry in spec.said with by: {who.user}"):
            who.patch(paused=False)
        with pytest.raises(errors.KubectlFailed, match="resuming needs an entry"):
            who.patch(paused=None)
        who.patch(paused=False, said=said(who, "asked to resume it"))
    asked = a_rollout("approved")
    asked["spec"]["approvals"] |= {"approved": ["waves"]}
    with pytest.raises(errors.KubectlFailed, match="approving waves needs an entry"):
        bob.kubectl("create", "-f", "-", stdin=json.dumps(asked))


def test_our_commands_are_let_through_and_keep_other_peoples_words(plane: ControlPlane, bob: Person) -> None:
    bob.patch(approvals={"attested": [bob.word("fail")]})
    rules = plane.get("clusterrole", "seatrial-approver")["rules"]
    config = plane.service_account("people", "eve", cluster_rules=rules)
    eve = Person(plane=plane, name="eve")

    def do(*arguments: str) -> None:
        done = forked.run(*arguments, "--kubeconfig", str(config))
        assert done.returncode == 0, done.stderr

    do("gates", "attest", NAME, "signed", "--pass", "--because", "the nightly ran")
    do("rollout", "pause", NAME)
    do("rollout", "resume", NAME)
    do("rollout", "approve", NAME, "waves")
    do("gates", "attest", NAME, "signed", "--fail", "--because", "it did not")
    found = spec(plane)
    theirs, ours = found["approvals"]["attested"]
    assert (theirs, ours["by"], ours["because"]) == (bob.word("fail"), eve.user, "it did not")
    assert [(word["what"], word["by"]) for word in found["said"]] == [
        (what, eve.user) for what in ("asked for a pause", "asked to resume it", "approved waves")
    ]


# ── the controller, and engines that sync ────────────────────────────────────────────────────────────────────────────


def test_the_controllers_own_write_needs_no_word(plane: ControlPlane, ann: Person) -> None:
    ann.approve()
    path = f"/apis/seatrial.dev/v1alpha1/gpurollouts/{NAME}"
    body: dict[str, Any] = {"metadata": {"finalizers": [keys.FINALIZER]}}
    as_account(plane, f"{NAMESPACE}/seatrial-controller", path, body)
    as_account(plane, f"{NAMESPACE}/seatrial-controller", path, {"metadata": {"finalizers": None}})


def sync(engine: Person, **changes: Any) -> str:
    """Apply the rollout as the engine does: Flux on the server's side, Argo CD as `kubectl apply` does by default."""
    asked = a_rollout(NAME)
    asked["spec"] |= {"gates": [SIGNED], **changes}
    ways = {
        "kustomize-controller": ("--server-side", "--force-conflicts", "--field-manager=kustomize-controller"),
        "argocd-application-controller": ("--field-manager=argocd-controller",),
    }
    return engine.kubectl("apply", *ways[engine.name], "-f", "-", stdin=json.dumps(asked))


@pytest.mark.parametrize("home", ENGINES)
def test_an_engine_that_syncs_a_rollout_leaves_words_approvals_and_pauses_as_they_are(
    plane: ControlPlane, ann: Person, home: str
) -> None:
    engine = person(plane, ENGINES[home], "cluster-admin", home)
    sync(engine)
    ann.patch(approvals={"attested": [ann.word()]})
    ann.approve()
    ann.patch(paused=True)
    before = spec(plane)
    sync(engine)
    assert spec(plane) == before
    sync(engine, limits={"maxFailed": 3})
    assert spec(plane) == before | {"limits": {"maxFailed": 3}}
    manual = {"manual": ["waves"]}
    with pytest.raises(errors.KubectlFailed, match=r"takes away what .*:ann said for gate signed"):
        sync(engine, approvals=manual | {"attested": []})
    with pytest.raises(errors.KubectlFailed, match=r"An engine that syncs the rollout has to leave spec\.paused out"):
        sync(engine, paused=False)
    assert spec(plane) == before | {"limits": {"maxFailed": 3}}


@pytest.mark.parametrize("home", ENGINES)
def test_an_engine_pauses_and_resumes_by_a_commit_that_says_so_in_its_name(plane: ControlPlane, home: str) -> None:
    engine = person(plane, ENGINES[home], "cluster-admin", home)
    sync(engine)
    sync(engine, paused=True)
    with pytest.raises(errors.KubectlFailed, match="resuming needs an entry"):
        sync(engine)
    resumed = [engine.says("asked to resume it, commit 4f1c2d3")]
    sync(engine, said=resumed)
    assert (spec(plane)["paused"], spec(plane)["said"]) == (False, resumed)
