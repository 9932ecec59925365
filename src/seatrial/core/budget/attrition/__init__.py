"""By attrition: nodes are taken when their jobs end. What an upgrade costs is GPU-hours, not hours.

    values      nodes, jobs and what is lost           ends        how long a job may still run, and who says so
    costs       what waiting and evicting cost         groups      nodes that one job holds are taken together
    closing     whom to close                          returning   whom to give back
    evicting    whom to evict, and when                urgency     how willing, as the deadline comes nearer
    replicas    services, as their budgets allow
    turn        the rules in their order               clock       the time until the deadline
    terms       what a pass goes by                    seeing      what the rules look at, from what is seen
    booking     the ledger: closed alone, or taken     account     what it has cost so far, by cause

Law of this room: a guess costs time, never a promise; every act has a reason with both costs in it.
"""
