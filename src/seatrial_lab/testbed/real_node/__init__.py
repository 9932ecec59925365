"""A real node beside the simulated ones: a real kubelet, containerd and runc in namespaces of their own.

    node.py        starting one, looking at it, breaking it; start here      settings.py   what its programs are told
    network.py     its way to the machine and back                           images.py     what its containers run
    cgroups.py     the one thing that outlives it, and its removal           dressing.py   a fleet's pods, for real
    inside/        plain files that run at its door                          play/         what containers play

Law of this room: nothing of the machine is changed, and nothing is left on it, however a node ends. Whatever could be
left is inside namespaces, which end with their last process (inside/hold.py).
Why it is made so: docs/decisions/0029-a-real-node-in-namespaces.md. Tests: tests/testbed/test_real_node.py
"""
