"""The laboratory: what proves seatrial, and never ships with it.

    testbed/     a real control plane on this machine, with simulated GPU nodes and NVIDIA's own software beside it
    explore/     every reachable state of small worlds         schedules/   random bad weeks on larger ones
    image/       the container image of the product            command      `seatrial testbed`
    played_kernel    a host and its kernel for `seatrial driver-manager`

Law of this package: the product never imports it.
"""
