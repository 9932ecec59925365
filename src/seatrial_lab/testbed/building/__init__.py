"""Programs built from source, once per machine, and kept in a cache by what they were built from."""
