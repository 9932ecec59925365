"""The real Argo CD and Flux apply a GPURollout from Git: by the chart's policies a sync keeps what people said."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.neighbours import engines
from seatrial_lab.testbed.neighbours.argo_application import Application
from seatrial_lab.testbed.neighbours.argo_cd import ArgoCd
from seatrial_lab.testbed.neighbours.engines import Engine
from seatrial_lab.testbed.neighbours.flux import Flux
from seatrial_lab.testbed.neighbours.flux_objects import Kustomization
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.chart.people import NAME, SIGNED, Person, spec
from tests.chart.planes import a_rollout, charted
from tests.gitops import yard as yards
from tests.gitops.yard import FOLDER, Yard

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane, pytest.mark.gitops]

ENGINES = ("argo-cd", "flux")
YARDS = itertools.count(1)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with charted(tmp_path_factory.mktemp("words")) as made:
        yield made


@pytest.fixture
def yard(plane: ControlPlane, tmp_path: Path) -> Iterator[Yard]:
    """A repository with a GPURollout in it."""
    with yards.opened(plane, tmp_path, f"words-{next(YARDS)}") as made:
        commit(made)
        yield made
    plane.kubectl("delete", "gpurollout", NAME)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, plane: ControlPlane, yard: Yard) -> Iterator[Engine]:
    """The real engine, following that repository with the right to write everything."""
    if request.param == "flux":
        with Flux.start(plane) as flux, Kustomization(flux, yard.namespace, yard.place) as flow:
            yield flow
    else:
        with ArgoCd.start(plane) as argo, Application(argo, yard.namespace, yard.place, namespace="default") as app:
            yield app


def commit(yard: Yard, **changes: Any) -> str:
    """Commit the rollout with these fields of its spec."""
    rollout = a_rollout(NAME)
    rollout["spec"] |= {"gates": [SIGNED], **changes}
    return yard.push("The rollout", yaml.safe_dump(rollout), f"{FOLDER}/rollout.yaml")


def says(plane: ControlPlane, command: str, *words: str) -> str:
    """Have an approver say something by a command of ours; as whom the API server knows that person."""
    rules = plane.get("clusterrole", "seatrial-approver")["rules"]
    config = plane.service_account("people", "eve", cluster_rules=rules)
    done = forked.run(*command.split(), NAME, *words, "--kubeconfig", str(config))
    assert done.returncode == 0, done.stderr
    return "system:serviceaccount:people:eve"


def test_a_sync_keeps_approvals_and_pauses_and_is_refused_where_it_would_take_them_away(
    plane: ControlPlane, yard: Yard, engine: Engine
) -> None:
    # By our commands: what kubectl wrote, kustomize-controller takes away with every sync.
    user = says(plane, "gates attest", SIGNED["name"], "--pass", "--because", "the nightly ran")
    says(plane, "rollout approve", "waves")
    says(plane, "rollout pause")
    said = spec(plane)

    def brought(**changes: Any) -> None:
        made = commit(yard, **changes)
        engine.poke()
        engines.wait_applied(engine, made)

    def refused(reason: str, **changes: Any) -> None:
        commit(yard, **changes)
        engine.poke()
        waiting.wait_for(
            lambda: reason in engine.trouble,
            what=f"the engine to say {reason!r}",
            timeout_seconds=engines.TIMEOUT_SECONDS,
            pause_seconds=0.3,
            describe=lambda: engine.trouble,
        )

    brought(limits={"maxFailed": 3})
    assert spec(plane) == said | {"limits": {"maxFailed": 3}}
    manual = {"manual": ["waves"]}
    brought(limits={"maxFailed": 3}, approvals=manual | {"approved": []})  # a set: both apply it on the server's side
    assert spec(plane) == said | {"limits": {"maxFailed": 3}}
    refused(f"takes away what {user} said for gate signed", approvals=manual | {"attested": []})
    refused("resuming needs an entry in spec.said", paused=False)
    refused(f"takes away what {user} said", said=[])
    assert spec(plane) == said | {"limits": {"maxFailed": 3}}


def test_a_commit_resumes_with_an_entry_in_the_engines_own_name(
    plane: ControlPlane, yard: Yard, engine: Engine
) -> None:
    made = commit(yard, paused=True)
    engine.poke()
    engines.wait_applied(engine, made)
    account = Person(plane=plane, **owner_of(engine))
    made = commit(yard, paused=False, said=[account.says("resumed it")])
    engine.poke()
    engines.wait_applied(engine, made)
    assert (spec(plane)["paused"], spec(plane)["said"]) == (False, [account.says("resumed it")])


def owner_of(engine: Engine) -> dict[str, str]:
    """Whom the API server sees when the engine writes."""
    if isinstance(engine, Application):
        return {"name": "argocd-application-controller", "home": "argocd"}
    return {"name": "kustomize-controller", "home": "flux-system"}
