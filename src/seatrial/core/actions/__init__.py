"""Everything seatrial can ever do to a cluster: a closed union of frozen values. Executing them is elsewhere.

An act says what it believed (`expect`, a resourceVersion; or a pod's uid) so that the executor can refuse it when the
world has moved on, and has a deterministic id, so that doing it twice is doing it once and an audit entry finds its
act.

    on_nodes      one node in one attempt: cordon, evict, restart, ask for maintenance; and its record
    on_rollouts   the rollout itself: its record, and our finalizer
    at_home       the home of the matrix: publish, revert, mark as bad, promote
    of_campaigns  what else a campaign does: marks on nodes, probes, pools, NVIDIA's own controller
    action        any of them

Law of this room: each file ends with the union of its acts, so that a new act is one file here, and mypy names every
other place that has to know it.
"""
