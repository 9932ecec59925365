"""Pages for probes and for Prometheus, webhooks, and registries that are asked for an image. Speaking to a cluster is
adapters/kube's.
"""
