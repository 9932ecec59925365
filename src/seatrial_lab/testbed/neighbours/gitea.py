"""A real forge: Gitea on a free loopback port, over TLS where it has a certificate, asked through its API alone.

Built from its released module (building/go/gitea). Its pages need a front end that is not part of the module, so none
are served that a person would want to look at; templates and texts come from the module cache. Everything it keeps is
in one folder: a SQLite database and the repositories. Three accounts, each with a token of its own:

    captain    owns the repository, and may do everything
    robot      us: may push branches and tags, and not to a protected branch
    ada        a person: reviews and merges

Tests: tests/forge/
"""

import json
import os
import ssl
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build, toolchain
from seatrial_lab.testbed.plane import processes
from seatrial_lab.testbed.plane.certificates import Pair
from seatrial_lab.testbed.waiting import wait_for

START_SECONDS: Final = 60.0
GRACE_SECONDS: Final = 5.0
CAPTAIN: Final = "captain"
ROBOT: Final = "robot"
ADA: Final = "ada"
PASSWORD: Final = "of-this-server-alone"  # noqa: S105

_SETTINGS: Final = """\
APP_NAME = testbed
RUN_USER = {user}
RUN_MODE = prod
WORK_PATH = {folder}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true

[server]
PROTOCOL = {scheme}
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = {url}/
CERT_FILE = {certificate}
KEY_FILE = {key}
STATIC_ROOT_PATH = {module}
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = false

[database]
DB_TYPE = sqlite3
PATH = {folder}/gitea.db

[repository]
ROOT = {folder}/repositories

[security]
INSTALL_LOCK = true
PASSWORD_HASH_ALGO = pbkdf2_v1
MIN_PASSWORD_LENGTH = 6

[service]
DISABLE_REGISTRATION = true

[indexer]
ISSUE_INDEXER_TYPE = db

[queue]
TYPE = channel

[actions]
ENABLED = false

[mailer]
ENABLED = false

[cron]
ENABLED = false

[log]
MODE = console
LEVEL = Warn
"""


@dataclass(slots=True, kw_only=True)
class Gitea:
    """A forge, while the context lasts."""

    folder: Path
    pair: Pair | None = None
    """Its certificate; without one it speaks plain HTTP."""
    authority: Path | None = None
    """Who has signed that, for whoever asks it from here."""
    tokens: dict[str, str] = field(default_factory=dict)
    _port: int = 0
    _program: processes.Program | None = None

    def __enter__(self) -> Self:
        self._port = processes.free_ports(1)[0]
        self.folder.mkdir(parents=True, exist_ok=True)
        module = toolchain.module_folder(build.GITEA.folder, build.GITEA.module)
        user = os.environ.get("USER") or subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        text = _SETTINGS.format(
            user=user,
            folder=self.folder,
            module=module,
            port=self._port,
            url=self.url,
            scheme=self._scheme,
            certificate=self.pair.certificate if self.pair else "",
            key=self.pair.key if self.pair else "",
        )
        self._settings.write_text(text, encoding="utf-8")
        self._admin("migrate")
        for name in (CAPTAIN, ROBOT, ADA):
            is_admin = ("--admin",) if name == CAPTAIN else ()
            who = ("--username", name, "--email", f"{name}@example.test", "--password", PASSWORD)
            self._admin("admin", "user", "create", *who, "--must-change-password=false", *is_admin)
            made = ("--username", name, "--token-name", "tests", "--scopes", "all", "--raw")
            self.tokens[name] = self._admin("admin", "user", "generate-access-token", *made).split()[-1]
        command: list[str | Path] = [build.gitea(), "web", "--config", self._settings]
        self._program = processes.start(
            "gitea", command, folder=self.folder, is_leashed=True, extra_env=self._environment
        )
        wait_for(self._is_up, what="Gitea's API", timeout_seconds=START_SECONDS, describe=self._last_lines)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._program is not None:
            processes.end([self._program], grace_seconds=GRACE_SECONDS)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"{self._scheme}://127.0.0.1:{self._port}"

    @property
    def _scheme(self) -> str:
        return "http" if self.pair is None else "https"

    def bare(self, name: str) -> Path:
        """Where a repository lies on disk, for those who only look."""
        return self.folder / "repositories" / CAPTAIN / f"{name}.git"

    def repository(self, name: str, *, checks: tuple[str, ...] = ()) -> str:
        """Make a repository with a first commit on main, which the robot may not push to; its address is returned.

        Nothing is merged without a review, nor without these checks.
        """
        self.call("POST", "/user/repos", {"name": name, "auto_init": True, "default_branch": "main"})
        for who, right in ((ROBOT, "write"), (ADA, "write")):
            self.call("PUT", f"/repos/{CAPTAIN}/{name}/collaborators/{who}", {"permission": right})
        rule = {
            "rule_name": "main",
            "enable_push": True,
            "enable_push_whitelist": True,
            "push_whitelist_usernames": [CAPTAIN],
            "required_approvals": 1,
            "enable_status_check": bool(checks),
            "status_check_contexts": list(checks),
        }
        self.call("POST", f"/repos/{CAPTAIN}/{name}/branch_protections", rule)
        return f"{self.url}/{CAPTAIN}/{name}.git"

    def call(self, method: str, path: str, body: Any = None, *, who: str = CAPTAIN) -> Any:
        """Ask the API as somebody; what is refused is an error that says why."""
        request = urllib.request.Request(  # noqa: S310  our own server, on this machine
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {self.tokens[who]}", "Content-Type": "application/json"},
        )
        try:
            with self._ask(request, START_SECONDS) as answer:
                text = answer.read()
        except urllib.error.HTTPError as err:
            raise errors.TestbedFailure(f"Gitea refuses {method} {path}: {err.code} {err.read()[:500]!r}") from err
        return json.loads(text) if text else None

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _settings(self) -> Path:
        return self.folder / "app.ini"

    @property
    def _environment(self) -> dict[str, str]:
        return {"GITEA_WORK_DIR": str(self.folder), "HOME": str(self.folder)}

    def _admin(self, *arguments: str) -> str:
        done = subprocess.run(
            [build.gitea(), *arguments, "--config", self._settings],
            env={**os.environ, **self._environment},
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise errors.TestbedFailure(f"gitea {' '.join(arguments[:3])} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def _ask(self, what: str | urllib.request.Request, timeout_seconds: float) -> Any:
        trusted = ssl.create_default_context(cafile=self.authority) if self.authority is not None else None
        return urllib.request.urlopen(what, timeout=timeout_seconds, context=trusted)  # noqa: S310

    def _is_up(self) -> bool:
        if self._program is not None and not processes.is_alive(self._program):
            raise errors.ProcessDied(f"Gitea ended:\n{self._last_lines()}")
        try:
            with self._ask(f"{self.url}/api/v1/version", 5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def _last_lines(self) -> str:
        return processes.last_lines(self._program) if self._program is not None else "it was not started"
