"""What is told beside a version in a file that Git holds for a deployer: to a driver manager, and to DaemonSets.

    resource                    where its environment is written
    ClusterPolicy/NAME          spec.driver.manager.env     a list of {name, value}
    NVIDIADriver/NAME           spec.manager.env            likewise
    values                      driver.manager.env          a Helm values file

    ClusterPolicy/NAME          spec.daemonsets.updateStrategy      and how the DaemonSets of operands replace pods
    values                      daemonsets.updateStrategy

A chart's values may stand in a HelmRelease or an Application as well: see published. A commit as a whole sets them all,
in one file or in those of a folder. What is there changes its value and nothing else; what is not there is added.
Comments, order and all other entries stay. What cannot be done so is refused with file and line; there is no way to
take an entry away, because a commit is taken back as a whole. Tests: tests/adapters/files/test_switched.py
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Final

from seatrial.adapters.files import published, published_releases
from seatrial.adapters.files import yaml_tree as tree
from seatrial.adapters.files.matrix_edit import EditRefused
from seatrial.adapters.files.published import Found, Page
from seatrial.core.actions.at_home import Publish, RevertCommits
from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.operators import ON_DELETE
from seatrial.core.model.seen.releases import CHARTS
from seatrial.core.model.target import parts_of, text_of
from seatrial.core.node.progress import is_policy

_MANIFEST: Final = re.compile(r"^[\"']?kind[\"']?[ \t]*:", re.MULTILINE)
ENDINGS: Final = (".yaml", ".yml")
"""How the names of files end that are read in a folder."""
_DRIVER: Final = re.compile(r"^[\"']?driver[\"']?[ \t]*:", re.MULTILINE)
"""How a values file of the chart begins to speak of drivers."""
_BY_THE_CHART: Final = "NVIDIADriver/default"
"""The one NVIDIADriver that NVIDIA's chart makes from its values; every other one has a manifest of its own."""
_ADVICE = "Write the entry there once yourself, as name and value; nothing was changed."
_STRATEGY_ADVICE: Final = "Write it yourself, as `updateStrategy: OnDelete`; nothing was changed."


def set_switches(text: str, resource: str, switches: Mapping[str, str], file: str = "") -> str:
    """Tell a resource's driver manager these values by name; EditRefused where that cannot be done."""
    edited = text
    for name, value in switches.items():
        if manager_env(edited, resource, file).get(name) != value:
            edited = _with(edited, resource, name, value, file)
    found = manager_env(edited, resource, file)
    if {**manager_env(text, resource, file), **switches} != found:
        page = Page(text, file, resource)
        raise page.refused(f"The driver manager's environment of {resource} cannot be set in its place.", _ADVICE)
    return edited


def manager_env(text: str, resource: str, file: str = "") -> dict[str, str]:
    """What a resource's driver manager is told by name, as far as it is written out."""
    page = Page(text, file, resource)
    found = page.find()
    env = _child(page, found, _child(page, found, found.above[-1], "manager"), "env") if found is not None else None
    items = env.items if isinstance(env, tree.SequenceNode) else ()
    said = {_text(item, "name"): _text(item, "value") for item in items if isinstance(item, tree.MappingNode)}
    return {name: value for name, value in said.items() if name}


