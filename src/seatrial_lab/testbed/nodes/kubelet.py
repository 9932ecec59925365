"""kwok, which plays the kubelets: loading its Stage definition, its stages, and knowing that it obeys them.

kwok reads stages through a watch, and answers no question about which ones it has read. Version 0.8.0 can even keep an
old list until the next change, because it remembers the list by a version that moves before the list does. So we ask:
a stage that does nothing but echo a word into a ConfigMap is written after the others; when the word comes back,
every stage written before is in force. If it does not come back soon, a new word is the next change.
"""

import itertools
import time
from pathlib import Path
from typing import Any, Final

import yaml

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build, toolchain
from seatrial_lab.testbed.nodes import stages
from seatrial_lab.testbed.plane.served import Served

ECHO: Final = "testbed-echo"
ECHO_NAMESPACE: Final = "kube-system"
ECHO_TIMEOUT_SECONDS: Final = 60.0

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


def _is_heard(plane: Served, word: str) -> bool:
    try:
        plane.kubectl(
            "wait", f"--for=jsonpath={{.data.heard}}={word}", "--timeout=1s", "-n", ECHO_NAMESPACE, f"configmap/{ECHO}"
        )
    except errors.KubectlFailed:
        return False  # kwok had not read the stage when it saw the ConfigMap: the next word will tell
    return True
