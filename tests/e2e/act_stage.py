"""A quiet place on the real API server: two nodes without kubelets, so that an act is followed by what it did alone.

Nobody runs their pods, so a pod that is told to go stays on its way out, and nobody starts another. What is laid out
before an act (`tests/scenarios/acts.py` says how things stand) is put there by somebody else, under another name than
ours. Acts go through the real executor, and what is seen comes from the real observer; commits go through the real
keeper to a bare repository, and questions to a webhook on loopback.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import web

from seatrial.adapters.git.addresses import Permit, Permits
from seatrial.adapters.http.checkpoints import HttpCheckpoints
from seatrial.adapters.http.webhook import Webhooks, origin_of
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, PatchKind, api_path
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.gates.probes import Level
from seatrial.adapters.kube.reading.observe import KubeObserver
from seatrial.adapters.kube.shapes import keys, models, publishing
from seatrial.adapters.kube.streams.row import Row
from seatrial.adapters.kube.writing.execute import KubeCluster
from seatrial.adapters.kube.writing.measure import JobMeasurer
from seatrial.controller.keeper import GitSettings, Keeper
from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import AskCheckpoint
from seatrial.core.model.seen.marks import NEIGHBOURS, Place
from seatrial.ports import Outcome, Sight
from seatrial.run.routing import Router, Routes
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.neighbours import argo_cd, flux, maintenance
from seatrial_lab.testbed.nodes import kueue, machine_pools, olm
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.adapters.git.remotes import Bare
from tests.builders import NEW
from tests.controller.git_stage import MATRIX, PUBLISHED, a_remote, matrix_of
from tests.e2e.light_stage import a_policy
from tests.scenarios.acts import (
    APPLICATION,
    CSVS,
    DRIVER,
    ELSEWHERE,
    FILE,
    FIRST,
    HELM_RELEASE,
    NAMESPACE,
    OPERATORS,
    OURS,
    PLAN,
    POLICY,
    RELEASED,
    SECOND,
    THEIRS,
    THIRD,
    WEBHOOK,
    Requestors,
    Setting,
    Sitter,
)
from tests.scenarios.two_stages import Repository

KEEPER: Final = "act-keeper"
"""The DaemonSet that owns the DRA plugin and the toolkit: anybody else's pod with their labels is neither."""
TOOLKIT_APP, TOOLKIT_HASH = "nvidia-container-toolkit-daemonset", "act-revision"
ROLLOUT: Final = "act-conformance"
MEMBER: Final = {"testbed.seatrial.dev/acts": "played"}
SOMEBODY: Final = "somebody-else"
LIMIT_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 0.2
SHOWN_SECONDS: Final = 3.0
"""How long what was done may take to be seen."""
FINALIZER: Final = "maintenance.nvidia.com/finalizer"
"""The maintenance operator's: it keeps an object until it has put the node back."""
HOLDING: Final[Mapping[str, Row[Any, Any]]] = {
    "helmreleases": table.HELM_RELEASES,
    "applications": table.APPLICATIONS,
    "installplans": table.INSTALL_PLANS,
    "subscriptions": table.SUBSCRIPTIONS,
}
"""Where what holds or brings releases is seen, by its plural."""
APIS: Final = {
    **{plural: api for plural, api, _ in publishing.HOLDERS.values()},
    **dict.fromkeys(("installplans", "subscriptions"), olm.API_VERSION),
}
DATED: Final = matrix_of(more='    deployed: "2026-09-01"\n')
"""A matrix that keeps dates, so that the day of a promotion lands in it."""
FORGOTTEN: Final = {
    "labels": (
        keys.STATE_LABEL,
        keys.NVIDIA_STATE_LABEL,
        keys.NETWORK_STATE_LABEL,
        keys.NVIDIA_NETWORK_STATE_LABEL,
        keys.CANARY_LABEL,
        keys.SKIP_LABEL,
        "nvidia.com/gpu.deploy.client",
        *(each.mark.key for each in NEIGHBOURS if each.mark.place is Place.LABEL),
    ),
    "annotations": (
        keys.RECORD_ANNOTATION,
        keys.SKIPPED_BY_ANNOTATION,
        keys.REQUESTED_ANNOTATION,
        keys.SAFE_LOAD_ANNOTATION,
        keys.NETWORK_SAFE_LOAD_ANNOTATION,
        keys.ACCEPT_LOSS_ANNOTATION,
        *(each.mark.key for each in NEIGHBOURS if each.mark.place is Place.ANNOTATION),
    ),
}
"""What acts leave on nodes."""


