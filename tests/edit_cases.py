"""An edit of every field of a rollout's spec, from a spec in which the field is said: for core, the world and a server.

Law of this file: the edits are those a person could make; whether they are accepted is said in core/model/edits.py.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from seatrial.adapters.kube.reading.rollout_intent import read_intent
from seatrial.adapters.kube.shapes import models
from seatrial.core.compat.matrix import Component
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.target import PUBLISHED
from tests.builders import NEW, NOW, SMOKE

GONE: Final = object()
"""The field is taken away."""

_GATE: Final = {"name": SMOKE.name, "image": SMOKE.image, "gpus": 1, "timeoutSeconds": 600}
_NIGHT: Final = {"start": "00:00", "minutes": 1440}
COMMON: Final[dict[str, Any]] = {
    "target": {"driver": NEW.version},
    "nodeSelector": {"nvidia.com/gpu.present": "true"},
    "limits": {"maxParallelUpgrades": 2, "maxUnavailable": "50%", "maxIdleGPUs": "50%", "maxFailed": 1},
    "waitForCompletion": {"podSelector": "app=train", "timeoutSeconds": 600},
    "podDeletion": {"force": False, "deleteEmptyDir": False, "timeoutSeconds": 300},
    "drain": {"enable": True, "force": False, "deleteEmptyDir": False, "podSelector": "app=web", "timeoutSeconds": 300},
    "domains": [{"label": "rack", "maxUnavailable": 2, "unit": False}],
    "order": "name",
    "retries": {"max": 1, "pauseSeconds": 60},
    "checkpoint": {"timeoutSeconds": 600, "webhook": "https://save.example/ask", "kueue": True},
    "driverTimeoutSeconds": 1800,
    "validationTimeoutSeconds": 600,
    "paused": False,
    "pausedBecause": "",
    "onDelete": "leave",
    "mode": "direct",
    "canary": {"count": 1, "selector": {}, "machineConfigPool": "", "pausePools": []},
    "gates": [_GATE],
    "bake": {"durationSeconds": 7200, "everySeconds": 3600},
    "waves": {"growth": "fixed", "first": 1, "step": 1, "factor": 2, "pauseSeconds": 60},
    "windows": {"timeZone": "UTC", "open": [_NIGHT]},
    "approvals": {"manual": [], "approved": []},
    "prepull": False,
    "notifications": {"webhook": "https://chat.example/hook", "format": "plain"},
}
_GIT: Final = {"url": "https://git.example/gpu.git", "branch": "main", "path": "matrix.yaml", "commit": "0" * 40}
BASES: Final[dict[str, dict[str, Any]]] = {
    "git": COMMON
    | {
        "matrix": {"git": _GIT, "entry": "canary"},
        "publish": {"via": "git", "git": {"path": "values.yaml", "pullRequests": False}},
    },
    "direct": COMMON
    | {
        "matrix": {"configMap": {"namespace": "gpu", "name": "matrix", "key": "matrix.yaml"}, "entry": "canary"},
        "publish": {"via": "direct"},
    },
    "plain": COMMON | {"publish": {"via": "direct"}},
    "proven": COMMON
    | {
        "publish": {"via": "direct"},
        "bake": COMMON["bake"] | {"until": {"exclude": "3%", "confidence": "99%"}},
    },
    "maintained": COMMON
    | {
        "publish": {"via": "direct"},
        "maintenance": {"requestorID": "us.dev", "namespace": "ops", "prefix": "p", "timeoutSeconds": 600},
    },
    "by attrition": COMMON
    | {
        "publish": {"via": "direct"},
        "attrition": {"deadlineSeconds": 86400, "closeAhead": "100%", "earlyEviction": True},
    },
    "by hand": COMMON
    | {
        "mode": "auto",
        "publish": {"via": "none"},
        "byHand": {
            "component": "firmware_cx7",
            "version": "28.43.2026",
            "instructions": "By the BMC.",
            "oneWay": False,
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One edit."""

    field: str
    base: str
    value: Any

    def __str__(self) -> str:
        return f"{self.field}={'gone' if self.value is GONE else self.value}"

    @property
    def spec(self) -> dict[str, Any]:
        """The spec after the edit."""
        after = copy.deepcopy(BASES[self.base])
        *way, last = self.field.replace("[]", ".0").split(".")
        place: Any = after
        for step in way:
            place = place[int(step)] if step == "0" else place.setdefault(step, {})
        if self.value is GONE:
            place.pop(last, None)
        else:
            place[last] = self.value
        return after


def _case(field: str, value: Any, base: str = "plain") -> Case:
    return Case(field=field, base=base, value=value)


