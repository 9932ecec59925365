"""Files of a commit: one plain text inside of the repository, and a reason for everything else."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import pytest

from seatrial.adapters.git.errors import FileUnusable
from seatrial.adapters.git.repository import Repository
from tests.adapters.git.remotes import MATRIX, Bare, Person, git


def edit(ours: Repository, path: str) -> str:
    return ours.commit(rollout="r", step="s", edits={path: lambda text: f"{text}x\n"}, subject="x", new_files=[])


def ways_to(ours: Repository, head: str, path: str) -> tuple[Callable[[], object], ...]:
    """Everything that touches a file."""
    return lambda: edit(ours, path), lambda: ours.text_at(head, path)


def push(ada: Person) -> None:
    git(ada.clone, "add", ".")
    git(ada.clone, "commit", "-q", "-m", "Something odd")
    git(ada.clone, "push", "-q", "origin", "HEAD:main")


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x", "a/../../x", "./x", "a//b", ".git/config", "a/.GIT/x", "a\nb", "a\\b", "a/"]
)
def test_a_path_that_leaves_the_repository_is_refused(remote: Bare, path: str) -> None:
    ours = remote.ours()
    below: Callable[[], object] = partial(ours.texts_under, remote.head(), path)
    for attempt in (*ways_to(ours, remote.head(), path), below):
        with pytest.raises(FileUnusable, match="from its root"):
            attempt()


def test_a_name_full_of_wildcards_is_a_name(remote: Bare) -> None:
    remote.person().write("[m]*?.yaml", "odd\n")
    assert remote.ours().text_at(remote.head(), "[m]*?.yaml") == "odd\n"
    assert remote.ours().text_at(remote.head(), "*.yaml") is None
    assert remote.ours().text_at(remote.head(), ":(glob)*.yaml") is None


def test_names_of_other_alphabets_are_names(remote: Bare) -> None:
    remote.person().write("größe/матрица.yaml", "x\n")
    assert remote.ours().text_at(remote.head(), "größe/матрица.yaml") == "x\n"
    edit(remote.ours(), "größe/матрица.yaml")


def test_a_name_in_another_encoding_is_a_name(remote: Bare) -> None:
    ada = remote.person()
    ada.write("cluster/gpu.yaml", "x\n")
    odd = os.fsdecode(b"cluster/gr\xf6\xdfe.yaml")
    head = ada.write(odd, "y\n")

    assert remote.ours().texts_under(head, "cluster") == {"cluster/gpu.yaml": "x\n", odd: "y\n"}
    edit(remote.ours(), odd)
    assert remote.ours().text_at(remote.head(), odd) == "y\nx\n"


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside", "matrix.yaml"])
def test_a_link_is_refused_wherever_it_leads(remote: Bare, target: str) -> None:
    ada = remote.person()
    (ada.clone / "link.yaml").symlink_to(target)
    push(ada)
    ours = remote.ours()
    for attempt in ways_to(ours, remote.head(), "link.yaml"):
        with pytest.raises(FileUnusable, match=rf"link\.yaml at .* is a link to '{target}'\. Name the file itself"):
            attempt()
    assert remote.text() == MATRIX


def test_a_folder_that_is_a_link_is_refused(remote: Bare) -> None:
    ada = remote.person()
    (ada.clone / "etc").symlink_to("/etc")
    push(ada)
    with pytest.raises(FileUnusable, match=r"etc at .* is a link to '/etc'"):
        edit(remote.ours(), "etc/passwd")


def test_a_submodule_is_refused_by_name(remote: Bare) -> None:
    ada = remote.person()
    git(ada.clone, "update-index", "--add", "--cacheinfo", f"160000,{remote.head()},modules/gpu")
    git(ada.clone, "commit", "-q", "-m", "A submodule")
    git(ada.clone, "push", "-q", "origin", "HEAD:main")
    for path in ("modules/gpu", "modules/gpu/matrix.yaml"):
        with pytest.raises(FileUnusable, match=r"modules/gpu at .* is a submodule"):
            edit(remote.ours(), path)
    edit(remote.ours(), "matrix.yaml")
    assert remote.git("ls-tree", "main", "modules/gpu").startswith("160000"), "it stays as it was"


def test_a_folder_and_a_file_in_the_way_are_named(remote: Bare) -> None:
    remote.person().write("gpu/matrix.yaml", "x\n")
    with pytest.raises(FileUnusable, match=r"gpu at .* is a folder"):
        edit(remote.ours(), "gpu")
    with pytest.raises(FileUnusable, match=r"matrix\.yaml at .* is a file, so there is no matrix\.yaml/x"):
        edit(remote.ours(), "matrix.yaml/x")


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(remote: Bare) -> None:
    remote.person().write("matrix.yaml", b"# plain\n# gr\xfc\xdfe\n")
    ours = remote.ours()
    for attempt in ways_to(ours, remote.head(), "matrix.yaml"):
        with pytest.raises(FileUnusable, match=r"matrix\.yaml:2 at .* is not UTF-8: byte 0xfc"):
            attempt()


def test_a_file_kept_elsewhere_by_lfs_is_no_text(remote: Bare) -> None:
    remote.person().write("matrix.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n")
    with pytest.raises(FileUnusable, match="Git LFS"):
        edit(remote.ours(), "matrix.yaml")


def test_a_file_that_is_far_too_large_is_not_read(remote: Bare) -> None:
    remote.person().write("matrix.yaml", b"x" * (11 * 1024 * 1024))
    with pytest.raises(FileUnusable, match="11534336 bytes"):
        edit(remote.ours(), "matrix.yaml")
