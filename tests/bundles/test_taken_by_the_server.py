"""Every object of every bundle is one that a real API server takes, the oldest too (`make kubernetes-oldest`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.bundles.conftest import OPERATORS_OWN, Write
from tests.bundles.extracting import extracted
from tests.bundles.parity import PATH, rendered
from tests.bundles.rendering import Finder
from tests.bundles.test_parity import WISHES

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

Object = dict[str, Any]
MONITORING = "monitoring.coreos.com/"
"""Of Prometheus's operator, whose definitions are not here; its objects are off unless somebody asks for them."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane.start(tmp_path_factory.mktemp("taken")) as plane:
        yield plane


def taken(server: ControlPlane, objects: list[Object]) -> None:
    """Define what is defined, make the namespaces, and have the server look at all of it without keeping any."""
    server.define([each for each in objects if each["kind"] == "CustomResourceDefinition"])
    namespaces = {each["metadata"]["namespace"] for each in objects if each["metadata"].get("namespace")}
    server.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in sorted(namespaces)])
    asked = [each for each in objects if not each["apiVersion"].startswith(MONITORING)]
    # The server's word alone: kubectl's own does not know defaults, and a server-side apply refuses unknown fields.
    flags = ("--server-side", "--dry-run=server", "--validate=false", "--field-manager=deployer", "-f", "-")
    server.kubectl("apply", *flags, stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": asked}))


@pytest.mark.parametrize("charts", [OPERATORS_OWN], indirect=True)
@pytest.mark.parametrize("wishes", WISHES)
def test_the_server_takes_every_object(
    wishes: str, server: ControlPlane, write: Write, far: Finder, tmp_path: Path
) -> None:
    (root,) = write("one", *WISHES[wishes], only=("helm",)).values()
    found = rendered(extracted("helm", root, PATH), far, tmp_path)
    objects = [each for release in found.values() for each in release]
    assert {"ClusterPolicy", "DaemonSet", "Job", "ClusterRole"} <= {each["kind"] for each in objects}
    taken(server, objects)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({}, "spec.template.spec.containers: Required value"),
        ({"colour": "green"}, "field not declared in schema"),
    ],
    ids=["too little", "too much"],
)
def test_an_object_that_it_does_not_take_is_found(spec: Object, why: str, server: ControlPlane) -> None:
    wrong = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "wrong"}, "spec": spec}
    with pytest.raises(errors.KubectlFailed, match=why):
        taken(server, [wrong])