_TRAIN: Final = _GATE | {"name": "train"}
BASES["measured"] = BASES["direct"] | {"gates": [_GATE | {"figures": [{"name": "matrix-bf16", "atLeast": 600}]}]}
_SIGNED: Final = {"name": "signed", "attest": {"asks": "the tenants are content"}}
_WORD: Final = {
    "gate": "signed",
    "node": "n1",
    "verdict": "pass",
    "because": "the nightly ran",
    "by": "ann",
    "at": "1970-01-01T00:00:00Z",
    "until": "2100-01-01T00:00:00Z",
}
BASES["said"] = BASES["direct"] | {"said": [{"what": "paused it", "by": "ann", "at": "1970-01-01T00:10:00Z"}]}
BASES["attested"] = BASES["direct"] | {
    "gates": [_SIGNED],
    "approvals": {"manual": [], "approved": [], "attested": [_WORD]},
}
_RATE: Final = {"query": 'max(errors{node="$node"})', "unit": "1/s", "atMost": 1}
BASES["asked"] = BASES["direct"] | {"gates": [{"name": "rate", "prometheus": _RATE}]}
_WORK: Final = {"podSelector": "team=vision", "pods": 1, "seconds": 600}
BASES["worked"] = BASES["direct"] | {"gates": [{"name": "vision", "tenant": _WORK}]}
BASES["judged"] = BASES["direct"] | {"gates": [{"name": "all", "expression": "true"}, _GATE]}
BASES["told"] = BASES["direct"] | {"gates": [{"name": "ci", "webhook": "https://ci.example/ask"}]}
BASES["aborted"] = BASES["direct"] | {"abort": "enough"}
CASES: Final = (
    _case("target.driver", "570.195.03"),
    *(_case(f"target.{each.value}", "v9.9.9") for each in PUBLISHED if each is not Component.MOFED),
    _case("target.mofed", "25.04-0.6.0.0"),
    _case("evictOnRuntimeRestart", True),
    _case("nodeSelector", {"pool": "other"}),
    _case("limits.maxParallelUpgrades", 1),
    _case("limits.maxParallelUpgrades", 0),
    _case("limits.maxUnavailable", 0),
    _case("limits.maxUnavailable", "100%"),
    _case("limits.maxIdleGPUs", 8),
    _case("limits.maxIdleGPUs", "100%"),
    _case("limits.maxFailed", 0),
    _case("limits.maxFailed", 9),
    _case("waitForCompletion.podSelector", "app in (a, b)"),
    _case("waitForCompletion.timeoutSeconds", 0),
    _case("podDeletion.force", True),
    _case("podDeletion.deleteEmptyDir", True),
    _case("podDeletion.timeoutSeconds", 1),
    _case("drain.enable", False),
    _case("drain.force", True),
    _case("drain.deleteEmptyDir", True),
    _case("drain.podSelector", "app=other"),
    _case("drain.timeoutSeconds", 1),
    _case("domains", []),
    _case("domains", [{"label": "zone", "maxUnavailable": 1}]),
    _case("domains[].label", "zone"),
    _case("domains[].maxUnavailable", 1),
    _case("domains[].unit", True),
    _case("order", "priority"),
    _case("order", "idle-first"),
    _case("retries.max", 0),
    _case("retries.pauseSeconds", 1),
    _case("checkpoint.timeoutSeconds", 0),
    _case("checkpoint.webhook", ""),
    _case("checkpoint.kueue", False),
    _case("attrition.deadlineSeconds", 3600, "by attrition"),
    _case("attrition.closeAhead", "50%", "by attrition"),
    _case("attrition.earlyEviction", False, "by attrition"),
    _case("maintenance.requestorID", "them.dev", "maintained"),
    _case("maintenance.namespace", "else", "maintained"),
    _case("maintenance.prefix", "q", "maintained"),
    _case("maintenance.timeoutSeconds", 1, "maintained"),
    _case("driverTimeoutSeconds", 1),
    _case("validationTimeoutSeconds", 1),
    _case("paused", True),
    _case("pausedBecause", "the storage is down"),
    _case("onDelete", "revert"),
    _case("mode", "delegated"),
    _case("matrix.git.url", "https://git.example/other.git", "git"),
    _case("matrix.git.branch", "other", "git"),
    _case("matrix.git.path", "other.yaml", "git"),
    _case("matrix.git.commit", "1" * 40, "git"),
    _case("matrix.configMap.namespace", "other", "direct"),
    _case("matrix.configMap.name", "other", "direct"),
    _case("matrix.configMap.key", "other.yaml", "direct"),
    _case("matrix.entry", "production", "git"),
    _case("publish.via", "none"),
    _case("publish.setOnDelete", True),
    _case("publish.oneWay", True),
    _case("publish.git.path", "other.yaml", "git"),
    _case("publish.git.url", "https://git.example/other.git", "git"),
    _case("publish.git.branch", "other", "git"),
    _case("publish.git.pullRequests", True, "git"),
    _case("canary.count", 2),
    _case("canary.nodes", ["n3"]),
    _case("canary.selector", {"pool": "spare"}),
    _case("canary.machineConfigPool", "gpu-canary"),
    _case("canary.pausePools", ["gpu"]),
    _case("gates", [], "direct"),
    _case("gates", [_GATE, _TRAIN], "direct"),
    _case("gates[].name", "train", "direct"),
    _case("gates[].image", "example.com/smoke:2", "direct"),
    _case("gates[].command", ["true"], "direct"),
    _case("gates[].probe", "smoke-infer", "direct"),
    _case("gates[].gpus", 0, "direct"),
    _case("gates[].timeoutSeconds", 1, "direct"),
    _case("gates[].figures", [{"name": "hbm-copy", "atLeast": 4000}], "direct"),
    _case("gates[].figures[].name", "hbm-copy", "measured"),
    _case("gates[].figures[].atLeast", 4000, "measured"),
    _case("gates[].figures[].atMost", 5000, "measured"),
    _case("gates[].attest.asks", "nobody complains", "attested"),
    _case("gates[].tenant.podSelector", "team=speech", "worked"),
    _case("gates[].tenant.pods", 2, "worked"),
    _case("gates[].tenant.seconds", 60, "worked"),
    _case("gates[].webhook", "https://ci.example/other", "told"),
    _case("gates[].expression", "false", "judged"),
    _case("gates[].prometheus.query", "max(other)", "asked"),
    _case("gates[].prometheus.unit", "1/h", "asked"),
    _case("gates[].prometheus.atLeast", 0, "asked"),
    _case("gates[].prometheus.atMost", 2, "asked"),
    _case("bake.durationSeconds", 0, "direct"),
    _case("bake.durationSeconds", 360_000, "direct"),
    _case("bake.everySeconds", 60, "direct"),
    _case("bake.minimumLoad", 20, "direct"),
    _case("bake.until.exclude", "5%", "proven"),
    _case("bake.until.confidence", "95%", "proven"),
    _case("waves.growth", "exponential"),
    _case("waves.first", "100%"),
    _case("waves.step", 2),
    _case("waves.factor", 3),
    _case("waves.pauseSeconds", 600),
    _case("windows.timeZone", "Europe/Berlin"),
    _case("windows.open", [{"start": "00:00", "minutes": 1, "days": ["Mon"]}]),
    _case("windows.open[].days", ["Sat"]),
    _case("windows.open[].start", "05:00"),
    _case("windows.open[].minutes", 1),
    _case("approvals.manual", ["canary", "waves", "promotion", "rollback"]),
    _case("approvals.approved", ["canary", "waves", "promotion", "rollback"]),
    _case("approvals.tagWithFailures", True),
    _case("said", [], "said"),
    _case("said[].what", "resumed it", "said"),
    _case("said[].by", "bob", "said"),
    _case("said[].at", "1970-01-01T00:00:01Z", "said"),
    _case("approvals.attested", [], "attested"),
    _case("approvals.attested[].gate", "other", "attested"),
    _case("approvals.attested[].node", "n2", "attested"),
    _case("approvals.attested[].verdict", "fail", "attested"),
    _case("approvals.attested[].because", "it looks well", "attested"),
    _case("approvals.attested[].by", "bob", "attested"),
    _case("approvals.attested[].at", "1970-01-01T00:00:01Z", "attested"),
    _case("approvals.attested[].until", "1970-01-01T00:00:01Z", "attested"),
    _case("abort", "enough"),
    _case("markBad", True, "aborted"),
    _case("prepull", True),
    _case("byHand.component", "cuda", "by hand"),
    _case("byHand.version", "28.44.1036", "by hand"),
    _case("byHand.before", "28.39.3004", "by hand"),
    _case("byHand.instructions", "Ask first.", "by hand"),
    _case("byHand.oneWay", True, "by hand"),
    _case("after", "winter"),
    _case("notifications.webhook", "https://chat.example/other"),
    _case("notifications.format", "slack"),
)
WAVES_BY_SHARE: Final = Case(field="waves", base="plain", value={"growth": "percentages", "percentages": [50, 100]})
"""The one field that cannot be edited alone."""


def intent_of(spec: dict[str, Any], now: float = NOW) -> Intent:
    """The intent that a spec is read as."""
    rollout = msgspec.convert({"metadata": {"name": "spring"}, "spec": spec}, models.Rollout)
    return read_intent(rollout, OperatorFacts(), now)
