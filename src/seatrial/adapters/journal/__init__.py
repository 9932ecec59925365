"""The journal: what was seen, decided and done, one JSON object a line.

Law of this folder: it is for people and for replays; nothing is ever decided from it.
"""
