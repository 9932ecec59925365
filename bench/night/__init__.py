"""A night with faults drawn by a seed, on a real control plane: the questions of a shift, their answers, and the truth.

Law of this folder: the truth is read from the API server and the repository, and seatrial is only asked.
"""
