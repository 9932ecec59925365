"""Objects as Kubernetes keeps them, and the values they stand for, both ways. No request is made here."""
