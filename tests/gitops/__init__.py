"""What brings commits into the cluster: the stand-in in `make test`, the real engines in `make gitops`."""
