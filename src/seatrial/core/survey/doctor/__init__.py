"""The doctor: which known failures a cluster has, on which nodes, by what they show of themselves.

    parts.py        which part of the GPU stack a pod or a container is
    objects.py      what is kept of the objects and logs that are read: the only input
    logs.py         whose logs are worth reading
    signs.py        what objects and logs say, one sign each: texts and reasons, as they were written
    looks.py        what nobody wrote down: GPUs that are not offered, labels that were left, a kubelet that is silent
    failures.py     a failure: what it means, what it blocks, what to do, and the patterns it is known by
    diagnosing.py   patterns on signs: failures, their nodes, and which of them explains which

Law of this room: a failure is reported for what was seen, never for what is missing from sight; failures are data with
a source each, and a person can add one. Whoever is healthy now has no failure, whatever was written about it before.
"""
