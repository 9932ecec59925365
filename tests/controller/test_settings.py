"""Every word of the command line reaches the settings, and every setting the part of the controller that goes by it.

A setting that is dropped on its way changes nothing that anybody would notice, until it is needed.
"""

from __future__ import annotations

import inspect
from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.reading.gates.probes import Level
from seatrial.adapters.prometheus.places import Place
from seatrial.cli import main as program
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.run import controller as command
from seatrial.controller import health, leading, main
from seatrial.controller.main import Settings
from seatrial.sim.monitoring import Monitoring
from seatrial_lab.testbed.plane.certificates import Authority
from tests.adapters.kube import objects
from tests.controller.test_whole import Stage, server, stage

__all__ = ["server", "stage"]

# ── from the command line to the settings ────────────────────────────────────────────────────────────────────────────

KUBECONFIG = (
    "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}, "
    "{name: other, context: {cluster: b, user: a}}], clusters: [{name: a, cluster: {server: 'https://one.example'}}, "
    "{name: b, cluster: {server: 'https://two.example'}}], users: [{name: a, user: {}}]}"
)
SAID: dict[str, tuple[str, str, str]] = {
    "--kubeconfig": ("{folder}/other", "three.example", "config"),
    "--context": ("other", "two.example", "config"),
    "--namespace": ("operators-here", "operators-here", "namespace"),
    "--rollout": ("spring", "spring", "rollout"),
    "--journal": ("{folder}/journal", "/journal", "journal"),
    "--metrics-bind-address": (":9999", ":9999", "pages"),
    "--lease-namespace": ("leases-here", "leases-here", "lease_namespace"),
    "--lease-seconds": ("17", "17", "lease_seconds"),
    "--probes-image": ("example.com/probes:1", "example.com/probes:1", "suite_image"),
    "--gates-namespace": ("gates-here", "gates-here", "gates_namespace"),
    "--gates-level": ("restricted", "restricted", "gates_level"),
    "--gates-limit": ("memory=128Gi", "128Gi", "gate_limits"),
    "--gate-image-allow": ("registry.example.com/gates/", "registry.example.com/gates/", "gate_images"),
    "--webhook-allow": ("https://hooks.example.com:8443", "'hooks.example.com', 8443", "webhooks"),
    "--dra-namespace": ("dra-here", "dra-here", "dra_namespaces"),
    "--dra-reroll": ("rerolls-here", "rerolls-here", "dra_namespaces reroll_namespaces"),
    "--kueue": ("", "True", "has_kueue"),
    "--audit-every": ("15m", "900", "audit_seconds"),
    "--report-url": ("https://reports.example.com/{{rollout}}", "https://reports.example.com/", "report_url"),
    "--git-credentials": ("https://git.example.com/gpu={folder}/login", "/login", "git"),
    "--forge": ("gitea:https://git.example.com/gpu={folder}/forge", "/forge", "git"),
    "--git-folder": ("{folder}/clones", "/clones", "git"),
    "--git-allow": ("https://git.example.com/gpu", "git.example.com", "git"),
    "--git-authority": ("https://git.example.com={folder}/ca.crt", "/ca.crt", "git"),
    "--git-look-seconds": ("31", "31", "git"),
    "--prometheus": ("https://metrics.example.com", "https://metrics.example.com", "prometheus watcher"),
    "--prometheus-secret": ("{folder}/login", "/login", "prometheus watcher"),
    "--prometheus-authority": ("{folder}/ca.crt", "/ca.crt", "prometheus watcher"),
    "--prometheus-matchers": ('job="dcgm"', "dcgm", "prometheus watcher"),
    "--prometheus-node-label": ("node_name", "node_name", "watcher"),
    "--prometheus-scrape-seconds": ("32", "32", "watcher"),
    "--prometheus-look-seconds": ("61", "61", "watch_seconds"),
}
"""What is said with each option, how it shows, and the settings that differ for it."""
BESIDE = (
    "--prometheus-secret",
    "--prometheus-authority",
    "--prometheus-matchers",
    "--prometheus-node-label",
    "--prometheus-scrape-seconds",
)
"""Options that mean something only where a Prometheus is named."""
UNSAID = {"user_agent", "is_uninstalling", "patience_seconds"}
"""Settings that no option of this command has."""
ELSEWHERE = {"--help", "--once", "--forever", "--git-loopback-http"}
"""The way it runs, and what only other options' addresses are held to."""


def settings_by(monkeypatch: pytest.MonkeyPatch, *said: str) -> Settings:
    """What the controller would go by."""
    found: list[Settings] = []

    async def note(settings: Settings, _log: object) -> None:
        found.append(settings)

    monkeypatch.setattr(main, "control", note)
    assert program.main(["controller", *said]) == ExitCode.OK
    return found[0]


def shown(value: object) -> str:
    """A value to compare: what it says of itself, or what it holds."""
    if type(value).__repr__ is not object.__repr__:
        return repr(value)
    return f"{type(value).__name__} {[(name, shown(each)) for name, each in sorted(vars(value).items())]}"


