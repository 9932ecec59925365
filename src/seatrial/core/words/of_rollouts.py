"""Why a rollout as a whole waits, and what to do about it: one row for each hold of a rollout.

Law of this file: a table. How its gaps are filled is in explain.py. Tests: tests/core/test_explain.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.holds import HoldCode
from seatrial.core.words.explanations import BY_ITSELF, Explanation, says

OF_ROLLOUTS: Final[Mapping[HoldCode, Explanation]] = {
    HoldCode.LEADERLESS: says(
        "no controller is in charge ({how}), so nothing moves",
        "Start it again, or see why it stopped: `kubectl get pods -A -l app.kubernetes.io/name=seatrial`. Without the "
        "chart, `seatrial controller --forever` runs one here.",
    ),
    HoldCode.PAUSED: says(
        "the rollout is paused; every node keeps its place",
        "Resume with `seatrial rollout resume {rollout}`.",
    ),
    HoldCode.STALE_VIEW: says(
        "the view of {source} is not current, and nobody is disrupted on an old view",
        "Usually passes within a minute; otherwise check the API server and the controller's log.",
    ),
    HoldCode.MODE_CONTRADICTION: says(
        "NVIDIA's own upgrade controller is on ({owner} has autoUpgrade: true), and only one may move the nodes",
        "Set upgradePolicy.autoUpgrade to false on {owner} to let seatrial move the nodes, "
        "or let NVIDIA's controller move them with spec.mode: delegated.",
    ),
    HoldCode.NOBODY_MOVES: says(
        "the rollout leaves the nodes to NVIDIA's own upgrade controller, and it is off ({owner})",
        "Set upgradePolicy.autoUpgrade to true there, or let seatrial move the nodes with spec.mode: direct.",
    ),
    HoldCode.SANDBOXED: says(
        "{owner} has autoUpgrade: true and sandboxWorkloads enabled, and with these NVIDIA's own upgrade controller "
        "moves nobody",
        "To let seatrial move the nodes, say so with spec.mode: direct (it needs spec.canary), "
        "or set upgradePolicy.autoUpgrade to false on {owner}.",
    ),
    HoldCode.MANAGER_OPENS_NODES: says(
        "NVIDIA's driver manager is told by {resource} to evict by itself, and uncordons each node before its new "
        "driver is proven; the node is closed again each time, and who came meanwhile is moved away",
        "Nothing waits for it. To keep nodes closed, write this with the version, since it is the same template: in "
        '{path} the entries ENABLE_GPU_POD_EVICTION and ENABLE_AUTO_DRAIN, both with the value "false".',
    ),
    HoldCode.TARGET_NOT_PUBLISHED: says(
        "the rollout wants driver {target}, but the driver DaemonSet carries {found}",
        "Publish {target} (in the ClusterPolicy, the NVIDIADriver or the DaemonSet), or change the rollout's target; "
        "one with a canary is undone with `seatrial rollout abort`. Meanwhile every node keeps its place.",
    ),
    HoldCode.ROLLOUT_UNREADABLE: says(
        "this GPURollout cannot be read, so nothing is done for it and nothing is written to it: {why}",
        "Mend the field with `kubectl edit gpurollout {subject}`; or, if a later release of seatrial wrote it, use "
        "that one. It holds no other rollout, except that none with a canary begins while its own is under way.",
    ),
    HoldCode.UNGUARDED: says(
        "the rollout does not carry our finalizer yet ({why}), and nothing is written for it before it does: who "
        "deletes it would leave our marks behind",
        "It is written by itself. If it stays so: may the controller patch gpurollouts.seatrial.dev? "
        "`seatrial manifests rbac` has the rule.",
    ),
    HoldCode.LEAVING: says(
        "{cause}: {why}",
        "It is let go when nothing of it is under way any more. `seatrial why NODE` says what a node waits for.",
    ),
    HoldCode.OTHER_ROLLOUT: says(
        "rollout {other} is under way, and two at once could not be told apart",
        "It begins when {other} has ended; see `seatrial status {other}`, "
        "or end it with `seatrial rollout abort {other} --reason ...`.",
    ),
    HoldCode.AFTER_PENDING: says(
        "it comes after rollout {other}, which is at {phase}",
        "It begins by itself when {other} is Done; see `seatrial status {other}`.",
    ),
    HoldCode.AFTER_UNDONE: says(
        "it comes after rollout {other}, which {how}",
        "Make a plan from what runs now, and delete this step; or, if the step before is not needed, take spec.after "
        "away with `kubectl edit gpurollout {subject}`.",
    ),
    HoldCode.ACCESS_DENIED: says(
        "the controller may not {what}, and would need to later on",
        "Grant it, for example with `seatrial manifests | kubectl apply -f -`; "
        "`kubectl auth can-i --list` shows what it may do.",
    ),
    HoldCode.NO_CANARY: says(
        "of {wanted} nodes to go first {found} can{reason_text}",
        "A canary is Ready, schedulable, not marked skip, and its driver is Ready: mend such a node, "
        "or choose others in spec.canary.",
    ),
    HoldCode.NO_WAY_BACK: says(
        "{resource} says no driver version, and node {node} does not say which one it runs: "
        "there would be nothing to go back to",
        "Write the version in use into {resource}, so that there is something to return to.",
    ),
    HoldCode.NOTHING_TO_PUBLISH: says(
        "no ClusterPolicy and no NVIDIADriver is there to carry the version",
        "Set spec.publish.via to none where somebody else writes the driver DaemonSet.",
    ),
    HoldCode.NOBODY_MAY_START: says(
        "maxUnavailable{scope_text} is 0, so that no node may start, and nothing is published that nobody may run",
        "Set maxUnavailable there to 1 or more (spec.limits or spec.domains of the rollout, or the upgradePolicy of "
        "the ClusterPolicy or NVIDIADriver).",
    ),
    HoldCode.CANARIES_CROWDED: says(
        "{count} canaries stay closed together until their gates have passed on all of them, and the "
        "limits{scope_text} have room for {limit}, so they would wait for each other for ever",
        "Set maxParallelUpgrades and maxUnavailable there to {count} or more, or take fewer canaries (spec.canary).",
    ),
    HoldCode.HALF_DONE: says(
        "nodes are half-way through another upgrade, or failed in it: {count}, first {nodes}",
        "See what would become of each with `seatrial rollout adopt --dry-run`, then let it finish or undo them.",
    ),
    HoldCode.SOURCE_UNREACHABLE: says(
        "the matrix cannot be looked at: {why}",
        "It is tried again by itself. If it stays so, check the address in the rollout, and the login and the "
        "authority that the controller was started with (--git-credentials, --git-authority).",
    ),
    HoldCode.SOURCE_STALE: says(
        "the matrix was last seen more than {limit} ago; nothing new is started or published on so old a view of it",
        "It goes on by itself as soon as it is seen again. If it stays so, the controller's log says under "
        "`background work ended` what keeps it from looking; restart the controller if it says nothing.",
    ),
    HoldCode.SOURCE_BARRED: says(
        "the controller may not speak to the repository: {why}",
        "Correct the address in the rollout. If it is right, whoever runs the controller starts it with the beginning "
        "of the address: --git-credentials PREFIX=DIR with a secret, --git-allow PREFIX without.",
    ),
    HoldCode.MATRIX_PROBLEM: says(
        "the matrix has no entry to stand behind the target: {why}",
        "Mend it there (`seatrial check` says what is wrong), or end the rollout with "
        "`seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.MATRIX_CHANGED: says(
        "the matrix now says {found}, and the rollout was made for {target}",
        "Start a rollout of what it says now, after `seatrial rollout abort {subject} --reason ...`; "
        "or put {target} back.",
    ),
    HoldCode.HISTORY_REWRITTEN: says(
        "the commit the rollout was made from is not in the branch any more (it is at {head})",
        "Find out who rewrote the branch and restore the commit, or end the rollout with "
        "`seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.ENTRY_BAD: says(
        "the matrix marks the entry bad: {why}",
        "Choose another version; or take the mark off with `seatrial matrix unmark ENTRY`, if it was wrong.",
    ),
    HoldCode.APPROVAL_PENDING: says(
        "a person has to say yes before {point_text}", "Say it with `seatrial rollout approve {subject} {point}`."
    ),
    HoldCode.OUTSIDE_WINDOW: says(
        "no maintenance window is open: nobody starts, and who is under way ends",
        "It goes on when the next window opens; see spec.windows.",
    ),
    HoldCode.WINDOW_CLOSING: says(
        "the maintenance window is about to close, and NVIDIA's controller may take {margin} to start a node: "
        "nobody is let in any more, and who is under way ends",
        "It goes on when the next window opens; see spec.windows.",
    ),
    HoldCode.PLACES_CHANGED: says(
        "{field} now names {asked}, and the rollout began with {began}, where its commits are",
        "Set it back to what status.campaign.places says; or end the rollout with `seatrial rollout abort {subject}`: "
        "it goes back where it began.",
    ),
    HoldCode.MARKS_PENDING: says("nodes are being marked, first {node}: {count} to go", BY_ITSELF),
    HoldCode.POOL_MISSING: says(
        "there is no MachineConfigPool {pool}, which is to stand still until the canary has proved itself",
        "See `kubectl get machineconfigpools`, and mend spec.canary.pausePools.",
    ),
    HoldCode.POOL_RESUMED: says(
        "somebody resumed MachineConfigPool {pool}, so its nodes may change before the canary has proved itself",
        "It stays as it is. Pause it again if that was not meant.",
    ),
    HoldCode.POOL_PENDING: says(
        "MachineConfigPool {pool} {state}", "See `kubectl describe machineconfigpool {pool}` if it takes long."
    ),
    HoldCode.POOL_PAUSED: says(
        "MachineConfigPool {pool} is paused{by_text}, and as long as it is its kubelets get no new certificates",
        "{resume_step}",
    ),
    HoldCode.MERGE_PENDING: says(
        "a person has to merge our change ({step}): {request}",
        "Merge it; or decline it, and end the rollout with `seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.REQUEST_PENDING: says("the pull request for our change ({step}) is being {done}", BY_ITSELF),
    HoldCode.MERGE_OVERDUE: says(
        "nobody has merged our change ({step}) in {limit}: {request}",
        "Review and merge it; or close it, and end the rollout with `seatrial rollout abort {subject} --reason ...`. "
        "Nothing moves meanwhile.",
    ),
    HoldCode.REQUEST_DECLINED: says(
        "somebody closed the request to merge our change ({step}) without merging it: {request}",
        "Open it again and merge it, if that was not meant; else end the rollout with "
        "`seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.FORGE_UNREACHABLE: says(
        "the forge cannot be asked about our change ({step}): {why}",
        "It is tried again by itself, and a merge is seen in Git all the same. If it stays so, look at the forge and "
        "at the token that the controller was started with (--forge).",
    ),
    HoldCode.PUBLISH_PENDING: says("{carrier_text} not seen to carry {version} yet", "{publish_step}"),
    HoldCode.SYNC_STOPPED: says(
        "the commit is in Git, and {resource} does not carry {version}: {follower} brings nothing into the cluster, "
        "since {stop}",
        "{resume}. Until then what is reverted in Git does not reach the cluster either.",
    ),
    HoldCode.SYNC_FAILED: says(
        "the commit is in Git, and {follower} could not bring it into the cluster: {said}",
        "Mend what it complains of, by another commit where the files are at fault; {mend}.",
    ),
    HoldCode.SYNC_WAITING: says(
        "the commit is in Git, and {follower}, which brings it into the cluster, waits itself: {said}",
        "It goes on when that is over; see to what {follower} waits for.",
    ),
    HoldCode.SYNC_OVERWRITTEN: says(
        "{follower} brought the commit into the cluster, and {writer} wrote {found} over it: {resource} does not carry "
        "{version}",
        "Have it put back what Git says: {restore}; or, where that write was meant, "
        "`seatrial rollout abort {subject}`.",
    ),
    HoldCode.PREPULLING: says(
        "the new driver's image is brought to {count} nodes, {node} first, before they are touched", BY_ITSELF
    ),
    HoldCode.IMAGE_NOT_PULLED: says(
        "{image} could not be started on {node}, which keeps its old driver: {why}",
        "Make the image available to the node; we ask for it again, after pauses that grow to two hours. "
        "Or set spec.prepull to false to go on without.",
    ),
    HoldCode.WRITTEN_BY_ANOTHER: says(
        "{resource} is to carry {version}, but {writer} writes it from a repository and would undo what we write",
        "Give the rollout spec.publish.via: git with the file that {writer} brings into the cluster, "
        "or change the version there yourself.",
    ),
    HoldCode.TAKEN_OVER: says(
        "{resource} is to carry {version}, but {writer} wrote {found} there since the rollout began, "
        "and is not overruled",
        "If that is meant to last, end the rollout with `seatrial rollout abort {subject} --reason ...`; "
        "to go on, write {version} there again.",
    ),
    HoldCode.BY_HAND_PENDING: says(
        "{component} is moved by people, {before} to {version}, and not seen yet on {nodes}{silent_text}",
        "{hand_step}",
    ),
    HoldCode.BY_HAND_BACK: says(
        "{component} is to be put back from {version} to {before} by people: {nodes}", "{back_step}"
    ),
    HoldCode.NO_WAY_BACK_BY_HAND: says(
        "{component} {version} is on {nodes}, and no way back from it is known",
        "Go on to a version that mends it, and say what is there with "
        "`seatrial rollout observed {component} VERSION {names}`; or let {version} stay and end the rollout with "
        "`seatrial rollout approve {subject} rollback`.",
    ),
    HoldCode.CANARY_AT_WORK: says(
        "the canary is being upgraded: {nodes}", "See `seatrial why NODE` if it takes longer than usual."
    ),
    HoldCode.CANARY_CLOSED: says(
        "the new driver is proven, and the node stays closed until its gates have passed: they need its GPUs free",
        "Nothing to do: it is opened as soon as they have. See `seatrial status` for what the gates wait for.",
    ),
    HoldCode.MEASURED_BEFORE: says(
        "the canary and nodes like it are measured before anything is done, round {number} of {count}: {gates}",
        "Nothing to do: who is in use is left out, and nobody is waited for beyond the limits of the gates.",
    ),
    HoldCode.GATES_RUNNING: says(
        "gates have not answered yet: {gates}", "Nothing to do unless it takes longer than usual: {job_step}."
    ),
    HoldCode.GATE_STUCK: says(
        "gate {gate} does not start on {node}: {why} (pod {pod} of Job {job})",
        "`kubectl -n {namespace} describe pod {pod}` says more. Mend that, or the gate's image in the rollout; "
        "without an answer within its limit the gate is unknown, which is no pass.",
    ),
    HoldCode.GATE_REFUSED: says(
        "the pod of gate {gate} for {node} is not let into {namespace_text}: {why}",
        "For PodSecurity: raise the level of the gates' namespace (`gates.podSecurity` of the chart, the label "
        "`pod-security.kubernetes.io/enforce`), or, where it is `restricted`, give the gate an image that does not run "
        "as root. For a quota or a webhook: let it in there. It is tried again until then.",
    ),
    HoldCode.GATE_UNKNOWN: says(
        "gate {gate} could not be measured on {node}{reason_text}; unknown is no pass",
        "It is asked again by itself, and the time until then is no evidence; see what answers it: the gate's Job "
        "and its image, or its query.",
    ),
    HoldCode.GATE_UNATTESTED: says(
        "gate {gate} waits for somebody's word on {nodes} ({reason}): {asks}",
        "Look, and say so with `seatrial gates attest {subject} {gate}{whom} --pass --because TEXT`, or --fail, and "
        "the rollout is undone. Until then no time counts as evidence.",
    ),
    HoldCode.TENANTS_AWAITED: says(
        "gate {gate} waits for work of tenants on {node}: {why}",
        "Let pods of theirs run on {node}: nothing is brought there for a gate. Until they have run for long enough no "
        "time counts as evidence.",
    ),
    HoldCode.TELEMETRY_MISSING: says(
        "the canary bakes, and nothing of it counts as evidence: nobody sees {why}",
        "See that its exporter runs and that Prometheus scrapes it (docs/how-to/watch-with-prometheus.md); or start "
        "the controller without --prometheus, and the clock alone counts.",
    ),
    HoldCode.CANARY_IDLE: says(
        "the canary has baked for long enough and did not work enough: {load} of its time, and {asked} is asked for",
        "Let somebody's pods run on {nodes}, or ask for less (spec.bake.minimumLoad).",
    ),
    HoldCode.LOSS_NOT_EXCLUDED: says(
        "a loss of {asked} is to be excluded before the fleet follows, and is not: {why}",
        "It is measured again in every round, and `seatrial bake explain` says how long that takes. Where it cannot be "
        "proven, add a gate with `probe: performance` before the rollout begins, ask for less, or take spec.bake.until "
        "away.",
    ),
    HoldCode.BAKING: says(
        "the canary bakes: well for {well} of {asked}, {left} to go{setback_text}",
        "Nothing to do. To call it off: `seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.CANARY_UNWELL: says(
        "canary {node} was well and is not any more: {why}; nothing counts as evidence until it is",
        "{mend}. Unless it is well again in time, the rollout is undone.",
    ),
    HoldCode.WAVE_AT_WORK: says(
        "wave {wave} of {waves} is at work, nodes left: {left}", "See `seatrial status -w` for how it goes."
    ),
    HoldCode.WAVE_BLOCKED: says(
        "nobody of wave {wave} of {waves} may start, nodes left: {left}; {limit} nodes{scope_text} may be unavailable, "
        "and those that failed are among them: {nodes}",
        "Look at each with `seatrial why NODE`, mend it, then `seatrial node retry NODE`; or raise maxUnavailable.",
    ),
    HoldCode.MEMBERS_STUCK: says(
        "members of the wave cannot start: {nodes}",
        "See each with `seatrial why NODE` and bring it back, or leave it out with `seatrial node skip NODE`. A wave "
        "waits for it as long as its upgrade might have taken (driverTimeoutSeconds and validationTimeoutSeconds), "
        "then goes on without it; it follows when it can.",
    ),
    HoldCode.MEMBERS_WITHOUT_GPU: says(
        "nothing tells of a GPU on {count} members, and no driver comes there: {nodes}; no wave waits for them",
        "Narrow spec.nodeSelector, for example to nvidia.com/gpu.present: true, or leave them out with `seatrial node "
        "skip NODE`. If one has a GPU, see node feature discovery there.",
    ),
    HoldCode.MEMBERS_LEFT: says(
        "{count} members are left behind on another driver: {nodes}",
        "Bring each back (`seatrial why NODE`): it follows by itself, a failed one after `seatrial node retry NODE`.",
    ),
    HoldCode.POOLS_LEFT: says(
        "pools that own no node now do not carry {version}: {pools}; a node that joins one comes up with that",
        "Write {version} into each, in the cluster or in the repository that brings it there.",
    ),
    HoldCode.WAVE_PAUSE: says("wave {wave} of {waves} is over, and watched before the next begins", BY_ITSELF),
    HoldCode.PROMOTION_PENDING: says(
        "the matrix is being written: the new versions to production, as tag {tag}", BY_ITSELF
    ),
    HoldCode.ROLLBACK_PENDING: says(
        "it failed, and a person decides whether it is undone: {why}",
        "Undo it with `seatrial rollout approve {subject} rollback`{otherwise_step}.",
    ),
    HoldCode.REVERT_PENDING: says("what we published is being taken back", BY_ITSELF),
    HoldCode.REVERT_CONFLICT: says(
        "our commits cannot be taken back, others changed the same lines since: {why}",
        "Revert them by hand in the repository; it goes on once the old version is there again.",
    ),
    HoldCode.NODES_GOING_BACK: says(
        "nodes are not back on what they ran before yet: {nodes}",
        "See `seatrial why NODE` if it takes longer than usual. One that cannot come back (it died, or its driver will "
        "not start) is taken out with `seatrial node skip NODE`; the rollout then ends without it, and says so.",
    ),
    HoldCode.STATES_PENDING: says(
        "NVIDIA's controller is made to forget the states it wrote, so that nobody is emptied in vain: "
        "{nodes} nodes to go",
        BY_ITSELF,
    ),
}
