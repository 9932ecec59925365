"""Taking the old driver off a node before the new one is loaded, where no upgrade controller is at work.

    settings    what the environment says, as NVIDIA's k8s-driver-manager reads it
    labels      the operands' labels, paused and given back        values      what is seen, and what may be done
    plan        the routes as a table, and the next step           rows        when each line of the table is due
    words       what is said meanwhile
    preflight   what would keep it from working, before anything is written

Law of this room: one step is one write. Whoever is killed behind any of them starts again at the beginning, by what
is seen, and comes to the same end.
"""
