"""People with one role each, and what they write into the rollout that their story is about."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from seatrial_lab.testbed.plane.control_plane import ControlPlane

NAME = "spoken"
SIGNED: dict[str, Any] = {"name": "signed", "attest": {"asks": "the tenants are content"}}
AT = {"at": "2026-03-27T15:30:00Z"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person, or an engine, with a ServiceAccount and one role."""

    plane: ControlPlane
    name: str
    home: str = "people"

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.home}:{self.name}"

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return self.plane.kubectl(*arguments, f"--as={self.user}", stdin=stdin)

    def patch(self, **spec: Any) -> None:
        body = json.dumps({"spec": spec})  # a long list is more than an argument may be
        self.kubectl("patch", "gpurollout", NAME, "--type=merge", "--patch-file=/dev/stdin", stdin=body)

    def word(self, verdict: str = "pass", gate: str = "signed") -> dict[str, Any]:
        until = {"until": "2026-03-28T15:30:00Z"}
        return {"gate": gate, "verdict": verdict, "because": "I looked", "by": self.user, **AT, **until}

    def says(self, what: str) -> dict[str, Any]:
        return {"what": what, "by": self.user, **AT}

    def approve(self, *before: dict[str, Any]) -> None:
        self.patch(approvals={"approved": ["waves"]}, said=[*before, self.says("approved waves")])


def person(plane: ControlPlane, name: str, role: str, home: str = "people") -> Person:
    """A person whose account is there, and may do what the role says."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": home}}
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(account))
    binding = ("create", "clusterrolebinding", name, f"--clusterrole={role}", f"--serviceaccount={home}:{name}")
    plane.kubectl("apply", "-f", "-", stdin=plane.kubectl(*binding, "--dry-run=client", "-o", "json"))
    return Person(plane=plane, name=name, home=home)


def spec(plane: ControlPlane) -> dict[str, Any]:
    """What the rollout says."""
    found: dict[str, Any] = plane.get("gpurollout", NAME)["spec"]
    return found
