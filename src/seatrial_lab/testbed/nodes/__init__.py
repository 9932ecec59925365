"""Fleets of simulated GPU nodes: their objects, their stages, and everybody who may sit on them."""
