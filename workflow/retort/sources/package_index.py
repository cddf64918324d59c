"""Find and download one file of a package, from the indexes that pip is configured for, without building anything.

`pip download` of a source archive runs the archive's own build code to learn its name. Here a file is known by its name
and its SHA-256, so the pages of the indexes (PEP 503 and PEP 691) are read and the file is copied as it is.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit
from urllib.request import url2pathname

import requests
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from retort.errors import RetortError
from retort.specs.source import Package

PUBLIC = "https://pypi.org/simple"  # where pip looks if it is told nothing
ACCEPTED = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
LARGEST = 1 << 31  # bytes of a download
ADDRESS = re.compile(r"\w+://[^\s'\"<>\[\]]+")


@dataclass(frozen=True)
class Link:
    """A file that an index names.

    Args:
        name: the name of the file.
        url: where it is.
        sha256: its checksum as the index gives it; empty if it gives none.
    """

    name: str
    url: str
    sha256: str


class _Anchors(HTMLParser):
    """Collect the targets of the links of an HTML page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the target of an `a` element."""
        self.targets += [value for key, value in attrs if tag == "a" and key == "href" and value]


def pip_settings() -> dict[str, str]:
    """Return the settings of pip by name, such as 'index-url': of its files, and over them of the environment.

    Raises:
        RetortError: pip is not installed beside this Python.
    """
    command = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RetortError("pip, whose configuration names the package index, cannot be run", "install it")
    settings: dict[str, str] = {}
    order = {"global": 0, "download": 1, ":env:": 2}  # pip's: the environment is the strongest
    lines = [line.partition("=") for line in done.stdout.splitlines() if "=" in line]
    named = [(*key.rpartition(".")[::2], ast.literal_eval(value)) for key, _, value in lines]
    for section, name, value in sorted(named, key=lambda entry: order.get(entry[0], -1)):
        if section in order:
            settings[name] = value
    return settings


class Index:
    """The package indexes of pip's configuration.

    Args:
        settings: pip's settings, by name.
    """

    def __init__(self, settings: dict[str, str]) -> None:
        no_index = settings.get("no-index", "").lower() in ("1", "true", "yes", "on")
        indexes = [settings.get("index-url", PUBLIC), *settings.get("extra-index-url", "").split()]
        self.indexes = [] if no_index else [url.rstrip("/") for url in indexes if url]
        self.links = settings.get("find-links", "").split()
        self.session = requests.Session()
        self.session.verify = settings.get("cert") or True
        self.session.cert = settings.get("client-cert")
        self.timeout = float(settings.get("timeout") or settings.get("default-timeout") or 60)
        if proxy := settings.get("proxy"):
            self.session.proxies = {"http": proxy, "https": proxy}

    def files(self, package: str) -> Iterator[Link]:
        """Yield the files of a package, index by index; an index without a page for it is skipped.

        Raises:
            RetortError: a page cannot be read.
        """
        for index in self.indexes:
            yield from self._page(f"{index}/{canonicalize_name(package)}/")
        for place in self.links:
            yield from self._page(place if "://" in place else Path(place).absolute().as_uri())

    def _page(self, url: str) -> Iterator[Link]:
        """Yield the links of a page: HTML, JSON, or the files of a local folder."""
        if urlsplit(url).scheme == "file":
            yield from _local_page(url)
            return
        answer = self._get(url, headers={"Accept": ACCEPTED})
        if answer.status_code == 404:
            return
        if not answer.ok:
            raise RetortError(f"{redact(url)} answers {answer.status_code}", "is a package index within reach?")
        links = _json_links if "json" in answer.headers.get("content-type", "") else _html_links
        try:
            found = list(links(answer.text, answer.url))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RetortError(f"{redact(url)} is no page of a package index", "see pip's index-url") from error
        yield from (replace(link, url=_with_password(link.url, url)) for link in found)

    def _get(self, url: str, **options: Any) -> requests.Response:
        """Ask for an address.

        Raises:
            RetortError: there is no answer.
        """
        try:
            return self.session.get(url, timeout=self.timeout, **options)
        except requests.RequestException as error:
            # only the type: the text of the error may hold the password of an index
            raise RetortError(f"{redact(url)}: {type(error).__name__}", "is a package index within reach?") from None

    def download(self, link: Link, path: Path) -> None:
        """Copy the file of a link to a path.

        Raises:
            RetortError: it cannot be had, or is too large.
        """
        if urlsplit(link.url).scheme == "file":
            try:
                shutil.copyfile(_local_path(link.url), path)
            except OSError as error:
                raise RetortError(
                    f"{redact(link.url)} cannot be read ({error.strerror})", "the index names it"
                ) from None
            return
        answer = self._get(link.url, stream=True)
        if not answer.ok:
            raise RetortError(f"{redact(link.url)} answers {answer.status_code}", "the index names it")
        try:
            with answer, path.open("wb") as file:
                _copy(answer, file, link.name)
        except requests.RequestException as error:
            raise RetortError(f"{redact(link.url)}: {type(error).__name__}", "run again") from None


def _copy(answer: requests.Response, file: IO[bytes], name: str) -> None:
    size = 0
    for chunk in answer.iter_content(1 << 20):
        size += len(chunk)
        if size > LARGEST:
            raise RetortError(f"{name} is larger than {LARGEST >> 20} MiB", "a source is smaller")
        file.write(chunk)


def _with_password(url: str, page: str) -> str:
    """Return an address of a page, with the page's user and password if it is on the same server and has none."""
    own, other = urlsplit(url), urlsplit(page)
    user, _, server = other.netloc.rpartition("@")
    if not user or (own.scheme, own.netloc.lower()) != (other.scheme, server.lower()):
        return url
    return urlunsplit(own._replace(netloc=other.netloc))


