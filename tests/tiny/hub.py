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

    def do_HEAD(self) -> None:
        self.do_GET()

    def parts(self) -> list[str]:
        """Return the parts of the path that is asked for; the slashes in the name of a branch come quoted."""
        return [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]

    def do_POST(self) -> None:
        """Answer what is asked for some paths of a commit, as the library's file system asks it."""
        parts, asked = self.parts(), json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.hub.asked.append((self.command, "/".join(parts), None))
        repository = "/".join(parts[1:4])
        commit = self.commit(repository, parts[5])
        if commit is not None:
            files = self.hub.files[repository][commit]
            self.json([self.entry(name, files[name]) for name in asked["paths"] if name in files])

    def do_GET(self) -> None:
        parts = self.parts()
        self.hub.asked.append((self.command, "/".join(parts), self.headers.get("Range")))
        if parts[0] == "api" and len(parts) < 6:
            self.refuse(404, "EntryNotFound")
        elif parts[0] == "api":
            self.api("/".join(parts[1:4]), parts[4], parts[5], "/".join(parts[6:]))
        elif parts[0] == "storage":
            self.content(parts[1], self.find(parts[1]))
        else:
            kind = ["datasets"] if parts[0] == "datasets" else []
            name, rest = parts[len(kind) : len(kind) + 2], parts[len(kind) + 2 :]
            self.resolve("/".join([*(kind or ["models"]), *name]), rest[1], "/".join(rest[2:]))

    def find(self, digest: str) -> bytes:
        everything = (c for r in self.hub.files.values() for commit in r.values() for c in commit.values())
        return next(content for content in everything if sha256(content) == digest)

    def commit(self, repository: str, revision: str) -> str | None:
        """Return the commit, or send a refusal and return None."""
        if repository in self.hub.gated:
            self.refuse(403, "GatedRepo")
        elif repository not in self.hub.files:
            self.refuse(404, "RepoNotFound")
        else:
            commit = self.hub.branches.get((repository, revision), revision)
            if commit in self.hub.files[repository]:
                return commit
            self.refuse(404, "RevisionNotFound")
        return None

    def api(self, repository: str, what: str, revision: str, folder: str) -> None:
        commit = self.commit(repository, revision)
        if commit is None:
            return
        if what == "revision":
            self.json({"id": repository.split("/", 1)[1], "sha": commit, "siblings": [], "tags": []})
        else:
            files = self.hub.files[repository][commit].items()
            self.json([self.entry(path, content) for path, content in files if path.startswith(folder)])

    def entry(self, path: str, content: bytes) -> dict[str, object]:
        entry: dict[str, object] = {"type": "file", "path": path, "size": len(content), "oid": git_blob(content)}
        if path.endswith(LARGE):
            entry["lfs"] = {"oid": sha256(content), "size": len(content), "pointerSize": 134}
        return entry

    def resolve(self, repository: str, revision: str, path: str) -> None:
        commit = self.commit(repository, revision)
        if commit is None:
            return
        content = self.hub.files[repository][commit].get(path)
        if content is None:
            self.refuse(404, "EntryNotFound")
        elif path.endswith(LARGE):
            linked = {"X-Linked-Etag": f'"{sha256(content)}"', "X-Linked-Size": str(len(content))}
            to = f"{self.hub.storage}/storage/{sha256(content)}/{path}"
            self.head(302, 0, {"X-Repo-Commit": commit, "Location": to, **linked})
        else:
            self.content(path, content, {"X-Repo-Commit": commit, "ETag": f'"{git_blob(content)}"'})

    def content(self, path: str, content: bytes, more: dict[str, str] | None = None) -> None:
        name = PurePosixPath(urlsplit(self.path).path).name
        if name in self.hub.lies:
            content = content[:-1] + bytes([content[-1] ^ 1])
        first, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")
        begin, end = int(first), min(int(last or len(content) - 1) + 1, len(content))
        ranged = {"Content-Range": f"bytes {begin}-{end - 1}/{len(content)}"} if "Range" in self.headers else {}
        self.head(206 if ranged else 200, end - begin, {"ETag": f'"{path}"', **ranged, **(more or {})})
        if self.command == "HEAD":
            return
        self.body(name, content[begin:end])

    def body(self, name: str, content: bytes) -> None:
        until = self.hub.cut.pop(name, None) or self.hub.stall.get(name)
        self.wfile.write(content[:until])
        if until is None:
            return
        self.close_connection = True
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

    def refuse(self, status: int, code: str) -> None:
        self.head(status, 0, {"X-Error-Code": code, "X-Error-Message": code})


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
