"""A report of a rollout: the command, its page, and the picture of time on it."""
