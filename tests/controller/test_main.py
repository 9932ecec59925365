"""How the controller is put together; what it does is told by tests/e2e."""

from __future__ import annotations

import argparse
import gc
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.adapters.kube.shapes import forms
from seatrial.cli.run import controller as command
from seatrial.controller import main
from seatrial.core.text.moments import instant_of


def test_what_the_clock_says_survives_being_written_down() -> None:
    now = main.SystemClock().now()
    assert instant_of(forms.text_of(now)) == now


def test_nothing_is_looked_through_as_a_whole_while_everything_is_listed_nor_what_was_listed_ever_again() -> None:
    """Whole collections stopped the loop for a tenth of a second each among what is kept of 100,000 pods."""
    looked: list[int] = []

    def note(phase: str, told: dict[str, int]) -> None:
        looked.extend([told["generation"]] if phase == "start" else [])

    was, was_on, before = gc.get_threshold(), gc.isenabled(), (700, 10, 10)
    gc.enable()  # whoever ran before in this process may have wanted none
    gc.set_threshold(*before)
    gc.callbacks.append(note)
    try:
        with main.settled():
            listed = [[number] for number in range(200_000)]
        assert looked
        assert max(looked) < 2
        assert gc.get_threshold() == before
        assert gc.get_freeze_count() > len(listed)
    finally:
        gc.callbacks.remove(note)
        gc.unfreeze()
        gc.set_threshold(*was)
        if not was_on:
            gc.disable()


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(["--forever", *arguments])


def test_health_and_metrics_are_served_unless_switched_off() -> None:
    assert parsed().metrics_bind_address == ":8480"
    assert parsed("--metrics-bind-address", "").metrics_bind_address == ""


def started(folder: Path, address: str) -> subprocess.CompletedProcess[str]:
    """The controller beside a cluster that is not there."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], "
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: a, user: {}}]}",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "seatrial", "controller", "--forever", "--kubeconfig", str(kubeconfig)]
    return subprocess.run(
        [*command, "--metrics-bind-address", address], capture_output=True, text=True, timeout=30, check=False
    )


def test_an_address_that_is_taken_ends_the_controller_before_it_has_looked_anywhere(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = started(tmp_path, address)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert f"Cannot listen on {address}" in ended.stderr
    assert "--metrics-bind-address" in ended.stderr


@pytest.mark.parametrize("text", ["8480", "localhost", "localhost:http"])
def test_an_address_that_is_none_is_said_to_be_none(text: str, tmp_path: Path) -> None:
    ended = started(tmp_path, text)
    assert ended.returncode == 1
    assert f"{text!r} is not an address to listen on" in ended.stderr
