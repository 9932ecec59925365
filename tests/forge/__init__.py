"""Beside a real Gitea: `make forge`. Not part of `make test`, since Gitea takes minutes to build the first time."""
