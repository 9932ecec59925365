"""Reads which charts Helm has deployed in a namespace, from the Secrets in which it keeps its releases.

Law of this file: it is read only when somebody asked for it, since a release holds everything that a chart was
installed with; the chart's name and version are kept, and nothing else leaves this file. Tests:
tests/adapters/kube/test_helm_releases.py
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from contextlib import aclosing
from typing import Final

import msgspec

from seatrial.adapters.kube.api.client import Client, api_path
from seatrial.adapters.kube.shapes.model import Model
from seatrial.core.survey.audit.objects import ReleaseObject
from seatrial.core.text import foreign

DEPLOYED: Final = "owner=helm,status=deployed"
_GZIP: Final = b"\x1f\x8b"


class _Meta(Model, frozen=True):
    name: str = ""
    namespace: str = ""
    version: str = ""


class _Data(Model, frozen=True):
    release: str = ""


class _Secret(Model, frozen=True):
    type: str = ""
    metadata: _Meta = _Meta()
    data: _Data = _Data()


class _Chart(Model, frozen=True):
    metadata: _Meta = _Meta()


class _Release(Model, frozen=True):
    name: str = ""
    chart: _Chart = _Chart()


async def read(client: Client, namespaces: tuple[str, ...]) -> tuple[ReleaseObject, ...]:
    """The charts that are deployed there."""
    found = []
    for namespace in namespaces:
        path = api_path("v1", "secrets", namespace=namespace)
        async with aclosing(client.each(path, _Secret, label_selector=DEPLOYED, page_size=20)) as secrets:
            async for each in secrets:
                release = _opened(each.data.release) if each.type == "helm.sh/release.v1" else None
                if release is not None:
                    chart = release.chart.metadata
                    found.append(
                        ReleaseObject(
                            namespace=namespace,
                            name=foreign.line(release.name),
                            chart=foreign.line(chart.name),
                            version=foreign.line(chart.version),
                        )
                    )
    return tuple(found)


def _opened(data: str) -> _Release | None:
    """A release as Helm packs it: JSON, gzipped, in base64, and that once more as every Secret's data is."""
    try:
        packed = base64.b64decode(base64.b64decode(data, validate=True), validate=True)
        text = gzip.decompress(packed) if packed.startswith(_GZIP) else packed
        return msgspec.json.decode(text, type=_Release)
    except (binascii.Error, ValueError, OSError, EOFError, zlib.error, msgspec.MsgspecError):
        return None  # what cannot be read tells nothing; what is missing is told where it is looked for
