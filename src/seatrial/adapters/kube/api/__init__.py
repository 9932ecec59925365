"""The wire to one cluster: typed answers, typed refusals, nothing decided, and nothing known of GPUs."""