def _with(text: str, resource: str, name: str, value: str, file: str) -> str:
    """The text with one entry set."""
    page = Page(text, file, resource)
    found = page.find()
    if found is None:
        raise page.missing()
    layer, driver = found.document.layer, found.above[-1]
    manager = _pair(page, found, driver, "manager")
    if manager is None:
        return _below(text, found, driver, found.pair, "manager", _flow_env(name, value), _block_env(text, name, value))
    if not isinstance(manager.value, tree.MappingNode) or not manager.value.pairs:
        return _instead(page, text, found, manager, f"{{env: [{_flow(name, value)}]}}")
    env = _pair(page, found, manager.value, "env")
    if env is None:
        last = manager.value.pairs[-1]
        return _below(text, found, manager.value, last, "env", f"[{_flow(name, value)}]", _block(text, name, value))
    if not isinstance(env.value, tree.SequenceNode) or not env.value.items:
        return _instead(page, text, found, env, f"[{_flow(name, value)}]")
    for item in env.value.items:
        if isinstance(item, tree.MappingNode) and _text(item, "name") == name:
            said = _pair(page, found, item, "value")
            if said is None or not isinstance(said.value, tree.ScalarNode):
                at = layer.at(item.start)
                raise page.refused(f"{name} has no value of its own here.", "Write its value behind `value:`.", at)
            return _scalar(text, found, said, value)
    last_item = env.value.items[-1]
    if env.value.is_flow:
        at = layer.at(last_item.end)
        return f"{text[:at]}, {_flow(name, value)}{text[at:]}"
    dash = layer.text.rfind("-", 0, last_item.start)
    indent = " " * tree.column_of(layer.text, dash)
    at = tree.line_end(text, layer.at(tree.end_of(layer, last_item)))
    lines = _block(text, name, value).replace(_break(text), _break(text) + indent)
    return f"{text[:at]}{_break(text)}{indent}{lines}{text[at:]}"


# ── how DaemonSets replace pods ──────────────────────────────────────────────────────────────────────────────────────


def set_strategy(text: str, resource: str, strategy: str, file: str = "") -> str:
    """Tell a ClusterPolicy, or its chart, how DaemonSets replace their pods; EditRefused where that cannot be done."""
    page, found, owner = _owner(text, resource, file)
    if update_strategy(text, resource, file) == strategy:
        return text
    sets = _pair(page, found, owner, "daemonsets")
    if sets is None:
        driver = next(pair for pair in owner.pairs if pair.value is found.above[-1])
        flow = f"{{updateStrategy: {strategy}}}"
        edited = _below(text, found, owner, driver, "daemonsets", flow, f"  updateStrategy: {strategy}")
    elif not isinstance(sets.value, tree.MappingNode) or not sets.value.pairs:
        edited = _instead(page, text, found, sets, f"{{updateStrategy: {strategy}}}")
    else:
        edited = _in_mapping(page, text, found, sets.value, strategy)
    if update_strategy(edited, resource, file) != strategy:
        raise page.refused(f"How DaemonSets of {resource} replace pods cannot be set in its place.", _STRATEGY_ADVICE)
    return edited


def update_strategy(text: str, resource: str, file: str = "") -> str:
    """How a resource has DaemonSets replace their pods; empty where it does not say."""
    page, found, owner = _owner(text, resource, file)
    sets = _child(page, found, owner, "daemonsets")
    return _text(sets, "updateStrategy") if isinstance(sets, tree.MappingNode) else ""


def _owner(text: str, resource: str, file: str) -> tuple[Page, Found, tree.MappingNode]:
    """What holds the driver's settings, and those of all DaemonSets beside them."""
    page = Page(text, file, resource)
    found = page.find()
    if found is None:
        raise page.missing()
    if resource.startswith("NVIDIADriver/"):
        raise page.refused(f"{resource} does not say how operands are replaced.", "Set it in the ClusterPolicy.")
    return page, found, found.above[-2]


def _in_mapping(page: Page, text: str, found: Found, mapping: tree.MappingNode, strategy: str) -> str:
    said = _pair(page, found, mapping, "updateStrategy")
    if said is not None:
        if not isinstance(said.value, tree.ScalarNode):
            at = found.document.layer.at(said.key.start)
            raise page.refused("`updateStrategy` is not a text on one line.", _STRATEGY_ADVICE, at)
        return _scalar(text, found, said, strategy)
    first = mapping.pairs[0]
    if mapping.is_flow:
        at = found.document.layer.at(first.key.start)
        return f"{text[:at]}updateStrategy: {strategy}, {text[at:]}"
    at = found.document.layer.at(first.key.start)
    indent = " " * tree.column_of(found.document.layer.text, first.key.start)
    return f"{text[:at]}updateStrategy: {strategy}{_break(text)}{indent}{text[at:]}"


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _below(
    text: str, found: Found, mapping: tree.MappingNode, after: tree.Pair, key: str, flow: str, block: str
) -> str:
    """A new key of a mapping, behind one that is there: on lines of its own, or between the brackets."""
    layer = found.document.layer
    end = layer.at(max(tree.end_of(layer, after.value), after.colon))
    if mapping.is_flow:
        return f"{text[:end]}, {key}: {flow}{text[end:]}"
    indent, at = " " * tree.column_of(layer.text, after.key.start), tree.line_end(text, end)
    lines = f"{key}:{_break(text)}{block}".replace(_break(text), f"{_break(text)}{indent}")
    return f"{text[:at]}{_break(text)}{indent}{lines}{text[at:]}"


