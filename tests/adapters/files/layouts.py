"""Matrix files as people write them: every shape, quote, comment, indentation and line end, for hypothesis to draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from seatrial.adapters.files import yaml_tree
from seatrial.core.compat.matrix import ALIASES, Component, Role

VERSIONS: Mapping[Component, tuple[str, ...]] = {
    Component.OPENSHIFT: ("4.16.23", "4.17.5", "4.18.0-rc.1"),
    Component.KERNEL: ("5.14.0-427.40.1.el9_4.x86_64", "5.14.0-570.12.1.el9_6.x86_64"),
    Component.GPU_OPERATOR: ("v24.9.0", "24.9.2", "v25.3.4"),
    Component.GPU_DRIVER: ("560.35.03", "565.77", "580.82.07"),
    Component.CUDA: ("12.6", "12.6.3", "12.10", "13.0.2"),
    Component.MOFED: ("24.07-0.6.1.0", "24.10-0.7.0.0"),
    Component.FIRMWARE_CX7: ("28.42.1000", "28.43.1014"),
    Component.SRIOV_OPERATOR: ("4.16.0", "4.17.0"),
    Component.NCCL: ("2.22.3", "2.23.4"),
}

SHAPES = ("plain", "bare", "configmap", "covered configmap")
ROLE_SPELLINGS = {
    Role.PRODUCTION: ("current", "current_production", "production"),
    Role.CANARY: ("canary", "canary_testing"),
    Role.PLANNED: ("next_planned", "planned"),
    Role.ROLLBACK: ("rollback",),
}
SPELLINGS = {
    component: (component.value, *(a for a, c in ALIASES.items() if c is component)) for component in Component
}

comments = st.sampled_from(["", "", "", " # same", "   # ← keep: 'this', {that}", " #", "\t# a tab before"])
trailing = st.sampled_from(["", "", "", " ", "   "])


@dataclass(frozen=True)
class Layout:
    """A text, and what is written in it."""

    text: str
    stacks: Mapping[Role, Mapping[Component, str]]


@st.composite
def layouts(draw: Any, *, roles: tuple[Role, ...] = tuple(Role), is_even: bool = False) -> Layout:
    """A file with these roles; an even one names the same components everywhere, and none that looks like a number."""
    parts = st.lists(st.sampled_from(list(VERSIONS)), min_size=1, max_size=5, unique=True)
    common = draw(parts)
    stacks = {
        role: {part: draw(st.sampled_from(_pool(part, is_even))) for part in (common if is_even else draw(parts))}
        for role in roles
    }
    step = draw(st.integers(1, 5))
    shape = draw(st.sampled_from(SHAPES))
    lines: list[str] = []
    level = 0
    if shape in ("plain", "covered configmap"):
        lines.append("versions:" + draw(comments))
        level = step
    for role, stack in stacks.items():
        lines += draw(st.sampled_from([[], [""], ["# a comment in the first column"], ["", " " * level + "# above"]]))
        lines += draw(_entry(role, stack, level, step))
    if "configmap" in shape:
        lines = draw(_in_a_configmap(lines))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    end = draw(st.sampled_from(["", newline, newline * 3]))
    bom = draw(st.sampled_from(["", "", "\ufeff"]))
    return Layout(text=bom + newline.join(lines) + end, stacks=stacks)


def _pool(component: Component, is_even: bool) -> list[str]:
    return [text for text in VERSIONS[component] if not is_even or yaml_tree.is_plain_text(text)]


@st.composite
def _entry(draw: Any, role: Role, stack: Mapping[Component, str], level: int, step: int) -> list[str]:
    key = draw(st.sampled_from(ROLE_SPELLINGS[role]))
    pairs = [(draw(st.sampled_from(SPELLINGS[part])), draw(_written(text))) for part, text in stack.items()]
    if draw(st.booleans()):
        pairs.append(("status", draw(st.sampled_from(["testing", "'on trial'", '"known: good"']))))
    if draw(st.booleans()):
        pairs.insert(0, ("notes", draw(st.sampled_from(['"a \\"note\\""', "'it''s'", "plain words, and a comma"]))))
    if draw(st.integers(0, 3)) == 0 and not any("comma" in text for _, text in pairs):
        space = draw(st.sampled_from(["", " "]))
        inside = f",{draw(st.sampled_from([' ', '  ']))}".join(f"{name}: {text}" for name, text in pairs)
        return [" " * level + f"{key}: {{{space}{inside}{space}}}" + draw(comments)]
    lines = [" " * level + f"{key}:" + draw(comments)]
    for name, text in pairs:
        lines.append(" " * (level + step) + f"{name}:{draw(st.sampled_from([' ', '  ', '      ']))}{text}")
        lines[-1] += draw(comments) or draw(trailing)
        lines += draw(st.sampled_from([[], [], [], [""], ["# between"], [" " * (level + step) + "# indented"]]))
    return lines


@st.composite
def _written(draw: Any, text: str) -> str:
    styles = [yaml_tree.Style.SINGLE, yaml_tree.Style.DOUBLE]
    if yaml_tree.is_plain_text(text):
        styles.append(yaml_tree.Style.PLAIN)
    return yaml_tree.quoted(text, draw(st.sampled_from(styles)))


@st.composite
def _in_a_configmap(draw: Any, lines: list[str]) -> list[str]:
    indent = " " * draw(st.integers(3, 6))
    header = draw(st.sampled_from(["|", "|-", "|+", "| # the matrix"]))
    body = [indent + line if line or draw(st.booleans()) else line for line in lines]
    return [
        "apiVersion: v1",
        "kind: ConfigMap   # a comment",
        "metadata: {name: gpu-version-matrix}",
        "data:",
        '  other: "text"',
        f"  matrix.yaml: {header}",
        *body,
        *draw(st.sampled_from([[], ["  last: |", "    kept"]])),
    ]
