"""What kwok makes nodes and pods do, as data: ordinary life first, then faults.

Stages are our own; kwok's defaults are not loaded. A pod says in annotations how long its steps take:

    testbed.seatrial.dev/ready-after      from started to Ready ("5s"); without it at once
    testbed.seatrial.dev/ready-at-most    upper end of the jitter; kwok draws between the two
    testbed.seatrial.dev/done-after       from Ready to Succeeded; without it the pod runs on
    testbed.seatrial.dev/gone-after       from deletion to gone; without it at once
    testbed.seatrial.dev/stays            a deleted pod stays Terminating, whatever its grace, until this is taken away

A node's resources and runtime handlers are written once, when its kubelet first reports. Afterwards they belong to
whoever changes them (operands.py, fleet.py): a node that turns Ready again keeps what it had.

Ordinary stages exclude each other and weigh 0. A fault weighs 1: kwok then ignores every matching stage that weighs 0.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

Object = dict[str, Any]
Fault = Literal["module-load", "in-use", "image-pull", "stuck-terminating"]

FAULTS: Final[tuple[Fault, ...]] = get_args(Fault)

GROUP: Final = "testbed.seatrial.dev"
READY_AFTER: Final = f"{GROUP}/ready-after"
READY_AT_MOST: Final = f"{GROUP}/ready-at-most"
DONE_AFTER: Final = f"{GROUP}/done-after"
GONE_AFTER: Final = f"{GROUP}/gone-after"
STAYS: Final = f"{GROUP}/stays"
GPU_COUNT: Final = f"{GROUP}/gpu-count"
NOT_READY: Final = f"{GROUP}/not-ready"
BOOT_ID: Final = f"{GROUP}/boot-id"
BROKEN: Final = f"{GROUP}/broken"
"""On a node: the names of its faults."""
GPUS_LOST: Final = f"{GROUP}/gpus-lost"
"""On a node: how many GPUs its device plugin finds broken when it next starts."""
GATES_FAIL: Final = f"{GROUP}/gates-fail"
"""On a node: every gate fails there (gate_runs.py)."""
FAULT_LABEL: Final = f"{GROUP}/fault"
NODE_LABEL: Final = f"{GROUP}/node"
"""What a fault's stage bears: what it is, and whose."""
KERNEL_LABEL: Final = "feature.node.kubernetes.io/kernel-version.full"
DRIVER_LABELS: Final = {"app.kubernetes.io/component": "nvidia-driver"}

RESTART_EVERY_SECONDS: Final = 1.0
PULL_EVERY_SECONDS: Final = 0.3
GPU: Final = "nvidia.com/gpu"
RUNTIME_HANDLER: Final = "nvidia"
# As a kubelet of 1.30 or later reports them; the empty name is the default handler.
RUNTIME_HANDLERS: Final = ("", "runc", RUNTIME_HANDLER)

# What kubelets say when nobody gives them other words.
MODULE_MESSAGE: Final = "modprobe: ERROR: could not insert 'nvidia': Unknown symbol in module, or unknown parameter"
IN_USE_MESSAGE: Final = "Could not unload NVIDIA driver kernel modules, driver is in use"
PULL_MESSAGE: Final = "rpc error: code = NotFound desc = the registry holds no such tag: not found"

_READY: Final = '.status.conditions.[] | select( .type == "Ready" ) | .status'


def ordinary(kubelet_version: str) -> list[Object]:
    """Return the stages of a healthy cluster."""
    return [
        *_node_stages(kubelet_version),
        _stage(
            "pod-started",
            "Pod",
            [_lives(), _in(".status.phase", "Pending"), _absent(".status.startTime")],
            steps=[_status(_STARTED)],
        ),
        _stage(
            "pod-ready",
            "Pod",
            [
                _lives(),
                _in(".status.phase", "Pending", "Running"),
                _present(".status.startTime"),
                _not_in(_READY, "True"),
            ],
            steps=[_status(_RUNNING)],
            delay=_delay(READY_AFTER, READY_AT_MOST),
        ),
        _stage(
            "pod-done",
            "Pod",
            [_lives(), _in(".status.phase", "Running"), _in(_READY, "True"), _present(_annotation(DONE_AFTER))],
            steps=[_status(_DONE)],
            delay=_delay(DONE_AFTER),
        ),
        _stage(
            "pod-gone",
            "Pod",
            [_present(".metadata.deletionTimestamp"), _absent(_annotation(STAYS))],
            steps=[{"delete": True}],
            delay=_delay(GONE_AFTER),
        ),
    ]


