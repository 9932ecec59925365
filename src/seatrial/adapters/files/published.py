"""Versions in a file that Git holds for a deployer, read and set without touching anything else in it.

    resource                where the driver's version is written       and that of an operand
    ClusterPolicy/NAME      spec.driver.version                         spec.toolkit.version, spec.dcgmExporter.version
    NVIDIADriver/NAME       spec.version                                nowhere: a ClusterPolicy has it
    NicClusterPolicy/NAME   nowhere                                     spec.ofedDriver.version, the network driver's
    values                  driver.version                              toolkit.version, dcgmExporter.version
    HelmRelease/NAME        spec.values.driver.version                  spec.values.toolkit.version
    Application/NAME        spec.source.helm.valuesObject.driver…       likewise

The first three are one of the documents of a YAML file, the fourth is a Helm values file; the last two hold the values
of the operator's chart themselves. The version of that chart is in releases.py. Only the characters of those
values change: comments, order, quotes and the other documents stay. What cannot be done so is refused with file and
line, and so is a scope that does not exist (`driver.nodeSelector`): the version below it would reach every node. All
values of one text are set, or none.

Tests: tests/adapters/files/test_published.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from seatrial.adapters.files import yaml_tree as tree
from seatrial.adapters.files.matrix_edit import EditRefused
from seatrial.core.base.values import dataclass
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.operands import FIELDS
from seatrial.core.model.target import parts_of, text_of

VALUES: Final = "values"
PATHS: Final = {
    "ClusterPolicy": ("spec", "driver", "version"),
    "NVIDIADriver": ("spec", "version"),
    "NicClusterPolicy": ("spec", "ofedDriver", "version"),
    VALUES: ("driver", "version"),
    "HelmRelease": ("spec", "values", "driver", "version"),
    "Application": ("spec", "source", "helm", "valuesObject", "driver", "version"),
}
NETWORK_KIND: Final = "NicClusterPolicy"
GROUPS: Final = {
    "HelmRelease": "helm.toolkit.fluxcd.io/",
    "Application": "argoproj.io/",
    NETWORK_KIND: "mellanox.com/",
}
"""The API groups of what is not in NVIDIA's own."""
GROUP: Final = "nvidia.com/"

_OF_CHARTS: Final = frozenset({VALUES, "HelmRelease", "Application"})
_DOCUMENT: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+:-]*")
_INDIRECT: Final = frozenset({"yaml-alias", "yaml-anchor", "yaml-tag"})


def set_versions(text: str, resource: str, version: str, file: str = "") -> str:
    """Give one resource all that a version names: the driver, and operands. EditRefused where one cannot be set."""
    driver, parts = parts_of(version)
    edited = set_driver_version(text, resource, driver, file) if driver else text
    for name, wanted in parts:
        edited = _set(Page(edited, file, resource, Component(name)), wanted)
    return edited


def versions_in(text: str, resource: str, like: str, file: str = "") -> str | None:
    """What one resource says of all that a version names; None where it does not say it all."""
    driver = driver_version(text, resource, file) if parts_of(like)[0] else ""
    found = [(Component(name), _said(Page(text, file, resource, Component(name)))) for name, _ in parts_of(like)[1]]
    known = [(component, said) for component, said in found if said is not None]
    return text_of(driver, known) if driver is not None and len(known) == len(found) else None


def set_driver_version(text: str, resource: str, version: str, file: str = "") -> str:
    """Give one resource another driver version; EditRefused where that cannot be done, or would not do what it says."""
    return _set(Page(text, file, resource), version)


def driver_version(text: str, resource: str, file: str = "") -> str | None:
    """The driver version that one resource says; None where the file says none. EditRefused where nobody can tell."""
    return _said(Page(text, file, resource))


def _set(page: Page, version: str) -> str:
    page.refuse_unreadable(version)
    found = page.find()
    if found is None:
        raise page.missing()
    page.refuse_false_scope(found)
    start, end, new = page.splice(found, version)
    edited = page.text[:start] + new + page.text[end:]
    if _said(page.after(edited)) != version:
        raise page.refused(
            f"{page.what()} cannot be set by changing its value alone.",
            "Make the edit yourself; nothing was changed.",
            found.document.layer.at(found.pair.key.start),
        )
    return edited


