"""Why a rollout as a whole waits, and what to do about it: one row for each hold of a rollout.

Law of this file: a table. How its gaps are filled is in explain.py. Tests: tests/core/words/test_explain.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.holds import HoldCode
from seatrial.core.words.explanations import BY_ITSELF, Explanation, says

OF_ROLLOUTS: Final[Mapping[HoldCode, Explanation]] = {
    HoldCode.LEADERLESS: says(
        "no controller is in charge ({how}), so nothing moves",
        "Start it again, or find out why it stopped: `kubectl get pods -A -l app.kubernetes.io/name=seatrial`. Without "
        "the chart, `seatrial controller --forever` runs one here; give it the options it had, such as --git-allow.",
    ),
    HoldCode.PAUSED: says(
        "the rollout is paused{reason_text}; every node keeps its place",
        "Resume with `seatrial rollout resume {rollout}`.",
    ),
    HoldCode.STALE_VIEW: says(
        "the view of {source} is out of date, and no node is disrupted on an old view",
        "This usually passes within a minute; if not, check the API server and the controller's log.",
    ),
    HoldCode.UNREADABLE_OBJECT: says(
        "{object} cannot be read ({why}), and nothing that depends on it is done",
        "Look at it with `{get}`, and fix or delete what is wrong with it. If nothing is, seatrial has a bug: its log "
        "has the traceback.",
    ),
    HoldCode.JOURNAL_UNWRITABLE: says(
        "the controller cannot write its journal ({why}), and disrupts nobody whom it could not tell of",
        "Make room on the disk of `seatrial controller --journal`, and it continues. In the chart that is "
        "`journal.sizeLimit`, or a larger claim.",
    ),
    HoldCode.PROMISE_BROKEN: says(
        "the controller was about to break a promise, so it does nothing on this rollout: {promises}. It was about to "
        "do this: {acts}",
        "Nothing moves until the cause is gone; it is checked again every 30 s. Fix what the promise names if you "
        "can, and report it with `seatrial snapshot --anonymise` and the controller's log: it is a bug of seatrial.",
    ),
    HoldCode.MODE_CONTRADICTION: says(
        "NVIDIA's own upgrade controller is on ({owner} has autoUpgrade: true), and only one may move the nodes",
        "Set upgradePolicy.autoUpgrade to false on {owner} to let seatrial move the nodes, "
        "or let NVIDIA's controller move them with spec.mode: delegated.",
    ),
    HoldCode.NOBODY_MOVES: says(
        "the rollout leaves the nodes to NVIDIA's own upgrade controller, which is off ({owner})",
        "Set upgradePolicy.autoUpgrade to true there, or let seatrial move the nodes with spec.mode: direct.",
    ),
    HoldCode.SANDBOXED: says(
        "{owner} has autoUpgrade: true and sandboxWorkloads enabled, and with both of them NVIDIA's own upgrade "
        "controller moves no node",
        "To let seatrial move the nodes, set spec.mode: direct (it needs spec.canary), "
        "or set upgradePolicy.autoUpgrade to false on {owner}.",
    ),
    HoldCode.MANAGER_OPENS_NODES: says(
        "{resource} lets NVIDIA's driver manager evict pods itself, so it uncordons each node before the new driver is "
        "validated; the node is cordoned again each time, and pods that started meanwhile are moved off",
        "Nothing waits for this. To keep nodes cordoned, set ENABLE_GPU_POD_EVICTION and ENABLE_AUTO_DRAIN to "
        '"false" in {path}, together with the version: it is the same template.',
    ),
    HoldCode.TARGET_NOT_PUBLISHED: says(
        "the rollout wants driver {target}, but the driver DaemonSet has {found}",
        "Publish {target} (in the ClusterPolicy, the NVIDIADriver or the DaemonSet), or change the rollout's target; "
        "undo one with a canary with `seatrial rollout abort`. Meanwhile every node keeps its place.",
    ),
    HoldCode.ROLLOUT_UNREADABLE: says(
        "this GPURollout cannot be read, so nothing is done for it and nothing is written to it: {why}",
        "Fix the field with `kubectl edit gpurollout {subject}`; if a later release of seatrial wrote it, use that "
        "release. It holds up no other rollout, except that none with a canary begins while its own is under way.",
    ),
    HoldCode.SET_ASIDE: says(
        "seatrial ran into a bug of its own over this GPURollout and set it aside; nothing is done for it, and the "
        "other rollouts continue: {why}",
        "It is tried again automatically. If this lasts, report the traceback in the controller's log.",
    ),
    HoldCode.ROLLS_BY_ITSELF: says(
        "the DaemonSets of {operands} replace their pods on every node automatically (RollingUpdate), so no node could "
        "go first",
        "Set {where} to OnDelete: that alone restarts nothing. A rollout with spec.publish.setOnDelete does so itself "
        "in a ClusterPolicy, unless it brings a release of the operator: that needs it before.",
    ),
    HoldCode.OPERANDS_DELEGATED: says(
        "NVIDIA's upgrade controller moves the nodes, and it moves drivers only, not {components}",
        "Set autoUpgrade to false in {resource}, so that seatrial moves the nodes; or leave {components} out of "
        "spec.target.",
    ),
    HoldCode.ATTRITION_DELEGATED: says(
        "NVIDIA's upgrade controller moves the nodes, and it evicts as it likes: it cannot wait for jobs by attrition",
        "Set autoUpgrade to false in {resource}, so that seatrial moves the nodes; or leave spec.attrition out.",
    ),
    HoldCode.NETWORK_DELEGATED: says(
        "the Network Operator moves the network driver itself (autoUpgrade is on in {resource})",
        "Set spec.ofedDriver.upgradePolicy.autoUpgrade to false in {resource}, so that seatrial moves the nodes; or "
        "leave mofed out of spec.target.",
    ),
    HoldCode.NETWORK_UNSEEN: says(
        "no network driver is seen that could be moved: {missing}",
        "Check `kubectl get nicclusterpolicies` and the pods in nvidia-network-operator; or leave mofed out of "
        "spec.target.",
    ),
    HoldCode.DRA_BY_OPERATOR: says(
        "the GPU Operator itself brings the DRA driver here (a GPUCluster): it replaces the plugins of all nodes at "
        "once, whatever is set, so no node could go first",
        "Leave dra_driver out of spec.target: that release of the operator brings its own. A DRA driver from a chart "
        "of its own can be moved node by node.",
    ),
    HoldCode.OPERANDS_BY_POOL: says(
        "drivers come from NVIDIADriver resources here, and {components} from the ClusterPolicy: one rollout cannot "
        "publish both",
        "Leave {components} out of spec.target.",
    ),
    HoldCode.KUEUE_UNSEEN: says(
        "spec.checkpoint.kueue has Workloads of Kueue suspended before their pods leave, and they cannot be seen: "
        "{why}",
        "Start the controller with --kueue and grant the rights of `seatrial manifests rbac --kueue` (kueue: true in "
        "the chart); or remove spec.checkpoint.kueue, and their pods are evicted.",
    ),
    HoldCode.UNGUARDED: says(
        "the rollout does not have our finalizer yet ({why}), and nothing is written before that: deleting it would "
        "leave our marks behind",
        "It is added automatically. If this lasts, check that the controller may patch gpurollouts.seatrial.dev; "
        "`seatrial manifests rbac` has the rule.",
    ),
    HoldCode.LEAVING: says(
        "{cause}: {why}",
        "It is released when nothing of it is under way. `seatrial why NODE` says what a node waits for.",
    ),
    HoldCode.OTHER_ROLLOUT: says(
        "rollout {other} is under way, and the effects of two at once could not be told apart",
        "It begins when {other} has ended; `seatrial why {other}` says what that takes. If {other} is not being undone "
        "already, `seatrial rollout abort {other} --reason ...` ends it.",
    ),
    HoldCode.AFTER_PENDING: says(
        "it comes after rollout {other}, which is at {phase}",
        "It begins on its own when {other} is Done; see `seatrial status {other}`.",
    ),
    HoldCode.AFTER_UNDONE: says(
        "it comes after rollout {other}, which {how}",
        "Make a new plan from what runs now, and delete this step. If the earlier step is not needed, remove "
        "spec.after with `kubectl edit gpurollout {subject}`.",
    ),
    HoldCode.ACCESS_DENIED: says(
        "the controller may not {what}, and will need to later",
        "Grant it, for example with `seatrial manifests | kubectl apply -f -`; "
        "`kubectl auth can-i --list` shows what it may do.",
    ),
    HoldCode.NO_CANARY: says(
        "{wanted} {wanted:canary|canaries} {wanted:is|are} needed and {found} can go first{reason_text}",
        "A canary must be Ready, schedulable and not marked skip, with a Ready driver: fix such a node, "
        "or choose others in spec.canary.",
    ),
    HoldCode.NO_WAY_BACK: says(
        "{resource} names no driver version, and node {node} does not show which one it runs: "
        "there would be nothing to roll back to",
        "Write the version in use into {resource}, so that there is a version to roll back to.",
    ),
    HoldCode.RELEASE_UNSEEN: says(
        "no Deployment of the chart {chart} shows which version of {component} runs, so nobody could tell a new one",
        "Let the controller see it: `seatrial manifests rbac --canary --releases | kubectl apply -f -` (`--olm` where "
        "OLM installs it), or `features.releases` in the chart (`features.olm`). Or leave {component} out of "
        "spec.target.",
    ),
    HoldCode.RELEASE_PINNED: says(
        "{resource} has the validator at {found} although release {version} runs, so no node could show that it runs "
        "another release",
        "Remove validator.version there, or name validator in spec.target as well.",
    ),
    HoldCode.RELEASE_ONE_WAY: says(
        "{resource} has OLM install {component}, which goes forward only: there is no way back from {version}",
        "If it may stay whatever happens, say so with `--one-way` (spec.publish.oneWay: true); or leave {component} "
        "out of spec.target. Going back returns the driver and operands that the target names, and no release.",
    ),
    HoldCode.RELEASE_AUTOMATIC: says(
        "{resource} has OLM approve every upgrade automatically, so the operator can move at any moment",
        "Set spec.installPlanApproval of the Subscription to Manual (`oc -n {namespace} edit subscription {name}`); "
        "that alone moves nothing.",
    ),
    HoldCode.RELEASE_UNPLANNED: says(
        "{resource} should go to exactly {wanted}, but {found}",
        "Have OLM offer exactly {wanted}: set spec.channel of the Subscription to a channel that ends with it "
        "(`oc -n {namespace} edit subscription {name}`), and keep other operators out of its namespace. Or start a "
        "rollout of what it offers.",
    ),
    HoldCode.NOTHING_TO_PUBLISH: says(
        "there is no ClusterPolicy and no NVIDIADriver to set the version in",
        "Set spec.publish.via to none if somebody else writes the driver DaemonSet.",
    ),
    HoldCode.NOBODY_MAY_START: says(
        "maxUnavailable{scope_text} is 0, so no node may start, and a version that no node may run is not published",
        "Set maxUnavailable there to 1 or more (spec.limits or spec.domains of the rollout, or the upgradePolicy of "
        "the ClusterPolicy or NVIDIADriver).",
    ),
    HoldCode.CANARIES_CROWDED: says(
        "the canaries stay cordoned until the gates have passed on all; with their units that takes {count:node}, and "
        "the limits{scope_text} have room for {limit}, so they would wait for each other forever",
        "Raise maxParallelUpgrades and maxUnavailable there to {count}, or begin with fewer canaries (spec.canary).",
    ),
    HoldCode.IDLE_GPUS_TOO_FEW: says(
        "at most {limit:GPU} may stand idle for the upgrade, and {part} has {gpus}, so it can never start",
        "Set spec.limits.maxIdleGPUs of the rollout to {gpus} or more.",
    ),
    HoldCode.UNIT_NEVER_FITS: says(
        "{unit} is upgraded as one unit of {size:node}, and the limits{scope_text} allow {limit} at once, so it can "
        "never start",
        "Set maxParallelUpgrades and maxUnavailable there to {size} or more, or remove `unit` from the domain.",
    ),
    HoldCode.DEADLINE_TOO_SHORT: says(
        "{nodes:node} {nodes:takes|take} {needed} at {at_once} at a time even if every job is evicted, and the "
        "deadline of attrition is {deadline}",
        "Set spec.attrition.deadlineSeconds to {seconds} or more, or raise spec.limits.{setting}.",
    ),
    HoldCode.HALF_DONE: says(
        "{count:node} {count:is|are} half-way through another upgrade, or failed in it: {nodes}",
        "See what would happen to each with `seatrial rollout adopt --dry-run`, then let it finish or undo them.",
    ),
    HoldCode.SOURCE_UNREACHABLE: says(
        "the matrix cannot be read: {why}",
        "It is retried automatically. If this lasts, check the address in the rollout, and the login and the "
        "certificate authority that the controller was started with (--git-credentials, --git-authority).",
    ),
    HoldCode.SOURCE_STALE: says(
        "the matrix was last read more than {limit} ago, so nothing new is started or published",
        "It continues as soon as the matrix can be read again. If this lasts, the controller's log says why under "
        "`background work ended`; restart the controller if it says nothing.",
    ),
    HoldCode.SOURCE_BARRED: says(
        "the controller may not connect to the repository: {why}",
        "Correct the address in the rollout. If it is right, start the controller with the beginning of the address: "
        "--git-credentials PREFIX=DIR with a secret, --git-allow PREFIX without.",
    ),
    HoldCode.MATRIX_PROBLEM: says(
        "the matrix has no entry for the target: {why}",
        "Fix it there (`seatrial check` says what is wrong), or end the rollout with "
        "`seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.MATRIX_CHANGED: says(
        "the matrix now says {found}, and the rollout was made for {target}",
        "Start a rollout of what it says now, after `seatrial rollout abort {subject} --reason ...`; "
        "or put {target} back.",
    ),
    HoldCode.HISTORY_REWRITTEN: says(
        "the commit that the rollout was made from is no longer in the branch (now at {head})",
        "Find out who rewrote the branch and restore the commit, or end the rollout with "
        "`seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.ENTRY_BAD: says(
        "the matrix marks the entry bad: {why}",
        "Choose another version; if the mark is wrong, remove it with `seatrial matrix unmark ENTRY`.",
    ),
    HoldCode.APPROVAL_PENDING: says(
        "somebody has to approve before {point_text}", "Approve with `seatrial rollout approve {subject} {point}`."
    ),
    HoldCode.OUTSIDE_WINDOW: says(
        "no maintenance window is open: no node starts, and nodes under way finish",
        "It continues when the next window opens; see spec.windows.",
    ),
    HoldCode.WINDOW_CLOSING: says(
        "the maintenance window closes soon, and NVIDIA's controller may take {margin} to start a node: "
        "no other node starts, and nodes under way finish",
        "It continues when the next window opens; see spec.windows.",
    ),
    HoldCode.PLACES_CHANGED: says(
        "{field} now names {asked}, but the rollout began with {began}, and its commits are there",
        "Set it back to what status.campaign.places says; or end the rollout with `seatrial rollout abort {subject}`: "
        "it reverts where it began.",
    ),
    HoldCode.MARKS_PENDING: says("labelling nodes: {count} to go, {node} next", BY_ITSELF),
    HoldCode.POOL_MISSING: says(
        "there is no MachineConfigPool {pool} to pause until the canary has passed",
        "See `kubectl get machineconfigpools`, and correct spec.canary.pausePools.",
    ),
    HoldCode.POOL_RESUMED: says(
        "somebody resumed MachineConfigPool {pool}, so its nodes may change before the canary has passed",
        "It is left as it is. Pause it again if that was a mistake.",
    ),
    HoldCode.POOL_PENDING: says(
        "MachineConfigPool {pool} {state}", "See `kubectl describe machineconfigpool {pool}` if it takes long."
    ),
    HoldCode.POOL_PAUSED: says(
        "MachineConfigPool {pool} is paused{by_text}, and until it is resumed its kubelets get no new certificates",
        "{resume_step}",
    ),
    HoldCode.MERGE_PENDING: says(
        "somebody has to merge our change ({step}): {request}",
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
        "Reopen and merge it if that was a mistake; otherwise end the rollout with "
        "`seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.FORGE_UNREACHABLE: says(
        "the forge does not answer about our change ({step}): {why}",
        "It is retried automatically, and a merge is noticed in Git anyway. If this lasts, check the forge and "
        "the token that the controller was started with (--forge).",
    ),
    HoldCode.RELEASE_BY_HAND: says(
        "{component} is at {found} and should be {version}; nobody deploys it by Git here, and seatrial never runs "
        "helm",
        "Run `{command}`, with your own values file if you keep one. It continues once the release runs; what is on "
        "nodes waits for its visit.",
    ),
    HoldCode.RELEASE_UNCLEAR: says(
        "the chart {chart} is declared in several places: {places}",
        "Remove all but one of them, or publish by Git (spec.publish.via: git).",
    ),
    HoldCode.RELEASE_FAILED: says(
        "OLM could not install {wanted}: {said}",
        "Look at `oc -n {namespace} describe clusterserviceversion {wanted}`, and fix what it says. It continues once "
        "that has Succeeded; `seatrial rollout abort {subject} --reason ...` ends the rollout instead.",
    ),
    HoldCode.RELEASE_STAYS: says(
        "everything else is back, but {component} stays at {version}: OLM goes forward only. Nodes that moved keep "
        "running it, and every other node gets it when its pods restart",
        "If it may stay, `seatrial rollout approve {subject} rollback`. If not, pin the old images of operands in the "
        "ClusterPolicy, or remove {resource} and its ClusterServiceVersion and subscribe again with startingCSV.",
    ),
    HoldCode.PUBLISH_PENDING: says("waiting for {carrier_text} to have {version}", "{publish_step}"),
    HoldCode.SYNC_STOPPED: says(
        "the commit is in Git, but {resource} does not have {version}: {follower} brings nothing into the cluster "
        "because {stop}",
        "{resume}. Until then a revert in Git does not reach the cluster either.",
    ),
    HoldCode.SYNC_FAILED: says(
        "the commit is in Git, but {follower} could not apply it to the cluster: {said}",
        "Fix what it complains about, with another commit if the files are at fault; {mend}.",
    ),
    HoldCode.SYNC_WAITING: says(
        "the commit is in Git, and {follower}, which applies it to the cluster, is itself waiting: {said}",
        "It continues when that is over; check what {follower} waits for.",
    ),
    HoldCode.SYNC_OVERWRITTEN: says(
        "{follower} applied the commit, then {writer} overwrote it with {found}: {resource} does not have {version}",
        "Restore what Git says: {restore}. If the overwrite was intended, `seatrial rollout abort {subject}`.",
    ),
    HoldCode.PREPULLING: says(
        "pulling the new driver's image on {count:node}, {node} first, before touching {count:it|them}", BY_ITSELF
    ),
    HoldCode.IMAGE_NOT_PULLED: says(
        "{image} could not be started on {node}, which keeps its old driver: {why}",
        "Make the image available to the node; we retry, with pauses that grow to two hours. "
        "Or set spec.prepull to false to continue without.",
    ),
    HoldCode.WRITTEN_BY_ANOTHER: says(
        "{resource} should have {version}, but {writer} writes it from a repository and would undo our change",
        "Give the rollout spec.publish.via: git with the file that {writer} brings into the cluster, "
        "or change the version there yourself.",
    ),
    HoldCode.TAKEN_OVER: says(
        "{resource} should have {version}, but {writer} wrote {found} there after the rollout began, "
        "and we do not overwrite that",
        "If that is meant to last, end the rollout with `seatrial rollout abort {subject} --reason ...`; {found} stays "
        "then. To continue, write {version} there again.",
    ),
    HoldCode.BY_HAND_PENDING: says(
        "{component} is upgraded manually, from {before} to {version}, and not there yet on {nodes}{silent_text}",
        "{hand_step}",
    ),
    HoldCode.BY_HAND_BACK: says(
        "{component} has to be put back manually, from {version} to {before}: {nodes}", "{back_step}"
    ),
    HoldCode.NO_WAY_BACK_BY_HAND: says(
        "{component} {version} is on {nodes}, and no way back from it is known",
        "Move on to a version that fixes it, and report it with "
        "`seatrial rollout observed {component} VERSION {names}`; or keep {version} and end the rollout with "
        "`seatrial rollout approve {subject} rollback`.",
    ),
    HoldCode.CANARY_AT_WORK: says(
        "the canary is being upgraded: {nodes}", "See `seatrial why NODE` if it takes longer than usual."
    ),
    HoldCode.CANARY_STUCK: says(
        "the canary cannot start: {nodes}",
        "See `seatrial why NODE`. After driverTimeoutSeconds and validationTimeoutSeconds a fit node takes its place.",
    ),
    HoldCode.CANARY_CLOSED: says(
        "the new driver is validated, and the node stays cordoned until {closed_text}",
        "Nothing to do: it is uncordoned then. See `seatrial status` for what the rollout waits for.",
    ),
    HoldCode.MEASURED_BEFORE: says(
        "measuring the canary and nodes like it before the upgrade, round {number} of {count}: {gates}",
        "Nothing to do: nodes in use are left out, and no gate is waited for beyond its time limit.",
    ),
    HoldCode.GATES_RUNNING: says(
        "waiting for gates: {gates}", "Nothing to do unless it takes longer than usual: {job_step}."
    ),
    HoldCode.GATE_STUCK: says(
        "gate {gate} does not start on {node}: {why} (pod {pod} of Job {job})",
        "`kubectl -n {namespace} describe pod {pod}` says more. Fix that, or the gate's image in the rollout; "
        "without an answer within its time limit the gate is unknown, which is not a pass.",
    ),
    HoldCode.GATE_REFUSED: says(
        "the pod of gate {gate} for {node} is not admitted to {namespace_text}: {why}",
        "For PodSecurity: raise the level of the gates' namespace (`gates.podSecurity` of the chart, the label "
        "`pod-security.kubernetes.io/enforce`), or, where it is `restricted`, give the gate an image that does not run "
        "as root. For a quota or a webhook: allow it there. It is retried until then.",
    ),
    HoldCode.GATE_UNKNOWN: says(
        "gate {gate} could not be measured on {node}{reason_text}; unknown is not a pass",
        "It is asked again automatically, and the time until then is not evidence. Check what answers it: the gate's "
        "Job and its image, or its query.",
    ),
    HoldCode.GATE_UNATTESTED: says(
        "gate {gate} waits for somebody to sign off on {nodes} ({reason}): {asks}",
        "Check it, then answer with `seatrial gates attest {subject} {gate}{whom} --pass --because TEXT`. With --fail "
        "the rollout is undone. Until then no time counts as evidence.",
    ),
    HoldCode.TENANTS_AWAITED: says(
        "gate {gate} waits for tenants' work on {node}: {why}",
        "Let their pods run on {node}: none are scheduled there for a gate. Until they have run long enough, no time "
        "counts as evidence.",
    ),
    HoldCode.TELEMETRY_MISSING: says(
        "the canary bakes, but without telemetry nothing counts as evidence: {why}",
        "Check that its exporter runs and that Prometheus scrapes it (docs/how-to/watch-with-prometheus.md); or start "
        "the controller without --prometheus, and the clock alone counts.",
    ),
    HoldCode.CANARY_IDLE: says(
        "the canary has baked long enough but was not busy enough: {load} of its time, and {asked} is required",
        "Run pods on {nodes}, or require less (spec.bake.minimumLoad).",
    ),
    HoldCode.LOSS_NOT_EXCLUDED: says(
        "a loss of {asked} has to be ruled out before the fleet follows, and is not yet: {why}",
        "It is measured again in every round, and `seatrial bake explain` says how long that takes. If it cannot be "
        "proven, add a gate with `probe: performance` before the rollout begins, require less, or remove "
        "spec.bake.until.",
    ),
    HoldCode.BAKING: says(
        "the canary bakes: healthy for {well} of {asked}, {left} to go{setback_text}",
        "Nothing to do. To call it off: `seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.CANARY_UNWELL: says(
        "canary {node} is no longer healthy: {why}; nothing counts as evidence until it is",
        "{mend}. Unless it recovers in time, the rollout is undone.",
    ),
    HoldCode.WAVE_AT_WORK: says(
        "wave {wave} of {waves} is under way, {left:node} to go",
        "The wave ends when each of its nodes is done, has failed or was left out. `seatrial node get --held` lists "
        "what holds nodes up.",
    ),
    HoldCode.WAVE_BLOCKED: says(
        "no node of wave {wave} of {waves} may start, {left} to go: at most {limit:node}{scope_text} may be "
        "unavailable, and failed nodes use that up: {nodes}",
        "Check each with `seatrial why NODE`, fix it, then `seatrial node retry NODE`; or raise maxUnavailable.",
    ),
    HoldCode.MEMBERS_STUCK: says(
        "members of the wave cannot start: {nodes}",
        "Check each with `seatrial why NODE` and bring it back, or leave it out with `seatrial node skip NODE`. A wave "
        "waits for it as long as its upgrade might have taken (driverTimeoutSeconds and validationTimeoutSeconds), "
        "then continues without it; it follows when it can.",
    ),
    HoldCode.MEMBERS_WITHOUT_GPU: says(
        "{count:member} {count:shows|show} no GPU and {count:gets|get} no driver: {nodes}; no wave waits for "
        "{count:it|them}",
        "Narrow spec.nodeSelector, for example to nvidia.com/gpu.present: true, or leave them out with `seatrial node "
        "skip NODE`. If one has a GPU, check node feature discovery there.",
    ),
    HoldCode.MEMBERS_LEFT: says(
        "{count:member} {count:is|are} left behind with {count:its|their} upgrade unfinished: {nodes}",
        "Bring each back (`seatrial why NODE`): it follows on its own, a failed one after `seatrial node retry NODE`.",
    ),
    HoldCode.POOLS_LEFT: says(
        "pools that own no node now do not have {version}: {pools}; a node that joins one comes up with the old driver",
        "Write {version} into each, in the cluster or in the repository that it comes from.",
    ),
    HoldCode.CLOSED_IN_PAUSE: says(
        "{nodes:node} {nodes:stays|stay} closed in the pause, with {gpus:GPU} idle: that costs {gpus:GPU-hour} an "
        "hour, and more as jobs end",
        "The deadline stands still meanwhile. Continue with `seatrial rollout resume`; an abort gives the nodes back.",
    ),
    HoldCode.WAVE_PAUSE: says("wave {wave} of {waves} is over and is watched before the next one begins", BY_ITSELF),
    HoldCode.NODES_FAILED: says(
        "every wave is over, and {count:node} failed: {nodes}; the rollout is not promoted until that is approved",
        "Fix each (`seatrial why NODE`), then `seatrial node retry NODE`, or leave it out with `seatrial node skip "
        "NODE`: the rollout then continues. To promote without them: `seatrial rollout promote {subject}`. To undo it: "
        "`seatrial rollout abort {subject} --reason ...`.",
    ),
    HoldCode.PROMOTION_PENDING: says(
        "the matrix is being updated: the new versions become production, with tag {tag}", BY_ITSELF
    ),
    HoldCode.ROLLBACK_PENDING: says(
        "it failed, and somebody has to decide whether to undo it: {why}",
        "Undo it with `seatrial rollout approve {subject} rollback`{otherwise_step}.",
    ),
    HoldCode.REVERT_PENDING: says("what we published is being reverted", BY_ITSELF),
    HoldCode.REVERT_CONFLICT: says(
        "our commits cannot be reverted, since others changed the same lines: {why}",
        "Revert them yourself in the repository; it continues once the old version is there again.",
    ),
    HoldCode.NODES_GOING_BACK: says(
        "still on the way back to the driver from before: {nodes}",
        "See `seatrial why NODE` if it takes longer than usual. If a node cannot come back (it died, or its driver "
        "will not start), `seatrial node skip NODE` takes it out; the rollout then ends without it, and says so.",
    ),
    HoldCode.STATES_PENDING: says(
        "clearing the states that NVIDIA's controller wrote, so that it drains no node needlessly: {nodes:node} to go",
        BY_ITSELF,
    ),
}
