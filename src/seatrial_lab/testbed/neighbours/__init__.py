"""Who else acts on our nodes: the GPU Operator and its parts, a maintenance operator, a GitOps engine, a Git server."""
