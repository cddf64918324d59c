"""A hub on localhost: a real HTTP server that speaks the paths of the Hugging Face hub, and can be told to fail."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

LARGE = (".parquet", ".safetensors")  # the hub keeps these in large-file storage, named by their SHA-256


def sha256(content: bytes) -> str:
    """Return the hexadecimal SHA-256 of the content."""
    return hashlib.sha256(content).hexdigest()


def git_blob(content: bytes) -> str:
    """Return the name (SHA-1) that git gives a file with this content."""
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()


@dataclass
class TinyHub:
    """The content of the server, how it fails, and the requests it received.

    Args:
        files: 'datasets/owner/name' or 'models/owner/name' -> commit -> path -> content.
        branches: (repository as above, branch) -> commit.
        lies: paths whose content is sent with its last byte changed.
        cut: path -> bytes that are sent before the connection is closed, once.
        stall: path -> bytes that are sent before the connection falls silent, once.
        gated: repositories that need a login.
    """

    files: dict[str, dict[str, dict[str, bytes]]]
    branches: dict[tuple[str, str], str] = field(default_factory=dict)
    lies: set[str] = field(default_factory=set)
    cut: dict[str, int] = field(default_factory=dict)
    stall: dict[str, int] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    silent: threading.Event = field(default_factory=threading.Event)
    address: str = ""
    storage: str = ""  # like the hub, redirects large files to a host of another name

    def ranges(self) -> list[str]:
        """Return the byte ranges that were requested, in order."""
        return [found for _, _, found in self.asked if found]

    def paths(self) -> list[str]:
        """Return the paths that were requested, in order."""
        return [path for _, path, _ in self.asked]


class _Answer(BaseHTTPRequestHandler):
    hub: TinyHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Log no request, so that the tests' output stays readable."""

    def answer(self) -> None:
        """Answer a request, or refuse it."""
        # the slashes in the name of a branch come quoted
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        self.hub.asked.append((self.command, "/".join(parts), self.headers.get("Range")))
        try:
            self.route(parts)
        except LookupError as refusal:
            code = str(refusal.args[0])
            self.head(403 if code == "GatedRepo" else 404, 0, {"X-Error-Code": code, "X-Error-Message": code})

    do_GET = do_HEAD = do_POST = answer

    def route(self, parts: list[str]) -> None:
        """Send what is asked for.

        Raises:
            LookupError: there is no such thing; it holds the hub's code for it.
        """
        match parts:
            case ["api", kind, owner, name, "revision", revision]:
                commit, _ = self.files(revision, kind, owner, name)
                self.json({"id": f"{owner}/{name}", "sha": commit, "siblings": [], "tags": []})
            case ["api", kind, owner, name, "tree", revision, *folder]:
                _, files = self.files(revision, kind, owner, name)
                self.json([entry(path, files[path]) for path in files if path.startswith("/".join(folder))])
            case ["api", kind, owner, name, "paths-info", revision]:  # the library's file system asks it
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["paths"]
                _, files = self.files(revision, kind, owner, name)
                self.json([entry(path, files[path]) for path in asked if path in files])
            case ["storage", digest, *_]:
                every = (c for r in self.hub.files.values() for commit in r.values() for c in commit.values())
                self.content(digest, next(content for content in every if sha256(content) == digest))
            case ["datasets" as kind, owner, name, "resolve", revision, *path]:
                self.resolve("/".join(path), *self.files(revision, kind, owner, name))
            case [owner, name, "resolve", revision, *path]:
                self.resolve("/".join(path), *self.files(revision, "models", owner, name))
            case _:
                raise LookupError("EntryNotFound")

    def files(self, revision: str, *repository: str) -> tuple[str, dict[str, bytes]]:
        """Return the commit of a revision, and its files."""
        name = "/".join(repository)
        if name in self.hub.gated:
            raise LookupError("GatedRepo")
        if name not in self.hub.files:
            raise LookupError("RepoNotFound")
        commit = self.hub.branches.get((name, revision), revision)
        if commit not in self.hub.files[name]:
            raise LookupError("RevisionNotFound")
        return commit, self.hub.files[name][commit]

    def resolve(self, path: str, commit: str, files: dict[str, bytes]) -> None:
        if path not in files:
            raise LookupError("EntryNotFound")
        content, of = files[path], {"X-Repo-Commit": commit}
        if path.endswith(LARGE):
            linked = {"X-Linked-Etag": f'"{sha256(content)}"', "X-Linked-Size": str(len(content))}
            self.head(302, 0, {**of, "Location": f"{self.hub.storage}/storage/{sha256(content)}/{path}", **linked})
        else:
            self.content(git_blob(content), content, of)

    def content(self, tag: str, content: bytes, more: dict[str, str] | None = None) -> None:
        name = PurePosixPath(urlsplit(self.path).path).name
        if name in self.hub.lies:
            content = content[:-1] + bytes([content[-1] ^ 1])
        first, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")
        begin, end = int(first), min(int(last or len(content) - 1) + 1, len(content))
        ranged = {"Content-Range": f"bytes {begin}-{end - 1}/{len(content)}"} if "Range" in self.headers else {}
        self.head(206 if ranged else 200, end - begin, {"ETag": f'"{tag}"', **ranged, **(more or {})})
        if self.command != "HEAD":
            self.body(name, content[begin:end])

    def body(self, name: str, content: bytes) -> None:
        until = self.hub.cut.pop(name, None) or self.hub.stall.get(name)
        self.wfile.write(content[:until])
        self.close_connection = self.close_connection or until is not None
        if self.hub.stall.pop(name, None):
            self.wfile.flush()
            self.hub.silent.set()
            threading.Event().wait(30)

    def head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(key, value)
        self.end_headers()

    def json(self, answer: object) -> None:
        content = json.dumps(answer).encode()
        self.head(200, len(content), {"Content-Type": "application/json"})
        self.wfile.write(content)


def entry(path: str, content: bytes) -> dict[str, object]:
    """Return what the hub says of a file."""
    large = {"lfs": {"oid": sha256(content), "size": len(content), "pointerSize": 134}} if path.endswith(LARGE) else {}
    return {"type": "file", "path": path, "size": len(content), "oid": git_blob(content), **large}


@contextmanager
def serve(hub: TinyHub) -> Iterator[TinyHub]:
    """Serve the hub at `hub.address` until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Answer", (_Answer,), {"hub": hub}))
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    hub.storage = f"http://localhost:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