def _instead(page: Page, text: str, found: Found, pair: tree.Pair, flow: str) -> str:
    """A value in place of an empty one."""
    layer, node = found.document.layer, pair.value
    is_empty = isinstance(node, tree.ScalarNode) and node.kind == "null"
    is_empty = is_empty or (isinstance(node, tree.MappingNode) and not node.pairs)
    if not is_empty and not (isinstance(node, tree.SequenceNode) and not node.items):
        raise page.refused(f"`{pair.key.text}` is not what it should be here.", _ADVICE, layer.at(pair.key.start))
    if node.start == node.end:
        at = layer.at(pair.colon)
        return f"{text[:at]} {flow}{text[at:]}"
    return f"{text[: layer.at(node.start)]}{flow}{text[layer.at(node.end) :]}"


def _scalar(text: str, found: Found, pair: tree.Pair, value: str) -> str:
    layer, node = found.document.layer, pair.value
    if not isinstance(node, tree.ScalarNode) or node.start == node.end:
        at = layer.at(pair.colon)
        return f"{text[:at]} {tree.quoted(value, tree.Style.DOUBLE)}{text[at:]}"
    return f"{text[: layer.at(node.start)]}{tree.quoted(value, node.style)}{text[layer.at(node.end) :]}"


def _flow(name: str, value: str) -> str:
    return f"{{name: {name}, value: {tree.quoted(value, tree.Style.DOUBLE)}}}"


def _flow_env(name: str, value: str) -> str:
    return f"{{env: [{_flow(name, value)}]}}"


def _block(text: str, name: str, value: str) -> str:
    return f"- name: {name}{_break(text)}  value: {tree.quoted(value, tree.Style.DOUBLE)}"


def _block_env(text: str, name: str, value: str) -> str:
    lines = f"env:{_break(text)}{_block(text, name, value)}"
    return "  " + lines.replace(_break(text), f"{_break(text)}  ")


def _break(text: str) -> str:
    """The line break of a file."""
    found = tree.BREAK.search(text)
    return found.group() if found else "\n"


def _pair(page: Page, found: Found, mapping: tree.MappingNode, name: str) -> tree.Pair | None:
    pair = page.only(found.document, mapping, name) if name in {each.key.text for each in mapping.pairs} else None
    if pair is not None:
        page.refuse_indirection(found.document, pair.value)
    return pair


def _child(page: Page, found: Found, node: tree.Node | None, name: str) -> tree.Node | None:
    pair = _pair(page, found, node, name) if isinstance(node, tree.MappingNode) else None
    return pair.value if pair is not None else None


def _text(mapping: tree.MappingNode, name: str) -> str:
    value = next((pair.value for pair in mapping.pairs if pair.key.text == name), None)
    return value.text if isinstance(value, tree.ScalarNode) else ""


# ── a whole commit ───────────────────────────────────────────────────────────────────────────────────────────────────


def carrying(act: Publish, path: str, text: str | None) -> str:
    """The published file with the versions of an act in it, and with what is told beside them."""
    before = text or ""
    return changed_by(act, {path: before}).get(path, before)


def carrying_beside(act: Publish, texts: Mapping[str, str], path: str, text: str | None) -> str:
    """One file of a folder with what an act changes in it, beside the others as they were looked at."""
    before = text or ""
    return changed_by(act, {**texts, path: before}).get(path, before)


