"""Text formats of corpora: each yields the documents of a file, plain or compressed, one at a time.

A document is a string whose lines are its paragraphs. Only one document of a file is in memory at a time; plain text
without blank lines is cut at the end of a line. Large files of some formats are cut into sections, so that several jobs
can read them.

The readers are our own: those of `datasets` cannot read MediaWiki dumps, xz, or documents of several lines.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import html
import io
import itertools
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

from retort.data.files import parquet_rows, read_json, system_error
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


def sections(path: Path, format_name: str) -> list[Section]:
    """Cut a file into sections of about `SECTION` bytes; one section if its format or compression does not allow more.

    The sections depend on the file alone, so that the same corpus is built by any number of jobs.
    """
    size = path.stat().st_size
    starts = [0]
    if format_name in DOCUMENT_STARTS and path.suffix not in OPENERS:
        with path.open("rb") as stream:
            while starts[-1] + SECTION < size:
                stream.seek(starts[-1] + SECTION)
                start = DOCUMENT_STARTS[format_name](stream)
                if start is None or start >= size:
                    break
                starts.append(start)
    ends = [*starts[1:], None]
    return [Section(path, start, end) for start, end in zip(starts, ends, strict=True)]


@contextlib.contextmanager
def _open_section(section: Section, mode: str = "rt") -> Iterator[IO[Any]]:
    """Open a section, decompressed by the file's suffix, as UTF-8 text or (mode 'rb') as bytes.

    Raises:
        RetortError: the file is not UTF-8, or its compressed data is damaged.
    """
    path = section.path
    try:
        with OPENERS[path.suffix](path) if path.suffix in OPENERS else path.open("rb", 1 << 20) as file:
            file.seek(section.start)
            raw = file if section.end is None else io.BytesIO(file.read(section.size))
            with raw if "b" in mode else io.TextIOWrapper(raw, encoding="utf-8") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise RetortError(f"{path}: not UTF-8 text ({error.reason})", "convert the file to UTF-8") from error
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if system_error(error) is not None:
            raise
        raise RetortError(f"{path}: damaged or cut ({error})", "fetch the file again") from error


def _lines(section: Section) -> Iterator[str]:
    with _open_section(section) as stream:
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
def rated_line_texts(section: Section) -> Iterator[str]:
    """Yield the texts of a rated-text file, in file order; ratings are not used."""
    return (text for _, _, text in rated_lines(section.path))


@texts.register("text")
def plain_texts(section: Section) -> Iterator[str]:
    """Yield the documents of plain text; a blank line ends a document (BERT's input format, CC100, a study)."""
    return _documents(_lines(section))


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
            try:
                yield _text_of(read_json(line), field)
            except (json.JSONDecodeError, KeyError, TypeError):
                where = _location(section, number)
                raise RetortError(f"{where}: no JSON object with '{field}': {line[:60]!r}") from None
            except RetortError as error:
                raise RetortError(f"{_location(section, number)}: {error}") from None


def _text_of(values: dict[str, Any], name: str) -> str:
    """Return the text with this name.

    Raises:
        RetortError: the value is no text.
    """
    if not isinstance(values[name], str):
        raise RetortError(f"'{name}' is no text: {str(values[name])[:60]!r}")
    return str(values[name])


def _location(section: Section, line: int) -> str:
    """Return '<file>:<number>' for a line that is given by its number in a section."""
    with section.path.open("rb") as stream:
        before = sum(
            stream.read(min(1 << 20, section.start - start)).count(b"\n") for start in range(0, section.start, 1 << 20)
        )
    return f"{section.path.name}:{before + line}"


def _after_line(stream: IO[bytes]) -> int | None:
    """Return where the next line starts."""
    stream.readline()
    return stream.tell()


@texts.register("wikitext")
def wikitext_tokens(section: Section) -> Iterator[str]:
    """Yield the articles of a WikiText file for language modelling, without headings; '@-@' becomes '-' again."""

    def lines() -> Iterator[str]:
        for line in _lines(section):
            heading = line.startswith(" = ") and line.rstrip().endswith(" =")
            title = heading and not line.startswith(" = =")
            if line.strip() and not heading:
                yield line.replace(" @-@ ", "-").replace(" @,@ ", ",").replace(" @.@ ", ".")
            elif title:
                yield ""

    return _documents(lines())


@texts.register("mediawiki")
def mediawiki_pages(section: Section) -> Iterator[str]:
    """Yield the plain text of each article of a MediaWiki XML dump; no redirects, talk pages or templates."""
    with _open_section(section, "rb") as stream:
        yield from _articles(stream, section.path.name)


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


# format -> function of an open file at any byte; returns where the next document starts, None where it cannot tell
DOCUMENT_STARTS: dict[str, Callable[[IO[bytes]], int | None]] = {"text": _after_blank_line, "jsonl": _after_line}


# MediaWiki dumps. The rules follow WikiExtractor, which BERT's authors used: templates, tables, references, files and
# categories are removed; links keep the text that is shown; headings and list items become lines.

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
REMOVED = re.compile(
    r"<(ref|gallery|math|chem|timeline|imagemap|score|syntaxhighlight|source|code|pre|hiero|graph)\b"
    r"(?:[^<>]*/>|[^<>]*>.*?</\1\s*>)",
    re.DOTALL | re.IGNORECASE,
)
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
NESTED = {"template": re.compile(r"\{\{|\}\}"), "table": re.compile(r"^[ :]*\{\||^[ \t]*\|\}", re.MULTILINE)}
LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
EXTERNAL = re.compile(r"\[(?:https?:|ftp:)?//[^\s\]]+\s*([^\]]*)\]")
QUOTES = re.compile(r"'{2,5}")
HEADING = re.compile(r"^(={1,6})\s*(.*?)\s*\1\s*$", re.MULTILINE)
BULLET = re.compile(r"^[*#:;]+\s*", re.MULTILINE)
MAGIC = re.compile(r"__[A-Z]+__")
PREFIX = re.compile(r"^\s*:?\s*[\w -]+:\S")  # 'File:', 'Category:', 'de:': links without visible text


def _remove_nested(text: str, marks: re.Pattern[str]) -> str:
    """Remove bracketed parts of a text, nested ones too; an opening bracket that is never closed is ignored."""
    stack: list[int] = []
    spans: list[tuple[int, int]] = []
    for mark in marks.finditer(text):
        if "{" in mark.group():
            stack.append(mark.start())
        elif stack:
            start = stack.pop()
            while spans and spans[-1][0] >= start:
                spans.pop()
            spans.append((start, mark.end()))
    kept, last = [], 0
    for start, end in spans:
        kept.append(text[last:start])
        last = end
    return "".join([*kept, text[last:]])


def _visible_text(link: re.Match[str]) -> str:
    """Return the visible text of a link: its label, else its target; '' for files, categories and languages."""
    target, label = link.group(1), link.group(2)
    if PREFIX.match(target) and not target.lstrip().startswith(":"):
        return ""
    return (label.rsplit("|", 1)[-1] if label is not None else target).strip()


def plain(text: str) -> str:
    """Return the plain text of an article's wikitext, one line per paragraph, heading or list item."""
    text = COMMENT.sub("", text)
    text = REMOVED.sub("", text)
    for marks in NESTED.values():
        text = _remove_nested(text, marks)
    while LINK.search(text):  # a picture's caption may hold links: inner links come first
        text = LINK.sub(_visible_text, text)
    text = EXTERNAL.sub(r"\1", text)
    text = QUOTES.sub("", TAG.sub("", text))
    text = MAGIC.sub("", BULLET.sub("", HEADING.sub(r"\2", text)))
    lines = (line.strip() for line in html.unescape(text).splitlines())
    return "\n".join(line for line in lines if any(character.isalnum() for character in line))


def _local_name(tag: str) -> str:
    return tag.rsplit("}", 1)[-1]


def _articles(stream: IO[bytes], name: str) -> Iterator[str]:
    """Yield the plain text of each article of a dump: pages of namespace 0 that are not redirects.

    Args:
        stream: the decompressed XML, in the encoding that it declares.
        name: the name of the file, for the error.

    Raises:
        RetortError: the file is not well-formed XML.
    """
    page: dict[str, str | None] = {}
    try:
        events = ElementTree.iterparse(stream, events=("start", "end"))
        _, root = next(events)
        for event, element in events:
            if event == "start":
                continue
            tag = _local_name(element.tag)
            if tag in ("ns", "redirect", "text"):
                page[tag] = element.text or ""
            elif tag == "page":
                if page.get("ns", "0") == "0" and "redirect" not in page and (text := plain(page.get("text") or "")):
                    yield text
                page = {}
                root.clear()  # else the tree would grow to the whole dump
    except (ElementTree.ParseError, StopIteration) as error:
        raise RetortError(f"{name}: not a MediaWiki dump ({error})", "is it a pages-articles.xml.bz2?") from error
