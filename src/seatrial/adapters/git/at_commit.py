"""The files of one folder at one commit of any repository, fetched into a clone that is thrown away.

Law of this file: what comes back is what the commit has, by Git's own checksums; nothing is checked out, so no link,
filter or hook of somebody else's repository comes in between. Tests: tests/adapters/git/test_at_commit.py
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from seatrial.adapters.git import answers, credentials, process
from seatrial.adapters.git.errors import FileUnusable, GitUnavailable, SetupInvalid
from seatrial.adapters.git.trees import Mode, check_path

LOCAL_SECONDS: Final = 60.0
REMOTE_SECONDS: Final = 300.0
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SETTINGS: Final = (
    "core.quotePath=false",
    "fetch.recurseSubmodules=false",
    "fetch.fsckObjects=true",
    "gc.auto=0",
    "http.followRedirects=false",  # a login would go along, to wherever the other side says
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=30",
)


def files_at(
    url: str,
    commit: str,
    path: str,
    *,
    wanted: Callable[[str], bool],
    bytes_max: int,
    remote_seconds: float = REMOTE_SECONDS,
) -> dict[str, bytes]:
    """The wanted files directly below a folder (`path`; empty is the root), or the one file that `path` names."""
    credentials.check_url(url)
    if not _COMMIT.fullmatch(commit):
        raise SetupInvalid(f"{commit!r} is not a commit. Write its 40 hexadecimal digits: a branch or a tag may move.")
    if path:
        check_path(path)
    with tempfile.TemporaryDirectory(prefix="seatrial-") as folder:
        return _Look(url, commit, Path(folder), remote_seconds).files(path, wanted, bytes_max)


class _Look:
    """One fetch, and what it brought."""

    def __init__(self, url: str, commit: str, folder: Path, remote_seconds: float) -> None:
        self._url, self._commit, self._folder = url, commit, folder
        self._remote_seconds = remote_seconds
        self._cleaner = credentials.Cleaner()

    def files(self, path: str, wanted: Callable[[str], bool], bytes_max: int) -> dict[str, bytes]:
        self._fetch()
        listed = self._listed(f"{path}/" if path else "")
        if not listed and path:  # it may be a file, with its signature beside it
            listed = self._listed(path) + self._listed(f"{path}.sig")
        found: dict[str, bytes] = {}
        for mode, kind, sha, size, name in listed:
            if not wanted(name):
                continue
            if kind != "blob" or mode == Mode.LINK:
                raise FileUnusable(
                    f"{name} at {self._commit[:12]} is not a plain file. Name a folder with files in it."
                )
            if int(size) + sum(map(len, found.values())) > bytes_max:
                raise FileUnusable(f"{self._shown} has more than {bytes_max} bytes of files at {self._commit[:12]}.")
            found[name] = self._git("cat-file", "blob", "--end-of-options", sha).out
        if not found:
            raise FileUnusable(
                f"{self._shown} has no files of facts in {path or 'its root'} at {self._commit[:12]}. "
                "Name the folder with --path."
            )
        return found

    @property
    def _shown(self) -> str:
        return self._cleaner.clean(self._url)

    def _listed(self, path: str) -> list[tuple[str, str, str, str, str]]:
        """Mode, kind, object, size and name of each thing there."""
        where = ["--", path] if path else []
        out = self._git("ls-tree", "-z", "-l", "--full-tree", "--end-of-options", self._commit, *where).out
        rows = []
        for line in out.decode("utf-8", errors="replace").split("\0"):
            if line:
                told, _, name = line.partition("\t")
                mode, kind, sha, size = told.split()
                rows.append((mode, kind, sha, size, name.rpartition("/")[2]))
        return rows

    def _fetch(self) -> None:
        form = ["--object-format=sha256"] if len(self._commit) == 64 else []
        self._must(self._run(["init", "--quiet", "--bare", *form, "--end-of-options", str(self._folder)]))
        alone = self._remote(["--depth=1"], self._commit)
        if not alone.is_good:  # a server may give away nothing but what its branches and tags name
            every = self._remote([], "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
            if not every.is_good:
                raise answers.remote_error(every.err, url=self._shown, branch="") or GitUnavailable(
                    f"{self._shown} could not be fetched: {answers.reason(every.err)}. Try git ls-remote."
                )
        there = ("cat-file", "-e", "--end-of-options", f"{self._commit}^{{commit}}")
        known = self._run([f"--git-dir={self._folder}", *there])
        if not known.is_good:
            raise GitUnavailable(
                f"{self._shown} has no commit {self._commit} on a branch or a tag. Check the commit: git log."
            )

    def _remote(self, how: Sequence[str], *refs: str) -> process.Done:
        words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", *how, "--end-of-options"]
        return self._run(
            [f"--git-dir={self._folder}", *words, self._url, *refs],
            timeout_seconds=self._remote_seconds,
        )

    def _git(self, *arguments: str) -> process.Done:
        done = self._run([f"--git-dir={self._folder}", *arguments])
        self._must(done)
        return done

    def _must(self, done: process.Done) -> None:
        if not done.is_good:
            raise GitUnavailable(f"{self._shown}: git failed: {answers.reason(done.err)}.")

    def _run(self, arguments: Sequence[str], timeout_seconds: float = LOCAL_SECONDS) -> process.Done:
        login = credentials.login(self._url, None, self._folder)
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        done = process.run([*settings, *arguments], timeout_seconds=timeout_seconds, env=credentials.environment(login))
        return process.Done(code=done.code, out=done.out, err=self._cleaner.clean(done.err))
