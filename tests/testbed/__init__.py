"""The testbed itself: what it starts, plays and breaks."""
