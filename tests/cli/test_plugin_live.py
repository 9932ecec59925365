"""`kubectl seatrial` and Tab beside a real API server: with the real kubectl, bash, zsh and fish."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.adapters.kube import names
from seatrial.adapters.kube.api import config, errors
from seatrial.adapters.kube.shapes import keys
from seatrial.cli.completing import call
from seatrial.cli.exit_codes import ExitCode
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.building import shells
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.cli import prompt

pytestmark = pytest.mark.cluster

NODES = ("quay-east-1", "quay-east-2", "quay-west-1")
ROLLOUT = "quay-to-580"


@pytest.fixture(scope="module")
def cluster(plane: ControlPlane) -> Iterator[ControlPlane]:
    """Three nodes, and a rollout that nobody moves."""
    controller_process.install(plane)
    made = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in NODES]
    spec = {"target": {"driver": "580.105.08"}, "paused": True, "nodeSelector": {"quay": "none"}}
    rollout = {"apiVersion": keys.API_VERSION, "kind": "GPURollout", "metadata": {"name": ROLLOUT}, "spec": spec}
    plane.apply([*made, rollout])
    yield plane
    plane.kubectl("delete", "gpurollout", ROLLOUT, "--wait=false")
    plane.kubectl("delete", "nodes", *NODES)


def environment(cluster: ControlPlane, home: Path, **more: str) -> dict[str, str]:
    found = prompt.environment(home, KUBECONFIG=str(cluster.kubeconfig), **more)
    return found | {"PATH": f"{cluster.status().kubectl.parent}:{found['PATH']}"}


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nodes_rollouts_and_namespaces_are_offered_by_name(cluster: ControlPlane) -> None:
    environ = {"KUBECONFIG": str(cluster.kubeconfig)}

    def words(*typed: str) -> list[str]:
        return [each.word for each in call.answer(typed, environ)[0]]

    assert words("node", "skip", "quay-e") == ["quay-east-1", "quay-east-2"]
    assert words("node", "skip", "quay-east-1", "quay-w") == ["quay-west-1"]
    assert words("why", "quay") == [ROLLOUT, *NODES]
    assert words("rollout", "pause", "quay") == [ROLLOUT]
    assert words("status", "-n", "kube-sys") == ["kube-system"]
    found, _ = call.answer(["rollout", "resume", "quay"], environ)
    assert found == [(ROLLOUT, "580.105.08")]


def test_a_server_that_refuses_or_does_not_answer_is_one_of_our_errors(cluster: ControlPlane) -> None:
    right = config.load_config(kubeconfig=str(cluster.kubeconfig), environ={})
    nobody = dataclasses.replace(right, identity=config.StaticToken(token="wrong"), certificate=None)
    away = dataclasses.replace(right, server="https://127.0.0.1:1")
    for each in (nobody, away):
        with pytest.raises(errors.ClusterUnavailable):
            names.names(each, names.NODES, user_agent="test")


# ── kubectl ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def kubectl(cluster: ControlPlane, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [cluster.status().kubectl, *arguments],
        env=environment(cluster, home),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_kubectl_finds_the_plugin_and_its_texts_name_seatrial(cluster: ControlPlane, tmp_path: Path) -> None:
    listed = kubectl(cluster, tmp_path, "plugin", "list")
    assert "/kubectl-seatrial\n" in listed.stdout
    helped = kubectl(cluster, tmp_path, "seatrial", "node", "--help")
    assert helped.returncode == ExitCode.OK
    assert helped.stdout.startswith("usage: seatrial node ")
    missing = kubectl(cluster, tmp_path, "seatrial", "node", "get", "nowhere", "--rollout", ROLLOUT)
    assert missing.returncode == ExitCode.ERROR
    assert missing.stderr.endswith("seatrial: there is no node nowhere. `seatrial node get` lists them.\n")


def test_kubectl_completes_the_plugin(cluster: ControlPlane, tmp_path: Path) -> None:
    def asked(*words: str) -> list[str]:
        return kubectl(cluster, tmp_path, "__complete", "seatrial", *words).stdout.splitlines()

    assert asked("rollout", "st") == [
        "start\tstart a rollout: canary first, then waves",
        ":4",
    ]
    assert [line.split("\t")[0] for line in asked("node", "get", "quay-")] == [*NODES, ":4"]
    assert asked("check", "") == [":0"]


# ── shells ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_bash_completes_the_names_of_a_cluster(cluster: ControlPlane, tmp_path: Path) -> None:
    env = environment(cluster, tmp_path, PS1=f"{prompt.READY}> ", HISTFILE="/dev/null")
    with prompt.prompt(["/bin/bash", "--norc", "--noprofile", "-i"], env) as bash:
        bash.until(prompt.READY)
        bash.type("source <(seatrial completion bash); bind 'set enable-bracketed-paste off'\n")
        bash.until(f"\n{prompt.READY}> $")
        bash.type("seatrial node skip quay-w\t")
        bash.until(r"quay-west-1 $")


def test_zsh_completes_commands_options_paths_and_names(cluster: ControlPlane, tmp_path: Path) -> None:
    home = shells.unpacked(shells.ZSH)
    modules = next(home.glob("usr/lib/*/zsh/*"))
    functions = sorted({str(each.parent) for each in (home / "usr/share/zsh/functions").rglob("*") if each.is_file()})
    (tmp_path / "versions.yaml").write_text("")
    own = tmp_path / "functions"
    own.mkdir()
    env = environment(cluster, tmp_path, PS1=f"{prompt.READY}> ", LD_LIBRARY_PATH=shells.libraries(home))
    (tmp_path / "setup").write_text(
        f"module_path=({modules})\nfpath=({own} {' '.join(functions)})\n"
        f"seatrial completion zsh > {own}/_seatrial\nunset zle_bracketed_paste\n"
        f"autoload -Uz compinit && compinit -u -D\ncd {tmp_path}\n"
    )
    with prompt.prompt([str(home / shells.ZSH.program), "-f", "-i"], env) as zsh:
        zsh.until(prompt.READY)
        zsh.type(f"source {tmp_path}/setup\n")
        zsh.until(f"\n.*{prompt.READY}> $")
        for typed, seen in (
            ("seatrial rollout rollb\t", r"seatrial rollout rollback $"),
            (
                "seatrial rollout a\t\t",
                r"abort +-- undo the rollout under way *\n *adopt +-- finish or undo an upgrade",
            ),
            ("seatrial check --output=sa\t", r"--output=sarif $"),
            ("seatrial check ver\t", r"check versions\.yaml $"),
            ("seatrial node skip quay-w\t", r"quay-west-1 $"),
        ):
            zsh.type(typed)
            zsh.until(seen)
            zsh.type("\x15")


def test_fish_completes_commands_options_paths_and_names(cluster: ControlPlane, tmp_path: Path) -> None:
    home = shells.unpacked(shells.FISH)
    (tmp_path / "versions.yaml").write_text("")
    (tmp_path / "folder").mkdir()
    env = environment(cluster, tmp_path, LD_LIBRARY_PATH=shells.libraries(home))

    def asked(line: str) -> list[str]:
        script = (
            f"set fish_function_path {home}/usr/share/fish/functions; seatrial completion fish | source; "
            f"complete -C {line!r}"
        )
        answer = subprocess.run(
            [home / shells.FISH.program, "--no-config", "-c", script],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert answer.stderr == ""
        return answer.stdout.splitlines()

    assert asked("seatrial rollout st") == [
        "start\tstart a rollout: canary first, then waves",
    ]
    assert asked("seatrial check --output=sa") == ["--output=sarif"]
    assert asked("seatrial check --rules=ver") == ["--rules=versions.yaml"]
    assert asked("seatrial check ver") == ["versions.yaml"]
    assert [line.split("\t")[0] for line in asked("seatrial init f")] == ["folder/"]
    assert [line.split("\t")[0] for line in asked("seatrial node skip quay-w")] == ["quay-west-1"]
