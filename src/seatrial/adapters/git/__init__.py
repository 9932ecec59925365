"""Git by its own command line: hooks, signing and credential helpers then work as the user set them up."""
