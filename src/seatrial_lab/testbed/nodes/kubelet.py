"""kwok, which plays the kubelets: loading its Stage definition, its stages, and knowing that it obeys them.

kwok reads stages through a watch, and answers no question about which ones it has read. Version 0.8.0 can even keep an
old list until the next change, because it remembers the list by a version that moves before the list does. So we ask:
a stage that does nothing but echo a word into a ConfigMap is written after the others; when the word comes back,
every stage written before is in force. If it does not come back soon, a new word is the next change.

It looks at pods that change, and at those of a node that it takes up. Taking it up can come too early: it lists the
pods before it knows that the node's lease is its own, and leaves them. A kubelet that starts looks at all of its pods,
so where nodes are taken up with pods on them, whoever is half way is shown to kwok once more.

Tests: tests/testbed/test_kubelet.py, tests/e2e/test_restored.py
"""

import itertools
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.building import build, toolchain
from seatrial_lab.testbed.nodes import stages
from seatrial_lab.testbed.plane.served import Served

ECHO: Final = "testbed-echo"
ECHO_NAMESPACE: Final = "kube-system"
ECHO_TIMEOUT_SECONDS: Final = 60.0
MANAGED: Final = "kwok.x-k8s.io/node"
TOUCHED: Final = f"{stages.GROUP}/touched"
"""An annotation that says nothing: what has it has changed."""

_words = itertools.count(1)


def load_stages(plane: Served) -> None:
    """Give the API server kwok's Stage definition and our ordinary stages, before kwok starts."""
    plane.define([stage_definition()])
    plane.apply(stages.ordinary(build.kubernetes().version))


def stage_definition() -> dict[str, Any]:
    """Return kwok's own definition of a Stage, from the Go module cache."""
    folder = toolchain.module_folder(build.KWOK.folder, build.KWOK.module)
    path: Path = folder / "kustomize" / "crd" / "bases" / "kwok.x-k8s.io_stages.yaml"
    definition: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return definition


def settle(plane: Served) -> None:
    """Return when kwok obeys every stage written so far."""
    deadline = time.monotonic() + ECHO_TIMEOUT_SECONDS
    while True:
        word = f"{time.monotonic_ns()}-{next(_words)}"
        asked = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": ECHO, "namespace": ECHO_NAMESPACE},
            "data": {"asked": word},
        }
        plane.apply([stages.echo(ECHO, word), asked])
        if _is_heard(plane, word):
            return
        if time.monotonic() >= deadline:
            raise errors.WaitedTooLong(
                f"Waited {ECHO_TIMEOUT_SECONDS:g} s for kwok to obey its stages; see {plane.folder / 'kwok.log'}."
            )


def take_up(plane: Served) -> None:
    """Return when kwok has taken up every node, and was shown every pod there that is half way."""
    waiting.wait_for(
        lambda: _nodes(plane) <= _held(plane), what="kwok to take up every node", timeout_seconds=ECHO_TIMEOUT_SECONDS
    )
    for pod in _items(plane, "pods", "--all-namespaces"):
        if is_half_way(pod):
            meta = pod["metadata"]
            where = ("-n", meta["namespace"], meta["name"], "--overwrite")
            with suppress(errors.KubectlFailed):  # it has gone meanwhile, so somebody looks at it
                plane.kubectl("annotate", "pod", *where, f"{TOUCHED}={meta['resourceVersion']}")


def is_half_way(pod: Mapping[str, Any]) -> bool:
    """Whether something is still to happen to a pod: it leaves, or it is placed and neither ready nor over."""
    status = pod.get("status", {})
    is_ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", ()))
    is_placed = bool(pod["spec"].get("nodeName"))
    return "deletionTimestamp" in pod["metadata"] or (
        is_placed and not is_ready and status.get("phase") not in ("Succeeded", "Failed")
    )


def _nodes(plane: Served) -> set[str]:
    found = _items(plane, "nodes")
    return {each["metadata"]["name"] for each in found if MANAGED in each["metadata"].get("annotations", {})}


def _held(plane: Served) -> set[str]:
    """Nodes whose lease somebody holds."""
    found = _items(plane, "leases", "-n", "kube-node-lease")
    return {each["metadata"]["name"] for each in found if each.get("spec", {}).get("holderIdentity")}


def _items(plane: Served, *what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(plane.kubectl("get", *what, "-o", "json"))["items"]
    return found


def _is_heard(plane: Served, word: str) -> bool:
    try:
        plane.kubectl(
            "wait", f"--for=jsonpath={{.data.heard}}={word}", "--timeout=1s", "-n", ECHO_NAMESPACE, f"configmap/{ECHO}"
        )
    except errors.KubectlFailed:
        return False  # kwok had not read the stage when it saw the ConfigMap: the next word will tell
    return True
