"""One node, one step: the state machine that is compatible with NVIDIA's.

    phases      the table                          step        what is next in each phase
    clearing    who has to leave, and how          closing     who opened it, and that it is closed again
    readiness   what counts as proof               progress    how far a node is on its way to a version
    writing     a step as a value, and how a phase is opened
    fresh       whether the DRA plugin knows the driver that runs; lack: what is missing from a proof
    impact      what each step of a plan does to the workloads of a node
    observed    versions that people moved
    driver_manager/   the old driver off the node, where no controller is at work

Law of this room: a step looks at one node and its orders, never at another node.
"""
