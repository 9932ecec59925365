"""Who may start, who goes first, and what it costs.

    capacity    limits, the ledger, admission      units     together, or not at all
    order       who is asked first                 losses    GPU-hours spent
    idle        GPUs that may stand idle           attrition nodes are taken when their jobs end

Law of this room: budgets are sets of names, never sums of counts.
"""
