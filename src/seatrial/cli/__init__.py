"""The command line, in folders by noun: matrix, rollout, show, survey, gates, run.

Law of this folder: a command parses and prints; what it is about is imported when it runs, so that help is quick.
"""
