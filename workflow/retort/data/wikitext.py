"""MediaWiki dumps: the articles of a streamed XML file, with their wikitext turned into plain text.

The rules follow WikiExtractor, which BERT's authors used: templates, tables, references, files and categories are
removed; links keep the text that is shown; headings and list items become lines.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import IO
from xml.etree import ElementTree

from retort.errors import RetortError

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


def articles(stream: IO[bytes], name: str) -> Iterator[str]:
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
