"""What is there once for the whole cluster: OpenShift, and the operators that OLM or Helm installed.

    GPU Operator, Network Operator    the CSV that succeeded; else the Deployment's image, its labels, or Helm
    SR-IOV operator                   Red Hat's, by its CSV, is the matrix's; NVIDIA's own build is another product

Law of this file: an operator is found by what it is, and not by where somebody expects it; a copied CSV is none. Tests:
tests/core/survey/test_audit_readings.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.matrix import Component
from seatrial.core.survey.audit import images
from seatrial.core.survey.audit.objects import DeploymentObject, Objects
from seatrial.core.survey.audit.readings import Absent, Cause, NotObservable, Reading, Seen, seen, unread
from seatrial.core.survey.sources import Source

SUCCEEDED: Final = "Succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """How an operator is told from others."""

    csv: str
    """How the names of its CSVs begin."""
    image: str
    """The last part of its image's repository."""


OPERATORS: Final[Mapping[Component, Operator]] = {
    Component.GPU_OPERATOR: Operator(csv="gpu-operator-certified.v", image="gpu-operator"),
    Component.NETWORK_OPERATOR: Operator(csv="nvidia-network-operator.v", image="network-operator"),
    Component.SRIOV_OPERATOR: Operator(csv="sriov-network-operator.v", image="sriov-network-operator"),
}
NVIDIAS_BUILD: Final = "network-operator-"
"""How the tags of NVIDIA's own build of the SR-IOV operator begin."""


def openshift(objects: Objects) -> Reading:
    """The release that was completed last; an update under way is a caution, since it is wanted and not there yet."""
    gaps = objects.blind(Source.CLUSTER_VERSIONS)
    if gaps:
        return unread(gaps)
    if not objects.openshift:
        return Absent(why="the cluster has no ClusterVersion: it is not OpenShift")
    found = objects.openshift[0]
    if not found.completed:
        return NotObservable(cause=Cause.OBJECT, missing="a completed entry of ClusterVersion status.history")
    caution = f"an update to {found.desired} is under way" if found.desired not in ("", found.completed) else ""
    return seen(Component.OPENSHIFT, found.completed, "ClusterVersion status.history, completed", caution)


def operator(objects: Objects, part: Component) -> Reading:
    """The operator that runs, whoever installed it; two of them are told both."""
    known = OPERATORS[part]
    csvs = [each for each in objects.csvs if each.name.startswith(known.csv)]
    done = [each for each in csvs if each.phase == SUCCEEDED]
    if done:
        return _together(
            [
                seen(part, each.version, f"ClusterServiceVersion {each.namespace}/{each.name} spec.version")
                for each in done
            ]
        )
    if csvs:
        stuck = csvs[0]
        missing = f"ClusterServiceVersion {stuck.namespace}/{stuck.name} in phase Succeeded; it is {stuck.phase}"
        return NotObservable(cause=Cause.OBJECT, missing=missing)
    running = [each for each in objects.deployments if _runs(each, known.image)]
    if running:
        return _together([_of_deployment(objects, each, part) for each in running])
    gaps = objects.blind(Source.CSVS, Source.DEPLOYMENTS)
    return unread(gaps) if gaps else Absent(why="neither a ClusterServiceVersion nor a Deployment of it is there")


def untold(objects: Objects) -> tuple[str, ...]:
    """Namespaces where an operator runs whose version no object has told: Helm may have written it down there."""
    readings = {part: operator(objects, part) for part in OPERATORS}
    silent = [OPERATORS[part].image for part, found in readings.items() if isinstance(found, NotObservable)]
    return tuple(sorted({each.namespace for each in objects.deployments for image in silent if _runs(each, image)}))


def _of_deployment(objects: Objects, found: DeploymentObject, part: Component) -> Reading:
    image = OPERATORS[part].image
    place = f"Deployment {found.namespace}/{found.name}"
    used = next(each for _, each in found.images if images.name_of(each) == image)
    tag = images.tag_of(used)
    if part is Component.SRIOV_OPERATOR and tag.startswith(NVIDIAS_BUILD):
        return Absent(why=f"{place} runs NVIDIA's own build {tag}, another product than Red Hat's")
    witnesses = [
        seen(part, tag if "@" not in used else "", f"{place}, image {used}"),
        seen(part, found.version, f"{place}, label app.kubernetes.io/version"),
        seen(part, found.chart.removeprefix(f"{image}-"), f"{place}, label helm.sh/chart"),
        *(
            seen(part, each.version, f"Helm release {each.namespace}/{each.name}, version of its chart")
            for each in objects.releases
            if (each.namespace, each.chart) == (found.namespace, image)
        ),
    ]
    told = next((each for each in witnesses if isinstance(each, Seen)), None)
    silent = f"a version in the image and the labels of {place}, which runs {used}; {objects.unreleased}"
    return told or NotObservable(cause=Cause.OBJECT, missing=silent)


def _together(readings: Sequence[Reading]) -> Reading:
    """One reading of all that were found: the different versions, or what keeps one of them from being told."""
    shown = [each for each in readings if isinstance(each, Seen)]
    if len(shown) < len(readings):
        return next(each for each in readings if not isinstance(each, Seen))
    others = {each.value.version: each.value for each in shown[1:] if each.value.version != shown[0].value.version}
    return replace(shown[0], more=tuple(others.values()))


def _runs(found: DeploymentObject, image: str) -> bool:
    return any(images.name_of(each) == image for _, each in found.images)
