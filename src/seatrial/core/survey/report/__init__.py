"""What a rollout was, when it is looked back upon: how long each phase took, and each node, and what was waited for.

    stretches.py   phases, waves and nodes as stretches of time, and where a closer look is worth it
    recorded.py    the same and more, of every node, from the passes that a controller wrote down

Law of this room: a stretch has a beginning that somebody wrote down. What nobody wrote down is not there.
"""
