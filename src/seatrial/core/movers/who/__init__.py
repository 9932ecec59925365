"""Who moves nodes, one file each: we (direct), NVIDIA's controller (nvidia), people (by_hand).

Law of this room: each answers every question of a Mover (../view.py), and none knows another; who is chosen says
../mover.py alone. What several need lives beside this room.
"""
