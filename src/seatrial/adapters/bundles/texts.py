"""The files of a bundle as bytes.

Law of this file: the same data give the same bytes on every machine, so the dumper is the one that is written in
Python. Whatever begins like a number is quoted: readers of YAML do not agree on which of them are numbers.
Tests: tests/adapters/test_bundles.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from seatrial.core.base.values import dataclass
from seatrial.core.compat.bundles.values import BundleRefused, Document, File, Text

WIDTH: Final = 110
_LIKE_A_NUMBER: Final = re.compile(r"[-+.]?[0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A file's bytes, and whether it can be run."""

    data: bytes
    is_executable: bool = False


def contents_of(files: Iterable[File]) -> dict[str, Content]:
    """Every file by its path."""
    return {each.path: _content(each) for each in files}


def yaml_text(data: Mapping[str, Any]) -> str:
    """One document of YAML."""
    if not data:
        return "{}\n"
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    return text


def values_in(path: Path) -> dict[str, Any]:
    """Values of somebody's own; BundleRefused where the file holds none."""
    try:
        found = yaml.safe_load(path.read_bytes())
    except OSError as err:
        raise BundleRefused(f"{path} cannot be read: {err.strerror or err}.") from err
    except (yaml.YAMLError, UnicodeDecodeError) as err:
        raise BundleRefused(f"{path} is not YAML: {' '.join(str(err).split())}") from err
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise BundleRefused(f"{path} holds no values of a chart: it is no map with names.")
    return found


def _content(file: File) -> Content:
    match file:
        case Text():
            return Content(data=file.text.encode(), is_executable=file.is_executable)
        case Document():
            return Content(data=_document(file).encode())


def _document(file: Document) -> str:
    text = "---\n".join(yaml_text(each) for each in file.objects)
    for word, template in file.templates.items():
        text = text.replace(word, template)
    return "".join(f"# {line}\n" for line in file.comment) + text


class _Dumper(yaml.SafeDumper):
    """Lists below their key are indented, and nothing refers to anything by an anchor."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _LIKE_A_NUMBER.match(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _mapping(dumper: yaml.SafeDumper, data: Mapping[str, Any]) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", data.items())


_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _mapping)
