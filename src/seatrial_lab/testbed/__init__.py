"""Real parts on this machine: a control plane, simulated GPU nodes, NVIDIA's own software beside them.

    building/    programs built from source, once per machine    plane/        etcd, API server and what belongs to them
    nodes/       fleets of simulated GPU nodes and their users   neighbours/   who else acts on them
    controller_process, lives, history, record, waiting          for tests: a controller, its lives, what was seen

Start with plane/lifecycle.py (for people) or plane/control_plane.py (for tests); nodes/fleet.py makes GPU nodes.
"""
