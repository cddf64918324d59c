"""Text formats of corpora: each yields the documents of a file, plain or compressed, one at a time.

A document is a string whose lines are its paragraphs. Only one document of a file is in memory at a time; plain text
without blank lines is cut at the end of a line. Large files of plain text are cut into sections, so that several jobs
can read them.

The readers are our own: those of `datasets` cannot read xz, or documents of several lines.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import itertools
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from retort.data.files import check_content, parquet_rows, read_json, system_error
from retort.data.formats import rated_lines
from retort.errors import RetortError
from retort.registry import Registry

LONGEST = 200_000  # characters after which a document of plain text is cut, and also a single line
OPENERS: dict[str, Callable[..., IO[Any]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

SECTION = 1 << 26  # bytes; a larger file is cut into sections of at least this size


@dataclass(frozen=True)
class Section:
    """A file, or the bytes [start, end) of an uncompressed file; a section starts where a document starts.

    Args:
        path: the file.
        start: the first byte.
        end: the byte after the last one; None for the end of the file.
    """

    path: Path
    start: int = 0
    end: int | None = None

    @property
    def size(self) -> int:
        """The number of bytes."""
        return (self.path.stat().st_size if self.end is None else self.end) - self.start


texts: Registry[Callable[..., Iterator[str]]] = Registry("text format")  # (section, *, options) -> documents


def file_sections(path: Path, format_name: str) -> list[Section]:
    """Cut a file into sections of about `SECTION` bytes; one section if its format or compression does not allow more.

    The sections depend on the file alone, so that the same corpus is built by any number of jobs.
    """
    size = path.stat().st_size
    starts = [0]
    if format_name == "text" and path.suffix not in OPENERS:
        with path.open("rb") as stream:
            while starts[-1] + SECTION < size:
                stream.seek(starts[-1] + SECTION)
                start = _after_blank_line(stream)
                if start is None or start >= size:
                    break
                starts.append(start)
    ends = [*starts[1:], None]
    return [Section(path, start, end) for start, end in zip(starts, ends, strict=True)]


@contextlib.contextmanager
def _open_section(section: Section) -> Iterator[IO[str]]:
    """Open a section as UTF-8 text, decompressed by the file's suffix.

    Raises:
        RetortError: the file is not UTF-8, or its compressed data is damaged.
    """
    path = section.path
    check_content(path)
    try:
        with OPENERS[path.suffix](path) if path.suffix in OPENERS else path.open("rb", 1 << 20) as file:
            file.seek(section.start)
            raw = file if section.end is None else io.BytesIO(file.read(section.size))
            with io.TextIOWrapper(raw, encoding="utf-8") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise RetortError(f"{path}: not UTF-8 text ({error.reason})", "convert the file to UTF-8") from error
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if system_error(error) is not None:
            raise
        raise RetortError(f"{path}: damaged or cut ({error})", "fetch the file again") from error


@texts.register("rated-lines")
def rated_line_texts(section: Section) -> Iterator[str]:
    """Yield the texts of a rated-text file, in file order; ratings are not used."""
    return (text for _, _, text in rated_lines(section.path))


@texts.register("text")
def plain_texts(section: Section) -> Iterator[str]:
    """Yield the documents of plain text; a blank line ends a document (BERT's input format, CC100, a study).

    So do LONGEST characters.
    """
    held: list[str] = []
    size = 0
    with _open_section(section) as stream:
        for line in iter(lambda: stream.readline(LONGEST), ""):
            if line.strip():
                held.append(line)
                size += len(line)
            if held and (not line.strip() or size >= LONGEST):
                yield "".join(held)
                held, size = [], 0
    if held:
        yield "".join(held)


def _after_blank_line(stream: IO[bytes]) -> int | None:
    """Return where the line after the next blank line starts."""
    stream.readline()  # the rest of a line
    while line := stream.readline():
        if not line.strip():
            return stream.tell()
    return None


@texts.register("jsonl")
def json_texts(section: Section, *, field: str = "text") -> Iterator[str]:
    """Yield the documents of a file with one JSON object per line; `field` of each object is a document."""
    with _open_section(section) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            where = f"{section.path.name}:{number}"  # a file of this format is one section
            try:
                yield _text_of(read_json(line), field)
            except (json.JSONDecodeError, KeyError, TypeError):
                raise RetortError(f"{where}: no JSON object with '{field}': {line[:60]!r}") from None
            except RetortError as error:
                raise RetortError(f"{where}: {error}") from None


def _text_of(values: dict[str, object], name: str) -> str:
    """Return the text with this name.

    Raises:
        RetortError: the value is no text.
    """
    if not isinstance(values[name], str):
        raise RetortError(f"'{name}' is no text: {str(values[name])[:60]!r}")
    return str(values[name])


@texts.register("parquet", limits={"rows": {"ge": 1, "le": 1_000_000}})
def parquet_texts(section: Section, *, column: str = "text", rows: int = 1) -> Iterator[str]:
    """Yield the documents of a Parquet file, the hub's format: `rows` rows of `column`, a line each, make one."""
    values = _column(section.path, column)
    while held := list(itertools.islice(values, rows)):
        yield "\n".join(held)


def _column(path: Path, column: str) -> Iterator[str]:
    """Yield the texts of a column of a Parquet file; an empty one where a row has none."""
    for number, row in enumerate(parquet_rows(path, column), start=1):
        try:
            yield "" if row[column] is None else _text_of(row, column)
        except RetortError as error:
            raise RetortError(f"{path.name}, row {number}: {error}") from None
