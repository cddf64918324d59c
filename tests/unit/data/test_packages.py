"""Tests that archives of packages are found by name and checksum, and that nothing of them is ever run."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from retort.errors import RetortError
from retort.sources import package_index, packages
from retort.specs.source import Package

from tests.contracts.mistakes.archives import NAME, source, tar, zipped

SETUP = "import pathlib\npathlib.Path({!r}).write_text('run')\nraise SystemExit('built')\n"
WHEEL = "made-1.0-py3-none-any.whl"


def sdist(mark: Path) -> bytes:
    """Return a source archive whose build code writes a file."""
    build = '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n'
    setup = SETUP.format(str(mark)).encode()
    return tar(
        ("made-1.0/setup.py", setup), ("made-1.0/pyproject.toml", build.encode()), ("made-1.0/data/a.txt", b"text")
    )


def of(data: bytes, **fields: str) -> Package:
    """Return a source whose checksum is that of an archive."""
    return source(sha256=hashlib.sha256(data).hexdigest(), **fields)


def page(*names: str, sha256: str = "") -> str:
    """Return the page of an index that names files beside it, with their checksums where one is given."""
    links = (f'<a href="../../files/{name}{f"#sha256={sha256}" * bool(sha256)}">{name}</a>' for name in names)
    return f"<!DOCTYPE html><html><body>{'<br>'.join(links)}</body></html>"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of an index on this machine, which is the only one that pip is configured for."""
    (tmp_path / "index/simple/made").mkdir(parents=True)
    (tmp_path / "index/files").mkdir()
    settings = {"index-url": (tmp_path / "index/simple").as_uri()}
    monkeypatch.setattr(package_index, "pip_settings", lambda: settings)
    return tmp_path / "index"


def publish(index: Path, name: str, data: bytes, sha256: str = "") -> None:
    """Put a file into an index."""
    (index / "files" / name).write_bytes(data)
    (index / "simple/made/index.html").write_text(page(name, "made-0.9.tar.gz", "README", sha256=sha256))


def test_build_code_of_a_source_archive_is_not_run(index: Path, tmp_path: Path) -> None:
    data = sdist(tmp_path / "mark")
    publish(index, NAME, data, hashlib.sha256(data).hexdigest())
    assert packages.fetch(of(data), tmp_path / "out", tmp_path / "state") == 1
    assert (tmp_path / "out/a.txt").read_text() == "text"
    assert not (tmp_path / "mark").exists()


def test_a_wheel(index: Path, tmp_path: Path) -> None:
    data = zipped(("made/data/a.txt", b"text"))
    publish(index, WHEEL, data)
    assert packages.fetch(of(data, distribution="wheel", folder="made/data"), tmp_path / "out", tmp_path / "state") == 1


def test_an_archive_inside_an_archive_at_its_top(index: Path, tmp_path: Path) -> None:
    data = tar(("made-1.0/data.tar.gz", tar(("deep/a.txt", b"text"))))
    publish(index, NAME, data)
    assert packages.fetch(of(data, inner="data.tar.gz", folder="deep"), tmp_path / "out", tmp_path / "state") == 1


def test_the_settings_of_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://one/simple\ntimeout = 5\n[download]\nindex-url = https://two/simple\n"
        "[install]\nindex-url = https://three/simple\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    settings = package_index.pip_settings()
    assert settings["index-url"] == "https://two/simple"
    assert settings["timeout"] == "5"
    monkeypatch.setenv("PIP_INDEX_URL", "https://four/simple/")
    assert package_index.Index(package_index.pip_settings()).indexes[0] == "https://four/simple"


def test_a_folder_of_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "links").mkdir()
    data = tar(("made-1.0/data/a.txt", b"text"))
    (tmp_path / "links" / NAME).write_bytes(data)
    settings = {"no-index": "true", "find-links": str(tmp_path / "links")}
    monkeypatch.setattr(package_index, "pip_settings", lambda: settings)
    assert packages.fetch(of(data), tmp_path / "out", tmp_path / "state") == 1


