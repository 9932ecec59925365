"""A control plane: etcd, API server, controller manager, scheduler, kwok; its credentials, its start and its end."""
