"""Bundles on disk: their bytes, charts that are copied, and folders that are written as a whole or not at all."""

from __future__ import annotations

import errno
import io
import tarfile
from pathlib import Path

import pytest
import yaml

from seatrial.adapters.bundles import charts, folder
from seatrial.adapters.bundles.texts import Content, contents_of, values_in, yaml_text
from seatrial.core.compat.bundles.values import POST_CHART, BundleRefused, Document, File, Text

CHART = "apiVersion: v2\nname: gpu-operator\nversion: v26.3.3\n"
FILES = {"README.md": Content(data=b"read me\n"), "a/run.sh": Content(data=b"#!/bin/sh\n", is_executable=True)}


def a_bundle(**files: str) -> dict[str, Content]:
    return folder.marked(
        {"deployer": "helm"}, {**FILES, **{path: Content(data=text.encode()) for path, text in files.items()}}
    )


def below(root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["580.126.20", "1e3", "0x10", "0o7", "1_000", "12:30:45", "-1", ".5", "true", "null"])
def test_a_text_that_some_reader_would_take_for_something_else_is_quoted(text: str) -> None:
    assert yaml_text({"a": text}).strip() in (f'a: "{text}"', f"a: '{text}'")
    assert yaml.safe_load(yaml_text({"a": text})) == {"a": text}


def test_a_null_a_comment_and_a_template_are_written_as_they_are_meant() -> None:
    files: list[File] = [
        Document(path="v.yaml", objects=({"a": None, "b": []},), comment=("why",)),
        Document(path="t.yaml", objects=({"a": "W-0-"}, {"b": 1}), templates={"W-0-": "{{ .Values.a | quote }}"}),
        Document(path="e.yaml", objects=({},)),
        Text(path="x.sh", text="exit\n", is_executable=True),
    ]
    assert contents_of(files) == {
        "v.yaml": Content(data=b"# why\na: null\nb: []\n"),
        "t.yaml": Content(data=b"a: {{ .Values.a | quote }}\n---\nb: 1\n"),
        "e.yaml": Content(data=b"{}\n"),
        "x.sh": Content(data=b"exit\n", is_executable=True),
    }


@pytest.mark.parametrize(
    ("text", "says"), [("- a\n", "no map"), ("a: [\n", "is not YAML"), ("", "no map"), ("1: a\n", "no map")]
)
def test_own_values_that_are_none_are_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "v.yaml").write_text(text)
    with pytest.raises(BundleRefused, match=says):
        values_in(tmp_path / "v.yaml")
    with pytest.raises(BundleRefused, match="cannot be read"):
        values_in(tmp_path / "absent.yaml")


# ── charts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def a_packed_chart(path: Path, *names: str, chart: str = CHART) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name in ("gpu-operator/Chart.yaml", *names):
            data = chart.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def test_our_own_chart_comes_with_seatrial_and_has_a_version_of_its_content() -> None:
    found = charts.our_own()
    assert found.chart.name == POST_CHART
    named = yaml.safe_load(found.files["Chart.yaml"])
    assert named["version"] == f"{found.chart.version}-h{found.chart.digest[:8]}"
    source = Path(__file__).parents[2] / "charts" / POST_CHART
    assert {path: data for path, data in found.files.items() if path != "Chart.yaml"} == {
        path: text.encode() for path, text in below(source).items() if path != "Chart.yaml"
    }


def test_a_chart_is_the_same_unpacked_and_as_an_archive(tmp_path: Path) -> None:
    (tmp_path / "one" / "any name").mkdir(parents=True)
    (tmp_path / "one" / "any name" / "Chart.yaml").write_text(CHART)
    (tmp_path / "two").mkdir()
    a_packed_chart(tmp_path / "two" / "gpu-operator-v26.3.3.tgz")
    one, two = (charts.in_folder(tmp_path / name) for name in ("one", "two"))
    assert one == two
    assert (one[0].chart.name, one[0].chart.version) == ("gpu-operator", "v26.3.3")


@pytest.mark.parametrize("name", ["../evil.yaml", "gpu-operator/../../evil.yaml", "/etc/evil.yaml", "evil.yaml"])
def test_an_archive_that_reaches_out_of_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    a_packed_chart(tmp_path / "chart.tgz", name)
    with pytest.raises(BundleRefused, match="cannot be in one"):
        charts.in_folder(tmp_path)


def test_an_archive_that_unpacks_to_more_than_any_chart_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "BYTES_MAX", 3 * len(CHART))
    names = ("gpu-operator/values.yaml", "gpu-operator/README.md")
    a_packed_chart(tmp_path / "chart.tgz", *names)
    assert len(charts.in_folder(tmp_path)) == 1
    a_packed_chart(tmp_path / "chart.tgz", *names, "gpu-operator/last.yaml")
    with pytest.raises(BundleRefused, match=r"'gpu-operator/last\.yaml' cannot be in one"):
        charts.in_folder(tmp_path)


def test_an_archive_with_a_link_and_a_folder_with_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "packed").mkdir()
    with tarfile.open(tmp_path / "packed" / "chart.tgz", "w:gz") as archive:
        member = tarfile.TarInfo("gpu-operator/values.yaml")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    with pytest.raises(BundleRefused, match="cannot be in one"):
        charts.in_folder(tmp_path / "packed")
    (tmp_path / "plain" / "gpu-operator").mkdir(parents=True)
    (tmp_path / "plain" / "gpu-operator" / "Chart.yaml").write_text(CHART)
    (tmp_path / "plain" / "gpu-operator" / "values.yaml").symlink_to("/etc/passwd")
    with pytest.raises(BundleRefused, match="is a link"):
        charts.in_folder(tmp_path / "plain")


