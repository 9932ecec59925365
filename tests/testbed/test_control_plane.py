"""The control plane is real: its versions, its rights, its audit log."""

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build
from seatrial_lab.testbed.plane import control_plane

pytestmark = pytest.mark.cluster


@contextmanager
def an_answer(
    plane: control_plane.ControlPlane, path: str, *, user_agent: str, kubeconfig: Path | None = None
) -> Iterator[http.client.HTTPResponse]:
    """One GET with a user agent of its own, its answer still open."""
    document = yaml.safe_load((kubeconfig or plane.kubeconfig).read_text())
    headers = {"Authorization": f"Bearer {document['users'][0]['user']['token']}", "User-Agent": user_agent}
    trust = ssl.create_default_context(cafile=str(plane.authority))
    connection = http.client.HTTPSConnection(plane.url.removeprefix("https://"), timeout=10, context=trust)
    try:
        connection.request("GET", path, headers=headers)
        yield connection.getresponse()
    finally:
        connection.close()


def test_the_server_is_the_version_we_built(plane: control_plane.ControlPlane) -> None:
    version = json.loads(plane.kubectl("version", "-o", "json"))
    told = {version[side]["gitVersion"] for side in ("serverVersion", "clientVersion")}
    assert told == {build.kubernetes().version}


def test_nvidias_own_definitions_are_there(plane: control_plane.ControlPlane) -> None:
    found = plane.kubectl("get", "crd", "-o", "name").split()
    assert {
        "customresourcedefinition.apiextensions.k8s.io/clusterpolicies.nvidia.com",
        "customresourcedefinition.apiextensions.k8s.io/nvidiadrivers.nvidia.com",
    } <= set(found)


def test_what_kubectl_complains_about_is_in_the_error(plane: control_plane.ControlPlane) -> None:
    with pytest.raises(errors.KubectlFailed, match=r'kubectl get pod no-such-pod: .*"no-such-pod" not found'):
        plane.kubectl("get", "pod", "no-such-pod")


def test_objects_are_applied_in_batches_and_again_without_harm(plane: control_plane.ControlPlane) -> None:
    count = control_plane.APPLY_BATCH_COUNT + 1
    objects = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"batch-{each}", "namespace": "default", "labels": {"part": "batch"}},
        }
        for each in range(count)
    ]
    plane.apply(objects)
    plane.apply(objects)
    assert len(plane.get("configmap", "-n", "default", "-l", "part=batch")["items"]) == count
    plane.kubectl("delete", "configmap", "-n", "default", "-l", "part=batch", "--wait=false")


def test_a_service_account_may_do_what_its_rules_say_and_nothing_else(plane: control_plane.ControlPlane) -> None:
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
    kubeconfig = plane.service_account(
        "rights-home", "reader", cluster_rules=[nodes], namespaced_rules={"rights-open": [pods]}
    )
    codes = {}
    for path in ("/api/v1/nodes", "/api/v1/namespaces/rights-open/pods", "/api/v1/namespaces/rights-home/pods"):
        with an_answer(plane, path, user_agent="rights-test", kubeconfig=kubeconfig) as answer:
            answer.read()
            codes[path] = answer.status
    assert list(codes.values()) == [200, 200, 403]


def test_a_refused_request_is_in_the_audit_log_with_its_user(plane: control_plane.ControlPlane) -> None:
    kubeconfig = plane.service_account("refused-home", "nobody")
    path = "/api/v1/namespaces/refused-home/pods/somebody"
    with an_answer(plane, path, user_agent="refused-test/1.0", kubeconfig=kubeconfig) as answer:
        answer.read()
    [seen] = plane.requests("refused-test")
    assert (seen.verb, seen.group, seen.resource, seen.namespace, seen.name) == (
        "get",
        "",
        "pods",
        "refused-home",
        "somebody",
    )
    assert (seen.code, seen.user) == (403, "system:serviceaccount:refused-home:nobody")
    assert (seen.user_agent, seen.request_uri) == ("refused-test/1.0", path)


def test_every_request_is_in_the_log_as_soon_as_it_is_answered(plane: control_plane.ControlPlane) -> None:
    for count in range(1, 21):
        with an_answer(plane, "/api/v1/namespaces", user_agent="prompt-test") as answer:
            answer.read()
        assert len(plane.requests("prompt-test")) == count


def test_a_watch_counts_once_while_open_and_once_when_closed(plane: control_plane.ControlPlane) -> None:
    path = "/api/v1/namespaces?watch=true&timeoutSeconds=1"
    with an_answer(plane, path, user_agent="watch-test") as answer:
        answer.readline()  # the first event: the watch is open
        [while_open] = plane.requests("watch-test")
        answer.read()  # until the server ends it
    assert plane.requests("watch-test") == [while_open]
    assert (while_open.verb, while_open.resource, while_open.code) == ("watch", "namespaces", 200)


def test_the_status_names_every_program_and_its_memory(plane: control_plane.ControlPlane) -> None:
    seen = plane.status()
    assert seen.is_whole
    names = [program.name for program in seen.programs][:6]
    assert names == ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "operands"]
    assert all(program.memory_bytes > 2**20 for program in seen.programs)
