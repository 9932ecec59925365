"""seatrial upgrades the NVIDIA stack of a Kubernetes GPU cluster, one careful step at a time."""

__version__ = "0.1.0"
