"""Text formats of corpora: they yield the documents of a file, plain or compressed, one at a time.

A document is a string whose lines are its paragraphs. No file is read as a whole: a file of any size takes the memory
of its longest document, and a plain text without blank lines is cut at the end of a line.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from retort.data import wikitext
from retort.data.readers import rated_lines
from retort.errors import RetortError
from retort.registry import Registry

LONGEST = 200_000  # characters after which a document of plain text is cut, and also a single line
OPENERS: dict[str, Callable[..., IO[Any]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

texts: Registry[Callable[..., Iterator[str]]] = Registry("text format")


@contextlib.contextmanager
def opened(path: Path, mode: str = "rt") -> Iterator[IO[Any]]:
    """Open a file, decompressed by its suffix, as UTF-8 text or (mode 'rb') as bytes.

    Raises:
        RetortError: the file is not UTF-8, or its compressed data is damaged.
    """
    more = {} if "b" in mode else {"encoding": "utf-8"}
    try:
        with OPENERS.get(path.suffix, open)(path, mode, **more) as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise RetortError(f"{path}: not UTF-8 text ({error.reason})", "convert the file to UTF-8") from error
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise RetortError(f"{path}: damaged or cut ({error})", "fetch the file again") from error


def _lines(path: Path) -> Iterator[str]:
    with opened(path) as stream:
        yield from iter(lambda: stream.readline(LONGEST), "")


def _documents(lines: Iterable[str]) -> Iterator[str]:
    """Yield documents: the lines up to a blank line, joined; a document of LONGEST characters or more ends at once."""
    held: list[str] = []
    size = 0
    for line in lines:
        if line.strip():
            held.append(line)
            size += len(line)
        if held and (not line.strip() or size >= LONGEST):
            yield "".join(held)
            held, size = [], 0
    if held:
        yield "".join(held)


@texts.register("rated-lines")
def rated_line_texts(path: Path) -> Iterator[str]:
    """Yield the texts of a rated-text file, in file order; ratings are not used."""
    return (text for _, _, text in rated_lines(path))


@texts.register("text")
def plain_texts(path: Path) -> Iterator[str]:
    """Yield the documents of plain text; a blank line ends a document (BERT's input format, CC100, a study)."""
    return _documents(_lines(path))


@texts.register("jsonl")
def json_texts(path: Path, *, field: str = "text") -> Iterator[str]:
    """Yield the documents of a file with one JSON object per line; `field` of each object is a document."""
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                text = json.loads(line)[field]
            except (ValueError, KeyError, TypeError):
                raise RetortError(f"{path.name}:{number}: no JSON object with '{field}': {line[:60]!r}") from None
            if not isinstance(text, str):
                raise RetortError(f"{path.name}:{number}: '{field}' is no text: {str(text)[:60]!r}")
            yield text


@texts.register("wikitext")
def wikitext_tokens(path: Path) -> Iterator[str]:
    """Yield the articles of a WikiText file for language modelling, without headings; '@-@' becomes '-' again."""

    def lines() -> Iterator[str]:
        for line in _lines(path):
            heading = line.startswith(" = ") and line.rstrip().endswith(" =")
            title = heading and not line.startswith(" = =")
            if line.strip() and not heading:
                yield line.replace(" @-@ ", "-").replace(" @,@ ", ",").replace(" @.@ ", ".")
            elif title:
                yield ""

    return _documents(lines())


@texts.register("mediawiki")
def mediawiki_pages(path: Path) -> Iterator[str]:
    """Yield the plain text of each article of a MediaWiki XML dump; no redirects, talk pages or templates."""
    with opened(path, "rb") as stream:
        yield from wikitext.articles(stream, path.name)


@texts.register("parquet")
def parquet_texts(path: Path, *, column: str = "text", rows: int = 1) -> Iterator[str]:
    """Yield the documents of a Parquet file, the hub's format: `rows` rows of `column`, a line each, make one."""
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise RetortError(f"{path}: not a Parquet file ({str(error).splitlines()[0]})") from error
    if column not in table.schema_arrow.names:
        raise RetortError(f"{path.name} has no column '{column}'", f"it has {', '.join(table.schema_arrow.names)}")
    held: list[str] = []
    for batch in table.iter_batches(batch_size=1000, columns=[column]):
        for text in batch.column(0).to_pylist():
            held.append(text or "")
            if len(held) == rows:
                yield "\n".join(held)
                held = []
    if held:
        yield "\n".join(held)
