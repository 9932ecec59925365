"""The controller: one process that leads, looks, decides and acts until it is told to stop.

Law of this folder: it introduces adapters to the loop, and decides nothing.
"""
