"""`seatrial snapshot`: its file is read as the cluster is, and has nothing in it that may not leave the cluster."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.files.snapshot_file import load_snapshot
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.core.survey.portable.renaming import renaming_of
from tests import audited, doctored, portable
from tests.cli.served import serving
from tests.cli.test_audit import DAY

Said = tuple[int, str]
SOME_AND_LATER_ALL = [
    pytest.param(name, marks=() if number % 5 == 0 else pytest.mark.long) for number, name in enumerate(doctored.NAMES)
]


class Called:
    """The command line, against a cluster that a stand-in serves, and against the file that was taken of it."""

    def __init__(self, options: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.options, self.path, self._capsys = options, path, capsys

    def take(self, *arguments: str) -> tuple[int, str]:
        code, out, err = self._run("snapshot", *self.options, *arguments)
        self.path.write_text(out, encoding="utf-8")
        return code, err

    def live(self, *arguments: str) -> Said:
        code, out, _ = self._run(*arguments, *self.options)
        return code, out

    def read(self, *arguments: str) -> Said:
        code, out, _ = self._run(*arguments, "--snapshot", str(self.path))
        return code, out

    def _run(self, *arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        said = self._capsys.readouterr()
        return code, said.out, said.err


Serve = Callable[..., Called]


@pytest.fixture
def serve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(reply: Any) -> Called:
            options = stack.enter_context(serving(reply, tmp_path / "kubeconfig"))
            return Called(options, tmp_path / "fleet.json", capsys)

        yield start


# ── read as the cluster is ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", audited.NAMES)
def test_an_audit_says_the_same_of_the_file_as_of_the_cluster(name: str, serve: Serve) -> None:
    called = serve(audited.serves(audited.recorded(name)))
    assert called.take() == (ExitCode.OK, "")
    for output in ("table", "json"):
        asked = ("audit", "--on", DAY[name], "-o", output)
        assert called.read(*asked) == called.live(*asked)


@pytest.mark.parametrize("name", SOME_AND_LATER_ALL)
def test_a_diagnosis_finds_the_same_in_the_file_as_in_the_cluster_also_under_other_names(
    name: str, serve: Serve
) -> None:
    called = serve(doctored.serves(doctored.recorded(name)))
    assert called.take()[0] == ExitCode.OK
    (live_code, live), (code, read) = called.live("doctor", "-o", "json"), called.read("doctor", "-o", "json")
    assert code == live_code
    assert found(read) == found(live)
    assert found(read) == {(failure, node) for failure, nodes in doctored.expected(name).items() for node in nodes}

    plain = load_snapshot(called.path)
    names = renaming_of(plain.lists, plain.namespace)
    called.take("--anonymise")
    text = called.path.read_text(encoding="utf-8")
    for old in (*names.nodes, *names.names, *names.registries):
        assert not re.search(rf'(?<=[" /]){re.escape(old)}(?=[" /:,])', text), old
    others = Counter(failure for failure, _ in found(called.read("doctor", "-o", "json")[1]))
    assert others == {failure: len(nodes) for failure, nodes in doctored.expected(name).items()}


def found(text: str) -> set[tuple[str, str]]:
    """Failures and nodes."""
    return {(each["name"], each["node"]) for each in json.loads(text)["failures"]}


def test_what_may_not_be_read_is_a_gap_in_the_file_too(serve: Serve) -> None:
    called = serve(audited.serves(audited.recorded("helm"), forbidden={"daemonsets.apps"}))
    code, err = called.take()
    assert code == ExitCode.INCONCLUSIVE
    assert "/apis/apps/v1/daemonsets is not in it: " in err
    asked = ("audit", "--on", DAY["helm"], "-o", "json")
    assert called.read(*asked) == called.live(*asked)


def test_the_file_is_judged_as_of_the_day_it_was_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = portable.written(tmp_path / "fleet.json", portable.a_node("n1"))
    main(["audit", "--snapshot", str(path)])
    assert "(on 2026-09-21" in capsys.readouterr().out


@pytest.mark.parametrize("more", [("-w",), ("--report-to", "a/b")])
def test_a_file_does_not_change_and_nothing_is_written_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    path = portable.written(tmp_path / "fleet.json", portable.a_node("n1"))
    assert main(["audit", "--snapshot", str(path), *more]) == ExitCode.USAGE
    assert "--snapshot names a file" in capsys.readouterr().err


# ── under other names ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", audited.NAMES)
def test_under_other_names_an_audit_says_the_same_of_as_many_nodes(name: str, serve: Serve) -> None:
    called = serve(audited.serves(audited.recorded(name)))
    asked = ("audit", "--on", DAY[name], "-o", "json")
    live = json.loads(called.live(*asked)[1])
    called.take("--anonymise")
    read = json.loads(called.read(*asked)[1])
    assert len(read["nodes"]) == len(live["nodes"])
    assert read["findings"] == live["findings"] == []
    assert [each["versions"] for each in read["nodes"]] == [each["versions"] for each in live["nodes"]]


# ── what may not leave the cluster ───────────────────────────────────────────────────────────────────────────────────

SECRET = "hunter2correcthorse"


def test_planted_secrets_are_in_no_line_of_the_file(serve: Serve) -> None:
    name = next(each for each in doctored.NAMES if "kernel-mismatch" in doctored.expected(each))
    cluster = doctored.recorded(name)
    for each in cluster["objects"]:
        meta = each["metadata"]
        meta.setdefault("labels", {})["team"] = SECRET
        meta.setdefault("annotations", {}).update(
            {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "vault.example/token": SECRET}
        )
        each["message"] = f"{each.get('message', '')} token={SECRET}"
        spec = each.setdefault("spec", {})
        for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
            container["env"] = [{"name": "TOKEN", "value": SECRET}, {"name": SECRET, "value": "x"}]
            container["args"], container["command"] = [f"--token={SECRET}"], [SECRET]
        status = each.setdefault("status", {})
        for container in (*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())):
            for state in (container.get("state") or {}).values():
                if isinstance(state, dict):
                    state["message"] = f"{state.get('message', '')} password {SECRET}"
        for condition in status.get("conditions", ()):
            condition["message"] = f"{condition.get('message', '')} {SECRET}"
    for log in cluster.get("logs") or ():
        log["text"] = f"export AWS_SECRET={SECRET}\n{log['text']}\nhttps://me:{SECRET}@example/"
    called = serve(doctored.serves(cluster))
    called.take()
    assert SECRET not in called.path.read_text(encoding="utf-8")
    assert found(called.read("doctor", "-o", "json")[1]) == {
        (failure, node) for failure, nodes in doctored.expected(name).items() for node in nodes
    }
