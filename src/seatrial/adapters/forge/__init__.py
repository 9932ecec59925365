"""Speaks to the forge a repository lives on: Gitea (and Forgejo), GitHub, GitLab. Pull requests and statuses only."""
