"""decide, and its parts: why everything stops, whose turn it is, what is reused, what the status says of the whole.

decide.py is what a newcomer reads. Each part answers one question for it, and none asks another room to decide again.
measures.py stands above decide: it counts the results.
"""
