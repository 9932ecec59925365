"""Rules of the user's own, in CEL: read and told here, worked out in a process of their own, under a budget."""
