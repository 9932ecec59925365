"""Why a node waits, and what to do about it: one row for each hold of a node.

Law of this file: a table. How its gaps are filled is in explain.py. Tests: tests/core/test_explain.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.holds import HoldCode
from seatrial.core.words.explanations import BY_ITSELF, Explanation, says

OF_NODES: Final[Mapping[HoldCode, Explanation]] = {
    HoldCode.NOT_ITS_TURN: says(
        "its turn has not come: the rollout is at {phase}", "It follows by itself; see `seatrial status`."
    ),
    HoldCode.MOVED_BY_NVIDIA: says(
        "NVIDIA's own upgrade controller has it at {state}",
        "See the gpu-operator's log if it takes longer than usual.",
    ),
    HoldCode.LEAKED: says(
        "it runs driver {version} before its turn: a driver pod made anew, after a reboot or a repair, takes what is "
        "published",
        "Nothing is lost: it is proven when its turn comes, and goes back with the others should it come to that.",
    ),
    HoldCode.PARALLEL_LIMIT: says(
        "{limit} nodes{scope_text} may be upgraded at once, and under way are {nodes}",
        "Its turn comes when one of them ends; raise maxParallelUpgrades to go faster.",
    ),
    HoldCode.UNAVAILABLE_LIMIT: says(
        "{limit} nodes{scope_text} may be unavailable, and {taken} are: {nodes}",
        "Bring an unavailable node back, or raise maxUnavailable.",
    ),
    HoldCode.UNIT_INCOMPLETE: says(
        "its domain is upgraded as one unit, and these are not ready to start yet: {nodes}", BY_ITSELF
    ),
    HoldCode.UNIT_UNFIT: says(
        "its domain is upgraded as one unit, together or not at all, and these members cannot start: {nodes}",
        "See each with `seatrial why NODE`: bring it back, `seatrial node unskip` or `seatrial node retry` it; "
        "or take `unit` off the domain to upgrade the others without it.",
    ),
    HoldCode.UNIT_TOO_LARGE: says(
        "its domain is upgraded as one unit of {size} nodes, and the limits{scope_text} allow {limit} at once",
        "Raise maxParallelUpgrades and maxUnavailable to the size of the unit, or take `unit` off the domain.",
    ),
    HoldCode.FAILURE_BUDGET: says(
        "{failed_text} ({nodes}), {limit} may; no further node starts",
        "Look at each with `seatrial why NODE`, mend it, then `seatrial node retry NODE`{undo_step}.",
    ),
    HoldCode.LEDGER_PENDING: says("its place in the ledger is being written", BY_ITSELF),
    HoldCode.PASS_FULL: says("this pass already has its {limit} acts", BY_ITSELF),
    HoldCode.SKIPPED: says(
        "somebody marked the node with nvidia.com/gpu-driver-upgrade.skip=true",
        "Let it be upgraded with `seatrial node unskip {subject}`.",
    ),
    HoldCode.NODE_NOT_READY: says(
        "the node is NotReady, and an upgrade could not finish on it",
        "Bring the node back, or leave it out with `seatrial node skip {subject}`.",
    ),
    HoldCode.DRIVER_POD_MISSING: says(
        "the node has no driver pod",
        "Check that the driver DaemonSet selects the node: "
        "`kubectl get pods -A -o wide --field-selector spec.nodeName={subject}`. A node without a GPU is left out by a "
        "narrower spec.nodeSelector, or by `seatrial node skip {subject}`.",
    ),
    HoldCode.DRIVER_ORPHANED: says(
        "driver pod {pod} belongs to nobody: its DaemonSet was taken away from over it",
        "Nobody is emptied meanwhile. Let a ClusterPolicy or NVIDIADriver own the node's driver again, "
        "or have the pod replaced with `seatrial node retry {subject} --again`.",
    ),
    HoldCode.OWNER_UNCLEAR: says(
        "it cannot be told which NVIDIADriver owns the node: {why}",
        "Give the NVIDIADrivers node selectors that do not overlap.",
    ),
    HoldCode.REVISION_UNKNOWN: says(
        "it is not known which revision the owner of driver pod {pod} wants",
        "Usually passes within seconds of a change; a driver pod without a DaemonSet must be removed by hand.",
    ),
    HoldCode.RECORD_UNREADABLE: says(
        "the annotation seatrial.dev/upgrade cannot be read: {found}",
        "Restore the annotation, or remove it and the label to start this node afresh (check its cordon first).",
    ),
    HoldCode.RECORD_EDITED: says(
        "the state label says {found}, our record says {recorded}, and we do not guess who is right",
        "Remove the label to restore the record; a retry of a failed or done node is asked for by upgrade-required.",
    ),
    HoldCode.WRITE_IN_FLIGHT: says("a write of ours is not yet answered, or not yet to be seen", BY_ITSELF),
    HoldCode.WRITE_REFUSED: says(
        "our last write was turned down: {why}",
        "It is tried again by itself; if it stays so, check the controller's rights: in the cluster with "
        "`kubectl auth can-i --list`, in a repository its login and the branch's protection.",
    ),
    HoldCode.CORDON_LOST: says(
        "somebody uncordoned the node while it was being upgraded",
        "Cordon it again to let the upgrade go on (the cordon is then yours to lift); otherwise the node is given up.",
    ),
    HoldCode.PODS_UNHEARD: says(
        "nothing was heard of any pod since the node was cordoned, and a job may have started on it just before",
        "Nothing to do: the pods are listed again within seconds. If it stays so, the API server does not answer that "
        "list; after {limit} without word the whole rollout stops and says so.",
    ),
    HoldCode.JOBS_RUNNING: says(
        "jobs it is to wait for still run: {count}, first {pod} (limit: {limit})",
        "It goes on when they end; give waitForCompletion a timeoutSeconds to have them evicted after that.",
    ),
    HoldCode.CHECKPOINT_PENDING: says(
        "jobs asked to save their work have not answered: {count}, first {pod}",
        "The job answers by the annotation seatrial.dev/checkpoint-saved={token} on its pod; "
        "it is evicted without when the time is up.",
    ),
    HoldCode.EVICTING: says(
        "pods still on their way out: {count}, first {pod}", "Nothing to do unless a pod hangs in Terminating."
    ),
    HoldCode.SLIPPED_IN: says(
        "the node was opened while its driver was replaced, and pods came: {count}, first {pod}; "
        "they leave before it is proven",
        "Nothing to do unless a pod hangs in Terminating, or the node has failed: then delete the pods, or "
        "`seatrial node retry {subject}`. NVIDIA's driver manager opens nodes unless ENABLE_GPU_POD_EVICTION and "
        'ENABLE_AUTO_DRAIN are "false" in its env.',
    ),
    HoldCode.EVICTION_BLOCKED: says(
        "{why}, so pods cannot be evicted: {count}, first {pod}",
        "Give the pod's budget room (more replicas, or a looser PodDisruptionBudget); it is tried again by itself.",
    ),
    HoldCode.POD_WITHOUT_CONTROLLER: says(
        "pod {pod} has no controller and would be lost for good",
        "Move or delete it yourself, or set spec.podDeletion.force.",
    ),
    HoldCode.POD_WITH_EMPTY_DIR: says(
        "pod {pod} keeps data in an emptyDir that eviction deletes",
        "Save the data and delete the pod yourself, or set spec.podDeletion.deleteEmptyDir.",
    ),
    HoldCode.DAEMON_SET_HOLDS_GPU: says(
        "pod {pod} of a DaemonSet holds a GPU, and its DaemonSet would put it back at once",
        'Give the DaemonSet the nodeSelector nvidia.com/gpu.deploy.client: "true" (and the nodes that label), '
        "so that it can be asked to leave.",
    ),
    HoldCode.STATIC_POD_HOLDS_GPU: says(
        "static pod {pod} holds a GPU, and only its kubelet can stop it",
        "Take its manifest away on the node for the time of the upgrade.",
    ),
    HoldCode.MAINTENANCE_PENDING: says(
        "the maintenance operator has not emptied the node yet (NodeMaintenance {name})",
        "See `kubectl describe nodemaintenance {name}`.",
    ),
    HoldCode.DRIVER_STOPPING: says(
        "the old driver pod {pod} is stopping", "Nothing to do unless it hangs: then look at the node's kubelet."
    ),
    HoldCode.DRIVER_STARTING: says(
        "driver pod {pod} is starting{trouble_text}",
        "See `kubectl logs` and `kubectl describe pod` of {pod} if it takes longer than usual.",
    ),
    HoldCode.DRIVER_NOT_READY: says(
        "driver pod {pod} is not ready{trouble_text}", "See `kubectl logs` and `kubectl describe pod` of {pod}."
    ),
    HoldCode.LOADED_VERSION_UNKNOWN: says(
        "the node's labels still tell of driver {loaded}, from before {wanted} was loaded",
        "GPU feature discovery writes them anew within a minute; see its pod on the node if it does not.",
    ),
    HoldCode.LOADED_VERSION_WRONG: says(
        "the driver pod is of version {wanted}, but the node has loaded {loaded}",
        "The old module is still in use: look for what holds it (`lsof /dev/nvidia*` on the node), or reboot the node.",
    ),
    HoldCode.OPERANDS_PAUSED: says(
        "operands of the node are still paused: {labels}",
        "The driver manager restores the labels when it ends; if it crashed, set them back to true.",
    ),
    HoldCode.VALIDATOR_MISSING: says(
        "the node has no running validator pod, and unproven is not proven",
        "Check the DaemonSet with app=nvidia-operator-validator.",
    ),
    HoldCode.VALIDATOR_NOT_READY: says(
        "the validator has not finished its checks",
        "See `kubectl logs` of the validator pod if it takes longer than usual.",
    ),
    HoldCode.VALIDATOR_STALE: says(
        "the validator was Ready before the new driver, so it proves nothing about it",
        "It normally restarts with the driver; after a minute it is restarted for you.",
    ),
    HoldCode.OFFER_REDUCED: says(
        "the node offers less than before the upgrade: {less}",
        "See the device plugin's and MIG manager's pods on the node, and nvidia-smi. If the loss is to stay: "
        "`seatrial node retry {subject} --accept-loss`.",
    ),
    HoldCode.MIG_NOT_SETTLED: says(
        "the MIG layout {config} is not in place: {state}", "See the MIG manager's pod on the node."
    ),
    HoldCode.RUNTIME_HANDLER_MISSING: says(
        "the container runtime lost the handler {handlers}, and GPU pods would not start (RuntimeHandlerNotFound)",
        "See the container toolkit's pod on the node; restarting it writes the runtime's configuration again.",
    ),
    HoldCode.DRA_PLUGIN_MISSING: says(
        "the node had a DRA kubelet plugin before and has none now",
        "See the plugin's DaemonSet (label nvidia-dra-driver-gpu-component=kubelet-plugin).",
    ),
    HoldCode.DRA_PLUGIN_NOT_READY: says(
        "DRA plugin {pod} is not ready", "See `kubectl logs` of {pod} if it takes longer than usual."
    ),
    HoldCode.DRA_PLUGIN_STALE: says(
        "DRA plugin {pod} started before the new driver and would hand out devices of the old one",
        "It is restarted by itself once no pod with a claim is on its way out.",
    ),
    HoldCode.DRA_SLICES_MISSING: says(
        "the node published ResourceSlices before and publishes none now", "See `kubectl logs` of {pod}."
    ),
    HoldCode.DRA_VERSION_WRONG: says(
        "the node's ResourceSlices tell of driver {published}, but {wanted} runs",
        "Delete the DRA plugin's pod on the node if this does not pass within a minute.",
    ),
    HoldCode.FAILED: says(
        "the upgrade of this node failed: {why_text}",
        "{cure} Then: `seatrial node retry {subject}` (or set its label {label} to upgrade-required).",
    ),
}