def changed_by(act: Publish, texts: Mapping[str, str]) -> dict[str, str]:
    """Those of these files that an act changes, with its versions in them, each in the one place that says it."""
    edited = dict(texts)
    for resource, version in act.versions:
        path, (driver, parts) = _file_of(edited, resource), parts_of(version)
        own = text_of(driver, ((Component(name), said) for name, said in parts if name not in CHARTS))
        edited[path] = published.set_versions(edited[path], _named_in(edited[path], resource), own, file=path)
    wanted = {Component(name): said for _, text in act.versions for name, said in parts_of(text)[1] if name in CHARTS}
    for component, version in wanted.items():
        edited |= published_releases.set_release(edited, component, version)
    for resource in dict.fromkeys(each.resource for each in act.switches):
        told = {each.name: each.value for each in act.switches if each.resource == resource and each.value is not None}
        path = _file_of(edited, resource)
        edited[path] = set_switches(edited[path], _named_in(edited[path], resource), told, file=path)
    for resource in (name for name, _ in act.versions if act.on_delete and is_policy(name)):
        path = _file_of(edited, resource)
        edited[path] = set_strategy(edited[path], _named_in(edited[path], resource), ON_DELETE, file=path)
    return {path: text for path, text in edited.items() if text != texts[path]}


def _file_of(texts: Mapping[str, str], resource: str) -> str:
    """The one of these files that says the version of a resource; of one file alone, that one answers for itself."""
    if len(texts) == 1:
        return next(iter(texts))
    found = [path for path, text in texts.items() if _may_say(text) and _says(text, resource, path)]
    if len(found) == 1:
        return found[0]
    page = Page("", found[0] if found else "", resource)
    if not found:
        raise page.refused(
            f"None of the {len(texts)} files there says the driver's version of {resource}.",
            "Write it once yourself, with the version that runs now: in its manifest, or in the values of its chart.",
        )
    raise page.refused(
        f"The driver's version of {resource} is in {len(found)} files: {', '.join(found)}.",
        "Publish to one of them (spec.publish.git.path).",
    )


def _may_say(text: str) -> bool:
    """Whether it is worth to read a file: others may be templates, or nothing like YAML."""
    return _MANIFEST.search(text) is not None or _DRIVER.search(text) is not None


def _says(text: str, resource: str, path: str) -> bool:
    named = _named_in(text, resource)
    return _kind_in(text, named) and published.driver_version(text, named, path) is not None


def _kind_in(text: str, named: str) -> bool:
    kind = named.partition("/")[0]
    return kind == published.VALUES or re.search(rf"\bkind[\"']?\s*:\s*[\"']?{kind}\b", text) is not None


def files_keeping(act: RevertCommits, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Those of these files that a revert has something to keep in."""
    found = []
    for resource in act.on_delete:
        with contextlib.suppress(EditRefused):
            found.append(_file_of(texts, resource))
    return tuple(dict.fromkeys(found))


def keeping(act: RevertCommits, path: str, text: str | None) -> str:
    """The published file after a revert, with what DaemonSets were told: they restart nobody on the way back either."""
    edited = text or ""
    for resource in act.on_delete:
        # Somebody has rewritten the file meanwhile: the way back is worth more than what it keeps.
        with contextlib.suppress(EditRefused):
            edited = set_strategy(edited, _named_in(edited, resource), ON_DELETE, file=path)
    return edited


def _named_in(text: str, resource: str) -> str:
    """What a resource is called in the file: by its name, or by what holds the values of its chart."""
    is_chart_made = resource.startswith("ClusterPolicy/") or resource == _BY_THE_CHART
    if _MANIFEST.search(text):
        holder = published_releases.holder_in(text) if is_chart_made and not _kind_in(text, resource) else ""
        return holder or resource
    # A values file has one version for all: written for one pool, it would reach every node.
    return published.VALUES if is_chart_made else resource
