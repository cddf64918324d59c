"""Checksums of results: taken when a job has made a file, compared when a job reads it and by `retort verify`.

The checksums of a folder are in its file `.checksums.json`; those of a single file are next to it, in
`.<name>.checksums.json`. They also name the code that made the files, and the results that it read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from retort.atomic import write_text
from retort.errors import RetortError

NAME = ".checksums.json"
TIMESTAMP = ".snakemake_timestamp"  # the file from which Snakemake reads the time of an output folder
DIGEST = "sha256"  # the key of a record's own digest
UNCHECKED = {NAME, TIMESTAMP}  # files of a folder that are not results
RESULTS, REPORTS = Path("results"), Path("reports")
SMALL = 100_000  # bytes of a file that is always read
# the folders of results/ that hold results of jobs, with checksums
KINDS = (
    "sources", "encoded", "corpora", "teachers", "students", "trials", "scores", "profiles", "answers",
    "tables", "tokenized", "test_sets", "distilled", "activations",
)  # fmt: skip
TEMPORARY = {"tokenized", "distilled", "activations"}  # those that a run empties itself

# what repairs a damaged result, as each message about one says
REMEDY = "run `retort verify --repair`, so that the next run makes it anew"


class LeadsNowhere(RetortError):
    """A result holds a link that leads nowhere: what it links to may be away, and nothing is damaged.

    Args:
        link: the link.
    """

    def __init__(self, link: Path) -> None:
        super().__init__(f"{link} links to {link.readlink()}, which is not there", "put that back; nothing is deleted")


def canonical_bytes(record: Any) -> bytes:
    """Return JSON values as bytes that do not depend on the order of keys or on white space."""
    return json.dumps(json.loads(json.dumps(record)), sort_keys=True, separators=(",", ":")).encode()


def digest_of(record: Any) -> str:
    """Return the hexadecimal SHA-256 digest of JSON values."""
    return hashlib.sha256(canonical_bytes(record)).hexdigest()


def with_digest(record: dict[str, object]) -> dict[str, object]:
    """Return the record with the digest of its content under the key 'sha256'."""
    return {**record, DIGEST: digest_of(record)}


def is_sealed(record: Any) -> bool:
    """Return whether a record holds the right digest of its own content."""
    if not isinstance(record, dict) or DIGEST not in record:
        return False
    return bool(record[DIGEST] == digest_of({key: value for key, value in record.items() if key != DIGEST}))


def sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 digest of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class _Noted(BaseModel):
    """The base of what checksums files hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class FileChecksum(_Noted):
    """The size of a file, the time of its last change in nanoseconds, and its digest."""

    bytes: int
    mtime_ns: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> FileChecksum:
        """Return the checksum of a file as it is now."""
        status = path.stat()
        return cls(bytes=status.st_size, mtime_ns=status.st_mtime_ns, sha256=sha256(path))

    def has_moved(self, path: Path) -> bool:
        """Return whether the size or the time of the file has changed since the checksum was taken."""
        status = path.stat()
        return (status.st_size, status.st_mtime_ns) != (self.bytes, self.mtime_ns)

    def fits(self, path: Path) -> bool:
        """Return whether the file still has the content that it had when the checksum was taken."""
        return path.stat().st_size == self.bytes and sha256(path) == self.sha256


class Maker(_Noted):
    """The code with which a result was made: git's commit, and the digest of the package's files."""

    commit: str
    code: str

    @property
    def words(self) -> str:
        """The maker in words, as reports print it."""
        return f"commit {self.commit} (code {self.code})"


class Parent(Maker):
    """A result that a job read: the code with which it was made, and the digest of its content."""

    sha256: str


class Checksums(_Noted):
    """The content of `.checksums.json`.

    Args:
        job: rule and wildcards of the job that made the files.
        maker: the code of that job.
        ancestors: the code that made the parents, and the code that made their own parents, and so on.
        parents: the results that the job read, by path.
        files: the files by their path in the folder; a single file by its name.
        plan: what stands for the settings of the run; empty if it has kept none.
        settings: the digest of the settings of the job; empty if it has none.
    """

    job: str
    maker: Maker
    ancestors: list[Maker]
    parents: dict[str, Parent]
    files: dict[str, FileChecksum]
    plan: str = ""
    settings: str = ""

    @property
    def digest(self) -> str:
        """The digest of the content of all files."""
        return content_digest(self.files)


def place_of(path: Path) -> Path:
    """Return the file that holds the checksums of a folder or of a single file."""
    return path / NAME if path.is_dir() else path.with_name(f".{path.name}{NAME}")


def result_of(place: Path) -> Path:
    """Return the folder or the single file that a checksums file describes: the inverse of `place_of`."""
    own = place.name.removeprefix(".").removesuffix(NAME)
    return place.parent if place.name == NAME else place.with_name(own)


def is_place(path: Path) -> bool:
    """Return whether a path has the name of a checksums file."""
    return path.name == NAME or (path.name.endswith(NAME) and path.name.startswith(".") and path.name != f".{NAME}")


def results_in(folder: Path) -> Iterator[Path]:
    """Yield each result with checksums in a folder, in the order of names; another run may delete folders meanwhile."""
    for above, folders, files in os.walk(folder):  # `Path.rglob` fails where a folder is gone
        folders.sort()
        every = (Path(above, name) for name in sorted([*folders, *files]))  # a folder may have the name of checksums
        yield from (result_of(place) for place in every if is_place(place))


