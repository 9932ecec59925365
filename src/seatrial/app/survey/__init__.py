"""Use cases that look at a whole cluster once: what runs, what is wrong, and both in a file.

    auditing       which version of what runs where, and what is not as it should be
    diagnosing     why GPUs of a node cannot be used
    reporting      a rollout as it is looked back upon: one document
    snapshotting   the cluster in a file, with nothing in it that may not leave the cluster

Law of this room: a cluster is read, and nothing is concluded here; what is found is a value.
"""
