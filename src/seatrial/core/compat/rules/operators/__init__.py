"""What the documents of the two operators say: where they run, what they ship, with which systems and runtimes.

Law of this folder: a document speaks of one line or release; what it does not name is not right by default.
"""
