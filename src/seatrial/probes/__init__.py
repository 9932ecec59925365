"""Payloads: programs that run on a node, look at its GPUs and say what they measured.

    payloads/    what is looked at, one file each; PAYLOADS in catalogue.py names them all
    measuring/   how: the GPUs as NVML sees them, CUDA without a framework, times that can be repeated
    report.py    what comes of it: measurements, and what could not be measured and why

Law of this room: a payload measures. What must hold on any machine (CUDA starts, an answer is right) it says itself;
whether a figure is good enough is core's to judge. What cannot be measured is unknown, with the reason, and no pass. It
runs in images of other people, so it needs the standard library; NVML and PyTorch only where they are used.
"""