def test_a_folder_without_a_chart_with_one_twice_or_with_a_broken_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleRefused, match="has no chart"):
        charts.in_folder(tmp_path)
    (tmp_path / "broken.tgz").write_bytes(b"no archive")
    with pytest.raises(BundleRefused, match="cannot be unpacked"):
        charts.in_folder(tmp_path)
    (tmp_path / "broken.tgz").unlink()
    for name in ("a.tgz", "b.tgz"):
        a_packed_chart(tmp_path / name)
    with pytest.raises(BundleRefused, match="gpu-operator twice"):
        charts.in_folder(tmp_path)
    (tmp_path / "b.tgz").unlink()
    a_packed_chart(tmp_path / "a.tgz", chart="name: x\n")
    with pytest.raises(BundleRefused, match="no version"):
        charts.in_folder(tmp_path)


# ── folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_bundle_is_written_and_read_back(tmp_path: Path) -> None:
    target = tmp_path / "new" / "stack"
    assert folder.write(target, a_bundle())
    found = folder.read(target)
    assert (found.files, found.wishes, found.strange) == (FILES, {"deployer": "helm"}, ())
    assert not folder.write(target, a_bundle())
    assert [each.name for each in target.parent.iterdir()] == ["stack"]  # nothing is left beside it


def test_what_the_next_bundle_does_not_have_is_gone(tmp_path: Path) -> None:
    folder.write(tmp_path / "stack", a_bundle(old="1"))
    folder.write(tmp_path / "stack", a_bundle(new="2"))
    assert {"new"} == set(below(tmp_path / "stack")) - {*FILES, folder.MARK}


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "stack").mkdir()
    assert folder.write(tmp_path / "stack", a_bundle())


@pytest.mark.parametrize(
    "content",
    ["", "kind: Kustomization\n", "kind: Kustomization\nfiles: {}\n", "- kind\n", "[", "kind: seatrial-bundle\n"],
)
def test_a_folder_that_is_no_bundle_is_left_as_it_is(tmp_path: Path, content: str) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    if content:
        (tmp_path / folder.MARK).write_text(content)
    before = below(tmp_path)
    for is_forced in (False, True):
        with pytest.raises(BundleRefused, match="not a bundle of seatrial"):
            folder.write(tmp_path, a_bundle(), is_forced=is_forced)
    assert below(tmp_path) == before


@pytest.mark.parametrize("change", [{"schema": 0}, {"wishes": None}])
def test_a_bundle_of_another_release_is_not_read_as_one_of_ours(tmp_path: Path, change: dict[str, object]) -> None:
    folder.write(tmp_path / "stack", a_bundle())
    mark = tmp_path / "stack" / folder.MARK
    mark.write_text(yaml.safe_dump(yaml.safe_load(mark.read_text()) | change))
    with pytest.raises(BundleRefused, match=r"written by another release of seatrial\. Write the bundle again"):
        folder.read(tmp_path / "stack")


def test_a_file_is_not_written_over_as_if_it_were_a_folder(tmp_path: Path) -> None:
    (tmp_path / "stack").write_text("mine")
    with pytest.raises(BundleRefused, match="is not a folder"):
        folder.write(tmp_path / "stack", a_bundle())


def test_a_file_that_somebody_put_there_keeps_the_folder_even_by_force(tmp_path: Path) -> None:
    """The folder could be a checkout, and the file its .git."""
    folder.write(tmp_path / "stack", a_bundle())
    (tmp_path / "stack" / ".git").mkdir()
    (tmp_path / "stack" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for is_forced in (False, True):
        with pytest.raises(BundleRefused, match=r"not belong to the bundle: \.git/HEAD"):
            folder.write(tmp_path / "stack", a_bundle(new="2"), is_forced=is_forced)
    assert "new" not in below(tmp_path / "stack")


def test_an_edit_is_kept_until_it_is_let_go(tmp_path: Path) -> None:
    folder.write(tmp_path / "stack", a_bundle())
    (tmp_path / "stack" / "README.md").write_text("mine")
    with pytest.raises(BundleRefused, match=r"was edited: README\.md.*--force"):
        folder.write(tmp_path / "stack", a_bundle(new="2"))
    assert below(tmp_path / "stack")["README.md"] == "mine"
    assert folder.write(tmp_path / "stack", a_bundle(new="2"), is_forced=True)
    assert below(tmp_path / "stack")["README.md"] == "read me\n"


def test_that_a_script_can_no_longer_be_run_is_an_edit(tmp_path: Path) -> None:
    folder.write(tmp_path / "stack", a_bundle())
    (tmp_path / "stack" / "a" / "run.sh").chmod(0o644)
    assert folder.read(tmp_path / "stack").strange == ("a/run.sh",)


def test_where_writing_fails_half_way_the_old_bundle_is_there_whole(tmp_path: Path) -> None:
    folder.write(tmp_path / "stack", a_bundle())
    before = below(tmp_path / "stack")
    clash = {**a_bundle(), "README.md/below": Content(data=b"x")}  # a file cannot be a folder, too
    with pytest.raises(BundleRefused, match="Nothing was changed"):
        folder.write(tmp_path / "stack", clash)
    assert below(tmp_path / "stack") == before
    assert [each.name for each in tmp_path.iterdir()] == ["stack"]


def test_where_the_new_bundle_cannot_take_its_place_the_old_one_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write(tmp_path / "stack", a_bundle())
    before, rename = below(tmp_path / "stack"), Path.rename

    def failing(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError(errno.EIO, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(BundleRefused, match="Nothing was changed"):
        folder.write(tmp_path / "stack", a_bundle(new="2"))
    assert below(tmp_path / "stack") == before
    assert [each.name for each in tmp_path.iterdir()] == ["stack"]
