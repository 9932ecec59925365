"""The forge's adapter: against stands that answer in each forge's shape; against the real Gitea in tests/forge."""
