"""Archives of packages, taken as data: their SHA-256 is checked before anything in them is read, and no code is run.

`pip download` of a source archive would run the archive's own build code to learn its name. So only pip's settings are
asked for, and the pages of the indexes that they name are read by the library `pypi_simple`.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import functools
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import url2pathname

import requests
from packaging.utils import canonicalize_name, canonicalize_version
from pypi_simple import (
    ACCEPT_ANY,
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    Link,
    ProjectPage,
    PyPISimple,
    UnsupportedRepoVersionError,
)

from retort.checksums import sha256
from retort.data.files import system_error
from retort.errors import RetortError
from retort.sources.hub import redact
from retort.specs.source import Package

WITHIN_REACH = "is a package index within reach?"
MEMBERS, UNPACKED = 100_000, 8 << 30  # what an archive may hold: files, and bytes
# what a damaged or encrypted archive raises while it is read
BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, LZMAError, EOFError, RuntimeError, UnicodeError)


def fetch(source: Package, output: Path, state: Path) -> int:
    """Download the archive, write the files of its folder to `output` (nothing else) and return how many there are.

    Args:
        source: names the archive and the folder in it.
        output: the folder to fill.
        state: a folder for the archive; deleted at the end. These downloads are small, and none is resumed.

    Raises:
        RetortError: the download failed, the checksum differs, or the archive lacks the folder.
    """
    shutil.rmtree(state, ignore_errors=True)  # of a job that was killed
    state.mkdir(parents=True)
    try:
        archive = _download(source, state)
        if (digest := sha256(archive)) != source.sha256:
            raise RetortError(
                f"{archive.name}: sha256 is {digest[:12]}..., and that of the source is {source.sha256[:12]}...",
                "the download is damaged or is another file; delete it and run again",
            )
        return unpack(archive, source, output, state / "inner")
    finally:
        shutil.rmtree(state, ignore_errors=True)


def pip_settings() -> dict[str, str]:
    """Return the settings of pip by name, such as 'index-url': of its files, and over them of the environment.

    Raises:
        RetortError: pip is not installed beside this Python.
    """
    command = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RetortError("pip, whose configuration names the package index, cannot be run", "install it")
    lines = [line.partition("=")[::2] for line in done.stdout.splitlines()]
    return {
        key.removeprefix(f"{section}."): ast.literal_eval(value)
        for section in ("global", "download", ":env:")  # pip's order: the environment is the strongest
        for key, value in lines
        if key.startswith(f"{section}.")
    }


def _download(source: Package, folder: Path) -> Path:
    """Download the archive of a source into a folder and return its path.

    Raises:
        RetortError: no index has it, or only with another checksum, or it cannot be downloaded.
    """
    settings = pip_settings()
    no_index = settings.get("no-index", "").lower() in ("1", "true", "yes", "on")
    indexes = [settings.get("index-url", PYPI_SIMPLE_ENDPOINT), *settings.get("extra-index-url", "").split()]
    places = [] if no_index else [f"{url.rstrip('/')}/{canonicalize_name(source.package)}/" for url in indexes if url]
    links = settings.get("find-links", "").split()
    places += [place if "://" in place else Path(place).absolute().as_uri() for place in links]
    archive = f"the {source.distribution} of {source.package} {source.version}"
    with PyPISimple(session=_Session(settings)) as client:
        found: list[DistributionPackage] = []
        for place in places:
            found += [file for file in _files(client, place, source.package) if _is_of(file, source)]
            if any(file.digests.get("sha256") == source.sha256 for file in found):
                break  # the other indexes need not be asked
        if not found:
            where = ", ".join(map(redact, places)) or "no place; pip's no-index is set"
            raise RetortError(f"no package index has {archive}", f"pip's configuration names {where}")
        known = [file.digests.get("sha256") for file in found]
        if source.sha256 not in known and None not in known:
            what = f"its sha256 is {str(known[0])[:12]}..., and that of the source is {source.sha256[:12]}..."
            raise RetortError(f"{archive}: {what}", "compare both with the package's own page")
        file = found[known.index(source.sha256 if source.sha256 in known else None)]
        path = folder / PurePosixPath(file.filename).name
        _copy(client, file, path)
    return path


class _Session(requests.Session):
    """A session with pip's settings of the connection.

    Args:
        settings: pip's settings, by name.
    """

    def __init__(self, settings: dict[str, str]) -> None:
        super().__init__()
        self.verify, self.cert = settings.get("cert") or True, settings.get("client-cert")
        self.timeout = float(settings.get("timeout") or settings.get("default-timeout") or 60)
        if proxy := settings.get("proxy"):
            self.proxies = {"http": proxy, "https": proxy}

    def request(self, *args: Any, **options: Any) -> requests.Response:
        """Send a request with pip's time limit."""
        return super().request(*args, **{**options, "timeout": self.timeout})


@contextlib.contextmanager
def _asking(url: str) -> Iterator[None]:
    """Turn an error of a request into a RetortError without its text, which may hold the password of an index."""
    try:
        yield
    except requests.RequestException as error:
        number = getattr(error.response, "status_code", None)
        what = f" answers {number}" if number else f": {type(error).__name__}"
        raise RetortError(f"{redact(url)}{what}", WITHIN_REACH) from None


