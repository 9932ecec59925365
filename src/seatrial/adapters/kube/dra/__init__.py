"""DRA plugins in a cluster: what is read of them, and the one request that restarts one.

    seeing      nodes, drivers, plugins and their DaemonSets, watched in the namespaces that are named
    rerolling   look, delete what core says, look again

Law of this room: what is stale and what goes is decided in core/movers/dra; nothing is written but deletions of plugin
pods and one ConfigMap.
"""
