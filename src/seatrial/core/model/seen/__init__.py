"""What is seen: facts (observed), records (written by us), and how fresh both are.

    the cluster ──watch──▶ NodeFacts    cordoned? driver revision running? GPU pods present?     facts
                           NodeRecord   phase, attempt, since when, whose cordon                  records
                           RolloutRecord  the ledger: who was admitted to disruption              records

    pods         the pods on a node, and those that bring, prove and share its driver
    nodes        one node: its facts and its record
    rollouts     the rollout's record: its ledger, and what its status tells
    requests     a pull request for a step of ours, as its forge shows it
    operators    NVIDIA's GPU Operator, and the pools of OpenShift
    snapshot     all of it at once, with how fresh it is

A record is the little that cannot be observed. A label is a bookmark for people, not the truth: when facts and records
disagree, facts win, and the disagreement is a Hold or a repair. Several streams feed one Snapshot, each with its own
delay, so every reader must be safe under any mix of ages.

Law of this room: values only, hardly any behaviour.
"""
