"""The bill of materials of an image, in SPDX 2.3: one entry for every package that brought a file.

Written from the parts that were packed, not from a lock: what is not in the image is not in it.
Tests: tests/image/test_image.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from seatrial_lab.image.files import Component, Part
from seatrial_lab.image.oci import Image


def write(title: str, one: Image, parts: Iterable[Part], *, version: str, when: datetime) -> str:
    """The document, the same every time."""
    components = sorted((part.component for part in parts if part.tree), key=lambda each: (each.kind, each.name))
    itself = _image(title, one, version)
    packages = [_package(each) for each in components]
    relations = [_relation("SPDXRef-DOCUMENT", "DESCRIBES", itself["SPDXID"])]
    relations += [_relation(itself["SPDXID"], "CONTAINS", package["SPDXID"]) for package in packages]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{title}-{version}-{one.architecture}",
        "documentNamespace": f"https://seatrial.dev/sbom/{one.digest.replace(':', '-')}",
        "creationInfo": {
            "created": when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: seatrial-image-{version}"],
        },
        "packages": [itself, *packages],
        "relationships": relations,
    }
    return json.dumps(document, indent=1) + "\n"


def purl(component: Component) -> str:
    """The name by which scanners look a package up."""
    name, version = component.name, quote(component.version, safe="~.-_")
    if component.kind == "deb":
        return f"pkg:deb/debian/{quote(name, safe='.-')}@{version}?arch={component.architecture}&distro=bookworm"
    return f"pkg:pypi/{name}@{version}"


def _image(title: str, one: Image, version: str) -> dict[str, Any]:
    return {
        "SPDXID": "SPDXRef-image",
        "name": title,
        "versionInfo": version,
        "primaryPackagePurpose": "CONTAINER",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": one.digest.removeprefix("sha256:")}],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "externalRefs": [_reference(f"pkg:oci/{title}@{quote(one.digest)}?arch={one.architecture}")],
    }


def _package(component: Component) -> dict[str, Any]:
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{component.kind}-{component.name}"),
        "name": component.name,
        "versionInfo": component.version,
        "downloadLocation": component.url if "://" in component.url else "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": component.sha256}],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": component.license,
        "copyrightText": "NOASSERTION",
        "externalRefs": [_reference(purl(component))],
        **({"sourceInfo": f"built from {component.source}"} if component.source else {}),
    }


def _reference(locator: str) -> dict[str, str]:
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}


def _relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
