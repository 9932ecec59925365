"""Holds and failures as sentences: why it waits, and what to do. The only place in core with English for users.

Tests: tests/core/test_explain.py; docs/reference/holds.md is generated from EXPLANATIONS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model import troubles
from seatrial.core.model.campaign import Point, Via
from seatrial.core.model.instants import Instant
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.progress import ANY


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why, and what next; `{names}` are filled from the hold's parameters."""

    why: str
    next_step: str


def _says(why: str, next_step: str) -> Explanation:
    return Explanation(why=why, next_step=next_step)


_BY_ITSELF: Final = "Nothing to do: it goes on by itself."

EXPLANATIONS: Final[Mapping[HoldCode, Explanation]] = {
    HoldCode.PAUSED: _says(
        "the rollout is paused; every node keeps its place",
        "Resume with `seatrial rollout resume {rollout}`.",
    ),
    HoldCode.STALE_VIEW: _says(
        "the view of {source} is not current, and nobody is disrupted on an old view",
        "Usually passes within a minute; otherwise check the API server and the controller's log.",
    ),
    HoldCode.MODE_CONTRADICTION: _says(
        "NVIDIA's own upgrade controller is on ({owner} has autoUpgrade: true), and only one may move the nodes",
        "Set upgradePolicy.autoUpgrade to false on {owner} to let seatrial move the nodes, "
        "or let NVIDIA's controller move them with spec.mode: delegated.",
    ),
    HoldCode.NOBODY_MOVES: _says(
        "the rollout leaves the nodes to NVIDIA's own upgrade controller, and it is off ({owner})",
        "Set upgradePolicy.autoUpgrade to true there, or let seatrial move the nodes with spec.mode: direct.",
    ),
    HoldCode.SANDBOXED: _says(
        "{owner} has autoUpgrade: true and sandboxWorkloads enabled, and with these NVIDIA's own upgrade controller "
        "moves nobody",
        "To let seatrial move the nodes, say so with spec.mode: direct (it needs spec.canary), "
        "or set upgradePolicy.autoUpgrade to false on {owner}.",
    ),
    HoldCode.MANAGER_OPENS_NODES: _says(
        "NVIDIA's driver manager is told by {resource} to evict by itself, and uncordons each node before its new "
        "driver is proven; the node is closed again each time, and who came meanwhile is moved away",
        "Nothing waits for it. To keep nodes closed, write this with the version, since it is the same template: in "
        '{path} the entries ENABLE_GPU_POD_EVICTION and ENABLE_AUTO_DRAIN, both with the value "false".',
    ),
    HoldCode.TARGET_NOT_PUBLISHED: _says(
        "the rollout wants driver {target}, but the driver DaemonSet carries {found}",
        "Publish {target} (in the ClusterPolicy, the NVIDIADriver or the DaemonSet), or change the rollout's target; "
        "one with a canary is undone with `seatrial rollout abort`. Meanwhile every node keeps its place.",
    ),
    HoldCode.ROLLOUT_UNREADABLE: _says(
        "this GPURollout cannot be read, so nothing is done for it and nothing is written to it: {why}",
        "Mend the field with `kubectl edit gpurollout {subject}`; or, if a later release of seatrial wrote it, use "
        "that one. It holds no other rollout, except that none with a canary begins while its own is under way.",
    ),
    HoldCode.UNGUARDED: _says(
        "the rollout does not carry our finalizer yet ({why}), and nothing is written for it before it does: who "
        "deletes it would leave our marks behind",
        "It is written by itself. If it stays so: may the controller patch gpurollouts.seatrial.dev? "
        "`seatrial manifests rbac` has the rule.",
    ),
    HoldCode.LEAVING: _says(
        "the rollout was deleted: {why}",
        "It goes by itself when nothing of it is under way any more. `seatrial why NODE` says what a node waits for.",
    ),
    HoldCode.OTHER_ROLLOUT: _says(
        "rollout {other} is under way, and two at once could not be told apart",
        "It begins when {other} has ended; see `seatrial rollout status {other}`, "
        "or end it with `seatrial rollout abort {other} --reason ...`.",
    ),
    HoldCode.AFTER_PENDING: _says(
        "it comes after rollout {other}, which is at {phase}",
        "It begins by itself when {other} is Done; see `seatrial rollout status {other}`.",
    ),
    HoldCode.AFTER_UNDONE: _says(
        "it comes after rollout {other}, which {how}",
        "Make a plan from what runs now, and delete this step; or, if the step before is not needed, take spec.after "
        "away with `kubectl edit gpurollout {subject}`.",
    ),
    HoldCode.ACCESS_DENIED: _says(
        "the controller may not {what}, and would need to later on",
        "Grant it, for example with `seatrial manifests | kubectl apply -f -`; "
        "`kubectl auth can-i --list` shows what it may do.",
    ),
    HoldCode.NO_CANARY: _says(
        "of {wanted} nodes to go first {found} can{reason_text}",
        "A canary is Ready, schedulable, not marked skip, and its driver is Ready: mend such a node, "
        "or choose others in spec.canary.",
    ),
    HoldCode.NO_WAY_BACK: _says(
        "{resource} says no driver version, and node {node} does not say which one it runs: "
        "there would be nothing to go back to",
        "Write the version in use into {resource}, so that there is something to return to.",
    ),
    HoldCode.NOTHING_TO_PUBLISH: _says(
        "no ClusterPolicy and no NVIDIADriver is there to carry the version",
        "Set spec.publish.via to none where somebody else writes the driver DaemonSet.",
    ),
    HoldCode.NOBODY_MAY_START: _says(
        "maxUnavailable{scope_text} is 0, so that no node may start, and nothing is published that nobody may run",
        "Set maxUnavailable there to 1 or more (spec.limits or spec.domains of the rollout, or the upgradePolicy of "
        "the ClusterPolicy or NVIDIADriver).",
    ),
    HoldCode.HALF_DONE: _says(
        "nodes are half-way through another upgrade, or failed in it: {count}, first {nodes}",
        "See what would become of each with `seatrial rollout adopt --dry-run`, then let it finish or undo them.",
    ),
    HoldCode.SOURCE_UNREACHABLE: _says(
        "the matrix cannot be looked at: {why}",
        "It is tried again by itself; check the address and the credentials in spec.matrix if it stays so.",
    ),
    HoldCode.SOURCE_STALE: _says(
        "the matrix was last seen more than {limit} ago; nothing new is started or published on so old a view of it",
        "It goes on by itself as soon as it is seen again. If it stays so, the controller's log says under "
        "`background work ended` what keeps it from looking; restart the controller if it says nothing.",
    ),
    HoldCode.SOURCE_BARRED: _says(
        "the controller may not speak to the repository: {why}",
        "Correct the address in the rollout. If it is right, whoever runs the controller starts it with the beginning "
        "of the address: --git-credentials PREFIX=DIR with a secret, --git-allow PREFIX without.",
    ),
    HoldCode.MATRIX_PROBLEM: _says(
        "the matrix has no entry to stand behind the target: {why}",
        "Mend it there (`seatrial check` says what is wrong), or end the rollout with "
        "`seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.MATRIX_CHANGED: _says(
        "the matrix now says {found}, and the rollout was made for {target}",
        "Start a rollout of what it says now, after `seatrial rollout abort {subject} --reason ...`; "
        "or put {target} back.",
    ),
    HoldCode.HISTORY_REWRITTEN: _says(
        "the commit the rollout was made from is not in the branch any more (it is at {head})",
        "Find out who rewrote the branch and restore the commit, or end the rollout with "
        "`seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.ENTRY_BAD: _says(
        "the matrix marks the entry bad: {why}",
        "Choose another version; or take the mark away, if what it says is mended.",
    ),
    HoldCode.APPROVAL_PENDING: _says(
        "a person has to say yes before {point_text}", "Say it with `seatrial rollout approve {subject} {point}`."
    ),
    HoldCode.OUTSIDE_WINDOW: _says(
        "no maintenance window is open: nobody starts, and who is under way ends",
        "It goes on when the next window opens; see spec.windows.",
    ),
    HoldCode.WINDOW_CLOSING: _says(
        "the maintenance window is about to close, and NVIDIA's controller may take {minutes} minutes to start a node: "
        "nobody is let in any more, and who is under way ends",
        "It goes on when the next window opens; see spec.windows.",
    ),
    HoldCode.PLACES_CHANGED: _says(
        "{field} now names {asked}, and the rollout began with {began}, where its commits are",
        "Set it back to what status.campaign.places says; or end the rollout with `seatrial rollout abort {subject}`: "
        "it goes back where it began.",
    ),
    HoldCode.MARKS_PENDING: _says("nodes are being marked, first {node}: {count} to go", _BY_ITSELF),
    HoldCode.POOL_MISSING: _says(
        "there is no MachineConfigPool {pool}, which is to stand still until the canary has proved itself",
        "See `kubectl get machineconfigpools`, and mend spec.canary.pausePools.",
    ),
    HoldCode.POOL_RESUMED: _says(
        "somebody resumed MachineConfigPool {pool}, so its nodes may change before the canary has proved itself",
        "It stays as it is. Pause it again if that was not meant.",
    ),
    HoldCode.POOL_PENDING: _says(
        "MachineConfigPool {pool} {state}", "See `kubectl describe machineconfigpool {pool}` if it takes long."
    ),
    HoldCode.POOL_PAUSED: _says(
        "MachineConfigPool {pool} is paused{by_text}, and as long as it is its kubelets get no new certificates",
        "{resume_step}",
    ),
    HoldCode.MERGE_PENDING: _says(
        "a person has to merge our change ({step}): {request}",
        "Merge it; or decline it, and end the rollout with `seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.PUBLISH_PENDING: _says("{carrier_text} not seen to carry {version} yet", "{publish_step}"),
    HoldCode.PREPULLING: _says(
        "the new driver's image is brought to {count} nodes, {node} first, before they are touched", _BY_ITSELF
    ),
    HoldCode.IMAGE_NOT_PULLED: _says(
        "{image} could not be started on {node}, which keeps its old driver: {why}",
        "Make the image available to the node; we ask for it again, after pauses that grow to two hours. "
        "Or set spec.prepull to false to go on without.",
    ),
    HoldCode.WRITTEN_BY_ANOTHER: _says(
        "{resource} is to carry {version}, but {writer} writes it from a repository and would undo what we write",
        "Give the rollout spec.publish.via: git with the file that {writer} brings into the cluster, "
        "or change the version there yourself.",
    ),
    HoldCode.TAKEN_OVER: _says(
        "{resource} is to carry {version}, but {writer} wrote {found} there since the rollout began, "
        "and is not overruled",
        "If that is meant to last, end the rollout with `seatrial rollout abort {subject} --reason ...`; "
        "to go on, write {version} there again.",
    ),
    HoldCode.BY_HAND_PENDING: _says(
        "{component} is moved by people, {before} to {version}, and not seen yet on {nodes}{silent_text}",
        "{hand_step}",
    ),
    HoldCode.BY_HAND_BACK: _says(
        "{component} is to be put back from {version} to {before} by people: {nodes}", "{back_step}"
    ),
    HoldCode.NO_WAY_BACK_BY_HAND: _says(
        "{component} {version} is on {nodes}, and no way back from it is known",
        "Go on to a version that mends it, and say what is there with "
        "`seatrial rollout observed {component} VERSION {names}`; or let {version} stay and end the rollout with "
        "`seatrial rollout approve {subject} rollback`.",
    ),
    HoldCode.CANARY_AT_WORK: _says(
        "the canary is being upgraded: {nodes}", "See `seatrial why NODE` if it takes longer than usual."
    ),
    HoldCode.GATES_RUNNING: _says(
        "gates have not answered yet: {gates}", "See the gate's Job if it takes longer than usual."
    ),
    HoldCode.GATE_UNKNOWN: _says(
        "gate {gate} could not be measured on {node}{reason_text}; unknown is no pass",
        "It is asked again by itself, and the time until then is no evidence; see the gate's Job and its image.",
    ),
    HoldCode.BAKING: _says(
        "the canary bakes: well for {hours} of {asked} hours, {left} to go{setback_text}",
        "Nothing to do. To call it off: `seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.CANARY_UNWELL: _says(
        "canary {node} was well and is not any more: {why}; nothing counts as evidence until it is",
        "{mend}. Unless it is well again in time, the rollout is undone.",
    ),
    HoldCode.WAVE_AT_WORK: _says(
        "wave {wave} of {waves} is at work, nodes left: {left}", "See `seatrial status -w` for how it goes."
    ),
    HoldCode.MEMBERS_STUCK: _says(
        "members of the wave cannot start: {nodes}",
        "See each with `seatrial why NODE` and bring it back, or leave it out with `seatrial node skip NODE`. A wave "
        "waits for it as long as its upgrade might have taken (driverTimeoutSeconds and validationTimeoutSeconds), "
        "then goes on without it; it follows when it can.",
    ),
    HoldCode.MEMBERS_WITHOUT_GPU: _says(
        "nothing tells of a GPU on {count} members, and no driver comes there: {nodes}; no wave waits for them",
        "Narrow spec.nodeSelector, for example to nvidia.com/gpu.present: true, or leave them out with `seatrial node "
        "skip NODE`. If one has a GPU, see node feature discovery there.",
    ),
    HoldCode.MEMBERS_LEFT: _says(
        "{count} members are left behind on another driver: {nodes}",
        "Bring each back (`seatrial why NODE`): it follows by itself, a failed one after `seatrial node retry NODE`.",
    ),
    HoldCode.POOLS_LEFT: _says(
        "pools that own no node now do not carry {version}: {pools}; a node that joins one comes up with that",
        "Write {version} into each, in the cluster or in the repository that brings it there.",
    ),
    HoldCode.WAVE_PAUSE: _says("wave {wave} of {waves} is over, and watched before the next begins", _BY_ITSELF),
    HoldCode.PROMOTION_PENDING: _says(
        "the matrix is being written: the new versions to production, as tag {tag}", _BY_ITSELF
    ),
    HoldCode.ROLLBACK_PENDING: _says(
        "it failed, and a person decides whether it is undone: {why}",
        "Undo it with `seatrial rollout approve {subject} rollback`{otherwise_step}.",
    ),
    HoldCode.REVERT_PENDING: _says("what we published is being taken back", _BY_ITSELF),
    HoldCode.REVERT_CONFLICT: _says(
        "our commits cannot be taken back, others changed the same lines since: {why}",
        "Revert them by hand in the repository; it goes on once the old version is there again.",
    ),
    HoldCode.NODES_GOING_BACK: _says(
        "nodes are not back on what they ran before yet: {nodes}",
        "See `seatrial why NODE` if it takes longer than usual. One that cannot come back (it died, or its driver will "
        "not start) is taken out with `seatrial node skip NODE`; the rollout then ends without it, and says so.",
    ),
    HoldCode.STATES_PENDING: _says(
        "NVIDIA's controller is made to forget the states it wrote, so that nobody is emptied in vain: "
        "{nodes} nodes to go",
        _BY_ITSELF,
    ),
    HoldCode.NOT_ITS_TURN: _says(
        "its turn has not come: the rollout is at {phase}", "It follows by itself; see `seatrial rollout status`."
    ),
    HoldCode.MOVED_BY_NVIDIA: _says(
        "NVIDIA's own upgrade controller has it at {state}",
        "See the gpu-operator's log if it takes longer than usual.",
    ),
    HoldCode.LEAKED: _says(
        "it runs driver {version} before its turn: a driver pod made anew, after a reboot or a repair, takes what is "
        "published",
        "Nothing is lost: it is proven when its turn comes, and goes back with the others should it come to that.",
    ),
    HoldCode.PARALLEL_LIMIT: _says(
        "{limit} nodes{scope_text} may be upgraded at once, and under way are {nodes}",
        "Its turn comes when one of them ends; raise maxParallelUpgrades to go faster.",
    ),
    HoldCode.UNAVAILABLE_LIMIT: _says(
        "{limit} nodes{scope_text} may be unavailable, and {taken} are: {nodes}",
        "Bring an unavailable node back, or raise maxUnavailable.",
    ),
    HoldCode.UNIT_INCOMPLETE: _says(
        "its domain is upgraded as one unit, and these are not ready to start yet: {nodes}", _BY_ITSELF
    ),
    HoldCode.UNIT_UNFIT: _says(
        "its domain is upgraded as one unit, together or not at all, and these members cannot start: {nodes}",
        "See each with `seatrial why NODE`: bring it back, `seatrial node unskip` or `seatrial node retry` it; "
        "or take `unit` off the domain to upgrade the others without it.",
    ),
    HoldCode.UNIT_TOO_LARGE: _says(
        "its domain is upgraded as one unit of {size} nodes, and the limits{scope_text} allow {limit} at once",
        "Raise maxParallelUpgrades and maxUnavailable to the size of the unit, or take `unit` off the domain.",
    ),
    HoldCode.FAILURE_BUDGET: _says(
        "{failed} nodes have failed ({nodes}), {limit} may; no further node starts",
        "Look at each with `seatrial why NODE`, mend it, then `seatrial node retry NODE`.",
    ),
    HoldCode.LEDGER_PENDING: _says("its place in the ledger is being written", _BY_ITSELF),
    HoldCode.PASS_FULL: _says("this pass already has its {limit} acts", _BY_ITSELF),
    HoldCode.SKIPPED: _says(
        "somebody marked the node with nvidia.com/gpu-driver-upgrade.skip=true",
        "Let it be upgraded with `seatrial node unskip {subject}`.",
    ),
    HoldCode.NODE_NOT_READY: _says(
        "the node is NotReady, and an upgrade could not finish on it",
        "Bring the node back, or leave it out with `seatrial node skip {subject}`.",
    ),
    HoldCode.DRIVER_POD_MISSING: _says(
        "the node has no driver pod",
        "Check that the driver DaemonSet selects the node: "
        "`kubectl get pods -A -o wide --field-selector spec.nodeName={subject}`. A node without a GPU is left out by a "
        "narrower spec.nodeSelector, or by `seatrial node skip {subject}`.",
    ),
    HoldCode.DRIVER_ORPHANED: _says(
        "driver pod {pod} belongs to nobody: its DaemonSet was taken away from over it",
        "Nobody is emptied meanwhile. Let a ClusterPolicy or NVIDIADriver own the node's driver again, "
        "or have the pod replaced with `seatrial node retry {subject} --again`.",
    ),
    HoldCode.OWNER_UNCLEAR: _says(
        "it cannot be told which NVIDIADriver owns the node: {why}",
        "Give the NVIDIADrivers node selectors that do not overlap.",
    ),
    HoldCode.REVISION_UNKNOWN: _says(
        "it is not known which revision the owner of driver pod {pod} wants",
        "Usually passes within seconds of a change; a driver pod without a DaemonSet must be removed by hand.",
    ),
    HoldCode.RECORD_UNREADABLE: _says(
        "the annotation seatrial.dev/upgrade cannot be read: {found}",
        "Restore the annotation, or remove it and the label to start this node afresh (check its cordon first).",
    ),
    HoldCode.RECORD_EDITED: _says(
        "the state label says {found}, our record says {recorded}, and we do not guess who is right",
        "Remove the label to restore the record; a retry of a failed or done node is asked for by upgrade-required.",
    ),
    HoldCode.WRITE_IN_FLIGHT: _says("a write of ours is not yet answered, or not yet to be seen", _BY_ITSELF),
    HoldCode.WRITE_REFUSED: _says(
        "our last write was turned down: {why}",
        "It is tried again by itself; if it stays so, check the controller's rights: in the cluster with "
        "`kubectl auth can-i --list`, in a repository its login and the branch's protection.",
    ),
    HoldCode.CORDON_LOST: _says(
        "somebody uncordoned the node while it was being upgraded",
        "Cordon it again to let the upgrade go on (the cordon is then yours to lift); otherwise the node is given up.",
    ),
    HoldCode.JOBS_RUNNING: _says(
        "jobs it is to wait for still run: {count}, first {pod} (limit: {limit})",
        "It goes on when they end; give waitForCompletion a timeoutSeconds to have them evicted after that.",
    ),
    HoldCode.CHECKPOINT_PENDING: _says(
        "jobs asked to save their work have not answered: {count}, first {pod}",
        "The job answers by the annotation seatrial.dev/checkpoint-saved={token} on its pod; "
        "it is evicted without when the time is up.",
    ),
    HoldCode.EVICTING: _says(
        "pods still on their way out: {count}, first {pod}", "Nothing to do unless a pod hangs in Terminating."
    ),
    HoldCode.SLIPPED_IN: _says(
        "the node was opened while its driver was replaced, and pods came: {count}, first {pod}; "
        "they leave before it is proven",
        "Nothing to do unless a pod hangs in Terminating, or the node has failed: then delete the pods, or "
        "`seatrial node retry {subject}`. NVIDIA's driver manager opens nodes unless ENABLE_GPU_POD_EVICTION and "
        'ENABLE_AUTO_DRAIN are "false" in its env.',
    ),
    HoldCode.EVICTION_BLOCKED: _says(
        "evictions turned down: {count}, first {pod}: {why}",
        "Give the pod's budget room (more replicas, or a looser PodDisruptionBudget); it is tried again by itself.",
    ),
    HoldCode.POD_WITHOUT_CONTROLLER: _says(
        "pod {pod} has no controller and would be lost for good",
        "Move or delete it yourself, or set spec.podDeletion.force.",
    ),
    HoldCode.POD_WITH_EMPTY_DIR: _says(
        "pod {pod} keeps data in an emptyDir that eviction deletes",
        "Save the data and delete the pod yourself, or set spec.podDeletion.deleteEmptyDir.",
    ),
    HoldCode.DAEMON_SET_HOLDS_GPU: _says(
        "pod {pod} of a DaemonSet holds a GPU, and its DaemonSet would put it back at once",
        'Give the DaemonSet the nodeSelector nvidia.com/gpu.deploy.client: "true" (and the nodes that label), '
        "so that it can be asked to leave.",
    ),
    HoldCode.STATIC_POD_HOLDS_GPU: _says(
        "static pod {pod} holds a GPU, and only its kubelet can stop it",
        "Take its manifest away on the node for the time of the upgrade.",
    ),
    HoldCode.MAINTENANCE_PENDING: _says(
        "the maintenance operator has not emptied the node yet (NodeMaintenance {name})",
        "See `kubectl describe nodemaintenance {name}`.",
    ),
    HoldCode.DRIVER_STOPPING: _says(
        "the old driver pod {pod} is stopping", "Nothing to do unless it hangs: then look at the node's kubelet."
    ),
    HoldCode.DRIVER_STARTING: _says(
        "driver pod {pod} is starting{trouble_text}",
        "See `kubectl logs` and `kubectl describe pod` of {pod} if it takes longer than usual.",
    ),
    HoldCode.DRIVER_NOT_READY: _says(
        "driver pod {pod} is not ready{trouble_text}", "See `kubectl logs` and `kubectl describe pod` of {pod}."
    ),
    HoldCode.LOADED_VERSION_UNKNOWN: _says(
        "the node's labels still tell of driver {loaded}, from before {wanted} was loaded",
        "GPU feature discovery writes them anew within a minute; see its pod on the node if it does not.",
    ),
    HoldCode.LOADED_VERSION_WRONG: _says(
        "the driver pod is of version {wanted}, but the node has loaded {loaded}",
        "The old module is still in use: look for what holds it (`lsof /dev/nvidia*` on the node), or reboot the node.",
    ),
    HoldCode.OPERANDS_PAUSED: _says(
        "operands of the node are still paused: {labels}",
        "The driver manager restores the labels when it ends; if it crashed, set them back to true.",
    ),
    HoldCode.VALIDATOR_MISSING: _says(
        "the node has no running validator pod, and unproven is not proven",
        "Check the DaemonSet with app=nvidia-operator-validator.",
    ),
    HoldCode.VALIDATOR_NOT_READY: _says(
        "the validator has not finished its checks",
        "See `kubectl logs` of the validator pod if it takes longer than usual.",
    ),
    HoldCode.VALIDATOR_STALE: _says(
        "the validator was Ready before the new driver, so it proves nothing about it",
        "It normally restarts with the driver; after a minute it is restarted for you.",
    ),
    HoldCode.OFFER_REDUCED: _says(
        "the node offers less than before the upgrade: {less}",
        "See the device plugin's and MIG manager's pods on the node, and nvidia-smi. If the loss is to stay: "
        "`seatrial node retry {subject} --accept-loss`.",
    ),
    HoldCode.MIG_NOT_SETTLED: _says(
        "the MIG layout {config} is not in place: {state}", "See the MIG manager's pod on the node."
    ),
    HoldCode.RUNTIME_HANDLER_MISSING: _says(
        "the container runtime lost the handler {handlers}, and GPU pods would not start (RuntimeHandlerNotFound)",
        "See the container toolkit's pod on the node; restarting it writes the runtime's configuration again.",
    ),
    HoldCode.DRA_PLUGIN_MISSING: _says(
        "the node had a DRA kubelet plugin before and has none now",
        "See the plugin's DaemonSet (label nvidia-dra-driver-gpu-component=kubelet-plugin).",
    ),
    HoldCode.DRA_PLUGIN_NOT_READY: _says(
        "DRA plugin {pod} is not ready", "See `kubectl logs` of {pod} if it takes longer than usual."
    ),
    HoldCode.DRA_PLUGIN_STALE: _says(
        "DRA plugin {pod} started before the new driver and would hand out devices of the old one",
        "It is restarted by itself once no pod with a claim is on its way out.",
    ),
    HoldCode.DRA_SLICES_MISSING: _says(
        "the node published ResourceSlices before and publishes none now", "See `kubectl logs` of {pod}."
    ),
    HoldCode.DRA_VERSION_WRONG: _says(
        "the node's ResourceSlices tell of driver {published}, but {wanted} runs",
        "Delete the DRA plugin's pod on the node if this does not pass within a minute.",
    ),
    HoldCode.FAILED: _says(
        "the upgrade of this node failed: {why_text}",
        "{cure} Then: `seatrial node retry {subject}` "
        "(or set its label seatrial.dev/gpu-driver-upgrade-state to upgrade-required).",
    ),
}

POINTS: Final[Mapping[str, str]] = {
    Point.CANARY: "the canary is touched",
    Point.WAVES: "the fleet follows the canary",
    Point.PROMOTION: "the matrix is promoted",
    Point.ROLLBACK: "it is undone",
}

PUBLISHING: Final[Mapping[str, str]] = {
    Via.GIT: "It goes on when Argo CD or Flux has brought the commit into the cluster; see whether it does, "
    "or whether a pull request waits to be merged.",
    Via.DIRECT: "It goes on when the GPU Operator has written the DaemonSets; see its log if it does not.",
    Via.NOBODY: "Publish {version} in {resource}.",
}

OTHERWISE_RETRY: Final = "; or mend the cause, then `seatrial rollout retry NODE`"
OTHERWISE_NOTHING: Final = (
    ". A failed gate is not asked again and cannot be overruled: to try once more, let it be undone and start another "
    "rollout"
)

FAILURES: Final[Mapping[str, str]] = {
    FailureCode.EVICTION_TIMEOUT: "GPU pods did not leave in time; nothing was deleted by force",
    FailureCode.DRAIN_TIMEOUT: "the node was not drained in time; nothing was deleted by force",
    FailureCode.MAINTENANCE_TIMEOUT: "the maintenance operator did not empty the node in time",
    FailureCode.DRIVER_CRASH_LOOP: "a container of the driver pod keeps crashing",
    FailureCode.DRIVER_TIMEOUT: "the driver pod did not become Ready in time",
    FailureCode.VALIDATION_TIMEOUT: "the new driver was not proven in time; the node stays cordoned",
}


def _hand_step(params: Mapping[str, str]) -> str:
    """What a person does, and how it comes to be seen."""
    told = params.get("instructions", "").rstrip(". ")
    first = f"{told}. " if told else "Bring it there by its own means. "
    if params.get("shown"):
        return f"{first}It is seen by itself, in the node's {params['shown']}."
    said = f"`seatrial rollout observed {params.get('component')} {params.get('version')} {params.get('names')}`"
    return f"{first}Kubernetes does not show it: say so with {said}, once it is there."


def _back_step(params: Mapping[str, str]) -> str:
    if params.get("shown"):
        return f"Put it back by its own means; it is seen by itself, in the node's {params['shown']}."
    version = params.get("before", "")
    version = "VERSION" if " " in version else version
    said = f"`seatrial rollout observed {params.get('component')} {version} {params.get('names')}`"
    return f"Put it back by its own means, then say so with {said}."


def why(held: Hold) -> str:
    """Why it waits, as the middle of a sentence."""
    text = _fill(EXPLANATIONS[held.code].why, held)
    cause = _diagnosis(held)
    text = f"{text}; {cause[0]}" if cause else text
    return f"{text}{_opened(held)}"


def _opened(held: Hold) -> str:
    """How often somebody opened the node since its driver was deleted, where they did and the hold does not say so."""
    count = dict(held.params).get("reopened", "")
    if not count or held.code is HoldCode.SLIPPED_IN:
        return ""
    times = "once" if count == "1" else f"{count} times"
    return f"; the node was opened {times} since its old driver was deleted, and closed again"


def next_step(held: Hold) -> str:
    """What somebody can do about it."""
    cause = _diagnosis(held)
    if cause is not None and held.code is not HoldCode.FAILED:
        return cause[1]
    return _fill(EXPLANATIONS[held.code].next_step, held)


def _diagnosis(held: Hold) -> tuple[str, str] | None:
    """What a recognised trouble means, and what to do about it."""
    params = dict(held.params)
    if not params.get("diagnosis"):
        return None
    found = troubles.Diagnosis(trouble=troubles.Trouble(params["diagnosis"]), found=params.get("found", ""))
    cause, cure = troubles.advice(
        found, pod=params.get("pod", "the driver pod"), node=held.subject, kernel=params.get("kernel", "")
    )
    return cause.rstrip(". :"), cure


def sentence(held: Hold, now: Instant) -> str:
    """The whole answer: who, why, how long yet, and what next."""
    return f"{held.subject}: {why(held)}{_times(held, now)}. {next_step(held)}"


def span(seconds: float) -> str:
    """A duration as people say it."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _fill(text: str, held: Hold) -> str:
    params = dict(held.params)
    trouble = params.get("trouble", "")
    params["trouble_text"] = f" ({trouble})" if trouble else ""
    reason = params.get("why", "")
    params["why_text"] = FAILURES.get(reason, reason or "no reason was recorded")
    params["reason_text"] = f": {reason}" if reason else ""
    params["setback_text"] = f"; evidence began anew when {params['setback']}" if params.get("setback") else ""
    params["point_text"] = POINTS.get(params.get("point", ""), "")
    params["silent_text"] = f"; {params['silent']} has it and is not Ready" if params.get("silent") else ""
    params["by_text"] = f" by rollout {params['by']}" if params.get("by") else ""
    params["scope_text"] = f" of {params['scope']}" if params.get("scope") else ""
    if params.get("resource") == ANY:
        params |= {"resource": "the driver DaemonSets", "carrier_text": "the driver DaemonSets are"}
    elif "resource" in params:
        params["carrier_text"] = f"{params['resource']} and the DaemonSets that come from it are"
    cause = _diagnosis(held)
    params["cure"] = cause[1] if cause else "Mend the cause."
    # What others say may end with a full stop of its own.
    texts = {key: value.rstrip(". ") for key, value in params.items()}
    whole = {
        "cure": params["cure"],
        "publish_step": PUBLISHING.get(params.get("via", ""), "").format(**texts),
        "otherwise_step": OTHERWISE_NOTHING if params.get("is_final") else OTHERWISE_RETRY,
        "hand_step": _hand_step(params) if held.code is HoldCode.BY_HAND_PENDING else "",
        "resume_step": _resume_step(params, held.subject) if held.code is HoldCode.POOL_PAUSED else "",
        "back_step": _back_step(params) if held.code is HoldCode.BY_HAND_BACK else "",
    }
    return text.format(**(texts | whole), subject=held.subject)


def _resume_step(params: Mapping[str, str], rollout: str) -> str:
    """Who ends the pause of a pool, and with what."""
    command = f'`kubectl patch machineconfigpool {params["pool"]} --type merge -p \'{{"spec":{{"paused":false}}}}\'`'
    if params.get("is_left"):
        return f"It stays paused: resuming it takes what was undone to its nodes. Where that is wanted, {command}."
    if params.get("by") == rollout:
        return "It is resumed when the canary has proved itself, or is back where it was."
    return f"Resume the pool before the old ones end: {command}."


def _times(held: Hold, now: Instant) -> str:
    parts = []
    if held.since is not None and now - held.since >= 1:
        parts.append(f"for {span(now - held.since)}")
    if held.until is not None and held.until > now:
        parts.append(f"at most {span(held.until - now)} more before we look again or give up")
    return f" ({', '.join(parts)})" if parts else ""
