"""Archives of packages, taken as data: their SHA-256 is checked before anything in them is read, and no code is run.

`pip download` of a source archive would run the archive's own build code to learn its name. So only pip's settings are
asked for, and the indexes that they name are read by the library `pypi_simple`.
"""

from __future__ import annotations

import ast
import contextlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit, urlunsplit

import requests
from packaging.utils import canonicalize_name, canonicalize_version
from pypi_simple import (
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    Link,
    NoSuchProjectError,
    PyPISimple,
    UnsupportedContentTypeError,
    UnsupportedRepoVersionError,
)

from retort.checksums import sha256
from retort.data.sources.hub import redact_addresses
from retort.errors import RetortError
from retort.specs.source import Package

# what a damaged or encrypted archive raises while it is read
BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, LZMAError, EOFError, RuntimeError, UnicodeError)
NO_PAGE = (ValueError, UnsupportedContentTypeError, UnsupportedRepoVersionError)


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
        return unpack(archive, source, output, state)
    finally:
        shutil.rmtree(state, ignore_errors=True)


def pip_settings() -> dict[str, str]:
    """Return the settings of pip by name, such as 'index-url': of its files, and over them of the environment.

    Raises:
        RetortError: pip is not installed next to this Python.
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
    """Return the path of the archive of a source: in a folder of pip's `find-links`, or downloaded into a folder.

    Raises:
        RetortError: no index has it, or only with another checksum, or it cannot be downloaded.
    """
    settings = pip_settings()
    for path in (path for place in settings.get("find-links", "").split() for path in sorted(Path(place).glob("*"))):
        if _is_of(DistributionPackage.from_link(Link(path.name, path.name, {}), source.package), source):
            return path
    no_index = settings.get("no-index", "").lower() in ("1", "true", "yes", "on")
    indexes = [settings.get("index-url", PYPI_SIMPLE_ENDPOINT), *settings.get("extra-index-url", "").split()]
    indexes = [] if no_index else list(filter(None, indexes))
    timeout = float(settings.get("timeout") or settings.get("default-timeout") or 60)
    session, known = requests.Session(), list[str]()
    session.verify, session.cert = settings.get("cert") or True, settings.get("client-cert")
    session.proxies = dict.fromkeys(("http", "https"), settings["proxy"]) if settings.get("proxy") else {}
    for index in indexes:
        client = PyPISimple(index, session=session)
        for file in filter(lambda file: _is_of(file, source), _files(client, source.package, timeout)):
            known.append(file.digests.get("sha256", source.sha256))
            if known[-1] == source.sha256:
                path = folder / PurePosixPath(file.filename).name
                file.url = _with_password(file.url, index)
                with _asking(file.url):
                    client.download_package(file, path, verify=False, timeout=timeout)  # `fetch` compares it
                return path
    archive = f"the {source.distribution} of {source.package} {source.version}"
    if known:
        what = f"its sha256 is {known[0][:12]}..., and that of the source is {source.sha256[:12]}..."
        raise RetortError(f"{archive}: {what}", "compare both with the package's own page")
    where = ", ".join(map(redact_addresses, indexes)) or "none"
    raise RetortError(f"no package index has {archive}", f"pip's configuration names {where}")


@contextlib.contextmanager
def _asking(url: str) -> Iterator[None]:
    """Turn an error of a request into a RetortError without its text, which may hold the password of an index."""
    try:
        yield
    except requests.RequestException as error:
        number = getattr(error.response, "status_code", None)
        what = f" answers {number}" if number else f": {type(error).__name__}"
        raise RetortError(f"{redact_addresses(url)}{what}", "is a package index within reach?") from None
    except NO_PAGE as error:
        raise RetortError(f"{redact_addresses(url)} is no page of a package index", "see pip's index-url") from error


def _files(client: PyPISimple, package: str, timeout: float) -> list[DistributionPackage]:
    """Return the files that an index has of a package."""
    with contextlib.suppress(NoSuchProjectError), _asking(client.get_project_url(package)):
        return client.get_project_page(package, timeout=timeout).packages
    return []


def _with_password(url: str, index: str) -> str:
    """Return an address with an index's user and password, if it is on the same server and has none."""
    own, other = urlsplit(url), urlsplit(index)
    is_same = (own.scheme, own.netloc.lower()) == (other.scheme, other.netloc.rpartition("@")[2].lower())
    return urlunsplit(own._replace(netloc=other.netloc)) if is_same else url


def _is_of(file: DistributionPackage, source: Package) -> bool:
    """Return whether a file is the archive, or a wheel, of the package and version that a source names."""
    named = file.package_type, canonicalize_name(file.project or ""), canonicalize_version(file.version or "")
    return named == (source.distribution, canonicalize_name(source.package), canonicalize_version(source.version))


def unpack(archive: Path, source: Package, output: Path, scratch: Path) -> int:
    """Move the files of the folder that a source names to `output` and return how many there are.

    Args:
        archive: the archive, whose checksum is right.
        source: names the folder, and the archive inside the archive that holds it, if one does.
        output: the folder to fill.
        scratch: a folder for the content of the archives.

    Raises:
        RetortError: the archive cannot be read, or lacks the folder.
    """
    _extract(archive, content := scratch / "content")
    if source.inner:
        inner = content / f"{source.package}-{source.version}" / source.inner
        if not inner.is_file():
            raise RetortError(f"{source.package} {source.version} holds no {source.inner}", "look into the archive")
        _extract(inner, content := scratch / "inner")
    files = [path for path in (content / source.folder).rglob("*") if path.is_file()]
    if not files:
        raise RetortError(f"{source.package} {source.version} holds no folder {source.folder}", "look into the archive")
    shutil.copytree(content / source.folder, output, copy_function=shutil.copyfile, dirs_exist_ok=True)
    return len(files)


def _extract(archive: Path, to: Path) -> None:
    """Extract the files of an archive: no links and devices, and none whose name leads outside of it.

    Raises:
        RetortError: the archive cannot be read.
    """
    try:
        if archive.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(archive) as zipped:
                zipped.extractall(to)  # it takes '..' and a first '/' out of names
        else:
            with tarfile.open(archive) as tarred:
                tarred.extraction_filter = lambda member, _: member  # a Python without filters has not their names
                tarred.extractall(to, [member for member in tarred if member.isfile() and _is_inside(member.name)])
    except BROKEN as error:
        reason = str(error).partition("\n")[0]  # tarfile lists what it has tried, a line each
        raise RetortError(f"{archive.name} is no archive that can be read ({reason})", "see its sha256") from error


def _is_inside(name: str) -> bool:
    return not name.startswith("/") and "//" not in name and ".." not in Path(name).parts
