"""Gates for people: asked by hand, listed, and what a rollout's gates have said."""
