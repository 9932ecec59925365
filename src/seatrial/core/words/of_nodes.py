"""Why a node waits, and what to do about it: one row for each hold of a node.

Law of this file: a table. How its gaps are filled is in explain.py. Tests: tests/core/words/test_explain.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.holds import HoldCode
from seatrial.core.words.explanations import BY_ITSELF, Explanation, says

OF_NODES: Final[Mapping[HoldCode, Explanation]] = {
    HoldCode.NOT_ITS_TURN: says(
        "its turn has not come yet: the rollout is at {phase}", "It follows on its own; see `seatrial status`."
    ),
    HoldCode.UNDONE: says(
        "its rollout was undone, and moves no node any more",
        "Create another rollout to have it upgraded. If it is still cordoned and is to take work as it is: "
        "`seatrial node skip {subject}`, then `kubectl uncordon {subject}`.",
    ),
    HoldCode.MOVED_BY_NVIDIA: says(
        "NVIDIA's own upgrade controller has it at {state}",
        "See the gpu-operator's log if it takes longer than usual. While any node with a driver pod is NotReady, it "
        "moves none.",
    ),
    HoldCode.NVIDIA_STALLED: says(
        "NVIDIA's upgrade controller moves no node at all while a node that runs a driver pod is NotReady: {nodes}",
        "Bring each back (`kubectl describe node NODE`), delete it from the cluster, or delete its driver pod by "
        "force; the others then continue.",
    ),
    HoldCode.NVIDIA_FULL: says(
        "NVIDIA's upgrade controller does not start {waiting}: {setting} in the upgradePolicy of {resource} leaves it "
        "room for {limit:node}, and that is used up by {nodes}",
        "Bring each of them back (`seatrial why NODE` says what it needs), or raise {setting} there.",
    ),
    HoldCode.LEAKED: says(
        "it already runs {version}, before its turn: a pod recreated after a reboot or a repair takes the published "
        "version",
        "Nothing is lost: it is validated when its turn comes, and rolled back with the others if it comes to that.",
    ),
    HoldCode.PARALLEL_LIMIT: says(
        "at most {limit:node}{scope_text} may be upgraded at once, and these are under way: {nodes}",
        "It starts when one of them finishes; raise maxParallelUpgrades to go faster.",
    ),
    HoldCode.UNAVAILABLE_LIMIT: says(
        "at most {limit:node}{scope_text} may be unavailable, and {taken} {taken:is|are}: {nodes}",
        "Bring an unavailable node back, or raise maxUnavailable.",
    ),
    HoldCode.IDLE_GPU_LIMIT: says(
        "at most {limit:GPU} may stand idle for the upgrade, {gpus_text} {gpus}, and {taken} {taken:is|are} taken: "
        "{nodes}",
        "It starts when there is room; raise maxIdleGPUs, to {gpus} at least, to go faster.",
    ),
    HoldCode.CLOSE_AHEAD_LIMIT: says(
        "at most {limit:node} may be closed while {limit:its|their} jobs run, and these are: {nodes}",
        "It is closed when one of them is empty; raise spec.attrition.closeAhead to close more at once.",
    ),
    HoldCode.LEFT_OPEN: says(
        "it still takes work: to empty it now would cost more GPU-hours than it may yet",
        "It is closed when that gets cheaper or the deadline comes nearer; see spec.attrition.",
    ),
    HoldCode.DISRUPTION_LIMIT: says(
        "PodDisruptionBudget {budget} allows {allowed:more disruption} and emptying the node takes {pods}, so its pods "
        "stay",
        "It is emptied when the budget lets all of them leave at once, and at the last call before the deadline one by "
        "one. If this lasts, run more replicas, spread them over more nodes, or loosen the budget.",
    ),
    HoldCode.GIVEN_BACK: says(
        "it takes work again: more than {limit:GPU} stood idle, a PodDisruptionBudget kept its pods, or its upgrade "
        "could not have finished",
        "It is closed again later. Raise maxIdleGPUs to keep more nodes closed.",
    ),
    HoldCode.UNIT_INCOMPLETE: says(
        "its domain is upgraded as one unit, and these nodes are not ready to start yet: {nodes}",
        "It starts together with them. `seatrial why NODE` shows what each of them waits for.",
    ),
    HoldCode.UNIT_UNFIT: says(
        "its domain is upgraded as one unit, all or nothing, and these members cannot start: {nodes}",
        "Check each with `seatrial why NODE`: bring it back, `seatrial node unskip` or `seatrial node retry` it. "
        "Or remove `unit` from the domain to upgrade the others without it.",
    ),
    HoldCode.UNIT_TOO_LARGE: says(
        "its domain is upgraded as one unit of {size:node}, and the limits{scope_text} allow {limit} at once",
        "Raise maxParallelUpgrades and maxUnavailable to the size of the unit, or remove `unit` from the domain.",
    ),
    HoldCode.FAILURE_BUDGET: says(
        "{failed:node} failed ({nodes}) and the limit is {limit}; no other node starts",
        "Check each with `seatrial why NODE`, fix it, then `seatrial node retry NODE`{undo_step}.",
    ),
    HoldCode.LEDGER_PENDING: says("its slot in the ledger is being written", BY_ITSELF),
    HoldCode.PASS_FULL: says("this pass already has its {limit:act}", BY_ITSELF),
    HoldCode.SKIPPED: says(
        "somebody marked the node with nvidia.com/gpu-driver-upgrade.skip=true",
        "Let it be upgraded with `seatrial node unskip {subject}`.",
    ),
    HoldCode.NODE_NOT_READY: says(
        "the node is NotReady, and an upgrade could not finish on it",
        "Bring the node back, or leave it out with `seatrial node skip {subject}`.",
    ),
    HoldCode.SRIOV_AT_WORK: says(
        "the SR-IOV operator is at work on the node ({state}): {does}",
        "Wait: the node is upgraded when the SR-IOV operator is idle again. See how far it is with "
        "`kubectl get sriovnetworknodestates -A`.",
    ),
    HoldCode.NETWORK_SKIPPED: says(
        "somebody marked the node with nvidia.com/ofed-driver-upgrade.skip=true",
        "Let it be upgraded with `kubectl label node {subject} nvidia.com/ofed-driver-upgrade.skip-`.",
    ),
    HoldCode.DRIVER_POD_MISSING: says(
        "the node has no driver pod",
        "Check that the driver DaemonSet selects the node: "
        "`kubectl get pods -A -o wide --field-selector spec.nodeName={subject}`. Leave a node without a GPU out with a "
        "narrower spec.nodeSelector, or with `seatrial node skip {subject}`.",
    ),
    HoldCode.DRIVER_ORPHANED: says(
        "driver pod {pod} is orphaned: its DaemonSet was deleted without it",
        "The node keeps its pods meanwhile. Let a ClusterPolicy or NVIDIADriver own the node's driver again, "
        "or replace the pod with `seatrial node retry {subject} --again`.",
    ),
    HoldCode.OWNER_UNCLEAR: says(
        "it is unclear which NVIDIADriver owns the node: {why}",
        "Give the NVIDIADrivers node selectors that do not overlap.",
    ),
    HoldCode.REVISION_UNKNOWN: says(
        "the revision that the owner of driver pod {pod} wants is unknown",
        "This usually passes within seconds of a change. Remove a driver pod that has no DaemonSet yourself.",
    ),
    HoldCode.RECORD_UNREADABLE: says(
        "the annotation seatrial.dev/upgrade cannot be read: {found}",
        "Restore the annotation; or remove it and the label to start this node over (check its cordon first).",
    ),
    HoldCode.RECORD_EDITED: says(
        "the state label says {found}, our record says {recorded}, and we do not guess which is right",
        "Remove the label to restore the record. To retry a failed or finished node, set it to upgrade-required.",
    ),
    HoldCode.WRITE_IN_FLIGHT: says("one of our writes has not been answered yet, or is not visible yet", BY_ITSELF),
    HoldCode.WRITE_REFUSED: says(
        "our last write was refused: {why}",
        "It is retried automatically. If this lasts, check the controller's rights: in the cluster with "
        "`kubectl auth can-i --list`, in a repository its login and the branch protection.",
    ),
    HoldCode.CORDON_LOST: says(
        "somebody uncordoned the node during its upgrade",
        "Cordon it again to continue the upgrade (lifting that cordon is then up to you); otherwise the upgrade is "
        "given up.",
    ),
    HoldCode.PODS_UNHEARD: says(
        "there is no news of any pod since the node was cordoned, and a job may have started on it just before",
        "Nothing to do: pods are listed again within seconds. If this lasts, the API server does not answer that list; "
        "after {limit} of silence the whole rollout stops and says so.",
    ),
    HoldCode.JOBS_RUNNING: says(
        "waiting for {pods_text} to finish (limit: {limit})",
        "It continues when they finish; set timeoutSeconds of waitForCompletion to evict them after that time.",
    ),
    HoldCode.CLOSED_AHEAD: says(
        "closed to new work, {idle_text}; waits for {jobs:job} to end",
        "It is upgraded when it is empty, given back when more than {limit:GPU} stand idle for the upgrade, and "
        "{evicted_text}.",
    ),
    HoldCode.CHECKPOINT_PENDING: says(
        "waiting for {pods_text} to save {count:its|their} work",
        "A job answers with the annotation seatrial.dev/checkpoint-saved={token} on its pod; "
        "when the time is up it is evicted anyway.",
    ),
    HoldCode.KUEUE_PENDING: says(
        "waiting for Kueue to end {pods_text}: Workload {workload} is suspended (spec.active: false)",
        "It is made active again when the node is done or has failed. When the time is up the pods are evicted anyway.",
    ),
    HoldCode.EVICTING: says("waiting for {pods_text} to leave", "Nothing to do unless a pod hangs in Terminating."),
    HoldCode.SLIPPED_IN: says(
        "somebody uncordoned the node while its driver was replaced, and {pods_text} started there; validation "
        "waits until {count:it has|they have} left",
        "Nothing to do unless a pod hangs in Terminating or the node has failed: then delete the pods, or "
        "`seatrial node retry {subject}`. NVIDIA's driver manager uncordons nodes unless ENABLE_GPU_POD_EVICTION and "
        'ENABLE_AUTO_DRAIN are "false" in its env.',
    ),
    HoldCode.EVICTION_BLOCKED: says(
        "{why}, so {pods_text} cannot be evicted",
        "Give the PodDisruptionBudget room: more replicas, or a looser budget. Eviction is retried automatically.",
    ),
    HoldCode.POD_WITHOUT_CONTROLLER: says(
        "pod {pod} has no controller and would be lost for good",
        "Move or delete it yourself, or set spec.podDeletion.force.",
    ),
    HoldCode.POD_WITH_EMPTY_DIR: says(
        "pod {pod} keeps data in an emptyDir, which eviction deletes",
        "Save the data and delete the pod yourself, or set spec.podDeletion.deleteEmptyDir.",
    ),
    HoldCode.DAEMON_SET_HOLDS_GPU: says(
        "pod {pod} of a DaemonSet holds a GPU, and its DaemonSet would recreate it at once",
        'Give the DaemonSet the nodeSelector nvidia.com/gpu.deploy.client: "true" (and the nodes that label), '
        "so that it can be moved off the node.",
    ),
    HoldCode.STATIC_POD_HOLDS_GPU: says(
        "static pod {pod} holds a GPU, and only its kubelet can stop it",
        "Move its manifest off the node for the duration of the upgrade.",
    ),
    HoldCode.MAINTENANCE_PENDING: says(
        "the maintenance operator has not drained the node yet (NodeMaintenance {name})",
        "See `kubectl describe nodemaintenance {name}`.",
    ),
    HoldCode.DRIVER_STOPPING: says(
        "the old driver pod {pod} is stopping", "Nothing to do unless it hangs: then check the node's kubelet."
    ),
    HoldCode.DRIVER_STARTING: says(
        "driver pod {pod} is starting{trouble_text}",
        "See `kubectl logs` and `kubectl describe pod` of {pod} if it takes longer than usual.",
    ),
    HoldCode.OPERAND_NOT_READY: says(
        "{operand} is not ready yet{trouble_text}",
        "See `kubectl describe pod` of its pod on the node if it takes longer than usual.",
    ),
    HoldCode.DRIVER_NOT_READY: says(
        "driver pod {pod} is not ready{trouble_text}", "See `kubectl logs` and `kubectl describe pod` of {pod}."
    ),
    HoldCode.LOADED_VERSION_UNKNOWN: says(
        "the node's labels still show driver {loaded}, from before {wanted} was loaded",
        "GPU feature discovery updates them within a minute; if not, check its pod on the node.",
    ),
    HoldCode.LOADED_VERSION_WRONG: says(
        "the driver pod has version {wanted}, but the node has loaded {loaded}",
        "The old module is still in use: find what holds it (`lsof /dev/nvidia*` on the node), or reboot the node.",
    ),
    HoldCode.OPERANDS_PAUSED: says(
        "operands of the node are still paused: {labels}",
        "The driver manager restores the labels when it ends; if it crashed, set them back to true.",
    ),
    HoldCode.VALIDATOR_MISSING: says(
        "the node has no running validator pod, so nothing proves the new driver",
        "Check the DaemonSet with app=nvidia-operator-validator.",
    ),
    HoldCode.VALIDATOR_NOT_READY: says(
        "the validator has not finished its checks",
        "See `kubectl logs` of the validator pod if it takes longer than usual.",
    ),
    HoldCode.VALIDATOR_STALE: says(
        "the validator became Ready before the new driver, so it proves nothing about it",
        "It normally restarts with the driver, and an upgrade under way restarts it after a minute. After that, delete "
        "the pod {pod} yourself.",
    ),
    HoldCode.OFFER_REDUCED: says(
        "the node offers less than before the upgrade: {less}",
        "Look for the cause with `seatrial doctor {subject}`. To accept the loss: "
        "`seatrial node retry {subject} --accept-loss`.",
    ),
    HoldCode.MIG_NOT_SETTLED: says(
        "the MIG layout {config} is not in place: {state}", "Check the MIG manager's pod on the node."
    ),
    HoldCode.RUNTIME_HANDLER_MISSING: says(
        "the container runtime lost the handler {handlers}, so GPU pods would not start (RuntimeHandlerNotFound)",
        "Check the container toolkit's pod on the node; restarting it rewrites the runtime's configuration.",
    ),
    HoldCode.DRA_PLUGIN_MISSING: says(
        "the node had a DRA kubelet plugin before and has none now",
        "Check the plugin's DaemonSet (label nvidia-dra-driver-gpu-component=kubelet-plugin).",
    ),
    HoldCode.DRA_PLUGIN_NOT_READY: says(
        "DRA plugin {pod} is not ready", "See `kubectl logs` of {pod} if it takes longer than usual."
    ),
    HoldCode.DRA_PLUGIN_STALE: says(
        "DRA plugin {pod} started before the new driver and would hand out devices of the old one",
        "It is restarted automatically once no pod with a claim is leaving.",
    ),
    HoldCode.DRA_SLICES_MISSING: says(
        "the node published ResourceSlices before and publishes none now", "See `kubectl logs` of {pod}."
    ),
    HoldCode.DRA_VERSION_WRONG: says(
        "the node's ResourceSlices show driver {published}, but {wanted} runs",
        "Delete the DRA plugin's pod on the node if this does not pass within a minute.",
    ),
    HoldCode.NODE_PROBLEM: says(
        "since its driver was started the node reports {type}: {said}",
        "See `kubectl describe node {subject}`. To let it take work all the same: `kubectl annotate node {subject} "
        "seatrial.dev/accept-loss=true`.",
    ),
    HoldCode.FAILED: says(
        "the upgrade of this node failed: {why_text}",
        "{cure} {again_step}",
    ),
}
