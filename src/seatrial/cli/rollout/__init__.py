"""Commands that start rollouts, and tell those under way what to do."""
