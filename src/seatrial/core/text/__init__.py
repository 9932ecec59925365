"""Text, below everything: names in a sentence, and what others wrote made fit to be shown.

Law of this room: text in, text out; it knows nothing of clusters.
"""