def _said(page: Page) -> str | None:
    found = page.find()
    if found is None:
        return None
    node = page.scalar(found)
    return None if node.kind == "null" or not node.text else node.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    layer: tree.Layer
    root: tree.MappingNode
    troubles: tuple[tree.Trouble, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The pair that holds the version, and the mappings above it, outermost first."""

    document: Document
    above: tuple[tree.MappingNode, ...]
    pair: tree.Pair


class Page:
    """One file, asked about one resource and one component of it."""

    def __init__(self, text: str, file: str, resource: str, component: Component = Component.GPU_DRIVER) -> None:
        self.text = text
        self.file = file
        self._resource = resource
        self._kind, slash, self._name = resource.partition("/")
        is_known = self._kind in PATHS and bool(slash) == (self._kind != VALUES)
        if not is_known or (slash and not _NAME.fullmatch(self._name)):
            raise self.refused(
                f"{resource!r} names nothing that has a driver version.",
                "Write ClusterPolicy/NAME, NVIDIADriver/NAME, NicClusterPolicy/NAME, or values for a Helm values file.",
            )
        self._component = component
        self._path = self._path_of(component)

    def _path_of(self, component: Component) -> tuple[str, ...]:
        if component is (Component.MOFED if self._kind == NETWORK_KIND else Component.GPU_DRIVER):
            return PATHS[self._kind]
        if component not in FIELDS or self._kind in ("NVIDIADriver", NETWORK_KIND):
            raise self.refused(
                f"{self.called()} has no place for a version of {component.value}.",
                "Publish it to the file of the ClusterPolicy, or of the values of its chart."
                if component in FIELDS
                else "Leave it out of spec.target, and move it yourself.",
            )
        return (*PATHS[self._kind][:-2], FIELDS[component], "version")

    def after(self, text: str) -> Page:
        """The same question, asked of the file after an edit."""
        return Page(text, self.file, self._resource, self._component)

    # ── finding it ───────────────────────────────────────────────────────────────────────────────────────────────────

    def find(self) -> Found | None:
        """Where the version is written; None where the resource or the value is missing."""
        documents = list(self._documents())
        if len(documents) > 1:
            first, second = (each.layer.at(each.root.start) for each in documents[:2])
            raise self.refused(
                f"{self.called()} is in this file twice, in line {self._line(first)} and here; which one counts?",
                "Keep one of the two.",
                second,
            )
        return self._walk(documents[0]) if documents else None

    def _documents(self) -> Iterator[Document]:
        for layer in self.layers():
            if self._kind != VALUES and not re.search(rf"\bkind[\"']?\s*:\s*[\"']?{self._kind}\b", layer.text):
                continue  # another resource; it may be deeper than we read, or a template
            parsed = tree.parse(layer)
            serious = [each for each in parsed.troubles if parsed.root is None or each.rule == "multiple-documents"]
            for trouble in serious:
                raise self.refused(trouble.message, trouble.next_step, trouble.at)
            if isinstance(parsed.root, tree.MappingNode):
                document = Document(layer=layer, root=parsed.root, troubles=parsed.troubles)
                if self._kind == VALUES or self._is_meant(document):
                    yield document

    def layers(self) -> Iterator[tree.Layer]:
        """Every document as a text of its own; `---` at the start of a line is nothing else in YAML."""
        start = 1 if self.text.startswith("\ufeff") else 0
        cuts = [start, *(found.start() for found in _DOCUMENT.finditer(self.text, start) if found.start() > start)]
        for at, end in zip(cuts, [*cuts[1:], len(self.text)], strict=True):
            yield tree.Layer(text=self.text[at:end], file_starts=(at,))

    def _is_meant(self, document: Document) -> bool:
        metadata = value_of(document.root, "metadata")
        return (
            text_at(value_of(document.root, "kind")) == self._kind
            and text_at(value_of(document.root, "apiVersion")).startswith(GROUPS.get(self._kind, GROUP))
            and isinstance(metadata, tree.MappingNode)
            and text_at(value_of(metadata, "name")) == self._name
        )

    def _walk(self, document: Document) -> Found | None:
        above = [document.root]
        self.refuse_indirection(document, document.root)
        *folders, last = self._path
        for name in folders:
            pair = self.only(document, above[-1], name)
            if pair is None:
                return None
            self.refuse_indirection(document, pair.value)
            if not isinstance(pair.value, tree.MappingNode):
                return None
            above.append(pair.value)
        pair = self.only(document, above[-1], last)
        if pair is None:
            return None
        self.refuse_indirection(document, pair.value)
        return Found(document=document, above=tuple(above), pair=pair)

    def only(self, document: Document, mapping: tree.MappingNode, name: str) -> tree.Pair | None:
        pairs = [pair for pair in mapping.pairs if pair.key.text == name]
        if len(pairs) > 1:
            first, second = (document.layer.at(pair.key.start) for pair in pairs[:2])
            raise self.refused(
                f"`{name}` is given twice, in line {self._line(first)} and here; most tools take the last one.",
                "Keep one of the two.",
                second,
            )
        if not pairs:
            self._refuse_merge(document, mapping, name)
        return pairs[0] if pairs else None

    # ── refusing it ──────────────────────────────────────────────────────────────────────────────────────────────────

    def refuse_unreadable(self, version: str) -> None:
        """Refuse a text that is no version: it would be read as something else."""
        if not _VERSION.fullmatch(version):
            is_driver = self._component is Component.GPU_DRIVER
            kind, such = ("driver", "580.65.06") if is_driver else (self._component.value, "v1.18.1")
            raise self.refused(f"{version!r} is not a {kind} version.", f"Write it as the image's tag has it: {such}.")

    def refuse_false_scope(self, found: Found) -> None:
        """Refuse a version below `driver.nodeSelector`, which looks like a scope and is none."""
        if self._kind == "NVIDIADriver" or self._component is not Component.GPU_DRIVER:  # the first has a real one
            return
        for pair in found.above[-1].pairs:
            if pair.key.text == "nodeSelector":
                dropped = (
                    "the chart does not pass it on"
                    if self._kind in _OF_CHARTS
                    else "the API server drops it with a warning"
                )
                raise self.refused(
                    f"`driver.nodeSelector` does not exist in the ClusterPolicy's CRD: {dropped}, keeps the version, "
                    "and the whole fleet rolls.",
                    "Remove it. For some nodes only, use one NVIDIADriver per pool with a nodeSelector, or waves.",
                    found.document.layer.at(pair.key.start),
                )

    def refuse_indirection(self, document: Document, node: tree.Node) -> None:
        for trouble in document.troubles:
            if trouble.rule in _INDIRECT and trouble.at == document.layer.at(node.start):
                raise self.refused(
                    f"{self.what()} is behind an anchor, an alias or a tag: an edit here could change another place, "
                    "or none.",
                    "Write the value out in its own place.",
                    trouble.at,
                )

    def _refuse_merge(self, document: Document, mapping: tree.MappingNode, name: str) -> None:
        for pair in mapping.pairs:
            if pair.key.text == "<<" and pair.key.style is tree.Style.PLAIN:
                raise self.refused(
                    f"`{name}` is not written here, and `<<` may bring it in from another place.",
                    "Write the value out in its own place.",
                    document.layer.at(pair.key.start),
                )

    def missing(self) -> EditRefused:
        """Say which part of the way to the version is not there."""
        path = ".".join(self._path)
        documents = list(self._documents())
        if not documents and self._kind != VALUES:
            return self.refused(
                f"{self.called()} is not in this file.", "Check the name and the file, and that it is no List."
            )
        at = documents[0].layer.at(documents[0].root.start) if documents else 0
        now = "" if self._component is Component.GPU_DRIVER else ", with the version that runs now"
        return self.refused(f"{self.called()} says no {path}.", f"Write it there once yourself{now}: {path}.", at)

    def refused(self, message: str, next_step: str, at: int = 0) -> EditRefused:
        places = tree.Places(self.file, self.text)
        return EditRefused(
            Finding(
                rule="edit-refused",
                verdict=Verdict.FAIL,
                message=message,
                next_step=next_step,
                spans=(places.span(at),),
            )
        )

    # ── changing it ──────────────────────────────────────────────────────────────────────────────────────────────────

    def scalar(self, found: Found) -> tree.ScalarNode:
        """The value, which must be a text on one line."""
        node = found.pair.value
        layer = found.document.layer
        is_text = isinstance(node, tree.ScalarNode) and node.style not in (tree.Style.LITERAL, tree.Style.FOLDED)
        if not isinstance(node, tree.ScalarNode) or not is_text or tree.BREAK.search(layer.text, node.start, node.end):
            raise self.refused(
                f"{self.what()} is not a text on one line.",
                "Write it behind its key: version: 580.65.06.",
                layer.at(found.pair.key.start),
            )
        return node

    def splice(self, found: Found, version: str) -> tuple[int, int, str]:
        """What to replace, by which text, in offsets of the file."""
        node = self.scalar(found)
        layer = found.document.layer
        if node.start == node.end:  # nothing is written behind the colon
            at = layer.at(found.pair.colon)
            return at, at, f" {tree.quoted(version, tree.Style.DOUBLE)}"
        return layer.at(node.start), layer.at(node.end), tree.quoted(version, node.style)

    def called(self) -> str:
        return "The values file" if self._kind == VALUES else self._resource

    def what(self) -> str:
        owner = "the values file" if self._kind == VALUES else self._resource
        is_driver = self._component is Component.GPU_DRIVER
        return f"The version of {owner}" if is_driver else f"The {self._component.value} version of {owner}"

    def _line(self, at: int) -> int:
        return tree.Places(self.file, self.text).span(at).line


def value_of(mapping: tree.MappingNode, name: str) -> tree.Node | None:
    return next((pair.value for pair in mapping.pairs if pair.key.text == name), None)


def text_at(node: tree.Node | None) -> str:
    return node.text if isinstance(node, tree.ScalarNode) else ""
