"""How payloads measure: NVML, CUDA's driver API, clocks, and times that can be repeated.

Law of this room: whoever cannot measure raises Unmeasurable with a sentence that says what is missing.
"""
