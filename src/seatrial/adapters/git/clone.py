"""Our private clone of a remote: kept between calls for speed, never trusted, rebuilt when anything about it is wrong.

    folder/
      lock       held by whoever works in here
      askpass    the script that answers git's questions (credentials.py); it holds no secret
      clone/     the clone; its refs are a copy of the remote's, so nothing of ours is ever lost with it
      clone.new/ a clone being built; it takes the place of the other when it is complete

Git is told by name which repository to use: it would otherwise go up the folders, and find somebody else's.

Tests: tests/adapters/git/test_clone.py
"""

from __future__ import annotations

import contextlib
import fcntl
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from seatrial.adapters.git import answers, credentials, process
from seatrial.adapters.git.errors import GitUnavailable, SetupInvalid
from seatrial.core.base.values import dataclass

T = TypeVar("T")

LOCAL_SECONDS: Final = 60.0
REMOTE_SECONDS: Final = 120.0
"""How long a question to the remote may take; the first clone takes as long as it tells that it goes on."""
PROGRESS_SECONDS: Final = 5.0
"""How often a first clone tells how far it is; one that takes no longer says nothing."""
TURN_SECONDS: Final = 300.0
"""How long one thread waits for another that works in the same clone."""

OURS: Final = "seatrial"
"""The first part of the name of every branch that we propose."""

_BRANCH: Final = re.compile(r"(?!refs/)(?!.*(\.\.|//|/\.|@\{|\.lock(/|$)))[\w][\w./+@#-]*(?<![./])")

