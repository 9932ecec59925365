"""By which key a commit or a tag is signed: where this machine signs, what another key signed is not ours.

Which keys are believed is set up elsewhere or not at all, so keys are compared: that of what is looked at, with that
of what is signed here now. Tests: tests/adapters/git/test_proposals.py, test_tags.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from seatrial.adapters.git.clone import Clone

_SSH: Final = re.compile(r'Good "git" signature with \S+ key (\S+)')
_GPG: Final = re.compile(r"\[GNUPG:\] VALIDSIG (\S+)( .*)?")
_GPG_GOOD: Final = "[GNUPG:] GOODSIG "
_NO_SIGNERS: Final = "gpg.ssh.allowedSignersFile=/dev/null"
"""Without such a file git checks no SSH signature; with an empty one it says which key a good one is by."""


def signs_commits(clone: Clone) -> bool:
    """Whether commits are signed on this machine."""
    return clone.is_set("commit.gpgSign")


def signs_tags(clone: Clone) -> bool:
    """Whether the tags that we make are signed on this machine."""
    return clone.is_set("tag.gpgSign") or clone.is_set("tag.forceSignAnnotated")


def key_of(clone: Clone, kind: Literal["commit", "tag"], name: str) -> str:
    """The key that signed it; empty where nothing did, or the signature is wrong."""
    # The exit code says whether the key is believed, which is not asked.
    lines = clone.attempt("-c", _NO_SIGNERS, f"verify-{kind}", "--raw", "--end-of-options", name).err.splitlines()
    by_ssh = (found[1] for each in lines if (found := _SSH.fullmatch(each)))
    by_gpg = (found[1] for each in lines if (found := _GPG.fullmatch(each)))
    is_good = any(each.startswith(_GPG_GOOD) for each in lines)
    return next(by_ssh, "") or (next(by_gpg, "") if is_good else "")


def own_key(clone: Clone, tree: str, identity: Mapping[str, str]) -> str:
    """The key that signs here now, by a commit that is made for this and goes nowhere; empty where none can be."""
    made = clone.attempt("commit-tree", "-S", "-m", "Which key signs here", tree, env=identity)
    return key_of(clone, "commit", made.line) if made.is_good else ""