def fault(node: str, how: Fault, *, message: str = "", restart_count: int = 1) -> Object:
    """Return the stage that breaks the driver pod of one node; `restart_count` is what its first failure shows."""
    on_node = _in(".spec.nodeName", node)
    starting = [on_node, _lives(), _present(".status.startTime"), _not_in(_READY, "True")]
    match how:
        case "module-load":
            told = _CRASHING.replace("@MESSAGE@", json.dumps(message or MODULE_MESSAGE))
            selector, steps = starting, [_status(told.replace("@COUNT@", str(restart_count)))]
            delay = _every(RESTART_EVERY_SECONDS)
        case "in-use":
            told = _NOT_INITIALIZED.replace("@MESSAGE@", json.dumps(message or IN_USE_MESSAGE))
            selector, steps = starting, [_status(told.replace("@COUNT@", str(restart_count)))]
            delay = _every(RESTART_EVERY_SECONDS)
        case "image-pull":
            told = _NO_IMAGE.replace("@MESSAGE@", json.dumps(message or PULL_MESSAGE))
            # It goes on matching: otherwise the ordinary stages would take over and start the pod after all.
            selector, steps = starting, [_status(told)]
            delay = _every(PULL_EVERY_SECONDS)
        case "stuck-terminating":
            selector, delay = [on_node, _present(".metadata.deletionTimestamp")], {}
            said = message or "the driver is still in use"
            steps = [{"event": {"type": "Warning", "reason": "FailedKillPod", "message": said}}]
    stage = _stage(fault_name(node, how), "Pod", selector, steps=steps, delay=delay, weight=1, labels=DRIVER_LABELS)
    stage["metadata"]["labels"] = {FAULT_LABEL: how, NODE_LABEL: node}
    return stage


def fault_name(node: str, how: Fault) -> str:
    """Return the name of a fault's stage."""
    return f"fault-{how}-{node}"


def job_done(job: str) -> Object:
    """Return the stage that ends the pods of a Job well as soon as they run, for one whose image cannot be had."""
    return _stage(
        f"job-done-{job}",
        "Pod",
        [_lives(), _in(".status.phase", "Running"), _in(_READY, "True"), _absent(_annotation(DONE_AFTER))],
        steps=[_status(_DONE)],
        labels={"batch.kubernetes.io/job-name": job},
    )


def echo(config_map: str, word: str) -> Object:
    """Return a stage that does nothing but prove that kwok has read it."""
    return _stage(
        config_map,
        "ConfigMap",
        [_in(".metadata.name", config_map), _not_in(".data.heard", word)],
        steps=[{"patch": {"type": "merge", "root": "data", "template": f'heard: "{word}"'}}],
    )


def _node_stages(kubelet_version: str) -> list[Object]:
    told_off = _annotation(NOT_READY)
    return [
        _stage(
            "node-ready",
            "Node",
            [_not_in(_READY, "True"), _not_in(told_off, "true")],
            steps=[_status(_NODE_READY.replace("@KUBELET@", kubelet_version))],
        ),
        _stage(
            "node-not-ready",
            "Node",
            [_in(_READY, "True"), _in(told_off, "true")],
            steps=[_status(_NODE_NOT_READY)],
        ),
    ]


def _stage(
    name: str,
    kind: str,
    selector: Sequence[Object],
    *,
    steps: Sequence[Object],
    delay: Object | None = None,
    weight: int = 0,
    labels: Mapping[str, str] | None = None,
) -> Object:
    spec: Object = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": list(selector)} | ({"matchLabels": dict(labels)} if labels else {}),
        "steps": list(steps),
        "weight": weight,
    }
    if delay:
        spec["delay"] = delay
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def _status(template: str) -> Object:
    """Return a step that changes the status, but only of the very version it was computed from.

    kwok queues a job per event and cannot take back those that are due, so it may play a stage on a pod that has moved
    on: a Ready pod would fall back to starting. With the version in the patch such a job is refused, and the job of the
    newer event does the work.
    """
    text = "metadata: { resourceVersion: {{ .metadata.resourceVersion | Quote }} }\nstatus:\n"
    indented = "\n".join(f"  {line}" for line in template.strip().splitlines())
    return {"patch": {"subresource": "status", "type": "strategic", "template": text + indented}}


def _delay(after: str, at_most: str | None = None) -> Object:
    delay: Object = {"durationMilliseconds": 0, "durationFrom": {"jq": {"expression": _annotation(after)}}}
    if at_most:
        delay["jitterDurationFrom"] = {"jq": {"expression": _annotation(at_most)}}
    return delay


def _every(seconds: float) -> Object:
    return {"durationMilliseconds": int(seconds * 1000)}


def _annotation(key: str) -> str:
    return f'.metadata.annotations["{key}"]'


def _lives() -> Object:
    return _absent(".metadata.deletionTimestamp")


