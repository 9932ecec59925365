"""Which address is behind which: taken apart before it is compared, and refused where that is not clear."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.adapters.git.addresses import Address, Permit, Permits
from seatrial.adapters.git.errors import Barred, SetupInvalid

SECRET = Path("/secrets/gpu")


def permits(*prefixes: str) -> Permits:
    return Permits.read(Permit.read(prefix, SECRET) for prefix in prefixes)


@pytest.mark.parametrize(
    ("prefix", "url"),
    [
        ("https://git.example/org", "https://git.example/org/fleet.git"),
        ("https://git.example/org/", "https://git.example/org"),
        ("https://git.example", "https://git.example/org/fleet.git/"),
        ("https://git.example/org", "HTTPS://GIT.Example:443/org/fleet.git"),
        ("https://git.example:443/org", "https://git.example/org/fleet.git"),
        ("https://git.example:8443", "https://git.example:8443/fleet.git"),
        ("https://git.example/My Project".replace(" ", "%20"), "https://git.example/My%20Project/x"),
        ("https://git.example/org", "https://git.example/%6Frg/x"),
        ("https://[2001:db8:0:0::1]/org", "https://[2001:DB8::1]/org/x"),
        ("ssh://git.example/org", "git@git.example:org/fleet.git"),
        ("git@git.example:org", "ssh://git@git.example:22/org/fleet.git"),
    ],
)
def test_an_address_behind_a_prefix_gets_its_secret(prefix: str, url: str) -> None:
    assert permits(prefix).of(url).secret == SECRET


@pytest.mark.parametrize(
    ("prefix", "url"),
    [
        ("https://git.example/org", "https://git.example/organs/x"),
        ("https://git.example/org/fleet", "https://git.example/org/fleet.git"),
        ("https://git.example/org", "https://git.example/ORG/x"),
        ("https://git.example/org", "https://git.example.evil/org/x"),
        ("https://git.example/org", "https://evil.git.example/org/x"),
        ("https://git.example/org", "https://git.example:8443/org/x"),
        ("https://git.example/org", "ssh://git@git.example/org/x"),
        ("https://git.example/org", "http://git.example/org/x"),
        ("https://git.example/org", "/srv/git/org/x"),
        ("ssh://git@git.example/org", "ssh://root@git.example/org/x"),
    ],
)
def test_an_address_that_is_behind_none_is_barred(prefix: str, url: str) -> None:
    with pytest.raises(Barred, match="is not behind any address"):
        permits(prefix).of(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example@evil.example/org/x",
        "https://git.example:pw@evil.example/org/x",
        "https://git.example\\@evil.example/org/x",
        "https://evil.example#@git.example/org/x",
        "https://evil.example?@git.example/org/x",
        "https://git.example/org/x?to=evil",
        "https://git.example/org/x#evil",
        "ssh://git.example/org\\x",
        "git.example:org/x?to=evil",
        "https://git.example/org/../other/x",
        "https://git.example/org/%2e%2e/other/x",
        "https://git.example/org%2fx",
        "https://git.example/org/%252e%252e/x",
        "https://git.example/org/%00/x",
        "https://git.example/org/%ff/x",
        "https://git.example//org/x",
        "https://git.example./org/x",
        "https://gіt.example/org/x",  # the second letter is Cyrillic
        "https://git%2eexample/org/x",
        "https:///org/x",
        "https://git.example:99999999/org/x",
        "file://git.example/org/x",
        "git://git.example/org/x",
        "ftp://git.example/org/x",
        "ext::sh -c touch% /tmp/x",
        "file::/srv/git/x",
        "fd::17",
        "ssh://-oProxyCommand=touch/x",
        "-oProxyCommand=touch:x",
        "git@-oProxyCommand=x:y",
        "../x",
        "x/y.git",
        "",
        "https://git.example/org/x\n",
    ],
)
def test_what_two_programs_could_read_in_two_ways_is_refused(url: str) -> None:
    everything = Permits.read(
        Permit.read(prefix) for prefix in ("https://git.example", "https://evil.example", "ssh://git.example", "/")
    )
    with pytest.raises(SetupInvalid):
        everything.of(url)


def test_the_longest_prefix_wins_also_over_a_secret() -> None:
    known = Permits.read(
        (
            Permit.read("https://git.example", Path("/secrets/all")),
            Permit.read("https://git.example/org", Path("/secrets/org")),
            Permit.read("https://git.example/org/public"),
        )
    )
    assert known.of("https://git.example/other/x").secret == Path("/secrets/all")
    assert known.of("https://git.example/org/x").secret == Path("/secrets/org")
    assert known.of("https://git.example/org/public/x").secret is None


def test_a_folder_is_read_only_where_it_was_named() -> None:
    known = Permits.read([Permit.read("/srv/git")])
    assert known.of("/srv/git/fleet.git").secret is None
    assert known.of("file:///srv/git/fleet.git").secret is None
    for url in ("/srv/gitea/x", "/etc", "file:///etc"):
        with pytest.raises(Barred):
            known.of(url)
    with pytest.raises(SetupInvalid):
        known.of("/srv/git/../../etc")


def test_nothing_named_is_nobody_to_speak_to() -> None:
    with pytest.raises(Barred, match="none was named when the controller was started"):
        Permits().of("https://git.example/org/x")


def test_what_is_barred_names_what_is_not() -> None:
    with pytest.raises(Barred, match=r"\(https://a.example, https://b.example, https://c.example and 1 more\)"):
        permits("https://c.example", "https://b.example", "https://a.example", "https://d.example").of("/x")


def test_plain_http_is_refused_but_for_this_machine_where_that_is_asked_for() -> None:
    for prefix in ("http://git.example/org", "http://127.0.0.1:3000", "http://10.0.0.1", "http://0x7f.1"):
        with pytest.raises(SetupInvalid, match="is plain http"):
            Permit.read(prefix, SECRET)
    for prefix in ("http://127.0.0.1:3000", "http://localhost/x", "http://[::1]:8080"):
        assert Permit.read(prefix, SECRET, is_loopback_http=True).secret == SECRET
    for prefix in ("http://git.example/org", "http://localhost.evil.example", "http://127.0.0.1.evil.example"):
        with pytest.raises(SetupInvalid, match="is plain http"):
            Permit.read(prefix, SECRET, is_loopback_http=True)


def test_a_prefix_named_twice_is_refused_however_it_is_written() -> None:
    with pytest.raises(SetupInvalid, match="is named twice, also as https://git"):
        permits("https://git.example/org", "HTTPS://git.example:443/org/")


def test_a_secret_for_a_folder_is_refused() -> None:
    with pytest.raises(SetupInvalid, match="--git-allow"):
        Permit.read("/srv/git", SECRET)


NAMES = st.text("abc.-_~%2eF/\\@:?#", max_size=12)


@given(host=NAMES, path=NAMES)
def test_whatever_somebody_writes_only_the_named_host_gets_the_secret(host: str, path: str) -> None:
    known = permits("https://git.example/org")
    url = f"https://{host}/{path}"
    try:
        permit = known.of(url)
    except (Barred, SetupInvalid):
        return
    assert permit.secret == SECRET
    assert url.startswith(("https://git.example/org/", "https://git.example:443/org/"))


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    said = ""
    try:
        Address.parse(text)
    except SetupInvalid as err:
        said = str(err)
    assert said.isprintable()
