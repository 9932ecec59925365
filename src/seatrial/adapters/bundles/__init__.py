"""Bundles on disk: their YAML, the charts that are copied into them, and folders written as a whole or not at all.

Law of this folder: what is in a bundle is decided in core; the same files give the same bytes.
"""
