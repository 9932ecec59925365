"""The version of an operator's chart in files that Git holds for a deployer, found by the chart's name.

    HelmRelease     spec.chart.spec.version
    Application     spec.source.targetRevision, or that of one of spec.sources, where the source is a chart
    helmfile        releases[].version

Only the characters of that value change, as in the rest of this room. One place has to say it: where there is none, or
more than one, nobody is asked to guess. Tests: tests/adapters/files/test_published_releases.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from seatrial.adapters.files import yaml_tree as tree
from seatrial.adapters.files.published import GROUPS, Document, Found, Page, text_at, value_of
from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.releases import CHARTS, NAMES, operator_of, styled

_MAY_SAY: Final = re.compile(r"^[\"']?(kind[\"']?\s*:\s*[\"']?(HelmRelease|Application)\b|releases[\"']?\s*:)", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a file says which release is wanted."""

    file: str
    line: int
    said: str
    page: ReleasePage
    found: Found

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def set_release(texts: Mapping[str, str], component: Component, version: str) -> dict[str, str]:
    """The one file that changes, by its path, with another version of an operator's chart; EditRefused otherwise."""
    place = the_place(texts, component)
    place.page.refuse_unreadable(version)
    start, end, new = place.page.splice(place.found, styled(version, place.said))
    edited = place.page.text[:start] + new + place.page.text[end:]
    return {place.file: edited} if edited != place.page.text else {}


def holder_in(text: str) -> str:
    """The HelmRelease or Application in a file that holds the values of the GPU Operator's chart; empty without one."""
    page = ReleasePage(text, "", Component.GPU_OPERATOR)
    for found in page.releases():
        root = found.document.root
        kind, metadata = text_at(value_of(root, "kind")), value_of(root, "metadata")
        if kind in GROUPS and isinstance(metadata, tree.MappingNode):
            return f"{kind}/{text_at(value_of(metadata, 'name'))}"
    return ""


def the_place(texts: Mapping[str, str], component: Component) -> Place:
    """The one place among these files that says which release is wanted."""
    found = [each for file, text in texts.items() for each in places_in(text, component, file)]
    if len(found) == 1:
        return found[0]
    first = next(iter(texts), "")
    page = found[0].page if found else ReleasePage(texts.get(first, ""), first, component)
    chart = CHARTS[component]
    if not found:
        where = first if len(texts) == 1 else f"the {len(texts)} files there"
        raise page.refused(
            f"No HelmRelease, Application or helmfile with the chart {chart} is in {where}.",
            "Publish to the file that declares it, or to a folder that has it (spec.publish.git.path).",
        )
    named = ", ".join(map(str, found[:-1])) + f" and {found[-1]}"
    raise page.refused(
        f"The chart {chart} is declared in {len(found)} places: {named}.",
        "Publish to the file of one of them (spec.publish.git.path).",
        found[1].page.at(found[1].found) if found[1].page is page else 0,
    )


def places_in(text: str, component: Component, file: str = "") -> list[Place]:
    """Every place in a file that says the version of an operator's chart; EditRefused where one cannot be edited."""
    page = ReleasePage(text, file, component)
    return [
        Place(file=file, line=page.line(found), said=page.scalar(found).text, page=page, found=found)
        for found in page.releases()
    ]


class ReleasePage(Page):
    """One file, asked about the release of one operator."""

    def __init__(self, text: str, file: str, component: Component) -> None:
        super().__init__(text, file, "values")
        self._operator = component

    def releases(self) -> Iterator[Found]:
        """Every place that says a version of the chart."""
        for layer in self.layers():
            # Others may be deeper than we read, or templates: they are nobody's release.
            is_named = any(name in layer.text for name, each in NAMES.items() if each is self._operator)
            if not is_named or not _MAY_SAY.search(layer.text):
                continue
            parsed = tree.parse(layer)
            for trouble in parsed.troubles if parsed.root is None else ():
                raise self.refused(trouble.message, trouble.next_step, trouble.at)
            if isinstance(parsed.root, tree.MappingNode):
                document = Document(layer=layer, root=parsed.root, troubles=parsed.troubles)
                yield from (self._version_of(document, *each) for each in self._declared(document))

    def _declared(self, document: Document) -> Iterator[tuple[tree.MappingNode, str]]:
        """The mappings that declare the chart, each with the key under which its version stands."""
        root, kind = document.root, text_at(value_of(document.root, "kind"))
        spec = value_of(root, "spec")
        if kind in GROUPS:
            if not text_at(value_of(root, "apiVersion")).startswith(GROUPS[kind]):
                return
            found: list[tree.Node | None] = []
            if kind == "HelmRelease":
                found.append(_down(spec, "chart", "spec"))
            else:
                sources = _down(spec, "sources")
                found += [_down(spec, "source"), *(sources.items if isinstance(sources, tree.SequenceNode) else ())]
            key = "version" if kind == "HelmRelease" else "targetRevision"
        else:
            listed = value_of(root, "releases") if not kind else None
            found, key = list(listed.items) if isinstance(listed, tree.SequenceNode) else [], "version"
        for each in found:
            if isinstance(each, tree.MappingNode) and self._is_ours(each):
                yield each, key

    def _is_ours(self, mapping: tree.MappingNode) -> bool:
        return operator_of(text_at(value_of(mapping, "chart"))) is self._operator

    def _version_of(self, document: Document, mapping: tree.MappingNode, key: str) -> Found:
        self.refuse_indirection(document, mapping)
        pair = self.only(document, mapping, key)
        if pair is None:
            raise self.refused(
                f"The chart {CHARTS[self._operator]} has no {key} here.",
                f"Write it there once yourself, with the version that runs now: {key}.",
                document.layer.at(mapping.start),
            )
        self.refuse_indirection(document, pair.value)
        return Found(document=document, above=(mapping,), pair=pair)

    def refuse_unreadable(self, version: str) -> None:
        """Every version of a target was read before; one that was not is a bug of ours, and refused all the same."""
        if not re.fullmatch(r"v?[0-9][A-Za-z0-9._+-]*", version):
            raise self.refused(f"{version!r} is not a version of a chart.", "Write it as the chart has it: v25.10.0.")

    def at(self, found: Found) -> int:
        """Where it is in the file."""
        return found.document.layer.at(found.pair.key.start)

    def line(self, found: Found) -> int:
        """Its line."""
        return tree.Places(self.file, self.text).span(self.at(found)).line

    def called(self) -> str:
        return f"The chart {CHARTS[self._operator]}"

    def what(self) -> str:
        return f"The version of the chart {CHARTS[self._operator]}"


def _down(node: tree.Node | None, *names: str) -> tree.Node | None:
    for name in names:
        node = value_of(node, name) if isinstance(node, tree.MappingNode) else None
    return node