@contextmanager
def served(pages: dict[str, tuple[str, bytes]]) -> Iterator[str]:
    """Serve pages, path -> (type, content), and yield the address of the server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, content = pages.get(self.path, ("", b""))
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", kind or "text/plain")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_an_index_that_answers_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tar(("made-1.0/data/a.txt", b"text"))
    file = {"filename": NAME, "url": f"/files/{NAME}", "hashes": {"sha256": hashlib.sha256(data).hexdigest()}}
    pages = {
        "/simple/made/": ("application/vnd.pypi.simple.v1+json", json.dumps({"files": [file]}).encode()),
        f"/files/{NAME}": ("application/octet-stream", data),
    }
    with served(pages) as address:
        monkeypatch.setattr(package_index, "pip_settings", lambda: {"index-url": f"http://me:secret@{address}/simple"})
        assert packages.fetch(of(data), tmp_path / "out", tmp_path / "state") == 1
        with pytest.raises(RetortError, match="no package index has the sdist of made 2.0") as caught:
            packages.fetch(of(data, version="2.0"), tmp_path / "out", tmp_path / "state")
    assert "secret" not in str(caught.value)


def test_the_password_of_an_index_goes_to_its_own_server_alone() -> None:
    others = [
        "http://127.0.0.1:9/a", "http://127.0.0.1/a", "https://{}/a", "http://{}.org/a", "http://you@{}/a", "http://x@y/{}",
    ]  # fmt: skip
    pages: dict[str, tuple[str, bytes]] = {}
    with served(pages) as address:
        written = [url.format(address) for url in ("http://{}/a", *others)]
        pages["/simple/made/"] = "text/html", "".join(f'<a href="{url}">' for url in written).encode()
        index = package_index.Index({"index-url": f"http://me:secret@{address}/simple"})
        found = [link.url for link in index.files("made")]
    assert found == [f"http://me:secret@{address}/a", *written[1:]]


def test_an_index_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served({"/simple/made/": ("application/json", b"[1]")}) as address:
        monkeypatch.setattr(package_index, "pip_settings", lambda: {"index-url": f"http://{address}/simple"})
        with pytest.raises(RetortError, match="/simple/made/ is no page of a package index"):
            packages.fetch(source(), tmp_path / "out", tmp_path / "state")


def test_an_index_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_index, "pip_settings", lambda: {"index-url": "http://me:secret@127.0.0.1:9/simple"})
    with pytest.raises(RetortError, match="127.0.0.1:9/simple/made/: .*; is a package index within reach") as caught:
        packages.fetch(source(), tmp_path / "out", tmp_path / "state")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("sha256", "words"),
    [
        ("f" * 64, "the sdist of made 1.0: its sha256 is ffffffffffff..., and that of the source is 000000000000..."),
        ("", f"{NAME}: sha256 is .*, and that of the source is 000000000000...; the download is damaged"),
        ("0" * 64, f"{NAME}: sha256 is .*, and that of the source is 000000000000...; the download is damaged"),
    ],
)
def test_another_checksum(index: Path, tmp_path: Path, sha256: str, words: str) -> None:
    publish(index, NAME, sdist(tmp_path / "mark"), sha256)
    with pytest.raises(RetortError, match=words):
        packages.fetch(source(), tmp_path / "out", tmp_path / "state")
    assert not (tmp_path / "out").exists()


def test_a_file_that_an_index_names_and_lacks(index: Path, tmp_path: Path) -> None:
    (index / "simple/made/index.html").write_text(page(NAME))
    with pytest.raises(RetortError, match=f"files/{NAME}"):
        packages.fetch(source(), tmp_path / "out", tmp_path / "state")


@pytest.mark.network
def test_the_archive_of_the_pocket_study(tmp_path: Path) -> None:
    from retort.specs.source import PackageSource
    from retort.specs.yaml_reader import read_yaml

    from tests.conftest import ROOT

    vader = PackageSource(**read_yaml(ROOT / "workflow/sources/vader.yaml")).fetched
    try:
        assert packages.fetch(vader, tmp_path / "out", tmp_path / "state") > 5
    except RetortError as error:
        if "within reach" not in str(error):
            raise
        pytest.skip("no package index is within reach")
