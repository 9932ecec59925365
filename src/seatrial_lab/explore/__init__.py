"""Every reachable state of small worlds, with a crash after every write and old views in between."""
