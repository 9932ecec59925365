"""Completion for shells and kubectl: what a word can go on with, asked of the parsers themselves.

Law of this folder: a new command needs nothing here, and nothing is imported that a person who pressed Tab waits for.
"""
