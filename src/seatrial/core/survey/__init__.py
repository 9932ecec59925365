"""What is found on a cluster that others have worked on: which versions run where, and what was left half-way.

    sources.py   the kinds of objects that are read, and the right that each needs
    adoption/    an upgrade that somebody left half-done, node by node: taken up, or left alone
    audit/       every component of every node, where it was read, and what is wrong
    doctor/      why a node's GPUs cannot be used: known failures, by what objects and logs show of them
    report/      a rollout as it is looked back upon: what took how long, and what was waited for

Law of this room: nothing is guessed; what cannot be told is left as it is, and named.
"""
