"""Real parts on this machine: a control plane, simulated GPU nodes, NVIDIA's own software beside them.

Start with lifecycle.py (for people) or control_plane.py (for tests); fleet.py makes GPU nodes.
"""
