"""DRA kubelet plugins that outlived a driver, wherever it came from: who is stale, and whose plugin is deleted next.

    values      what is seen, how a node stands, what is remembered
    settled     whether a node is through with its driver
    standing    fresh, stale, or why neither can be said yet: from one look
    rerolling   which plugins are deleted now: what standing still, cliques and the target add to it
    ending      when a run has ended
    beside      whether a controller of ours does it
    words       all of it as sentences

Law of this room: it knows no rollout. It deletes plugin pods and nothing else, and none on a node that we visit: there,
the node machine does it. Whether a plugin is fresh is said in one place, core/node/fresh.py.
"""