_SETTINGS: Final = (
    "user.useConfigOnly=true",  # never a name guessed from the machine
    "core.quotePath=false",
    "log.showSignature=false",
    "rerere.enabled=false",  # a conflict is a person's, also when git remembers an answer
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "push.followTags=false",
    "gc.autoDetach=false",  # nothing may go on in the clone after we have let go of it
    "maintenance.autoDetach=false",
    "http.followRedirects=false",  # a login would go along, to wherever the other side says
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=30",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where the repository is, and who we are there."""

    url: str
    branch: str = "main"
    credentials: Path | None = None
    """A mounted secret: the files username and password, or ssh-privatekey and known_hosts."""
    authority: Path | None = None
    """The file of the authority that its certificate must be signed by, in the place of the machine's own."""


class _Broken(Exception):  # noqa: N818  caught in `within`, never seen outside of this file
    """The clone did not do what a clone does."""


class Clone:
    """A clone of one remote's branch and tags."""

    def __init__(
        self,
        remote: Remote,
        folder: Path,
        *,
        remote_seconds: float = REMOTE_SECONDS,
        on_progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`on_progress` is told now and then how far the first clone is, in the thread that waits for it."""
        credentials.check_url(remote.url)
        if not _BRANCH.fullmatch(remote.branch):
            raise SetupInvalid(f"{remote.branch!r} is not a name of a branch. Write it without refs/heads/.")
        self.remote = remote
        self._folder = folder.absolute()
        self._remote_seconds = remote_seconds
        self._on_progress = on_progress
        self._progress, self._told_at = "", 0.0
        self._turn = threading.Lock()
        self._cleaner = credentials.Cleaner(folder=remote.credentials)

    @property
    def shown_url(self) -> str:
        """The address as it may be shown."""
        return self._cleaner.clean(self.remote.url)

    @property
    def tracking(self) -> str:
        """The ref that holds the remote's branch as of the last fetch."""
        return f"refs/remotes/origin/{self.remote.branch}"

    # ── working in it ────────────────────────────────────────────────────────────────────────────────────────────────

    def within(self, work: Callable[[], T], *, is_fetching: bool = True) -> T:
        """Do something in the clone, after a fetch; in a new clone where this one turns out to be broken."""
        with self._held():
            with contextlib.suppress(_Broken):
                self._make_ready()
                if is_fetching:
                    self._fetch(self._git_dir)
                return work()
            self._rebuild()
            try:
                return work()
            except _Broken as err:
                raise GitUnavailable(
                    f"Git fails even in a fresh clone of {self.shown_url}: {err}. Look at the disk of {self._folder}."
                ) from err

    def fetch(self) -> None:
        """Bring our copy of the remote's refs up to date; only inside of `within`."""
        self._fetch(self._git_dir)

    def git(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> process.Done:
        """Run a command that cannot fail in a sound clone."""
        done = self.attempt(*arguments, stdin=stdin, env=env)
        if not done.is_good:
            raise _Broken(f"git {arguments[0]}: {answers.reason(done.err)}")
        return done

    def attempt(
        self,
        *arguments: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_seconds: float = LOCAL_SECONDS,
    ) -> process.Done:
        """Run a command that may say no."""
        return self._run(
            [f"--git-dir={self._git_dir}", f"--work-tree={self._work_tree}", *arguments],
            stdin=stdin,
            env=env or {},
            timeout_seconds=timeout_seconds,
        )

    def push(self, *arguments: str) -> process.Done:
        """Push; GitError where the remote could not be spoken to, else what it answered."""
        done = self.attempt("push", "--porcelain", *arguments, timeout_seconds=self._remote_seconds)
        if done.is_good or answers.rejection(done.text, done.err) is not None:
            return done
        found = answers.remote_error(done.err, url=self.shown_url, branch=self.remote.branch)
        raise found or GitUnavailable(f"The push to {self.shown_url} failed: {answers.reason(done.err)}.")

    def is_set(self, name: str) -> bool:
        """Whether a setting is on, as git would read it here."""
        return self.attempt("config", "--type=bool", "--get", name).line == "true"

    # ── keeping it ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _work_tree(self) -> Path:
        return self._folder / "clone"

    @property
    def _git_dir(self) -> Path:
        return self._work_tree / ".git"

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        if not self._turn.acquire(timeout=TURN_SECONDS):
            raise GitUnavailable(f"The clone in {self._folder} was in use for {TURN_SECONDS:g} s. Try again.")
        try:
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                lock = (self._folder / "lock").open("a")
            except OSError as err:
                raise SetupInvalid(
                    f"No clone can be kept in {self._folder}: {err.strerror}. Name a folder that we may write to."
                ) from err
            with lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as err:
                    raise GitUnavailable(
                        f"Somebody else works in the clone in {self._folder}. Try again, or name another folder."
                    ) from err
                try:
                    yield
                finally:
                    # Closing is not enough: a program that another thread starts right now has a copy of the file.
                    fcntl.flock(lock, fcntl.LOCK_UN)
        finally:
            self._turn.release()

    def _make_ready(self) -> None:
        if not self._git_dir.is_dir():
            raise _Broken("there is no clone yet")
        # We hold the lock of the folder, so these are left over from a git that was ended.
        for left in (*self._git_dir.glob("*.lock"), *self._git_dir.glob("refs/**/*.lock")):
            left.unlink(missing_ok=True)
        if self.attempt("config", "--get", "remote.origin.url").line != self.remote.url:
            raise _Broken("it is a clone of something else")

    def _rebuild(self) -> None:
        """Build a new clone beside the old one, which stays until the new one is complete."""
        new = self._folder / "clone.new"
        _remove(new)
        try:
            self._must(["init", "--quiet", "--end-of-options", str(new)])
            origin = ("remote", "add", "--end-of-options", "origin", self.remote.url)
            self._must([f"--git-dir={new / '.git'}", *origin])
            self._fetch(new / ".git", is_first=True)
        except _Broken as err:
            raise GitUnavailable(f"No clone of {self.shown_url} could be made in {self._folder}: {err}.") from err
        _remove(self._work_tree)
        try:
            new.rename(self._work_tree)
        except OSError as err:
            raise SetupInvalid(
                f"The old clone in {self._folder} is broken and cannot be removed: {err.strerror}. Remove it yourself."
            ) from err

    def _fetch(self, git_dir: Path, *, is_first: bool = False) -> None:
        branch, self._told_at = self.remote.branch, time.monotonic()
        done = self._run(
            [
                f"--git-dir={git_dir}",
                *("fetch", "--progress" if is_first else "--quiet"),
                *("--prune", "--force", "--no-tags", "--no-write-fetch-head"),
                *("--end-of-options", "origin"),
                f"+refs/heads/{branch}:{self.tracking}",
                f"+refs/heads/{OURS}/*:refs/remotes/origin/{OURS}/*",
                "+refs/tags/*:refs/tags/*",
            ],
            timeout_seconds=self._remote_seconds,
            is_told=is_first,
        )
        if not done.is_good:
            found = answers.remote_error(done.err, url=self.shown_url, branch=branch)
            raise found or _Broken(answers.reason(done.err))

    def _told(self, line: str) -> None:
        progress, at = answers.progress(line), time.monotonic()
        if progress and progress != self._progress and at - self._told_at >= PROGRESS_SECONDS:
            self._progress, self._told_at = progress, at
            self._on_progress(progress)

    def _must(self, arguments: Sequence[str]) -> None:
        done = self._run(arguments)
        if not done.is_good:
            raise _Broken(answers.reason(done.err))

    def _run(
        self,
        arguments: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_seconds: float = LOCAL_SECONDS,
        is_told: bool = False,
    ) -> process.Done:
        """Run git; where it tells how far it is, the time is that of its silence."""
        login = credentials.login(
            self.remote.url, self.remote.credentials, self._folder, authority=self.remote.authority
        )
        settings = [word for setting in (*_SETTINGS, *login.settings) for word in ("-c", setting)]
        words, surroundings = [*settings, *arguments], {**credentials.environment(login), **(env or {})}
        try:
            if is_told:
                done = process.run_told(words, silent_seconds=timeout_seconds, on_line=self._told, env=surroundings)
            else:
                done = process.run(words, timeout_seconds=timeout_seconds, env=surroundings, stdin=stdin)
        except GitUnavailable as err:
            raise GitUnavailable(f"{self.shown_url}: {err}") from err
        return process.Done(code=done.code, out=done.out, err=self._cleaner.clean(done.err))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