@pytest.mark.parametrize("option", SAID)
def test_what_is_said_on_the_command_line_is_in_the_settings_and_nothing_else_differs(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG, encoding="utf-8")
    (tmp_path / "other").write_text(KUBECONFIG.replace("one.example", "three.example"), encoding="utf-8")
    (tmp_path / "ca.crt").write_bytes(Authority.make("vouches").pem)
    said, seen, differing = SAID[option]
    base = ["--forever", "--kubeconfig", str(tmp_path / "kubeconfig")]
    base += ["--prometheus", "https://metrics.example.com"] if option in BESIDE else []
    words = [said.format(folder=tmp_path)] if said else []
    without, with_it = settings_by(monkeypatch, *base), settings_by(monkeypatch, *base, option, *words)
    names = [each.name for each in fields(Settings)]
    found = [name for name in names if shown(getattr(without, name)) != shown(getattr(with_it, name))]
    assert sorted(found) == sorted(differing.split())
    for name in found:
        assert seen in shown(getattr(with_it, name))


def test_every_option_is_looked_at_and_every_setting_has_one() -> None:
    parser = ArgumentParser()
    command.add_arguments(parser)
    known = {each.option_strings[-1] for each in parser._actions}
    assert known == {*SAID, *ELSEWHERE}
    assert {name for _, _, names in SAID.values() for name in names.split()} | UNSAID | {"once"} == {
        each.name for each in fields(Settings)
    }


# ── from the settings to whom they concern ───────────────────────────────────────────────────────────────────────────

CONSUMERS = {
    "config": "Client.config candidate.config",
    "user_agent": "Client.user_agent candidate.user_agent",
    "namespace": "KubeObserver.namespace Access.namespace Reroller.namespace Auditor.namespace",
    "rollout": "KubeObserver.rollout",
    "lease_namespace": "candidate.namespace",
    "gates_namespace": "KubeObserver.home Access.home JobMeasurer.home",
    "gates_level": "JobMeasurer.level",
    "gate_images": "JobMeasurer.images",
    "gate_limits": "JobMeasurer.limits",
    "lease_seconds": "candidate.seconds timing_of.seconds",
    "journal": "JsonlJournal.path",
    "once": "run_forever",
    "is_uninstalling": "KubeObserver.is_uninstalling Teller.is_uninstalling",
    "suite_image": "KubeObserver.suite_image JobMeasurer.images candidate.notes",
    "report_url": "KubeObserver.report_url",
    "audit_seconds": "Auditor.every_seconds",
    "dra_namespaces": "KubeObserver.dra_namespaces candidate.notes",
    "reroll_namespaces": "Reroller.namespaces candidate.notes",
    "has_kueue": "KubeObserver.has_kueue Resumer",
    "git": "Keeper.settings",
    "watcher": "Watchman.watcher",
    "watch_seconds": "Watchman.look_seconds",
    "prometheus": "PrometheusMeasurer.place",
    "webhooks": "Webhooks.origins",
    "patience_seconds": "lead.patience_seconds",
    "pages": "serve.bind",
}
"""Who goes by each setting, and under which name; a name alone is one who is there because of it."""


class Heard(dict[str, list[dict[str, Any]]]):
    """Who was called, and with what; every call goes on to where it went before."""

    def listen(self, monkeypatch: pytest.MonkeyPatch, place: object, name: str) -> None:
        real = getattr(place, name)
        said = inspect.signature(real)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.setdefault(name, []).append(dict(said.bind(*args, **kwargs).arguments))
            return real(*args, **kwargs)

        monkeypatch.setattr(place, name, call)


def is_in(value: object, argument: object) -> bool:
    """Whether somebody was given a value, or all words of it among others."""
    parts = [value] if isinstance(value, str) else value if isinstance(value, tuple) else []
    words = [word for part in parts for word in (part if isinstance(part, tuple) else (part,))]
    return argument == value or (bool(words) and all(word in shown(argument) for word in words))


async def test_every_setting_reaches_those_who_go_by_it(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    for name in {each.partition(".")[0] for names in CONSUMERS.values() for each in names.split()}:
        heard.listen(monkeypatch, next(each for each in (leading, health, main) if name in vars(each)), name)
    settings: dict[str, Any] = {
        "user_agent": "seatrial/settings",
        "namespace": objects.NAMESPACE,
        "rollout": "spring",
        "lease_namespace": "seatrial",
        "gates_namespace": "gates-here",
        "gates_level": Level.RESTRICTED,
        "gate_images": ("registry.example.com/gates/",),
        "gate_limits": (("memory", "128Gi"),),
        "lease_seconds": 17,
        "journal": stage.folder / "journal",
        "once": False,
        "is_uninstalling": True,  # and so it ends by itself
        "suite_image": "example.com/probes:1",
        "report_url": "https://reports.example.com/{rollout}",
        "audit_seconds": 901.0,
        "dra_namespaces": ("dra-here",),
        "reroll_namespaces": ("rerolls-here",),
        "has_kueue": True,
        "watcher": Monitoring(),
        "watch_seconds": 61.0,
        "prometheus": Place.read("https://metrics.example.com"),
        "webhooks": frozenset({("https", "hooks.example.com", 8443)}),
        "patience_seconds": 19.5,
        "pages": "127.0.0.1:0",
    }
    assert {*settings, "config", "git"} == {*CONSUMERS} == {each.name for each in fields(Settings)}
    assert await stage.run(**settings) is not None
    given = stage.settings(**settings)
    for name, consumers in CONSUMERS.items():
        for consumer, _, parameter in (each.partition(".") for each in consumers.split()):
            calls = heard.get(consumer, [])
            assert calls, f"{name}: there is no {consumer}"
            for call in calls if parameter else ():
                assert is_in(getattr(given, name), call.get(parameter)), f"{name}: {consumer} has {call}"