def _in(key: str, *values: str) -> Object:
    return {"jq": {"key": key, "operator": "In", "values": list(values)}}


def _not_in(key: str, *values: str) -> Object:
    return {"jq": {"key": key, "operator": "NotIn", "values": list(values)}}


def _present(key: str) -> Object:
    return {"jq": {"key": key, "operator": "Exists"}}


def _absent(key: str) -> Object:
    return {"jq": {"key": key, "operator": "DoesNotExist"}}


_STARTED: Final = """
{{ $now := Now }}
phase: Pending
startTime: {{ $now | Quote }}
conditions:
- { type: PodReadyToStartContainers, status: "True", lastTransitionTime: {{ $now | Quote }} }
- { type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }} }
- { type: Ready, status: "False", reason: ContainersNotReady, lastTransitionTime: {{ $now | Quote }} }
- { type: ContainersReady, status: "False", reason: ContainersNotReady, lastTransitionTime: {{ $now | Quote }} }
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  started: false
  restartCount: 0
  state: { waiting: { reason: ContainerCreating } }
{{ end }}
{{ with NodeIPsWith .spec.nodeName }}
hostIP: {{ index . 0 | Quote }}
hostIPs: [ { ip: {{ index . 0 | Quote }} } ]
{{ end }}
"""

_RUNNING: Final = """
{{ $now := Now }}
{{ $old := dict }}
{{ range .status.containerStatuses }}{{ $_ := set $old .name . }}{{ end }}
phase: Running
conditions:
{{ range .status.conditions }}{{ if and ( eq .type "Initialized" ) ( eq .status "False" ) }}
- { type: Initialized, status: "True", reason: null, lastTransitionTime: {{ $now | Quote }} }
{{ end }}{{ end }}
- { type: Ready, status: "True", reason: null, lastTransitionTime: {{ $now | Quote }} }
- { type: ContainersReady, status: "True", reason: null, lastTransitionTime: {{ $now | Quote }} }
{{ range .spec.readinessGates }}
- { type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ $now | Quote }} }
{{ end }}
containerStatuses:
{{ range .spec.containers }}
{{ $was := get $old .name }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ printf "%s@sha256:%s" .image ( sha256sum .image ) | Quote }}
  containerID: {{ printf "containerd://%s" ( sha256sum ( printf "%s/%s" $.metadata.uid .name ) ) | Quote }}
  ready: true
  started: true
  restartCount: {{ with $was }}{{ .restartCount }}{{ else }}0{{ end }}
  state: { running: { startedAt: {{ $now | Quote }} } }
  {{ with $was }}{{ with .lastState }}
  lastState: {{ toJson . }}
  {{ end }}{{ end }}
{{ end }}
{{ if .spec.initContainers }}
{{ $before := dict }}
{{ range .status.initContainerStatuses }}{{ $_ := set $before .name . }}{{ end }}
initContainerStatuses:
{{ range .spec.initContainers }}
{{ $was := get $before .name }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ printf "%s@sha256:%s" .image ( sha256sum .image ) | Quote }}
  ready: true
  restartCount: {{ with $was }}{{ .restartCount }}{{ else }}0{{ end }}
  {{ if eq ( .restartPolicy | default "" ) "Always" }}
  started: true
  state: { running: { startedAt: {{ $now | Quote }} } }
  {{ else }}
  started: false
  state:
    terminated:
      { exitCode: 0, reason: Completed, startedAt: {{ $.status.startTime | Quote }}, finishedAt: {{ $now | Quote }} }
  {{ end }}
{{ end }}
{{ end }}
{{ if not .status.podIP }}
{{ $isOnHost := .spec.hostNetwork | default false }}
{{ with PodIPsWith .spec.nodeName $isOnHost .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ index . 0 | Quote }}
podIPs: [ { ip: {{ index . 0 | Quote }} } ]
{{ end }}
{{ end }}
"""

_DONE: Final = """
{{ $now := Now }}
phase: Succeeded
conditions:
- { type: Ready, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }} }
- { type: ContainersReady, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }} }
containerStatuses:
{{ range .status.containerStatuses }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ .imageID | Quote }}
  ready: false
  started: false
  restartCount: {{ .restartCount }}
  state:
    terminated:
      exitCode: 0
      reason: Completed
      startedAt: {{ .state.running.startedAt | Quote }}
      finishedAt: {{ $now | Quote }}
{{ end }}
"""

# Of a container that failed, and waits before it is started again.
_FAILED_AGAIN: Final = """\
  state:
    waiting:
      reason: CrashLoopBackOff
      message: {{ printf "back-off restarting failed container %s" .name | Quote }}
  lastState:
    terminated:
      exitCode: 1
      reason: Error
      message: @MESSAGE@
      startedAt: {{ $now | Quote }}
      finishedAt: {{ $now | Quote }}
{{ end }}
"""

