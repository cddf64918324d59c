"""Tests that archives of packages are found by name and checksum, and that nothing of them is ever run."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from retort.data.sources import packages
from retort.errors import RetortError
from retort.specs.source import Package

from tests.contracts.mistakes.archives import NAME, source, tar, zipped

SETUP = "import pathlib\npathlib.Path({!r}).write_text('run')\nraise SystemExit('built')\n"
WHEEL = "made-1.0-py3-none-any.whl"
DATA = tar(("made-1.0/data/a.txt", b"text"))
Pages = dict[str, tuple[str, bytes]]  # path -> (type, content)


def of(data: bytes, **fields: str) -> Package:
    """Return a source whose checksum is that of an archive."""
    return source(sha256=hashlib.sha256(data).hexdigest(), **fields)


def fetched(wanted: Package, folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: str) -> int:
    """Fetch a source with these settings of pip, and return how many files it has."""
    given = {name.replace("_", "-"): value for name, value in settings.items()}
    monkeypatch.setattr(packages, "pip_settings", lambda: given)
    return packages.fetch(wanted, folder / "out", folder / "state")


@contextmanager
def served(pages: Pages, user: str = "") -> Iterator[tuple[str, list[str | None]]]:
    """Serve pages, to `user:password` alone if one is given; yield the address and the credentials that are sent."""
    sent: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(self.headers["Authorization"])
            is_known = not user or sent[-1] == f"Basic {base64.b64encode(user.encode()).decode()}"
            kind, content = pages.get(self.path, ("", b""))
            self.send_response((200 if kind else 404) if is_known else 401)
            self.send_header("Content-Type", kind or "text/plain")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}", sent
    finally:
        server.shutdown()
        server.server_close()


def index_of(data: bytes, name: str = NAME, sha256: str = "") -> Pages:
    """Return the pages of an index that has a file, and says this of its checksum."""
    digests = {name: f"#sha256={sha256}" * bool(sha256), "made-0.9.tar.gz": "", "README": ""}
    links = "".join(f'<a href="/files/{each}{digest}">{each}</a>' for each, digest in digests.items())
    page = f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
    return {"/simple/made/": ("text/html", page), f"/files/{name}": ("application/octet-stream", data)}


def test_build_code_of_a_source_archive_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = b'[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n'
    setup = SETUP.format(str(tmp_path / "mark")).encode()
    data = tar(("made-1.0/setup.py", setup), ("made-1.0/pyproject.toml", build), ("made-1.0/data/a.txt", b"text"))
    with served(index_of(data, sha256=hashlib.sha256(data).hexdigest())) as (address, _):
        assert fetched(of(data), tmp_path, monkeypatch, index_url=f"http://{address}/simple") == 1
    assert (tmp_path / "out/a.txt").read_text() == "text"
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("name", "data", "fields"),
    [
        (WHEEL, zipped(("made/data/a.txt", b"text")), {"distribution": "wheel", "folder": "made/data"}),
        (NAME, tar(("made-1.0/d.tar.gz", tar(("deep/a.txt", b"text")))), {"inner": "d.tar.gz", "folder": "deep"}),
    ],
)
def test_a_wheel_and_an_archive_inside_an_archive_of_a_folder(
    name: str, data: bytes, fields: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / name).write_bytes(data)
    links = str(tmp_path / "links")
    assert fetched(of(data, **fields), tmp_path, monkeypatch, no_index="true", find_links=links) == 1


def test_the_settings_of_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://one/index\ntimeout = 5\n[download]\nindex-url = https://two/index\n"
        "[install]\nindex-url = https://three/index\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    settings = packages.pip_settings()
    assert (settings["index-url"], settings["timeout"]) == ("https://two/index", "5")
    monkeypatch.setenv("PIP_INDEX_URL", "https://four/index/")
    assert packages.pip_settings()["index-url"] == "https://four/index/"


def test_a_further_index_that_answers_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = {"filename": NAME, "url": f"/files/{NAME}", "hashes": {"sha256": hashlib.sha256(DATA).hexdigest()}}
    page = {"meta": {"api-version": "1.0"}, "name": "made", "files": [file]}
    pages = index_of(DATA) | {"/simple/made/": ("application/vnd.pypi.simple.v1+json", json.dumps(page).encode())}
    with served(index_of(b"other", sha256="f" * 64)) as (first, _), served(pages, "me:secret") as (address, _):
        indexes = {"index_url": f"http://{first}/simple", "extra_index_url": f"http://me:secret@{address}/simple"}
        assert fetched(of(DATA), tmp_path, monkeypatch, **indexes) == 1
        with pytest.raises(RetortError, match="no package index has the sdist of made 2.0") as caught:
            fetched(of(DATA, version="2.0"), tmp_path, monkeypatch, **indexes)
    assert "secret" not in str(caught.value)


def test_the_password_of_an_index_goes_to_its_own_server_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages: Pages = {f"/files/{NAME}": ("application/octet-stream", DATA)}
    with served(pages, "me:secret") as (own, _), served(pages) as (other, sent):
        for address in (own, other):
            pages["/simple/made/"] = "text/html", f'<a href="http://{address}/files/{NAME}">{NAME}</a>'.encode()
            assert fetched(of(DATA), tmp_path, monkeypatch, index_url=f"http://me:secret@{own}/simple") == 1
    assert sent == [None]


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        ({"/simple/made/": ("application/json", b"[1]")}, "/simple/made/ is no page of a package index"),
        ({"/simple/made/": ("text/html", f'<a href="/{NAME}">{NAME}</a>'.encode())}, f"{NAME} answers 404"),
        (None, "127.0.0.1:9/simple/made/: .*; is a package index within reach"),
    ],
)
def test_an_index_that_cannot_be_read(
    pages: Pages | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(pages or {}) as (address, _):
        index = f"http://me:secret@{address if pages else '127.0.0.1:9'}/simple"
        with pytest.raises(RetortError, match=said) as caught:
            fetched(source(), tmp_path, monkeypatch, index_url=index)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("sha256", "said"),
    [
        ("f" * 64, "sdist of made 1.0: its sha256 is ffffffffffff..., and that of the source is 000000000000..."),
        ("", f"{NAME}: sha256 is .*, and that of the source is 000000000000...; the download is damaged"),
        ("0" * 64, f"{NAME}: sha256 is .*, and that of the source is 000000000000...; the download is damaged"),
    ],
)
def test_another_checksum(sha256: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(index_of(DATA, sha256=sha256)) as (address, _), pytest.raises(RetortError, match=said):
        fetched(source(), tmp_path, monkeypatch, index_url=f"http://{address}/simple")
    assert not (tmp_path / "out").exists()
