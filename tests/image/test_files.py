"""Where files of packages end up, and what happens where two disagree."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial_lab.image import files
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.image.files import File, Folder, Link, Tree


@pytest.mark.parametrize(
    ("brought", "ends_at"),
    [
        ("./usr/bin/git", "usr/bin/git"),
        ("./bin/sh", "usr/bin/sh"),
        ("./lib/x86_64-linux-gnu/libc.so.6", "usr/lib/x86_64-linux-gnu/libc.so.6"),
        ("./lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2"),
        ("./", ""),
        ("./library/x", "library/x"),
    ],
)
def test_what_debian_has_merged_into_usr_lies_there(brought: str, ends_at: str) -> None:
    assert files.place(brought) == ends_at


def test_a_path_that_leads_out_of_the_image_is_refused() -> None:
    with pytest.raises(ImageFailure, match="leads out of the image"):
        files.place("./usr/../../etc/passwd")


@pytest.mark.parametrize(
    ("path", "is_wanted"),
    [
        ("usr/bin/git", True),
        ("usr/share/doc/git/copyright", True),
        ("usr/share/doc/libgcc-s1", True),  # a link to the folder that has the licence
        ("usr/share/doc/git/changelog.gz", False),
        ("usr/share/man/man1/git.1.gz", False),
        ("usr/lib/openssh/ssh-keysign", False),
        ("usr/lib/python3.11/idlelib/run.py", False),
        ("usr/lib/python3.11/idle.py", True),
    ],
)
def test_licences_stay_and_manuals_do_not(path: str, is_wanted: bool) -> None:
    assert files.is_wanted(path) is is_wanted


def test_two_packages_may_bring_the_same_file_and_the_same_folder() -> None:
    one: Tree = {"usr": Folder(), "usr/x": File(content=b"x")}
    other: Tree = {"usr": Folder(mode=0o700), "usr/x": File(content=b"x")}
    assert files.merge([one, other]) == one


def test_two_packages_that_disagree_are_refused() -> None:
    with pytest.raises(ImageFailure, match="Two packages bring /usr/x"):
        files.merge([{"usr/x": File(content=b"x")}, {"usr/x": File(content=b"y")}])


def test_folders_stand_before_what_is_in_them() -> None:
    tree: Tree = {"b/c/d": File(content=b""), "a": Link(target="b"), "b/c": Folder(mode=0o700)}
    assert list(files.with_folders(tree).items()) == [
        ("a", Link(target="b")),
        ("b", Folder()),
        ("b/c", Folder(mode=0o700)),
        ("b/c/d", File(content=b"")),
    ]


def test_a_tree_is_laid_out_with_its_modes_and_links(tmp_path: Path) -> None:
    files.write(
        {"bin/x": File(content=b"#!", mode=0o755), "y": Link(target="bin/x"), "z": Folder(mode=0o500)}, tmp_path
    )
    assert (tmp_path / "y").read_bytes() == b"#!"
    assert (tmp_path / "bin" / "x").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "z").is_dir()
