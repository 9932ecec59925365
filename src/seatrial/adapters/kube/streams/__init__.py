"""Watched kinds, whichever they are: a row says what is watched, a stream keeps it, an index finds it again.

Law of this folder: nothing here knows a kind by its name. The table of rows is reading/table.py.
"""
