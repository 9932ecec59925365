"""`seatrial init --from-cluster`: the matrix of what runs is one that the cluster does not drift from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from seatrial.adapters.files import matrix_file
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from tests import audited
from tests.cli.served import serving
from tests.cli.test_audit import DAY, drifted

Serve = Callable[..., list[str]]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda cluster, **refusing: stack.enter_context(
            serving(audited.serves(cluster, **refusing), tmp_path / "kubeconfig")
        )


def written(folder: Path) -> str:
    return (folder / "gpu-version-matrix.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", audited.NAMES)
def test_what_runs_is_written_and_an_audit_against_it_finds_nothing(name: str, serve: Serve, tmp_path: Path) -> None:
    where, folder = serve(audited.recorded(name)), tmp_path / "matrix"
    assert main(["init", str(folder), "--from-cluster", *where]) == ExitCode.OK
    path = folder / "gpu-version-matrix.yaml"
    assert matrix_file.load_matrix(path).reading.matrix is not None
    assert main(["audit", *where, "--on", DAY[name], "--file", str(path)]) == ExitCode.OK


def test_who_differs_is_told_beside_what_most_run(serve: Serve, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "m"), "--from-cluster", *serve(drifted())]) == ExitCode.OK
    assert '    gpu_driver: "580.105.08" # and 580.95.05 on gpu-3\n' in written(tmp_path / "m")
    assert '      product: "NVIDIA-H100-80GB-HBM3"\n' in written(tmp_path / "m")


def test_on_openshift_what_it_brings_is_a_comment_and_so_is_what_has_no_key(serve: Serve, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "m"), "--from-cluster", *serve(audited.recorded("openshift"))]) == ExitCode.OK
    text = written(tmp_path / "m")
    assert "    openshift: " in text
    assert "    # kernel: " in text
    assert "  # Subscription " in text
    assert "  # No object of the cluster shows these; add those you know: " in text


def test_what_may_not_be_read_is_a_comment_that_names_the_right(serve: Serve, tmp_path: Path) -> None:
    where = serve(audited.recorded("helm"), forbidden=("deployments.apps",))
    assert main(["init", str(tmp_path / "m"), "--from-cluster", *where]) == ExitCode.OK
    assert "    # gpu_operator: not observable: the right to list deployments.apps\n" in written(tmp_path / "m")


def test_a_driver_that_runs_nowhere_is_a_comment_that_says_why(serve: Serve, tmp_path: Path) -> None:
    cluster = audited.recorded("helm")
    for pod in cluster["pods"]:
        if pod["metadata"]["name"].startswith("nvidia-driver-daemonset"):
            (told,) = pod["status"]["containerStatuses"]
            told |= {"ready": False, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    assert main(["init", str(tmp_path), "--from-cluster", *serve(cluster)]) == ExitCode.OK
    (line,) = [line for line in written(tmp_path).splitlines() if "gpu_driver" in line]
    assert line.startswith("    # gpu_driver: not running: ")
    assert line.endswith(": the image of its pod cannot be pulled (ImagePullBackOff)")


def test_nothing_is_written_where_nobody_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "m"), "--from-cluster", "--kubeconfig", "/nowhere"]) != ExitCode.OK
    assert not (tmp_path / "m").exists()
    assert "/nowhere" in capsys.readouterr().err
