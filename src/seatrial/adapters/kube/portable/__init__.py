"""A cluster in a file: what is read for it, and a client that reads from it as if it were the cluster.

    kept.py         which kinds, and who reads them: an object is kept with the fields that its readers read
    taking.py       reads a cluster                                  ─▶ Recorded (core/survey/portable/)
    answering.py    Recorded ─▶ answers to a client's requests, so that every reader reads a file as it reads a cluster
    selecting.py    label and field selectors, as an API server applies them

The file itself is adapters/files/snapshot_file.py. Law of this room: no list of fields of its own. What readers read is
what a file has; what may be told of it is decided in core.
"""