def files_of(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield (path in the folder, path) for each file of a folder, or (name, path) of a single file."""
    if not path.is_dir():
        yield path.name, path
        return
    for folder, _, names in sorted(os.walk(path)):
        for name in sorted(set(names) - UNCHECKED):
            file = Path(folder) / name
            yield str(file.relative_to(path)), file


def take(
    path: Path,
    job: str,
    maker: Maker,
    ancestors: Iterable[Maker],
    parents: dict[str, Parent],
    plan: str = "",
    settings: str = "",
) -> Checksums:
    """Take the checksums of a result and write them, atomically, into the folder or next to the file."""
    checksums = Checksums(
        job=job,
        maker=maker,
        ancestors=sorted({*ancestors}, key=lambda each: (each.commit, each.code)),
        parents=parents,
        files={name: FileChecksum.of(file) for name, file in files_of(path)},
        plan=plan,
        settings=settings,
    )
    write_text(place_of(path), json.dumps(with_digest(checksums.model_dump(mode="json"))) + "\n")
    return checksums


def read(path: Path) -> Checksums | None:
    """Return the checksums of a result; None if none were taken.

    Raises:
        RetortError: the file that holds them is damaged.
    """
    place = place_of(path)
    if not os.path.lexists(place):
        return None
    if place.is_dir():
        raise RetortError(f"{place} is a folder, and checksums belong there", REMEDY)
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        if not is_sealed(content):
            raise ValueError("its own checksum differs")
        return Checksums.model_validate({key: value for key, value in content.items() if key != DIGEST})
    except (OSError, ValueError, ValidationError, RecursionError) as error:
        told = "nested too deep" if isinstance(error, RecursionError) else error
        reason = "" if isinstance(error, ValidationError) else f" ({told})"
        raise RetortError(f"{place} is damaged{reason}", REMEDY) from None


def whole(path: Path) -> Checksums | None:
    """Return the checksums of a result; None if none were taken, or the file that holds them is damaged."""
    with contextlib.suppress(RetortError):
        return read(path)
    return None


def remedy_of_model(folder: Path | str) -> str:
    """Return the hint how to repair the files of a model that were already damaged when they were fetched."""
    if not Path(folder).is_relative_to(RESULTS):
        return "replace it by a whole one"
    return f"delete {folder} and run again; if it links to files of yours, replace them first"


def differences(path: Path, checksums: Checksums, thorough: bool) -> Iterator[RetortError]:
    """Yield an error for each file of a result that is missing or has changed since it was made.

    Args:
        path: the folder or file.
        checksums: the checksums that were taken when it was made.
        thorough: True to read every file; False to read only small files and those with another size or time than when
            they were made.
    """
    for name, known in checksums.files.items():
        file = path / name if path.is_dir() else path
        if file.name != Path(name).name:
            yield RetortError(f"{place_of(path)} holds the checksum of another file, {name}", REMEDY)
            continue
        try:
            if (thorough or known.bytes < SMALL or known.has_moved(file)) and not known.fits(file):
                yield RetortError(f"{file} is not as it was made: {_describe_change(file, known)}", REMEDY)
        except FileNotFoundError:
            yield LeadsNowhere(file) if file.is_symlink() else RetortError(f"{file} is missing", REMEDY)
        except OSError as error:
            yield RetortError(f"{file} cannot be read: {error.strerror}", REMEDY)


def _describe_change(file: Path, known: FileChecksum) -> str:
    size = file.stat().st_size
    return "its content has changed" if size == known.bytes else f"{size:,} bytes instead of {known.bytes:,}"


def check(path: Path, thorough: bool = False) -> Checksums | None:
    """Compare a result with its checksums and return them; None if none were taken.

    Raises:
        RetortError: a file is missing or changed, or the checksums are damaged.
    """
    checksums = read(path)
    if checksums is None:
        return None
    for error in differences(path, checksums, thorough):
        raise error
    return checksums


def check_parent(path: Path, warn: Callable[[str], None]) -> Checksums | None:
    """Compare a result that a job reads with its checksums, and return them.

    A folder that the run itself has emptied has none. Nor has a result of another workflow, which uses this one as a
    module and keeps its own results next to ours: a warning says that it is read unchecked.

    Args:
        path: the folder or file.
        warn: called with the warning, a line.

    Raises:
        RetortError: a file is missing or changed, or the checksums are damaged or gone.
    """
    taken = check(path) or (check(path.resolve()) if path.is_symlink() else None)
    if is_emptied(path) and not is_temporary(path) and is_of_jobs(path):
        raise RetortError(f"{path} is missing: it is an empty folder", REMEDY)
    if taken is None and not is_emptied(path):
        line = f"{path} has no checksum: no job has made it"
        if is_of_jobs(path):
            raise RetortError(line, REMEDY)
        warn(f"{line}; it is read unchecked")
    return taken


def is_emptied(path: Path) -> bool:
    """Return whether a path is a folder without files and checksums, as a scratch that was purged leaves it."""
    return path.is_dir() and not place_of(path).exists() and not any(True for _ in files_of(path))


def is_temporary(path: Path) -> bool:
    """Return whether a run deletes a result itself, once the jobs that read it are done."""
    return path.parts[1] in TEMPORARY or (path.parts[1] == "students" and path.name != "model")


def lasting(parents: Mapping[str, Parent]) -> dict[str, Parent]:
    """Return the parents of a result without those that a run deletes."""
    return {path: parent for path, parent in parents.items() if not is_temporary(Path(path))}


def is_of_jobs(path: Path) -> bool:
    """Return whether a path is in a folder that only jobs of this workflow fill."""
    return any(path.is_relative_to(RESULTS / kind) for kind in KINDS)


def content_digest(files: Mapping[str, FileChecksum]) -> str:
    """Return the digest that stands for the content of files, wherever they lie."""
    return digest_of(file_digests(files))


def file_digests(files: Mapping[str, FileChecksum]) -> dict[str, str]:
    """Return the digest of each file, by the file's path in its folder."""
    return {name: file.sha256 for name, file in files.items()}
