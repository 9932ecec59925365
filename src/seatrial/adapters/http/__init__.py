"""Pages for probes and for Prometheus. Speaking to a cluster is adapters/kube's."""