class Named(models.Model, frozen=True):
    metadata: models.ObjectMeta = models.ObjectMeta()


# ── the place ────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def furnished(plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with every definition, our namespaces, and two nodes that say they are ready."""
    controller_process.install(plane)
    maintenance.load_crd(plane)
    kueue.load_crd(plane)
    plane.define((*argo_cd.definitions(), *flux.definitions(flux.HELM)))
    namespaces = (NAMESPACE, ELSEWHERE, OPERATORS)
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces])
    plane.apply(
        [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": MEMBER}} for name in (FIRST, SECOND)]
    )
    for name in namespaces:
        plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=30s")
    ready = '{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}}'
    for name in (FIRST, SECOND):
        plane.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", ready)
    # Its controller leaves alone what is being deleted, and the garbage collector what has an owner.
    plane.apply([_keeping_set()])
    plane.kubectl("delete", "daemonset", KEEPER, "-n", OPERATORS, "--wait=false")
    with machine_pools.defined(plane), olm.defined(plane):
        yield plane
    forget = '{"metadata":{"finalizers":null}}'
    plane.kubectl("patch", "daemonset", KEEPER, "-n", OPERATORS, "--type=merge", "-p", forget)
    plane.kubectl("delete", "node", FIRST, SECOND)
    plane.kubectl("delete", "namespace", *namespaces, "--wait=false")


def _keeping_set() -> dict[str, Any]:
    labels = {"act": "kept"}
    spec = {"nodeSelector": {"no": "node"}, "containers": [{"name": "main", "image": "example.invalid/image"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": KEEPER, "namespace": OPERATORS, "finalizers": ["testbed.seatrial.dev/kept"]},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


# ── the stage ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(kw_only=True)
class ActStage:
    """The real observer, executor and keeper before one rollout."""

    client: Client
    observer: KubeObserver
    rollout: str
    folder: Path
    remote: Bare | None = None
    questions: list[dict[str, Any]] = field(default_factory=list)
    is_unsaved: bool = False
    executor: Router = field(init=False)
    placed: dict[str, str] = field(default_factory=dict)
    """What was laid out, by path, with the version it had then."""
    number: int = 0

    # ── what two_stages asks for ─────────────────────────────────────────────────────────────────────────────────────

    async def start(self) -> Sight:
        return await self.settled(lambda _: self._is_placed(), "what was laid out to be seen")

    async def do(self, action: Action) -> Outcome:
        self.executor.submit(action)
        await self.executor.drain(LIMIT_SECONDS)
        (outcome,) = self.executor.collect()
        return outcome

    async def shown(self, is_so: Callable[[Sight], bool], limit_seconds: float = SHOWN_SECONDS) -> Sight:
        deadline = time.time() + limit_seconds
        while True:
            sight = self.observer.observe()
            if sight is not None and (is_so(sight) or time.time() >= deadline):
                return sight
            if time.time() >= deadline:
                raise TimeoutError(f"The observer shows nothing of {self.rollout}.")
            # What is waited for may be a change that tells the observer nothing, and wakes nobody.
            await self.observer.wait(min(deadline, time.time() + LOOK_SECONDS))

    async def settled(self, is_so: Callable[[Sight], bool], what: str) -> Sight:
        """What is seen when it is so, which it has to become."""
        sight = await self.shown(is_so, LIMIT_SECONDS)
        if not is_so(sight):
            raise TimeoutError(f"Waited {LIMIT_SECONDS:g} s for {what}.")
        return sight

    def repository(self) -> Repository:
        if self.remote is None:
            return Repository()
        text = self.remote.text(PUBLISHED)
        (version,) = (line.split('"')[1] for line in text.splitlines() if "version:" in line)
        return Repository(files=((FILE, version),), tags=tuple(self.remote.git("tag").split()))

    # ── where acts land ──────────────────────────────────────────────────────────────────────────────────────────────

    async def stored(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = await self.client.get(path, dict)
        return found

    def message(self) -> str:
        return self.remote.message() if self.remote is not None else ""

    def matrix(self) -> str:
        return self.remote.text(MATRIX) if self.remote is not None else ""

    def tagged(self) -> str:
        return self.remote.git("for-each-ref", "--format=%(contents)", "refs/tags") if self.remote is not None else ""

    def asked(self) -> list[dict[str, Any]]:
        return self.questions

    # ── laying out ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def lay_out(self, setting: Setting) -> None:
        """Nothing is left of the act before, and everything stands as the setting says."""
        self.number += 1
        self.is_unsaved = setting.is_unsaved
        self.questions.clear()
        await self.clear()
        await self._node(FIRST, setting)
        await self._node(SECOND, Setting())
        await self._status({})
        if Sitter.TOOLKIT in setting.sitters:
            await self._template()
        for sitter in setting.sitters:
            await self._pod(sitter)
        if setting.is_guarded:
            await self._budget()
        if setting.requestors is not None:
            await self._maintenance(setting.requestors)
        if setting.policy:
            policy = a_policy(setting.policy) | {"metadata": {"name": _name(POLICY)}}
            await self._apply(f"{keys.CLUSTER_POLICIES}/{_name(POLICY)}", policy)
        if setting.driver:
            await self._apply(f"{keys.NVIDIA_DRIVERS}/{_name(DRIVER)}", _driver(setting.driver))
        for resource in setting.holders:
            await self._holder(resource)
        if setting.has_plan:
            await self._offer()
        for name in setting.pools:
            await self._apply(f"{keys.MACHINE_POOLS}/{name}", machine_pools.pool(name))

    async def clear(self) -> None:
        """Take away whatever was laid out or made."""
        streams: tuple[tuple[Any, str], ...] = (
            (self.observer.streams[table.POLICIES], keys.CLUSTER_POLICIES),
            (self.observer.streams[table.DRIVERS], keys.NVIDIA_DRIVERS),
            (self.observer.streams[table.MACHINE_POOLS], keys.MACHINE_POOLS),
            (self.observer.streams[table.PROBES], keys.jobs_path(ELSEWHERE)),
        )
        for stream, path in streams:
            for item in list(stream.store):
                await self._delete(f"{path}/{item.metadata.name}")
        maintenances = self.observer.streams[table.MAINTENANCES]
        for item in list(maintenances.store):
            where = f"{keys.maintenances_path(item.metadata.namespace)}/{item.metadata.name}"
            with suppress(errors.NotFound):
                await self.client.patch(where, {"metadata": {"finalizers": None}}, kind=PatchKind.MERGE)
            await self._delete(where)
        beside = ("pods", "poddisruptionbudgets", "controllerrevisions", "workloads", *HOLDING)
        for path in [path for path in self.placed if any(f"/{kind}/" in path for kind in beside)]:
            await self._delete(path)
        for pod in [item for item in self.observer.streams[table.PODS].store if item.node in (FIRST, SECOND)]:
            await self._delete(api_path("v1", "pods", namespace=pod.metadata.namespace, name=pod.metadata.name))
        self.placed.clear()
        holding = (self.observer.streams[row] for row in HOLDING.values())
        stores = [stream.store for stream in (*(stream for stream, _ in streams), maintenances, *holding)]
        await self.settled(lambda _: not any(map(len, stores)) and not self._has_pods(), "everything to be gone")

    async def _delete(self, path: str) -> None:
        with suppress(errors.NotFound):
            await self.client.delete(path, grace_seconds=0)

    async def _apply(self, path: str, body: dict[str, Any]) -> None:
        written = await self.client.patch(path, body, Named, kind=PatchKind.APPLY, field_manager=SOMEBODY, force=True)
        self.placed[path] = written.metadata.resource_version

    async def _node(self, name: str, setting: Setting) -> None:
        said = {"labels": setting.labels, "annotations": setting.annotations}
        metadata = {part: dict.fromkeys(FORGOTTEN[part]) | dict(said[part]) for part in ("labels", "annotations")}
        body = {"metadata": metadata, "spec": {"unschedulable": setting.is_cordoned or None}}
        written = await self.client.patch(f"{keys.NODES}/{name}", body, Named, kind=PatchKind.MERGE)
        self.placed[f"{keys.NODES}/{name}"] = written.metadata.resource_version

    async def _status(self, status: dict[str, Any]) -> None:
        path, body = f"{keys.ROLLOUTS}/{self.rollout}", [{"op": "add", "path": "/status", "value": status}]
        await self.client.patch(path, {"metadata": {"finalizers": None}}, kind=PatchKind.MERGE)
        written = await self.client.patch(path, body, Named, kind=PatchKind.JSON, subresource="status")
        self.placed[path] = written.metadata.resource_version

    async def _pod(self, sitter: Sitter) -> None:
        name, namespace = f"{sitter}-{self.number}", _namespace(sitter)
        resources = (
            {"limits": {"nvidia.com/gpu": "1"}} if sitter in (Sitter.SAVER, Sitter.SERVICE, Sitter.QUEUED) else {}
        )
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": _LABELS.get(sitter, {"guarded": str(self.number)}),
                "ownerReferences": [await self._keeper()] if sitter in _KEPT else [],
                "annotations": {keys.CHECKPOINT_ANNOTATION: "true"} if sitter is Sitter.SAVER else {},
            },
            "spec": {
                "nodeName": FIRST,
                "containers": [{"name": "main", "image": "example.invalid/image", "resources": resources}],
            },
        }
        path = api_path("v1", "pods", namespace=namespace, name=name)
        await self._apply(path, body)
        # A budget protects whoever runs, and nobody else.
        running = {"status": {"phase": "Running"}}
        made = await self.client.patch(path, running, Named, kind=PatchKind.MERGE, subresource="status")
        if sitter is Sitter.QUEUED:
            await self._workload(name, made.metadata.uid)

    async def _workload(self, pod: str, uid: str) -> None:
        """What Kueue makes of a pod that it manages by itself."""
        name = f"pod-{pod}"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}
        metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [owner]}
        kind = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload"}
        body = {**kind, "metadata": metadata, "spec": {"queueName": "gpus"}}
        await self._apply(keys.workload_path(NAMESPACE, name), body)

    async def _template(self) -> None:
        """What the DaemonSet of the toolkit wants: the revision that its pod has."""
        spec = {"containers": [{"name": "main", "image": "example.invalid/image"}]}
        template = {"metadata": {"labels": {keys.APP_LABEL: TOOLKIT_APP}}, "spec": spec}
        body = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": TOOLKIT_APP,
                "namespace": OPERATORS,
                "labels": {keys.REVISION_LABEL: TOOLKIT_HASH},
                "ownerReferences": [await self._keeper()],
            },
            "revision": 1000,  # newer than the one that the DaemonSet itself may have
            "data": {"spec": {"template": template}},
        }
        await self._apply(f"{keys.revisions_path(OPERATORS)}/{TOOLKIT_APP}", body)

    async def _keeper(self) -> dict[str, Any]:
        """The DaemonSet on its way out, which owns a pod and does nothing with it."""
        path = api_path("apps/v1", "daemonsets", namespace=OPERATORS, name=KEEPER)
        found = await self.client.get(path, Named)
        kind = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": KEEPER}
        return {**kind, "uid": found.metadata.uid, "controller": True}

    async def _holder(self, resource: str) -> None:
        """An object of Flux or Argo CD whose chart is the operator's, and nobody to bring what it says."""
        found = publishing.holder_of(resource)
        assert found is not None
        await self._apply(found.path, _holding(resource))

    async def _offer(self) -> None:
        """What OLM says of an operator that it has installed, and of what it would install next."""
        name = _name(PLAN).partition("/")[2]
        await self._apply(publishing.plan_path(PLAN), olm.plan(name, CSVS[1:], namespace=OPERATORS))
        path = api_path(olm.API_VERSION, "subscriptions", namespace=OPERATORS, name=olm.NAME)
        await self._apply(path, olm.subscription("nvidia-network-operator", namespace=OPERATORS))
        said = {"status": olm.subscribed_status(CSVS[0], name)}
        written = await self.client.patch(path, said, Named, kind=PatchKind.MERGE, subresource="status")
        self.placed[path] = written.metadata.resource_version

    async def _budget(self) -> None:
        spec = {"minAvailable": 9, "selector": {"matchLabels": {"guarded": str(self.number)}}}
        name = f"guard-{self.number}"
        path = api_path("policy/v1", "poddisruptionbudgets", namespace=NAMESPACE, name=name)
        kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        await self._apply(path, {**kind, "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})

    async def _maintenance(self, requestors: Requestors) -> None:
        name = f"asked-{FIRST}"
        others = {"additionalRequestors": [THIRD, OURS]} if requestors is Requestors.ALL else {}
        asker = OURS if requestors is Requestors.US else THEIRS
        body = {
            "apiVersion": maintenance.API_VERSION,
            "kind": maintenance.KIND,
            "metadata": {"name": name, "namespace": NAMESPACE, "finalizers": [FINALIZER]},
            "spec": {"nodeName": FIRST, "requestorID": asker, **others},
        }
        await self._apply(f"{keys.maintenances_path(NAMESPACE)}/{name}", body)

    # ── seeing it ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _is_placed(self) -> bool:
        """Whether everything that was laid out is seen, as it was written or newer."""
        streams: dict[str, Any] = {
            keys.NODES: self.observer.streams[table.NODES],
            keys.ROLLOUTS: self.observer.streams[table.ROLLOUTS],
            keys.CLUSTER_POLICIES: self.observer.streams[table.POLICIES],
            keys.NVIDIA_DRIVERS: self.observer.streams[table.DRIVERS],
            keys.MACHINE_POOLS: self.observer.streams[table.MACHINE_POOLS],
            keys.maintenances_path(NAMESPACE): self.observer.streams[table.MAINTENANCES],
            keys.workload_path(NAMESPACE, "")[:-1]: self.observer.streams[table.WORKLOADS],
            keys.revisions_path(OPERATORS): self.observer.streams[table.REVISIONS],
            **{
                api_path(api, plural, namespace=OPERATORS): self.observer.streams[HOLDING[plural]]
                for plural, api in APIS.items()
            },
            **{keys.pods_path(name): self.observer.streams[table.PODS] for name in (NAMESPACE, OPERATORS)},
        }
        for path, version in self.placed.items():
            parent, _, name = path.rpartition("/")
            if parent not in streams:
                continue
            found = [item for item in streams[parent].store if item.metadata.name == name]
            if not found or int(found[0].metadata.resource_version) < int(version):
                return False
        return True

    def _has_pods(self) -> bool:
        return any(item.node in (FIRST, SECOND) for item in self.observer.streams[table.PODS].store)


_LABELS: Final = {
    Sitter.DRIVER: dict(keys.DRIVER_SELECTORS[:1]),
    Sitter.VALIDATOR: dict([keys.VALIDATOR_SELECTOR]),
    Sitter.PLUGIN: dict(keys.DRA_SELECTORS[:1]),
    Sitter.TOOLKIT: {keys.APP_LABEL: TOOLKIT_APP, keys.REVISION_LABEL: TOOLKIT_HASH},
}
_KEPT: Final = (Sitter.PLUGIN, Sitter.TOOLKIT)
"""Pods that are what they are only as a DaemonSet's."""


def _namespace(sitter: Sitter) -> str:
    return OPERATORS if sitter in _LABELS else NAMESPACE


def _name(resource: str) -> str:
    return resource.partition("/")[2]


def _driver(version: str) -> dict[str, Any]:
    spec = {"driverType": "gpu", "image": "driver", "version": version, "nodeSelector": {"no": "node"}}
    kind = {"apiVersion": "nvidia.com/v1alpha1", "kind": "NVIDIADriver"}
    return {**kind, "metadata": {"name": _name(DRIVER)}, "spec": spec}


def _holding(resource: str) -> dict[str, Any]:
    kind, namespace, name = resource.split("/")
    _, api, _ = publishing.HOLDERS[kind]
    chart = {"repoURL": "https://charts.invalid", "chart": "gpu-operator", "targetRevision": RELEASED}
    values = {"repoURL": "https://git.invalid/fleet.git", "targetRevision": "main", "ref": "values"}
    spec: dict[str, Any] = {"project": "default", "destination": {"namespace": namespace}}
    if resource == HELM_RELEASE:
        source = {"kind": "HelmRepository", "name": "nvidia"}
        spec = {
            "interval": "1h",
            "chart": {"spec": {"chart": "gpu-operator", "version": RELEASED, "sourceRef": source}},
        }
    elif resource == APPLICATION:
        spec["source"] = chart
    else:
        spec["sources"] = [values, chart]
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


# ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def opened(
    place: ControlPlane, folder: Path, *, rollout: str = ROLLOUT, has_repository: bool = False
) -> AsyncIterator[ActStage]:
    """A stage before a rollout of its own; with a repository, one of its own as well."""
    remote = (await asyncio.to_thread(a_remote, folder / rollout, DATED))[0] if has_repository else None
    config = configs.load_config(kubeconfig=str(place.kubeconfig), environ={})
    async with Client(config, user_agent="test-acts") as client:
        await client.patch(
            f"{keys.ROLLOUTS}/{rollout}",
            _rollout(rollout, remote),
            kind=PatchKind.APPLY,
            field_manager=SOMEBODY,
            force=True,
        )
        settings = GitSettings(folder=folder / f"{rollout}-clones", permits=Permits.read([Permit.read(str(folder))]))
        keeper = Keeper(client, settings, now=time.time, is_leader=lambda: True)
        observer = KubeObserver(
            client,
            namespace=OPERATORS,
            rollout=rollout,
            on_fault=_fail,
            home=ELSEWHERE,
            has_kueue=True,
            # A record may name places that nobody is to look at here.
            source=keeper.facts if remote is not None else lambda: None,
        )
        stage = ActStage(client=client, observer=observer, rollout=rollout, folder=folder, remote=remote)
        async with _webhook(stage) as url, observer, keeper.watching(observer):
            observer.streams.open(table.SWITCHED)  # acts are about them; the rollout names none
            await observer.wait_synced(LIMIT_SECONDS)
            routes = Routes(
                cluster=KubeCluster(client, observer, is_leader=lambda: True),
                home=keeper,
                measurer=JobMeasurer(client, observer, home=ELSEWHERE, level=Level.BASELINE, images=()),
                webhook=Redirected(url),
            )
            stage.executor = Router(routes, is_leader=lambda: True, on_outcome=lambda _: None, on_end=observer.poke)
            if remote is not None:
                await stage.settled(_has_source, "the repository to be seen")
            try:
                yield stage
            finally:
                await stage.clear()
        path = f"{keys.ROLLOUTS}/{rollout}"
        await client.patch(path, {"metadata": {"finalizers": None}}, kind=PatchKind.MERGE)
        await client.delete(path)


@dataclass(frozen=True, slots=True)
class Redirected:
    """Asks the stage's own webhook, wherever it listens."""

    url: str

    async def ask(self, act: AskCheckpoint, /) -> Outcome:
        there = replace(act, webhook=act.webhook.replace(WEBHOOK, self.url))
        origin = origin_of(there.webhook)
        answer = await HttpCheckpoints(Webhooks([origin] if origin else [])).ask(there)
        return replace(answer, action=act)


def _has_source(sight: Sight) -> bool:
    return sight.seen.source is not None and bool(sight.seen.source.head)


def _fail(told: str) -> None:
    raise AssertionError(told)


def _rollout(name: str, remote: Bare | None) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "target": {"driver": NEW.version, "container_toolkit": "v1.18.1", "network_operator": "25.7.0"},
        "nodeSelector": MEMBER,
        "canary": {"count": 1},
        "prepull": False,
    }
    if remote is not None:
        place = {"url": str(remote.path), "path": MATRIX, "commit": remote.head()}
        spec |= {
            "matrix": {"git": place, "entry": "canary"},
            "publish": {"via": "git", "git": {"path": PUBLISHED}},
        }
    return {"apiVersion": keys.API_VERSION, "kind": "GPURollout", "metadata": {"name": name}, "spec": spec}


@asynccontextmanager
async def _webhook(stage: ActStage) -> AsyncIterator[str]:
    """Somebody on loopback who saves work, or does not yet; gives the address."""

    async def answer(request: web.Request) -> web.Response:
        stage.questions.append(msgspec.json.decode(await request.read()))
        return web.Response(status=202 if stage.is_unsaved else 200)

    app = web.Application()
    app.router.add_post("/", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
