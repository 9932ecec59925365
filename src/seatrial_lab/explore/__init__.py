"""Every reachable state of small worlds, with a crash after every write and old views in between.

Law of this folder: time stands still, so that no deadline saves us.
"""
