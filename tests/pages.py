"""What pages of the documentation hold that tests hold them to."""

from __future__ import annotations

from typing import Any

import yaml

from tests.core.compat.knowledge import ROOT


def blocks_of(page: str) -> list[str]:
    """The YAML blocks of a page, as they stand there."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [part.split("```")[0] for part in text.split("```yaml\n")[1:]]


def rules_of(page: str) -> list[dict[str, Any]]:
    """The rules of the one ClusterRole that a page tells people to grant."""
    objects = [each for block in blocks_of(page) for each in yaml.safe_load_all(block)]
    (role,) = [each for each in objects if each.get("kind") == "ClusterRole"]
    rules: list[dict[str, Any]] = role["rules"]
    return rules


def granted_by(rules: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """Group, resource and verb, each by itself."""
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
