"""Puts the laboratory's code into its wheel; a checkout uses it where it lies, beside the product's."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Lab(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]
    """The code is in ../src, since both distributions come from one tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"]["../src/seatrial_lab"] = "seatrial_lab"
