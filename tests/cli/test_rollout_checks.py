"""What is checked before a start, against a real API server: real accounts, an older definition, a real repository."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial import manifests
from seatrial.adapters.kube.surveying import installed
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.adapters.git.remotes import bare
from tests.cli.test_rollout_live import NEW, OLD, Said, a_policy

pytestmark = pytest.mark.cluster

PREFIX = "ledge"
MEMBERS = f"testbed.seatrial.dev/fleet={PREFIX}"
ACCOUNT = "ledge-controller"
Start = Callable[..., Said]


@pytest.fixture(scope="module")
def fleet(plane: ControlPlane) -> Iterator[Fleet]:
    """Two nodes with the old driver, and a ClusterPolicy that says so."""
    controller_process.install(plane)
    made = make_fleet(plane, FleetSpec(prefix=PREFIX, node_count=2, driver_version=OLD, reload_seconds=0.5))
    plane.apply([a_policy()])
    yield made
    plane.kubectl("delete", "clusterpolicy", "climb", "--ignore-not-found")


@pytest.fixture
def start(plane: ControlPlane, fleet: Fleet) -> Iterator[Start]:
    """Start a rollout as a person does; every rollout is gone afterwards."""

    def call(*arguments: str, kubeconfig: Path = plane.kubeconfig, **environment: str) -> Said:
        words = ("rollout", "start", "spring", "--driver", NEW, "--selector", MEMBERS)
        done = forked.run(
            *words, *arguments, "--kubeconfig", str(kubeconfig), environment={**os.environ, **environment}
        )
        return Said(code=done.returncode, out=done.stdout, err=done.stderr)

    yield call
    controller_process.remove_rollouts(plane)


@contextmanager
def a_controller(plane: ControlPlane, *arguments: str) -> Iterator[None]:
    """The Deployment of a controller, of which no pod is wanted: what it says of itself is all that is read."""
    labels = {"app.kubernetes.io/name": "seatrial", "app.kubernetes.io/component": "controller"}
    mounts = [{"name": "git", "mountPath": "/secrets/git"}]
    args = ["controller", *arguments]
    container = {"name": "controller", "image": "seatrial:1", "args": args, "volumeMounts": mounts}
    volume = {"name": "git", "secret": {"secretName": "ledge-git"}}
    pod = {"serviceAccountName": ACCOUNT, "containers": [container], "volumes": [volume]}
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    metadata = {"name": ACCOUNT, "namespace": "seatrial", "labels": labels}
    plane.apply([{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}])
    try:
        yield
    finally:
        plane.kubectl("delete", "deployment", ACCOUNT, "-n", "seatrial")


def lacking(rules: list[dict[str, Any]], resource: str, verb: str) -> list[dict[str, Any]]:
    """The rules without one verb on one kind."""
    less = [
        {**rule, "verbs": [each for each in rule["verbs"] if each != verb or resource not in rule["resources"]]}
        for rule in rules
    ]
    return [rule for rule in less if rule["verbs"]]


def grant(plane: ControlPlane, *, without: tuple[str, str] | None = None) -> None:
    cluster, by_namespace = controller_process.controller_rules(has_campaigns=True)
    rules = lacking(cluster, *without) if without is not None else cluster
    plane.service_account("seatrial", ACCOUNT, cluster_rules=rules, namespaced_rules=by_namespace)


def line_of(said: Said, about: str) -> str:
    """What was said about one check."""
    (found,) = [line.strip() for line in said.out.splitlines() if f"  {about}: " in line]
    return found


def rollouts(plane: ControlPlane) -> list[str]:
    return [each["metadata"]["name"] for each in plane.get("gpurollouts")["items"]]


def test_a_right_that_the_controller_lacks_is_named_and_nothing_is_started(start: Start, plane: ControlPlane) -> None:
    grant(plane, without=("pods/eviction", "create"))
    with a_controller(plane):
        tried, said = start("--dry-run"), start("-y")
        assert (tried.code, said.code) == (8, 8), tried.err + said.err
        lack = f"the controller's account seatrial/{ACCOUNT} may not create pods/eviction. Grant it"
        assert line_of(tried, "rights").startswith(f"fails      rights: {lack}")
        assert f"seatrial: fails      rights: {lack}" in said.err
        assert said.err.endswith("seatrial: nothing was written.\n")
        assert rollouts(plane) == []
        grant(plane)
        again = start("--dry-run")
        assert again.code == 0, again.out + again.err
        assert line_of(again, "rights").startswith(
            f"ok         rights: the controller's account seatrial/{ACCOUNT} has"
        )
        assert start("-y").code == 12
    assert rollouts(plane) == ["spring"]


def test_whoever_may_not_ask_about_others_does_not_know_and_may_start(start: Start, plane: ControlPlane) -> None:
    grant(plane, without=("pods/eviction", "create"))
    rules = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["seatrial.dev"], "resources": ["gpurollouts"], "verbs": ["create"]},
    ]
    author = plane.service_account("seatrial", "ledge-author", cluster_rules=rules)
    with a_controller(plane):
        tried = start("--dry-run", kubeconfig=author)
        assert tried.code == 0, tried.out + tried.err
        asked = f"you may not ask what seatrial/{ACCOUNT} may do"
        assert line_of(tried, "rights").startswith(f"not known  rights: {asked}")
        carried = "whether ClusterPolicy/climb takes the version only shows when it is written, which you may not"
        assert line_of(tried, "fields") == f"not known  fields: the API server takes the rollout; {carried}"
        assert start("-y", kubeconfig=author).code == 12
    assert rollouts(plane) == ["spring"]


def test_without_a_controller_its_rights_are_not_known(start: Start, plane: ControlPlane) -> None:
    # Installations are tried on the same cluster, and whatever they leave behind is a controller to be found.
    plane.kubectl("delete", "deployments", "-A", "-l", installed.SELECTOR)
    plane.kubectl("delete", "serviceaccounts", "-A", "--field-selector", f"metadata.name={installed.ACCOUNT}")
    tried = start("--dry-run")
    assert line_of(tried, "rights").startswith("not known  rights: no controller found here")
    assert line_of(tried, "fields").endswith("takes the rollout, and the version in ClusterPolicy/climb")
    assert line_of(tried, "image").startswith(("ok ", "not known  "))
    told = json.loads(start("--dry-run", "-o", "json").out)["checks"]
    assert {each["about"]: each["verdict"] for each in told}.items() >= {("fields", "ok"), ("rights", "not known")}


@contextmanager
def an_older_definition(plane: ControlPlane) -> Iterator[None]:
    """The definition of GPURollout as it was before `spec.notifications`."""
    (crd,) = yaml.safe_load_all(manifests.crd())
    (version,) = crd["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["notifications"]
    rules = spec["x-kubernetes-validations"]
    spec["x-kubernetes-validations"] = [each for each in rules if "notifications" not in each["rule"]]
    plane.define([crd])
    try:
        yield
    finally:
        plane.define(yaml.safe_load_all(manifests.crd()))


def test_a_field_that_the_installed_definition_does_not_know_is_told_in_the_servers_words(
    start: Start, plane: ControlPlane
) -> None:
    with an_older_definition(plane):
        for how in ("--dry-run", "-y"):
            said = start("--notify", "https://chat.example.com/hook", how)
            assert said.code == 8, said.out + said.err
            assert "fails      fields: the API server does not take the rollout: " in said.err
            assert 'unknown field "spec.notifications"' in said.err
            assert "seatrial manifests crd | kubectl apply -f -" in said.err
    assert rollouts(plane) == []


def test_a_repository_that_the_controller_does_not_speak_to_fails_and_one_that_it_does_is_not_known(
    start: Start, plane: ControlPlane, tmp_path: Path
) -> None:
    remote = bare(tmp_path)
    remote.person().write("gpu.yaml", yaml.safe_dump(a_policy()))
    remote.hook("pre-receive", "touch asked; exit 1")
    grant(plane)
    git = ("--publish", "git", "--publish-url", str(remote.path), "--publish-path", "gpu.yaml")
    with a_controller(plane, "--git-allow=https://git.example.com/gpu"):
        barred = start(*git, "--dry-run")
        assert barred.code == 8, barred.out + barred.err
        assert line_of(barred, "push").startswith("fails      push: the controller does not speak there: ")
        assert start(*git, "-y").code == 8
    with a_controller(plane, "--git-allow=/"):
        tried = start(*git, "--dry-run")
        assert tried.code == 0, tried.out + tried.err
        own = f"your own Git may push to main of {remote.path}"
        assert line_of(tried, "push") == f"not known  push: the controller holds the login; {own}"
    assert not (remote.path / "asked").exists(), "nothing was pushed, so no hook was asked"
    assert rollouts(plane) == []


def test_the_controllers_own_login_is_tried_where_its_secret_may_be_read(
    start: Start, plane: ControlPlane, tmp_path: Path
) -> None:
    remote = bare(tmp_path)
    remote.person().write("gpu.yaml", yaml.safe_dump(a_policy()))
    grant(plane)
    helper = "!f() { echo username=seatrial; echo password=open-sesame; }; f"
    mine = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": helper}
    login = {"username": "seatrial", "password": "yesterdays"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ledge-git", "namespace": "seatrial"}}
    with GitServer(root=tmp_path) as server:
        git = (
            "--publish",
            "git",
            "--publish-url",
            f"{server.url}/fleet.git",
            "--publish-path",
            "gpu.yaml",
            "--dry-run",
        )
        with a_controller(plane, f"--git-credentials={server.url}=/secrets/git", "--git-loopback-http"):
            unread = start(*git, **mine)
            assert unread.code == 0, unread.out + unread.err
            assert line_of(unread, "push").startswith(
                "not known  push: the controller holds the login; your own Git may"
            )
            plane.apply([{**secret, "stringData": login}])
            wrong = start(*git, **mine)
            assert wrong.code == 8, wrong.out + wrong.err
            assert line_of(wrong, "push").startswith("fails      push: with the controller's login: ")
            assert "yesterdays" not in wrong.out + wrong.err
            plane.apply([{**secret, "stringData": {**login, "password": "open-sesame"}}])
            right = start(*git, **mine)
            assert right.code == 0, right.out + right.err
            assert line_of(right, "push").startswith("ok         push: the controller's login may push to main of ")
            remote.git("config", "http.receivepack", "false")
            assert "403" in line_of(start(*git, **mine), "push")
    plane.kubectl("delete", "secret", "ledge-git", "-n", "seatrial")
    assert rollouts(plane) == []
