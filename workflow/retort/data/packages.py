"""Archives that pip downloads as data; their SHA-256 is checked before anything in them is read."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from retort.data.files import sha256
from retort.errors import RetortError
from retort.specs.source import Package


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


def download(source: Package, folder: Path) -> Path:
    """Download the archive with pip to a folder, verify it and return its path.

    pip gets the checksum too, so that nothing of a wrong archive is unpacked or run.

    Raises:
        RetortError: pip failed (the message quotes its last line), or the checksum differs.
    """
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{source.package}=={source.version} --hash=sha256:{source.sha256}\n")
    formats = ["--no-binary", ":all:"] if source.distribution == "sdist" else ["--only-binary", ":all:"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [*command, *formats, "--require-hashes", "--dest", str(folder), "--requirement", str(requirement)],
        capture_output=True,
        text=True,
        check=False,
    )
    archives = [path for path in folder.iterdir() if path.name.endswith((".whl", ".tar.gz", ".zip"))]
    if done.returncode or len(archives) != 1:
        messages = [line for line in done.stderr.splitlines() if line.strip()]
        mismatch = "DO NOT MATCH THE HASHES" in done.stderr
        reason = (
            f"its sha256 is not {source.sha256[:12]}..."
            if mismatch
            else (messages[-1] if messages else "no archive came")
        )
        raise RetortError(
            f"pip could not download {source.package} {source.version}: {reason}", "is a package index within reach?"
        )
    verify(archives[0], source)
    return archives[0]


def _extract(archive: Path, folder: str, output: Path) -> int:
    """Write the files of one folder of an archive to `output` and return how many; no name may lead outside."""
    unpack = _unzip if archive.suffix in (".whl", ".zip") else _untar
    count = 0
    for name, stream in unpack(archive):
        inside = _inside(name, folder)
        if inside:
            (output / inside).parent.mkdir(parents=True, exist_ok=True)
            with (output / inside).open("wb") as file:
                shutil.copyfileobj(stream, file)
            count += 1
    return count


def _unzip(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            if not info.is_dir():
                with opened.open(info) as stream:
                    yield info.filename, stream


def _untar(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive) as opened:
        for member in opened:
            stream = opened.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield member.name, stream


def _inside(name: str, folder: str) -> str | None:
    """Return the path of a member relative to `folder`; None for a member outside it."""
    rest = name.removeprefix("./").removeprefix(f"{folder.rstrip('/')}/")
    if rest == name.removeprefix("./") or rest.startswith("/") or ".." in Path(rest).parts:
        return None
    return rest


def fetch(source: Package, output: Path) -> int:
    """Download the archive, write the files of its folder to `output` (nothing else) and return how many there are.

    Args:
        source: names the archive and the folder in it.
        output: the folder to fill.

    Raises:
        RetortError: the download failed, the checksum differs, or the archive lacks the folder.
    """
    with tempfile.TemporaryDirectory() as scratch:
        archive = download(source, Path(scratch))
        folder = source.folder
        if source.inner:
            inner = Path(scratch) / "inner"
            top = f"{source.package}-{source.version}"
            parent, name = source.inner.rsplit("/", 1)
            _extract(archive, f"{top}/{parent}", inner)
            archive = inner / name
            if not archive.is_file():
                raise RetortError(f"{source.package} {source.version} holds no {source.inner}")
        count = _extract(archive, folder, output)
    if not count:
        raise RetortError(f"{source.package} {source.version} holds no folder {folder}")
    return count
