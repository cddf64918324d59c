"""Archives of packages, taken as data: their SHA-256 is checked before anything in them is read, and no code is run."""

from __future__ import annotations

import errno
import functools
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO

from retort.data.files import sha256, system_error
from retort.errors import RetortError
from retort.sources import package_index
from retort.specs.source import Package

MEMBERS, UNPACKED = 100_000, 8 << 30  # what an archive may hold: files, and bytes
# what a damaged or encrypted archive raises while it is read
BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, LZMAError, EOFError, RuntimeError, UnicodeError)


def verify(archive: Path, source: Package) -> None:
    """Raise an error if the archive is not the one that the source names.

    Raises:
        RetortError: the checksum differs; nothing of the archive is read then.
    """
    digest = sha256(archive)
    if digest != source.sha256:
        raise RetortError(
            f"{archive.name}: sha256 is {digest[:12]}..., and that of the source is {source.sha256[:12]}...",
            "the download is damaged or is another file; delete it and run again",
        )


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


def _refusal(archive: Path, error: Exception) -> Exception:
    """Return the error for an archive that could not be unpacked; errors of the system are returned unchanged."""
    number = system_error(error)
    if isinstance(error, OSError) and number is not None:
        name = Path(error.filename or "").name
        whats = {
            **dict.fromkeys((errno.EEXIST, errno.ENOTDIR, errno.EISDIR), f"{name} is a file and a folder"),
            errno.ENAMETOOLONG: f"the name {name[:40]}... is too long for a file",
        }
        what = whats.get(number)
        return RetortError(f"{archive.name}: {what}", "it is no usual archive") if what else error
    reason = str(error).partition("\n")[0]  # tarfile lists what it has tried, a line each
    return RetortError(f"{archive.name} is no archive that can be read ({reason})", "see its sha256")


def _relative_to(name: str, folder: str) -> str | None:
    """Return the path of a member relative to `folder`; None for a member outside it."""
    rest = name.removeprefix("./").removeprefix(f"{folder.rstrip('/')}/")
    if rest == name.removeprefix("./") or rest.startswith("/") or ".." in Path(rest).parts:
        return None
    return rest


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
        archive = package_index.download(source, state)
        verify(archive, source)
        return unpack(archive, source, output, state / "inner")
    finally:
        shutil.rmtree(state, ignore_errors=True)


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
