"""Downloads: once, from whoever has them, and never anything but what the lock names."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from seatrial_lab.image import oci
from seatrial_lab.image.errors import ImageFailure, Unreachable
from seatrial_lab.image.shelf import Shelf, Wanted

CONTENT = b"a package"


class Mirror:
    """A web server with some files, which counts who asks."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.asked.append(self.path)
                content = mirror.files.get(self.path)
                self.send_response(404 if content is None else 200)
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    mirror = Mirror()
    yield mirror
    mirror.close()


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(folder=tmp_path / "shelf", say=lambda _: None)


def wanted(*urls: str) -> Wanted:
    return Wanted(name="thing.deb", sha256=hashlib.sha256(CONTENT).hexdigest(), urls=urls)


def test_a_file_is_downloaded_once(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files["/thing.deb"] = CONTENT
    for _ in range(3):
        assert shelf.get(wanted(mirror.url("/thing.deb"))) == CONTENT
    assert mirror.asked == ["/thing.deb"]
    assert len(list(shelf.folder.iterdir())) == 1


def test_a_file_that_was_damaged_on_the_shelf_is_downloaded_again(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files["/thing.deb"] = CONTENT
    shelf.get(wanted(mirror.url("/thing.deb")))
    (kept,) = shelf.folder.iterdir()
    kept.write_bytes(CONTENT[:3])
    assert shelf.get(wanted(mirror.url("/thing.deb"))) == CONTENT


def test_where_the_first_no_longer_has_it_the_next_is_asked(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files["/snapshot/thing.deb"] = CONTENT
    assert shelf.get(wanted(mirror.url("/thing.deb"), mirror.url("/snapshot/thing.deb"))) == CONTENT


def test_something_else_under_that_name_is_refused_and_not_kept(mirror: Mirror, shelf: Shelf) -> None:
    mirror.files["/thing.deb"] = b"another package"
    with pytest.raises(ImageFailure, match="another checksum"):
        shelf.get(wanted(mirror.url("/thing.deb")))
    assert not shelf.folder.exists()


def test_without_a_network_it_says_what_is_missing_and_what_to_do(shelf: Shelf) -> None:
    with pytest.raises(Unreachable, match=r"thing\.deb is not in the cache.*first build needs the network.*MIRROR"):
        shelf.get(wanted("http://127.0.0.1:1/thing.deb"))


def test_what_was_compressed_is_kept_and_made_anew_where_it_was_damaged(shelf: Shelf) -> None:
    first = shelf.press(CONTENT)
    assert first == oci.press(CONTENT)
    (kept,) = shelf.folder.iterdir()
    assert shelf.press(CONTENT) == first
    for damaged in (kept.read_bytes()[:-4], oci.press(b"something else"), b""):
        kept.write_bytes(damaged)
        assert shelf.press(CONTENT) == first
