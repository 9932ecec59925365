"""What `seatrial dra` tells: why a node stands as it does, and what comes next, as sentences.

Law of this file: every reason has both. Tests: tests/core/movers/test_dra_standing.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from seatrial.core.movers.dra.values import (
    OPERATORS_SECONDS,
    DraSeen,
    Reroll,
    Stand,
    Standing,
    Why,
)
from seatrial.core.text import spans
from seatrial.core.text.commands import filled
from seatrial.core.text.names import a_few

NOTHING: Final = "nothing"
UNNAMED: Final = "of unknown version"
"""Only versions may be unknown: a pod, a label or a state that is told of has a name."""
_BY_ITSELF: Final = "nothing: it happens on its own"
_REROLL: Final = "`seatrial dra reroll --node {node}` restarts the plugin"

SENTENCES: Final[Mapping[Why, tuple[str, str]]] = {
    Why.YOUNGER: ("its plugin started after driver {about}", NOTHING),
    Why.SAME_VERSION: ("the host's driver is {about}, and its plugin shows the same", NOTHING),
    Why.UNCOMPARED: ("the driver is the host's own, and nothing shows that the plugin has another one", NOTHING),
    Why.OLDER: ("plugin {about} started before the driver that runs", _REROLL),
    Why.VERSION_DIFFERS: ("its ResourceSlices show driver {about}", _REROLL),
    Why.STILL: ("its driver has only just become ready", "its plugin is restarted if this lasts"),
    Why.CLAIM_LEAVING: (
        "a pod with a claim is terminating and needs the plugin for that",
        "its plugin is restarted when that pod is gone",
    ),
    Why.CLIQUE: ("another plugin of its NVLink clique is starting", "its plugin is restarted after that one"),
    Why.OPERATORS_OWN: (
        "its plugin is the GPU Operator's, which restarts it itself",
        "its plugin is restarted if it is stale for {operators}",
    ),
    Why.VISITED: ("seatrial's controller is upgrading it ({about})", "nothing: it restarts the plugin itself"),
    Why.NODE_NOT_READY: ("the node is not Ready, so the view of its pods is old", "fix the node"),
    Why.DRIVER_MISSING: ("it has no driver pod", _BY_ITSELF),
    Why.DRIVER_NOT_READY: ("driver pod {about} is not Ready", _BY_ITSELF),
    Why.SET_UNKNOWN: (
        "the revision that the DaemonSet of driver pod {about} wants is unknown",
        "check the DaemonSets of the GPU Operator",
    ),
    Why.TEMPLATE_UNSEEN: ("DaemonSet {about} has a new template that no pod runs yet", _BY_ITSELF),
    Why.NOT_MIGRATED: ("driver pod {about} has an older revision", "whoever upgrades the drivers replaces it"),
    Why.UNDER_WAY: ("NVIDIA's controller is upgrading it ({about})", _BY_ITSELF),
    Why.PAUSED: ("operands are paused for a driver upgrade ({about})", _BY_ITSELF),
    Why.VALIDATOR_MISSING: ("it has no validator pod", _BY_ITSELF),
    Why.VALIDATOR_NOT_READY: ("validator pod {about} is not Ready", _BY_ITSELF),
    Why.TARGET_ABSENT: ("no driver DaemonSet shows the target {about} yet", "nothing: the GPU Operator writes it"),
    Why.PLUGIN_STARTING: ("plugin {about} is starting", _BY_ITSELF),
    Why.PLUGIN_LEAVING: ("plugin {about} is terminating", _BY_ITSELF),
    Why.PLUGIN_AWAITED: ("its plugin is gone and the next one has not started", _BY_ITSELF),
    Why.LEFT_OUT: (
        "it is left out: nvidia.com/gpu-driver-upgrade.skip=true",
        "remove the label; until then nothing waits for it",
    ),
    Why.UPGRADE_FAILED: ("its driver upgrade has failed", "fix it, then `seatrial node retry {node}`"),
    Why.NO_PLUGIN: ("no DRA plugin runs there", "check which nodes the plugin's DaemonSet selects, if it should"),
    Why.STALE_AGAIN: (
        "its plugin was restarted for this driver, and is stale again ({about})",
        "see `kubectl logs` of the plugin; another restart would not help",
    ),
}


def why(standing: Standing) -> str:
    """Why a node stands as it does."""
    return _filled(SENTENCES[standing.why][0], standing)


def what_next(standing: Standing) -> str:
    """What happens, or has to be done, next."""
    return _filled(SENTENCES[standing.why][1], standing)


def _filled(text: str, standing: Standing) -> str:
    operators = spans.span(OPERATORS_SECONDS)
    return filled(text, {"node": standing.node, "about": standing.about or UNNAMED, "operators": operators})


def is_well(standing: Standing) -> bool:
    """Whether nothing has to be said of a node."""
    return standing.stand is Stand.FRESH


def announced(act: Reroll) -> str:
    """What is about to be deleted."""
    return f"{act.node}: deletes DRA plugin {act.namespace}/{act.pod}, and its DaemonSet starts a new one"


def tally(standings: Iterable[Standing]) -> str:
    """How many nodes stand how, in one line."""
    counts = Counter(each.stand for each in standings)
    return ", ".join(f"{counts[stand]} {stand}" for stand in Stand if counts[stand]) or "no node with a DRA plugin"


def no_driver(namespaces: Iterable[str], seen: DraSeen) -> str:
    """Why there is nothing to do where no plugin runs."""
    if seen.plugin_sets:
        named = a_few(f"{each.namespace}/{each.name}" for each in seen.plugin_sets)
        return f"No DRA plugin runs: {named} selects no node. Nothing to restart."
    return f"There is no DRA driver in {a_few(namespaces)}. Nothing to restart."
