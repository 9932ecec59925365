"""`seatrial driver-manager` in a cluster: one node is looked at and written to, and its pods are asked to leave.

    node     what is seen of the node and its pods, and the writes     running     look, decide, do, wait

Law of this folder: everything is tried once and reported; what is next is decided in core/node/driver_manager.
"""
