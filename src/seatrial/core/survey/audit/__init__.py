"""The audit: which version of every component runs on every node, where that was read, and what is wrong.

    objects.py       what is kept of them: the only input
    readings.py      Seen, Absent or NotObservable: what is known of one component
    images.py        versions from image references, tags and digests
    of_nodes.py      what nodes tell of themselves
    of_operands.py   what the pods on a node bring
    of_operators.py  what is there once for the whole cluster
    observing.py     all of it together, node by node
    findings.py      the kinds of findings, and their weight
    comparing.py     with an entry of a matrix; without one, nodes of one kind with each other
    judging.py       the rules of compat, on what was observed
    conditions.py    what is odd without comparing: labels, cordons, upgrades half-way
    settings.py      what will go wrong by itself: pools, DaemonSets, channels
    telling.py       what could not be observed, and what would show it
    drafting.py      the matrix of what runs
    auditing.py      everything found, in its order, and one line per component

Law of this room: objects in, findings out. What was not seen is NotObservable and names the right or the object that
would show it; it is never a pass, and nothing is taken for absent unless the list that would have it was read.
"""
