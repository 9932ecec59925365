"""Random bad weeks on larger worlds, each from one seed: what nodes, people and the API server do, and their judge."""
