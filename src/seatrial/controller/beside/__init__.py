"""Tasks beside the loop, each with a subject of its own.

    watchman     what a monitoring system tells of the canaries and of nodes like them
    pacer        wakes the GPU Operator's own upgrade, where it is asked to
    reroller     restarts DRA plugins that outlived a driver which somebody else brought

Law of this folder: none of them decides, and none of them writes while somebody else leads.
"""
