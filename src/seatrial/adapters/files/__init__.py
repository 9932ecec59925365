"""Files on disk: the version matrix, the knowledge base, rules of one's own, and what is published in manifests.

Law of this folder: text becomes values and values become text; an edit touches only its own lines.
"""
