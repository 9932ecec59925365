"""SSH's own tools: who signed something."""
