"""Gates that no Job answers: each kind says what is measured of it from what is seen, as a Job's end would.

    attesting     somebody's word
    tenanting     the work of tenants
    expressing    an expression over what the others said

Law of this room: a kind makes a measurement; rounds, tries and limits stay those of every gate.
"""
