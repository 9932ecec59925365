"""Kubernetes, seen and written to.

    api/       the wire: which cluster, as whom, one request, one watch, the lease
    shapes/    objects as values: what we read of them, what we write into them. Text and values, no request
    streams/   kinds kept in view, whichever they are: rows, streams, indices
    reading/   the table of rows, joined into a Snapshot     writing/   acts carried out, and people told
    adoption   taking nodes up that somebody left half-way   pacing     waking NVIDIA's controller

Law of this folder: everything is tried once and reported; whether to try again is decided in core.
"""
