"""Which forge a repository lives on: only what was named, by whole parts of the address, the longest first."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.adapters.forge.places import Kind
from seatrial.adapters.git.authorities import Authorities
from seatrial.adapters.git.errors import SetupInvalid
from seatrial.controller.forges import NO_FORGES, Forges
from seatrial.core.model.campaign import GitPlace

HOST = "https://git.example.com"
FORGES = Forges.read(
    [
        ("gitea", f"{HOST}/gpu", Path("/secrets/gpu")),
        ("gitlab", f"{HOST}/gpu/inner", Path("/secrets/inner")),
        ("github", "git@github.com:gpu", Path("/secrets/hub")),
    ]
)


@pytest.mark.parametrize(
    ("url", "kind", "api", "project", "secret"),
    [
        (f"{HOST}/gpu/cluster.git", Kind.GITEA, f"{HOST}/api/v1", "gpu/cluster", "/secrets/gpu"),
        (f"{HOST}/gpu/inner/cluster", Kind.GITLAB, f"{HOST}/api/v4", "gpu/inner/cluster", "/secrets/inner"),
        ("git@github.com:gpu/cluster.git", Kind.GITHUB, "https://api.github.com", "gpu/cluster", "/secrets/hub"),
    ],
)
def test_the_longest_address_says_which_forge_and_which_token(
    url: str, kind: Kind, api: str, project: str, secret: str
) -> None:
    place = FORGES.place_of(url)
    assert place is not None
    assert (place.kind, place.api, place.project, place.token) == (kind, api, project, Path(secret))


@pytest.mark.parametrize(
    "url",
    [
        f"{HOST}/gpus/cluster",
        f"{HOST}/other/cluster",
        "https://git.example.com:8443/gpu/cluster",
        "https://evil.example.com/gpu/cluster",
        "ssh://git@git.example.com/gpu/cluster",
    ],
)
def test_no_token_goes_where_none_was_bound_to(url: str) -> None:
    assert FORGES.place_of(url) is None
    assert FORGES.of(GitPlace(url=url, branch="main", path="m.yaml")) is None


def test_the_authority_of_a_forge_is_that_of_the_server_where_its_api_is(tmp_path: Path) -> None:
    inside, below = Path("/secrets/inside.crt"), Path("/secrets/below.crt")
    named = Authorities.read([(HOST, inside), ("https://forge.example.com:3000", below)])
    (tmp_path / "api").write_text("https://forge.example.com:3000/gitea/api/v1\n")
    forges = Forges.read(
        [
            ("gitea", f"{HOST}/gpu", Path("/secrets/gpu")),
            ("gitea", "ssh://git@git.example.com/gpu", Path("/secrets/gpu")),
            ("gitea", "https://elsewhere.example.com/gpu", Path("/secrets/gpu")),
            ("gitea", f"{HOST}/told", tmp_path),
        ],
        authorities=named,
    )

    def authority(url: str) -> Path | None:
        place = forges.place_of(url)
        assert place is not None
        return place.authority

    assert authority(f"{HOST}/gpu/cluster") == inside
    assert authority("ssh://git@git.example.com/gpu/cluster") == inside, "Git by ssh, its API by https"
    assert authority("https://elsewhere.example.com/gpu/cluster") is None
    assert authority(f"{HOST}/told/cluster") == below, "where the API is, and not where Git is"


def test_without_any_no_forge_is_asked() -> None:
    assert NO_FORGES.of(GitPlace(url=f"{HOST}/gpu/cluster", branch="main", path="m.yaml")) is None


def test_an_address_that_goes_up_is_refused_before_it_is_compared() -> None:
    with pytest.raises(SetupInvalid, match="goes up"):
        FORGES.place_of(f"{HOST}/gpu/../other/cluster")


@pytest.mark.parametrize(
    ("kind", "prefix", "why"),
    [
        ("bitbucket", HOST, "gitea, github, gitlab"),
        ("gitea", "http://git.example.com/gpu", "plain http"),
        ("gitea", "http://127.0.0.1:3000", "--git-loopback-http"),
        ("gitea", "/srv/git", "is a folder"),
    ],
)
def test_a_token_that_would_go_astray_is_refused_at_the_start(kind: str, prefix: str, why: str) -> None:
    with pytest.raises(SetupInvalid, match=why):
        Forges.read([(kind, prefix, Path("/secrets"))])


def test_two_forges_for_one_address_are_refused() -> None:
    named = [("gitea", HOST, Path("/a")), ("gitlab", f"{HOST}/", Path("/b"))]
    with pytest.raises(SetupInvalid, match="named twice"):
        Forges.read(named)


def test_a_server_of_this_machine_may_be_named_for_a_test() -> None:
    forges = Forges.read([("gitea", "http://127.0.0.1:3000", Path("/a"))], is_loopback_http=True)
    place = forges.place_of("http://127.0.0.1:3000/captain/cluster.git")
    assert place is not None
    assert place.api == "http://127.0.0.1:3000/api/v1"
