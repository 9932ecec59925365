"""Where a forge is asked: by its kind and the repository's address, or where its administrator says."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.adapters.forge.errors import ForgeRefused
from seatrial.adapters.forge.places import Kind, place_of


@pytest.mark.parametrize(
    ("kind", "scheme", "host", "port", "path", "api", "project"),
    [
        ("gitea", "https", "git.example.com", 443, "gpu/cluster.git", "https://git.example.com/api/v1", "gpu/cluster"),
        ("gitea", "https", "git.example.com", 0, "gpu/cluster", "https://git.example.com/api/v1", "gpu/cluster"),
        ("gitea", "http", "127.0.0.1", 3000, "gpu/cluster", "http://127.0.0.1:3000/api/v1", "gpu/cluster"),
        ("gitea", "https", "::1", 8443, "gpu/cluster", "https://[::1]:8443/api/v1", "gpu/cluster"),
        ("github", "https", "github.com", 443, "gpu/cluster", "https://api.github.com", "gpu/cluster"),
        ("github", "ssh", "github.com", 22, "gpu/cluster.git", "https://api.github.com", "gpu/cluster"),
        ("github", "https", "ghe.example.com", 443, "gpu/cluster", "https://ghe.example.com/api/v3", "gpu/cluster"),
        ("gitlab", "ssh", "git.example.com", 2222, "a/b/c.git", "https://git.example.com/api/v4", "a/b/c"),
    ],
)
def test_the_usual_places(
    kind: str, scheme: str, host: str, port: int, path: str, api: str, project: str, tmp_path: Path
) -> None:
    found = place_of(Kind(kind), scheme=scheme, host=host, port=port, path=path.split("/"), secret=tmp_path)
    assert (found.api, found.project, found.token) == (api, project, tmp_path)


def test_a_forge_below_a_path_is_asked_where_its_administrator_says(tmp_path: Path) -> None:
    (tmp_path / "api").write_text("https://example.com/git/api/v1/\n")
    path = ("git", "gpu", "cluster.git")
    found = place_of(Kind.GITEA, scheme="https", host="example.com", port=443, path=path, secret=tmp_path)
    assert (found.api, found.project) == ("https://example.com/git/api/v1", "gpu/cluster")


@pytest.mark.parametrize("text", ["", "example.com/api/v1", "ftp://example.com", "https://me:secret@example.com/api"])
def test_what_is_no_address_of_an_api_is_refused_without_repeating_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "api").write_text(text)
    with pytest.raises(ForgeRefused, match="is not an address of an API") as caught:
        place_of(Kind.GITEA, scheme="https", host="h", port=443, path=("a", "b"), secret=tmp_path)
    assert "secret@" not in str(caught.value)


@pytest.mark.parametrize(("kind", "path"), [("gitea", "a/b/c"), ("github", "a"), ("gitlab", "a"), ("gitea", "")])
def test_a_path_that_names_no_repository_is_refused(kind: str, path: str, tmp_path: Path) -> None:
    parts = tuple(part for part in path.split("/") if part)
    with pytest.raises(ForgeRefused, match="OWNER/NAME"):
        place_of(Kind(kind), scheme="https", host="h", port=443, path=parts, secret=tmp_path)


def test_a_folder_has_no_forge(tmp_path: Path) -> None:
    with pytest.raises(ForgeRefused, match="has no forge"):
        place_of(Kind.GITEA, scheme="file", host="", port=0, path=("srv", "git"), secret=tmp_path)
