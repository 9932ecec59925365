"""The live loop: observe, recall, decide, check, journal, execute, and wait.

Law of this folder: it knows ports, not adapters, and nothing of what a decision means.
"""
