"""What Git can answer besides yes. Each says what the caller may do with it; none of them holds a secret.

    GitError
    ├── GitUnavailable     nobody answered, or not in time: nothing is known, ask again later
    ├── GitRefused         the remote, a hook or a key said no: a person must act
    ├── Stale              somebody else pushed in between: look again, then decide again
    ├── NothingToChange    the files already say it
    ├── RevertConflict     the commits cannot be undone by a machine; it brings the commands for a person
    ├── FileUnusable       the file cannot be read or edited: missing, outside, a link, a submodule, no text
    ├── Barred             the address is not one that we were told to speak to: nothing is sent there
    └── SetupInvalid       the address, the secret, the certificate, a name or the identity cannot be used

That history was rewritten is no error: it is a fact of what was seen (repository.Look).
"""

from __future__ import annotations

from collections.abc import Sequence

from seatrial.core.errors import SeatrialError


class GitError(SeatrialError):
    """Anything that went wrong between us and a repository."""


class GitUnavailable(GitError):  # noqa: N818 — says what is, like the other errors of the outside world
    """Git cannot answer: no repository, no such revision, no Git, or a remote that is down or too slow."""


class GitRefused(GitError):  # noqa: N818
    """Somebody with a say in it said no: the login, a protected branch, a hook, a signing key."""


class Stale(GitError):  # noqa: N818
    """The remote's branch moved between our look and our push; nothing was written."""


class NothingToChange(GitError):  # noqa: N818
    """The change would change nothing; nothing was written."""


class FileUnusable(GitError):  # noqa: N818
    """A file that cannot be read as text, or must not be edited."""


class Barred(GitError):  # noqa: N818
    """An address that nobody named when we were started; who wrote the rollout does not decide where we log in."""


class SetupInvalid(GitError):  # noqa: N818
    """Something that we were given to work with cannot be used."""


class RevertConflict(GitError):  # noqa: N818
    """Later changes touch the same lines; `commands` is what a person types to undo the commits anyway."""

    def __init__(self, message: str, *, files: Sequence[str], commands: Sequence[str]) -> None:
        super().__init__(message)
        self.files = tuple(files)
        self.commands = tuple(commands)
