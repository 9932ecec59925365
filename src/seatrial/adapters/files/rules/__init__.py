"""Rules of the user's own, in CEL: read, kept small, and evaluated in this process."""