_CRASHING: Final = (
    """
{{ $now := Now }}
phase: Running
containerStatuses:
{{ range .status.containerStatuses }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ printf "%s@sha256:%s" .image ( sha256sum .image ) | Quote }}
  ready: false
  started: false
  restartCount: {{ max ( add .restartCount 1 ) @COUNT@ }}
"""
    + _FAILED_AGAIN
)

# The init container cannot take the old driver out; the others wait for it.
_NOT_INITIALIZED: Final = (
    """
{{ $now := Now }}
{{ $old := dict }}
{{ range .status.initContainerStatuses }}{{ $_ := set $old .name . }}{{ end }}
phase: Pending
conditions:
- { type: Initialized, status: "False", reason: ContainersNotInitialized, lastTransitionTime: {{ $now | Quote }} }
initContainerStatuses:
{{ range .spec.initContainers }}
{{ $was := get $old .name }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ printf "%s@sha256:%s" .image ( sha256sum .image ) | Quote }}
  ready: false
  started: false
  restartCount: {{ with $was }}{{ max ( add .restartCount 1 ) @COUNT@ }}{{ else }}@COUNT@{{ end }}
"""
    + _FAILED_AGAIN
)

# A kubelet says once that a pull failed and from then on that it waits before the next.
_NO_IMAGE: Final = """
phase: Pending
containerStatuses:
{{ range .status.containerStatuses }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  started: false
  restartCount: {{ .restartCount }}
  state:
    waiting:
      {{ if has ( .state.waiting.reason | default "" ) ( list "ErrImagePull" "ImagePullBackOff" ) }}
      reason: ImagePullBackOff
      message: {{ printf "back-off pulling image %s: %s" .image @MESSAGE@ | Quote }}
      {{ else }}
      reason: ErrImagePull
      message: {{ printf "failed to pull image %s: %s" .image @MESSAGE@ | Quote }}
      {{ end }}
{{ end }}
"""

_HANDLERS: Final = json.dumps([{"name": name} for name in RUNTIME_HANDLERS])

_NODE_READY: Final = (
    """
{{ $now := Now }}
{{ $gpus := index .metadata.annotations "@GPU_COUNT@" | default "0" }}
phase: Running
conditions:
- { type: Ready, status: "True", reason: KubeletReady, message: kubelet is posting ready status,
    lastHeartbeatTime: {{ $now | Quote }}, lastTransitionTime: {{ $now | Quote }} }
{{ range $type, $reason := dict "MemoryPressure" "KubeletHasSufficientMemory" "DiskPressure" "KubeletHasNoDiskPressure"
    "PIDPressure" "KubeletHasSufficientPID" }}
- { type: {{ $type }}, status: "False", reason: {{ $reason }},
    lastHeartbeatTime: {{ $now | Quote }}, lastTransitionTime: {{ $now | Quote }} }
{{ end }}
addresses:
- { type: Hostname, address: {{ .metadata.name | Quote }} }
{{ with NodeIP }}
- { type: InternalIP, address: {{ . | Quote }} }
{{ end }}
{{ if not .status.capacity }}
{{ range list "capacity" "allocatable" }}
{{ . }}: { cpu: "224", memory: 2Ti, ephemeral-storage: 7Ti, pods: "250", nvidia.com/gpu: {{ $gpus | Quote }} }
{{ end }}
{{ end }}
{{ if not .status.runtimeHandlers }}
runtimeHandlers: @HANDLERS@
{{ end }}
nodeInfo:
  architecture: amd64
  bootID: {{ index .metadata.annotations "@BOOT_ID@" | default .metadata.uid | Quote }}
  containerRuntimeVersion: containerd://2.1.4
  kernelVersion: {{ index .metadata.labels "@KERNEL@" | default "5.15.0-151-generic" | Quote }}
  kubeProxyVersion: ""
  kubeletVersion: "@KUBELET@"
  machineID: {{ .metadata.uid | replace "-" "" | Quote }}
  operatingSystem: linux
  osImage: Ubuntu 22.04.5 LTS
  systemUUID: {{ .metadata.uid | Quote }}
""".replace("@GPU_COUNT@", GPU_COUNT)
    .replace("@KERNEL@", KERNEL_LABEL)
    .replace("@HANDLERS@", _HANDLERS)
    .replace("@BOOT_ID@", BOOT_ID)
)

_NODE_NOT_READY: Final = """
conditions:
- { type: Ready, status: "False", reason: KubeletNotReady, message: the testbed was told so,
    lastHeartbeatTime: {{ Now | Quote }}, lastTransitionTime: {{ Now | Quote }} }
"""
