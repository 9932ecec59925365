"""A rollout from its proposal to its end: phases, gates, waves, and the way back.

    course       the table, and what is next as a value     step         what each phase does
    preflight    what has to be so before anything          choosing     which of several rollouts it is
    canary       who goes first                             waves        how many then        stragglers   who cannot
    gating       asking the gates      evidence  what was seen between        baking    how long it has proven itself
    proving      what telemetry and figures say beyond that
    going_back   taken back            leaving   deleted                      outlook   how long it will take yet

Law of this room: a phase is written before anything is done in it.
"""
