"""How the controller is told which repositories it may speak to: what is wrong is said before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.cli import main
from seatrial.cli.exit_codes import ExitCode


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--git-credentials", "http://git.example.com/gpu=/secrets/git"], "is plain http"),
        (["--git-allow", "http://git.example.com/gpu", "--git-loopback-http"], "is plain http"),
        (["--git-credentials", "https://ada:pw@git.example.com/gpu=/secrets/git"], "has a password in it"),
        (["--git-credentials", "https://git.example.com/gpu/..=/secrets/git"], "its path goes up"),
        (["--git-credentials", "/srv/git=/secrets/git"], "Name it with --git-allow"),
        (["--git-allow", "https://h.example/a", "--git-allow", "https://H.example:443/a/"], "is named twice"),
        (["--git-allow", "ext::sh -c id"], "is not an address of a Git repository"),
        (["--git-authority", "https://git.example.com/gpu=/secrets/ca.crt"], "with no path"),
    ],
)
def test_an_address_that_cannot_be_meant_is_told_at_the_start(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = ["--kubeconfig", str(tmp_path / "none")]
    assert main.main(["controller", "--once", *nowhere, *options]) == ExitCode.ERROR
    told = capsys.readouterr().err
    assert said in told
    assert "pw@" not in told
