"""The image of the controller at work, and nobody root."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from seatrial import __version__
from seatrial_lab.testbed.neighbours.git_server import GitServer
from tests.adapters.git.remotes import MATRIX, bare
from tests.image import containers
from tests.image.conftest import Unpacked
from tests.image.containers import Container

pytestmark = [pytest.mark.slow, containers.NEEDS_ROOT]


@pytest.fixture(scope="module")
def container(image: Unpacked, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with containers.unpacked(image, tmp_path_factory.mktemp("root")) as made:
        yield made


def test_it_says_its_version(container: Container) -> None:
    done = container.run("--version")
    assert (done.stdout, done.returncode) == (f"seatrial {__version__}\n", 0), done.stderr


def test_the_controller_tells_its_options(container: Container) -> None:
    done = container.run("controller", "--help")
    assert done.returncode == 0, done.stderr
    assert "--metrics-bind-address" in done.stdout


def test_without_a_cluster_the_controller_ends_with_a_sentence(container: Container) -> None:
    done = container.run("controller", "--once")
    assert done.returncode == 1
    assert done.stderr.startswith("seatrial: ")
    assert "unexpected" not in done.stderr


def test_a_matrix_is_written_and_checked(container: Container) -> None:
    done = container.shell("cd /tmp; seatrial init .; seatrial check")
    assert done.returncode == 0, done.stderr
    assert "Wrote" in done.stderr + done.stdout


def test_a_whole_rollout_is_simulated_with_real_commits(container: Container) -> None:
    """The demo uses most of what is in the image: rules, decisions, zoneinfo, and git for everything it commits."""
    done = container.shell("seatrial demo --folder /tmp/demo; git -C /tmp/demo/remote.git log --oneline main")
    assert done.returncode == 0, done.stderr
    assert "0 promises broken" in done.stdout
    assert 'Revert "Driver' in done.stdout.rpartition("Repository:")[2]


def test_it_is_nobody_and_can_write_nowhere_but_to_tmp(container: Container) -> None:
    done = container.shell(
        "id -u; id -G\n"
        "for each in / /opt/seatrial /etc /var/lib /tmp; do touch $each/x 2>/dev/null && echo $each; done; true"
    )
    assert done.stdout.split() == ["65532", "65532", "/tmp"]


# What the Git adapter does with a secret: git asks a script, the script is run by a shell, and reads the files by cat.
READ: Final = """
import pathlib, sys
from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.repository import Author, Repository
secret = pathlib.Path("/tmp/secret")
secret.mkdir()
(secret / "username").write_text("seatrial")
(secret / "password").write_text(sys.argv[2])
robot = Author(name="seatrial", email="seatrial@example.com")
ours = Repository(Remote(url=sys.argv[1], credentials=secret), pathlib.Path("/tmp/clone"), author=robot)
print(ours.text_at(ours.look(rollout="r").head, "matrix.yaml"), end="")
"""


@pytest.mark.parametrize("user", ["65532:65532", "1000650000:0"], ids=["its-own-user", "one-of-openshift"])
def test_a_repository_behind_a_login_is_read(container: Container, user: str, tmp_path: Path) -> None:
    remote = bare(tmp_path)
    with GitServer(root=tmp_path) as server:
        url = f"{server.url}/{remote.path.name}"
        done = replace(container, user=user).start(["python", "-c", READ, url, server.password])
    assert done.stdout == MATRIX, done.stderr


def test_any_user_may_run_it_and_only_ssh_asks_who_that_is(container: Container) -> None:
    somebody = replace(container, user="1000650000:0")
    done = somebody.run("demo")
    assert done.returncode == 0, done.stderr
    knock = "git ls-remote ssh://git@127.0.0.1:1/x 2>&1 || true"
    assert "No user exists for uid 1000650000" in somebody.shell(knock).stdout
    assert "ssh: connect to host 127.0.0.1 port 1" in container.shell(knock).stdout


def test_python_and_git_find_the_certificates(container: Container) -> None:
    done = container.shell(
        "python -c 'import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 100)'; "
        "git ls-remote https://localhost:1/x 2>&1 || true; ssh -V 2>&1"
    )
    assert done.stdout.startswith("True\n"), done.stderr
    assert "CAfile" not in done.stdout  # git says so where it cannot read the bundle
    assert "onnect" in done.stdout  # and got as far as trying
    assert "OpenSSH" in done.stdout


def test_nothing_is_compiled_at_its_start(container: Container) -> None:
    done = container.shell("python -v -c 'import seatrial.controller.main, seatrial.cli.run.controller' 2>&1")
    assert done.returncode == 0, done.stdout[-500:]
    assert [
        line for line in done.stdout.splitlines() if line.startswith("# code object from") and ".pyc" not in line
    ] == []
    assert done.stdout.count("# code object from") > 100
