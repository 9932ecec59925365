"""The real Prometheus as a process of ours: Debian's server on a free loopback port, scraping whom a test names.

Its data stay in the folder, so that one that is started again has them; `forget` throws them away, as a pod without a
volume does. Tests: tests/adapters/prometheus/test_watcher.py
"""

import json
import shutil
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import promtool
from seatrial_lab.testbed.plane import processes
from seatrial_lab.testbed.waiting import wait_for

START_SECONDS: Final = 60.0
GRACE_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 10.0
READY: Final = "Server is ready to receive web requests"
"""What it writes into its log, whoever may ask it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Whom it scrapes, and what it adds to their labels."""

    name: str
    targets: tuple[str, ...]
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, kw_only=True)
class Prometheus:
    """A Prometheus, while the context lasts."""

    folder: Path
    jobs: Sequence[Job]
    interval: str = "1s"
    web: Mapping[str, Any] | None = None
    """How it is reached, as its web configuration has it: certificates, and who may ask."""
    _port: int = 0
    _program: processes.Program | None = None
    _log_count: int = field(default=0)

    def __enter__(self) -> Self:
        self._port = processes.free_ports(1)[0]
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"{'https' if self.web else 'http'}://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it on the data that are there; returns when it answers."""
        settings = self.folder / "prometheus.yml"
        settings.write_text(json.dumps(self._settings()), encoding="utf-8")  # JSON is YAML
        command: list[str | Path] = [
            promtool.server(),
            f"--config.file={settings}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
            "--scrape.discovery-reload-interval=100ms",
        ]
        if self.web:
            (self.folder / "web.yml").write_text(json.dumps(self.web), encoding="utf-8")
            command.append(f"--web.config.file={self.folder / 'web.yml'}")
        self._log_count += 1
        self._program = processes.start(f"prometheus-{self._log_count}", command, folder=self.folder, is_leashed=True)
        wait_for(self._is_up, what="Prometheus", timeout_seconds=START_SECONDS, describe=self._last_lines)

    def stop(self) -> None:
        """End it; its data stay."""
        if self._program is not None:
            processes.end([self._program], grace_seconds=GRACE_SECONDS)
        self._program = None

    def forget(self) -> None:
        """Throw away what it has scraped; only while it is stopped."""
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def ask(self, query: str) -> list[Any]:
        """What it answers to an instant query."""
        asked = urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{asked}", timeout=ANSWER_SECONDS) as answer:  # noqa: S310
            found: list[Any] = json.load(answer)["data"]["result"]
        return found

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _settings(self) -> dict[str, Any]:
        jobs = [
            {
                "job_name": job.name,
                "static_configs": [{"targets": list(job.targets), "labels": dict(job.labels)}],
            }
            for job in self.jobs
        ]
        times = {"scrape_interval": self.interval, "scrape_timeout": self.interval}
        return {"global": times, "scrape_configs": jobs}

    def _is_up(self) -> bool:
        if self._program is not None and not processes.is_alive(self._program):
            raise errors.ProcessDied(f"Prometheus ended:\n{self._last_lines()}")
        return self._program is not None and READY in self._program.log.read_text(encoding="utf-8")

    def _last_lines(self) -> str:
        return processes.last_lines(self._program) if self._program is not None else "it was not started"
