"""Broken on purpose, for real: campaigns on the real control plane, while by a seed one thing after another goes wrong.

    table.py ──► drawing.py ──► seeds.py ──┬► way.py      between the controller and the API server
                                           ├► blows.py    the plane, the controller's process, the Git remote
                                           └► judging.py  whether the end is the one without faults
    stage.py, moved.py: where it plays; inside.py: the controller with a clock that can be wrong; flat.py: a long soak

What happens is drawn before anything starts, so that a seed names a story; `make torture` plays them, bench/torture.py
keeps the results. Tests without a cluster: tests/torture/
"""