def redact(url: str) -> str:
    """Return an address without user, password and query, for messages."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def redact_all(text: str) -> str:
    """Return a text with each address in it redacted."""
    return ADDRESS.sub(lambda address: redact(address[0]), text)


def _local_path(url: str) -> Path:
    return Path(url2pathname(unquote(urlsplit(url).path)))


def _local_page(url: str) -> Iterator[Link]:
    """Yield the links of a page on this machine, or the files of a folder without one."""
    folder = _local_path(url)
    page = folder / "index.html" if folder.is_dir() else folder
    if page.is_file():
        yield from _html_links(page.read_text(encoding="utf-8"), url)
    elif folder.is_dir():
        yield from (Link(path.name, path.as_uri(), "") for path in sorted(folder.iterdir()) if path.is_file())


def _json_links(page: str, base: str) -> Iterator[Link]:
    for file in json.loads(page)["files"]:
        yield Link(file["filename"], urljoin(base, file["url"]), file.get("hashes", {}).get("sha256", ""))


def _html_links(page: str, base: str) -> Iterator[Link]:
    anchors = _Anchors()
    anchors.feed(page)
    for target in anchors.targets:
        url, fragment = urldefrag(urljoin(base, target))
        name = PurePosixPath(unquote(urlsplit(url).path)).name
        kind, _, digest = fragment.partition("=")
        yield Link(name, url, digest if kind == "sha256" else "")


def is_of(name: str, source: Package) -> bool:
    """Return whether a file's name is that of the archive, or of a wheel, of the package that a source names."""
    parse: dict[str, Callable[[str], tuple[Any, ...]]] = {"sdist": parse_sdist_filename, "wheel": parse_wheel_filename}
    try:
        package, version, *_ = parse[source.distribution](name)
    except ValueError:  # of another distribution
        return False
    return bool(package == canonicalize_name(source.package) and version == Version(source.version))


def download(source: Package, folder: Path) -> Path:
    """Download the archive of a source into a folder and return its path; no code of it is run.

    Raises:
        RetortError: no index has it, or only with another checksum, or it cannot be downloaded.
    """
    index = Index(pip_settings())
    archive = f"the {source.distribution} of {source.package} {source.version}"
    links = []
    for link in index.files(source.package):
        links += [link] if is_of(link.name, source) else []
        if links and links[-1].sha256 == source.sha256:  # the other indexes need not be asked
            break
    if not links:
        places = ", ".join(map(redact_place, (*index.indexes, *index.links))) or "no place; pip's no-index is set"
        raise RetortError(f"no package index has {archive}", f"pip's configuration names {places}")
    right = [link for link in links if link.sha256 == source.sha256] or [link for link in links if not link.sha256]
    if not right:
        what = f"its sha256 is {links[0].sha256[:12]}..., and that of the source is {source.sha256[:12]}..."
        raise RetortError(f"{archive}: {what}", "compare both with the package's own page")
    path = folder / right[0].name
    index.download(right[0], path)
    return path


def redact_place(place: str) -> str:
    """Return a place of pip's configuration, for messages: an address without its password, or a folder."""
    return redact(place) if "://" in place else place
