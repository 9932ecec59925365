"""What is seen of a cluster: watched streams, slim items, and the Snapshot they are joined into. No rule in sight."""