def _files(client: PyPISimple, place: str, package: str) -> list[DistributionPackage]:
    """Return the files that a page names, of an index or on this machine, or that a folder without a page holds.

    There are none where an index has no page for the package.

    Raises:
        RetortError: the page cannot be read.
    """
    if urlsplit(place).scheme == "file":
        folder = Path(url2pathname(urlsplit(place).path))
        page = folder / "index.html" if folder.is_dir() else folder
        if page.is_file():
            return ProjectPage.from_html(package, page.read_bytes(), place).packages
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        return [DistributionPackage.from_link(Link(path.name, path.as_uri(), {}), package) for path in paths]
    with _asking(place):
        answer = client.s.get(place, headers={"Accept": ACCEPT_ANY})
        if answer.status_code == requests.codes.not_found:
            return []
        answer.raise_for_status()
    try:
        files = ProjectPage.from_response(answer, package).packages
    except (ValueError, UnsupportedRepoVersionError) as error:
        raise RetortError(f"{redact(place)} is no page of a package index", "see pip's index-url") from error
    for file in files:
        file.url = _with_password(file.url, place)
    return files


def _with_password(url: str, page: str) -> str:
    """Return an address of a page, with the page's user and password if it is on the same server and has none."""
    own, other = urlsplit(url), urlsplit(page)
    user, _, server = other.netloc.rpartition("@")
    if not user or (own.scheme, own.netloc.lower()) != (other.scheme, server.lower()):
        return url
    return urlunsplit(own._replace(netloc=other.netloc))


def _is_of(file: DistributionPackage, source: Package) -> bool:
    """Return whether a file is the archive, or a wheel, of the package and version that a source names."""
    named = file.package_type, canonicalize_name(file.project or ""), canonicalize_version(file.version or "")
    return named == (source.distribution, canonicalize_name(source.package), canonicalize_version(source.version))


def _copy(client: PyPISimple, file: DistributionPackage, path: Path) -> None:
    """Copy a file of an index, or of a folder on this machine, to a path.

    Raises:
        RetortError: it cannot be had.
    """
    if urlsplit(file.url).scheme != "file":
        with _asking(file.url):
            client.download_package(file, path, verify=False)  # `fetch` compares it with the checksum of the source
        return
    try:
        shutil.copyfile(url2pathname(urlsplit(file.url).path), path)
    except FileNotFoundError as error:
        raise RetortError(f"{redact(file.url)} cannot be read ({error.strerror})", "the index names it") from None


def unpack(archive: Path, source: Package, output: Path, scratch: Path) -> int:
    """Write the files of the folder that a source names to `output` and return how many there are.

    Args:
        archive: the archive, whose checksum is right.
        source: names the folder, and the archive inside the archive that holds it, if one does.
        output: the folder to fill.
        scratch: a folder for the inner archive.

    Raises:
        RetortError: the archive cannot be read, holds too much, or lacks the folder.
    """
    if source.inner:
        inner = PurePosixPath(f"{source.package}-{source.version}") / source.inner
        _extract(archive, str(inner.parent), scratch)
        archive = scratch / inner.name
        if not archive.is_file():
            raise RetortError(f"{source.package} {source.version} holds no {source.inner}", "look into the archive")
    count = _extract(archive, source.folder, output)
    if not count:
        raise RetortError(f"{source.package} {source.version} holds no folder {source.folder}", "look into the archive")
    return count


def _extract(archive: Path, folder: str, output: Path) -> int:
    """Write the files of one folder of an archive to `output` and return how many; no name leads outside of it.

    The stated sizes are added up before a member is read, so that a zip bomb is never unpacked.

    Raises:
        RetortError: the archive cannot be read, holds too much, or has members that cannot all be written.
    """
    members = size = 0
    written: set[Path] = set()
    try:
        for name, length, opener in _members(archive):
            members, size = members + 1, size + length
            if members > MEMBERS or size > UNPACKED:
                raise RetortError(
                    f"{archive.name} holds more than {MEMBERS} files or {UNPACKED >> 30} GiB", "a source is smaller"
                )
            inside, stream = _relative_to(name, folder), None
            if inside and (stream := opener()):
                place = output / inside
                if place in written:
                    raise RetortError(f"{archive.name}: {place.name} is in it twice", "it is no usual archive")
                place.parent.mkdir(parents=True, exist_ok=True)
                with stream, place.open("wb") as file:
                    shutil.copyfileobj(stream, file)
                written.add(place)
    except (*BROKEN, OSError) as error:
        raise _refusal(archive, error) from error
    return len(written)


def _members(archive: Path) -> Iterator[tuple[str, int, Callable[[], IO[bytes] | None]]]:
    """Yield (name, size, opener) for each file in an archive, in order; links and devices are left out."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                if not info.is_dir():
                    yield info.filename, info.file_size, functools.partial(zipped.open, info)
    else:
        with tarfile.open(archive) as tarred:
            for member in tarred:
                if member.isfile():
                    yield member.name, member.size, functools.partial(tarred.extractfile, member)


def _relative_to(name: str, folder: str) -> str | None:
    """Return the path of a member relative to `folder`; None for a member outside it."""
    rest = name.removeprefix("./").removeprefix(f"{folder.rstrip('/')}/")
    if rest == name.removeprefix("./") or rest.startswith("/") or ".." in Path(rest).parts:
        return None
    return rest


def _refusal(archive: Path, error: Exception) -> Exception:
    """Return the error for an archive that could not be unpacked; errors of the system are returned unchanged."""
    number = system_error(error)
    if number in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG):
        name = Path(getattr(error, "filename", None) or "").name
        what = (
            f"the name {name[:40]}... is too long for a file"
            if number == errno.ENAMETOOLONG
            else f"{name} is a file and a folder"
        )
        return RetortError(f"{archive.name}: {what}", "it is no usual archive")
    if number is not None:
        return error
    reason = str(error).partition("\n")[0]  # tarfile lists what it has tried, a line each
    return RetortError(f"{archive.name} is no archive that can be read ({reason})", "see its sha256")
