"""Waking NVIDIA's upgrade controller as soon as it has something to see. Beside rollouts, and without one.

Law of this room: it knows no rollout, and writes one label.
"""
