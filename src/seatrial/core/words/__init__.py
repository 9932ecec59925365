"""The only English of core: what a hold, an act, a commit and a condition say to people.

Law of this room: values in, sentences out; nothing is decided by what a sentence says.
"""
